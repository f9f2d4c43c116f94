// The database goes away, freezes, turns read-only or breaks a connection in the worst moment: honest answers
// at once, and everything again when it is back, with no restart.
#include "api.h"

#include "support/clock.h"
#include "support/cut_proxy.h"
#include "support/parallel.h"
#include "support/process.h"
#include "support/raw.h"
#include "support/scratch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum { BACK_MS = 10 * 1000 };

// A PostgreSQL of the test's own, which may be stopped, with a service and its client.
static struct postgres *shared;

static void start_own(const char *const *flags)
{
    shared = api.postgres;
    api.postgres = postgres_new(NULL);
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(&(struct service_options){.database = api.database.url, .flags = flags});
    api.client = http_client_new(service_url(api.service));
}

static void end_own(void)
{
    http_client_free(api.client);
    service_end(api.service);
    postgres_free(api.postgres);
    api.postgres = shared;
}

// A service of the test's own on the tier's PostgreSQL.
static void start_service(const char *url)
{
    api.service = service_start(&(struct service_options){.database = url});
    api.client = http_client_new(service_url(api.service));
}

static void end_service(void)
{
    http_client_free(api.client);
    service_end(api.service);
    database_drop(api.postgres, &api.database);
}

static bool put_works(void *user)
{
    struct answer *answer = PUT(user, BODY("back"));
    if (answer->status != 201 && answer->status != 204 && answer->status != 503)
        ck_abort_msg("neither done nor unavailable: %s", answer_describe(answer));
    return answer->status != 503;
}

static bool read_works(void *user)
{
    return GET(user)->status == 200;
}

static bool is_unready(void *user)
{
    (void)user;
    return GET("/readyz")->status == 503;
}

static void expect_back(const char *path)
{
    ck_assert_msg(clock_wait(put_works, (void *)(uintptr_t)path, BACK_MS), "writes do not work again");
    ck_assert_msg(service_wait_ready(api.service, BACK_MS), "/readyz is not 200 again");
    ck_assert_msg(clock_wait(read_works, (void *)(uintptr_t)path, BACK_MS), "reads do not work again");
    ck_body(GET(path), BODY("back"));
}

START_TEST(database_away_is_503)
{
    start_own(NULL);
    const char *path = api_entry(api_bucket(), "k");
    struct answer *put = PUT(path, BODY("kept"));
    postgres_stop(api.postgres);
    ck_assert(clock_wait(is_unready, NULL, 5000));
    for (int i = 0; i < 20; i++) {
        int64_t start = clock_ms();
        ck_problem(PUT(path, BODY("v")), 503, "unavailable");
        ck_problem(PUT(path, BODY("v"), "If-None-Match: *"), 503, "unavailable");
        ck_problem(DELETE(path), 503, "unavailable");
        ck_problem(GET(path), 503, "unavailable");
        ck_status(HEAD(path), 503);
        ck_problem(GET("/v1/buckets"), 503, "unavailable");
        ck_problem(DECLARE("b", "{}"), 503, "unavailable");
        // What needs no database is still judged.
        ck_problem(PUT(TEXT("%s?nonsense=1", path), BODY("v")), 400, "invalid");
        ck_status(GET("/livez"), 200);
        ck_assert_int_lt(clock_ms() - start, 3000);
    }
    postgres_start(api.postgres);
    ck_assert(clock_wait(read_works, (void *)(uintptr_t)path, BACK_MS));
    struct answer *got = GET(path);
    ck_body(got, BODY("kept"));
    ck_header(got, "ETag", answer_header(put, "ETag"));
    expect_back(path);
    end_own();
}
END_TEST

START_TEST(livez_without_database)
{
    api.database = database_new(api.postgres, DATABASE_EMPTY);
    struct service_options options = {.database = "postgresql:///x?host=/nonexistent&user=postgres",
                                      .unready = true};
    api.service = service_start(&options);
    api.client = http_client_new(service_url(api.service));
    ck_status(GET("/livez"), 200);
    ck_problem(GET("/readyz"), 503, "unavailable");
    ck_problem(PUT("/v1/buckets/b/entries/k", BODY("v")), 503, "unavailable");
    ck_status(GET("/openapi.json"), 200);
    end_service();
}
END_TEST

