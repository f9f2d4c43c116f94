// K8S-3: how the service ends. What runs is finished, what is queued is served, nobody is reset, the exit
// code is 0.
#include "api.h"

#include "support/clock.h"
#include "support/parallel.h"
#include "support/raw.h"
#include "support/scratch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum { PATIENCE = 10 * 1000, END_MS = 20 * 1000 };

static void start_own(const char *const *flags)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(&(struct service_options){.database = api.database.url, .flags = flags});
    api.client = http_client_new(service_url(api.service));
}

static void end_own(void)
{
    http_client_free(api.client);
    database_drop(api.postgres, &api.database);
}

static void send_signal(int signal)
{
    ck_assert_int_eq(kill(service_pid(api.service), signal), 0);
}

struct request {
    pthread_t thread;
    const char *path;
    int status;
    bool closes;
};

static void *put_value(void *user)
{
    struct request *request = user;
    struct http_client *client = http_client_new(service_url(api.service));
    struct answer *answer = http(client, "PUT", request->path, BODY("v"));
    const char *connection = answer_header(answer, "Connection");
    request->status = answer->status;
    request->closes = connection && strcmp(connection, "close") == 0;
    http_client_free(client);
    return NULL;
}

static bool somebody_waits(void *user)
{
    return sql_number(user, "select count(*) from pg_locks where not granted and database = "
                            "(select oid from pg_database where datname = current_database())") > 0;
}

// Begins a PUT that waits in the database for a lock which the returned connection holds until it commits.
static PGconn *start_slow_put(struct request *request, const char *bucket)
{
    PGconn *holder = database_connect(&api.database);
    request->path = api_entry(bucket, "slow");
    sql_run(holder, "begin");
    sql_run(holder, "select holdfast.lock_names(array['%s'])", bucket);
    ck_assert_int_eq(pthread_create(&request->thread, NULL, put_value, request), 0);
    ck_assert(clock_wait(somebody_waits, holder, PATIENCE));
    return holder;
}

static bool is_refused(void *user)
{
    struct http_client *client = http_client_new(service_url(user));
    bool refused = !http_try(client, "GET", "/livez", NO_BODY, (const char *const[]){NULL}, 2000) &&
                   http_refused(client);
    http_client_free(client);
    return refused;
}

