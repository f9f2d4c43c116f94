// What may break under a write with an Idempotency-Key, at the worst moment: it is done once all the same,
// and its client is told so.
#include "entry_steps.h"

#include "support/clock.h"
#include "support/cut_proxy.h"
#include "support/raw.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>

enum { BACK_MS = 10 * 1000 };

// --- what the tests start ---------------------------------------------------------------------------------

static void start_service(const char *url, const char *const *flags)
{
    api.service = service_start(&(struct service_options){.database = url, .flags = flags});
    api.client = http_client_new(service_url(api.service));
}

static void end_service(void)
{
    http_client_free(api.client);
    service_end(api.service);
    database_drop(api.postgres, &api.database);
}

// On the tier's PostgreSQL; through `proxy` unless it is NULL.
static PGconn *start(struct cut_proxy *proxy, const char *const *flags)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    start_service(proxy ? cut_proxy_url(proxy, &api.database) : api.database.url, flags);
    return database_connect(&api.database);
}

// With a PostgreSQL of the test's own.
static struct postgres *shared;

static void start_own(void)
{
    shared = api.postgres;
    api.postgres = postgres_new(NULL);
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    start_service(api.database.url, NULL);
}

static void end_own(void)
{
    http_client_free(api.client);
    service_end(api.service);
    postgres_free(api.postgres);
    api.postgres = shared;
}

// --- requests in a thread ---------------------------------------------------------------------------------

struct add {
    pthread_t thread;
    const char *path;
    const char *key;
    int status;
    bool replayed;
    char kind[40];
    char body[100];
};

static void *run_add(void *user)
{
    struct add *add = user;
    struct http_client *client = http_client_new(service_url(api.service));
    struct answer *answer = http_try(client, "POST", add->path, BODY("{\"by\":1}"),
                                     (const char *const[]){add->key, NULL}, 30 * 1000);
    if (answer) {
        add->status = answer->status;
        add->replayed = answer_header(answer, "Holdfast-Replayed") != NULL;
        snprintf(add->kind, sizeof add->kind, "%s", answer_kind(answer));
        snprintf(add->body, sizeof add->body, "%s", (const char *)answer->body.data);
    }
    http_client_free(client);
    return NULL;
}

static void start_add(struct add *add)
{
    ck_assert_int_eq(pthread_create(&add->thread, NULL, run_add, add), 0);
}

static void send_again(struct add *add)
{
    start_add(add);
    pthread_join(add->thread, NULL);
}

struct counted {
    PGconn *connection;
    int64_t value;
};

static int64_t value_of(PGconn *connection)
{
    return sql_number(connection, "select convert_from(value, 'UTF8')::bigint from holdfast.entries");
}

static bool is_counted(void *user)
{
    struct counted *counted = user;
    return value_of(counted->connection) == counted->value;
}

static void await_value(PGconn *connection, int64_t value)
{
    struct counted counted = {connection, value};
    ck_assert_msg(clock_wait(is_counted, &counted, BACK_MS), "the sum is %lld and not %lld",
                  (long long)value_of(connection), (long long)value);
}

static bool read_works(void *user)
{
    return GET(user)->status != 503;
}

static bool ready(void *user)
{
    (void)user;
    return GET("/readyz")->status == 200;
}

// --- faults -----------------------------------------------------------------------------------------------

// ONCE-2
START_TEST(database_away_is_not_remembered)
{
    start_own();
    const char *path = api_entry(api_bucket(), "k");
    const char *key = "Idempotency-Key: k1";
    ck_status(PUT(TEXT("%s-other", path), BODY("v"), "Idempotency-Key: k0"), 201);
    postgres_stop(api.postgres);
    for (int i = 0; i < 5; i++) {
        int64_t begun = clock_ms();
        ck_problem(PUT(path, BODY("v"), "If-None-Match: *", key), 503, "unavailable");
        ck_assert_int_lt(clock_ms() - begun, 3000);
    }
    postgres_start(api.postgres);
    ck_assert(clock_wait(ready, NULL, BACK_MS));
    struct answer *put = PUT(path, BODY("v"), "If-None-Match: *", key);
    ck_status(put, 201);
    ck_header(put, "Holdfast-Replayed", NULL);
    struct answer *again = PUT(path, BODY("v"), "If-None-Match: *", key);
    ck_status(again, 201);
    ck_header(again, "Holdfast-Replayed", "true");
    ck_header(again, "ETag", tag_of(put));
    end_own();
}
END_TEST