// Started before its database: it migrates and serves as soon as that is there.
START_TEST(database_that_comes_later)
{
    api.database = database_new(api.postgres, DATABASE_EMPTY);
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    cut_proxy_sever(proxy, true);
    struct service_options options = {.database = cut_proxy_url(proxy, &api.database), .unready = true};
    api.service = service_start(&options);
    api.client = http_client_new(service_url(api.service));
    ck_problem(GET("/readyz"), 503, "unavailable");
    cut_proxy_sever(proxy, false);
    ck_assert(service_wait_ready(api.service, 20 * 1000));
    ck_status(PUT("/v1/buckets/b/entries/k", BODY("v")), 201);
    end_service();
    cut_proxy_end(proxy);
}
END_TEST

// --- under load -------------------------------------------------------------------------------------------

enum { WRITERS = 6, MOST_WRITES = 20000 };

struct load {
    const char *bucket;
    atomic_bool stop;
    atomic_int done, refused, wrong;
    bool applied[WRITERS][MOST_WRITES]; // of the keys 0, 1, …: each is written once
};

static void write_on(size_t index, void *user)
{
    struct load *load = user;
    struct http_client *client = http_client_new(service_url(api.service));
    for (int i = 0; i < MOST_WRITES && !atomic_load(&load->stop); i++) {
        const char *path = http_text(client, "/v1/buckets/%s/entries/%zu-%d", load->bucket, index, i);
        struct answer *answer = http(client, "PUT", path, BODY("v"));
        load->applied[index][i] = answer->status == 201;
        atomic_fetch_add(answer->status == 201   ? &load->done
                         : answer->status == 503 ? &load->refused
                                                 : &load->wrong,
                         1);
        if (answer->status == 503)
            clock_pause(5);
    }
    http_client_free(client);
}

static void *run_load(void *user)
{
    parallel_run(WRITERS, write_on, user);
    return NULL;
}

static bool more_done(void *user)
{
    struct load *load = user;
    return atomic_load(&load->done) > 200;
}

START_TEST(database_restarts_under_load)
{
    start_own(NULL);
    struct load *load = calloc(1, sizeof *load);
    pthread_t thread;
    load->bucket = api_bucket();
    pid_t pid = service_pid(api.service);
    pthread_create(&thread, NULL, run_load, load);
    for (int round = 0; round < 3; round++) {
        atomic_store(&load->done, 0);
        ck_assert(clock_wait(more_done, load, 20 * 1000));
        if (round % 2)
            postgres_kill(api.postgres);
        else
            postgres_stop(api.postgres);
        ck_assert(clock_wait(is_unready, NULL, 5000));
        ck_status(GET("/livez"), 200);
        postgres_start(api.postgres);
        ck_assert(service_wait_ready(api.service, BACK_MS));
    }
    atomic_store(&load->done, 0);
    ck_assert(clock_wait(more_done, load, 20 * 1000));
    atomic_store(&load->stop, true);
    pthread_join(thread, NULL);
    ck_assert_int_eq(load->wrong, 0);
    ck_assert_int_gt(load->refused, 0);
    expect_back(api_entry(load->bucket, "probe"));
    for (int i = 0; i < WRITERS; i++)
        for (int j = 0; j < MOST_WRITES && load->applied[i][j]; j++)
            ck_status(HEAD(api_entry(load->bucket, TEXT("%d-%d", i, j))), 200);
    ck_assert_int_eq(service_pid(api.service), pid);
    free(load);
    end_own();
}
END_TEST

// --- K8S-2 ------------------------------------------------------------------------------------------------

// Traffic comes the moment that /readyz says 200, and not for writes alone.
START_TEST(ready_means_reads_too)
{
    start_own(NULL);
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("v")), 201);
    for (int round = 0; round < 3; round++) {
        postgres_stop(api.postgres);
        ck_assert(clock_wait(is_unready, NULL, 5000));
        postgres_start(api.postgres);
        ck_assert(service_wait_ready(api.service, BACK_MS));
        ck_status(GET(path), 200);
        ck_status(GET("/v1/buckets"), 200);
        ck_status(PUT(path, BODY("v")), 204);
    }
    end_own();
}
END_TEST

static void put_once(size_t index, void *user)
{
    int *status = user;
    struct http_client *client = http_client_new(service_url(api.service));
    status[index] =
        http(client, "PUT", http_text(client, "/v1/buckets/frozen/entries/%zu", index), BODY("v"))->status;
    http_client_free(client);
}

