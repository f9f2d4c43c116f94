// Encrypted buckets: every way to write and read them, and that nothing of their values is in the database.
#include "fork_steps.h"
#include "sealed_steps.h"
#include "wait_steps.h"

#include <string.h>

static PGconn *connection(void)
{
    return database_connect(&api.database);
}

static void expect_nothing_plain(void)
{
    PGconn *db = connection();
    ck_assert(!database_contains(db, SECRET));
    PQfinish(db);
}

// --- single entries
// -----------------------------------------------------------------------------------------------

START_TEST(values_and_metadata_come_back)
{
    const char *path = api_entry(sealed_bucket("any"), "k");
    struct answer *put =
        PUT(path, BODY("a\0b " SECRET), "Content-Type: text/own", "Holdfast-Meta-Note: " SECRET);
    ck_status(put, 201);
    struct answer *got = GET(path);
    ck_body(got, BODY("a\0b " SECRET));
    ck_header(got, "ETag", tag_of(put));
    ck_header(got, "Content-Type", "text/own");
    ck_header(got, "Holdfast-Meta-Note", SECRET);
    struct answer *head = HEAD(path);
    ck_status(head, 200);
    ck_header(head, "Content-Length", TEXT("%zu", sizeof "a b " SECRET - 1));
    ck_header(head, "Holdfast-Meta-Note", SECRET);
    ck_status(GET(path, TEXT("If-None-Match: %s", tag_of(put))), 304);
    ck_status(PUT(path, BODY(""), "Content-Type: a/b"), 204);
    ck_body(GET(path), BODY(""));
    ck_header(GET(path), "Content-Type", "a/b");
    ck_status(PUT(path, BODY("x")), 204);
    ck_header(GET(path), "Content-Type", "application/octet-stream");
    expect_nothing_plain();
}
END_TEST

START_TEST(preconditions_and_expiry)
{
    const char *path = api_entry(sealed_bucket("any"), "k");
    struct answer *put = PUT(TEXT("%s?ttl=1h", path), BODY("1"), "If-None-Match: *");
    ck_status(put, 201);
    answer_need(put, "Holdfast-Expires-At");
    expect_conflict(PUT(path, BODY("2"), "If-None-Match: *"), tag_of(put));
    expect_conflict(PUT(path, BODY("2"), "If-Match: \"1\""), tag_of(put));
    struct answer *second = PUT(path, BODY("2"), if_match_of(put));
    ck_status(second, 204);
    ck_header(GET(path), "Holdfast-Expires-At", answer_need(put, "Holdfast-Expires-At"));
    ck_status(PUT(TEXT("%s/expiry", path), BODY("{\"ttl\":\"2h\"}"), "Content-Type: application/json"), 204);
    ck_body(GET(path), BODY("2"));
    ck_header(GET(path), "ETag", tag_of(second));
    ck_status(DELETE(path, if_match_of(second)), 204);
    ck_problem(GET(path), 404, "not_found");
}
END_TEST

START_TEST(large_values)
{
    const char *path = api_entry(sealed_bucket("any"), "k");
    size_t sizes[] = {65487, 65536, 65537, 1 << 20, 8 << 20};
    char *value = malloc(8 << 20);
    for (size_t i = 0; i < 8 << 20; i++)
        value[i] = (char)(i * 7);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ck_status(PUT(path, bytes_make(value, sizes[i])), i ? 204 : 201);
        ck_body(GET(path), bytes_make(value, sizes[i]));
        ck_header(HEAD(path), "Content-Length", TEXT("%zu", sizes[i]));
    }
    ck_body(http(api.client, "POST", TEXT("%s/take", path), NO_BODY), bytes_make(value, 8 << 20));
    ck_status(GET(path), 404);
    free(value);
}
END_TEST