// DB-2: cut off with the commit, in turn just before and just after PostgreSQL had it.
START_TEST(commit_cut_off_is_resolved)
{
    enum { ROUNDS = 40 };
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    PGconn *connection = start(proxy, NULL);
    const char *path = TEXT("%s/add", api_entry(api_bucket(), "n"));
    for (int round = 1; round <= ROUNDS; round++) {
        bool after = round % 2;
        struct add add = {.path = path, .key = TEXT("Idempotency-Key: %d", round)};
        cut_proxy_arm(proxy, after ? CUT_AFTER : CUT_BEFORE, "commit_");
        start_add(&add);
        if (after) {
            await_value(connection, round);
            ck_assert(cut_proxy_cut(proxy));
        }
        pthread_join(add.thread, NULL);
        ck_assert(cut_proxy_met(proxy));
        ck_assert_msg(add.status == 200, "%d %s", add.status, add.kind);
        ck_assert(!add.replayed);
        struct add again = {.path = path, .key = add.key};
        send_again(&again);
        ck_assert(again.replayed);
        ck_assert_str_eq(again.body, add.body);
        ck_assert_int_eq(value_of(connection), round);
    }
    PQfinish(connection);
    end_service();
    cut_proxy_end(proxy);
}
END_TEST

START_TEST(service_killed_after_its_commit)
{
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    PGconn *connection = start(proxy, NULL);
    struct add add = {.path = TEXT("%s/add", api_entry(api_bucket(), "n")), .key = "Idempotency-Key: k"};
    cut_proxy_arm(proxy, CUT_AFTER, "commit_");
    start_add(&add);
    await_value(connection, 1);
    service_kill(api.service);
    pthread_join(add.thread, NULL);
    ck_assert_int_eq(add.status, 0);
    api.service = service_start(&(struct service_options){.database = api.database.url});
    send_again(&add);
    ck_assert_int_eq(add.status, 200);
    ck_assert(add.replayed);
    ck_assert_int_eq(value_of(connection), 1);
    PQfinish(connection);
    end_service();
    cut_proxy_end(proxy);
}
END_TEST

static void set_standby(PGconn *connection, const char *name)
{
    sql_run(connection, "alter system set synchronous_standby_names = '%s'", name);
    sql_run(connection, "select pg_reload_conf()");
}

struct standby_probe {
    PGconn *connection;
    PGconn *waiting; // commits until a commit waits
};

static bool standby_is_awaited(void *user)
{
    const struct standby_probe *probe = user;
    PQconsumeInput(probe->waiting);
    if (!PQisBusy(probe->waiting)) {
        for (PGresult *result; (result = PQgetResult(probe->waiting));)
            PQclear(result);
        PQsendQuery(probe->waiting, "select pg_logical_emit_message(true, '', '')");
    }
    return sql_number(probe->connection,
                      "select count(*) from pg_stat_activity where pid = %d and wait_event = 'SyncRep'",
                      PQbackendPID(probe->waiting)) == 1;
}

// A reloaded setting holds when the server's own processes have read it, which is a little later.
static void require_standby(PGconn *connection)
{
    struct standby_probe probe = {connection, database_connect(&api.database)};
    set_standby(connection, "nobody");
    ck_assert(clock_wait(standby_is_awaited, &probe, BACK_MS));
    sql_run(connection, "select pg_terminate_backend(%d)", PQbackendPID(probe.waiting));
    PQfinish(probe.waiting);
}

static bool commit_waits(void *user)
{
    return sql_number(
               user,
               "select count(*) from pg_stat_activity where wait_event = 'SyncRep' and query = 'commit'") ==
           1;
}

enum { SESSIONS_MOST = 4 };

static bool all_sessions_wait(void *user)
{
    return sql_number(user, "select count(distinct pid) from pg_locks where not granted") == SESSIONS_MOST;
}

// Sessions are opened as they are needed, which takes a commit: before nothing can commit, all are made to
// be. Adds 4.
static void open_sessions(PGconn *connection, const char *path)
{
    struct add adds[SESSIONS_MOST];
    sql_run(connection, "begin; lock table holdfast.idempotency");
    for (int i = 0; i < SESSIONS_MOST; i++) {
        adds[i] = (struct add){.path = path, .key = TEXT("Idempotency-Key: opening-%d", i)};
        start_add(&adds[i]);
    }
    ck_assert(clock_wait(all_sessions_wait, connection, BACK_MS));
    sql_run(connection, "commit");
    for (int i = 0; i < SESSIONS_MOST; i++) {
        pthread_join(adds[i].thread, NULL);
        ck_assert_int_eq(adds[i].status, 200);
    }
}

