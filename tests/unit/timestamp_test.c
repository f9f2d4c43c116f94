// Times: against the C library's calendar over ten thousand years, and what RFC 3339 allows and refuses.
#include "unit.h"

#include "base/timestamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define SECOND   INT64_C(1000000)
#define EARLIEST (INT64_C(-62135596800) * SECOND)
#define LATEST   (INT64_C(253402300800) * SECOND - 1)

static int64_t random_time(struct random *random)
{
    return EARLIEST + (int64_t)(random_next(random) % (uint64_t)(LATEST - EARLIEST + 1));
}

static void library_format(int64_t us, char out[64])
{
    int64_t second = us / SECOND - (us % SECOND < 0);
    time_t t = (time_t)second;
    struct tm tm;
    ck_assert_ptr_nonnull(gmtime_r(&t, &tm));
    snprintf(out, 64, "%04d-%02d-%02dT%02d:%02d:%02d.%06" PRId64 "Z", tm.tm_year + 1900, tm.tm_mon + 1,
             tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, us - second * SECOND);
}

START_TEST(timestamp_agrees_with_the_library_on_random_times)
{
    struct random random = random_seeded(8, 0);
    for (int round = 0; round < 30000; round++) {
        int64_t us = random_time(&random);
        char expected[64];
        char out[TIMESTAMP_SIZE];
        library_format(us, expected);
        timestamp_format(us, out);
        int64_t back = 0;
        if (strcmp(out, expected) != 0 || !timestamp_parse(bytes_of(out), &back) || back != us)
            ck_abort_msg("%s for %s", out, expected);
    }
}
END_TEST

START_TEST(timestamp_agrees_with_timegm_on_every_day)
{
    for (int year = 1; year <= 9999; year += year > 1850 && year < 2150 ? 1 : 7)
        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= 31; day++) {
                struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = 12};
                time_t expected = timegm(&tm);
                bool exists = tm.tm_mon == month - 1 && tm.tm_mday == day;
                char text[64];
                snprintf(text, sizeof text, "%04d-%02d-%02dT12:00:00Z", year, month, day);
                int64_t us = 0;
                bool read = timestamp_parse(bytes_of(text), &us);
                if (read != exists || (exists && us != (int64_t)expected * SECOND))
                    ck_abort_msg("%s", text);
            }
}
END_TEST

START_TEST(timestamp_reads_offsets_as_utc)
{
    struct random random = random_seeded(9, 0);
    for (int round = 0; round < 20000; round++) {
        int64_t us = random_time(&random);
        int64_t minutes = (int64_t)random_below(&random, 24 * 60);
        bool east = random_below(&random, 2) == 0;
        int64_t local = us + (east ? minutes : -minutes) * 60 * SECOND;
        if (local < EARLIEST || local > LATEST)
            continue;
        char text[64];
        library_format(local, text);
        snprintf(strchr(text, 'Z'), 32, "%c%02d:%02d", east ? '+' : '-', (int)(minutes / 60),
                 (int)(minutes % 60));
        int64_t back = 0;
        ck_assert_msg(timestamp_parse(bytes_of(text), &back), "%s", text);
        ck_assert_int_eq(back, us);
    }
}
END_TEST

START_TEST(timestamp_accepts_the_forms_of_rfc_3339)
{
    static const struct {
        const char *text;
        int64_t us;
    } good[] = {{"1970-01-01T00:00:00Z", 0},
                {"1970-01-01t00:00:00z", 0},
                {"1970-01-01T00:00:00.5Z", 500000},
                {"1970-01-01T00:00:00.123456Z", 123456},
                {"1970-01-01T00:00:00.123456999Z", 123456},
                {"1969-12-31T23:59:59.9999999Z", -1},
                {"1970-01-01T00:00:00.000000001Z", 0},
                {"1970-01-01T01:00:00+01:00", 0},
                {"1969-12-31T23:00:00-01:00", 0},
                {"1970-01-01T00:00:00-00:00", 0},
                {"2024-02-29T00:00:00Z", INT64_C(1709164800) * SECOND},
                {"2000-02-29T23:59:59Z", INT64_C(951868799) * SECOND},
                {"0001-01-01T00:00:00Z", EARLIEST},
                {"9999-12-31T23:59:59.999999Z", LATEST},
                {"9999-12-31T23:59:59.999999999Z", LATEST}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t us = 77;
        struct bytes text = exact_copy(bytes_of(good[i].text));
        ck_assert_msg(timestamp_parse(text, &us), "%s", good[i].text);
        ck_assert_int_eq(us, good[i].us);
        exact_free(text);
    }
}
END_TEST

