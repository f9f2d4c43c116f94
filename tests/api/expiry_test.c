// Expiry: who sets it, who keeps it, and that an expired key is absent to every call, by a clock in the
// test's hand.
#include "api.h"

#include <stdio.h>

// 2030-01-01T00:00:00Z, where the clock of these tests stands still.
#define START  INT64_C(1893456000000000)
#define SECOND INT64_C(1000000)

static void set_clock(int64_t us)
{
    database_stop_clock(&api.database, us);
}

static void start_clock(void)
{
    set_clock(START);
}

static void expect_expiry(const char *path, const char *expected)
{
    ck_header(GET(path), "Holdfast-Expires-At", expected);
    ck_header(HEAD(path), "Holdfast-Expires-At", expected);
}

START_TEST(expiry_parameters)
{
    start_clock();
    const char *path = api_entry(api_bucket(), "k");
    struct answer *put = PUT(TEXT("%s?ttl=90s", path), BODY("v"));
    ck_status(put, 201);
    ck_header(put, "Holdfast-Expires-At", "2030-01-01T00:01:30.000000Z");
    expect_expiry(path, "2030-01-01T00:01:30.000000Z");
    put = PUT(TEXT("%s?expires_at=2030-06-01T12:00:00.123456Z", path), BODY("v"));
    ck_status(put, 204);
    ck_header(put, "Holdfast-Expires-At", "2030-06-01T12:00:00.123456Z");
    expect_expiry(path, "2030-06-01T12:00:00.123456Z");
    put = PUT(TEXT("%s?persist=true", path), BODY("v"));
    ck_header(put, "Holdfast-Expires-At", NULL);
    expect_expiry(path, NULL);
    static const char *const two[] = {"ttl=1s&persist=true", "ttl=1s&expires_at=2030-06-01T12:00:00Z",
                                      "persist=true&expires_at=2030-06-01T12:00:00Z",
                                      "ttl=1s&persist=true&expires_at=2030-06-01T12:00:00Z"};
    for (size_t i = 0; i < sizeof two / sizeof two[0]; i++)
        ck_problem(PUT(TEXT("%s?%s", path, two[i]), BODY("w")), 400, "invalid");
    ck_body(GET(path), BODY("v"));
}
END_TEST

START_TEST(durations_are_exact)
{
    start_clock();
    const char *path = api_entry(api_bucket(), "k");
    static const char *const rows[][2] = {
        {"1ms", "2030-01-01T00:00:00.001000Z"},        {"1s", "2030-01-01T00:00:01.000000Z"},
        {"1m", "2030-01-01T00:01:00.000000Z"},         {"1h", "2030-01-01T01:00:00.000000Z"},
        {"1d", "2030-01-02T00:00:00.000000Z"},         {"3650d", "2039-12-30T00:00:00.000000Z"},
        {"315360000s", "2039-12-30T00:00:00.000000Z"}, {"0060s", NULL},
    };
    for (size_t i = 0; rows[i][1]; i++) {
        ck_header(PUT(TEXT("%s?ttl=%s", path, rows[i][0]), BODY("v")), "Holdfast-Expires-At", rows[i][1]);
        expect_expiry(path, rows[i][1]);
    }
}
END_TEST

