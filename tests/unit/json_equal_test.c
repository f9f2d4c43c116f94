// Comparing JSON by value: each rule by examples, and against a slow comparison of values that jansson holds.
#include "unit.h"

#include "base/json_equal.h"
#include "base/json_text.h"
#include "json_random.h"
#include "support/json_oracle.h"

static bool equal(struct bytes a, struct bytes b)
{
    struct bytes exact_a = exact_copy(a);
    struct bytes exact_b = exact_copy(b);
    bool same = json_text_equal(exact_a, exact_b);
    ck_assert(json_text_equal(exact_b, exact_a) == same);
    exact_free(exact_a);
    exact_free(exact_b);
    return same;
}

static void assert_pairs(const char *const (*pairs)[2], size_t count, bool expected)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(equal(bytes_of(pairs[i][0]), bytes_of(pairs[i][1])) == expected, "%s and %s",
                      pairs[i][0], pairs[i][1]);
}
#define assert_all(pairs, expected) assert_pairs(pairs, sizeof(pairs) / sizeof *(pairs), expected)

START_TEST(equal_numbers_have_equal_values)
{
    static const char *const same[][2] = {
        {"1", "1.0"},
        {"1", "1e0"},
        {"1", "10e-1"},
        {"1", "0.001e3"},
        {"100", "1E+2"},
        {"100", "100.00e-00"},
        {"-12.5", "-0.125e2"},
        {"-12.50", "-125E-1"},
        {"0", "-0"},
        {"0", "-0.0"},
        {"0.0e99999999999999999999999", "-0e-7"},
        {"0.1", "1e-1"},
        {"0.00105", "1.05e-3"},
        {"1000200", "10002e2"},
        {"10.002", "1000.2e-2"},
        {"1e23", "100000000000000000000000"},
        {"1e400", "10e399"},
        {"1e-400", "0.1e-399"},
        {"1e99999999999999999", "0.1e100000000000000000"},
        {"1e0000000000000000000000000000000000005", "100000"},
        {"9007199254740993", "9007199254740993.0"},
        {"12345678901234567890", "1234567890123456789e1"},
    };
    static const char *const different[][2] = {
        {"1", "2"},
        {"1", "-1"},
        {"1", "10"},
        {"1", "0.1"},
        {"12", "1.2"},
        {"12", "102"},
        {"12", "120"},
        {"10.1", "101"},
        {"1", "1.0000000000000003"},
        {"1", "1.00000000000000000000000000000000000000001"},
        {"0.1", "0.10000000000000002"},
        {"0.1", "0.1000000000000000055511151231257827"},
        {"1", "\"1\""},
        {"0", "false"},
        {"0", "null"},
        {"0", "[0]"},
        {"0", "5e-324"},
        {"5e-324", "3e-324"},
        {"0", "1e-400"},
        {"1e400", "1e401"},
        {"1e400", "-1e400"},
        {"1e400", "1e308"},
        {"1e99999999999999999999", "1e99999999999999999998"},
        {"1e99999999999999999999", "1e-99999999999999999999"},
    };
    assert_all(same, true);
    assert_all(different, false);
}
END_TEST

START_TEST(equal_numbers_have_equal_digits)
{
    static const char *const different[][2] = {
        {"9007199254740993", "9007199254740992"},           {"9007199254740993.0", "9007199254740992"},
        {"-9007199254740993", "-9007199254740992"},         {"12345678901234567890", "12345678901234567891"},
        {"[9223372036854775807]", "[9223372036854775806]"}, {"1e23", "99999999999999991611392"},
    };
    assert_all(different, false);
}
END_TEST

// `digits` with a point behind the first `whole` of them, and the exponent that makes up for it.
static void write_decimal(struct buffer *out, const char *digits, int whole, int magnitude)
{
    int count = (int)strlen(digits);
    buffer_clear(out);
    if (whole <= 0)
        buffer_printf(out, "0.%.*s%s", -whole, "000000000000", digits);
    else if (whole < count)
        buffer_printf(out, "%.*s.%s", whole, digits, digits + whole);
    else
        buffer_printf(out, "%s%.*s.00", digits, whole - count, "000000000000");
    buffer_printf(out, "e%d", magnitude - whole);
}