// PostgreSQL has written the commit and waits for a standby when the backend is ended: it is committed, and
// says nothing.
START_TEST(backend_ended_in_its_commit)
{
    start_own();
    PGconn *connection = database_connect(&api.database);
    const char *path = TEXT("%s/add", api_entry(api_bucket(), "n"));
    struct add add = {.path = path, .key = "Idempotency-Key: k"};
    open_sessions(connection, path);
    sql_run(connection, "set synchronous_commit = local");
    require_standby(connection);
    start_add(&add);
    ck_assert(clock_wait(commit_waits, connection, BACK_MS));
    sql_run(connection,
            "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and "
            "query = 'commit'");
    pthread_join(add.thread, NULL);
    set_standby(connection, "");
    ck_assert_msg(add.status == 200, "%d %s", add.status, add.kind);
    ck_assert_int_eq(value_of(connection), SESSIONS_MOST + 1);
    send_again(&add);
    ck_assert(add.replayed);
    ck_assert_int_eq(value_of(connection), SESSIONS_MOST + 1);
    PQfinish(connection);
    end_own();
}
END_TEST

START_TEST(doubt_that_lasts_is_outcome_unknown)
{
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    PGconn *connection = start(proxy, (const char *const[]){"--database-timeout", "1s", NULL});
    const char *entry = api_entry(api_bucket(), "n");
    struct add add = {.path = TEXT("%s/add", entry), .key = "Idempotency-Key: k"};
    cut_proxy_arm(proxy, CUT_AFTER, "commit_");
    start_add(&add);
    await_value(connection, 1);
    cut_proxy_sever(proxy, true);
    pthread_join(add.thread, NULL);
    ck_assert_int_eq(add.status, 503);
    ck_assert_str_eq(add.kind, "outcome_unknown");
    cut_proxy_sever(proxy, false);
    ck_assert(clock_wait(ready, NULL, BACK_MS));
    send_again(&add);
    ck_assert_int_eq(add.status, 200);
    ck_assert(add.replayed);
    ck_assert_int_eq(value_of(connection), 1);
    PQfinish(connection);
    end_service();
    cut_proxy_end(proxy);
}
END_TEST

// --- locks ------------------------------------------------------------------------------------------------

START_TEST(waiting_for_a_key_has_an_end)
{
    PGconn *connection = start(NULL, (const char *const[]){"--database-timeout", "1s", NULL});
    const char *path = api_entry(api_bucket(), "k");
    sql_run(connection, "select pg_advisory_lock(7240005, hashtext(' held'))");
    int64_t begun = clock_ms();
    ck_problem(PUT(path, BODY("v"), "Idempotency-Key: held"), 503, "unavailable");
    ck_assert_int_lt(clock_ms() - begun, 5000);
    ck_status(PUT(TEXT("%s-other", path), BODY("v"), "Idempotency-Key: free"), 201);
    sql_run(connection, "select pg_advisory_unlock_all()");
    struct answer *put = PUT(path, BODY("v"), "Idempotency-Key: held");
    ck_status(put, 201);
    ck_header(put, "Holdfast-Replayed", NULL);
    PQfinish(connection);
    end_service();
}
END_TEST

static bool somebody_waits(void *user)
{
    return sql_number(user, "select count(*) from pg_locks where not granted and database = "
                            "(select oid from pg_database where datname = current_database())") > 0;
}

// The other side waits for the key while it holds the bucket, so that PostgreSQL ends the service's
// transaction.
START_TEST(keyed_write_survives_a_deadlock)
{
    PGconn *connection = start(NULL, NULL);
    PGconn *watcher = database_connect(&api.database);
    const char *bucket = api_bucket();
    struct add add = {.path = TEXT("%s/add", api_entry(bucket, "n")), .key = "Idempotency-Key: k"};
    sql_run(connection, "set deadlock_timeout = '60s'");
    sql_run(connection, "begin");
    sql_run(connection, "select pg_advisory_xact_lock(7240001, hashtext('%s'))", bucket);
    start_add(&add);
    ck_assert(clock_wait(somebody_waits, watcher, BACK_MS));
    sql_run(connection, "select pg_advisory_xact_lock(7240005, hashtext(' k'))");
    sql_run(connection, "commit");
    pthread_join(add.thread, NULL);
    ck_assert_msg(add.status == 200, "%d %s", add.status, add.kind);
    ck_assert(!add.replayed);
    ck_assert_int_eq(value_of(watcher), 1);
    PQfinish(connection);
    PQfinish(watcher);
    end_service();
}
END_TEST

