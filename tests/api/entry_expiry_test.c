// PUT and DELETE of an entry's expiry: nothing else of the entry changes, its version neither.
#include "entry_steps.h"

static struct answer *set_expiry(const char *path, const char *body)
{
    return PUT(TEXT("%s/expiry", path), bytes_of(body));
}

// The entry as `put` made it, but for its expiry.
static void expect_expiry(const char *path, const struct answer *put, const char *expected)
{
    struct answer *got = GET(path);
    ck_body(got, BODY("v"));
    ck_header(got, "ETag", tag_of(put));
    ck_header(got, "Content-Type", "text/plain");
    ck_header(got, "Holdfast-Meta-A", "b");
    ck_header(got, "Holdfast-Expires-At", expected);
}

static struct answer *put_entry(const char *path)
{
    return PUT(path, BODY("v"), "Content-Type: text/plain", "Holdfast-Meta-A: b");
}

START_TEST(expiry_changes_and_the_version_stays)
{
    database_stop_clock(&api.database, START);
    const char *path = api_entry(api_bucket(), "k");
    struct answer *put = put_entry(path);
    struct answer *done = set_expiry(path, "{\"ttl\":\"90s\"}");
    ck_status(done, 204);
    ck_header(done, "ETag", tag_of(put));
    ck_header(done, "Holdfast-Expires-At", "2030-01-01T00:01:30.000000Z");
    expect_expiry(path, put, "2030-01-01T00:01:30.000000Z");
    done = set_expiry(path, "{\"expires_at\":\"2031-01-01T01:00:00.000001+01:00\"}");
    ck_header(done, "Holdfast-Expires-At", "2031-01-01T00:00:00.000001Z");
    expect_expiry(path, put, "2031-01-01T00:00:00.000001Z");
    ck_status(set_expiry(path, "{\"ttl\":\"1ms\",\"expires_at\":null}"), 204);
    expect_expiry(path, put, "2030-01-01T00:00:00.001000Z");
    ck_status(set_expiry(path, "{\"ttl\":\"3650d\"}"), 204);
    expect_expiry(path, put, "2039-12-30T00:00:00.000000Z");
    done = DELETE(TEXT("%s/expiry", path));
    ck_status(done, 204);
    ck_header(done, "ETag", tag_of(put));
    ck_header(done, "Holdfast-Expires-At", NULL);
    answer_need(done, "Holdfast-Position");
    expect_expiry(path, put, NULL);
    ck_status(DELETE(TEXT("%s/expiry", path)),
              204); // there was none: it is so all the same
    // What was set is what later writes keep, and what ends it.
    ck_status(set_expiry(path, "{\"ttl\":\"1h\"}"), 204);
    ck_header(PUT(path, BODY("w")), "Holdfast-Expires-At", "2030-01-01T01:00:00.000000Z");
    database_stop_clock(&api.database, START + 3600 * SECOND);
    ck_status(GET(path), 404);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(expiry_of_an_absent_entry_is_404)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    for (int declared = 0; declared < 2; declared++) {
        ck_problem(set_expiry(path, "{\"ttl\":\"1h\"}"), 404, "not_found");
        ck_problem(DELETE(TEXT("%s/expiry", path)), 404, "not_found");
        ck_status(GET(TEXT("/v1/buckets/%s", bucket)), declared ? 200 : 404);
        ck_status(DECLARE(bucket, "{}"), declared ? 200 : 201);
    }
    ck_status(GET(path), 404);
}
END_TEST

