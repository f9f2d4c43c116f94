// PATCH by RFC 7396: what the patch names changes, everything else keeps every byte.
#include "entry_steps.h"

#include "support/parallel.h"
#include "support/rfc7396.h"

#include <stdatomic.h>

// A JSON bucket's entry with this value.
static const char *stored(const char *value)
{
    const char *path = api_entry(bucket_of_type("json"), "k");
    ck_status(PUT(path, bytes_of(value), "Content-Type: application/json"), 201);
    return path;
}

static void expect_patched(const char *value, const char *patch, const char *result)
{
    const char *path = stored(value);
    struct answer *answer = PATCH(path, bytes_of(patch));
    ck_status(answer, 204);
    struct answer *got = GET(path);
    ck_body(got, bytes_of(result));
    ck_header(got, "ETag", tag_of(answer));
}

// The table of the RFC's appendix A.
START_TEST(rfc_7396_examples)
{
    for (size_t i = 0; i < RFC7396_EXAMPLES; i++)
        expect_patched(rfc7396_examples[i].target, rfc7396_examples[i].patch, rfc7396_examples[i].result);
}
END_TEST

// JSON-1
START_TEST(patch_leaves_numbers_as_they_were_written)
{
    expect_patched("{\"p\":0.657679,\"id\":9223372036854775807,\"big\":"
                   "17000000000000000000,\"n\":1}",
                   "{\"n\":2}",
                   "{\"p\":0.657679,\"id\":9223372036854775807,\"big\":"
                   "17000000000000000000,\"n\":2}");
    expect_patched("{\"a\":12345678901234567890,\"b\":1e400,\"c\":1.0,\"d\":-0.0,"
                   "\"e\":[0.10,1e2,-0,1E+2]}",
                   "{\"c\":null,\"f\":-1.50e-0400}",
                   "{\"a\":12345678901234567890,\"b\":1e400,\"d\":-0.0,\"e\":[0."
                   "10,1e2,-0,1E+2],"
                   "\"f\":-1.50e-0400}");
    expect_patched("{\"o\":{\"x\":0.30,\"y\":100000000000000000000.0}}", "{\"o\":{\"z\":1}}",
                   "{\"o\":{\"x\":0.30,\"y\":100000000000000000000.0,\"z\":1}}");
}
END_TEST

START_TEST(patch_keeps_the_order_of_members)
{
    expect_patched("{\"z\":1,\"a\":2,\"m\":3,\"b\":4}", "{\"b\":5,\"c\":7,\"z\":6,\"m\":null,\"0\":8}",
                   "{\"z\":6,\"a\":2,\"b\":5,\"c\":7,\"0\":8}");
}
END_TEST

// JSON-2
START_TEST(patch_leaves_nul_and_surrogates_alone)
{
    expect_patched("{\"a\\u0000b\":1,\"a\\u0000c\":2,\"s\":\"x\\u0000y\",\"h\":\"\\ud800\"}", "{\"z\":1}",
                   "{\"a\\u0000b\":1,\"a\\u0000c\":2,\"s\":\"x\\u0000y\",\"h\":\"\\ud800\","
                   "\"z\":1}");
    expect_patched("{\"a\\u0000b\":1,\"a\\u0000c\":2,\"a\":3}", "{\"a\\u0000b\":null,\"a\\u0000c\":4}",
                   "{\"a\\u0000c\":4,\"a\":3}");
    expect_patched("{\"\\ud800\":1,\"\\ud801\":2}", "{\"\\uD801\":null}", "{\"\\ud800\":1}");
    // A name is what its characters are, however they are written.
    expect_patched("{\"\\u0061\":1,\"\xC3\xA9\":2}", "{\"a\":3,\"\\u00e9\":null}", "{\"\\u0061\":3}");
}
END_TEST

