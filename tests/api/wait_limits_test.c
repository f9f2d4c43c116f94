// How many requests may wait at once: in all, and with one token; whoever is beyond is told so at once.
#include "token_steps.h"

#include "support/clock.h"
#include "support/raw.h"

enum { PATIENCE = 20 * 1000, MOST = 4 };

static void start_own(const char *flag, const char *value)
{
    const char *const flags[] = {flag, value, NULL};
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(&(struct service_options){.database = api.database.url, .flags = flags});
    api.client = http_client_new(service_url(api.service));
}

static void end_own(void)
{
    http_client_free(api.client);
    service_end(api.service);
    database_drop(api.postgres, &api.database);
}

// A connection whose request waits for an entry.
static struct raw *park(const char *path, const char *bearer)
{
    struct raw *raw = raw_connect(service_port(api.service));
    raw_text(raw, "GET %s HTTP/1.1\r\nHost: h\r\nPrefer: wait=60\r\n%s\r\n\r\n", path,
             bearer ? bearer : "X-None: 1");
    return raw;
}

struct probe {
    const char *path;
    const char *bearer;
    int status;
};

static bool answers_so(void *user)
{
    const struct probe *probe = user;
    const char *const headers[] = {"Prefer: wait=1", probe->bearer, NULL};
    struct answer *answer = http_send(api.client, "GET", probe->path, NO_BODY, headers);
    return answer->status == probe->status;
}

// Parks `count` requests, until all of them wait and one more with the same token may not. A look that came
// before one of them had its place, which is refused then: it parks again.
static void fill(struct raw **parked, int count, const char *path, const char *bearer)
{
    struct probe full = {path, bearer, 503};
    int64_t until = clock_ms() + PATIENCE;
    for (int i = 0; i < count; i++)
        parked[i] = park(path, bearer);
    do {
        ck_assert_int_lt(clock_ms(), until);
        for (int i = 0; i < count; i++)
            if (raw_read(parked[i], false, 20)) {
                raw_close(parked[i]);
                parked[i] = park(path, bearer);
            }
    } while (!answers_so(&full));
}

START_TEST(no_more_wait_than_may)
{
    start_own("--max-waits", "4");
    ck_status(PUT("/v1/buckets/b", BODY("{}")), 201);
    const char *path = "/v1/buckets/b/entries/k";
    struct raw *parked[MOST];
    fill(parked, MOST, path, NULL);
    ck_status(http(api.client, "POST", "/v1/buckets/b/leases/l", BODY("{\"holder\":\"a\",\"ttl\":\"1m\"}")),
              201);
    const char *lease = "{\"holder\":\"b\",\"ttl\":\"1m\"}";
    ck_problem(http(api.client, "POST", "/v1/buckets/b/leases/l", bytes_of(lease), "Prefer: wait=5"), 503,
               "unavailable");
    ck_problem(http(api.client, "POST", "/v1/buckets/b/leases/l", bytes_of(lease), "Prefer: wait=5",
                    "Idempotency-Key: k"),
               503, "unavailable");
    ck_status(http(api.client, "POST", "/v1/once/o/k", NO_BODY), 201);
    ck_problem(http(api.client, "POST", "/v1/once/o/k", NO_BODY, "Prefer: wait=5"), 503, "unavailable");
    ck_problem(GET(path), 404, "not_found"); // who does not wait is not concerned
    raw_abort(parked[0]);
    struct probe room = {path, NULL, 404};
    ck_assert(clock_wait(answers_so, &room, PATIENCE));
    // The waits of one wake give their places back.
    ck_status(PUT(path, BODY("v")), 201);
    for (int i = 1; i < MOST; i++) {
        ck_assert_int_eq(raw_read(parked[i], false, PATIENCE)->status, 200);
        raw_close(parked[i]);
    }
    path = "/v1/buckets/b/entries/other";
    fill(parked, MOST, path, NULL);
    for (int i = 0; i < MOST; i++)
        raw_close(parked[i]);
    end_own();
}
END_TEST

START_TEST(one_token_cannot_take_the_waits_of_all)
{
    start_own("--max-waits-per-token", "2");
    const char *greedy = BEARER("write:b"), *modest = BEARER("write:b");
    expect_within_a_second(api.client, "PUT", "/v1/buckets/b/entries/first", greedy, 201);
    const char *path = "/v1/buckets/b/entries/k";
    struct raw *parked[2];
    fill(parked, 2, path, greedy);
    struct probe other = {path, modest, 404};
    ck_assert(answers_so(&other));
    raw_close(parked[0]);
    struct probe room = {path, greedy, 404};
    ck_assert(clock_wait(answers_so, &room, PATIENCE));
    raw_close(parked[1]);
    end_own();
}
END_TEST

Suite *wait_limits_suite(void)
{
    const TTest *const tests[] = {no_more_wait_than_may, one_token_cannot_take_the_waits_of_all, NULL};
    return api_suite_bare("wait_limits", tests);
}
