// The service behind a real PgBouncer that gives every transaction another session: it needs nothing of a
// session, leaves nothing in one, and says what is wrong when it is told of no pooler.
#include "api.h"

#include "support/clock.h"
#include "support/parallel.h"
#include "support/pooler.h"
#include "support/process.h"
#include "support/scratch.h"
#include "wait_steps.h"

#include <stdio.h>
#include <string.h>

enum { SESSIONS = 8 }; // that the pooler has

static struct pooler *pooler;
static char *folder;
static char *pooled;

// A pooler with these lines among its settings, and a database of the test's own behind it.
static void start_pooler(const char *settings)
{
    folder = scratch_folder("pooler");
    pooler = pooler_start(folder, postgres_socket_folder(api.postgres), settings);
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    pooled = pooler_address(folder, api.database.name);
}

static void end_pooler(void)
{
    pooler_stop(pooler);
    database_drop(api.postgres, &api.database);
    free(pooled);
    free(folder);
}

static struct service_options through_the_pooler(void)
{
    static const char *flags[3];
    flags[0] = "--listen-database";
    flags[1] = api.database.url;
    return (struct service_options){.database = pooled, .flags = flags};
}

static void start_all(void)
{
    start_pooler(NULL);
    struct service_options options = through_the_pooler();
    api.service = service_start(&options);
    api.twin = service_start(&options);
    api.client = http_client_new(service_url(api.service));
}

static void end_all(void)
{
    http_client_free(api.client);
    service_end(api.service);
    service_end(api.twin);
    end_pooler();
}

static const char transaction[] =
    "{\"operations\":[{\"op\":\"add\",\"bucket\":\"sums\",\"key\":\"k\",\"by\":1},"
    "{\"op\":\"put\",\"bucket\":\"pooled\",\"key\":\"t\",\"text\":\"v\",\"content_type\":\"text/plain\"}]}";

// Calls of every kind of connection, from both replicas.
static void use_everything(void)
{
    struct http_client *other = http_client_new(service_url(api.twin));
    for (int i = 0; i < 3 * SESSIONS; i++) {
        ck_reply(PUT("/v1/buckets/pooled/entries/k", BODY("v")), answer_->status == (i ? 204 : 201));
        ck_status(http(other, "GET", "/v1/buckets/pooled/entries/k", NO_BODY), 200);
        ck_status(http(other, "GET", "/v1/buckets/pooled/entries", NO_BODY), 200);
        ck_status(PUT("/v1/buckets/pooled/entries/once", BODY("v"), TEXT("Idempotency-Key: \"%d\"", i)),
                  i ? 204 : 201);
        ck_status(http(other, "POST", "/v1/transactions", BODY(transaction)), 200);
        ck_status(PUT("/v1/counters/pooled-sums", BODY("{\"lose_at_most\":\"1s\"}")), i ? 200 : 201);
        ck_status(http(other, "POST", "/v1/counters/pooled-sums/k/add", BODY("{\"by\":1}")), 200);
    }
    http_client_free(other);
}

START_TEST(pooled_sessions_are_left_as_they_were)
{
    start_all();
    use_everything();
    ck_body(GET("/v1/buckets/sums/entries/k"), BODY("24"));
    PGconn *connection = PQconnectdb(pooled);
    ck_assert_int_eq(PQstatus(connection), CONNECTION_OK);
    for (int i = 0; i < 2 * SESSIONS; i++) { // each is another session
        char *settings = sql_text(
            connection,
            "select current_setting('search_path') || ' ' || current_setting('plan_cache_mode') || ' ' || "
            "current_setting('enable_seqscan') || ' ' || current_setting('lock_timeout') || ' ' || "
            "(select count(*) from pg_prepared_statements) || ' ' || (select count(*) from "
            "pg_listening_channels()) || ' ' || (select count(*) from pg_locks where locktype = 'advisory' "
            "and pid = pg_backend_pid())");
        ck_assert_str_eq(settings, "\"$user\", public auto on 0 0 0 0");
        free(settings);
    }
    PQfinish(connection);
    end_all();
}
END_TEST

