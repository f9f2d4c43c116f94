// upsert: one object to begin with, and what to set and to count up when it is there.
#include "entry_steps.h"

#include "support/parallel.h"

#include <stdatomic.h>

static struct answer *upsert(const char *path, const char *body)
{
    return POST(TEXT("%s/upsert", path), bytes_of(body));
}

// A JSON bucket's entry with this value.
static const char *stored(const char *value)
{
    const char *path = api_entry(bucket_of_type("json"), "k");
    ck_status(PUT(path, bytes_of(value), "Content-Type: application/json"), 201);
    return path;
}

static void expect_updated(const char *value, const char *update, const char *result)
{
    const char *path = stored(value);
    struct answer *answer = upsert(path, TEXT("{\"insert\":{},\"update\":%s}", update));
    ck_status(answer, 200);
    ck_body(answer, bytes_of(TEXT("{\"version\":\"%s\"}\n", answer_version(answer))));
    struct answer *got = GET(path);
    ck_body(got, bytes_of(result));
    ck_header(got, "ETag", tag_of(answer));
}

START_TEST(upsert_inserts_then_updates)
{
    const char *path = api_entry(api_bucket(), "k");
    static const char body[] = "{\"insert\":{\"hits\": 1,\"v\":1.0},\"update\":{\"set\":{\"seen\":true},"
                               "\"increment\":{\"hits\":1}}}";
    struct answer *made = upsert(path, body);
    ck_status(made, 201);
    ck_body(made, bytes_of(TEXT("{\"version\":\"%s\"}\n", answer_version(made))));
    struct answer *got = GET(path);
    ck_body(got, BODY("{\"hits\": 1,\"v\":1.0}"));
    ck_header(got, "Content-Type", "application/json");
    ck_status(upsert(path, body), 200);
    ck_body(GET(path), BODY("{\"hits\": 2,\"v\":1.0,\"seen\":true}"));
    ck_status(upsert(path, body), 200);
    ck_body(GET(path), BODY("{\"hits\": 3,\"v\":1.0,\"seen\":true}"));
}
END_TEST

START_TEST(upsert_sets_and_increments)
{
    expect_updated("{\"a\":1,\"b\":{\"c\":2}}", "{\"set\":{\"b\":null,\"d\":[1, 2]}}",
                   "{\"a\":1,\"b\":null,\"d\":[1, 2]}");
    expect_updated("{\"a\":1}", "{\"increment\":{\"a\":-3,\"n\":7}}", "{\"a\":-2,\"n\":7}");
    expect_updated("{\"a\":0.1}", "{\"increment\":{\"a\":0.2}}", "{\"a\":0.30000000000000004}");
    expect_updated("{\"a\":1}", "{\"increment\":{\"a\":0.5}}", "{\"a\":1.5}");
    expect_updated("{\"a\":9223372036854775806}", "{\"increment\":{\"a\":1}}", "{\"a\":9223372036854775807}");
    expect_updated("{\"z\":1,\"a\":2}", "{\"set\":{\"a\":3,\"m\":4},\"increment\":{\"z\":1}}",
                   "{\"z\":2,\"a\":3,\"m\":4}");
    expect_updated("{\"a\":1}", "{}", "{\"a\":1}");
    expect_updated("{}", "{\"set\":{},\"increment\":{}}", "{}");
    expect_updated("{\"o\":{\"n\":1}}", "{\"set\":{\"o\":{\"m\":2}}}", "{\"o\":{\"m\":2}}");
}
END_TEST