START_TEST(numbers_are_equal_however_they_are_written)
{
    struct random random = random_seeded(6, 0);
    struct buffer a = {0}, b = {0};
    for (int i = 0; i < 20000; i++) {
        char digits[8] = "";
        size_t count = 1 + random_below(&random, 6);
        for (size_t j = 0; j < count; j++)
            digits[j] = (char)('1' + random_below(&random, 3));
        int magnitude = (int)random_below(&random, 9) - 4;
        write_decimal(&a, digits, (int)random_below(&random, 16) - 6, magnitude);
        write_decimal(&b, digits, (int)random_below(&random, 16) - 6, magnitude);
        ck_assert_msg(equal(buffer_view(&a), buffer_view(&b)), "%.*s and %.*s", (int)a.size, (char *)a.data,
                      (int)b.size, (char *)b.data);
        write_decimal(&b, digits, (int)random_below(&random, 16) - 6, magnitude + 1);
        ck_assert(!equal(buffer_view(&a), buffer_view(&b)));
        digits[random_below(&random, count)]++;
        write_decimal(&b, digits, (int)random_below(&random, 16) - 6, magnitude);
        ck_assert(!equal(buffer_view(&a), buffer_view(&b)));
    }
    buffer_free(&a);
    buffer_free(&b);
}
END_TEST

START_TEST(equal_strings_have_equal_characters)
{
    static const char *const same[][2] = {
        {"\"a\"", "\"\\u0061\""},
        {"\"\\u00E9\"", "\"\xc3\xa9\""},
        {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
        {"\"\\b\\f\\n\\r\\t\\\"\\\\\\/\"", "\"\\u0008\\u000c\\u000A\\u000d\\u0009\\u0022\\u005c/\""},
        {"\"\\ud800\"", "\"\\uD800\""},
        {"\"\\udc00\\ud800\"", "\"\\uDC00\\uD800\""},
        {"\"\\ud800\\ud800\\udc00\"", "\"\\ud800\xf0\x90\x80\x80\""},
        {"\"x\\u0000y\"", "\"\\u0078\\u0000y\""},
    };
    static const char *const different[][2] = {
        {"\"a\"", "\"b\""},
        {"\"a\"", "\"A\""},
        {"\"\"", "\"\\u0000\""},
        {"\"a\"", "\"a\\u0000\""},
        {"\"a\\u0000b\"", "\"a\\u0000c\""},
        {"\"\xc3\xa9\"", "\"e\\u0301\""},
        {"\"\\ud800\"", "\"\\udc00\""},
        {"\"\\ud800\"", "\"\xef\xbf\xbd\""},
        {"\"\\\\u0061\"", "\"a\""},
        {"\"null\"", "null"},
        {"\"a\"", "\"\\u0061b\""},
    };
    assert_all(same, true);
    assert_all(different, false);
}
END_TEST

START_TEST(equal_objects_have_equal_members_in_any_order)
{
    static const char *const same[][2] = {
        {"{}", " { } "},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}"},
        {"{\"\\u0061\":1}", "{ \"a\" : 1.0 }"},
        {"{\"a\":{\"x\":[1,{\"p\":1,\"q\":2}],\"y\":2},\"b\":{}}",
         "{\"b\":{},\"a\":{\"y\":2,\"x\":[1,{\"q\":2,\"p\":1}]}}"},
        {"{\"a\":1,\"a\":2}", "{\"a\":2}"},
        {"{\"a\":{\"x\":1},\"a\":2,\"\\u0061\":[{\"y\":0}]}", "{\"a\":[{\"y\":0}]}"},
        {"{\"a\":1,\"b\":[{}],\"a\":{\"c\":[{}]}}", "{\"b\":[{}],\"a\":{\"c\":[{}]}}"},
        {"[{\"a\":[{\"b\":1}]},{\"c\":2},{}]", "[{\"a\":[{\"b\":1}]} , {\"c\":2} , { }]"},
        {"{\"0\":0,\"1\":1,\"2\":2,\"3\":3,\"4\":4,\"5\":5,\"6\":6,\"7\":7,\"8\":8,\"9\":9,\"0\":10}",
         "{\"9\":9,\"8\":8,\"7\":7,\"6\":6,\"5\":5,\"4\":4,\"3\":3,\"2\":2,\"1\":1,\"\\u0030\":10}"},
    };
    static const char *const different[][2] = {
        {"{}", "[]"},
        {"{}", "null"},
        {"{\"a\":1}", "{}"},
        {"{\"a\":1}", "{\"a\":2}"},
        {"{\"a\":1}", "{\"b\":1}"},
        {"{\"a\":null}", "{}"},
        {"{\"a\":1,\"a\":2}", "{\"a\":1}"},
        {"{\"a\":1,\"b\":1}", "{\"a\":1,\"c\":1}"},
        {"{\"a\":1,\"a\":1}", "{\"a\":1,\"b\":1}"},
        {"{\"a\":{\"b\":{\"c\":1}}}", "{\"a\":{\"b\":{\"c\":2}}}"},
        {"{\"a\\u0000b\":1}", "{\"a\\u0000c\":1}"},
        {"[{\"a\":1},{\"b\":1}]", "[{\"b\":1},{\"a\":1}]"},
        {"[{},{\"a\":1}]", "[{},{\"a\":2}]"},
    };
    assert_all(same, true);
    assert_all(different, false);
}
END_TEST