enum { WRITERS = 24, ROUNDS = 12, LARGE = 60 * 1000 };

struct mixing {
    int rounds[WRITERS]; // that went well
};

// Values so large that the pooler hands them on in parts, each of another letter.
static void write_large(size_t index, void *user)
{
    struct mixing *mixing = user;
    struct http_client *client = http_client_new(service_url(index % 2 ? api.service : api.twin));
    char *value = malloc(LARGE);
    bool good = value != NULL;
    for (int i = 0; good && i < ROUNDS; i++) {
        const char *path = http_text(client, "/v1/buckets/large/entries/%zu", index);
        memset(value, 'a' + (int)(index + (size_t)i) % 26, LARGE);
        int status = http(client, "PUT", path, bytes_make(value, LARGE))->status;
        struct answer *got = http(client, "GET", path, NO_BODY);
        good = status == (i ? 204 : 201) && got->status == 200 && answer_is(got, bytes_make(value, LARGE));
        mixing->rounds[index] += good;
    }
    free(value);
    http_client_free(client);
}

// The pooler lends a session on when it has answered, were the next call half sent: no call may be under way
// while another is sent, or the halves end in two sessions.
START_TEST(pooled_calls_are_not_mixed)
{
    struct mixing mixing = {{0}};
    size_t before;
    free(scratch_read(postgres_log(api.postgres), &before));
    start_all();
    parallel_run(WRITERS, write_large, &mixing);
    for (int i = 0; i < WRITERS; i++)
        ck_assert_int_eq(mixing.rounds[i], ROUNDS);
    char *log = scratch_read(postgres_log(api.postgres), NULL);
    ck_assert_ptr_null(strstr(log + before, "invalid frontend message"));
    ck_assert_ptr_null(strstr(log + before, "incomplete message"));
    free(log);
    end_all();
}
END_TEST

// A replica that is told through its own session waits for what another writes through the pooler.
START_TEST(pooled_writes_wake_waits)
{
    start_all();
    struct http_client *other = http_client_new(service_url(api.twin));
    PGconn *connection = database_connect(&api.database);
    struct answer *put = PUT("/v1/buckets/pooled/entries/k", BODY("v"));
    for (int i = 0; i < 5; i++) {
        struct raw *wait = wait_begin(api.service, "/v1/buckets/pooled/entries/k", wait_headers(put, 20));
        wait_until_covered(connection, 1);
        int64_t start = clock_ms();
        put = http(other, "PUT", "/v1/buckets/pooled/entries/k", BODY("w"));
        ck_status(put, 204);
        ck_status(wait_end(wait), 200);
        ck_assert_int_lt(clock_ms() - start, 900); // sooner than the look by the clock
    }
    PQfinish(connection);
    http_client_free(other);
    end_all();
}
END_TEST

static int64_t position_of(const struct answer *answer)
{
    return strtoll(answer_header(answer, "Holdfast-Position"), NULL, 10);
}

// What a failover behind the pooler looks like from here: the same connection, another server, a sequence
// that fell back.
START_TEST(server_that_changes_behind_the_pooler_repeats_nothing)
{
    start_all();
    int64_t before = position_of(PUT("/v1/buckets/pooled/entries/k", BODY("v")));
    PGconn *connection = database_connect(&api.database);
    sql_run(connection, "begin; select setval('holdfast.revision', 256000); "
                        "update holdfast.lifted set mark = pg_current_xact_id()::xid, "
                        "server_started = server_started - interval '1 second'; commit");
    struct answer *put = PUT("/v1/buckets/pooled/entries/k", BODY("w"));
    ck_status(put, 204);
    ck_assert_int_gt(position_of(put), before);
    ck_assert_int_eq(sql_number(connection, "select count(*) from holdfast.lifted where server_started = "
                                            "pg_postmaster_start_time()"),
                     1);
    PQfinish(connection);
    end_all();
}
END_TEST

