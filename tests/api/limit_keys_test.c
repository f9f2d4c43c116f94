// Idempotency keys on writes to counters, rate limits, gates and quotas: done once; a refused use is no
// effect.
#include "limit_steps.h"

#include <unistd.h>

static const char *new_key(void)
{
    static unsigned keys;
    return TEXT("Idempotency-Key: limit-%d-%u", (int)getpid(), ++keys);
}

struct write {
    const char *method;
    const char *route;
    const char *query;
    const char *body; // NULL: none
    int status;
};

#define COUNTER    "/v1/counters/{name}"
#define RATE_LIMIT "/v1/rate-limits/{name}"
#define RATE_GATE  "/v1/rate-gates/{name}"
#define QUOTA      "/v1/quotas/{name}"

static const struct write writes[] = {
    {"PUT", COUNTER, "", "{\"ttl\":\"2h\"}", 200},
    {"DELETE", COUNTER, "", NULL, 204},
    {"DELETE", COUNTER, "under=a", NULL, 204},
    {"POST", COUNTER "/{key}/add", "", "{\"by\":2}", 200},
    {"POST", COUNTER "/{key}/max", "", "{\"value\":99}", 200},
    {"DELETE", COUNTER "/{key}", "", NULL, 204},
    {"PUT", RATE_LIMIT, "", "{\"rate\":\"3/h\"}", 200},
    {"DELETE", RATE_LIMIT, "", NULL, 204},
    {"DELETE", RATE_LIMIT, "under=a", NULL, 204},
    {"POST", RATE_LIMIT "/{key}/allow", "", "{\"n\":2}", 200},
    {"POST", RATE_LIMIT "/{key}/allow", "enforce=true", "{\"n\":2}", 204},
    {"DELETE", RATE_LIMIT "/{key}", "", NULL, 204},
    {"DELETE", RATE_GATE, "", NULL, 204},
    {"DELETE", RATE_GATE, "under=a", NULL, 204},
    {"POST", RATE_GATE "/{key}/check", "", "{\"max\":10,\"window\":\"1h\"}", 200},
    {"DELETE", RATE_GATE "/{key}", "", NULL, 204},
    {"PUT", QUOTA, "", "{\"windows\":{\"a\":\"9/h\"}}", 200},
    {"DELETE", QUOTA, "", NULL, 204},
    {"DELETE", QUOTA, "under=a", NULL, 204},
    {"POST", QUOTA "/{key}/allow", "", "{\"n\":2}", 200},
    {"POST", QUOTA "/{key}/refund", "", "{\"n\":1}", 200},
    {"DELETE", QUOTA "/{key}", "", NULL, 204},
};
enum { WRITES = sizeof writes / sizeof writes[0] };

// The route with the name, and `k` for a key.
static const char *path_of(const char *route, const char *name)
{
    const char *place = strstr(route, "{name}");
    const char *rest = place + strlen("{name}");
    const char *key = strstr(rest, "{key}");
    return key ? TEXT("%.*s%s/k%s", (int)(place - route), route, name, key + strlen("{key}"))
               : TEXT("%.*s%s%s", (int)(place - route), route, name, rest);
}

// Declares the name and uses one key of it.
static void set_up(const char *route, const char *name)
{
    static const struct {
        const char *route, *configuration, *call, *body;
    } kinds[] = {
        {COUNTER, "{\"ttl\":\"1h\"}", "add", "{}"},
        {RATE_LIMIT, "{\"rate\":\"10/h\"}", "allow", "{}"},
        {RATE_GATE, NULL, "check", "{\"max\":10,\"window\":\"1h\"}"},
        {QUOTA, "{\"windows\":{\"a\":\"10/h\"}}", "allow", "{}"},
    };
    for (int i = 0; i < 4; i++) {
        if (strncmp(route, kinds[i].route, strlen(kinds[i].route)) != 0)
            continue;
        const char *path = path_of(kinds[i].route, name);
        if (kinds[i].configuration)
            ck_status(PUT(path, bytes_of(kinds[i].configuration)), 201);
        ck_status(POST(TEXT("%s/k/%s", path, kinds[i].call), bytes_of(kinds[i].body)), 200);
    }
}

static struct answer *send_write(struct http_client *client, const struct write *write, const char *name,
                                 const char *key)
{
    const char *target = TEXT("%s%s%s", path_of(write->route, name), *write->query ? "?" : "", write->query);
    return http(client, write->method, target, write->body ? bytes_of(write->body) : NO_BODY, key);
}

static void expect_replay(const struct answer *first, const struct answer *again)
{
    ck_header(first, "Holdfast-Replayed", NULL);
    ck_header(again, "Holdfast-Replayed", "true");
    ck_status(again, first->status);
    ck_body(again, first->body);
    ck_header(again, "Holdfast-Position", answer_need(first, "Holdfast-Position"));
    ck_header(again, "RateLimit", answer_header(first, "RateLimit"));
}