START_TEST(frozen_database)
{
    start_own((const char *const[]){"--database-timeout", "1s", NULL});
    pid_t pid = service_pid(api.service);
    const char *path = api_entry("frozen", "k");
    ck_status(PUT(path, BODY("v")), 201);
    postgres_freeze(api.postgres);
    int64_t start = clock_ms();
    int status[4];
    parallel_run(4, put_once, status);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(status[i], 503);
    while (GET("/readyz")->status == 200)
        ck_assert_int_lt(clock_ms() - start, 5000);
    for (int i = 0; i < 20; i++) {
        int64_t before = clock_ms();
        ck_status(GET("/livez"), 200);
        ck_assert_int_lt(clock_ms() - before, 300); // 100 on a machine of its own
        before = clock_ms();
        ck_problem(GET("/readyz"), 503, "unavailable");
        ck_assert_int_lt(clock_ms() - before, 1000);
    }
    postgres_thaw(api.postgres);
    expect_back(path);
    ck_assert_int_eq(service_pid(api.service), pid);
    end_own();
}
END_TEST

// A look at the sessions that read: one that waits for the lock is stopped, so that it falls silent with its
// call.
struct silencing {
    PGconn *connection;
    struct raw *reader;
    pid_t stopped[10];
    int count;
};

static bool is_answered(void *user)
{
    struct silencing *silencing = user;
    char *pid = sql_text(silencing->connection,
                         "select coalesce(max(pid), 0) from pg_stat_activity where application_name = "
                         "'holdfast read/0' and wait_event_type = 'Lock'");
    pid_t waits = (pid_t)strtol(pid, NULL, 10);
    free(pid);
    for (int i = 0; i < silencing->count; i++)
        if (silencing->stopped[i] == waits)
            waits = 0;
    if (waits && silencing->count < 10) {
        silencing->stopped[silencing->count++] = waits;
        ck_assert_int_eq(kill(waits, SIGSTOP), 0);
    }
    return !raw_silent(silencing->reader, 1);
}

// The number behind `member` in the line of the service's log that has both texts; -1 without such a line.
static long long logged_number(const char *event, const char *id, const char *member)
{
    char *log = scratch_read(service_log(api.service), NULL);
    long long number = -1;
    char *rest = log;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const char *at = strstr(line, event) && strstr(line, id) ? strstr(line, member) : NULL;
        if (at)
            number = strtoll(at + strlen(member), NULL, 10);
    }
    free(log);
    return number;
}

static bool is_reported(void *user)
{
    (void)user;
    return logged_number("\"slow_request\"", "put-off", "\"database_us\":") >= 900 * 1000;
}

START_TEST(silent_sessions_do_not_put_a_read_off_again)
{
    start_own((const char *const[]){"--database-timeout", "1s", NULL});
    const char *path = api_entry("silent", "k");
    ck_status(PUT(path, BODY("v")), 201);
    PGconn *locker = database_connect(&api.database);
    struct silencing silencing = {.connection = database_connect(&api.database),
                                  .reader = raw_connect(service_port(api.service))};
    sql_run(locker, "begin; lock table holdfast.entries in access exclusive mode");
    ck_assert(
        raw_text(silencing.reader, "GET %s HTTP/1.1\r\nHost: h\r\nX-Request-Id: put-off\r\n\r\n", path));
    ck_assert(clock_wait(is_answered, &silencing, BACK_MS));
    for (int i = 0; i < silencing.count; i++)
        kill(silencing.stopped[i], SIGCONT);
    struct answer *answer = raw_read(silencing.reader, false, BACK_MS);
    ck_assert_ptr_nonnull(answer);
    ck_problem(answer, 503, "unavailable");
    ck_assert_int_eq(silencing.count, 1);
    // The log says which request it was, and that it was the database that took so long.
    ck_assert_int_ge(logged_number("\"call_lost\"", "put-off", "\"request_ids\":"), 0);
    ck_assert(clock_wait(is_reported, NULL, BACK_MS));
    raw_close(silencing.reader);
    PQfinish(locker);
    PQfinish(silencing.connection);
    expect_back(path);
    end_own();
}
END_TEST

static bool idles_cheaply(void)
{
    long before = process_cpu_ms(service_pid(api.service));
    clock_pause(1000);
    return process_cpu_ms(service_pid(api.service)) - before < 200;
}

