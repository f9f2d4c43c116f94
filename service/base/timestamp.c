// RFC 3339 times by arithmetic on the proleptic Gregorian calendar: no time zone files, no locale, no shared
// state.
#include "base/timestamp.h"

#include <time.h>

#define SECOND     INT64_C(1000000)
#define DAY        (86400 * SECOND)
#define EARLIEST   (-719162 * DAY)     // 0001-01-01T00:00:00Z
#define LATEST     (2932897 * DAY - 1) // 9999-12-31T23:59:59.999999Z
#define ERA_DAYS   146097              // four hundred years
#define ERA_OFFSET 719468              // days from 0000-03-01 to 1970-01-01

struct date {
    int64_t year;
    int64_t month; // 1 to 12
    int64_t day;   // 1 to 31
};

// Years are counted from March, so that the leap day is the last of a year.
static int64_t days_of(struct date date)
{
    int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t month_from_march = (date.month + 9) % 12;
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * ERA_DAYS + day_of_era - ERA_OFFSET;
}

static struct date date_of(int64_t days)
{
    days += ERA_OFFSET;
    int64_t era = (days >= 0 ? days : days - (ERA_DAYS - 1)) / ERA_DAYS;
    int64_t day_of_era = days - era * ERA_DAYS;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    int64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    return (struct date){year_of_era + era * 400 + (month <= 2), month, day};
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static bool is_date(struct date date)
{
    static const int64_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (date.month < 1 || date.month > 12 || date.day < 1)
        return false;
    bool leap_day = date.month == 2 && date.day == 29 && is_leap(date.year);
    return leap_day || date.day <= lengths[date.month - 1];
}

static char *put_number(char *out, int64_t n, int digits, char behind)
{
    for (int i = digits - 1; i >= 0; i--) {
        out[i] = (char)('0' + n % 10);
        n /= 10;
    }
    out[digits] = behind;
    return out + digits + 1;
}

void timestamp_format(int64_t us, char out[TIMESTAMP_SIZE])
{
    us = us < EARLIEST ? EARLIEST : us > LATEST ? LATEST : us;
    int64_t days = us / DAY - (us % DAY < 0);
    int64_t within = us - days * DAY;
    struct date date = date_of(days);
    char *p = out;
    p = put_number(p, date.year, 4, '-');
    p = put_number(p, date.month, 2, '-');
    p = put_number(p, date.day, 2, 'T');
    p = put_number(p, within / (3600 * SECOND), 2, ':');
    p = put_number(p, within / (60 * SECOND) % 60, 2, ':');
    p = put_number(p, within / SECOND % 60, 2, '.');
    p = put_number(p, within % SECOND, 6, 'Z');
    *p = 0;
}

// What is left to read. After a failure nothing more is read and `good` says so.
struct reader {
    struct bytes left;
    bool good;
};

static uint8_t take(struct reader *reader)
{
    if (reader->left.size == 0) {
        reader->good = false;
        return 0;
    }
    uint8_t c = reader->left.data[0];
    reader->left = bytes_make(reader->left.data + 1, reader->left.size - 1);
    return c;
}

static bool at_digit(const struct reader *reader)
{
    return reader->left.size > 0 && reader->left.data[0] >= '0' && reader->left.data[0] <= '9';
}

static int64_t take_number(struct reader *reader, int digits)
{
    int64_t n = 0;
    for (int i = 0; i < digits; i++) {
        if (!at_digit(reader))
            reader->good = false;
        n = n * 10 + take(reader) - '0';
    }
    return n;
}

static void take_one_of(struct reader *reader, char a, char b)
{
    uint8_t c = take(reader);
    if (c != (uint8_t)a && c != (uint8_t)b)
        reader->good = false;
}

static struct date take_date(struct reader *reader)
{
    struct date date = {0};
    date.year = take_number(reader, 4);
    take_one_of(reader, '-', '-');
    date.month = take_number(reader, 2);
    take_one_of(reader, '-', '-');
    date.day = take_number(reader, 2);
    if (!is_date(date))
        reader->good = false;
    return date;
}

static int64_t take_hour_and_minute(struct reader *reader)
{
    int64_t hour = take_number(reader, 2);
    take_one_of(reader, ':', ':');
    int64_t minute = take_number(reader, 2);
    if (hour > 23 || minute > 59)
        reader->good = false;
    return (hour * 3600 + minute * 60) * SECOND;
}

static int64_t take_seconds(struct reader *reader)
{
    int64_t second = take_number(reader, 2);
    if (second > 59)
        reader->good = false;
    return second * SECOND;
}

static int64_t take_fraction(struct reader *reader)
{
    if (reader->left.size == 0 || reader->left.data[0] != '.')
        return 0;
    take(reader);
    int64_t nanoseconds = 0;
    int digits = 0;
    for (; digits < 9 && at_digit(reader); digits++)
        nanoseconds = nanoseconds * 10 + take(reader) - '0';
    if (digits == 0)
        reader->good = false;
    for (; digits < 9; digits++)
        nanoseconds *= 10;
    return nanoseconds / 1000;
}

static int64_t take_offset(struct reader *reader)
{
    uint8_t c = take(reader);
    if (c == 'Z' || c == 'z')
        return 0;
    if (c != '+' && c != '-')
        reader->good = false;
    int64_t offset = take_hour_and_minute(reader);
    return c == '-' ? -offset : offset;
}

bool timestamp_parse(struct bytes text, int64_t *us)
{
    struct reader reader = {text, true};
    struct date date = take_date(&reader);
    take_one_of(&reader, 'T', 't');
    int64_t within = take_hour_and_minute(&reader);
    take_one_of(&reader, ':', ':');
    within += take_seconds(&reader);
    within += take_fraction(&reader);
    int64_t offset = take_offset(&reader);
    if (!reader.good || reader.left.size != 0)
        return false;
    int64_t moment = days_of(date) * DAY + within - offset;
    if (moment < EARLIEST || moment > LATEST)
        return false;
    *us = moment;
    return true;
}

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec / 1000;
}

int64_t timestamp_now(void)
{
    return clock_us(CLOCK_REALTIME);
}

int64_t timestamp_monotonic(void)
{
    return clock_us(CLOCK_MONOTONIC);
}
