// Texts from outside: UTF-8 against a slow reading of RFC 3629, escapes, base64 and integers at their edges.
#include "unit.h"

#include "base/text.h"

// RFC 3629 read the slow way: decode, then look at the code point.
static bool slow_is_utf8(struct bytes b)
{
    for (size_t i = 0; i < b.size;) {
        uint8_t lead = b.data[i];
        size_t length = lead < 0x80           ? 1
                        : (lead >> 5) == 6    ? 2
                        : (lead >> 4) == 14   ? 3
                        : (lead >> 3) == 0x1e ? 4
                                              : 0;
        if (length == 0 || b.size - i < length)
            return false;
        uint32_t point = length == 1 ? lead : lead & (0x7fu >> length);
        for (size_t k = 1; k < length; k++) {
            if ((b.data[i + k] & 0xc0) != 0x80)
                return false;
            point = point << 6 | (b.data[i + k] & 0x3fu);
        }
        static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
        if (point < smallest[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
            return false;
        i += length;
    }
    return true;
}

START_TEST(text_utf8_agrees_with_rfc_3629_on_all_short_sequences)
{
    // Every lead and second byte, with third and fourth ones at and around the edges of a continuation byte.
    static const uint8_t edges[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    for (unsigned pair = 0; pair < 65536; pair++)
        for (size_t third = 0; third < sizeof edges; third++)
            for (size_t fourth = 0; fourth < sizeof edges; fourth++) {
                uint8_t raw[4] = {(uint8_t)(pair >> 8), (uint8_t)pair, edges[third], edges[fourth]};
                for (size_t size = fourth == 0 ? 0 : 4; size <= 4; size++)
                    if (text_is_utf8(bytes_make(raw, size)) != slow_is_utf8(bytes_make(raw, size)))
                        ck_abort_msg("%02x %02x %02x %02x, %zu bytes", raw[0], raw[1], raw[2], raw[3], size);
            }
}
END_TEST

START_TEST(text_utf8_finds_one_bad_byte_at_any_place)
{
    for (size_t size = 1; size < 40; size++)
        for (size_t at = 0; at < size; at++) {
            uint8_t raw[40];
            memset(raw, 'a', size);
            struct bytes text = exact_copy(bytes_make(raw, size));
            ck_assert(text_is_utf8(text));
            exact_free(text);
            raw[at] = 0x80;
            text = exact_copy(bytes_make(raw, size));
            ck_assert(!text_is_utf8(text));
            exact_free(text);
        }
}
END_TEST

START_TEST(text_utf8_agrees_with_rfc_3629_on_random_text)
{
    static const char *const parts[] = {
        "a",        "plain text", "\xc3\xa9",         "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\xa0\x80",
        "\xc0\x80", "\x80",       "\xf4\x90\x80\x80", "\xe2\x82"};
    struct random random = random_seeded(4, 0);
    int good = 0;
    for (int round = 0; round < 20000; round++) {
        uint8_t raw[128];
        size_t size = 0;
        for (size_t n = random_below(&random, 8); n > 0; n--) {
            const char *part = parts[random_below(&random, random_below(&random, 4) ? 5 : 10)];
            memcpy(raw + size, part, strlen(part));
            size += strlen(part);
        }
        struct bytes text = exact_copy(bytes_make(raw, size));
        ck_assert_int_eq(text_is_utf8(text), slow_is_utf8(text));
        good += text_is_utf8(text);
        exact_free(text);
    }
    ck_assert_int_gt(good, 5000);
    ck_assert_int_lt(good, 15000);
}
END_TEST

START_TEST(text_control_characters_are_seen)
{
    ck_assert(!text_has_control(B("")));
    ck_assert(!text_has_control(B("plain \xc3\xa9 \xc2\xa0 ~")));
    ck_assert(text_has_control(B("a\0b")));
    ck_assert(text_has_control(B("a\n")));
    ck_assert(text_has_control(B("\x1f")));
    ck_assert(text_has_control(B("\x7f")));
    ck_assert(text_has_control(B("\xc2\x80")));
    ck_assert(text_has_control(B("a\xc2\x9f")));
    ck_assert(!text_has_control(B("a\xc2")));
}
END_TEST

static void assert_decodes(struct bytes raw, struct bytes expected)
{
    struct arena arena = {0};
    struct bytes copy = exact_copy(raw);
    struct bytes decoded;
    ck_assert(text_percent_decode(&arena, copy, &decoded));
    assert_bytes_eq(decoded, expected);
    exact_free(copy);
    arena_free(&arena);
}

START_TEST(percent_decode_gives_every_byte)
{
    assert_decodes(B(""), B(""));
    assert_decodes(B("plain"), B("plain"));
    assert_decodes(B("%00"), B("\0"));
    assert_decodes(B("a%2Fb%2fc"), B("a/b/c"));
    assert_decodes(B("%FF%fe"), B("\xff\xfe"));
    assert_decodes(B("%2525"), B("%25"));
    for (unsigned byte = 0; byte < 256; byte++) {
        static const char upper[] = "0123456789ABCDEF";
        static const char lower[] = "0123456789abcdef";
        uint8_t expected = (uint8_t)byte;
        uint8_t raw[6] = {'%', (uint8_t)upper[byte >> 4], (uint8_t)upper[byte & 15],
                          '%', (uint8_t)lower[byte >> 4], (uint8_t)lower[byte & 15]};
        assert_decodes(bytes_make(raw, 3), bytes_make(&expected, 1));
        assert_decodes(bytes_make(raw + 3, 3), bytes_make(&expected, 1));
    }
}
END_TEST

START_TEST(percent_decode_keeps_a_plus)
{
    assert_decodes(B("a+b"), B("a+b"));
    assert_decodes(B("a+b%2B+"), B("a+b++"));
}
END_TEST

START_TEST(percent_decode_refuses_broken_escapes)
{
    static const char *const broken[] = {"%",   "%2",  "a%",   "a%4",  "%zz",  "%2g", "%g2",
                                         "%+1", "%-1", "%0x1", "%%41", "% 41", "%41%"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct arena arena = {0};
        struct bytes raw = exact_copy(bytes_of(broken[i]));
        struct bytes decoded;
        ck_assert_msg(!text_percent_decode(&arena, raw, &decoded), "%s", broken[i]);
        exact_free(raw);
        arena_free(&arena);
    }
}
END_TEST

START_TEST(base64_reads_and_writes_the_vectors_of_rfc_4648)
{
    static const char *const vectors[][2] = {{"", ""},
                                             {"f", "Zg=="},
                                             {"fo", "Zm8="},
                                             {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="},
                                             {"foobar", "Zm9vYmFy"},
                                             {"\xfb\xff\xbf", "+/+/"}};
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        assert_bytes_eq(text_base64_encode(&arena, bytes_of(vectors[i][0])), bytes_of(vectors[i][1]));
        struct bytes raw;
        ck_assert(text_base64_decode(&arena, bytes_of(vectors[i][1]), &raw));
        assert_bytes_eq(raw, bytes_of(vectors[i][0]));
        ck_assert_ptr_nonnull(raw.data);
    }
    arena_free(&arena);
}
END_TEST

START_TEST(base64_refuses_what_is_not_strict)
{
    static const char *const bad[] = {"Zg",
                                      "Zg=",
                                      "Z===",
                                      "====",
                                      "=",
                                      "Zh==",
                                      "Zm9=",
                                      "Zm9v\n",
                                      " Zm9v",
                                      "Zm9v ",
                                      "Zm-_",
                                      "Zg==Zg==",
                                      "Zg==\n\n\n\n",
                                      "Z=g=",
                                      "Zm9vA",
                                      "Zm9v\x80\x80\x80\x80"};
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bytes raw;
        ck_assert_msg(!text_base64_decode(&arena, bytes_of(bad[i]), &raw), "%s", bad[i]);
    }
    struct bytes raw;
    ck_assert(!text_base64_decode(&arena, B("Zm9\0"), &raw));
    arena_free(&arena);
}
END_TEST

START_TEST(base64_reads_back_random_bytes)
{
    struct random random = random_seeded(5, 0);
    for (size_t size = 0; size < 400; size++) {
        struct arena arena = {0};
        uint8_t raw[400];
        for (size_t i = 0; i < size; i++)
            raw[i] = (uint8_t)random_next(&random);
        struct bytes copy = exact_copy(bytes_make(raw, size));
        struct bytes text = exact_copy(text_base64_encode(&arena, copy));
        struct bytes back;
        ck_assert(text_base64_decode(&arena, text, &back));
        assert_bytes_eq(back, copy);
        exact_free(copy);
        exact_free(text);
        arena_free(&arena);
    }
}
END_TEST

// Two texts never mean the same bytes: what decodes encodes to itself.
START_TEST(base64_has_one_text_for_any_bytes)
{
    static const char digits[] = "AQgw/+9z=\n";
    struct random random = random_seeded(6, 0);
    int decoded = 0;
    for (int round = 0; round < 20000; round++) {
        struct arena arena = {0};
        char text[9] = {0};
        for (size_t i = 0; i < 8; i++)
            text[i] = digits[random_below(&random, i < 6 ? 8 : 10)];
        struct bytes raw;
        if (text_base64_decode(&arena, bytes_of(text), &raw)) {
            decoded++;
            assert_bytes_eq(text_base64_encode(&arena, raw), bytes_of(text));
        }
        arena_free(&arena);
    }
    ck_assert_int_gt(decoded, 1000);
}
END_TEST

START_TEST(int64_accepts_canonical_numbers_only)
{
    static const struct {
        const char *text;
        int64_t n;
    } good[] = {{"0", 0},
                {"-12", -12},
                {"7", 7},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t n = 77;
        ck_assert_msg(text_int64(bytes_of(good[i].text), &n), "%s", good[i].text);
        ck_assert_int_eq(n, good[i].n);
    }
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      "-0",
                                      "00",
                                      "007",
                                      "-07",
                                      "1.0",
                                      "1e3",
                                      " 1",
                                      "1 ",
                                      "--1",
                                      "0x1",
                                      "1a",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999",
                                      "18446744073709551616",
                                      "-99999999999999999999999999",
                                      "\xd9\xa1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t n = 77;
        ck_assert_msg(!text_int64(bytes_of(bad[i]), &n), "%s", bad[i]);
        ck_assert_int_eq(n, 77);
    }
    int64_t n = 77;
    ck_assert(!text_int64(B("1\0"), &n));
}
END_TEST

START_TEST(lower_comparison_ignores_ascii_case_only)
{
    ck_assert(text_equals_lower(B("Content-TYPE"), "content-type"));
    ck_assert(text_equals_lower(B(""), ""));
    ck_assert(!text_equals_lower(B("chunked "), "chunked"));
    ck_assert(!text_equals_lower(B("chunke"), "chunked"));
    ck_assert(!text_equals_lower(B("chunked\0"), "chunked"));
    ck_assert(!text_equals_lower(B("\0"), ""));
    ck_assert(!text_equals_lower(B("@[`{"), "`{`{"));
}
END_TEST

START_TEST(token_characters_are_those_of_rfc_9110)
{
    ck_assert(text_is_token(B("X-Request_Id.1!#$%&'*+^`|~")));
    ck_assert(!text_is_token(B("")));
    static const char others[] = " \t\r\n\"(),/:;<=>?@[\\]{}\x7f";
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t c = (uint8_t)byte;
        bool token = c > 0x20 && c < 0x7f && !strchr(others, c);
        ck_assert_msg(text_is_token(bytes_make(&c, 1)) == token, "%02x", byte);
    }
}
END_TEST

