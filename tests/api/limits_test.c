// Every limit of a request: what just fits works, and what does not is refused by a problem that names the
// limit.
#include "api.h"

#include <stdio.h>
#include <string.h>

enum { OWNERS = 64, STORED = 1024, DEPTH = 64, STORED_DEPTH = 512, ITEMS = 1000 };

static struct answer *post(const char *target, const char *body)
{
    return http(api.client, "POST", target, bytes_of(body), "Content-Type: application/json");
}

// `count` times `text`, `between` them.
static const char *repeated(int count, const char *text, const char *between)
{
    size_t each = strlen(text) + strlen(between);
    char *all = malloc((size_t)count * each + 1);
    size_t used = 0;
    for (int i = 0; i < count; i++)
        used += (size_t)sprintf(all + used, "%s%s", i ? between : "", text);
    all[used] = 0;
    const char *kept = TEXT("%s", all);
    free(all);
    return kept;
}

// `levels` arrays, one in the other.
static const char *nested(int levels)
{
    return TEXT("%s%s", repeated(levels, "[", ""), repeated(levels, "]", ""));
}

START_TEST(a_branch_has_64_owners)
{
    const char *bucket = api_bucket();
    const char *entry = api_entry(bucket, "k");
    const char *list = TEXT("/v1/buckets/%s/entries", bucket);
    const char *fits = repeated(OWNERS, "under=o", "&");
    const char *over = repeated(OWNERS + 1, "under=o", "&");
    ck_status(PUT(TEXT("%s?%s", entry, fits), BODY("v")), 201);
    ck_status(GET(TEXT("%s?%s", list, fits)), 200);
    ck_over_limit(PUT(TEXT("%s?%s", entry, over), BODY("v")), 413, "too_large", OWNERS);
    ck_over_limit(GET(TEXT("%s?%s", list, over)), 413, "too_large", OWNERS);
    ck_over_limit(DELETE(TEXT("%s?%s", list, over)), 413, "too_large", OWNERS);
    ck_refused_for(GET(TEXT("%s?%s", list, over)), "too_large", "under");

    const char *batch = TEXT("/v1/buckets/%s/batch-get", bucket);
    const char *array = repeated(OWNERS, "\"o\"", ",");
    const char *longer = repeated(OWNERS + 1, "\"o\"", ",");
    ck_status(post(batch, TEXT("{\"keys\":[\"k\"],\"under\":[%s]}", array)), 200);
    ck_over_limit(post(batch, TEXT("{\"keys\":[\"k\"],\"under\":[%s]}", longer)), 413, "too_large", OWNERS);
    const char *copy = TEXT("%s/copy?%s", entry, fits);
    ck_status(post(copy, TEXT("{\"to_key\":\"l\",\"to_under\":[%s]}", array)), 200);
    ck_over_limit(post(copy, TEXT("{\"to_key\":\"l\",\"to_under\":[%s]}", longer)), 413, "too_large", OWNERS);
}
END_TEST

START_TEST(a_path_has_1024_stored_bytes)
{
    const char *bucket = api_bucket();
    const char *entry = api_entry(bucket, "k");
    const char *list = TEXT("/v1/buckets/%s/entries", bucket);
    const char *fits = repeated(STORED, "x", "");
    const char *over = repeated(STORED + 1, "x", "");
    ck_status(PUT(entry, BODY("v")), 201);
    ck_status(PUT(api_entry(bucket, fits), BODY("v")), 201);
    ck_over_limit(PUT(api_entry(bucket, over), BODY("v")), 413, "too_large", STORED);
    ck_over_limit(GET(TEXT("%s?under=%s", list, over)), 413, "too_large", STORED);
    ck_over_limit(DELETE(TEXT("%s?under=%s", list, over)), 413, "too_large", STORED);
    ck_refused_for(DELETE(TEXT("%s?under=%s", list, over)), "too_large", "under");
    ck_over_limit(post("/v1/views", TEXT("{\"reads\":[{\"bucket\":\"%s\",\"key\":\"%s\"}]}", bucket, over)),
                  413, "too_large", STORED);
    ck_status(post(TEXT("%s/copy", entry), TEXT("{\"to_key\":\"%s\"}", fits)), 200);
    ck_over_limit(post(TEXT("%s/copy", entry), TEXT("{\"to_key\":\"%s\"}", over)), 413, "too_large", STORED);
    ck_over_limit(post(TEXT("/v1/buckets/%s/batch-get", bucket), TEXT("{\"keys\":[\"%s\"]}", over)), 413,
                  "too_large", STORED);
}
END_TEST

