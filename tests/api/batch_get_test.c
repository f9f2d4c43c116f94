// batch-get: many entries in the order asked, each whole or null.
#include "entry_steps.h"

static struct answer *batch(const char *bucket, const char *body)
{
    return POST(TEXT("/v1/buckets/%s/batch-get", bucket), bytes_of(body));
}

START_TEST(batch_get_answers_in_the_order_asked)
{
    database_stop_clock(&api.database, START);
    const char *bucket = api_bucket();
    const char *a = answer_version(PUT(TEXT("%s?ttl=1h", api_entry(bucket, "a")), BODY("{ \"n\":1.0}"),
                                       "Content-Type: application/json"));
    const char *b = answer_version(PUT(api_entry(bucket, "b"), BODY("x"), "Content-Type: text/plain"));
    const char *shown_b = TEXT("{\"key\":\"b\",\"under\":[],\"version\":\"%s\",\"expires_at\":null,"
                               "\"content_type\":\"text/plain\",\"size\":1,\"text\":\"x\"}",
                               b);
    ck_body(batch(bucket, "{\"keys\":[\"b\",\"none\",\"a\",\"b\"]}"),
            bytes_of(TEXT("{\"entries\":[%s,null,"
                          "{\"key\":\"a\",\"under\":[],\"version\":\"%s\",\"expires_at\":"
                          "\"2030-01-01T01:00:00.000000Z\",\"content_type\":\"application/"
                          "json\",\"size\":10,"
                          "\"value\":{ \"n\":1.0}},%s]}\n",
                          shown_b, a, shown_b)));
    ck_body(batch(bucket, "{\"keys\":[]}"), BODY("{\"entries\":[]}\n"));
    ck_body(batch(api_bucket(), "{\"keys\":[\"a\",\"b\"]}"), BODY("{\"entries\":[null,null]}\n"));
    database_stop_clock(&api.database, START + 3600 * SECOND);
    ck_body(batch(bucket, "{\"keys\":[\"a\"]}"), BODY("{\"entries\":[null]}\n"));
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(batch_get_of_keys_of_any_bytes)
{
    const char *bucket = api_bucket();
    ck_status(PUT(api_entry(bucket, "%FF%00?under=a&under=%FE"), BODY("in")), 201);
    ck_status(PUT(api_entry(bucket, "n%00l?under=a&under=%FE"), BODY("nul")), 201);
    ck_status(PUT(api_entry(bucket, "%FF%00"), BODY("out")), 201);
    struct answer *answer =
        batch(bucket, "{\"under\":[\"a\",{\"base64\":\"/g==\"}],\"keys\":["
                      "{\"key_base64\":\"/wA=\"},{\"key\":\"n\\u0000l\"},\"n\\u0000l\"]}");
    json_t *entries = entries_of(answer);
    ck_reply(answer, json_array_size(entries) == 3);
    ck_assert_pstr_eq(entry_text(json_array_get(entries, 0), "base64"), "aW4=");
    ck_assert_pstr_eq(entry_text(json_array_get(entries, 0), "key_base64"), "/wA=");
    ck_assert_pstr_eq(entry_text(json_array_get(entries, 1), "base64"), "bnVs");
    ck_assert_pstr_eq(entry_text(json_array_get(entries, 2), "base64"), "bnVs");
    ck_reply(answer,
             strstr((const char *)answer->body.data, "\"under\":[\"a\",{\"base64\":\"/g==\"}]") != NULL);
    answer = batch(bucket, "{\"keys\":[{\"key_base64\":\"/wA=\"}],\"under\":null}");
    ck_assert_pstr_eq(entry_text(json_array_get(entries_of(answer), 0), "base64"), "b3V0");
}
END_TEST

// An entry looks the same in every list.
START_TEST(batch_get_shows_what_a_scan_shows)
{
    static const struct {
        const char *type, *value, *content_type;
    } rows[] = {
        {"int", "-12", NULL},
        {"float", "1e2", NULL},
        {"bool", "true", NULL},
        {"json", "{\"a\": 1.0}", NULL},
        {"text", "x\xC3\xA9", NULL},
        {"bytes", "x", NULL},
        {"none", "", NULL},
        {"any", "5", NULL},
        {"any", "5", "application/json"},
        {"int", "5", "text/plain"},
        {"json", "[]", "text/plain"},
        {"text", "t", "image/png"},
        {"any", "\xFF", "text/plain"},
        {"any", "{", "application/json"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *bucket = bucket_of_type(rows[i].type);
        const char *type = rows[i].content_type ? rows[i].content_type : "application/octet-stream";
        ck_status(PUT(api_entry(bucket, "k"), bytes_of(rows[i].value), TEXT("Content-Type: %s", type)), 201);
        struct answer *list = GET(TEXT("/v1/buckets/%s/entries", bucket));
        struct answer *got = batch(bucket, "{\"keys\":[\"k\"]}");
        json_t *listed = json_array_get(entries_of(list), 0);
        if (!json_equal(listed, json_array_get(entries_of(got), 0)))
            ck_abort_msg("%s of %s: %s and %s", rows[i].value, rows[i].type, answer_describe(list),
                         answer_describe(got));
    }
}
END_TEST

START_TEST(batch_get_of_many_and_of_large_values)
{
    const char *bucket = bucket_of_type("any");
    PGconn *connection = database_connect(&api.database);
    insert_entries(connection, bucket, NULL, 1000);
    char *body = malloc(40000);
    int size = sprintf(body, "{\"keys\":[");
    for (int i = 1000; i > 0; i--)
        size += sprintf(body + size, "%s\"key-%06d\"", i < 1000 ? "," : "", i);
    strcpy(body + size, "]}");
    json_t *entries = entries_of(batch(bucket, body)), *entry;
    size_t n;
    json_array_foreach(entries, n, entry)
        ck_assert_pstr_eq(entry_text(entry, "key"), TEXT("key-%06d", 1000 - (int)n));
    ck_assert_uint_eq(n, 1000);
    strcpy(body + size, ",\"key\"]}");
    struct answer *refused = batch(bucket, body);
    ck_problem(refused, 413, "too_large");
    ck_assert_int_eq(json_integer_value(json_object_get(refused->json, "limit")), 1000);
    free(body);

    size_t large = 8 << 20;
    char *bytes = calloc(1, large);
    ck_status(PUT(api_entry(bucket, "l1"), bytes_make(bytes, large)), 201);
    ck_status(PUT(api_entry(bucket, "l2"), bytes_make(bytes, large)), 201);
    entries = entries_of(batch(bucket, "{\"keys\":[\"l1\",\"none\",\"l2\"]}"));
    for (size_t i = 0; i < 3; i += 2)
        ck_assert_uint_eq(json_string_length(json_object_get(json_array_get(entries, i), "base64")),
                          (large + 2) / 3 * 4);
    refused = batch(bucket, "{\"keys\":[\"l1\",\"l2\",\"key-000001\"]}");
    ck_assert_uint_eq(json_array_size(json_object_get(refused->json, "entries")), 0);
    ck_problem(refused, 413, "too_large");
    ck_assert_int_eq(json_integer_value(json_object_get(refused->json, "limit")), 16 << 20);
    free(bytes);
    PQfinish(connection);
}
END_TEST

START_TEST(batch_get_refuses_what_is_no_list_of_keys)
{
    const char *bucket = api_bucket();
    char long_key[1100];
    memset(long_key, 'x', sizeof long_key);
    const char *rows[][2] = {
        {"{}", "keys"},
        {"{\"keys\":null}", "keys"},
        {"{\"keys\":\"a\"}", "keys"},
        {"{\"keys\":{}}", "keys"},
        {"{\"keys\":[5]}", "keys"},
        {"{\"keys\":[null]}", "keys"},
        {"{\"keys\":[[\"a\"]]}", "keys"},
        {"{\"keys\":[{}]}", "key"},
        {"{\"keys\":[{\"key\":\"a\",\"key_base64\":\"YQ==\"}]}", "key"},
        {"{\"keys\":[{\"key_base64\":\"%\"}]}", "key_base64"},
        {"{\"keys\":[{\"key\":5}]}", "key"},
        {"{\"keys\":[\"\"]}", "key"},
        {"{\"keys\":[\"a\"],\"under\":\"x\"}", "under"},
        {"{\"keys\":[\"a\"],\"under\":[\"\"]}", "under"},
        {"{\"keys\":[\"a\"],\"limit\":1}", "limit"},
        {"{\"keys\":[\"a\"],\"keys\":[\"a\"]}", "body"},
        {"[\"a\"]", "body"},
        {"", "body"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_invalid(batch(bucket, rows[i][0]), rows[i][1]);
    struct answer *over = batch(bucket, TEXT("{\"keys\":[\"a\",\"%.1025s\"]}", long_key));
    ck_over_limit(over, 413, "too_large", 1024);
    ck_refused_for(over, "too_large", "key");
    ck_invalid(batch("a%0Ab", "{\"keys\":[]}"), "bucket");
    ck_invalid(POST(TEXT("/v1/buckets/%s/batch-get?under=a", bucket), BODY("{\"keys\":[]}")), "under");
    ck_invalid(POST(TEXT("/v1/buckets/%s/batch-get", bucket),
                    BODY("{\"keys\":[{\"key\":\"k\",\"under\":[\"b\"]}]}")),
               "under");
}
END_TEST

Suite *batch_get_suite(void)
{
    const TTest *const tests[] = {
        batch_get_answers_in_the_order_asked,      batch_get_of_keys_of_any_bytes,
        batch_get_shows_what_a_scan_shows,         batch_get_of_many_and_of_large_values,
        batch_get_refuses_what_is_no_list_of_keys, NULL,
    };
    return api_suite("batch_get", NULL, tests);
}