// WAIT-3, as far as writes go: no busy loop, and no storm of log lines, while there is nothing to connect to.
START_TEST(away_costs_little)
{
    start_own((const char *const[]){"--log-level", "warn", NULL});
    postgres_stop(api.postgres);
    ck_assert(clock_wait(is_unready, NULL, 5000));
    ck_assert(idles_cheaply());
    clock_pause(1000);
    char *log = scratch_read(service_log(api.service), NULL);
    int lines = 0;
    for (char *c = log; *c; c++)
        lines += *c == '\n';
    free(log);
    ck_assert_int_lt(lines, 30);
    postgres_start(api.postgres);
    expect_back(api_entry(api_bucket(), "k"));
    end_own();
}
END_TEST

// A request in another thread; what it was answered.
struct request {
    pthread_t thread;
    const char *method;
    const char *path;
    const char *value;
    int status;
    char kind[40];
    char tag[40];
};

static void *send_request(void *user)
{
    struct request *request = user;
    struct http_client *client = http_client_new(service_url(api.service));
    struct bytes body = request->value ? bytes_of(request->value) : NO_BODY;
    struct answer *answer = http(client, request->method, request->path, body);
    const char *tag = answer_header(answer, "ETag");
    request->status = answer->status;
    snprintf(request->kind, sizeof request->kind, "%s", answer_kind(answer));
    snprintf(request->tag, sizeof request->tag, "%s", tag ? tag : "");
    http_client_free(client);
    return NULL;
}

static void start_request(struct request *request)
{
    ck_assert_int_eq(pthread_create(&request->thread, NULL, send_request, request), 0);
}

// --- DB-1 -------------------------------------------------------------------------------------------------

static void set_read_only(bool on)
{
    struct database maintenance = api.database;
    PGconn *connection = database_connect(&maintenance);
    sql_run(connection, "set default_transaction_read_only = off");
    sql_run(connection, "alter system set default_transaction_read_only = %s", on ? "on" : "off");
    sql_run(connection, "select pg_reload_conf()");
    PQfinish(connection);
}

START_TEST(read_only_database)
{
    start_own(NULL);
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("v")), 201);
    set_read_only(true);
    ck_assert(clock_wait(is_unready, NULL, 10 * 1000));
    for (int i = 0; i < 10; i++) {
        ck_problem(PUT(path, BODY("w")), 503, "unavailable");
        ck_problem(DELETE(path), 503, "unavailable");
        ck_problem(PUT(TEXT("%s-new", path), BODY("w"), "If-None-Match: *"), 503, "unavailable");
        ck_problem(PUT(TEXT("/v1/buckets/%s", api_bucket()), BODY("{}")), 503, "unavailable");
    }
    set_read_only(false);
    expect_back(path);
    ck_status(GET(TEXT("%s-new", path)), 404);
    end_own();
}
END_TEST

static bool write_is_possible(void *user)
{
    return put_works(user);
}

static bool somebody_waits(void *user)
{
    return sql_number(user, "select count(*) from pg_locks where not granted and database = "
                            "(select oid from pg_database where datname = current_database())") > 0;
}

// Makes removals wait for the bucket and then fail as on a server that takes no more writes; gives the
// definition that undoes it, to be freed.
static char *make_removals_read_only(PGconn *connection)
{
    char *definition =
        sql_text(connection, "select pg_get_functiondef(oid) from pg_proc where pronamespace = "
                             "'holdfast'::regnamespace and proname = 'delete_entries'");
    const char *body = strstr(definition, " LANGUAGE");
    ck_assert_ptr_nonnull(body);
    sql_run(connection,
            "%.*s language plpgsql as $$ begin perform holdfast.lock_names(names); "
            "raise exception 'no more' using errcode = 'read_only_sql_transaction'; end $$",
            (int)(body - definition), definition);
    return definition;
}

static void hold(PGconn *holder, const char *bucket)
{
    sql_run(holder, "begin");
    sql_run(holder, "select holdfast.lock_names(array['%s'])", bucket);
}