START_TEST(times_are_rfc_3339)
{
    start_clock();
    const char *path = api_entry(api_bucket(), "k");
    static const char *const good[][2] = {
        {"2031-01-01T00:00:00Z", "2031-01-01T00:00:00.000000Z"},
        {"2031-01-01T00:00:00.5Z", "2031-01-01T00:00:00.500000Z"},
        {"2031-01-01t00:00:00z", "2031-01-01T00:00:00.000000Z"},
        {"2031-01-01T01:30:00%2B01:30", "2031-01-01T00:00:00.000000Z"},
        {"2030-12-31T19:00:00-05:00", "2031-01-01T00:00:00.000000Z"},
        {"2032-02-29T23:59:59.999999Z", "2032-02-29T23:59:59.999999Z"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_header(PUT(TEXT("%s?expires_at=%s", path, good[i][0]), BODY("v")), "Holdfast-Expires-At",
                  good[i][1]);
    static const char *const bad[] = {
        "",
        "tomorrow",
        "2031-01-01",
        "2031-01-01T00:00:00",
        "2031-01-01_00:00:00Z",
        "2031-13-01T00:00:00Z",
        "2031-02-29T00:00:00Z",
        "2031-01-01T25:00:00Z",
        "2031-01-01T00:60:00Z",
        "2031-1-1T00:00:00Z",
        "1893456000",
        "2031-01-01T00:00:00.Z",
        "2031-01-01T00:00:00%2B25:00",
        "2031-01-01T00:00:00Zx",
        "infinity",
        "now",
        "%2B2031-01-01T00:00:00Z",
        "2031-01-01T00:00:00%00Z",
        "99999-01-01T00:00:00Z",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_invalid(PUT(TEXT("%s?expires_at=%s", path, bad[i]), BODY("w")), "expires_at");
    expect_expiry(path, good[5][1]);
}
END_TEST

START_TEST(expires_at_in_the_past_is_400)
{
    start_clock();
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    struct answer *put = PUT(TEXT("%s?ttl=1h", path), BODY("v"));
    static const char *const past[] = {"2029-12-31T23:59:59.999999Z", "2030-01-01T00:00:00Z",
                                       "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z"};
    for (size_t i = 0; i < sizeof past / sizeof past[0]; i++) {
        ck_invalid(PUT(TEXT("%s?expires_at=%s", path, past[i]), BODY("w")), "expires_at");
        ck_invalid(PUT(TEXT("%s?expires_at=%s", api_entry(bucket, "new"), past[i]), BODY("w")), "expires_at");
    }
    ck_status(GET(api_entry(bucket, "new")), 404);
    struct answer *got = GET(path);
    ck_header(got, "ETag", answer_header(put, "ETag"));
    ck_header(got, "Holdfast-Expires-At", answer_header(put, "Holdfast-Expires-At"));
    ck_status(PUT(TEXT("%s?expires_at=2030-01-01T00:00:00.000001Z", path), BODY("w")), 204);
}
END_TEST

// EXP-2
START_TEST(absurd_ttl_is_400)
{
    start_clock();
    static const char *const absurd[] = {
        "0s",
        "0ms",
        "0",
        "-1s",
        "-0s",
        "10",
        "10ss",
        "1.5h",
        "3651d",
        "99999999999999999999s",
        "",
        "s",
        "1",
        "1w",
        "1y",
        "1M",
        "1S",
        "1%20s",
        "+1s",
        "%2B1s",
        "1s%00",
        "0x10s",
        "1e3s",
        "1h30m",
        "forever",
        "null",
        "315360001s",
        "9223372036854775807ms",
        "9223372036854775808ms",
        "18446744073709551616ms",
        "4294967296d",
        "1us",
        "1ns",
    };
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    struct answer *put = PUT(TEXT("%s?ttl=1h", path), BODY("v"));
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        ck_invalid(PUT(TEXT("%s?ttl=%s", path, absurd[i]), BODY("w")), "ttl");
        ck_invalid(PUT(TEXT("%s?ttl=%s", api_entry(bucket, "new"), absurd[i]), BODY("w")), "ttl");
    }
    static const char *const persist[] = {"false", "", "1", "TRUE", "yes", "true%20", "0"};
    for (size_t i = 0; i < sizeof persist / sizeof persist[0]; i++)
        ck_invalid(PUT(TEXT("%s?persist=%s", path, persist[i]), BODY("w")), "persist");
    ck_status(GET(api_entry(bucket, "new")), 404);
    struct answer *got = GET(path);
    ck_header(got, "ETag", answer_header(put, "ETag"));
    ck_header(got, "Holdfast-Expires-At", answer_header(put, "Holdfast-Expires-At"));
    ck_body(got, BODY("v"));
}
END_TEST

START_TEST(bucket_ttl_applies)
{
    start_clock();
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    ck_status(DECLARE(bucket, "{\"ttl\":\"1h\"}"), 201);
    ck_header(PUT(path, BODY("v")), "Holdfast-Expires-At", "2030-01-01T01:00:00.000000Z");
    expect_expiry(path, "2030-01-01T01:00:00.000000Z");
    ck_header(PUT(TEXT("%s?ttl=1m", api_entry(bucket, "own")), BODY("v")), "Holdfast-Expires-At",
              "2030-01-01T00:01:00.000000Z");
    ck_header(PUT(TEXT("%s?persist=true", api_entry(bucket, "ever")), BODY("v")), "Holdfast-Expires-At",
              NULL);
    set_clock(START + 1800 * SECOND);
    ck_header(PUT(path, BODY("w")), "Holdfast-Expires-At", "2030-01-01T01:00:00.000000Z");
    ck_header(PUT(api_entry(bucket, "ever"), BODY("w")), "Holdfast-Expires-At", NULL);
    set_clock(START + 7200 * SECOND);
    ck_status(GET(path), 404);
    struct answer *again = PUT(path, BODY("x"));
    ck_status(again, 201);
    ck_header(again, "Holdfast-Expires-At", "2030-01-01T03:00:00.000000Z");
    ck_status(DECLARE(bucket, "{}"), 200);
    expect_expiry(path, "2030-01-01T03:00:00.000000Z");
    ck_header(PUT(api_entry(bucket, "later"), BODY("v")), "Holdfast-Expires-At", NULL);
}
END_TEST

START_TEST(bucket_idle_applies)
{
    start_clock();
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    ck_status(DECLARE(bucket, "{\"idle\":\"30s\"}"), 201);
    ck_header(PUT(path, BODY("v")), "Holdfast-Expires-At", "2030-01-01T00:00:30.000000Z");
    ck_header(PUT(TEXT("%s?ttl=5s", api_entry(bucket, "own")), BODY("v")), "Holdfast-Expires-At",
              "2030-01-01T00:00:05.000000Z");
    set_clock(START + 31 * SECOND);
    ck_status(GET(path), 404);
}
END_TEST

// EXP-3
START_TEST(live_key_keeps_expiry)
{
    start_clock();
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(TEXT("%s?ttl=60s", path), BODY("v")), 201);
    set_clock(START + 59 * SECOND);
    struct answer *put = PUT(path, BODY("w"), "Content-Type: text/plain");
    ck_status(put, 204);
    ck_header(put, "Holdfast-Expires-At", "2030-01-01T00:01:00.000000Z");
    expect_expiry(path, "2030-01-01T00:01:00.000000Z");
    ck_header(PUT(path, BODY("x"), "If-Match: *"), "Holdfast-Expires-At", "2030-01-01T00:01:00.000000Z");
    ck_header(PUT(TEXT("%s?ttl=60s", path), BODY("y")), "Holdfast-Expires-At", "2030-01-01T00:01:59.000000Z");
    ck_header(PUT(TEXT("%s?persist=true", path), BODY("z")), "Holdfast-Expires-At", NULL);
    ck_header(PUT(path, BODY("z")), "Holdfast-Expires-At", NULL);
    set_clock(START + 86400 * SECOND);
    ck_body(GET(path), BODY("z"));
}
END_TEST

START_TEST(expired_is_absent)
{
    start_clock();
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    struct answer *put =
        PUT(TEXT("%s?ttl=10s", path), BODY("v"), "Holdfast-Meta-A: b", "Content-Type: text/plain");
    const char *tag = answer_need(put, "ETag");
    set_clock(START + 10 * SECOND - 1);
    ck_body(GET(path), BODY("v"));
    set_clock(START + 10 * SECOND); // the moment itself is past its life
    ck_problem(GET(path), 404, "not_found");
    ck_status(HEAD(path), 404);
    ck_status(GET(path, TEXT("If-None-Match: %s", tag)), 404);
    ck_problem(DELETE(path), 404, "not_found");
    struct answer *stale = PUT(path, BODY("w"), TEXT("If-Match: %s", tag));
    ck_problem(stale, 412, "version_conflict");
    ck_reply(stale, json_is_null(json_object_get(stale->json, "current_version")));
    ck_problem(PUT(path, BODY("w"), "If-Match: *"), 412, "version_conflict");
    ck_problem(DELETE(path, TEXT("If-Match: %s", tag)), 412, "version_conflict");
    struct answer *again = PUT(path, BODY("x"), "If-None-Match: *");
    ck_status(again, 201);
    ck_header(again, "Holdfast-Expires-At", NULL);
    struct answer *got = GET(path);
    ck_body(got, BODY("x"));
    ck_header(got, "Holdfast-Meta-A", NULL);
    ck_header(got, "Content-Type", "application/octet-stream");
    ck_assert_str_ne(answer_need(got, "ETag"), tag);
}
END_TEST

// An entry that expired leaves nothing that a plain PUT could inherit.
START_TEST(expired_is_replaced_as_new)
{
    start_clock();
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(TEXT("%s?ttl=1ms", path), BODY("v")), 201);
    set_clock(START + SECOND);
    struct answer *put = PUT(path, BODY("w"));
    ck_status(put, 201);
    ck_header(put, "Holdfast-Expires-At", NULL);
}
END_TEST