START_TEST(types_and_sizes_are_checked)
{
    const char *bucket = sealed_bucket("int");
    ck_problem(PUT(api_entry(bucket, "k"), BODY("x")), 422, "type_mismatch");
    ck_status(PUT(api_entry(bucket, "k"), BODY("7")), 201);
    ck_problem(PUT(api_entry(bucket, "k"), BODY("x")), 422, "type_mismatch");
    const char *small = api_bucket();
    ck_status(DECLARE(small, "{\"encrypted\":true,\"max_value_bytes\":4}"), 201);
    ck_over_limit(PUT(api_entry(small, "k"), BODY("12345")), 413, "too_large", 4);
    ck_status(PUT(api_entry(small, "k"), BODY("1234")), 201);
    ck_over_limit(PUT(api_entry(small, "k"), BODY("12345")), 413, "too_large", 4);
    ck_body(GET(api_entry(small, "k")), BODY("1234"));
}
END_TEST

START_TEST(equal_values_are_stored_differently)
{
    const char *bucket = sealed_bucket("any");
    PGconn *db = connection();
    ck_status(PUT(api_entry(bucket, "a"), BODY("same")), 201);
    ck_status(PUT(api_entry(bucket, "b"), BODY("same")), 201);
    ck_assert_int_eq(
        sql_number(db,
                   "select count(distinct e.value) from holdfast.entries e join holdfast.buckets b "
                   "on b.id = e.bucket_id where b.name = '%s'",
                   bucket),
        2);
    PQfinish(db);
}
END_TEST

// --- operations
// ---------------------------------------------------------------------------------------------------

START_TEST(rewrites)
{
    const char *path = api_entry(sealed_bucket("json"), "k");
    ck_status(PUT(path, BODY("{\"a\":\"" SECRET "\"}"), "Holdfast-Meta-Note: n"), 201);
    struct answer *patched = PATCH(path, BODY("{\"b\":2}"), "Prefer: return=representation");
    ck_body(patched, BODY("{\"a\":\"" SECRET "\",\"b\":2}"));
    ck_header(GET(path), "Holdfast-Meta-Note", "n");
    struct answer *swapped =
        POST(TEXT("%s/compare-and-set", path),
             BODY("{\"expected\":{\"b\":2,\"a\":\"" SECRET "\"},\"value\":{\"c\":\"" SECRET "\"}}"),
             "Content-Type: application/json");
    ck_status(swapped, 200);
    ck_assert(json_is_true(json_object_get(swapped->json, "swapped")));
    ck_status(POST(TEXT("%s/upsert", path), BODY("{\"insert\":{},\"update\":{\"increment\":{\"n\":3}}}"),
                   "Content-Type: application/json"),
              200);
    struct answer *before = POST(TEXT("%s/exchange", path), BODY("[\"" SECRET "\"]"));
    ck_body(before, BODY("{\"c\":\"" SECRET "\",\"n\":3}"));
    ck_body(GET(path), BODY("[\"" SECRET "\"]"));
    struct answer *taken = POST(TEXT("%s/take", path), NO_BODY);
    ck_body(taken, BODY("[\"" SECRET "\"]"));
    ck_status(POST(TEXT("%s/take", path), NO_BODY), 404);
    expect_nothing_plain();
}
END_TEST

static void expect_sum(const struct answer *answer, const char *sum)
{
    ck_status(answer, 200);
    char *written = json_dumps(json_object_get(answer->json, "value"), JSON_ENCODE_ANY);
    ck_assert_str_eq(written, sum);
    free(written);
}

START_TEST(adds)
{
    const char *add = TEXT("%s/add", api_entry(sealed_bucket("int"), "k"));
    const char *json = "Content-Type: application/json";
    struct answer *first = POST(add, BODY("{\"by\":10,\"ttl\":\"1h\"}"), json);
    expect_sum(first, "10");
    answer_need(first, "Holdfast-Expires-At");
    struct answer *second = POST(add, BODY("{\"by\":-3,\"ttl\":\"5h\"}"), json);
    expect_sum(second, "7");
    ck_header(second, "Holdfast-Expires-At", answer_need(first, "Holdfast-Expires-At"));
    ck_problem(POST(add, BODY("{\"by\":0.5}"), json), 422, "type_mismatch");
    ck_problem(POST(add, BODY("{\"by\":9223372036854775807}"), json), 422, "overflow");
    expect_conflict(POST(add, BODY("{}"), json, "If-Match: \"1\""), tag_of(second));
    const char *real = api_entry(sealed_bucket("any"), "k");
    ck_status(PUT(real, BODY("1.5")), 201);
    expect_sum(POST(TEXT("%s/add", real), BODY("{\"by\":0.25}"), json), "1.75");
    ck_status(PUT(real, BODY("none")), 204);
    ck_problem(POST(TEXT("%s/add", real), BODY("{}"), json), 422, "type_mismatch");
}
END_TEST