// JSON-1 and JSON-2
START_TEST(upsert_leaves_the_rest_as_it_was_written)
{
    expect_updated("{\"p\":0.657679,\"big\":17000000000000000000,\"e\":1e400,"
                   "\"z\":-0.0,\"n\":1}",
                   "{\"increment\":{\"n\":1}}",
                   "{\"p\":0.657679,\"big\":17000000000000000000,\"e\":1e400,"
                   "\"z\":-0.0,\"n\":2}");
    expect_updated("{\"a\\u0000b\":1,\"a\\u0000c\":2,\"s\":\"x\\u0000y\",\"h\":\"\\ud800\"}",
                   "{\"set\":{\"z\":1}}",
                   "{\"a\\u0000b\":1,\"a\\u0000c\":2,\"s\":\"x\\u0000y\",\"h\":\"\\ud800\","
                   "\"z\":1}");
    // So it is with what the request brings.
    const char *path = api_entry(api_bucket(), "k");
    static const char *const values[] = {
        "{\"big\":17000000000000000000,\"d\":[0.10,1e400]}",
        "{\"a\\u0000b\":1,\"a\\u0000c\":2,\"h\":\"\\ud800\"}",
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const char *body = TEXT("{\"insert\":%s,\"update\":{\"set\":{\"v\":%s}}}", values[i], values[i]);
        ck_status(upsert(path, body), 201);
        ck_body(GET(path), bytes_of(values[i]));
        ck_status(upsert(path, body), 200);
        size_t size = strlen(values[i]) - 1;
        ck_body(GET(path), bytes_of(TEXT("%.*s,\"v\":%s}", (int)size, values[i], values[i])));
        ck_status(DELETE(path), 204);
    }
}
END_TEST

START_TEST(upsert_keeps_content_type_and_metadata)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("{}"), "Content-Type: application/ld+json", "Holdfast-Meta-A: b"), 201);
    ck_status(upsert(path, "{\"insert\":{},\"update\":{\"set\":{\"a\":1}}}"), 200);
    struct answer *got = GET(path);
    ck_header(got, "Content-Type", "application/ld+json");
    ck_header(got, "Holdfast-Meta-A", "b");
}
END_TEST

// --- refusals
// ---------------------------------------------------------------------------------------------

START_TEST(upsert_on_what_is_no_object_is_422)
{
    static const struct {
        const char *value, *update, *kind;
    } rows[] = {
        {"[]", "{}", "unprocessable"},
        {"5", "{}", "unprocessable"},
        {"\"{}\"", "{}", "unprocessable"},
        {"null", "{\"set\":{\"a\":1}}", "unprocessable"},
        {"not json", "{}", "unprocessable"},
        {"", "{}", "unprocessable"},
        {"{\"a\":1,\"a\":2}", "{\"set\":{\"b\":1}}", "unprocessable"},
        {"{\"a\":\"1\"}", "{\"increment\":{\"a\":1}}", "unprocessable"},
        {"{\"a\":null}", "{\"increment\":{\"a\":1}}", "unprocessable"},
        {"{\"a\":{}}", "{\"increment\":{\"a\":1}}", "unprocessable"},
        {"{\"a\":9223372036854775807}", "{\"increment\":{\"a\":1}}", "overflow"},
        {"{\"a\":-9223372036854775808}", "{\"increment\":{\"a\":-1}}", "overflow"},
        {"{\"a\":1e308}", "{\"increment\":{\"a\":1.7e308}}", "overflow"},
        {"{\"a\":17000000000000000000}", "{\"increment\":{\"a\":1}}", "overflow"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *path = api_entry(api_bucket(), "k");
        struct answer *put = PUT(path, bytes_of(rows[i].value));
        struct answer *refused = upsert(path, TEXT("{\"insert\":{},\"update\":%s}", rows[i].update));
        if (refused->status != 422 || strcmp(answer_kind(refused), rows[i].kind) != 0)
            ck_abort_msg("%s by %s: %s", rows[i].value, rows[i].update, answer_describe(refused));
        ck_header(GET(path), "ETag", tag_of(put));
        ck_body(GET(path), bytes_of(rows[i].value));
    }
}
END_TEST

// Refused alike whether the entry is there or not, so that a mistake shows at the first call.
START_TEST(upsert_refuses_what_is_no_upsert)
{
    static const struct {
        const char *body;
        const char *parameter;
    } rows[] = {
        {"{}", "insert"},
        {"{\"insert\":{}}", "update"},
        {"{\"update\":{}}", "insert"},
        {"{\"insert\":[],\"update\":{}}", "insert"},
        {"{\"insert\":null,\"update\":{}}", "insert"},
        {"{\"insert\":5,\"update\":{}}", "insert"},
        {"{\"insert\":{},\"update\":[]}", "update"},
        {"{\"insert\":{},\"update\":null}", "update"},
        {"{\"insert\":{},\"update\":{\"set\":[]}}", "update"},
        {"{\"insert\":{},\"update\":{\"set\":null}}", "update"},
        {"{\"insert\":{},\"update\":{\"increment\":5}}", "update"},
        {"{\"insert\":{},\"update\":{\"increment\":{\"a\":\"1\"}}}", "update"},
        {"{\"insert\":{},\"update\":{\"increment\":{\"a\":null}}}", "update"},
        {"{\"insert\":{},\"update\":{\"inc\":{\"a\":1}}}", "inc"},
        {"{\"insert\":{},\"update\":{},\"ttl\":\"1h\"}", "ttl"},
        {"{\"insert\":{\"a\":1,\"a\":2},\"update\":{}}", "body"},
        {"{\"insert\":{},\"update\":{\"set\":{\"a\":1,\"a\":2}}}", "body"},
    };
    const char *absent = api_entry(api_bucket(), "k");
    const char *live = stored("{\"a\":1}");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_invalid(upsert(absent, rows[i].body), rows[i].parameter);
        ck_invalid(upsert(live, rows[i].body), rows[i].parameter);
    }
    static const char both[] = "{\"insert\":{},\"update\":{\"set\":{\"a\":1},\"increment\":{\"a\":1}}}";
    ck_problem(upsert(absent, both), 422, "unprocessable");
    ck_problem(upsert(live, both), 422, "unprocessable");
    ck_status(GET(absent), 404);
    ck_body(GET(live), BODY("{\"a\":1}"));
}
END_TEST

