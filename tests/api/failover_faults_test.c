// One primary goes and another takes over, or a server has no room: the service finds the one that takes
// writes by itself, and what it acknowledged is there.
#include "api.h"

#include "support/clock.h"
#include "support/parallel.h"
#include "support/standby.h"
#include "wait_steps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { WRITERS = 6, MOST_WRITES = 20000, BACK_MS = 10 * 1000, FULL = 14 };

static struct postgres *shared, *standby;

// Two servers, the second following the first, and a service that is given both.
static void start_pair(void)
{
    shared = api.postgres;
    api.postgres = postgres_new(NULL);
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    standby = postgres_standby_new(api.postgres);
    PGconn *connection = database_connect(&api.database);
    sql_run(connection, "alter system set synchronous_standby_names = 'standby'");
    sql_run(connection, "select pg_reload_conf()");
    PQfinish(connection);
    char url[sizeof api.database.url];
    int size = snprintf(url, sizeof url, "postgresql:///%s?host=%s,%s&user=postgres", api.database.name,
                        postgres_socket_folder(api.postgres), postgres_socket_folder(standby));
    ck_assert_int_lt(size, (int)sizeof url);
    api.service = service_start(&(struct service_options){.database = url});
    api.client = http_client_new(service_url(api.service));
}

static void end_pair(void)
{
    http_client_free(api.client);
    service_end(api.service);
    postgres_free(standby);
    postgres_free(api.postgres);
    api.postgres = shared;
}

struct load {
    atomic_bool stop;
    atomic_int done, wrong;
    int64_t positions[WRITERS][MOST_WRITES]; // of the keys 0, 1, …, each written once; 0: not acknowledged
};

