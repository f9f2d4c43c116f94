// Rate limits: exact for every rate, burst and moment.
#include "limit_steps.h"

#include "support/random.h"

static void declare_anew(const char *path, const char *rate, int64_t burst)
{
    const char *name = TEXT("%.*s", (int)(strrchr(path, '/') - path), path);
    ck_status(PUT(name, bytes_of(TEXT("{\"rate\":\"%s\",\"burst\":%lld}", rate, (long long)burst))), 200);
}

START_TEST(burst_at_once_then_the_rate)
{
    const char *path = rate_limit_key("2/s", 5);
    database_stop_clock(&api.database, START);
    expect_granted(GET(path), 5);
    expect_granted(POST(TEXT("%s/allow", path), NO_BODY), 4);
    expect_granted(ALLOW(path, 3), 1);
    ck_assert_int_eq(expect_refused(ALLOW(path, 2), START, 1), START + SECOND / 2);
    expect_granted(ALLOW(path, 1), 0);
    ck_assert_int_eq(expect_refused(ALLOW(path, 1), START, 0), START + SECOND / 2);
    ck_assert_int_eq(expect_refused(ALLOW(path, 5), START, 0), START + 5 * SECOND / 2);
    ck_assert_int_eq(expect_refused(GET(path), START, 0), START + SECOND / 2);
    database_stop_clock(&api.database, START + SECOND / 2 - 1);
    expect_refused(ALLOW(path, 1), START + SECOND / 2 - 1, 0);
    database_stop_clock(&api.database, START + SECOND / 2);
    expect_granted(GET(path), 1);
    expect_granted(ALLOW(path, 1), 0);
    database_stop_clock(&api.database, START + 100 * SECOND);
    ck_assert_int_eq(use_up(path), 5);
    database_shift_clock(&api.database, 0);
}
END_TEST

// RATE-2
START_TEST(fast_rates_are_exact)
{
    database_stop_clock(&api.database, START);
    const char *path = rate_limit_key("5000/s", 5000);
    int64_t used = 0;
    while (truth_in(ALLOW(path, 37), "ok"))
        used += 37;
    ck_assert_int_eq(used + use_up(path), 5000);
    database_stop_clock(&api.database, START + SECOND);
    ck_assert_int_eq(use_up(path), 5000);
    // Finer than the clock: two a microsecond.
    path = rate_limit_key("2000000/s", 5);
    ck_assert_int_eq(use_up(path), 5);
    for (int i = 1; i < 4; i++) {
        database_stop_clock(&api.database, START + SECOND + i);
        ck_assert_int_eq(use_up(path), 2);
    }
    path = rate_limit_key("1000000000000/ms", 1000000000000);
    ck_assert_int_eq(use_up(path), 1000000000000);
    database_stop_clock(&api.database, START + SECOND + 4);
    ck_assert_int_eq(use_up(path), 1000000000);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(slow_and_uneven_rates_do_not_drift)
{
    static const struct {
        const char *rate;
        int64_t burst, step, steps, total; // of what comes back
    } cases[] = {
        {"7/3s", 31, 12500000, 24, 700},         // 300 s
        {"7/3s", 1000000000, 299999999, 1, 699}, // and one microsecond before
        {"3/s", 1, 333334, 20, 20},
        {"1/365d", 2, INT64_C(365) * 86400 * SECOND, 3, 3},
        {"11/7ms", 40, 6999, 20, 219},
        {"1000000007/d", 100000, SECOND, 10, 115740},
    };
    int64_t now = START;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = rate_limit_key(cases[i].rate, cases[i].burst);
        database_stop_clock(&api.database, now);
        ck_assert_int_eq(use_up(path), cases[i].burst);
        int64_t total = 0;
        for (int64_t step = 0; step < cases[i].steps; step++) {
            database_stop_clock(&api.database, now += cases[i].step);
            total += use_up(path);
        }
        ck_assert_msg(total == cases[i].total, "%s gave %lld and not %lld", cases[i].rate, (long long)total,
                      (long long)cases[i].total);
    }
    database_shift_clock(&api.database, 0);
}
END_TEST

