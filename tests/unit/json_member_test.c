// A member's text out of an object, and a string's characters.
#include "unit.h"

#include "base/json_member.h"

static void assert_member(struct bytes object, const char *name, struct bytes expected)
{
    struct bytes copy = exact_copy(object);
    struct bytes value = {0};
    ck_assert_msg(json_member(copy, name, &value), "%s in %.*s", name, (int)object.size,
                  (const char *)object.data);
    assert_bytes_eq(value, expected);
    ck_assert(value.data >= copy.data && value.data + value.size <= copy.data + copy.size);
    exact_free(copy);
}

static void assert_no_member(struct bytes object, const char *name)
{
    struct bytes copy = exact_copy(object);
    struct bytes value = B("untouched");
    ck_assert_msg(!json_member(copy, name, &value), "%s in %.*s", name, (int)object.size,
                  (const char *)object.data);
    assert_bytes_eq(value, B("untouched"));
    exact_free(copy);
}

START_TEST(member_gives_the_text_as_it_is_written)
{
    struct bytes object =
        B(" { \"a\" : 1e400 , \"b\":[ 1.0, {\"a\":2} ] ,\"c\":\"\\u0061\",\"d\":null\n,\"\":{\"x\":-0}} ");
    assert_member(object, "a", B("1e400"));
    assert_member(object, "b", B("[ 1.0, {\"a\":2} ]"));
    assert_member(object, "c", B("\"\\u0061\""));
    assert_member(object, "d", B("null"));
    assert_member(object, "", B("{\"x\":-0}"));
    assert_no_member(object, "x");
    assert_no_member(object, "A");
    assert_no_member(B("{}"), "a");
}
END_TEST

START_TEST(member_is_found_by_its_decoded_name)
{
    assert_member(B("{\"\\u0061\\u00e9\":1}"), "a\xc3\xa9", B("1"));
    assert_member(B("{\"\\ud83d\\ude00\":1}"), "\xf0\x9f\x98\x80", B("1"));
    assert_member(B("{\"a\\/b\":1}"), "a/b", B("1"));
    assert_no_member(B("{\"a\\u0000\":1}"), "a");
    assert_no_member(B("{\"\\\\u0061\":1}"), "a");
}
END_TEST

START_TEST(member_named_twice_is_the_last)
{
    assert_member(B("{\"a\":1,\"b\":2,\"\\u0061\":3,\"c\":4}"), "a", B("3"));
}
END_TEST

START_TEST(member_is_not_found_in_what_is_no_object)
{
    assert_no_member(B("[\"a\",1]"), "a");
    assert_no_member(B("\"a\""), "a");
    assert_no_member(B("null"), "a");
    assert_no_member(B(""), "a");
    assert_no_member(B("{\"a\":"), "a");
    assert_no_member(B("{\"a\":[1}"), "a");
    assert_no_member(bytes_make(NULL, 0), "a");
}
END_TEST

static void assert_decoded(struct bytes text, struct bytes expected)
{
    struct arena arena = {0};
    struct bytes copy = exact_copy(text);
    struct bytes decoded;
    ck_assert_msg(json_string_decode(&arena, copy, &decoded), "%.*s", (int)text.size,
                  (const char *)text.data);
    assert_bytes_eq(decoded, expected);
    exact_free(copy);
    arena_free(&arena);
}

START_TEST(string_decodes_to_its_characters)
{
    assert_decoded(B("\"\""), B(""));
    assert_decoded(B("\"plain\""), B("plain"));
    assert_decoded(B("\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""),
                   B("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
    assert_decoded(B("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), B("\"\\/\b\f\n\r\t"));
    assert_decoded(B("\"\\u0000\\u007F\\u0080\\u07ff\\u0800\\uD7FF\\uE000\\uffff\""),
                   B("\0\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"));
    assert_decoded(B("\"\\ud800\\udc00\\uDBFF\\uDFFF\""), B("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
    assert_decoded(B("\"\xc3\xa9\\u00e9\xf0\x9f\x98\x80\""), B("\xc3\xa9\xc3\xa9\xf0\x9f\x98\x80"));
}
END_TEST

START_TEST(string_without_escapes_is_a_view)
{
    struct arena arena = {0};
    struct bytes text = B("\"plain\"");
    struct bytes decoded;
    ck_assert(json_string_decode(&arena, text, &decoded));
    ck_assert_ptr_eq(decoded.data, text.data + 1);
    arena_free(&arena);
}
END_TEST

START_TEST(string_with_half_a_pair_or_no_string_is_refused)
{
    static const char *const bad[] = {"\"\\ud800\"",
                                      "\"\\udc00\"",
                                      "\"\\ud800x\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"\\udc00\\ud800\"",
                                      "\"\\ud800\\ud800\\udc00\"",
                                      "\"a",
                                      "\"",
                                      "",
                                      "a",
                                      "null",
                                      "\"a\" ",
                                      " \"a\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\xff\"",
                                      "\"a\"\"",
                                      "\"\n\"",
                                      "\"\\\""};
    struct arena arena = {0};
    struct bytes decoded;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bytes copy = exact_copy(bytes_of(bad[i]));
        ck_assert_msg(!json_string_decode(&arena, copy, &decoded), "%s", bad[i]);
        exact_free(copy);
    }
    arena_free(&arena);
}
END_TEST

Suite *json_member_suite(void)
{
    const TTest *tests[] = {
        member_gives_the_text_as_it_is_written,
        member_is_found_by_its_decoded_name,
        member_named_twice_is_the_last,
        member_is_not_found_in_what_is_no_object,
        string_decodes_to_its_characters,
        string_without_escapes_is_a_view,
        string_with_half_a_pair_or_no_string_is_refused,
        NULL,
    };
    return suite_of("json_member", tests);
}