// The object around the arrays is a level too.
START_TEST(a_json_request_has_64_levels)
{
    const char *bucket = api_bucket();
    const char *path = TEXT("/v1/buckets/%s", bucket);
    const char *fits = nested(DEPTH - 1);
    const char *over = nested(DEPTH);
    ck_invalid(PUT(path, bytes_of(TEXT("{\"type\":%s}", fits))), "type"); // it was read
    ck_over_limit(PUT(path, bytes_of(TEXT("{\"type\":%s}", over))), 422, "unprocessable", DEPTH);

    const char *entry = api_entry(bucket, "k");
    ck_status(PUT(entry, BODY("1"), "Content-Type: application/json"), 201);
    const char *compare = TEXT("%s/compare-and-set", entry);
    ck_status(post(compare, TEXT("{\"expected\":1,\"value\":%s}", fits)), 200);
    ck_over_limit(post(compare, TEXT("{\"expected\":1,\"value\":%s}", over)), 422, "unprocessable", DEPTH);
    ck_over_limit(post(TEXT("%s/upsert", entry), TEXT("{\"insert\":{\"a\":%s}}", over)), 422, "unprocessable",
                  DEPTH);
    ck_over_limit(post(TEXT("%s/add", entry), TEXT("{\"by\":%s}", over)), 422, "unprocessable", DEPTH);
}
END_TEST

START_TEST(a_patch_has_64_levels)
{
    const char *path = api_entry(api_bucket(), "k");
    static const char *const type = "Content-Type: application/merge-patch+json";
    ck_status(PUT(path, BODY("{}"), "Content-Type: application/json"), 201);
    const char *fits = TEXT("{\"a\":%s}", nested(DEPTH - 1));
    const char *over = TEXT("{\"a\":%s}", nested(DEPTH));
    ck_status(http(api.client, "PATCH", path, bytes_of(fits), type), 204);
    ck_over_limit(http(api.client, "PATCH", path, bytes_of(over), type), 422, "unprocessable", DEPTH);
    ck_over_limit(http(api.client, "PATCH", TEXT("%s?upsert=true", path), bytes_of(nested(DEPTH + 1)), type),
                  422, "unprocessable", DEPTH);
    ck_body(GET(path), bytes_of(fits));
}
END_TEST

START_TEST(a_patched_value_has_512_levels)
{
    const char *path = api_entry(api_bucket(), "k");
    static const char *const json = "Content-Type: application/json";
    static const char *const type = "Content-Type: application/merge-patch+json";
    ck_status(PUT(path, bytes_of(TEXT("{\"a\":%s}", nested(STORED_DEPTH - 1))), json), 201);
    ck_status(http(api.client, "PATCH", path, BODY("{\"b\":1}"), type), 204);
    ck_body(GET(path), bytes_of(TEXT("{\"a\":%s,\"b\":1}", nested(STORED_DEPTH - 1))));
    ck_status(PUT(path, bytes_of(TEXT("{\"a\":%s}", nested(STORED_DEPTH))), json), 204);
    ck_problem(http(api.client, "PATCH", path, BODY("{\"b\":1}"), type), 422, "unprocessable");
}
END_TEST

