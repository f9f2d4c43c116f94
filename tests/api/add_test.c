// add: exact sums, each caller its own, whatever else is added at the same moment.
#include "entry_steps.h"

#include "support/parallel.h"
#include "support/process.h"
#include "support/scratch.h"

#include <stdatomic.h>
#include <stdio.h>

static struct answer *add(const char *path, const char *body)
{
    return POST(TEXT("%s/add", path), bytes_of(body));
}

// The reply has this sum, and so has the entry.
static void expect_sum(const char *path, const char *body, const char *sum)
{
    struct answer *answer = add(path, body);
    ck_status(answer, 200);
    ck_body(answer, bytes_of(TEXT("{\"value\":%s,\"version\":\"%s\"}\n", sum, answer_version(answer))));
    struct answer *got = GET(path);
    ck_body(got, bytes_of(sum));
    ck_header(got, "ETag", tag_of(answer));
}

static void expect_refused(const char *path, const char *body, const char *kind)
{
    struct answer *before = GET(path);
    ck_problem(add(path, body), 422, kind);
    struct answer *after = GET(path);
    ck_assert_int_eq(after->status, before->status);
    if (before->status == 200) {
        ck_body(after, before->body);
        ck_header(after, "ETag", tag_of(before));
    }
}

START_TEST(add_counts_from_zero)
{
    const char *path = api_entry(api_bucket(), "k");
    expect_sum(path, "{\"by\":10}", "10");
    expect_sum(path, "{\"by\":-25}", "-15");
    expect_sum(path, "{\"by\":0}", "-15");
    expect_sum(path, "{}", "-14");
    expect_sum(path, "", "-13");
    struct answer *got = GET(path);
    ck_header(got, "Content-Type", "application/json");
    ck_header(got, "Holdfast-Expires-At", NULL);
}
END_TEST

START_TEST(add_keeps_content_type_and_metadata)
{
    const char *path = api_entry(bucket_of_type("int"), "k");
    ck_status(PUT(path, BODY("5"), "Content-Type: text/x-count", "Holdfast-Meta-A: b"), 201);
    expect_sum(path, "{\"by\":1}", "6");
    struct answer *got = GET(path);
    ck_header(got, "Content-Type", "text/x-count");
    ck_header(got, "Holdfast-Meta-A", "b");
}
END_TEST