START_TEST(sigterm_drains)
{
    static const int signals[] = {SIGTERM, SIGINT};
    for (size_t i = 0; i < 2; i++) {
        struct request request = {0};
        start_own(NULL);
        PGconn *holder = start_slow_put(&request, "b");
        struct raw *upload = raw_connect(service_port(api.service));
        raw_text(upload, "PUT /v1/buckets/u/entries/k HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                         "Content-Length: 10\r\n\r\n");
        ck_status(raw_read(upload, false, PATIENCE), 100);
        raw_text(upload, "12345");
        send_signal(signals[i]);
        ck_assert(clock_wait(is_refused, api.service, PATIENCE));
        raw_text(upload, "67890");
        sql_run(holder, "commit");
        struct answer *put = raw_read(upload, false, PATIENCE);
        ck_assert_ptr_nonnull(put);
        ck_status(put, 201);
        ck_header(put, "Connection", "close");
        raw_close(upload);
        pthread_join(request.thread, NULL);
        ck_assert_int_eq(request.status, 201);
        ck_assert(request.closes);
        ck_assert_int_eq(service_wait(api.service, END_MS), 0);
        ck_assert_int_eq(sql_number(holder, "select count(*) from holdfast.entries"), 2);
        PQfinish(holder);
        end_own();
    }
}
END_TEST

START_TEST(idle_service_ends_at_once)
{
    start_own(NULL);
    struct raw *idle[20];
    for (int i = 0; i < 20; i++) {
        idle[i] = raw_connect(service_port(api.service));
        raw_text(idle[i], "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n");
        ck_status(raw_read(idle[i], false, PATIENCE), 200);
    }
    int64_t start = clock_ms();
    ck_assert_int_eq(service_stop(api.service, END_MS), 0);
    ck_assert_int_lt(clock_ms() - start, 5000);
    for (int i = 0; i < 20; i++) {
        ck_assert(raw_closes(idle[i], PATIENCE));
        raw_close(idle[i]);
    }
    end_own();
}
END_TEST

// A client that never finishes its request does not keep the service from ending.
START_TEST(grace_has_an_end)
{
    start_own(NULL);
    struct raw *stuck = raw_connect(service_port(api.service));
    raw_text(stuck, "PUT /v1/buckets/u/entries/k HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n12345");
    ck_status(GET("/livez"), 200);
    int64_t start = clock_ms();
    ck_assert_int_eq(service_stop(api.service, END_MS), 0);
    ck_assert_int_lt(clock_ms() - start, 15 * 1000);
    raw_close(stuck);
    end_own();
}
END_TEST

START_TEST(drain_serves_while_unready)
{
    start_own((const char *const[]){"--drain", "1500ms", NULL});
    ck_status(GET("/readyz"), 200);
    int64_t start = clock_ms();
    send_signal(SIGTERM);
    while (GET("/readyz")->status == 200)
        ck_assert_int_lt(clock_ms() - start, 1000);
    struct answer *put = PUT("/v1/buckets/b/entries/k", BODY("v"));
    ck_status(put, 201);
    ck_header(put, "Connection", "close");
    ck_status(GET("/livez"), 200);
    ck_problem(GET("/readyz"), 503, "unavailable");
    ck_assert(clock_wait(is_refused, api.service, PATIENCE));
    ck_assert_int_ge(clock_ms() - start, 1400);
    ck_assert_int_eq(service_wait(api.service, END_MS), 0);
    end_own();
}
END_TEST

// Who would have waited is told as those are who waited already: that somebody has it is no answer.
START_TEST(drain_sends_away_who_would_wait_for_a_lease)
{
    start_own((const char *const[]){"--drain", "60s", NULL});
    const char *lease = "/v1/buckets/b/leases/k";
    static const char holder[] = "{\"holder\":\"a\",\"ttl\":\"10m\"}";
    ck_status(http(api.client, "POST", lease, BODY(holder), "Content-Type: application/json"), 201);
    send_signal(SIGTERM);
    while (GET("/readyz")->status == 200)
        clock_pause(5);
    struct answer *queued =
        http(api.client, "POST", lease, BODY(holder), "Content-Type: application/json", "Prefer: wait=20");
    ck_problem(queued, 503, "unavailable");
    ck_reply(queued, answer_header(queued, "Retry-After"));
    ck_problem(http(api.client, "POST", lease, BODY(holder), "Content-Type: application/json"), 409,
               "lease_held");
    send_signal(SIGTERM);
    ck_assert_int_eq(service_wait(api.service, END_MS), 0);
    end_own();
}
END_TEST

START_TEST(second_sigterm_hurries)
{
    start_own((const char *const[]){"--drain", "60s", NULL});
    send_signal(SIGTERM);
    while (GET("/readyz")->status == 200)
        clock_pause(5);
    send_signal(SIGTERM);
    ck_assert_int_eq(service_wait(api.service, END_MS), 0);
    end_own();
}
END_TEST

// --- under load -------------------------------------------------------------------------------------------

enum { CLIENTS = 8, MOST_WRITES = 100000 };

struct load {
    const char *url;
    atomic_int done, failed, wrong;
    int written[CLIENTS];
    char fault[200];
};

// Writes until nobody listens any more; libcurl obeys `Connection: close` and opens another one.
static void write_until_refused(size_t index, void *user)
{
    struct load *load = user;
    struct http_client *client = http_client_new(load->url);
    for (int i = 0; i < MOST_WRITES; i++) {
        const char *path = http_text(client, "/v1/buckets/load/entries/%zu-%d", index, i);
        struct answer *answer =
            http_try(client, "PUT", path, BODY("v"), (const char *const[]){NULL}, PATIENCE);
        if (!answer) {
            atomic_fetch_add(&load->failed, !http_refused(client));
            break;
        }
        if (answer->status != 201) {
            snprintf(load->fault, sizeof load->fault, "%d %s", answer->status, answer_kind(answer));
            atomic_fetch_add(&load->wrong, 1);
        }
        load->written[index] = i + 1;
        atomic_fetch_add(&load->done, 1);
    }
    http_client_free(client);
}

static void *run_load(void *user)
{
    parallel_run(CLIENTS, write_until_refused, user);
    return NULL;
}

static bool enough_done(void *user)
{
    struct load *load = user;
    return atomic_load(&load->done) > 500;
}

START_TEST(sigterm_under_load)
{
    static const char *const drains[] = {"0", "500ms"};
    for (int round = 0; round < 2; round++) {
        struct load load = {0};
        pthread_t thread;
        start_own((const char *const[]){"--drain", drains[round], NULL});
        load.url = TEXT("%s", service_url(api.service));
        pthread_create(&thread, NULL, run_load, &load);
        ck_assert(clock_wait(enough_done, &load, 30 * 1000));
        ck_assert_int_eq(service_stop(api.service, END_MS), 0);
        pthread_join(thread, NULL);
        ck_assert_int_eq(load.failed, 0);
        ck_assert_msg(load.wrong == 0, "%d replies like %s", (int)load.wrong, load.fault);
        int written = 0;
        for (int i = 0; i < CLIENTS; i++)
            written += load.written[i];
        PGconn *connection = database_connect(&api.database);
        ck_assert_int_eq(sql_number(connection, "select count(*) from holdfast.entries"), written);
        PQfinish(connection);
        end_own();
    }
}
END_TEST

// kill -9 of one replica is the other one's ordinary day: what was acknowledged is there.
START_TEST(killed_replica_loses_nothing)
{
    struct load load = {0};
    pthread_t thread;
    start_own(NULL);
    struct service *twin = service_start(&(struct service_options){.database = api.database.url});
    load.url = TEXT("%s", service_url(api.service));
    pthread_create(&thread, NULL, run_load, &load);
    ck_assert(clock_wait(enough_done, &load, 30 * 1000));
    service_kill(api.service);
    pthread_join(thread, NULL);
    ck_assert_int_eq(load.wrong, 0);
    struct http_client *client = http_client_new(service_url(twin));
    for (int i = 0; i < CLIENTS; i++)
        ck_status(
            http(client, "GET", TEXT("/v1/buckets/load/entries/%d-%d", i, load.written[i] - 1), NO_BODY),
            200);
    PGconn *connection = database_connect(&api.database);
    int written = 0;
    for (int i = 0; i < CLIENTS; i++)
        written += load.written[i];
    ck_assert_int_ge(sql_number(connection, "select count(*) from holdfast.entries"), written);
    PQfinish(connection);
    http_client_free(client);
    service_end(twin);
    end_own();
}
END_TEST

Suite *shutdown_suite(void)
{
    const TTest *const tests[] = {
        sigterm_drains,
        idle_service_ends_at_once,
        grace_has_an_end,
        drain_serves_while_unready,
        drain_sends_away_who_would_wait_for_a_lease,
        second_sigterm_hurries,
        sigterm_under_load,
        killed_replica_loses_nothing,
        NULL,
    };
    return api_suite_bare("shutdown", tests);
}