START_TEST(patch_of_an_absent_entry)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    ck_problem(PATCH(path, BODY("{\"a\":1}")), 404, "not_found");
    ck_problem(PATCH(TEXT("%s?upsert=false", path), BODY("{\"a\":1}")), 404, "not_found");
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 404);
    ck_invalid(PATCH(TEXT("%s?upsert=yes", path), BODY("{}")), "upsert");
    ck_invalid(PATCH(TEXT("%s?upsert=", path), BODY("{}")), "upsert");
    struct answer *made = PATCH(TEXT("%s?upsert=true", path), BODY("{\"a\":{\"b\":null,\"c\":1.0}}"));
    ck_status(made, 204);
    struct answer *got = GET(path);
    ck_body(got, BODY("{\"a\":{\"c\":1.0}}"));
    ck_header(got, "Content-Type", "application/json");
    ck_header(got, "ETag", tag_of(made));
    ck_status(PATCH(TEXT("%s?upsert=true", path), BODY("{\"d\":2}")), 204);
    ck_body(GET(path), BODY("{\"a\":{\"c\":1.0},\"d\":2}"));
    ck_status(PATCH(TEXT("%s?upsert=true", api_entry(bucket, "list")), BODY("[null]")), 204);
    ck_body(GET(api_entry(bucket, "list")), BODY("[null]"));
}
END_TEST

START_TEST(patch_gives_the_value_when_asked)
{
    const char *path = stored("{\"a\":1}");
    static const char *const asks[] = {"Prefer: return=representation",
                                       "Prefer: wait=1, return=representation",
                                       "Prefer: return=representation; x=y, respond-async"};
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        struct answer *answer = PATCH(path, bytes_of(TEXT("{\"n\":%zu.0}", i)), asks[i]);
        ck_status(answer, 200);
        ck_body(answer, bytes_of(TEXT("{\"a\":1,\"n\":%zu.0}", i)));
        ck_header(answer, "Content-Type", "application/json");
        ck_header(answer, "Preference-Applied", "return=representation");
        ck_header(GET(path), "ETag", tag_of(answer));
        answer_need(answer, "Holdfast-Position");
    }
    static const char *const others[] = {"Prefer: return=minimal", "Prefer: return", "Prefer: nonsense=\"",
                                         "Prefer: xreturn=representation"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_status(PATCH(path, BODY("{}"), others[i]), 204);
}
END_TEST

START_TEST(patch_keeps_content_type_and_metadata)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("{}"), "Content-Type: application/geo+json", "Holdfast-Meta-A: b"), 201);
    ck_status(PATCH(path, BODY("{\"a\":1}")), 204);
    struct answer *got = GET(path);
    ck_header(got, "Content-Type", "application/geo+json");
    ck_header(got, "Holdfast-Meta-A", "b");
    ck_status(PUT(path, BODY("{}")), 204);
    ck_header(PATCH(path, BODY("{}"), "Prefer: return=representation"), "Content-Type",
              "application/octet-stream");
    ck_header(GET(path), "Content-Type", "application/octet-stream");
}
END_TEST

// --- refusals
// ---------------------------------------------------------------------------------------------

START_TEST(patch_takes_merge_patches_only)
{
    const char *path = stored("{\"a\":1}");
    static const char *const others[] = {"application/json", "application/json-patch+json", "text/plain",
                                         "application/merge-patch+jsonx", "merge-patch+json"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct answer *refused =
            http(api.client, "PATCH", path, BODY("{\"a\":2}"), TEXT("Content-Type: %s", others[i]));
        ck_problem(refused, 415, "unsupported_media");
        ck_header(refused, "Accept-Patch", "application/merge-patch+json");
    }
    ck_problem(http(api.client, "PATCH", path, BODY("{\"a\":2}")), 415, "unsupported_media");
    ck_body(GET(path), BODY("{\"a\":1}"));
    ck_status(http(api.client, "PATCH", path, BODY("{\"a\":2}"),
                   "Content-Type: Application/Merge-Patch+JSON ; charset=utf-8"),
              204);
}
END_TEST

static void expect_refused(const char *path, const char *patch, int status, const char *kind)
{
    struct answer *before = GET(path);
    ck_problem(PATCH(path, bytes_of(patch)), status, kind);
    struct answer *after = GET(path);
    ck_body(after, before->body);
    ck_header(after, "ETag", tag_of(before));
}