START_TEST(add_takes_a_term_only_when_it_creates)
{
    database_stop_clock(&api.database, START);
    const char *path = api_entry(api_bucket(), "k");
    ck_header(add(path, "{\"by\":1,\"ttl\":\"1d\"}"), "Holdfast-Expires-At", "2030-01-02T00:00:00.000000Z");
    ck_header(add(path, "{\"by\":1,\"ttl\":\"1h\"}"), "Holdfast-Expires-At", "2030-01-02T00:00:00.000000Z");
    ck_header(GET(path), "Holdfast-Expires-At", "2030-01-02T00:00:00.000000Z");
    database_stop_clock(&api.database, START + 86400 * SECOND);
    struct answer *anew = add(path, "{\"by\":1,\"ttl\":\"1h\"}");
    ck_assert_int_eq(json_integer_value(json_object_get(anew->json, "value")), 1);
    ck_header(anew, "Holdfast-Expires-At", "2030-01-02T01:00:00.000000Z");
    const char *bucket = api_bucket();
    ck_status(DECLARE(bucket, "{\"ttl\":\"1m\"}"), 201);
    ck_header(add(api_entry(bucket, "a"), "{\"by\":1}"), "Holdfast-Expires-At",
              "2030-01-02T00:01:00.000000Z");
    ck_header(add(api_entry(bucket, "b"), "{\"by\":1,\"ttl\":\"1s\"}"), "Holdfast-Expires-At",
              "2030-01-02T00:00:01.000000Z");
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(add_of_floats)
{
    const char *path = api_entry(bucket_of_type("float"), "k");
    expect_sum(path, "{\"by\":0.1}", "0.1");
    expect_sum(path, "{\"by\":0.2}", "0.30000000000000004");
    expect_sum(path, "{\"by\":-0.30000000000000004}", "0");
    expect_sum(path, "{\"by\":1}", "1");
    expect_sum(path, "{\"by\":1e21}", "1e+21");
    ck_status(PUT(path, BODY("1.50")), 204);
    expect_sum(path, "{}", "2.5");
    ck_status(PUT(path, BODY("5e-324")), 204);
    ck_status(add(path, "{\"by\":1}"), 200);
    // An integer and a float make a float where the bucket does not mind.
    path = api_entry(api_bucket(), "k");
    expect_sum(path, "{\"by\":2}", "2");
    expect_sum(path, "{\"by\":0.5}", "2.5");
    path = api_entry(bucket_of_type("json"), "k");
    ck_status(PUT(path, BODY("1.0")), 201);
    expect_sum(path, "{\"by\":1}", "2");
}
END_TEST

// JSON-1: what add makes is what a double reads back, however large or small.
START_TEST(add_of_floats_round_trips)
{
    static const double terms[][2] = {
        {1e308, 7e307}, {1e-300, 1e-301}, {123456789.125, 1e-7}, {1e16, 1},
        {0.1, 0.7},     {-2.5e-8, 1e-20}, {1e21, 123456.7},      {9007199254740992, 0.5}};
    const char *bucket = bucket_of_type("float");
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        const char *path = api_entry(bucket, TEXT("%zu", i));
        ck_status(add(path, TEXT("{\"by\":%.17g}", terms[i][0])), 200);
        struct answer *sum = add(path, TEXT("{\"by\":%.17g}", terms[i][1]));
        ck_status(sum, 200);
        ck_assert_double_eq(json_number_value(json_object_get(sum->json, "value")),
                            terms[i][0] + terms[i][1]);
        ck_assert_double_eq(strtod((const char *)GET(path)->body.data, NULL), terms[i][0] + terms[i][1]);
    }
}
END_TEST

START_TEST(add_that_overflows_is_refused)
{
    const char *path = api_entry(bucket_of_type("int"), "k");
    ck_status(PUT(path, BODY("9223372036854775807")), 201);
    expect_refused(path, "{\"by\":1}", "overflow");
    expect_refused(path, "{\"by\":9223372036854775807}", "overflow");
    expect_sum(path, "{\"by\":0}", "9223372036854775807");
    expect_sum(path, "{\"by\":-9223372036854775808}", "-1");
    ck_status(PUT(path, BODY("-9223372036854775808")), 204);
    expect_refused(path, "{\"by\":-1}", "overflow");
    expect_sum(path, "{\"by\":9223372036854775807}", "-1");
    expect_refused(path, "{\"by\":-9223372036854775808}", "overflow");
    const char *real = api_entry(bucket_of_type("float"), "k");
    ck_status(PUT(real, BODY("1.7976931348623157e308")), 201);
    expect_refused(real, "{\"by\":1.7976931348623157e308}", "overflow");
    expect_refused(real, "{\"by\":1e292}", "overflow");
    ck_status(add(real, "{\"by\":1}"),
              200); // lost in the rounding, as doubles have it
    ck_status(add(real, "{\"by\":-1.7976931348623157e308}"), 200);
    ck_body(GET(real), BODY("0"));
}
END_TEST

// JSON-1 (c)
START_TEST(summand_out_of_range_is_overflow)
{
    static const char *const large[] = {"18446744073709551615",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "1e999",
                                        "-1e999",
                                        "99999999999999999999999999999999"};
    static const char *const types[] = {"int", "float", "any"};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
        for (size_t j = 0; j < 3; j++) {
            const char *path = api_entry(bucket_of_type(types[j]), "k");
            expect_refused(path, TEXT("{\"by\":%s}", large[i]), "overflow");
            ck_status(add(path, "{\"by\":1}"), 200);
            expect_refused(path, TEXT("{\"by\":%s}", large[i]), "overflow");
        }
}
END_TEST

