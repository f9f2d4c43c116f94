// A request that waits is turned away when its token is revoked or expires, whatever it waits for; who waits
// with another token waits on.
#include "token_steps.h"

#include "queue_steps.h"

#include "support/clock.h"

#include <stdio.h>

enum { KINDS = 5 };

static void start_both(void)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(&(struct service_options){.database = api.database.url});
    api.twin = service_start(&(struct service_options){.database = api.database.url});
    api.client = http_client_new(service_url(api.service));
}

static void end_both(void)
{
    http_client_free(api.client);
    service_end(api.service);
    service_end(api.twin);
    database_drop(api.postgres, &api.database);
}

// One of each kind of wait on a replica, with the header line.
struct waits {
    struct raw *of[KINDS];
};

static struct raw *post(const struct service *service, const char *path, const char *headers,
                        const char *body)
{
    struct raw *raw = raw_connect(service_port(service));
    ck_assert(raw_text(raw,
                       "POST %s HTTP/1.1\r\nHost: h\r\n%sPrefer: wait=100\r\nContent-Length: %zu\r\n\r\n%s",
                       path, headers, strlen(body), body));
    return raw;
}

static struct waits wait_in_all_ways(const struct service *service, const char *bearer, const char *key)
{
    const char *headers = TEXT("%s\r\nContent-Type: application/json\r\n", bearer);
    const char *lease = "{\"holder\":\"B\",\"ttl\":\"1h\"}";
    return (struct waits){{
        wait_begin(service, "/v1/buckets/app/entries/none", TEXT("%s\r\nPrefer: wait=100\r\n", bearer)),
        wait_begin(service, "/v1/buckets/app/entries/k?at_least=9000000000000000000",
                   TEXT("%s\r\nPrefer: wait=100\r\n", bearer)),
        post(service, "/v1/buckets/app/leases/l", headers, lease),
        post(service, "/v1/buckets/app/leases/l", TEXT("%sIdempotency-Key: %s\r\n", headers, key), lease),
        post(service, "/v1/once/o/k", TEXT("%s\r\n", bearer), ""),
    }};
}

static void expect_silence(const struct waits *waits, int ms)
{
    for (int i = 0; i < KINDS; i++)
        ck_assert_msg(raw_silent(waits->of[i], ms), "wait %d was answered", i);
}

static void expect_unauthorized(const struct waits *waits)
{
    for (int i = 0; i < KINDS; i++) {
        struct answer *answer = raw_read(waits->of[i], false, 1000);
        ck_assert_msg(answer != NULL, "wait %d goes on", i);
        answer_check(answer);
        ck_problem(answer, 401, "unauthorized");
    }
}

static void end_waits(const struct waits *waits)
{
    for (int i = 0; i < KINDS; i++)
        raw_close(waits->of[i]);
}

static const char *bearer_named(const char *name, const char *more)
{
    const char *body = TEXT("{\"name\":\"%s\",\"grants\":[\"write:app\",\"write:once:o\"]%s}", name, more);
    struct answer *made = http(api.client, "POST", "/v1/tokens", bytes_of(body), root_bearer());
    ck_status(made, 201);
    return TEXT("Authorization: Bearer %s", answer_text(made, "token"));
}

// What is waited for, held by an administrator. Gives the header line of that one.
static const char *hold_everything(void)
{
    const char *root = root_bearer();
    ck_status(
        http(api.client, "POST", "/v1/buckets/app/leases/l", BODY("{\"holder\":\"A\",\"ttl\":\"1h\"}"), root),
        201);
    ck_status(PUT("/v1/once/o", BODY("{\"run_ttl\":\"1h\"}"), root), 201);
    ck_status(http(api.client, "POST", "/v1/once/o/k", NO_BODY, root), 201);
    return root;
}

static int64_t places(PGconn *connection)
{
    return sql_number(connection, "select count(*) from holdfast.lease_waiters");
}

static bool are_four(void *user)
{
    return places(user) == 4;
}

static bool are_none(void *user)
{
    return places(user) == 0;
}

START_TEST(waits_end_when_their_token_is_revoked)
{
    start_both();
    PGconn *connection = database_connect(&api.database);
    const char *root = hold_everything();
    const char *gone = bearer_named("gone", ""), *stays = bearer_named("stays", "");
    const struct waits ended = wait_in_all_ways(api.twin, gone, "k1");
    const struct waits kept = wait_in_all_ways(api.twin, stays, "k2");
    ck_assert(clock_wait(are_four, connection, WAIT_PATIENCE));
    expect_silence(&ended, 100);
    ck_status(DELETE("/v1/tokens/gone", root), 204);
    expect_unauthorized(&ended);
    expect_silence(&kept, 100);
    ck_assert_int_eq(places(connection), 2);
    ck_status(PUT("/v1/buckets/app/entries/none", BODY("v"), root), 201);
    ck_status(wait_end(kept.of[0]), 200);
    // Nobody who was turned away has left a place behind.
    end_waits(&ended);
    end_waits(&kept);
    ck_assert(clock_wait(are_none, connection, WAIT_PATIENCE));
    PQfinish(connection);
    end_both();
}
END_TEST

START_TEST(waits_end_when_their_token_expires)
{
    start_both();
    PGconn *connection = database_connect(&api.database);
    hold_everything();
    const char *ends = bearer_named("ends", ",\"ttl\":\"10m\""), *stays = bearer_named("stays", "");
    const struct waits ended = wait_in_all_ways(api.twin, ends, "k1");
    const struct waits kept = wait_in_all_ways(api.twin, stays, "k2");
    ck_assert(clock_wait(are_four, connection, WAIT_PATIENCE));
    database_shift_clock(&api.database, INT64_C(599) * 1000 * 1000 - 500 * 1000);
    expect_silence(&ended, 100);
    database_shift_clock(&api.database, INT64_C(601) * 1000 * 1000);
    expect_unauthorized(&ended);
    expect_silence(&kept, 100);
    end_waits(&ended);
    end_waits(&kept);
    PQfinish(connection);
    end_both();
}
END_TEST

START_TEST(waits_without_a_token_end_with_the_first)
{
    start_both();
    PGconn *connection = database_connect(&api.database);
    ck_status(http(api.client, "POST", "/v1/buckets/app/leases/l", BODY("{\"holder\":\"A\",\"ttl\":\"1h\"}")),
              201);
    ck_status(PUT("/v1/once/o", BODY("{\"run_ttl\":\"1h\"}")), 201);
    ck_status(http(api.client, "POST", "/v1/once/o/k", NO_BODY), 201);
    const struct waits anonymous = wait_in_all_ways(api.service, "X-Nothing: 1", "k1");
    const struct waits beside = wait_in_all_ways(api.twin, "X-Nothing: 1", "k2");
    ck_assert(clock_wait(are_four, connection, WAIT_PATIENCE));
    expect_silence(&anonymous, 100);
    root_bearer();
    expect_unauthorized(&anonymous);
    expect_unauthorized(&beside);
    end_waits(&anonymous);
    end_waits(&beside);
    PQfinish(connection);
    end_both();
}
END_TEST

Suite *waiting_callers_suite(void)
{
    const TTest *const tests[] = {
        waits_end_when_their_token_is_revoked,
        waits_end_when_their_token_expires,
        waits_without_a_token_end_with_the_first,
        NULL,
    };
    return api_suite_bare("waiting_callers", tests);
}