START_TEST(patch_that_is_no_json_is_400)
{
    const char *path = stored("{\"a\":1}");
    static const char *const bad[] = {"",           " ",       "{",          "{\"a\":}",
                                      "{\"a\":1,}", "{a:1}",   "NaN",        "{} {}",
                                      "'a'",        "\xFF",    "{\"a\":01}", "{\"a\":\"\t\"}",
                                      "[1,]",       "\"\\x\"", "{\"a\" 1}",  "{\"a\":\"\xED\xA0\x80\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_invalid(PATCH(path, bytes_of(bad[i])), "body");
        expect_refused(path, bad[i], 400, "invalid");
        ck_invalid(PATCH(TEXT("%s?upsert=true", api_entry(api_bucket(), "k")), bytes_of(bad[i])), "body");
    }
    ck_body(GET(path), BODY("{\"a\":1}"));
}
END_TEST

START_TEST(patch_of_what_is_no_json_is_422)
{
    const char *bucket = api_bucket();
    static const char *const values[] = {"", "text", "{\"a\":", "\xFF\xFE", "{} x", "007"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const char *path = api_entry(bucket, TEXT("%zu", i));
        ck_status(PUT(path, bytes_of(values[i])), 201);
        expect_refused(path, "{\"a\":1}", 422, "unprocessable");
        expect_refused(path, "5", 422, "unprocessable");
        ck_problem(PATCH(TEXT("%s?upsert=true", path), BODY("{}")), 422, "unprocessable");
    }
}
END_TEST

START_TEST(patch_with_a_member_twice_is_422)
{
    const char *path = stored("{\"a\":1,\"o\":{\"b\":1}}");
    expect_refused(path, "{\"c\":1,\"c\":2}", 422, "unprocessable");
    expect_refused(path, "{\"c\":1,\"\\u0063\":2}", 422, "unprocessable");
    expect_refused(path, "{\"o\":{\"c\":1,\"c\":1}}", 422, "unprocessable");
    expect_refused(path, "{\"o\":[{\"c\":1,\"c\":1}]}", 422, "unprocessable");
    static const char *const values[] = {"{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}",
                                         "{\"o\":[0,{\"a\":1,\"a\":1}]}"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        expect_refused(stored(values[i]), "{\"z\":1}", 422, "unprocessable");
}
END_TEST

// `depth` arrays around a zero.
static const char *nested(int depth)
{
    char open[1200], close[1200];
    memset(open, '[', (size_t)depth);
    memset(close, ']', (size_t)depth);
    return TEXT("%.*s0%.*s", depth, open, depth, close);
}

START_TEST(patch_depth_is_limited)
{
    const char *path = stored("{\"a\":1}");
    expect_refused(path, TEXT("{\"b\":%s}", nested(64)), 422, "unprocessable");
    expect_refused(path, TEXT("{\"b\":%s}", nested(1100)), 422, "unprocessable");
    ck_status(PATCH(path, bytes_of(TEXT("{\"b\":%s}", nested(63)))), 204);
    ck_body(GET(path), bytes_of(TEXT("{\"a\":1,\"b\":%s}", nested(63))));
    ck_status(PATCH(path, BODY("{\"a\":2}")), 204);
    ck_body(GET(path), bytes_of(TEXT("{\"a\":2,\"b\":%s}", nested(63))));
    path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, bytes_of(nested(513)), "Content-Type: application/json"), 201);
    expect_refused(path, "{\"a\":1}", 422, "unprocessable");
}
END_TEST

