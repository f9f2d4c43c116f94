// Quotas: all windows or none, each from the key's first use for its whole length.
#include "limit_steps.h"

#include "support/random.h"

#define HOUR (3600 * SECOND)
#define DAY  (24 * HOUR)

static void declare_anew(const char *path, const char *windows)
{
    const char *name = TEXT("%.*s", (int)(strrchr(path, '/') - path), path);
    ck_status(PUT(name, bytes_of(TEXT("{\"windows\":{%s}}", windows))), 200);
}

static void expect_window(const struct answer *answer, const char *window, int64_t used, int64_t reset_at)
{
    ck_reply(answer, window_number(answer, window, "used") == used);
    ck_reply(answer, window_moment(answer, window) == reset_at);
    int64_t limit = window_number(answer, window, "limit");
    ck_reply(answer, window_number(answer, window, "left") == (limit > used ? limit - used : 0));
}

// QUOTA-1
START_TEST(all_windows_or_none)
{
    const char *path = quota_key("\"session\":\"10/1h\",\"weekly\":\"12/7d\"");
    database_stop_clock(&api.database, START);
    expect_granted(GET(path), 10);
    expect_window(GET(path), "session", 0, -1);
    expect_granted(ALLOW(path, 10), 0);
    ck_assert_int_eq(expect_refused(ALLOW(path, 1), START, 0), START + HOUR);
    int64_t now = START + HOUR;
    database_stop_clock(&api.database, now);
    struct answer *refused = ALLOW(path, 3);
    ck_assert_int_eq(expect_refused(refused, now, 2), START + 7 * DAY);
    expect_window(refused, "session", 0, -1);
    expect_window(refused, "weekly", 10, START + 7 * DAY);
    expect_window(GET(path), "session", 0, -1);
    expect_window(GET(path), "weekly", 10, START + 7 * DAY);
    struct answer *granted = ALLOW(path, 2);
    expect_granted(granted, 0);
    expect_window(granted, "session", 2, now + HOUR);
    expect_window(granted, "weekly", 12, START + 7 * DAY);
    database_stop_clock(&api.database, START + 7 * DAY - 1);
    ck_assert_int_eq(expect_refused(ALLOW(path, 1), START + 7 * DAY - 1, 0), START + 7 * DAY);
    database_stop_clock(&api.database, START + 7 * DAY);
    granted = ALLOW(path, 1);
    expect_granted(granted, 9);
    expect_window(granted, "weekly", 1, START + 14 * DAY);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(windows_begin_with_the_keys_own_first_use)
{
    const char *path = quota_key("\"day\":\"2/1d\"");
    const char *other = TEXT("%s2", path);
    database_stop_clock(&api.database, START);
    expect_granted(ALLOW(path, 1), 1);
    database_stop_clock(&api.database, START + 5 * HOUR);
    expect_window(ALLOW(other, 2), "day", 2, START + 5 * HOUR + DAY);
    expect_window(ALLOW(path, 1), "day", 2, START + DAY);
    database_stop_clock(&api.database, START + DAY);
    expect_window(ALLOW(path, 1), "day", 1, START + 2 * DAY);
    expect_refused(ALLOW(other, 1), START + DAY, 0);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(refund_goes_to_open_windows_only)
{
    const char *path = quota_key("\"session\":\"10/1h\",\"weekly\":\"12/7d\"");
    database_stop_clock(&api.database, START);
    struct answer *answer = REFUND(path, 1); // of a key that used nothing
    expect_granted(answer, 10);
    expect_window(answer, "session", 0, -1);
    expect_granted(ALLOW(path, 2), 8);
    answer = REFUND(path, 5);
    expect_granted(answer, 10);
    expect_window(answer, "session", 0, START + HOUR);
    expect_window(answer, "weekly", 0, START + 7 * DAY);
    expect_granted(ALLOW(path, 6), 4);
    database_stop_clock(&api.database, START + HOUR);
    answer = REFUND(path, 4);
    expect_window(answer, "session", 0, -1);
    expect_window(answer, "weekly", 2, START + 7 * DAY);
    expect_granted(ALLOW(path, 10), 0);
    ck_over_limit(REFUND(path, 11), 400, "invalid", 10);
    ck_invalid(REFUND(path, 0), "n");
    expect_window(REFUND(path, 10), "weekly", 2, START + 7 * DAY);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(changed_windows_keep_what_was_used)
{
    const char *path = quota_key("\"a\":\"10/1h\",\"b\":\"20/1d\"");
    database_stop_clock(&api.database, START);
    expect_granted(ALLOW(path, 6), 4);
    // Lowered below what is used: nothing left, not less than nothing, and Retry-After still there.
    declare_anew(path, "\"a\":\"5/1h\",\"b\":\"20/1d\"");
    ck_assert_int_eq(expect_refused(ALLOW(path, 1), START, 0), START + HOUR);
    expect_window(GET(path), "a", 6, START + HOUR);
    declare_anew(path, "\"a\":\"9/1h\",\"b\":\"20/1d\"");
    expect_granted(ALLOW(path, 1), 2);
    // One added begins with its first use, one removed is no longer asked, the order does not matter.
    declare_anew(path, "\"c\":\"3/1h\",\"b\":\"20/1d\"");
    database_stop_clock(&api.database, START + SECOND);
    struct answer *granted = ALLOW(path, 2);
    expect_granted(granted, 1);
    ck_reply(granted, json_object_size(json_object_get(granted->json, "windows")) == 2);
    expect_window(granted, "c", 2, START + SECOND + HOUR);
    expect_window(granted, "b", 9, START + DAY);
    // One that comes back begins anew; so does one that was renamed.
    declare_anew(path, "\"b\":\"20/1d\",\"a\":\"9/1h\"");
    expect_window(GET(path), "a", 0, -1);
    expect_window(GET(path), "b", 9, START + DAY);
    declare_anew(path, "\"renamed\":\"20/1d\"");
    expect_window(GET(path), "renamed", 0, -1);
    expect_granted(ALLOW(path, 20), 0);
    // A shorter length takes effect at once, a longer one from the next window on.
    declare_anew(path, "\"renamed\":\"20/1h\"");
    ck_assert_int_eq(expect_refused(ALLOW(path, 1), START + SECOND, 0), START + SECOND + HOUR);
    declare_anew(path, "\"renamed\":\"20/7d\"");
    ck_assert_int_eq(expect_refused(ALLOW(path, 1), START + SECOND, 0), START + SECOND + DAY);
    database_stop_clock(&api.database, START + SECOND + DAY);
    expect_window(ALLOW(path, 1), "renamed", 1, START + SECOND + 8 * DAY);
    database_shift_clock(&api.database, 0);
}
END_TEST

// At retry_at the same call passes, a microsecond before it does not.
START_TEST(quota_retry_at_is_exact)
{
    struct random random = random_seeded(random_run_seed(), 1);
    int64_t now = START;
    for (int round = 0; round < 12; round++) {
        const char *path =
            quota_key(TEXT("\"a\":\"%d/%ds\",\"b\":\"%d/%dms\",\"c\":\"%d/%dm\"",
                           2 + (int)random_below(&random, 9), 1 + (int)random_below(&random, 9),
                           2 + (int)random_below(&random, 9), 1 + (int)random_below(&random, 9000),
                           2 + (int)random_below(&random, 9), 1 + (int)random_below(&random, 2)));
        int64_t smallest = number_in(GET(path), "left");
        for (int i = 0; i < 8; i++) {
            database_stop_clock(&api.database, now += (int64_t)random_below(&random, 2000000));
            int64_t n = 1 + (int64_t)random_below(&random, (size_t)smallest);
            struct answer *answer = ALLOW(path, n);
            if (truth_in(answer, "ok"))
                continue;
            int64_t retry_at = expect_refused(answer, now, number_in(GET(path), "left"));
            database_stop_clock(&api.database, retry_at - 1);
            ck_reply(answer, !truth_in(ALLOW(path, n), "ok"));
            database_stop_clock(&api.database, now = retry_at);
            ck_reply(answer, truth_in(ALLOW(path, n), "ok"));
        }
    }
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(quota_of_a_clock_that_steps_back)
{
    const char *path = quota_key("\"a\":\"3/1h\"");
    database_stop_clock(&api.database, START);
    expect_granted(ALLOW(path, 3), 0);
    database_stop_clock(&api.database, START - 100 * DAY);
    ck_assert_int_eq(expect_refused(ALLOW(path, 1), START - 100 * DAY, 0), START + HOUR);
    database_stop_clock(&api.database, START + HOUR);
    expect_granted(ALLOW(path, 3), 0);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(quota_uses_are_checked)
{
    const char *path = quota_key("\"a\":\"10/1h\",\"b\":\"7/1d\"");
    static const char *const calls[] = {"allow", "refund"};
    static const char *const bad[] = {"0", "-1", "1.5", "\"1\"", "null", "-9223372036854775808"};
    for (int call = 0; call < 2; call++) {
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
            ck_invalid(POST(TEXT("%s/%s", path, calls[call]), bytes_of(TEXT("{\"n\":%s}", bad[i]))), "n");
        ck_over_limit(POST(TEXT("%s/%s", path, calls[call]), BODY("{\"n\":8}")), 400, "invalid", 7);
        ck_over_limit(POST(TEXT("%s/%s", path, calls[call]), BODY("{\"n\":9223372036854775807}")), 400,
                      "invalid", 7);
        ck_invalid(POST(TEXT("%s/%s", path, calls[call]), BODY("{\"k\":1}")), "k");
        ck_problem(POST(TEXT("%s/%s", key_path("quotas", api_bucket(), "k"), calls[call]), NO_BODY), 404,
                   "not_found");
    }
    expect_granted(GET(path), 7);
    ck_problem(GET(key_path("quotas", api_bucket(), "k")), 404, "not_found");
    ck_problem(DELETE(key_path("quotas", api_bucket(), "k")), 404, "not_found");
    // The largest there is.
    path = quota_key("\"a\":\"9223372036854775807/3650d\"");
    expect_granted(ALLOW(path, INT64_MAX), 0);
    struct answer *more = ALLOW(path, 1);
    ck_reply(more, !truth_in(more, "ok"));
    expect_granted(REFUND(path, INT64_MAX), INT64_MAX);
    ck_header(GET(path), "RateLimit-Policy", "\"a\";q=999999999999999;w=315360000");
}
END_TEST

START_TEST(quota_windows_are_checked)
{
    const char *name = name_path("quotas", api_bucket());
    static const char *const bad[] = {
        "{}",
        "[]",
        "null",
        "\"a\"",
        "{\"A\":\"1/s\"}",
        "{\"1a\":\"1/s\"}",
        "{\"_a\":\"1/s\"}",
        "{\"a-b\":\"1/s\"}",
        "{\"\":\"1/s\"}",
        "{\"a\":\"0/s\"}",
        "{\"a\":\"1\"}",
        "{\"a\":1}",
        "{\"a\":null}",
        "{\"a234567890123456789012345678901234\":\"1/s\"}",
        "{\"a\":\"1/s\",\"b\":\"1/s\",\"c\":\"1/s\",\"d\":\"1/s\",\"e\":\"1/s\","
        "\"f\":\"1/s\",\"g\":\"1/s\",\"h\":\"1/s\",\"i\":\"1/s\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_invalid(PUT(name, bytes_of(TEXT("{\"windows\":%s}", bad[i]))), "windows");
    ck_invalid(PUT(name, BODY("{}")), "windows");
    ck_problem(GET(name), 404, "not_found");
    ck_status(
        PUT(name, BODY("{\"windows\":{\"h\":\"8/s\",\"g\":\"7/s\",\"f\":\"6/s\",\"e\":\"5/s\",\"d\":\"4/"
                       "s\",\"c\":\"3/s\",\"b_9\":\"2/s\",\"a2345678901234567890123456789012\":\"9/s\"}}")),
        201);
    struct answer *shown = GET(name);
    ck_assert_pstr_eq(answer_text(shown, "kind"), "quota");
    ck_assert_uint_eq(json_object_size(shown->json), 4);
    ck_reply(shown,
             strstr((const char *)shown->body.data,
                    "\"windows\":{\"h\":\"8/s\",\"g\":\"7/s\",\"f\":\"6/s\",\"e\":\"5/s\",\"d\":\"4/s\","
                    "\"c\":\"3/s\",\"b_9\":\"2/s\",\"a2345678901234567890123456789012\":\"9/s\"}"));
    struct answer *granted = ALLOW(TEXT("%s/k", name), 2);
    expect_granted(granted, 0);
    ck_assert_uint_eq(json_object_size(json_object_get(granted->json, "windows")), 8);
}
END_TEST

START_TEST(ratelimit_fields_tell_of_every_window)
{
    const char *path = quota_key("\"session\":\"10/1h\",\"weekly\":\"12/7d\"");
    database_stop_clock(&api.database, START);
    ck_header(GET(path), "RateLimit", "\"session\";r=10, \"weekly\";r=12");
    ck_header(ALLOW(path, 9), "RateLimit", "\"session\";r=1;t=3600, \"weekly\";r=3;t=604800");
    database_stop_clock(&api.database, START + 1);
    struct answer *refused = ALLOW(path, 2);
    ck_header(refused, "RateLimit-Policy", "\"session\";q=10;w=3600, \"weekly\";q=12;w=604800");
    ck_header(refused, "RateLimit", "\"session\";r=1;t=3600, \"weekly\";r=3;t=604800");
    ck_header(refused, "Retry-After", "3600");
    database_shift_clock(&api.database, 0);
}
END_TEST

Suite *quotas_suite(void)
{
    const TTest *const tests[] = {
        all_windows_or_none,
        windows_begin_with_the_keys_own_first_use,
        refund_goes_to_open_windows_only,
        changed_windows_keep_what_was_used,
        quota_retry_at_is_exact,
        quota_of_a_clock_that_steps_back,
        quota_uses_are_checked,
        quota_windows_are_checked,
        ratelimit_fields_tell_of_every_window,
        NULL,
    };
    return api_suite("quotas", NULL, tests);
}
