// Idempotency keys on calls of once: whoever got the run gets it again, an end of a run is answered again,
// and what changed nothing is not kept.
#include "once_steps.h"

#include "support/clock.h"

#include <strings.h>
#include <unistd.h>

static const char *new_key(void)
{
    static unsigned keys;
    return TEXT("Idempotency-Key: once-%d-%u", (int)getpid(), ++keys);
}

static void expect_replay(const struct answer *first, const struct answer *again)
{
    ck_header(first, "Holdfast-Replayed", NULL);
    ck_header(again, "Holdfast-Replayed", "true");
    ck_status(again, first->status);
    ck_body(again, first->body);
    ck_header(again, "Holdfast-Position", answer_need(first, "Holdfast-Position"));
}

// A write to a name whose key `k` is being run, unless it begins the run itself.
struct write {
    const char *method;
    const char *route;
    const char *query; // {token} is the run's
    const char *body;  // NULL: none
    int status;
};

#define ONCE "/v1/once/{name}"

static const struct write writes[] = {
    {"PUT", ONCE, "", "{\"ttl\":\"2h\"}", 200},
    {"DELETE", ONCE, "", NULL, 204},
    {"DELETE", ONCE, "under=a", NULL, 204},
    {"POST", ONCE "/{key}", "", NULL, 201},
    {"DELETE", ONCE "/{key}", "", NULL, 204},
    {"PUT", ONCE "/{key}/answer", "token={token}", "v", 204},
    {"PUT", ONCE "/{key}/run", "token={token}", "{\"ttl\":\"2h\"}", 200},
    {"DELETE", ONCE "/{key}/run", "token={token}", NULL, 204},
};
enum { WRITES = sizeof writes / sizeof writes[0] };

// The text with `value` in the place of `hole`, if it has one.
static const char *filled(const char *text, const char *hole, const char *value)
{
    const char *place = strstr(text, hole);
    return place ? TEXT("%.*s%s%s", (int)(place - text), text, value, place + strlen(hole)) : text;
}

static const char *target_of(const struct write *write, const char *name, const char *token)
{
    const char *path = filled(filled(write->route, "{name}", name), "{key}", "k");
    return TEXT("%s%s%s", path, *write->query ? "?" : "", filled(write->query, "{token}", token));
}

static struct answer *send_write(struct http_client *client, const struct write *write, const char *target,
                                 const char *key)
{
    return http(client, write->method, target, write->body ? bytes_of(write->body) : NO_BODY, key);
}

START_TEST(every_write_to_a_once_is_done_once)
{
    struct http_client *twin = http_client_new(service_url(api.twin));
    for (int i = 0; i < WRITES; i++) {
        const char *name = api_bucket(), *key = new_key();
        bool begins = strcmp(writes[i].method, "POST") == 0;
        const char *token = begins ? "" : begun(once_path(name, "k"));
        const char *target = target_of(&writes[i], name, token);
        struct answer *first = send_write(api.client, &writes[i], target, key);
        ck_status(first, writes[i].status);
        expect_replay(first, send_write(api.client, &writes[i], target, key));
        expect_replay(first, send_write(twin, &writes[i], target, key));
    }
    http_client_free(twin);
}
END_TEST

START_TEST(keyed_runner_that_lost_its_reply_gets_its_run_again)
{
    const char *path = once_path(api_bucket(), "k"), *key = new_key();
    struct answer *run = http(api.client, "POST", path, NO_BODY, key);
    const char *token = run_token(run);
    expect_running(BEGIN(path));
    expect_replay(run, http(api.client, "POST", path, NO_BODY, key));
    // So it is for its answer: it is kept once, and the repetition is no late one.
    const char *other = new_key();
    for (int i = 0; i < 2; i++)
        ck_status(ANSWER(path, token, BODY("v"), other), 204);
    ck_problem(ANSWER(path, token, BODY("v")), 409, "lease_lost");
    expect_kept(BEGIN(path), BODY("v"));
}
END_TEST

START_TEST(answers_of_others_are_not_kept_under_a_key)
{
    const char *path = once_path(api_bucket(), "k"), *key = new_key();
    const char *token = begun(path);
    for (int i = 0; i < 2; i++) {
        struct answer *told = http(api.client, "POST", path, NO_BODY, key);
        expect_running(told);
        ck_header(told, "Holdfast-Replayed", NULL);
    }
    ck_status(ANSWER(path, token, BODY("v")), 204);
    for (int i = 0; i < 2; i++) {
        struct answer *kept = http(api.client, "POST", path, NO_BODY, key);
        expect_kept(kept, BODY("v"));
        ck_header(kept, "Holdfast-Replayed", NULL);
    }
    ck_status(DELETE(path), 204);
    ck_status(http(api.client, "POST", path, NO_BODY, key), 201);
}
END_TEST

// It would wait inside a transaction that keeps the runner from answering.
START_TEST(keyed_call_does_not_wait)
{
    const char *path = once_path(api_bucket(), "k"), *key = new_key();
    const char *token = begun(path);
    int64_t start = clock_ms();
    struct answer *told = http(api.client, "POST", path, NO_BODY, key, "Prefer: wait=60");
    expect_running(told);
    ck_header(told, "Preference-Applied", NULL);
    ck_assert_int_lt(clock_ms() - start, 20 * 1000);
    ck_status(ANSWER(path, token, BODY("v")), 204);
}
END_TEST

static bool is_tested(const char *method, const char *route)
{
    for (int i = 0; i < WRITES; i++)
        if (strcasecmp(writes[i].method, method) == 0 && strcmp(writes[i].route, route) == 0)
            return true;
    return false;
}

START_TEST(every_documented_write_to_a_once_is_tested)
{
    struct answer *document = GET("/openapi.json");
    const char *route, *method;
    json_t *item, *operation;
    int found = 0;
    json_object_foreach(json_object_get(document->json, "paths"), route, item)
    {
        if (strncmp(route, "/v1/once/", strlen("/v1/once/")) != 0)
            continue;
        json_object_foreach(item, method, operation)
        {
            bool writes_something =
                strcmp(method, "put") == 0 || strcmp(method, "post") == 0 || strcmp(method, "delete") == 0;
            ck_assert_msg(is_tested(method, route) == writes_something, "%s %s", method, route);
            found += writes_something;
        }
    }
    ck_assert_int_eq(found, 7);
}
END_TEST

Suite *once_keys_suite(void)
{
    const TTest *const tests[] = {
        every_write_to_a_once_is_done_once,         keyed_runner_that_lost_its_reply_gets_its_run_again,
        answers_of_others_are_not_kept_under_a_key, keyed_call_does_not_wait,
        every_documented_write_to_a_once_is_tested, NULL,
    };
    return api_suite_of_two("once_keys", tests);
}