START_TEST(timestamp_refuses_what_is_malformed_or_not_on_the_calendar)
{
    static const char *const bad[] = {"",
                                      "2024",
                                      "2024-01-01",
                                      "2024-01-01T00:00Z",
                                      "2024-01-01T00:00:00",
                                      "2024-01-01 00:00:00Z",
                                      "2024-01-01T00:00:00.Z",
                                      "2024-01-01T00:00:00.1234567890Z",
                                      "2024-01-01T00:00:00,5Z",
                                      "2024-1-01T00:00:00Z",
                                      "24-01-01T00:00:00Z",
                                      "+2024-01-01T00:00:00Z",
                                      "-024-01-01T00:00:00Z",
                                      "20240101T000000Z",
                                      "2024-01-01T00:00:00ZZ",
                                      "2024-01-01T00:00:00Z ",
                                      " 2024-01-01T00:00:00Z",
                                      "2024-01-01T00:00:00+0100",
                                      "2024-01-01T00:00:00+01",
                                      "2024-01-01T00:00:00+24:00",
                                      "2024-01-01T00:00:00+00:60",
                                      "2024-01-01T00:00:00 01:00",
                                      "2024-01-01T24:00:00Z",
                                      "2024-01-01T00:60:00Z",
                                      "2024-01-01T00:00:60Z",
                                      "2016-12-31T23:59:60Z",
                                      "2024-00-01T00:00:00Z",
                                      "2024-13-01T00:00:00Z",
                                      "2024-01-00T00:00:00Z",
                                      "2024-01-32T00:00:00Z",
                                      "2023-02-29T00:00:00Z",
                                      "1900-02-29T00:00:00Z",
                                      "2024-02-30T00:00:00Z",
                                      "2024-04-31T00:00:00Z",
                                      "2024/01/01T00:00:00Z",
                                      "2024-01-01T00-00-00Z",
                                      "0000-12-31T00:00:00Z",
                                      "0001-01-01T00:00:00+00:01",
                                      "9999-12-31T23:59:59-00:01",
                                      "10000-01-01T00:00:00Z",
                                      "infinity",
                                      "now",
                                      "2024-01-0aT00:00:00Z"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t us = 77;
        struct bytes text = exact_copy(bytes_of(bad[i]));
        ck_assert_msg(!timestamp_parse(text, &us), "%s", bad[i]);
        ck_assert_int_eq(us, 77);
        exact_free(text);
    }
}
END_TEST

START_TEST(timestamp_refuses_every_cut_of_a_good_text)
{
    struct bytes whole = B("2026-01-31T23:59:59.123456+01:00");
    int64_t us;
    ck_assert(timestamp_parse(whole, &us));
    for (size_t size = 0; size < whole.size; size++) {
        struct bytes cut = exact_copy(bytes_make(whole.data, size));
        ck_assert(!timestamp_parse(cut, &us));
        exact_free(cut);
    }
}
END_TEST

START_TEST(timestamp_outside_the_years_is_written_as_the_nearest)
{
    char out[TIMESTAMP_SIZE];
    timestamp_format(INT64_MIN, out);
    ck_assert_str_eq(out, "0001-01-01T00:00:00.000000Z");
    timestamp_format(INT64_MAX, out);
    ck_assert_str_eq(out, "9999-12-31T23:59:59.999999Z");
}
END_TEST

START_TEST(timestamp_clocks_run)
{
    int64_t before = (int64_t)time(NULL);
    int64_t now = timestamp_now() / SECOND;
    ck_assert_int_ge(now, before - 1);
    ck_assert_int_le(now, (int64_t)time(NULL) + 1);
    int64_t last = timestamp_monotonic();
    int64_t first = last;
    while (last == first) {
        int64_t next = timestamp_monotonic();
        ck_assert_int_ge(next, last);
        last = next;
    }
}
END_TEST

Suite *timestamp_suite(void)
{
    const TTest *tests[] = {
        timestamp_agrees_with_the_library_on_random_times,
        timestamp_agrees_with_timegm_on_every_day,
        timestamp_reads_offsets_as_utc,
        timestamp_accepts_the_forms_of_rfc_3339,
        timestamp_refuses_what_is_malformed_or_not_on_the_calendar,
        timestamp_refuses_every_cut_of_a_good_text,
        timestamp_outside_the_years_is_written_as_the_nearest,
        timestamp_clocks_run,
        NULL,
    };
    return suite_of("timestamp", tests);
}
