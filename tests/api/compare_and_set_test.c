// compare-and-set: JSON is compared by what it says, everything else by its bytes.
#include "entry_steps.h"

#include "support/parallel.h"

#include <stdatomic.h>

static struct answer *compare(const char *path, const char *body)
{
    return POST(TEXT("%s/compare-and-set", path), bytes_of(body));
}

static bool swapped(const struct answer *answer)
{
    // By its text: the numbers in it may be beyond what a JSON library reads.
    static const char yes[] = "{\"swapped\":true,", no[] = "{\"swapped\":false,";
    ck_status(answer, 200);
    bool is_yes = strncmp((const char *)answer->body.data, yes, sizeof yes - 1) == 0;
    ck_reply(answer, is_yes || strncmp((const char *)answer->body.data, no, sizeof no - 1) == 0);
    return is_yes;
}

static const char *stored(const char *value, const char *content_type)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, bytes_of(value), TEXT("Content-Type: %s", content_type)), 201);
    return path;
}

START_TEST(compare_and_set_writes_when_equal)
{
    const char *path = api_entry(api_bucket(), "k");
    struct answer *put = PUT(path, BODY("{\"a\":1}"), "Content-Type: application/json", "Holdfast-Meta-A: b");
    struct answer *done = compare(path, "{\"expected\":{\"a\":1},\"value\": {\"a\" : 2.0} }");
    ck_body(done, bytes_of(TEXT("{\"swapped\":true,\"version\":\"%s\",\"current\":{\"a\" : 2.0}}\n",
                                answer_version(done))));
    ck_assert_str_ne(tag_of(done), tag_of(put));
    struct answer *got = GET(path);
    ck_body(got, BODY("{\"a\" : 2.0}"));
    ck_header(got, "ETag", tag_of(done));
    ck_header(got, "Content-Type", "application/json");
    ck_header(got, "Holdfast-Meta-A", "b");
}
END_TEST

START_TEST(compare_and_set_tells_the_current_value_when_not)
{
    const char *path = stored("{\"n\": 1.50}", "application/json");
    struct answer *before = GET(path);
    struct answer *refused = compare(path, "{\"expected\":{\"n\":2},\"value\":{\"n\":3}}");
    ck_body(refused, bytes_of(TEXT("{\"swapped\":false,\"version\":\"%s\",\"current\":{\"n\": 1.50}}\n",
                                   answer_version(before))));
    ck_header(refused, "ETag", tag_of(before));
    struct answer *after = GET(path);
    ck_header(after, "ETag", tag_of(before));
    ck_body(after, before->body);
    refused = compare(stored("l\xC3\xA9", "text/plain"), "{\"expected_text\":\"x\",\"value_text\":\"y\"}");
    ck_assert_pstr_eq(answer_text(refused, "current_text"), "l\xC3\xA9");
    refused = compare(stored("\xFF\xFE", "text/plain"), "{\"expected_text\":\"x\",\"value_text\":\"y\"}");
    ck_assert_pstr_eq(answer_text(refused, "current_base64"), "//4=");
    refused = compare(stored("ab", "image/png"), "{\"expected_base64\":\"eA==\",\"value_text\":\"y\"}");
    ck_assert_pstr_eq(answer_text(refused, "current_base64"), "YWI=");
}
END_TEST

START_TEST(compare_and_set_of_an_absent_entry)
{
    const char *bucket = api_bucket();
    for (int declared = 0; declared < 2; declared++) {
        struct answer *answer = compare(api_entry(bucket, "k"), "{\"expected\":null,\"value\":1}");
        ck_body(answer, BODY("{\"swapped\":false,\"version\":null,\"current\":null}\n"));
        ck_header(answer, "ETag", NULL);
        ck_header(answer, "Holdfast-Position", NULL);
        ck_status(GET(TEXT("/v1/buckets/%s", bucket)), declared ? 200 : 404);
        ck_status(DECLARE(bucket, "{}"), declared ? 200 : 201);
    }
    ck_status(GET(api_entry(bucket, "k")), 404);
}
END_TEST