START_TEST(trim_takes_spaces_and_tabs_from_both_ends)
{
    assert_bytes_eq(text_trim(B(" \t a b\t ")), B("a b"));
    assert_bytes_eq(text_trim(B("a")), B("a"));
    assert_bytes_eq(text_trim(B(" \t ")), B(""));
    assert_bytes_eq(text_trim(B("")), B(""));
    assert_bytes_eq(text_trim(B("\na\r")), B("\na\r"));
}
END_TEST

Suite *text_suite(void)
{
    const TTest *tests[] = {
        text_utf8_agrees_with_rfc_3629_on_all_short_sequences,
        text_utf8_finds_one_bad_byte_at_any_place,
        text_utf8_agrees_with_rfc_3629_on_random_text,
        text_control_characters_are_seen,
        percent_decode_gives_every_byte,
        percent_decode_keeps_a_plus,
        percent_decode_refuses_broken_escapes,
        base64_reads_and_writes_the_vectors_of_rfc_4648,
        base64_refuses_what_is_not_strict,
        base64_reads_back_random_bytes,
        base64_has_one_text_for_any_bytes,
        int64_accepts_canonical_numbers_only,
        lower_comparison_ignores_ascii_case_only,
        token_characters_are_those_of_rfc_9110,
        trim_takes_spaces_and_tabs_from_both_ends,
        NULL,
    };
    return suite_of("text", tests);
}