static bool log_speaks_of(void *user)
{
    char *log = scratch_read(service_log(api.service), NULL);
    bool spoken = strstr(log, user) != NULL;
    free(log);
    return spoken;
}

// Such a pooler drops the settings of the session without a word.
START_TEST(pooler_that_was_not_spoken_of_is_found_out)
{
    start_pooler("ignore_startup_parameters = options\n");
    struct service_options options = {
        .database = pooled, .unready = true, .flags = (const char *[]){"--no-migrate", NULL}};
    api.service = service_start(&options);
    api.client = http_client_new(service_url(api.service));
    ck_assert(clock_wait(log_speaks_of, "--listen-database", 10 * 1000));
    ck_problem(GET("/readyz"), 503, "unavailable");
    ck_problem(PUT("/v1/buckets/pooled/entries/k", BODY("v")), 503, "unavailable");
    http_client_free(api.client);
    service_end(api.service);
    end_pooler();
}
END_TEST

// Under a stricter isolation decisions would be made on rows as they were before the locks were had.
START_TEST(pooled_transactions_are_read_committed_or_refused)
{
    start_pooler(NULL);
    PGconn *connection = database_connect(&api.database);
    sql_run(connection, "alter database %s set default_transaction_isolation = 'repeatable read'",
            api.database.name);
    struct service_options options = through_the_pooler();
    options.unready = true;
    api.service = service_start(&options);
    api.client = http_client_new(service_url(api.service));
    ck_assert(clock_wait(log_speaks_of, "read committed", 10 * 1000));
    ck_problem(PUT("/v1/buckets/pooled/entries/k", BODY("v")), 503, "unavailable");
    sql_run(connection, "alter database %s reset default_transaction_isolation", api.database.name);
    sql_run(connection,
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = '%s' and pid <> "
            "pg_backend_pid()",
            api.database.name);
    PQfinish(connection);
    ck_assert(service_wait_ready(api.service, 20 * 1000));
    ck_status(PUT("/v1/buckets/pooled/entries/k", BODY("v")), 201);
    http_client_free(api.client);
    service_end(api.service);
    end_pooler();
}
END_TEST

static int run_serve(const char *const *arguments)
{
    char *log = scratch_printf("%s/serve", folder);
    struct process_options options = {.arguments = arguments, .stdout_fd = -1, .output = log};
    int code = process_run(&options, 20 * 1000);
    free(log);
    return code;
}

static bool was_said(const char *words)
{
    char *log = scratch_printf("%s/serve", folder);
    char *text = scratch_read(log, NULL);
    bool said = strstr(text, words) != NULL;
    free(text);
    free(log);
    return said;
}

START_TEST(addresses_that_do_not_belong_together_are_refused)
{
    start_pooler(NULL);
    struct database other = database_new(api.postgres, DATABASE_MIGRATED);
    ck_assert_int_eq(
        run_serve((const char *const[]){service_binary(), "serve", "--listen", "127.0.0.1:0", "--database",
                                        pooled, "--listen-database", other.url, NULL}),
        1);
    ck_assert(was_said("--database and --listen-database are two databases"));
    ck_assert_int_eq(run_serve((const char *const[]){service_binary(), "serve", "--listen", "127.0.0.1:0",
                                                     "--listen-database", other.url, NULL}),
                     2);
    ck_assert(was_said("--listen-database goes with --database"));
    database_drop(api.postgres, &other);
    end_pooler();
}
END_TEST

Suite *pooler_suite(void)
{
    const TTest *const tests[] = {pooled_sessions_are_left_as_they_were,
                                  pooled_calls_are_not_mixed,
                                  pooled_writes_wake_waits,
                                  server_that_changes_behind_the_pooler_repeats_nothing,
                                  pooler_that_was_not_spoken_of_is_found_out,
                                  pooled_transactions_are_read_committed_or_refused,
                                  addresses_that_do_not_belong_together_are_refused,
                                  NULL};
    return api_suite_bare("pooler", tests);
}
