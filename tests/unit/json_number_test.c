// Numbers in RFC 8785's form, for any double and in any locale.
#include "unit.h"

#include "base/json_number.h"
#include "base/json_text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void assert_written(double n, const char *expected)
{
    struct buffer out = {0};
    json_number_add_double(&out, n);
    ck_assert_msg(bytes_is(buffer_view(&out), expected), "%.*s, not %s", (int)out.size,
                  (const char *)out.data, expected);
    buffer_free(&out);
}

static double of_bits(uint64_t bits)
{
    double n;
    memcpy(&n, &bits, sizeof n);
    return n;
}

// The samples of RFC 8785 appendix B that are numbers.
START_TEST(number_is_written_as_rfc_8785_shows)
{
    static const struct {
        uint64_t bits;
        const char *text;
    } samples[] = {
        {0x0000000000000000, "0"},
        {0x8000000000000000, "0"},
        {0x0000000000000001, "5e-324"},
        {0x8000000000000001, "-5e-324"},
        {0x7fefffffffffffff, "1.7976931348623157e+308"},
        {0xffefffffffffffff, "-1.7976931348623157e+308"},
        {0x4340000000000000, "9007199254740992"},
        {0xc340000000000000, "-9007199254740992"},
        {0x4430000000000000, "295147905179352830000"},
        {0x44b52d02c7e14af5, "9.999999999999997e+22"},
        {0x44b52d02c7e14af6, "1e+23"},
        {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
        {0x444b1ae4d6e2ef4e, "999999999999999700000"},
        {0x444b1ae4d6e2ef4f, "999999999999999900000"},
        {0x444b1ae4d6e2ef50, "1e+21"},
        {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
        {0x3eb0c6f7a0b5ed8d, "0.000001"},
        {0x41b3de4355555553, "333333333.3333332"},
        {0x41b3de4355555554, "333333333.33333325"},
        {0x41b3de4355555555, "333333333.3333333"},
        {0x41b3de4355555556, "333333333.3333334"},
        {0x41b3de4355555557, "333333333.33333343"},
        {0xbecbf647612f3696, "-0.0000033333333333333333"},
        {0x43143ff3c1cb0959, "1424953923781206.2"},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        assert_written(of_bits(samples[i].bits), samples[i].text);
}
END_TEST

START_TEST(number_is_written_plainly_where_people_look)
{
    assert_written(100, "100");
    assert_written(0.1, "0.1");
    assert_written(-2.5, "-2.5");
    assert_written(1e20, "100000000000000000000");
    assert_written(1e-7, "1e-7");
    assert_written(123456.789, "123456.789");
    assert_written(0.05, "0.05");
    // A power of two, whose shortest form is not the nearest decimal of that length.
    assert_written(0x1p-44, "5.684341886080802e-14");
    assert_written(0x1p-1074 * 3, "1.5e-323");
}
END_TEST

// How many digits of a number there are without its sign, exponent and zeros at the ends.
static int significant_digits(struct bytes number)
{
    int count = 0;
    int zeros = 0;
    for (size_t i = 0; i < number.size && number.data[i] != 'e'; i++) {
        if (number.data[i] == '0') {
            zeros += count > 0;
        } else if (number.data[i] >= '1' && number.data[i] <= '9') {
            count += zeros + 1;
            zeros = 0;
        }
    }
    return count;
}

START_TEST(number_reads_back_as_the_same_double)
{
    struct random random = random_seeded(random_run_seed(), 26);
    for (int round = 0; round < 20000; round++) {
        double n = of_bits(random_next(&random));
        if (round % 4 == 0)
            n = ldexp(1, (int)random_below(&random, 2098) - 1074);
        if (!isfinite(n))
            continue;
        struct buffer out = {0};
        json_number_add_double(&out, n);
        ck_assert_int_eq(json_check(buffer_view(&out), 0), JSON_VALID);
        double back = json_number_as_double(buffer_view(&out));
        ck_assert_msg(memcmp(&back, &n, sizeof n) == 0, "%a was written %.*s", n, (int)out.size,
                      (const char *)out.data);
        int digits = significant_digits(buffer_view(&out));
        char shorter[40];
        snprintf(shorter, sizeof shorter, "%.*e", digits > 1 ? digits - 2 : 0, n);
        ck_assert_msg(digits == 1 || json_number_as_double(bytes_of(shorter)) != n, "%s would do", shorter);
        buffer_free(&out);
    }
}
END_TEST

START_TEST(number_of_any_length_is_read)
{
    char text[1000];
    memset(text, '0', sizeof text);
    text[0] = '1';
    ck_assert(isinf(json_number_as_double(bytes_make(text, sizeof text))));
    text[1] = '.';
    ck_assert(json_number_as_double(bytes_make(text, sizeof text)) == 1);
    for (size_t size = 60; size < 70; size++)
        ck_assert(json_number_as_double(bytes_make(text, size)) == 1);
    ck_assert(json_number_as_double(B("1e400")) == HUGE_VAL);
    ck_assert(json_number_as_double(B("-1e400")) == -HUGE_VAL);
    ck_assert(json_number_as_double(B("1e-400")) == 0);
}
END_TEST

START_TEST(number_within_64_bits_is_exact)
{
    int64_t n;
    ck_assert(json_number_int64(B("9223372036854775807"), &n) && n == INT64_MAX);
    ck_assert(json_number_int64(B("-9223372036854775808"), &n) && n == INT64_MIN);
    ck_assert(json_number_int64(B("-0"), &n) && n == 0);
    ck_assert(!json_number_int64(B("9223372036854775808"), &n));
    ck_assert(!json_number_int64(B("-9223372036854775809"), &n));
    char digits[100];
    memset(digits, '1', sizeof digits);
    ck_assert(!json_number_int64(bytes_make(digits, sizeof digits), &n));
    ck_assert(json_number_is_plain_integer(B("-12")));
    ck_assert(!json_number_is_plain_integer(B("1.0")));
    ck_assert(!json_number_is_plain_integer(B("1e0")));
    ck_assert(!json_number_is_plain_integer(B("1E0")));
}
END_TEST

// Makes in `folder` a locale "comma" that has nothing but a decimal comma, in the form that glibc reads.
static void make_comma_locale(const char *folder)
{
    struct {
        uint32_t magic;
        uint32_t fields;
        uint32_t offsets[6];
        char decimal_point[4];
        char thousands_sep[4]; // and grouping: none
        uint32_t wide_decimal_point;
        uint32_t wide_thousands_sep;
        char codeset[8];
    } numeric = {.magic = 0x20031115 ^ LC_NUMERIC,
                 .fields = 6,
                 .offsets = {32, 36, 37, 40, 44, 48},
                 .decimal_point = ",",
                 .wide_decimal_point = ',',
                 .codeset = "UTF-8"};
    char path[64];
    snprintf(path, sizeof path, "%s/comma", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(&numeric, sizeof numeric, 1, file), 1);
    ck_assert_int_eq(fclose(file), 0);
}

static void remove_comma_locale(const char *folder)
{
    char path[64];
    snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/comma", folder);
    rmdir(path);
    rmdir(folder);
}

START_TEST(number_has_a_point_where_the_locale_has_a_comma)
{
    char folder[] = "/tmp/holdfast-locale-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    make_comma_locale(folder);
    ck_assert_int_eq(setenv("LOCPATH", folder, 1), 0);
    const char *set = setlocale(LC_NUMERIC, "comma");
    unsetenv("LOCPATH");
    remove_comma_locale(folder);
    ck_assert_ptr_nonnull(set);
    char text[8];
    snprintf(text, sizeof text, "%.1f", 0.5);
    ck_assert_str_eq(text, "0,5"); // the locale is in force

    assert_written(0.5, "0.5");
    assert_written(1.25e-7, "1.25e-7");
    ck_assert(json_number_as_double(B("0.5")) == 0.5);
    ck_assert(json_is_finite_number(B("1.7976931348623157e308")));
    ck_assert(!json_is_finite_number(B("1.7976931348623159e308")));
    snprintf(text, sizeof text, "%.1f", 0.5);
    ck_assert_str_eq(text, "0,5"); // and still is
    setlocale(LC_NUMERIC, "C");
}
END_TEST

Suite *json_number_suite(void)
{
    const TTest *tests[] = {
        number_is_written_as_rfc_8785_shows,
        number_is_written_plainly_where_people_look,
        number_reads_back_as_the_same_double,
        number_of_any_length_is_read,
        number_within_64_bits_is_exact,
        number_has_a_point_where_the_locale_has_a_comma,
        NULL,
    };
    return suite_of("json_number", tests);
}
