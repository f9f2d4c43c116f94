// Durations and rates: the table of what is accepted, what is refused, and that writing and reading agree.
#include "unit.h"

#include "base/duration.h"

#define SECOND INT64_C(1000000)

START_TEST(duration_reads_every_unit)
{
    static const struct {
        const char *text;
        int64_t us;
    } good[] = {{"1ms", 1000},
                {"100ms", 100000},
                {"1s", SECOND},
                {"90s", 90 * SECOND},
                {"15m", 900 * SECOND},
                {"1h", 3600 * SECOND},
                {"30d", INT64_C(30) * 86400 * SECOND},
                {"3650d", DURATION_MAX_US},
                {"87600h", DURATION_MAX_US},
                {"315360000000ms", DURATION_MAX_US}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t us = 77;
        ck_assert_msg(duration_parse(bytes_of(good[i].text), &us), "%s", good[i].text);
        ck_assert_int_eq(us, good[i].us);
    }
}
END_TEST

START_TEST(duration_refuses_zero_negative_and_absurd)
{
    static const char *const bad[] = {"",
                                      "0s",
                                      "0ms",
                                      "-1s",
                                      "10",
                                      "10ss",
                                      "1.5h",
                                      "3651d",
                                      "87601h",
                                      "315360000001ms",
                                      "99999999999999999999s",
                                      "9223372036854775807d",
                                      "9223372036854775807ms",
                                      "s",
                                      "ms",
                                      "01s",
                                      "+1s",
                                      " 1s",
                                      "1s ",
                                      "1 s",
                                      "1S",
                                      "1M",
                                      "1w",
                                      "1y",
                                      "1us",
                                      "1min",
                                      "1e3s",
                                      "1s\n",
                                      "0x1s",
                                      "1h30m",
                                      "106751991167300d",
                                      "5124095576030431h"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t us = 77;
        ck_assert_msg(!duration_parse(bytes_of(bad[i]), &us), "%s", bad[i]);
        ck_assert_int_eq(us, 77);
    }
    int64_t us = 77;
    ck_assert(!duration_parse(B("1s\0"), &us));
    ck_assert(!duration_parse(bytes_make(NULL, 0), &us));
}
END_TEST

START_TEST(duration_is_written_with_the_largest_unit_that_divides_it)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {{60 * SECOND, "1m"},
                 {90 * SECOND, "90s"},
                 {86400 * SECOND, "1d"},
                 {3600 * SECOND, "1h"},
                 {5400 * SECOND, "90m"},
                 {1000, "1ms"},
                 {1500000, "1500ms"},
                 {36 * 3600 * SECOND, "36h"},
                 {DURATION_MAX_US, "3650d"},
                 {7 * 86400 * SECOND, "7d"},
                 {SECOND, "1s"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[24];
        duration_format(cases[i].us, out);
        ck_assert_str_eq(out, cases[i].text);
    }
}
END_TEST

START_TEST(duration_reads_back_what_it_wrote)
{
    struct random random = random_seeded(7, 0);
    for (int round = 0; round < 30000; round++) {
        uint64_t ms = 1 + random_next(&random) % (uint64_t)(DURATION_MAX_US / 1000);
        int64_t us = (int64_t)(ms >> random_below(&random, 30)) * 1000;
        if (us == 0)
            continue;
        char out[24];
        int64_t back = 0;
        duration_format(us, out);
        ck_assert_msg(duration_parse(bytes_of(out), &back), "%s", out);
        ck_assert_int_eq(back, us);
    }
}
END_TEST

START_TEST(rate_reads_counts_and_periods)
{
    static const struct {
        const char *text;
        int64_t count;
        int64_t us;
    } good[] = {{"100/s", 100, SECOND},    {"100/1s", 100, SECOND},
                {"5/10s", 5, 10 * SECOND}, {"300/7d", 300, INT64_C(7) * 86400 * SECOND},
                {"1/ms", 1, 1000},         {"9223372036854775807/d", INT64_MAX, 86400 * SECOND},
                {"2/m", 2, 60 * SECOND},   {"3/h", 3, 3600 * SECOND}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t count = 77;
        int64_t us = 77;
        ck_assert_msg(rate_parse(bytes_of(good[i].text), &count, &us), "%s", good[i].text);
        ck_assert_int_eq(count, good[i].count);
        ck_assert_int_eq(us, good[i].us);
    }
}
END_TEST

START_TEST(rate_refuses_what_is_malformed)
{
    static const char *const bad[] = {
        "",        "100",    "/s",     "100/",      "0/s",    "-1/s",
        "01/s",    "1.5/s",  "100/0s", "100/3651d", "100 /s", "100/ s",
        "100/s/s", "100/10", "100//s", "+1/s",      "1e3/s",  "9223372036854775808/s",
        "100/S",   "s/100"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t count = 77;
        int64_t us = 77;
        ck_assert_msg(!rate_parse(bytes_of(bad[i]), &count, &us), "%s", bad[i]);
        ck_assert_int_eq(count, 77);
        ck_assert_int_eq(us, 77);
    }
}
END_TEST

START_TEST(rate_is_written_in_the_shortest_form)
{
    static const struct {
        int64_t count, us;
        const char *text;
    } good[] = {{100, SECOND, "100/s"},
                {5, 10 * SECOND, "5/10s"},
                {60, 60 * SECOND, "60/m"},
                {300, INT64_C(168) * 3600 * SECOND, "300/7d"},
                {1, 1000, "1/ms"},
                {1, 1500000, "1/1500ms"},
                {1, INT64_C(11) * 86400 * SECOND, "1/11d"},
                {INT64_MAX, DURATION_MAX_US, "9223372036854775807/3650d"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char out[48];
        int64_t count, us;
        rate_format(good[i].count, good[i].us, out);
        ck_assert_str_eq(out, good[i].text);
        ck_assert(rate_parse(bytes_of(out), &count, &us));
        ck_assert_int_eq(count, good[i].count);
        ck_assert_int_eq(us, good[i].us);
    }
}
END_TEST

Suite *duration_suite(void)
{
    const TTest *tests[] = {
        duration_reads_every_unit,
        duration_refuses_zero_negative_and_absurd,
        duration_is_written_with_the_largest_unit_that_divides_it,
        duration_reads_back_what_it_wrote,
        rate_reads_counts_and_periods,
        rate_refuses_what_is_malformed,
        rate_is_written_in_the_shortest_form,
        NULL,
    };
    return suite_of("duration", tests);
}