START_TEST(json_is_compared_by_value)
{
    static const struct {
        const char *stored, *expected;
        bool equal;
    } rows[] = {
        {"{\"a\":1,\"b\":[true,null]}", " { \"b\" : [ true , null ] , \"a\" : 1 } ", true},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"[1,2]", "[2,1]", false},
        {"1", "1.0", true},
        {"1", "1e0", true},
        {"100", "1E+2", true},
        {"-0", "0", true},
        {"0.1", "0.10", true},
        {"0.1", "0.1000000000000000055511151231257827", false},
        {"0.1", "0.1000000000000001", false},
        {"9007199254740993", "9007199254740992", false},
        {"9007199254740993", "9007199254740993", true},
        {"9007199254740993.0", "9007199254740992", false},
        {"9007199254740993.0", "9007199254740993", true},
        {"1e-400", "0", false},
        {"1e-400", "0.1e-399", true},
        {"1", "10e-1", true},
        {"-0.0", "0", true},
        {"12345678901234567890", "12345678901234567891", false},
        {"12345678901234567890", "12345678901234567890", true},
        {"1e400", "1e400", true},
        {"1e400", "1e401", false},
        {"\"\\u0061\\/\"", "\"a/\"", true},
        {"\"\xC3\xA9\"", "\"\\u00e9\"", true},
        {"\"e\xCC\x81\"", "\"\xC3\xA9\"", false},
        {"\"\\ud83d\\ude00\"", "\"\xF0\x9F\x98\x80\"", true},
        {"\"a\\u0000b\"", "\"a\\u0000b\"", true},
        {"\"a\\u0000b\"", "\"a\\u0000c\"", false},
        {"\"\\ud800\"", "\"\\uD800\"", true},
        {"\"\\ud800\"", "\"\\ud801\"", false},
        {"{\"x\\u0000a\":1}", "{\"x\\u0000b\":1}", false},
        {"{\"x\\u0000a\":1}", "{\"x\\u0000a\":1.0}", true},
        {"null", "null", true},
        {"null", "0", false},
        {"\"null\"", "null", false},
        {"null", "false", false},
        {"0", "false", false},
        {"\"1\"", "1", false},
        {"{}", "[]", false},
        {"\"a\"", "\"A\"", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *path = stored(rows[i].stored, "application/json");
        struct answer *answer = compare(path, TEXT("{\"expected\":%s,\"value\":\"new\"}", rows[i].expected));
        if (swapped(answer) != rows[i].equal)
            ck_abort_msg("%s against %s: %s", rows[i].stored, rows[i].expected, answer_describe(answer));
        ck_body(GET(path), bytes_of(rows[i].equal ? "\"new\"" : rows[i].stored));
    }
}
END_TEST

START_TEST(other_values_are_compared_by_their_bytes)
{
    static const struct {
        const char *stored, *expected;
        bool equal;
    } rows[] = {
        {"abc", "\"expected_text\":\"abc\"", true},
        {"abc", "\"expected_base64\":\"YWJj\"", true},
        {"abc", "\"expected_text\":\"ab\"", false},
        {"abc", "\"expected_text\":\"abc \"", false},
        {"", "\"expected_text\":\"\"", true},
        {"", "\"expected_base64\":\"\"", true},
        {"\xFF\xFE", "\"expected_base64\":\"//4=\"", true},
        {"1.0", "\"expected_text\":\"1\"", false}, // as text it is not JSON
        {"1.0", "\"expected_text\":\"1.0\"", true},
        {"not json", "\"expected\":\"not json\"", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *path = stored(rows[i].stored, "application/octet-stream");
        struct answer *answer = compare(path, TEXT("{%s,\"value_base64\":\"/w==\"}", rows[i].expected));
        if (swapped(answer) != rows[i].equal)
            ck_abort_msg("%s against %s: %s", rows[i].stored, rows[i].expected, answer_describe(answer));
        ck_body(GET(path), bytes_of(rows[i].equal ? "\xFF" : rows[i].stored));
    }
}
END_TEST

// JSON-1 and JSON-2: what is stored is the text of the request, not what a parser made of it.
START_TEST(new_value_is_stored_as_it_was_written)
{
    static const char *const values[] = {
        "17000000000000000000",
        "[17000000000000000000,0.10,1e2,-0,1e400]",
        "{\"a\\u0000b\":1,\"a\\u0000c\":2,\"s\":\"x\\u0000y\",\"h\":\"\\ud800\"}",
        "{ \"b\" : 1.0,\n\t\"a\":-0.0 }",
        "\"\\u00e9\\/\"",
    };
    const char *path = api_entry(bucket_of_type("json"), "k");
    ck_status(PUT(path, BODY("0")), 201);
    const char *before = "0";
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        ck_assert(swapped(compare(path, TEXT("{\"expected\":%s,\"value\":%s}", before, values[i]))));
        ck_body(GET(path), bytes_of(values[i]));
        before = values[i];
    }
}
END_TEST