START_TEST(every_write_to_a_limit_is_done_once)
{
    struct http_client *twin = http_client_new(service_url(api.twin));
    for (int i = 0; i < WRITES; i++) {
        const char *name = api_bucket(), *key = new_key();
        set_up(writes[i].route, name);
        struct answer *first = send_write(api.client, &writes[i], name, key);
        ck_status(first, writes[i].status);
        expect_replay(first, send_write(api.client, &writes[i], name, key));
        expect_replay(first, send_write(twin, &writes[i], name, key));
    }
    http_client_free(twin);
}
END_TEST

START_TEST(keyed_uses_count_once)
{
    const char *key = new_key();
    const char *counter = key_path("counters", api_bucket(), "k");
    const char *limit = rate_limit_key("10/h", 10), *quota = quota_key("\"a\":\"10/h\"");
    for (int i = 0; i < 3; i++)
        ck_body(POST(TEXT("%s/add", counter), BODY("{\"by\":3}"), key), BODY("{\"value\":3}\n"));
    ck_body(GET(counter), BODY("{\"value\":3}\n"));
    const char *other = new_key(), *third = new_key();
    for (int i = 0; i < 3; i++) {
        expect_granted(POST(TEXT("%s/allow", limit), BODY("{\"n\":4}"), other), 6);
        expect_granted(POST(TEXT("%s/allow", quota), BODY("{\"n\":4}"), third), 6);
    }
    expect_granted(GET(limit), 6);
    expect_granted(GET(quota), 6);
}
END_TEST

// A refusal is 200 and yet no effect: the same key may be granted later.
START_TEST(refused_uses_are_not_kept)
{
    const char *paths[] = {TEXT("%s/allow", rate_limit_key("1/h", 1)),
                           TEXT("%s/allow", quota_key("\"a\":\"1/h\"")),
                           TEXT("%s/check", key_path("rate-gates", api_bucket(), "k"))};
    for (int i = 0; i < 3; i++)
        for (int enforced = 0; enforced < 2; enforced++) {
            const char *path = TEXT("%s?enforce=%s", paths[i], enforced ? "true" : "false");
            struct bytes body = i == 2 ? BODY("{\"max\":1,\"window\":\"1h\"}") : BODY("{}");
            const char *key = new_key();
            database_stop_clock(&api.database, START + enforced * 7200 * SECOND);
            ck_status(POST(paths[i], body), 200);
            for (int n = 0; n < 2; n++) {
                struct answer *refused = POST(path, body, key);
                ck_status(refused, enforced ? 429 : 200);
                ck_reply(refused, !truth_in(refused, "ok"));
                ck_header(refused, "Holdfast-Replayed", NULL);
            }
            database_stop_clock(&api.database, START + (enforced * 7200 + 3600) * SECOND);
            struct answer *granted = POST(path, body, key);
            ck_status(granted, enforced ? 204 : 200);
            ck_header(granted, "Holdfast-Replayed", NULL);
            ck_header(POST(path, body, key), "Holdfast-Replayed", "true");
            database_shift_clock(&api.database, 0);
        }
}
END_TEST

static bool is_tested(const char *method, const char *route)
{
    for (int i = 0; i < WRITES; i++)
        if (strcasecmp(writes[i].method, method) == 0 && strcmp(writes[i].route, route) == 0)
            return true;
    return false;
}

START_TEST(every_documented_write_to_a_limit_is_tested)
{
    static const char *const roots[] = {"/v1/counters/", "/v1/rate-limits/", "/v1/rate-gates/",
                                        "/v1/quotas/"};
    struct answer *document = GET("/openapi.json");
    const char *route, *method;
    json_t *item, *operation;
    int found = 0;
    json_object_foreach(json_object_get(document->json, "paths"), route, item)
    {
        for (int i = 0; i < 4; i++)
            if (strncmp(route, roots[i], strlen(roots[i])) == 0)
                json_object_foreach(item, method, operation)
                {
                    bool writes_something = strcmp(method, "put") == 0 || strcmp(method, "post") == 0 ||
                                            strcmp(method, "delete") == 0;
                    ck_assert_msg(is_tested(method, route) == writes_something, "%s %s", method, route);
                    found += writes_something;
                }
    }
    ck_assert_int_eq(found, 17);
}
END_TEST

Suite *limit_keys_suite(void)
{
    const TTest *const tests[] = {
        every_write_to_a_limit_is_done_once,
        keyed_uses_count_once,
        refused_uses_are_not_kept,
        every_documented_write_to_a_limit_is_tested,
        NULL,
    };
    return api_suite_of_two("limit_keys", tests);
}