START_TEST(a_list_has_1000_items)
{
    const char *bucket = api_bucket();
    ck_status(DECLARE(bucket, "{}"), 201);
    const char *const lists[] = {"/v1/buckets", TEXT("/v1/buckets/%s/entries", bucket)};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        ck_status(GET(TEXT("%s?limit=%d", lists[i], ITEMS)), 200);
        ck_over_limit(GET(TEXT("%s?limit=%d", lists[i], ITEMS + 1)), 400, "invalid", ITEMS);
    }
    const char *batch = TEXT("/v1/buckets/%s/batch-get", bucket);
    ck_status(post(batch, TEXT("{\"keys\":[%s]}", repeated(ITEMS, "\"k\"", ","))), 200);
    ck_over_limit(post(batch, TEXT("{\"keys\":[%s]}", repeated(ITEMS + 1, "\"k\"", ","))), 413, "too_large",
                  ITEMS);
}
END_TEST

// A short text of many values would become a tree of many times its size.
START_TEST(a_json_request_has_200000_values)
{
    enum { VALUES = 200 * 1000 };
    char *body = malloc(4 * VALUES + 64);
    size_t used = (size_t)sprintf(body, "{\"by\":[");
    for (int i = 0; i < VALUES; i++)
        used += (size_t)sprintf(body + used, "%s[]", i ? "," : "");
    sprintf(body + used, "]}");
    const char *const calls[] = {"/v1/counters/c/k/add", "/v1/rate-limits/r/k/allow",
                                 "/v1/buckets/b/batch-get"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        ck_over_limit(post(calls[i], body), 413, "too_large", VALUES);
    free(body);
    ck_invalid(post("/v1/counters/c/k/add", TEXT("{\"by\":[%s]}", repeated(VALUES / 4, "[]", ","))), "by");
}
END_TEST

START_TEST(what_a_problem_tells_back_is_short)
{
    const char *name = repeated(5000, "n", "");
    struct answer *answer = post("/v1/counters/c/k/add", TEXT("{\"%s\":1}", name));
    ck_status(answer, 400);
    ck_reply(answer, answer_->body.size < 1000);
    static const char *const scalars[] = {"1", "\"abc\"", "null", "[]"};
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++) {
        answer = post("/v1/counters/c/k/add", scalars[i]);
        ck_invalid(answer, "body");
        ck_reply(answer, strstr(answer_text(answer_, "detail"), "object"));
    }
}
END_TEST

START_TEST(metadata_is_refused_where_none_is_kept)
{
    ck_invalid(http(api.client, "PUT", "/v1/once/o/k/answer?token=1", BODY("v"), "Holdfast-Meta-A: 1"),
               "Holdfast-Meta");
    ck_invalid(http(api.client, "POST", "/v1/counters/c/k/add", BODY("{}"), "Holdfast-Meta-A: 1"),
               "Holdfast-Meta");
    ck_status(http(api.client, "GET", "/v1/buckets", NO_BODY, "Holdfast-Meta-A: 1"), 200);
}
END_TEST

START_TEST(there_are_16_metadata_headers)
{
    enum { MOST = 16 };
    const char *path = api_entry(api_bucket(), "k");
    const char *headers[MOST + 2] = {0};
    for (int i = 0; i <= MOST; i++)
        headers[i] = TEXT("Holdfast-Meta-%d: v", i);
    ck_over_limit(http_send(api.client, "PUT", path, BODY("v"), headers), 413, "too_large", MOST);
    ck_status(GET(path), 404);
    headers[MOST] = NULL;
    ck_status(http_send(api.client, "PUT", path, BODY("v"), headers), 201);
    ck_header(GET(path), "Holdfast-Meta-15", "v");
}
END_TEST

Suite *limits_suite(void)
{
    const TTest *const tests[] = {
        a_branch_has_64_owners,
        a_path_has_1024_stored_bytes,
        a_json_request_has_64_levels,
        a_patch_has_64_levels,
        a_patched_value_has_512_levels,
        a_list_has_1000_items,
        a_json_request_has_200000_values,
        what_a_problem_tells_back_is_short,
        metadata_is_refused_where_none_is_kept,
        there_are_16_metadata_headers,
        NULL,
    };
    return api_suite("limits", NULL, tests);
}