START_TEST(new_value_has_the_content_type_of_its_form)
{
    static const struct {
        const char *before, *value, *after;
    } rows[] = {
        {"application/geo+json", "\"value\":1", "application/geo+json"},
        {"text/plain", "\"value\":1", "application/json"},
        {"text/html", "\"value_text\":\"x\"", "text/html"},
        {"application/json", "\"value_text\":\"x\"", "text/plain; charset=utf-8"},
        {"image/png", "\"value_base64\":\"\"", "image/png"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *path = stored("7", rows[i].before);
        ck_assert(swapped(compare(path, TEXT("{\"expected\":7,%s}", rows[i].value))));
        ck_header(GET(path), "Content-Type", rows[i].after);
    }
}
END_TEST

START_TEST(compare_and_set_in_typed_buckets)
{
    const char *path = api_entry(bucket_of_type("int"), "k");
    ck_status(PUT(path, BODY("5")), 201);
    struct answer *refused = compare(path, "{\"expected\":4,\"value\":6}");
    ck_assert(!swapped(refused));
    ck_assert_int_eq(json_integer_value(json_object_get(refused->json, "current")), 5);
    ck_assert(swapped(compare(path, "{\"expected\":5,\"value\":6}")));
    ck_body(GET(path), BODY("6"));
    ck_problem(compare(path, "{\"expected\":6,\"value\":7.0}"), 422, "type_mismatch");
    ck_problem(compare(path, "{\"expected\":6,\"value_text\":\"x\"}"), 422, "type_mismatch");
    ck_body(GET(path), BODY("6"));
    const char *bucket = api_bucket();
    path = api_entry(bucket, "k");
    ck_status(DECLARE(bucket, "{\"max_value_bytes\":3}"), 201);
    ck_status(PUT(path, BODY("abc")), 201);
    ck_problem(compare(path, "{\"expected_text\":\"abc\",\"value_text\":\"abcd\"}"), 413, "too_large");
    ck_body(GET(path), BODY("abc"));
}
END_TEST

START_TEST(compare_and_set_wants_one_of_each)
{
    const char *path = stored("5", "application/json");
    static const char *const rows[][2] = {
        {"{}", "expected"},
        {"{\"expected\":5}", "value"},
        {"{\"value\":5}", "expected"},
        {"{\"expected\":5,\"expected_text\":\"5\",\"value\":6}", "expected"},
        {"{\"expected_base64\":\"NQ==\",\"expected_text\":\"5\",\"value\":6}", "expected"},
        {"{\"expected\":5,\"value\":6,\"value_text\":\"6\"}", "value"},
        {"{\"expected_text\":5,\"value\":6}", "expected_text"},
        {"{\"expected_text\":null,\"value\":6}", "expected_text"},
        {"{\"expected\":5,\"value_text\":[]}", "value_text"},
        {"{\"expected_base64\":\"%\",\"value\":6}", "expected_base64"},
        {"{\"expected_base64\":\"NQ\",\"value\":6}", "expected_base64"},
        {"{\"expected\":5,\"value_base64\":\"====\"}", "value_base64"},
        {"{\"expected\":5,\"value\":6,\"ttl\":\"1h\"}", "ttl"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_invalid(compare(path, rows[i][0]), rows[i][1]);
    ck_body(GET(path), BODY("5"));
}
END_TEST

// --- races
// ------------------------------------------------------------------------------------------------

enum { COUNTERS = 8, COUNTS = 20 };

struct counting {
    const char *path;
    atomic_int wrong;
};

static void count_up(size_t index, void *user)
{
    struct counting *counting = user;
    struct http_client *client = http_client_new(replica_url(index));
    long long current = 0;
    for (int done = 0; done < COUNTS;) {
        const char *body = http_text(client, "{\"expected\":%lld,\"value\":%lld}", current, current + 1);
        struct answer *answer = http(client, "POST", counting->path, bytes_of(body));
        json_t *now = json_object_get(answer->json, "current");
        if (answer->status != 200 || !json_is_integer(now)) {
            atomic_fetch_add(&counting->wrong, 1);
            break;
        }
        done += json_is_true(json_object_get(answer->json, "swapped"));
        current = json_integer_value(now);
    }
    http_client_free(client);
}

START_TEST(compare_and_set_counters_lose_nothing)
{
    const char *path = stored("0", "application/json");
    struct counting counting = {.path = TEXT("%s/compare-and-set", path)};
    parallel_run(COUNTERS, count_up, &counting);
    ck_assert_int_eq(counting.wrong, 0);
    ck_body(GET(path), bytes_of(TEXT("%d", COUNTERS * COUNTS)));
}
END_TEST

Suite *compare_and_set_suite(void)
{
    const TTest *const tests[] = {
        compare_and_set_writes_when_equal,
        compare_and_set_tells_the_current_value_when_not,
        compare_and_set_of_an_absent_entry,
        json_is_compared_by_value,
        other_values_are_compared_by_their_bytes,
        new_value_is_stored_as_it_was_written,
        new_value_has_the_content_type_of_its_form,
        compare_and_set_in_typed_buckets,
        compare_and_set_wants_one_of_each,
        compare_and_set_counters_lose_nothing,
        NULL,
    };
    return api_suite_of_two("compare_and_set", tests);
}
