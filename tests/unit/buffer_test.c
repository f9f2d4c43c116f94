// The growing buffer: order, byte order, numbers, and JSON strings that any parser reads back.
#include "unit.h"

#include "base/buffer.h"
#include "base/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

START_TEST(buffer_keeps_what_was_added_in_order)
{
    struct buffer buffer = {0};
    buffer_add(&buffer, "ab", 2);
    buffer_add(&buffer, NULL, 0);
    buffer_add_bytes(&buffer, B("\0c"));
    buffer_add_text(&buffer, "de");
    buffer_add_char(&buffer, 'f');
    memcpy(buffer_grow(&buffer, 2), "gh", 2);
    buffer_printf(&buffer, "%d%s", 12, "i");
    assert_bytes_eq(buffer_view(&buffer), B("ab\0cdefgh12i"));
    buffer_clear(&buffer);
    ck_assert_uint_eq(buffer_view(&buffer).size, 0);
    buffer_add_char(&buffer, 'x');
    assert_bytes_eq(buffer_view(&buffer), B("x"));
    buffer_free(&buffer);
    ck_assert_ptr_null(buffer.data);
}
END_TEST

START_TEST(buffer_grows_by_doubling)
{
    struct buffer buffer = {0};
    size_t moves = 0;
    for (size_t i = 0; i < 1000000; i++) {
        size_t capacity = buffer.capacity;
        buffer_add_char(&buffer, (char)(i % 251));
        moves += buffer.capacity != capacity;
    }
    ck_assert_uint_le(moves, 20);
    for (size_t i = 0; i < 1000000; i++)
        if (buffer.data[i] != i % 251)
            ck_abort_msg("byte %zu changed", i);
    buffer_free(&buffer);
}
END_TEST

START_TEST(buffer_writes_integers_as_printf_does)
{
    const int64_t numbers[] = {0,         1,         -1,           9, 10, -10, 99, 100, 12345678901234567,
                               INT64_MAX, INT64_MIN, INT64_MIN + 1};
    struct buffer buffer = {0};
    struct random random = random_seeded(2, 0);
    for (size_t i = 0; i < 10000; i++) {
        size_t known = sizeof numbers / sizeof *numbers;
        int64_t n = i < known ? numbers[i] : (int64_t)(random_next(&random) >> random_below(&random, 64));
        char expected[24];
        snprintf(expected, sizeof expected, "%" PRId64, n);
        buffer_clear(&buffer);
        buffer_add_int64(&buffer, n);
        assert_bytes_eq(buffer_view(&buffer), bytes_of(expected));
    }
    buffer_free(&buffer);
}
END_TEST

START_TEST(buffer_writes_network_byte_order)
{
    struct buffer buffer = {0};
    buffer_add_u16(&buffer, 0x0102);
    buffer_add_u32(&buffer, 0x03040506);
    buffer_add_u64(&buffer, UINT64_C(0x0708090a0b0c0d0e));
    assert_bytes_eq(buffer_view(&buffer), B("\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d\x0e"));
    buffer_free(&buffer);
}
END_TEST

START_TEST(buffer_printf_fits_text_of_any_length)
{
    struct buffer buffer = {0};
    for (int width = 1; width < 600; width++) {
        buffer_clear(&buffer);
        buffer_printf(&buffer, "%*d", width, 7);
        ck_assert_uint_eq(buffer.size, (size_t)width);
        ck_assert_uint_eq(buffer.data[width - 1], '7');
    }
    buffer_free(&buffer);
}
END_TEST

START_TEST(buffer_json_escapes_what_json_asks_for)
{
    struct buffer buffer = {0};
    buffer_add_json(&buffer, B("a\"b\\c/\b\f\n\r\t\0\x1f\x7f\xc3\xa9"));
    assert_bytes_eq(buffer_view(&buffer), B("\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\xc3\xa9\""));
    buffer_clear(&buffer);
    buffer_add_json(&buffer, bytes_make(NULL, 0));
    assert_bytes_eq(buffer_view(&buffer), B("\"\""));
    buffer_free(&buffer);
}
END_TEST

START_TEST(buffer_json_replaces_bytes_that_are_not_utf8)
{
    struct buffer buffer = {0};
    buffer_add_json(&buffer, B("a\xff"
                               "b\xc3"
                               "c\xed\xa0\x80"));
    assert_bytes_eq(buffer_view(&buffer), B("\"a\xef\xbf\xbd"
                                            "b\xef\xbf\xbd"
                                            "c\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""));
    buffer_free(&buffer);
}
END_TEST

// Any bytes become a string that a parser reads, and reads back as they were when they are UTF-8.
START_TEST(buffer_json_reads_back_for_random_bytes)
{
    struct random random = random_seeded(3, 0);
    struct buffer buffer = {0};
    for (int round = 0; round < 20000; round++) {
        uint8_t raw[40];
        size_t size = random_below(&random, sizeof raw);
        for (size_t i = 0; i < size; i++)
            raw[i] = random_below(&random, 3) ? (uint8_t)(0x20 + random_below(&random, 96))
                                              : (uint8_t)random_next(&random);
        struct bytes text = exact_copy(bytes_make(raw, size));
        buffer_clear(&buffer);
        buffer_add_json(&buffer, text);
        json_t *read =
            json_loadb((const char *)buffer.data, buffer.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        ck_assert_ptr_nonnull(read);
        if (text_is_utf8(text))
            assert_bytes_eq(bytes_make(json_string_value(read), json_string_length(read)), text);
        json_decref(read);
        exact_free(text);
    }
    buffer_free(&buffer);
}
END_TEST

Suite *buffer_suite(void)
{
    const TTest *tests[] = {
        buffer_keeps_what_was_added_in_order,
        buffer_grows_by_doubling,
        buffer_writes_integers_as_printf_does,
        buffer_writes_network_byte_order,
        buffer_printf_fits_text_of_any_length,
        buffer_json_escapes_what_json_asks_for,
        buffer_json_replaces_bytes_that_are_not_utf8,
        buffer_json_reads_back_for_random_bytes,
        NULL,
    };
    return suite_of("buffer", tests);
}
