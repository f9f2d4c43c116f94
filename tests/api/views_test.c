// Views: entries of any buckets as they were together, with what a later check takes.
#include "entry_steps.h"

#include <stdio.h>

static struct answer *view(const char *body)
{
    return POST("/v1/views", bytes_of(body));
}

START_TEST(view_shows_entries_of_many_buckets)
{
    database_stop_clock(&api.database, START);
    const char *a = bucket_of_type("any");
    const char *b = bucket_of_type("int");
    struct answer *first = PUT(TEXT("%s?under=t&ttl=1h", api_entry(a, "k")), BODY("{\"n\":1.0}"),
                               "Content-Type: application/json");
    struct answer *second = PUT(api_entry(b, "k"), BODY("42"));
    struct answer *answer = view(TEXT(
        "{\"reads\":[{\"bucket\":\"%s\",\"key\":\"k\"},{\"bucket\":\"%s\",\"key\":\"k\",\"under\":[\"t\"]},"
        "{\"bucket\":\"%s\",\"key\":\"k\"},{\"bucket\":\"%s\",\"key_base64\":\"aw==\"}]}",
        b, a, a, b));
    const char *int_entry =
        TEXT("{\"bucket\":\"%s\",\"key\":\"k\",\"under\":[],\"version\":\"%s\",\"expires_at\":null,"
             "\"content_type\":\"application/octet-stream\",\"size\":2,\"value\":42}",
             b, answer_version(second));
    ck_status(answer, 200);
    const char *position = answer_text(answer, "position");
    ck_body(answer, bytes_of(TEXT(
                        "{\"position\":\"%s\",\"entries\":[%s,{\"bucket\":\"%s\",\"key\":\"k\",\"under\":"
                        "[\"t\"],\"version\":\"%s\",\"expires_at\":\"2030-01-01T01:00:00.000000Z\","
                        "\"content_type\":\"application/json\",\"size\":9,\"value\":{\"n\":1.0}},null,%s]}\n",
                        position, int_entry, a, answer_version(first), int_entry)));
    // Nothing that was seen lies beyond the position.
    ck_assert_int_ge(atoll(position), atoll(answer_need(second, "Holdfast-Position")));
    ck_body(
        view(TEXT("{\"reads\":[{\"bucket\":\"%s\",\"key\":\"k\"}]}", api_bucket())),
        bytes_of(TEXT("{\"position\":\"%s\",\"entries\":[null]}\n",
                      answer_text(view(TEXT("{\"reads\":[{\"bucket\":\"%s\",\"key\":\"k\"}]}", api_bucket())),
                                  "position"))));
    database_stop_clock(&api.database, START + 3600 * SECOND);
    answer = view(TEXT("{\"reads\":[{\"bucket\":\"%s\",\"key\":\"k\",\"under\":[\"t\"]}]}", a));
    ck_reply(answer, json_is_null(json_array_get(entries_of(answer), 0)));
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(view_of_large_values_is_bounded)
{
    const char *bucket = bucket_of_type("any");
    size_t large = 8 << 20;
    char *bytes = calloc(1, large);
    ck_status(PUT(api_entry(bucket, "l1"), bytes_make(bytes, large)), 201);
    ck_status(PUT(api_entry(bucket, "l2"), bytes_make(bytes, large)), 201);
    ck_status(PUT(api_entry(bucket, "s"), BODY("x")), 201);
    free(bytes);
    json_t *entries =
        entries_of(view(TEXT("{\"reads\":[{\"bucket\":\"%s\",\"key\":\"l1\"},{\"bucket\":\"%s\",\"key\":"
                             "\"none\"},{\"bucket\":\"%s\",\"key\":\"l2\"}]}",
                             bucket, bucket, bucket)));
    for (size_t i = 0; i < 3; i += 2)
        ck_assert_uint_eq(json_string_length(json_object_get(json_array_get(entries, i), "base64")),
                          (large + 2) / 3 * 4);
    ck_over_limit(
        view(TEXT("{\"reads\":[{\"bucket\":\"%s\",\"key\":\"l1\"},{\"bucket\":\"%s\",\"key\":\"s\"},"
                  "{\"bucket\":\"%s\",\"key\":\"l2\"}]}",
                  bucket, bucket, bucket)),
        413, "too_large", 16 << 20);
}
END_TEST

// The text of a request for `count` entries, each of a bucket of its own; to be freed.
static char *reads_of(int count)
{
    char *body;
    size_t size;
    FILE *out = open_memstream(&body, &size);
    fputs("{\"reads\":[", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s{\"bucket\":\"view-of-many-%d\",\"key\":\"%d\"}", i ? "," : "", i, i);
    fputs("]}", out);
    fclose(out);
    return body;
}

START_TEST(view_of_a_thousand_buckets)
{
    char *body = reads_of(1000);
    ck_status(PUT("/v1/buckets/view-of-many-999/entries/999", BODY("last")), 201);
    struct answer *answer = view(body);
    ck_reply(answer, json_array_size(entries_of(answer)) == 1000);
    ck_assert_pstr_eq(entry_text(json_array_get(entries_of(answer), 999), "base64"), "bGFzdA==");
    free(body);
    body = reads_of(1001);
    ck_over_limit(view(body), 413, "too_large", 1000);
    free(body);
}
END_TEST

START_TEST(view_refuses_what_is_no_list_of_reads)
{
    static const char *const rows[][2] = {
        {"{}", "reads"},
        {"{\"reads\":[]}", "reads"},
        {"{\"reads\":{}}", "reads"},
        {"{\"reads\":[5]}", "reads"},
        {"{\"reads\":[[]]}", "reads"},
        {"{\"reads\":[{\"key\":\"k\"}]}", "bucket"},
        {"{\"reads\":[{\"bucket\":\"\",\"key\":\"k\"}]}", "bucket"},
        {"{\"reads\":[{\"bucket\":5,\"key\":\"k\"}]}", "bucket"},
        {"{\"reads\":[{\"bucket\":\"b\"}]}", "key"},
        {"{\"reads\":[{\"bucket\":\"b\",\"key\":\"\"}]}", "key"},
        {"{\"reads\":[{\"bucket\":\"b\",\"key\":\"k\",\"key_base64\":\"aw==\"}]}", "key"},
        {"{\"reads\":[{\"bucket\":\"b\",\"key_base64\":\"%\"}]}", "key_base64"},
        {"{\"reads\":[{\"bucket\":\"b\",\"key\":\"k\",\"under\":\"x\"}]}", "under"},
        {"{\"reads\":[{\"bucket\":\"b\",\"key\":\"k\",\"under\":[\"\"]}]}", "under"},
        {"{\"reads\":[{\"bucket\":\"b\",\"key\":\"k\",\"version\":\"1\"}]}", "version"},
        {"{\"reads\":[{\"bucket\":\"b\",\"key\":\"k\"}],\"at\":1}", "at"},
        {"[]", "body"},
        {"", "body"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_invalid(view(rows[i][0]), rows[i][1]);
    struct answer *answer = view("{\"reads\":[{\"bucket\":\"b\",\"key\":\"k\"},{\"bucket\":\"b\"}]}");
    ck_invalid(answer, "key");
    ck_assert_pstr_eq(answer_text(answer, "in"), "reads");
    ck_reply(answer, json_integer_value(json_object_get(answer->json, "index")) == 1);
    PGconn *connection = database_connect(&api.database);
    const char *other = api_bucket();
    declare_other_kind(connection, other);
    answer =
        view(TEXT("{\"reads\":[{\"bucket\":\"b\",\"key\":\"k\"},{\"bucket\":\"%s\",\"key\":\"k\"}]}", other));
    ck_problem(answer, 409, "kind_mismatch");
    ck_reply(answer, json_integer_value(json_object_get(answer->json, "index")) == 1);
    PQfinish(connection);
}
END_TEST

Suite *views_suite(void)
{
    const TTest *const tests[] = {
        view_shows_entries_of_many_buckets,
        view_of_large_values_is_bounded,
        view_of_a_thousand_buckets,
        view_refuses_what_is_no_list_of_reads,
        NULL,
    };
    return api_suite("views", NULL, tests);
}