START_TEST(equal_arrays_have_equal_elements_in_order)
{
    static const char *const same[][2] = {
        {"[]", "[ ]"},
        {"[1,[2,[3]],true,false,null]", "[ 1.0 , [ 2 , [ 3 ] ] , true , false , null ]"},
        {"[[],[]]", "[ [ ] , [ ] ]"},
        {"[[[]],{\"a\":[]},1]", "[[[] ] , {\"a\":[] } ,1]"},
    };
    static const char *const different[][2] = {
        {"[]", "[null]"},       {"[1]", "[1,1]"},      {"[1,2]", "[2,1]"},   {"[[]]", "[]"},
        {"[[1],2]", "[[1,2]]"}, {"[true]", "[false]"}, {"[1,2,3]", "[1,2]"}, {"[[],[]]", "[[]]"},
    };
    assert_all(same, true);
    assert_all(different, false);
}
END_TEST

START_TEST(equal_says_no_of_what_is_not_json)
{
    static const char *const bad[] = {"",    " ",   "{",         "{\"a\":1", "[1,]",
                                      "nul", "1 1", "\"\\ud8\"", "\xff",     "{\"a\":1}}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert(!equal(bytes_of(bad[i]), B("1")));
        ck_assert(!equal(bytes_of(bad[i]), B("{\"a\":1}")));
        ck_assert(equal(bytes_of(bad[i]), bytes_of(bad[i])));
    }
}
END_TEST

START_TEST(equal_goes_as_deep_as_stored_json)
{
    for (unsigned deep = JSON_STORED_DEPTH; deep <= JSON_STORED_DEPTH + 1; deep++) {
        struct buffer a = {0};
        struct buffer b = {0};
        for (unsigned i = 0; i < deep; i++) {
            buffer_add_text(&a, i % 2 ? "{\"a\":" : "[");
            buffer_add_text(&b, i % 2 ? "{ \"a\" : " : "[ ");
        }
        buffer_add_char(&a, '1');
        buffer_add_char(&b, '1');
        for (unsigned i = deep; i > 0; i--) {
            buffer_add_char(&a, (i - 1) % 2 ? '}' : ']');
            buffer_add_char(&b, (i - 1) % 2 ? '}' : ']');
        }
        ck_assert(equal(buffer_view(&a), buffer_view(&b)) == (deep == JSON_STORED_DEPTH));
        buffer_free(&a);
        buffer_free(&b);
    }
}
END_TEST

enum { MANY = 100000 };