START_TEST(copies_and_moves_are_sealed_anew)
{
    const char *sealed = sealed_bucket("any"), *other = sealed_bucket("any"), *plain = api_bucket();
    const char *json = "Content-Type: application/json";
    const char *from = api_entry(sealed, "k");
    ck_status(PUT(TEXT("%s?ttl=1h", from), BODY("1 " SECRET), "Content-Type: a/b", "Holdfast-Meta-Note: n"),
              201);
    const char *body = TEXT("{\"to_bucket\":\"%s\",\"to_under\":[\"o\"],\"to_key\":\"x\"}", other);
    struct answer *copied = POST(TEXT("%s/copy", from), bytes_of(body), json);
    ck_status(copied, 200);
    struct answer *got = GET(TEXT("%s?under=o", api_entry(other, "x")));
    ck_body(got, BODY("1 " SECRET));
    ck_header(got, "Content-Type", "a/b");
    ck_header(got, "Holdfast-Meta-Note", "n");
    ck_header(got, "ETag", tag_of(copied));
    ck_header(got, "Holdfast-Expires-At", answer_need(GET(from), "Holdfast-Expires-At"));
    ck_status(POST(TEXT("%s/move", from), BODY("{\"to_key\":\"y\"}"), json), 200);
    ck_status(GET(from), 404);
    ck_body(GET(api_entry(sealed, "y")), BODY("1 " SECRET));
    expect_nothing_plain();
    // Out of the bucket it is not sealed any more, and into one it is.
    body = TEXT("{\"to_bucket\":\"%s\"}", plain);
    ck_status(POST(TEXT("%s/copy", api_entry(sealed, "y")), bytes_of(body), json), 200);
    ck_body(GET(api_entry(plain, "y")), BODY("1 " SECRET));
    PGconn *db = connection();
    ck_assert(database_contains(db, SECRET));
    body = TEXT("{\"to_bucket\":\"%s\"}", sealed);
    ck_status(POST(TEXT("%s/move", api_entry(plain, "y")), bytes_of(body), json), 200);
    ck_body(GET(api_entry(sealed, "y")), BODY("1 " SECRET));
    ck_assert(!database_contains(db, SECRET));
    PQfinish(db);
}
END_TEST

// --- many entries
// -------------------------------------------------------------------------------------------------

START_TEST(lists_batches_and_views)
{
    const char *bucket = sealed_bucket("json");
    ck_status(PUT(api_entry(bucket, "a"), BODY("[1]")), 201);
    ck_status(PUT(api_entry(bucket, "b"), BODY("\"" SECRET "\""), "Content-Type: application/json"), 201);
    struct answer *list = GET(TEXT("/v1/buckets/%s/entries", bucket));
    expect_keys(list, "a b");
    json_t *second = json_array_get(entries_of(list), 1);
    ck_assert_str_eq(entry_text(second, "value"), SECRET);
    ck_assert_int_eq(json_integer_value(json_object_get(second, "size")), sizeof SECRET - 1 + 2);
    ck_assert_str_eq(entry_text(second, "content_type"), "application/json");
    list = GET(TEXT("/v1/buckets/%s/entries?values=false", bucket));
    second = json_array_get(entries_of(list), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(second, "size")), sizeof SECRET - 1 + 2);
    ck_assert_str_eq(entry_text(second, "content_type"), "application/json");
    struct answer *batch = POST(TEXT("/v1/buckets/%s/batch-get", bucket), BODY("{\"keys\":[\"b\",\"none\"]}"),
                                "Content-Type: application/json");
    ck_assert_str_eq(entry_text(json_array_get(entries_of(batch), 0), "value"), SECRET);
    const char *reads = TEXT("{\"reads\":[{\"bucket\":\"%s\",\"key\":\"b\"}]}", bucket);
    struct answer *view = POST("/v1/views", bytes_of(reads), "Content-Type: application/json");
    ck_assert_str_eq(entry_text(json_array_get(entries_of(view), 0), "value"), SECRET);
}
END_TEST