START_TEST(patch_keeps_to_the_buckets_type)
{
    static const struct {
        const char *type, *value, *good, *bad;
    } rows[] = {
        {"int", "5", "6", "\"x\""},        {"float", "0.5", "1e2", "{}"},      {"bool", "true", "false", "1"},
        {"text", "{}", "{\"a\":1}", NULL}, {"bytes", "{}", "{\"a\":1}", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *path = api_entry(bucket_of_type(rows[i].type), "k");
        ck_status(PUT(path, bytes_of(rows[i].value)), 201);
        if (rows[i].bad)
            expect_refused(path, rows[i].bad, 422, "type_mismatch");
        ck_status(PATCH(path, bytes_of(rows[i].good)), 204);
        ck_body(GET(path), bytes_of(rows[i].good));
    }
    const char *none = api_entry(bucket_of_type("none"), "k");
    ck_status(PUT(none, BODY("")), 201);
    expect_refused(none, "{}", 422, "unprocessable");
    ck_problem(PATCH(TEXT("%s?upsert=true", api_entry(bucket_of_type("none"), "k")), BODY("{}")), 422,
               "type_mismatch");
}
END_TEST

START_TEST(patch_keeps_to_the_buckets_size)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    ck_status(DECLARE(bucket, "{\"max_value_bytes\":20}"), 201);
    ck_status(PUT(path, BODY("{\"a\":\"0123\"}")), 201);
    struct answer *refused = PATCH(path, BODY("{\"b\":\"4567\"}"));
    ck_problem(refused, 413, "too_large");
    ck_assert_int_eq(json_integer_value(json_object_get(refused->json, "limit")), 20);
    ck_body(GET(path), BODY("{\"a\":\"0123\"}"));
    ck_status(PATCH(path, BODY("{\"b\":12}")), 204);
    ck_body(GET(path), BODY("{\"a\":\"0123\",\"b\":12}"));
}
END_TEST

START_TEST(patch_of_a_large_value)
{
    enum { MEMBERS = 20000 };
    char *value = malloc(MEMBERS * 24 + 40);
    int size = sprintf(value, "{\"k\":0");
    for (int i = 0; i < MEMBERS; i++)
        size += sprintf(value + size, ",\"m%d\":%d.0", i, i);
    strcpy(value + size, "}");
    const char *path = stored(value);
    ck_status(PATCH(path, BODY("{\"k\":1,\"m7\":null,\"m8\":true}")), 204);
    struct answer *got = GET(path);
    char *expected = malloc(MEMBERS * 24 + 40);
    size = sprintf(expected, "{\"k\":1");
    for (int i = 0; i < MEMBERS; i++)
        if (i != 7)
            size += sprintf(expected + size, i == 8 ? ",\"m%d\":true" : ",\"m%d\":%d.0", i, i);
    strcpy(expected + size, "}");
    ck_assert(answer_is(got, bytes_of(expected)));
    free(expected);
    free(value);
}
END_TEST

// --- races
// ------------------------------------------------------------------------------------------------

enum { PATCHERS = 12, PATCHES = 12 };

struct race {
    const char *path;
    atomic_int wrong;
};

static void patch_own_members(size_t index, void *user)
{
    struct race *race = user;
    struct http_client *client = http_client_new(replica_url(index));
    for (int i = 0; i < PATCHES; i++) {
        const char *patch = http_text(client, "{\"m%zu-%d\":%d}", index, i, i);
        int status = http(client, "PATCH", race->path, bytes_of(patch), MERGE_PATCH)->status;
        if (status != 204)
            atomic_fetch_add(&race->wrong, 1);
    }
    http_client_free(client);
}

START_TEST(no_patch_is_lost)
{
    const char *path = api_entry(bucket_of_type("json"), "k");
    struct race race = {.path = TEXT("%s?upsert=true", path)};
    parallel_run(PATCHERS, patch_own_members, &race);
    ck_assert_int_eq(race.wrong, 0);
    struct answer *got = GET(path);
    ck_assert_uint_eq(json_object_size(got->json), PATCHERS * PATCHES);
}
END_TEST

Suite *patch_suite(void)
{
    const TTest *const tests[] = {
        rfc_7396_examples,
        patch_leaves_numbers_as_they_were_written,
        patch_keeps_the_order_of_members,
        patch_leaves_nul_and_surrogates_alone,
        patch_of_an_absent_entry,
        patch_gives_the_value_when_asked,
        patch_keeps_content_type_and_metadata,
        patch_takes_merge_patches_only,
        patch_that_is_no_json_is_400,
        patch_of_what_is_no_json_is_422,
        patch_with_a_member_twice_is_422,
        patch_depth_is_limited,
        patch_keeps_to_the_buckets_type,
        patch_keeps_to_the_buckets_size,
        patch_of_a_large_value,
        no_patch_is_lost,
        NULL,
    };
    return api_suite_of_two("patch", tests);
}