// A look through all members for every member would not end before the test's time is over; nor would reading
// a level's inside again for every level around it.
START_TEST(equal_of_very_many_members_takes_their_time_once)
{
    struct buffer a = {0};
    struct buffer b = {0};
    for (int i = 0; i < JSON_STORED_DEPTH - 1; i++) {
        buffer_add_text(&a, "{\"a\":");
        buffer_add_text(&b, "{\"a\" :");
    }
    for (int i = 0; i < MANY; i++) {
        buffer_printf(&a, "%sa name like all others %06d\":%d", i ? ",\"" : "{\"", i, i);
        buffer_printf(&b, "%sa name like all others %06d\":%d.0", i ? ",\"" : "{\"", MANY - 1 - i,
                      MANY - 1 - i);
    }
    for (int i = 0; i < JSON_STORED_DEPTH; i++) {
        buffer_add_char(&a, '}');
        buffer_add_char(&b, '}');
    }
    ck_assert(json_text_equal(buffer_view(&a), buffer_view(&b)));
    uint8_t *last = memmem(b.data, b.size, " 000000\":0.0", 12);
    ck_assert_ptr_nonnull(last);
    last[9] = '1';
    ck_assert(!json_text_equal(buffer_view(&a), buffer_view(&b)));
    buffer_free(&a);
    buffer_free(&b);
}
END_TEST

// Changes one place of `value` somewhere.
static void change(struct random *random, json_t *value)
{
    json_t *scalar = random_scalar(random);
    if (json_is_array(value) && json_array_size(value) > 0) {
        size_t at = random_below(random, json_array_size(value));
        if (random_chance(random, 70))
            change(random, json_array_get(value, at));
        else
            json_array_set(value, at, scalar);
    } else if (json_is_object(value)) {
        const char *name = random_name(random);
        json_t *inner = json_object_get(value, name);
        if (inner && random_chance(random, 70))
            change(random, inner);
        else if (inner && random_chance(random, 30))
            json_object_del(value, name);
        else
            json_object_set(value, name, scalar);
    }
    json_decref(scalar);
}

START_TEST(equal_agrees_with_a_slow_comparison)
{
    struct random random = random_seeded(random_run_seed(), 23);
    int same = 0;
    int different = 0;
    for (int round = 0; round < 4000; round++) {
        json_t *value = random_json(&random, 4);
        struct buffer a = {0};
        struct buffer b = {0};
        write_json(&random, &a, value);
        if (random_chance(&random, 50))
            change(&random, value);
        write_json(&random, &b, value);
        json_t *loaded_a = loaded(buffer_view(&a));
        json_t *loaded_b = loaded(buffer_view(&b));
        bool expected = slowly_equal(loaded_a, loaded_b);
        ck_assert_msg(equal(buffer_view(&a), buffer_view(&b)) == expected, "%.*s and %.*s",
                      shown(buffer_view(&a)), (const char *)a.data, shown(buffer_view(&b)),
                      (const char *)b.data);
        same += expected;
        different += !expected;
        json_decref(value);
        json_decref(loaded_a);
        json_decref(loaded_b);
        buffer_free(&a);
        buffer_free(&b);
    }
    ck_assert_int_gt(same, 1000);
    ck_assert_int_gt(different, 600);
}
END_TEST

START_TEST(equal_survives_spoiled_texts)
{
    struct random random = random_seeded(random_run_seed(), 24);
    for (int round = 0; round < 4000; round++) {
        json_t *value = random_json(&random, 3);
        struct buffer a = {0};
        struct buffer b = {0};
        write_json(&random, &a, value);
        write_json(&random, &b, value);
        size_t size = b.size;
        buffer_grow(&b, 8);
        b.size = spoil(&random, b.data, size);
        if (equal(buffer_view(&a), buffer_view(&b)))
            ck_assert_int_eq(json_check(buffer_view(&b), JSON_STORED_DEPTH), JSON_VALID);
        json_decref(value);
        buffer_free(&a);
        buffer_free(&b);
    }
}
END_TEST

Suite *json_equal_suite(void)
{
    const TTest *tests[] = {
        equal_numbers_have_equal_values,
        numbers_are_equal_however_they_are_written,
        equal_numbers_have_equal_digits,
        equal_strings_have_equal_characters,
        equal_objects_have_equal_members_in_any_order,
        equal_arrays_have_equal_elements_in_order,
        equal_says_no_of_what_is_not_json,
        equal_goes_as_deep_as_stored_json,
        equal_of_very_many_members_takes_their_time_once,
        equal_agrees_with_a_slow_comparison,
        equal_survives_spoiled_texts,
        NULL,
    };
    return suite_of("json_equal", tests);
}