START_TEST(timestamp_formats)
{
    start_clock();
    const char *path = api_entry(api_bucket(), "k");
    static const struct {
        int64_t now;
        const char *after_a_millisecond;
    } rows[] = {
        {INT64_C(951782399999000), "2000-02-29T00:00:00.000000Z"},
        {INT64_C(4107542399999999), "2100-03-01T00:00:00.000999Z"},
        {INT64_C(1893456000000001), "2030-01-01T00:00:00.001001Z"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        set_clock(rows[i].now);
        ck_header(PUT(TEXT("%s-%zu?ttl=1ms", path, i), BODY("v")), "Holdfast-Expires-At",
                  rows[i].after_a_millisecond);
    }
    set_clock(rows[2].now);
    struct answer *answer = PUT(TEXT("/v1/buckets/%s", api_bucket()), BODY("{}"));
    ck_assert_pstr_eq(answer_text(answer, "created_at"), "2030-01-01T00:00:00.000001Z");
}
END_TEST

Suite *expiry_suite(void)
{
    const TTest *const tests[] = {
        expiry_parameters, durations_are_exact,        times_are_rfc_3339,  expires_at_in_the_past_is_400,
        absurd_ttl_is_400, bucket_ttl_applies,         bucket_idle_applies, live_key_keeps_expiry,
        expired_is_absent, expired_is_replaced_as_new, timestamp_formats,   NULL,
    };
    return api_suite("expiry", NULL, tests);
}