// RATE-1: at retry_at the same call passes, a microsecond before it does not; and so it does after
// Retry-After.
START_TEST(retry_at_is_exact)
{
    static const char *const rates[] = {"1/s",    "7/3s",    "3/s",       "300/7d",   "5000/s",
                                        "1/365d", "13/11ms", "2000000/s", "999983/m", "1000000007/d"};
    struct random random = random_seeded(random_run_seed(), 0);
    int64_t now = START;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        for (int round = 0; round < 3; round++) {
            int64_t burst = 1 + (int64_t)random_below(&random, 20);
            const char *path = rate_limit_key(rates[i], burst);
            now += (int64_t)random_below(&random, 86400u * 1000000u);
            database_stop_clock(&api.database, now);
            int64_t used = 1 + (int64_t)random_below(&random, (size_t)burst);
            expect_granted(ALLOW(path, used), burst - used);
            if (round % 2) // another phase: within what an interval leaves
                database_stop_clock(&api.database, now += (int64_t)random_below(&random, 3));
            int64_t left = number_in(GET(path), "left");
            int64_t n = left + 1 + (int64_t)random_below(&random, (size_t)(burst - left + 1));
            if (n > burst)
                n = burst;
            if (n <= left)
                continue;
            struct answer *refused = ALLOW(path, n);
            int64_t retry_at = expect_refused(refused, now, left);
            int64_t after = strtoll(answer_need(refused, "Retry-After"), NULL, 10);
            database_stop_clock(&api.database, retry_at - 1);
            ck_reply(refused, !truth_in(ALLOW(path, n), "ok"));
            database_stop_clock(&api.database, round % 3 ? retry_at : now + after * SECOND);
            ck_reply(refused, truth_in(ALLOW(path, n), "ok"));
            now = retry_at + SECOND;
        }
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(absurd_rates_are_refused)
{
    const char *name = name_path("rate-limits", api_bucket());
    static const char *const malformed[] = {"\"100\"",  "\"0/s\"",  "\"-1/s\"",  "\"1/0s\"", "\"1/s/s\"",
                                            "100",      "\"/s\"",   "\"1.5/s\"", "null",     "\"1/3651d\"",
                                            "\"01/s\"", "\" 1/s\"", "\"1/w\"",   "{}"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
        ck_invalid(PUT(name, bytes_of(TEXT("{\"rate\":%s}", malformed[i]))), "rate");
    ck_invalid(PUT(name, BODY("{}")), "rate");
    static const char *const bad[] = {"0", "-1", "1.5", "\"1\"", "null"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_invalid(PUT(name, bytes_of(TEXT("{\"rate\":\"1/s\",\"burst\":%s}", bad[i]))), "burst");
    ck_over_limit(PUT(name, BODY("{\"rate\":\"9223372036854775807/ms\"}")), 422, "overflow", 1000000000000);
    ck_over_limit(PUT(name, BODY("{\"rate\":\"1000000000001/s\"}")), 422, "overflow", 1000000000000);
    ck_over_limit(PUT(name, BODY("{\"rate\":\"1/s\",\"burst\":9223372036854775807}")), 422, "overflow",
                  31536000000);
    ck_over_limit(PUT(name, BODY("{\"rate\":\"1/3650d\",\"burst\":101}")), 422, "overflow", 100);
    ck_over_limit(PUT(name, BODY("{\"rate\":\"1000000000000/ms\",\"burst\":1000000000001}")), 422, "overflow",
                  1000000000000);
    static const char *const beyond[] = {"9223372036854775808/s", "1/3651d"}; // and the detail tells why
    for (int i = 0; i < 2; i++) {
        struct answer *refused = PUT(name, bytes_of(TEXT("{\"rate\":\"%s\"}", beyond[i])));
        ck_invalid(refused, "rate");
        ck_assert_ptr_nonnull(strstr(answer_text(refused, "detail"), "1000000000000"));
        ck_assert_ptr_nonnull(strstr(answer_text(refused, "detail"), "3650d"));
    }
    ck_problem(GET(name), 404, "not_found");
    ck_status(PUT(name, BODY("{\"rate\":\"1/3650d\",\"burst\":100}")), 201);
    const char *path = TEXT("%s/k", name);
    database_stop_clock(&api.database, START);
    expect_granted(ALLOW(path, 100), 0);
    // A hundred times ten years of 365 days.
    ck_assert_int_eq(expect_refused(ALLOW(path, 100), START, 0), START + INT64_C(365000) * 86400 * SECOND);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(moments_stay_within_the_calendar)
{
    const char *path = rate_limit_key("1000000000000/s", 1000000000000);
    database_stop_clock(&api.database, START);
    expect_granted(ALLOW(path, 1000000000000), 0);
    declare_anew(path, "1/3650d", 1);
    ck_assert_pstr_eq(answer_text(ALLOW(path, 1), "retry_at"), "9999-12-31T23:59:59.999999Z");
    ck_assert_pstr_eq(answer_text(GET(path), "retry_at"), "9999-12-31T23:59:59.999999Z");
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(changed_rate_takes_effect_at_once_and_loses_nothing)
{
    database_stop_clock(&api.database, START);
    const char *path = rate_limit_key("1/s", 10);
    ck_assert_int_eq(use_up(path), 10);
    // Two seconds at the old rate, then the new one for what is still used.
    database_stop_clock(&api.database, START + 2 * SECOND);
    declare_anew(path, "10/s", 10);
    expect_granted(GET(path), 2);
    database_stop_clock(&api.database, START + 2 * SECOND + 100000);
    expect_granted(GET(path), 3);
    database_stop_clock(&api.database, START + 2 * SECOND + 799999);
    expect_granted(GET(path), 9);
    expect_granted(ALLOW(path, 1), 8);
    // Slower: what was used flows back more slowly from now on.
    declare_anew(path, "1/m", 10);
    expect_granted(GET(path), 8);
    // A rate that is written otherwise is the same rate.
    declare_anew(path, "60/h", 10);
    expect_granted(GET(path), 8);
    // A lower burst: what is used counts against it.
    ck_assert_int_eq(use_up(path), 8);
    declare_anew(path, "60/h", 4);
    struct answer *refused = ALLOW(path, 1);
    int64_t now = START + 2 * SECOND + 799999;
    int64_t retry_at = expect_refused(refused, now, 0);
    database_stop_clock(&api.database, retry_at - 1);
    expect_refused(ALLOW(path, 1), retry_at - 1, 0);
    database_stop_clock(&api.database, retry_at);
    expect_granted(ALLOW(path, 1), 0);
    // A higher burst is there at once.
    declare_anew(path, "60/h", 14);
    expect_granted(GET(path), 10);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(clock_that_steps_back_gives_nothing_twice)
{
    database_stop_clock(&api.database, START);
    const char *path = rate_limit_key("1/s", 5);
    ck_assert_int_eq(use_up(path), 5);
    database_stop_clock(&api.database, START + 3 * SECOND);
    ck_assert_int_eq(use_up(path), 3);
    database_stop_clock(&api.database, START - 3600 * SECOND);
    int64_t retry_at = expect_refused(ALLOW(path, 1), START - 3600 * SECOND, 0);
    ck_assert_int_eq(retry_at, START + 4 * SECOND);
    database_stop_clock(&api.database, START + 3 * SECOND);
    expect_refused(ALLOW(path, 1), START + 3 * SECOND, 0);
    database_stop_clock(&api.database, START + 4 * SECOND);
    ck_assert_int_eq(use_up(path), 1);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(allow_takes_all_or_none)
{
    database_stop_clock(&api.database, START);
    const char *path = rate_limit_key("1/h", 5);
    ck_over_limit(ALLOW(path, 6), 400, "invalid", 5);
    ck_invalid(ALLOW(path, 6), "n");
    expect_granted(ALLOW(path, 3), 2);
    for (int i = 0; i < 3; i++)
        expect_refused(ALLOW(path, 3), START, 2);
    expect_granted(ALLOW(path, 2), 0);
    static const char *const bad[] = {"0", "-1", "1.5", "\"1\"", "null", "true", "-9223372036854775808"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_invalid(POST(TEXT("%s/allow", path), bytes_of(TEXT("{\"n\":%s}", bad[i]))), "n");
    ck_invalid(POST(TEXT("%s/allow", path), BODY("{\"m\":1}")), "m");
    ck_problem(ALLOW(key_path("rate-limits", api_bucket(), "k"), 1), 404, "not_found");
    ck_problem(GET(key_path("rate-limits", api_bucket(), "k")), 404, "not_found");
    ck_problem(DELETE(key_path("rate-limits", api_bucket(), "k")), 404, "not_found");
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(rate_limit_configuration_is_whole)
{
    const char *name = declared("rate-limits", "{\"rate\":\"300/168h\"}");
    struct answer *shown = GET(name_path("rate-limits", name));
    ck_assert_uint_eq(json_object_size(shown->json), 6);
    ck_assert_pstr_eq(answer_text(shown, "kind"), "rate_limit");
    ck_assert_pstr_eq(answer_text(shown, "rate"), "300/7d");
    ck_assert_int_eq(number_in(shown, "burst"), 300); // what the rate gives in its duration
    ck_assert(json_is_null(json_object_get(shown->json, "lose_at_most")));
    shown = PUT(name_path("rate-limits", name), BODY("{\"rate\":\"100/1s\",\"burst\":20}"));
    ck_status(shown, 200);
    ck_assert_pstr_eq(answer_text(shown, "rate"), "100/s");
    ck_assert_int_eq(number_in(shown, "burst"), 20);
}
END_TEST

START_TEST(ratelimit_fields_tell_of_a_rate_limit)
{
    database_stop_clock(&api.database, START);
    const char *path = rate_limit_key("2/s", 5);
    ck_header(GET(path), "RateLimit-Policy", "\"default\";q=5;w=3"); // two and a half seconds
    ck_header(GET(path), "RateLimit", "\"default\";r=5");
    ck_header(ALLOW(path, 3), "RateLimit", "\"default\";r=2;t=1"); // the third in half a second
    struct answer *refused = ALLOW(path, 5);
    ck_header(refused, "RateLimit", "\"default\";r=2;t=1");
    ck_header(refused, "Retry-After", "2"); // all five in a second and a half
    refused = ALLOW(path, 3);
    ck_header(refused, "RateLimit", "\"default\";r=2;t=1");
    ck_header(refused, "Retry-After", "1");
    database_shift_clock(&api.database, 0);
}
END_TEST

// t says when more is left than now, after an allowed call, a refused one, and to who only looks.
START_TEST(ratelimit_t_means_the_same_after_every_call)
{
    database_stop_clock(&api.database, START);
    const char *path = rate_limit_key("1/5s", 3);
    ck_header(ALLOW(path, 1), "RateLimit", "\"default\";r=2;t=5");
    database_stop_clock(&api.database, START + 2 * SECOND);
    ck_header(GET(path), "RateLimit", "\"default\";r=2;t=3");
    ck_header(ALLOW(path, 2), "RateLimit", "\"default\";r=0;t=3");
    struct answer *refused = ALLOW(path, 1);
    ck_header(refused, "RateLimit", "\"default\";r=0;t=3");
    ck_header(refused, "Retry-After", "3");
    refused = ALLOW(path, 3);
    ck_header(refused, "RateLimit", "\"default\";r=0;t=3");
    ck_header(refused, "Retry-After", "13");
    ck_header(GET(path), "RateLimit", "\"default\";r=0;t=3");
    // A burst that is lower than what is used: until there is anything.
    declare_anew(path, "1/5s", 1);
    ck_header(GET(path), "RateLimit", "\"default\";r=0;t=13");
    refused = ALLOW(path, 1);
    ck_header(refused, "RateLimit", "\"default\";r=0;t=13");
    ck_header(refused, "Retry-After", "13");
    database_stop_clock(&api.database, START + 15 * SECOND);
    ck_header(GET(path), "RateLimit", "\"default\";r=1");
    database_shift_clock(&api.database, 0);
}
END_TEST

Suite *rate_limits_suite(void)
{
    const TTest *const tests[] = {
        burst_at_once_then_the_rate,
        fast_rates_are_exact,
        slow_and_uneven_rates_do_not_drift,
        retry_at_is_exact,
        absurd_rates_are_refused,
        moments_stay_within_the_calendar,
        changed_rate_takes_effect_at_once_and_loses_nothing,
        clock_that_steps_back_gives_nothing_twice,
        allow_takes_all_or_none,
        rate_limit_configuration_is_whole,
        ratelimit_fields_tell_of_a_rate_limit,
        ratelimit_t_means_the_same_after_every_call,
        NULL,
    };
    return api_suite("rate_limits", NULL, tests);
}