START_TEST(add_to_what_is_no_number_is_a_type_mismatch)
{
    static const char *const values[] = {
        "",   "x",    "007", "+1",       " 1",  "1 ",    "{}",  "\"1\"", "true", "null",          "0x10",
        "1e", "\xFF", "1\n", "Infinity", "NaN", "1e400", "[1]", "--1",   "1.",   "1e999999999999"};
    const char *bucket = api_bucket();
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const char *path = api_entry(bucket, TEXT("%zu", i));
        ck_status(PUT(path, bytes_of(values[i])), 201);
        expect_refused(path, "{\"by\":1}", "type_mismatch");
        expect_refused(path, "{\"by\":0.5}", "type_mismatch");
    }
    static const char *const types[] = {"text", "bool", "none", "bytes"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        expect_refused(api_entry(bucket_of_type(types[i]), "k"), "{\"by\":1}", "type_mismatch");
    const char *whole = api_entry(bucket_of_type("int"), "k");
    expect_refused(whole, "{\"by\":0.5}", "type_mismatch");
    expect_refused(whole, "{\"by\":1.0}", "type_mismatch");
    expect_sum(whole, "{\"by\":1}", "1");
    expect_refused(whole, "{\"by\":0.5}", "type_mismatch");
}
END_TEST

START_TEST(add_refuses_what_is_no_summand)
{
    const char *path = api_entry(api_bucket(), "k");
    static const char *const rows[][2] = {
        {"{\"by\":\"1\"}", "by"},
        {"{\"by\":null}", "by"},
        {"{\"by\":true}", "by"},
        {"{\"by\":[1]}", "by"},
        {"{\"by\":{}}", "by"},
        {"{\"by\":1,\"ttl\":0}", "ttl"},
        {"{\"by\":1,\"ttl\":\"0s\"}", "ttl"},
        {"{\"by\":1,\"ttl\":\"-1s\"}", "ttl"},
        {"{\"by\":1,\"ttl\":60}", "ttl"},
        {"{\"by\":1,\"ttl\":\"3651d\"}", "ttl"},
        {"{\"add\":1}", "add"},
        {"{\"by\":1,\"expires_at\":\"2099-01-01T00:00:00Z\"}", "expires_at"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_invalid(add(path, rows[i][0]), rows[i][1]);
    ck_status(GET(path), 404);
}
END_TEST

START_TEST(add_if_match_adds_to_that_version_only)
{
    const char *path = api_entry(api_bucket(), "k");
    const char *target = TEXT("%s/add", path);
    struct answer *first = POST(target, BODY("{}"), "If-None-Match: *");
    ck_status(first, 200);
    expect_conflict(POST(target, BODY("{}"), "If-None-Match: *"), tag_of(first));
    struct answer *second = POST(target, BODY("{}"), if_match_of(first));
    ck_status(second, 200);
    expect_conflict(POST(target, BODY("{}"), if_match_of(first)), tag_of(second));
    ck_body(GET(path), BODY("2"));
}
END_TEST

// JSON-1 (d): a locale with a decimal comma, compiled for the test since no machine has it by default.
START_TEST(add_under_a_locale_with_a_decimal_comma)
{
    char *folder = scratch_folder("locale");
    char *locale = scratch_printf("%s/de_DE.UTF-8", folder);
    struct process_options compile = {
        .arguments = (const char *const[]){"/usr/bin/localedef", "-i", "de_DE", "-f", "UTF-8", locale, NULL},
        .output = "/dev/null",
        .stdout_fd = -1,
    };
    if (process_run(&compile, 60 * 1000) != 0)
        fprintf(stderr, "localedef has no de_DE here: the service runs with its own locale\n");
    struct service *german = service_start(&(struct service_options){
        .database = api.database.url,
        .environment = (const char *const[]){"LC_ALL=de_DE.UTF-8", TEXT("LOCPATH=%s", folder),
                                             // the C library itself does not free what it made of LOCPATH
                                             "ASAN_OPTIONS=detect_leaks=0", NULL}});
    struct http_client *client = http_client_new(service_url(german));
    const char *path = api_entry(bucket_of_type("float"), "k");
    const char *target = TEXT("%s/add", path);
    struct answer *sum = http(client, "POST", target, BODY("{\"by\":0.5}"));
    ck_body(sum, bytes_of(TEXT("{\"value\":0.5,\"version\":\"%s\"}\n", answer_version(sum))));
    sum = http(client, "POST", target, BODY("{\"by\":1234567.25}"));
    ck_body(sum, bytes_of(TEXT("{\"value\":1234567.75,\"version\":\"%s\"}\n", answer_version(sum))));
    ck_body(GET(path), BODY("1234567.75"));
    const char *object = api_entry(api_bucket(), "o");
    static const char upsert[] = "{\"insert\":{\"n\":0.5},\"update\":{\"increment\":{\"n\":0.25}}}";
    ck_status(http(client, "POST", TEXT("%s/upsert", object), BODY(upsert)), 201);
    ck_status(http(client, "POST", TEXT("%s/upsert", object), BODY(upsert)), 200);
    ck_body(GET(object), BODY("{\"n\":0.75}"));
    http_client_free(client);
    service_end(german);
    free(locale);
    free(folder);
}
END_TEST

// --- races
// ------------------------------------------------------------------------------------------------

enum { ADDERS = 64, ADDS = 100, SUM = ADDERS * ADDS };

struct adding {
    const char *target;
    int64_t version[SUM + 1]; // of each sum, 0 where none had it
    atomic_int wrong;
};

static void add_ones(size_t index, void *user)
{
    struct adding *adding = user;
    struct http_client *client = http_client_new(replica_url(index));
    for (int i = 0; i < ADDS; i++) {
        struct answer *answer = http(client, "POST", adding->target, BODY("{\"by\":1}"));
        int64_t sum = json_integer_value(json_object_get(answer->json, "value"));
        if (answer->status != 200 || sum < 1 || sum > SUM || adding->version[sum] != 0)
            atomic_fetch_add(&adding->wrong, 1);
        else
            adding->version[sum] = strtoll(answer_version(answer), NULL, 10);
    }
    http_client_free(client);
}

// Every sum from 1 to the last was one caller's, and their versions are in the same order.
START_TEST(adds_of_one_key_are_exact)
{
    struct adding *adding = calloc(1, sizeof *adding);
    const char *path = api_entry(api_bucket(), "k");
    adding->target = TEXT("%s/add", path);
    parallel_run(ADDERS, add_ones, adding);
    ck_assert_int_eq(adding->wrong, 0);
    ck_body(GET(path), bytes_of(TEXT("%d", SUM)));
    for (int i = 1; i <= SUM; i++)
        ck_assert_int_gt(adding->version[i], adding->version[i - 1]);
    free(adding);
}
END_TEST

enum { ROOM = 10 };

struct full {
    const char *target;
    atomic_int added, overflowed, other;
};

static void add_until_full(size_t index, void *user)
{
    struct full *full = user;
    struct http_client *client = http_client_new(replica_url(index));
    // One in eight adds what never fits, between the others.
    bool never = index % 8 == 0;
    struct answer *answer =
        http(client, "POST", full->target, bytes_of(never ? "{\"by\":9223372036854775807}" : "{\"by\":1}"));
    bool good = answer->status == 200 && !never;
    bool overflow = strcmp(answer_kind(answer), "overflow") == 0;
    atomic_fetch_add(good ? &full->added : overflow ? &full->overflowed : &full->other, 1);
    http_client_free(client);
}

// The bucket's limit is for every value that is written, a sum too; the sums before it stay.
START_TEST(sum_over_the_buckets_limit_is_413)
{
    const char *bucket = api_bucket();
    ck_status(DECLARE(bucket, "{\"type\":\"int\",\"max_value_bytes\":3}"), 201);
    const char *path = api_entry(bucket, "k");
    const char *target = TEXT("%s/add", path);
    ck_status(POST(target, bytes_of("{\"by\":999}")), 200);
    struct answer *refused = POST(target, bytes_of("{\"by\":1}"));
    ck_problem(refused, 413, "too_large");
    ck_assert_int_eq(json_integer_value(json_object_get(refused->json, "limit")), 3);
    ck_body(GET(path), BODY("999"));
    ck_status(POST(target, bytes_of("{\"by\":-999}")), 200);
    ck_problem(POST(TEXT("%s/add", api_entry(bucket, "new")), bytes_of("{\"by\":1000}")), 413, "too_large");
    ck_status(GET(api_entry(bucket, "new")), 404);
}
END_TEST

START_TEST(one_overflow_is_refused_alone)
{
    for (int room = ROOM; room >= 0; room -= ROOM) {
        const char *path = api_entry(bucket_of_type("int"), "k");
        struct full full = {.target = TEXT("%s/add", path)};
        ck_status(PUT(path, bytes_of(TEXT("%lld", (long long)INT64_MAX - room))), 201);
        parallel_run(ADDERS, add_until_full, &full);
        ck_assert_int_eq(full.other, 0);
        ck_assert_int_eq(full.added, room);
        ck_assert_int_eq(full.overflowed, ADDERS - room);
        ck_body(GET(path), BODY("9223372036854775807"));
    }
}
END_TEST

struct mixed {
    const char *bucket;
    atomic_int wrong;
};

// Adds to numbers, to what is none and to buckets that take none, all in the same calls.
static void add_mixed(size_t index, void *user)
{
    struct mixed *mixed = user;
    struct http_client *client = http_client_new(replica_url(index));
    static const char *const keys[] = {"number", "text", "float", "new"};
    for (int i = 0; i < 12; i++) {
        const char *key = keys[(index + (size_t)i) % 4];
        struct answer *answer =
            http(client, "POST", http_text(client, "/v1/buckets/%s/entries/%s/add", mixed->bucket, key),
                 BODY("{}"));
        bool refused = strcmp(answer_kind(answer), "type_mismatch") == 0;
        if (strcmp(key, "text") == 0 ? !refused : answer->status != 200)
            atomic_fetch_add(&mixed->wrong, 1);
    }
    http_client_free(client);
}

START_TEST(adds_of_many_keys_spare_each_other)
{
    struct mixed mixed = {.bucket = api_bucket()};
    ck_status(PUT(api_entry(mixed.bucket, "number"), BODY("0")), 201);
    ck_status(PUT(api_entry(mixed.bucket, "text"), BODY("x")), 201);
    ck_status(PUT(api_entry(mixed.bucket, "float"), BODY("0.5")), 201);
    parallel_run(ADDERS, add_mixed, &mixed);
    ck_assert_int_eq(mixed.wrong, 0);
    ck_body(GET(api_entry(mixed.bucket, "number")), BODY("192"));
    ck_body(GET(api_entry(mixed.bucket, "text")), BODY("x"));
    ck_body(GET(api_entry(mixed.bucket, "float")), BODY("192.5"));
    ck_body(GET(api_entry(mixed.bucket, "new")), BODY("192"));
}
END_TEST

Suite *add_suite(void)
{
    const TTest *const tests[] = {
        add_counts_from_zero,
        add_keeps_content_type_and_metadata,
        add_takes_a_term_only_when_it_creates,
        add_of_floats,
        add_of_floats_round_trips,
        add_that_overflows_is_refused,
        summand_out_of_range_is_overflow,
        add_to_what_is_no_number_is_a_type_mismatch,
        add_refuses_what_is_no_summand,
        add_if_match_adds_to_that_version_only,
        add_under_a_locale_with_a_decimal_comma,
        adds_of_one_key_are_exact,
        sum_over_the_buckets_limit_is_413,
        one_overflow_is_refused_alone,
        adds_of_many_keys_spare_each_other,
        NULL,
    };
    return api_suite_of_two("add", tests);
}
