// A server that has no connection left for the service, at its start and while it serves: what connections
// there are serve, everything else is 503, and all is well when there is room again.
#include "api.h"

#include "support/clock.h"

#include <stdio.h>

enum { MOST = 24, PATIENCE = 30 * 1000, SOON_MS = 10 * 1000 };

static struct postgres *postgres;

// Other programs' connections: as many as the server gives.
struct others {
    PGconn *open[MOST];
    int count;
};

static void take_all(struct others *others)
{
    for (;;) {
        PGconn *one = PQconnectdb(api.database.url);
        if (PQstatus(one) != CONNECTION_OK) {
            ck_assert_msg(strstr(PQerrorMessage(one), "too many clients"), "%s", PQerrorMessage(one));
            PQfinish(one);
            return;
        }
        ck_assert_int_lt(others->count, MOST);
        others->open[others->count++] = one;
    }
}

static void give_back(struct others *others)
{
    while (others->count)
        PQfinish(others->open[--others->count]);
}

static void begin(void)
{
    postgres = postgres_new(
        &(struct postgres_options){.settings = "max_connections = 24\nsuperuser_reserved_connections = 0\n"});
    api.database = database_new(postgres, DATABASE_MIGRATED);
}

static void end(void)
{
    http_client_free(api.client);
    service_end(api.service);
    postgres_free(postgres);
}

static void start(bool unready)
{
    api.service = service_start(&(struct service_options){.database = api.database.url, .unready = unready});
    api.client = http_client_new(service_url(api.service));
}

static const char path[] = "/v1/buckets/b/entries/k";

// An answer comes soon, and says that nothing was done.
static void expect_refused(const char *method, const char *target, const char *body, const char *header)
{
    struct answer *answer =
        http_try(api.client, method, target, bytes_of(body), (const char *const[]){header, NULL}, SOON_MS);
    ck_assert_msg(answer != NULL, "%s %s hangs", method, target);
    ck_problem(answer, 503, "unavailable");
    ck_assert_ptr_nonnull(answer_header(answer, "Retry-After"));
}

static bool put_is_taken(void *user)
{
    int status = PUT(user, BODY("v"))->status;
    ck_assert_msg(status == 201 || status == 204 || status == 503, "%d", status);
    return status != 503;
}

START_TEST(full_server_at_the_start)
{
    struct others others = {0};
    begin();
    take_all(&others);
    start(true);
    ck_status(GET("/livez"), 200);
    ck_problem(GET("/readyz"), 503, "unavailable");
    expect_refused("PUT", path, "v", NULL);
    give_back(&others);
    ck_assert(service_wait_ready(api.service, PATIENCE));
    ck_status(PUT(path, BODY("v")), 201);
    end();
}
END_TEST

START_TEST(full_server_serves_with_what_there_is)
{
    struct others others = {0};
    begin();
    start(false);
    ck_status(PUT(path, BODY("v")), 201);
    take_all(&others);
    for (int i = 0; i < 20; i++) {
        ck_status(PUT(path, BODY("again")), 204);
        ck_body(GET(path), BODY("again"));
        ck_status(GET("/v1/buckets/b/entries"), 200);
    }
    expect_refused("PUT", "/v1/buckets/declared", "{}", "Content-Type: application/json");
    expect_refused("PUT", path, "keyed", "Idempotency-Key: one");
    ck_body(GET(path), BODY("again"));
    give_back(&others);
    ck_assert(service_wait_ready(api.service, PATIENCE));
    ck_status(PUT("/v1/buckets/declared", BODY("{}"), "Content-Type: application/json"), 201);
    ck_status(PUT(path, BODY("keyed"), "Idempotency-Key: one"), 204);
    end();
}
END_TEST

// The connections that the service had are taken by others when it loses them.
START_TEST(full_server_after_a_loss)
{
    struct others others = {0};
    begin();
    start(false);
    ck_status(PUT(path, BODY("v")), 201);
    take_all(&others);
    // Each that is ended leaves a place, and the service comes back to it sooner or later than the others.
    for (int i = 0; i < 5; i++) {
        sql_run(others.open[0], "select pg_terminate_backend(pid) from pg_stat_activity where "
                                "application_name like 'holdfast %%' and pid <> pg_backend_pid()");
        take_all(&others);
        struct answer *got = GET(path);
        ck_reply(got, answer_->status == 200 || answer_->status == 503);
    }
    give_back(&others);
    ck_assert(service_wait_ready(api.service, PATIENCE));
    ck_assert(clock_wait(put_is_taken, (void *)(uintptr_t)path, PATIENCE));
    ck_status(GET(path), 200);
    end();
}
END_TEST

Suite *full_server_faults_suite(void)
{
    const TTest *const tests[] = {
        full_server_at_the_start,
        full_server_serves_with_what_there_is,
        full_server_after_a_loss,
        NULL,
    };
    return api_suite_bare("full_server_faults", tests);
}