START_TEST(upsert_keeps_to_the_buckets_type_and_size)
{
    static const char body[] = "{\"insert\":{},\"update\":{}}";
    static const char *const types[] = {"int", "float", "bool", "none"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        ck_problem(upsert(api_entry(bucket_of_type(types[i]), "k"), body), 422, "type_mismatch");
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    ck_status(DECLARE(bucket, "{\"type\":\"json\",\"max_value_bytes\":12}"), 201);
    ck_problem(upsert(path, "{\"insert\":{\"a\":\"0123456\"},\"update\":{}}"), 413, "too_large");
    ck_status(GET(path), 404);
    ck_status(upsert(path, "{\"insert\":{\"a\":1},\"update\":{}}"), 201);
    ck_problem(upsert(path, "{\"insert\":{},\"update\":{\"set\":{\"b\":12345}}}"), 413, "too_large");
    ck_body(GET(path), BODY("{\"a\":1}"));
}
END_TEST

// --- races
// ------------------------------------------------------------------------------------------------

enum { UPSERTERS = 12, UPSERTS = 12 };

struct race {
    const char *target;
    atomic_int made, updated, wrong;
};

static void upsert_hits(size_t index, void *user)
{
    struct race *race = user;
    struct http_client *client = http_client_new(replica_url(index));
    static const char body[] = "{\"insert\":{\"hits\":1},\"update\":{\"set\":{"
                               "\"seen\":1},\"increment\":{\"hits\":1}}}";
    for (int i = 0; i < UPSERTS; i++) {
        int status = http(client, "POST", race->target, BODY(body))->status;
        atomic_fetch_add(status == 201 ? &race->made : status == 200 ? &race->updated : &race->wrong, 1);
    }
    http_client_free(client);
}

START_TEST(upsert_increments_lose_nothing)
{
    const char *path = api_entry(api_bucket(), "k");
    struct race race = {.target = TEXT("%s/upsert", path)};
    parallel_run(UPSERTERS, upsert_hits, &race);
    ck_assert_int_eq(race.wrong, 0);
    ck_assert_int_eq(race.made, 1);
    ck_assert_int_eq(race.updated, UPSERTERS * UPSERTS - 1);
    ck_body(GET(path), bytes_of(TEXT("{\"hits\":%d,\"seen\":1}", UPSERTERS * UPSERTS)));
}
END_TEST

Suite *upsert_suite(void)
{
    const TTest *const tests[] = {
        upsert_inserts_then_updates,
        upsert_sets_and_increments,
        upsert_leaves_the_rest_as_it_was_written,
        upsert_keeps_content_type_and_metadata,
        upsert_on_what_is_no_object_is_422,
        upsert_refuses_what_is_no_upsert,
        upsert_keeps_to_the_buckets_type_and_size,
        upsert_increments_lose_nothing,
        NULL,
    };
    return api_suite_of_two("upsert", tests);
}