static void write_on(size_t index, void *user)
{
    struct load *load = user;
    struct http_client *client = http_client_new(service_url(api.service));
    for (int i = 0; i < MOST_WRITES && !atomic_load(&load->stop); i++) {
        const char *path = http_text(client, "/v1/buckets/b/entries/%zu-%d", index, i);
        struct answer *answer = http(client, "PUT", path, BODY("v"));
        if (answer->status == 201) {
            load->positions[index][i] = strtoll(answer_header(answer, "Holdfast-Position"), NULL, 10);
            atomic_fetch_add(&load->done, 1);
        } else if (answer->status == 503) {
            clock_pause(5);
        } else {
            atomic_fetch_add(&load->wrong, 1);
        }
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

static void wait_for_more(struct load *load)
{
    atomic_store(&load->done, 0);
    ck_assert_msg(clock_wait(more_done, load, 2 * BACK_MS), "writes do not go on");
}

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

// Every acknowledged write is there with its version, and no two had one position.
static void expect_kept(const struct load *load)
{
    int64_t *all = malloc(sizeof load->positions);
    size_t count = 0;
    struct database taken_over = api.database;
    snprintf(taken_over.url, sizeof taken_over.url, "postgresql:///%s?host=%s&user=postgres",
             api.database.name, postgres_socket_folder(standby));
    PGconn *connection = database_connect(&taken_over);
    for (int i = 0; i < WRITERS; i++)
        for (int j = 0; j < MOST_WRITES; j++)
            if (load->positions[i][j])
                all[count++] = load->positions[i][j];
    ck_assert_uint_gt(count, 400);
    qsort(all, count, sizeof *all, by_value);
    char *versions = malloc(count * 21 + 1), *at = versions;
    for (size_t i = 0; i < count; i++) {
        ck_assert(i == 0 || all[i] != all[i - 1]);
        at += sprintf(at, "%s%lld", i ? "," : "", (long long)all[i]);
    }
    int64_t there =
        sql_number(connection, "select count(*) from holdfast.entries where version = any('{%s}')", versions);
    ck_assert_int_eq(there, (int64_t)count);
    free(versions);
    free(all);
    PQfinish(connection);
}

START_TEST(standby_that_is_promoted_under_load_is_found)
{
    start_pair();
    struct load *load = calloc(1, sizeof *load);
    pthread_t thread;
    pid_t pid = service_pid(api.service);
    struct answer *put = PUT("/v1/buckets/w/entries/k", BODY("v"));
    ck_status(put, 201);
    struct raw *wait = wait_begin(api.service, "/v1/buckets/w/entries/k", wait_headers(put, 60));
    pthread_create(&thread, NULL, run_load, load);
    wait_for_more(load);
    postgres_kill(api.postgres);
    postgres_promote(standby);
    int64_t promoted = clock_ms();
    wait_for_more(load);
    ck_assert_int_lt(clock_ms() - promoted, BACK_MS);
    ck_assert(service_wait_ready(api.service, BACK_MS));
    // The listening session has moved too.
    ck_status(PUT("/v1/buckets/w/entries/k", BODY("w")), 204);
    ck_status(wait_end(wait), 200);
    atomic_store(&load->stop, true);
    pthread_join(thread, NULL);
    ck_assert_int_eq(load->wrong, 0);
    expect_kept(load);
    ck_assert_int_eq(service_pid(api.service), pid);
    free(load);
    end_pair();
}
END_TEST

static bool put_works(void *user)
{
    struct answer *answer = PUT(user, BODY("new"));
    if (answer->status != 204)
        ck_problem(answer, 503, "unavailable");
    return answer->status == 204;
}

static bool reads_what_was_written(void *user)
{
    struct answer *answer = GET(user);
    return answer->status == 200 && answer_is(answer, BODY("new"));
}

// Nothing breaks: the former primary answers on, and would serve reads that grow old for ever.
START_TEST(primary_that_was_demoted_is_left)
{
    start_pair();
    const char *path = "/v1/buckets/b/entries/k";
    ck_status(PUT(path, BODY("old")), 201);
    ck_body(GET(path), BODY("old"));
    struct raw *wait = wait_begin(api.service, "/v1/buckets/b/entries/absent", "Prefer: wait=60\r\n");
    PGconn *connection = database_connect(&api.database);
    wait_until_covered(connection, 1);
    sql_run(connection, "alter system set synchronous_standby_names = ''");
    sql_run(connection, "alter system set default_transaction_read_only = on");
    sql_run(connection, "select pg_reload_conf()");
    PQfinish(connection);
    postgres_promote(standby);
    ck_assert_msg(clock_wait(put_works, (void *)(uintptr_t)path, BACK_MS), "writes do not work again");
    ck_assert_msg(clock_wait(reads_what_was_written, (void *)(uintptr_t)path, 2000),
                  "reads stay where they were");
    ck_assert(service_wait_ready(api.service, BACK_MS));
    ck_status(PUT("/v1/buckets/b/entries/absent", BODY("v")), 201);
    ck_status(wait_end(wait), 200);
    end_pair();
}
END_TEST

static void take_all(PGconn *taken[FULL])
{
    for (int i = 0; i < FULL; i++)
        taken[i] = PQconnectdb(api.database.url);
    ck_assert_int_eq(PQstatus(taken[FULL - 1]), CONNECTION_BAD);
}

static void give_back(PGconn *taken[FULL])
{
    for (int i = 0; i < FULL; i++)
        PQfinish(taken[i]);
}

// A server without room is away for a while: neither a reason to end, nor to knock without pause.
START_TEST(server_without_room_is_waited_for)
{
    PGconn *taken[FULL];
    shared = api.postgres;
    api.postgres = postgres_new(&(struct postgres_options){
        .settings = "max_connections = 12\nsuperuser_reserved_connections = 0\nmax_wal_senders = 0\n"});
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    take_all(taken);
    api.service = service_start(&(struct service_options){.database = api.database.url, .unready = true});
    api.client = http_client_new(service_url(api.service));
    for (int i = 0; i < 10; i++) {
        ck_problem(PUT("/v1/buckets/b/entries/k", BODY("v")), 503, "unavailable");
        ck_problem(GET("/readyz"), 503, "unavailable");
        ck_status(GET("/livez"), 200);
        clock_pause(100);
    }
    give_back(taken);
    // Each connection knocks by itself, every two seconds by now, for a few places that others leave slowly.
    ck_assert(service_wait_ready(api.service, 3 * BACK_MS));
    ck_status(PUT("/v1/buckets/b/entries/k", BODY("v")), 201);
    http_client_free(api.client);
    service_end(api.service);
    postgres_free(api.postgres);
    api.postgres = shared;
}
END_TEST

Suite *failover_faults_suite(void)
{
    const TTest *const tests[] = {standby_that_is_promoted_under_load_is_found,
                                  primary_that_was_demoted_is_left, server_without_room_is_waited_for, NULL};
    return api_suite_bare("failover_faults", tests);
}