START_TEST(keyed_writes_after_a_restore)
{
    PGconn *connection = start(NULL, NULL);
    const char *path = api_entry(api_bucket(), "k");
    for (int i = 0; i < 5; i++) {
        sql_run(connection, "update holdfast.lifted set mark = '3'"); // as a restored dump has it
        ck_reply(PUT(path, BODY("v"), TEXT("Idempotency-Key: %d", i)),
                 answer_->status == 201 || answer_->status == 204);
    }
    PQfinish(connection);
    end_service();
}
END_TEST

START_TEST(terminated_sessions_are_not_seen)
{
    PGconn *connection = start(NULL, NULL);
    const char *path = TEXT("%s/add", api_entry(api_bucket(), "n"));
    for (int i = 1; i <= 30; i++) {
        sql_run(connection,
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = "
                "current_database() and pid <> pg_backend_pid() and query in ('rollback', 'commit')");
        struct add add = {.path = path, .key = TEXT("Idempotency-Key: %d", i)};
        send_again(&add);
        ck_assert_msg(add.status == 200, "%d %s", add.status, add.kind);
        ck_assert_int_eq(value_of(connection), i);
    }
    PQfinish(connection);
    end_service();
}
END_TEST

// --- too many ---------------------------------------------------------------------------------------------

enum { CROWD = 1100, MOST_AT_ONCE = 1004 };

static int count_answered(struct raw *const *crowd)
{
    struct pollfd watched[CROWD];
    int count = 0;
    for (int i = 0; i < CROWD; i++)
        watched[i] = (struct pollfd){raw_fd(crowd[i]), POLLIN, 0};
    poll(watched, CROWD, 0);
    for (int i = 0; i < CROWD; i++)
        count += (watched[i].revents & POLLIN) != 0;
    return count;
}

static bool surplus_is_answered(void *user)
{
    return count_answered(user) >= CROWD - MOST_AT_ONCE;
}

START_TEST(more_than_can_wait_are_refused)
{
    PGconn *connection = start(NULL, (const char *const[]){"--database-timeout", "1m", NULL});
    const char *bucket = api_bucket();
    struct raw *crowd[CROWD];
    open_sessions(connection, TEXT("%s/add", api_entry(bucket, "n")));
    sql_run(connection, "select pg_advisory_lock(7240001, hashtext('%s'))", bucket);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = raw_connect(service_port(api.service));
        raw_text(crowd[i], "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nIdempotency-Key: %d\r\n\r\nv",
                 api_entry(bucket, TEXT("%d", i)), i);
    }
    ck_assert(clock_wait(surplus_is_answered, crowd, 20 * 1000));
    ck_assert_int_eq(count_answered(crowd), CROWD - MOST_AT_ONCE);
    ck_assert(clock_wait(read_works, (void *)(uintptr_t)api_entry(bucket, "k"), 1000));
    sql_run(connection, "select pg_advisory_unlock_all()");
    int done = 0, refused = 0;
    for (int i = 0; i < CROWD; i++) {
        struct answer *answer = raw_read(crowd[i], false, 30 * 1000);
        ck_assert_ptr_nonnull(answer);
        done += answer->status == 201;
        refused += answer->status == 503;
        raw_close(crowd[i]);
    }
    ck_assert_int_eq(done, MOST_AT_ONCE);
    ck_assert_int_eq(refused, CROWD - MOST_AT_ONCE);
    PQfinish(connection);
    end_service();
}
END_TEST

Suite *idempotency_faults_suite(void)
{
    const TTest *const tests[] = {
        database_away_is_not_remembered,
        commit_cut_off_is_resolved,
        service_killed_after_its_commit,
        backend_ended_in_its_commit,
        doubt_that_lasts_is_outcome_unknown,
        waiting_for_a_key_has_an_end,
        keyed_write_survives_a_deadlock,
        keyed_writes_after_a_restore,
        terminated_sessions_are_not_seen,
        more_than_can_wait_are_refused,
        NULL,
    };
    return api_suite_bare("idempotency_faults", tests);
}