// DB-1: the connection is left, but not before the write behind the one that was refused has its answer.
START_TEST(read_only_server_is_left_when_its_calls_have_answered)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(
        &(struct service_options){.database = api.database.url,
                                  .flags = (const char *const[]){"--workers", "1", NULL}}); // one connection
    api.client = http_client_new(service_url(api.service));
    const char *bucket = api_bucket(), *second = api_bucket();
    const char *other = api_entry(second, "k");
    struct request removal = {.method = "DELETE", .path = api_entry(bucket, "k")};
    ck_status(PUT(removal.path, BODY("v")), 201);
    PGconn *connection = database_connect(&api.database);
    PGconn *holder = database_connect(&api.database);
    char *definition = make_removals_read_only(connection);
    hold(connection, bucket);
    hold(holder, second);
    start_request(&removal);
    PGconn *observer = database_connect(&api.database);
    ck_assert(clock_wait(somebody_waits, observer, BACK_MS));
    struct raw *behind = raw_connect(service_port(api.service));
    raw_text(behind, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nw", other);
    for (int i = 0; i < 3; i++) // when these are answered, that was sent to the database
        ck_status(GET("/livez"), 200);
    sql_run(connection, "commit");
    pthread_join(removal.thread, NULL);
    ck_assert_int_eq(removal.status, 503);
    ck_assert_str_eq(removal.kind, "unavailable");
    sql_run(holder, "commit");
    struct answer *put = raw_read(behind, false, BACK_MS);
    ck_assert_ptr_nonnull(put);
    ck_status(put, 201);
    sql_run(connection, "%s", definition);
    ck_assert(clock_wait(write_is_possible, (void *)(uintptr_t)other, BACK_MS));
    ck_status(DELETE(removal.path), 204);
    raw_close(behind);
    free(definition);
    PQfinish(observer);
    PQfinish(holder);
    PQfinish(connection);
    end_service();
}
END_TEST

START_TEST(readyz_follows_the_database)
{
    api.database = database_new(api.postgres, DATABASE_EMPTY);
    struct service_options options = {
        .database = api.database.url, .flags = (const char *const[]){"--no-migrate", NULL}, .unready = true};
    api.service = service_start(&options);
    api.client = http_client_new(service_url(api.service));
    for (int i = 0; i < 5; i++) {
        int64_t start = clock_ms();
        ck_problem(GET("/readyz"), 503, "unavailable"); // there, but without the schema
        ck_assert_int_lt(clock_ms() - start, 1000);
    }
    struct answer *put = PUT("/v1/buckets/b/entries/k", BODY("v"));
    ck_reply(put, put->status == 503);
    struct service *migrating = service_start(&(struct service_options){.database = api.database.url});
    ck_assert(service_wait_ready(api.service, BACK_MS));
    ck_status(PUT("/v1/buckets/b/entries/k", BODY("v")), 201);
    service_end(migrating);
    end_service();
}
END_TEST

// --- DB-2 -------------------------------------------------------------------------------------------------

struct stored {
    PGconn *connection;
    const char *value;
};

static bool is_stored(void *user)
{
    struct stored *stored = user;
    return sql_number(stored->connection, "select count(*) from holdfast.entries where value = '%s'",
                      stored->value) == 1;
}

START_TEST(cut_after_commit)
{
    enum { ROUNDS = 12 };
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    PGconn *connection = database_connect(&api.database);
    start_service(cut_proxy_url(proxy, &api.database));
    const char *bucket = api_bucket();
    ck_assert(clock_wait(write_is_possible, (void *)(uintptr_t)api_entry(bucket, "probe"), BACK_MS));
    for (int round = 0; round < ROUNDS; round++) {
        bool after = round % 2;
        const char *value = TEXT("mark-%d-of-this-test", round);
        struct stored stored = {connection, value};
        struct request request = {
            .method = "PUT", .path = api_entry(bucket, TEXT("%d", round)), .value = value};
        cut_proxy_arm(proxy, after ? CUT_AFTER : CUT_BEFORE, value);
        start_request(&request);
        if (after) {
            ck_assert(clock_wait(is_stored, &stored, 10 * 1000));
            ck_assert(cut_proxy_cut(proxy));
        }
        pthread_join(request.thread, NULL);
        ck_assert(cut_proxy_met(proxy));
        ck_assert_int_eq(request.status, 503);
        ck_assert_str_eq(request.kind, "outcome_unknown");
        ck_assert(clock_wait(write_is_possible, (void *)(uintptr_t)api_entry(bucket, "probe"), BACK_MS));
        struct answer *got = GET(request.path);
        ck_status(got, after ? 200 : 404); // never sent a second time by the service itself
    }
    PQfinish(connection);
    end_service();
    cut_proxy_end(proxy);
}
END_TEST