static struct answer *transact(const char *body)
{
    return POST("/v1/transactions", bytes_of(body), "Content-Type: application/json");
}

static json_t *result_of(const struct answer *answer, size_t i)
{
    return json_array_get(json_object_get(answer->json, "results"), i);
}

START_TEST(transactions_over_sealed_and_plain)
{
    const char *s = sealed_bucket("json"), *n = sealed_bucket("int"), *p = api_bucket();
    struct answer *done = transact(TEXT(
        "{\"operations\":[{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"k\",\"value\":{\"a\":\"" SECRET "\"}},"
        "{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"k\",\"text\":\"plain\"},"
        "{\"op\":\"add\",\"bucket\":\"%s\",\"key\":\"n\",\"by\":5,\"ttl\":\"1h\"}]}",
        s, p, n));
    ck_status(done, 200);
    ck_assert_int_eq(json_integer_value(json_object_get(result_of(done, 2), "value")), 5);
    ck_body(GET(api_entry(s, "k")), BODY("{\"a\":\"" SECRET "\"}"));
    ck_body(GET(api_entry(p, "k")), BODY("plain"));
    struct answer *count = GET(api_entry(n, "n"));
    ck_body(count, BODY("5"));
    done = transact(
        TEXT("{\"operations\":[{\"op\":\"patch\",\"bucket\":\"%s\",\"key\":\"k\",\"value\":{\"b\":1}},"
             "{\"op\":\"add\",\"bucket\":\"%s\",\"key\":\"n\",\"by\":2,\"ttl\":\"9h\"},"
             "{\"op\":\"add\",\"bucket\":\"%s\",\"key\":\"n\",\"by\":3},"
             "{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"t\",\"value\":[\"" SECRET "\"]},"
             "{\"op\":\"take\",\"bucket\":\"%s\",\"key\":\"t\"}]}",
             s, n, n, s, s));
    ck_status(done, 200);
    ck_assert_int_eq(json_integer_value(json_object_get(result_of(done, 1), "value")), 7);
    ck_assert_int_eq(json_integer_value(json_object_get(result_of(done, 2), "value")), 10);
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(result_of(done, 4), "value"), 0)),
                     SECRET);
    ck_status(GET(api_entry(s, "t")), 404);
    ck_body(GET(api_entry(s, "k")), BODY("{\"a\":\"" SECRET "\",\"b\":1}"));
    ck_header(GET(api_entry(n, "n")), "Holdfast-Expires-At", answer_need(count, "Holdfast-Expires-At"));
    done = transact(TEXT("{\"operations\":[{\"op\":\"take\",\"bucket\":\"%s\",\"key\":\"k\"}]}", s));
    ck_status(done, 200);
    ck_assert_str_eq(json_string_value(json_object_get(json_object_get(result_of(done, 0), "value"), "a")),
                     SECRET);
    ck_status(GET(api_entry(s, "k")), 404);
    ck_problem(transact(TEXT(
                   "{\"operations\":[{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"k\",\"text\":\"x\"}]}", n)),
               422, "type_mismatch");
    ck_problem(transact(TEXT("{\"operations\":[{\"op\":\"add\",\"bucket\":\"%s\",\"key\":\"n\","
                             "\"by\":9223372036854775807}]}",
                             n)),
               422, "overflow");
    expect_nothing_plain();
}
END_TEST

static void start(void)
{
    api_start(sealed_flags());
}

Suite *sealed_suite(void)
{
    const TTest *const tests[] = {
        values_and_metadata_come_back,
        preconditions_and_expiry,
        large_values,
        types_and_sizes_are_checked,
        equal_values_are_stored_differently,
        rewrites,
        adds,
        copies_and_moves_are_sealed_anew,
        lists_batches_and_views,
        transactions_over_sealed_and_plain,
        NULL,
    };
    return api_suite_started("sealed", start, tests);
}