// EXP-2
START_TEST(absurd_expiry_is_400)
{
    database_stop_clock(&api.database, START);
    const char *path = api_entry(api_bucket(), "k");
    struct answer *put = put_entry(path);
    ck_status(set_expiry(path, "{\"ttl\":\"1h\"}"), 204);
    static const char *const terms[] = {
        "0",
        "-1",
        "60",
        "1.5",
        "true",
        "[]",
        "{}",
        "\"0s\"",
        "\"-1s\"",
        "\"10\"",
        "\"10ss\"",
        "\"1.5h\"",
        "\"3651d\"",
        "\"\"",
        "\"s\"",
        "\"1 s\"",
        "\"1S\"",
        "\"+1s\"",
        "\"1w\"",
        "\"99999999999999999999s\"",
        "\"9223372036854775808ms\"",
        "\"1s\\u0000\"",
        "\"infinity\"",
    };
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++)
        ck_invalid(set_expiry(path, TEXT("{\"ttl\":%s}", terms[i])), "ttl");
    static const char *const times[] = {
        "0",
        "1893456001",
        "\"\"",
        "\"tomorrow\"",
        "\"2031-01-01\"",
        "\"2031-02-29T00:00:00Z\"",
        "\"2031-01-01T00:00:00\"",
        "\"infinity\"",
        "\"2029-12-31T23:59:59.999999Z\"",
        "\"2030-01-01T00:00:00Z\"",
        "\"1970-01-01T00:00:00Z\"",
    };
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        ck_invalid(set_expiry(path, TEXT("{\"expires_at\":%s}", times[i])), "expires_at");
    static const char *const neither[] = {"{}", "{\"ttl\":null}", "{\"ttl\":null,\"expires_at\":null}",
                                          "{\"ttl\":\"1h\",\"expires_at\":\"2031-01-01T00:00:00Z\"}"};
    for (size_t i = 0; i < sizeof neither / sizeof neither[0]; i++)
        ck_invalid(set_expiry(path, neither[i]), "ttl");
    ck_invalid(set_expiry(path, "{\"ttl\":\"1h\",\"persist\":true}"), "persist");
    ck_invalid(set_expiry(path, ""), "body");
    expect_expiry(path, put, "2030-01-01T01:00:00.000000Z");
    database_shift_clock(&api.database, 0);
}
END_TEST

// A term of its own ends the bucket's idle one: reads renew it no more.
START_TEST(expiry_that_is_set_is_not_renewed)
{
    database_stop_clock(&api.database, START);
    const char *bucket = api_bucket();
    const char *timed = api_entry(bucket, "timed"), *kept = api_entry(bucket, "kept");
    ck_status(DECLARE(bucket, "{\"idle\":\"30s\"}"), 201);
    ck_status(PUT(timed, BODY("v")), 201);
    ck_status(PUT(kept, BODY("v")), 201);
    ck_status(set_expiry(timed, "{\"ttl\":\"30s\"}"), 204);
    ck_status(DELETE(TEXT("%s/expiry", kept)), 204);
    database_stop_clock(&api.database, START + 30 * SECOND - 1);
    ck_header(GET(timed), "Holdfast-Expires-At", "2030-01-01T00:00:30.000000Z");
    database_stop_clock(&api.database, START + 30 * SECOND);
    ck_status(GET(timed), 404);
    ck_header(GET(kept), "Holdfast-Expires-At", NULL);
    database_shift_clock(&api.database, 0);
}
END_TEST

// The last time that can be written, and an entry that was to go soon and got it: the sweeper bears both.
START_TEST(expiry_at_the_end_of_time)
{
    static const char last[] = "9999-12-31T23:59:59.999999Z";
    database_stop_clock(&api.database, START);
    const char *bucket = api_bucket();
    struct answer *put = PUT(TEXT("%s?expires_at=%s", api_entry(bucket, "new"), last), BODY("v"));
    ck_status(put, 201);
    ck_header(put, "Holdfast-Expires-At", last);
    const char *postponed = api_entry(bucket, "postponed");
    ck_status(PUT(TEXT("%s?ttl=5s", postponed), BODY("v")), 201);
    ck_status(set_expiry(postponed, TEXT("{\"expires_at\":\"%s\"}", last)), 204);
    ck_status(set_expiry(api_entry(bucket, "new"), TEXT("{\"expires_at\":\"%s\"}", last)), 204);
    database_stop_clock(&api.database, START + 600 * SECOND);
    PGconn *connection = database_connect(&api.database);
    sql_run(connection, "select holdfast.sweep_expired(1000)");
    PQfinish(connection);
    ck_header(GET(postponed), "Holdfast-Expires-At", last);
    ck_status(PUT(postponed, BODY("w")), 204);
    database_shift_clock(&api.database, 0);
}
END_TEST

Suite *entry_expiry_suite(void)
{
    const TTest *const tests[] = {
        expiry_changes_and_the_version_stays, expiry_of_an_absent_entry_is_404, absurd_expiry_is_400,
        expiry_that_is_set_is_not_renewed,    expiry_at_the_end_of_time,        NULL,
    };
    return api_suite("entry_expiry", NULL, tests);
}