// Reads whose answer was lost are asked again, and nobody notices.
START_TEST(cut_reads_are_sent_again)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    start_service(cut_proxy_url(proxy, &api.database));
    const char *bucket = api_bucket();
    ck_status(PUT(api_entry(bucket, "cut-this-read"), BODY("v")), 201);
    for (int round = 0; round < 6; round++) {
        struct request request = {.method = "GET", .path = api_entry(bucket, "cut-this-read")};
        cut_proxy_arm(proxy, round % 2 ? CUT_AFTER : CUT_BEFORE, "cut-this-read");
        start_request(&request);
        while (!cut_proxy_met(proxy))
            clock_pause(2);
        if (round % 2)
            ck_assert(cut_proxy_cut(proxy));
        pthread_join(request.thread, NULL);
        ck_assert_msg(request.status == 200, "%d %s", request.status, request.kind);
    }
    end_service();
    cut_proxy_end(proxy);
}
END_TEST

// A write that waits in the database, with the service through `proxy` or without one (NULL): begins it and
// returns when it waits, so that what happens next happens to a write that was sent.
static PGconn *start_waiting(struct request *request, struct cut_proxy *proxy)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    start_service(proxy ? cut_proxy_url(proxy, &api.database) : api.database.url);
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket();
    const char *other = api_entry(bucket, "other");
    ck_assert(clock_wait(write_is_possible, (void *)(uintptr_t)other, BACK_MS));
    sql_run(connection, "begin");
    sql_run(connection, "select holdfast.lock_names(array['%s'])", bucket);
    *request = (struct request){.method = "PUT", .path = api_entry(bucket, "k"), .value = "v"};
    start_request(request);
    ck_assert(clock_wait(somebody_waits, connection, 10 * 1000));
    return connection;
}

START_TEST(broken_connection_is_outcome_unknown)
{
    struct request request;
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    PGconn *connection = start_waiting(&request, proxy);
    cut_proxy_sever(proxy, false);
    pthread_join(request.thread, NULL);
    ck_assert_int_eq(request.status, 503);
    ck_assert_str_eq(request.kind, "outcome_unknown"); // PostgreSQL has the write and may still do it
    sql_run(connection, "commit");
    PQfinish(connection);
    ck_assert(clock_wait(write_is_possible, (void *)(uintptr_t)TEXT("%s-other", request.path), BACK_MS));
    struct answer *got = GET(request.path);
    ck_reply(got, got->status == 200 || got->status == 404);
    end_service();
    cut_proxy_end(proxy);
}
END_TEST

// An administrator ends the backend: PostgreSQL says so, and that the write did not happen.
START_TEST(terminated_backend_did_nothing)
{
    struct request request;
    PGconn *connection = start_waiting(&request, NULL);
    sql_run(connection, "select pg_terminate_backend(pid) from pg_locks where not granted and database = "
                        "(select oid from pg_database where datname = current_database())");
    pthread_join(request.thread, NULL);
    ck_assert_int_eq(request.status, 503);
    sql_run(connection, "commit");
    PQfinish(connection);
    ck_assert(clock_wait(write_is_possible, (void *)(uintptr_t)TEXT("%s-other", request.path), BACK_MS));
    ck_status(GET(request.path), 404);
    end_service();
}
END_TEST

// A failover that lost commits, a clone, an older dump: the database is another one from one moment to the
// next, and what the sequence says is behind what was answered.
START_TEST(a_sequence_that_fell_back)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    start_service(api.database.url);
    PGconn *connection = database_connect(&api.database);
    const char *path = api_entry(api_bucket(), "k");
    const char *before = answer_version(PUT(path, BODY("v")));
    sql_run(connection, "select setval('holdfast.revision', 256)");
    sql_run(connection,
            "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and "
            "datname = current_database()");
    PQfinish(connection);
    ck_assert(clock_wait(write_is_possible, (void *)(uintptr_t)path, BACK_MS));
    ck_assert_int_gt(strtoll(answer_version(PUT(path, BODY("w"))), NULL, 10), strtoll(before, NULL, 10));
    end_service();
}
END_TEST

Suite *database_away_suite(void)
{
    const TTest *const tests[] = {
        database_away_is_503,
        livez_without_database,
        database_that_comes_later,
        database_restarts_under_load,
        ready_means_reads_too,
        frozen_database,
        silent_sessions_do_not_put_a_read_off_again,
        away_costs_little,
        read_only_database,
        read_only_server_is_left_when_its_calls_have_answered,
        readyz_follows_the_database,
        cut_after_commit,
        cut_reads_are_sent_again,
        broken_connection_is_outcome_unknown,
        terminated_backend_did_nothing,
        a_sequence_that_fell_back,
        NULL,
    };
    return api_suite_bare("database_away", tests);
}
