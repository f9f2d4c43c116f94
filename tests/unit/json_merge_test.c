// The merge patch: RFC 7396's examples, the text that stays as it was, the limits, and against the RFC's
// procedure on values that jansson holds.
#include "unit.h"

#include "base/json_merge.h"
#include "base/json_text.h"
#include "json_random.h"
#include "support/json_oracle.h"
#include "support/rfc7396.h"

#include <stdio.h>

static enum json_merge_verdict merge(struct bytes target, struct bytes patch, size_t most, struct buffer *out)
{
    struct bytes exact_target = target.data ? exact_copy(target) : target;
    struct bytes exact_patch = exact_copy(patch);
    enum json_merge_verdict verdict = json_merge_patch(exact_target, exact_patch, most, out);
    exact_free(exact_target);
    exact_free(exact_patch);
    return verdict;
}

static void assert_merged(struct bytes target, struct bytes patch, struct bytes expected)
{
    struct buffer out = {0};
    ck_assert_int_eq(merge(target, patch, SIZE_MAX, &out), JSON_MERGED);
    ck_assert_msg(bytes_equal(buffer_view(&out), expected), "%.*s with %.*s gave %.*s, not %.*s",
                  shown(target), (const char *)target.data, shown(patch), (const char *)patch.data,
                  shown(buffer_view(&out)), (const char *)out.data, shown(expected),
                  (const char *)expected.data);
    buffer_free(&out);
}

static void assert_refused(struct bytes target, struct bytes patch, enum json_merge_verdict expected)
{
    struct buffer out = {0};
    buffer_add_text(&out, "before");
    enum json_merge_verdict verdict = merge(target, patch, SIZE_MAX, &out);
    ck_assert_msg(verdict == expected, "%.*s with %.*s: %d", shown(target), (const char *)target.data,
                  shown(patch), (const char *)patch.data, (int)verdict);
    assert_bytes_eq(buffer_view(&out), B("before"));
    buffer_free(&out);
}

static void assert_examples(const struct merge_example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_merged(examples[i].target ? bytes_of(examples[i].target) : bytes_make(NULL, 0),
                      bytes_of(examples[i].patch), bytes_of(examples[i].result));
}
#define assert_all_examples(examples) assert_examples(examples, sizeof(examples) / sizeof *(examples))

START_TEST(merge_does_what_rfc_7396_appendix_a_shows)
{
    assert_examples(rfc7396_examples, RFC7396_EXAMPLES);
}
END_TEST

START_TEST(merge_keeps_the_text_it_does_not_touch)
{
    static const struct merge_example examples[] = {
        {"{\"big\":12345678901234567890,\"far\":1e400,\"one\":1.0,\"none\":-0.0,\"n\":1}", "{\"n\":2}",
         "{\"big\":12345678901234567890,\"far\":1e400,\"one\":1.0,\"none\":-0.0,\"n\":2}"},
        {"{\"s\":\"\\u0041\\/\\u00e9\\ud800\\u0000\",\"n\":1}", "{\"m\":1}",
         "{\"s\":\"\\u0041\\/\\u00e9\\ud800\\u0000\",\"n\":1,\"m\":1}"},
        {"{\"a\":[ 1.50 , { \"b\" :\t0.10 } ],\"o\":{\"x\":1E+2,\"y\":2}}", "{\"o\":{\"y\":3}}",
         "{\"a\":[ 1.50 , { \"b\" :\t0.10 } ],\"o\":{\"x\":1E+2,\"y\":3}}"},
        {"{\"a\":1}", "{\"b\":1e400,\"c\":[1.0,null,{\"d\":null}],\"e\":\"\\u0061\"}",
         "{\"a\":1,\"b\":1e400,\"c\":[1.0,null,{\"d\":null}],\"e\":\"\\u0061\"}"},
        {"{\"a\\u0000b\":1,\"a\\u0000c\":2,\"h\":\"\\ud800\"}", "{\"z\":1}",
         "{\"a\\u0000b\":1,\"a\\u0000c\":2,\"h\":\"\\ud800\",\"z\":1}"},
        {"{\"p\":0.657679,\"id\":9223372036854775807,\"big\":17000000000000000000,\"n\":1}", "{\"n\":2}",
         "{\"p\":0.657679,\"id\":9223372036854775807,\"big\":17000000000000000000,\"n\":2}"},
    };
    assert_all_examples(examples);
}
END_TEST

START_TEST(merge_keeps_the_order_of_members)
{
    static const struct merge_example examples[] = {
        {"{\"c\":1,\"b\":2,\"a\":3}", "{\"z\":0,\"b\":{\"q\":1},\"y\":0,\"a\":null}",
         "{\"c\":1,\"b\":{\"q\":1},\"z\":0,\"y\":0}"},
        {"{\"o\":{\"c\":1,\"b\":2},\"p\":1}", "{\"p\":2,\"o\":{\"d\":3,\"b\":4}}",
         "{\"o\":{\"c\":1,\"b\":4,\"d\":3},\"p\":2}"},
    };
    assert_all_examples(examples);
}
END_TEST

START_TEST(merge_reads_what_is_there_with_white_space_around)
{
    static const struct merge_example examples[] = {
        {" {} ", "\n{ } ", "{}"},
        {"\t{\"a\":1}", " [ 1 ] ", "[ 1 ]"},
        {"{ \"a\" : 1 , \"b\" : 2 }", "{ \"a\" : null }", "{\"b\" : 2}"},
        {" 1 ", " { \"a\" : { \"b\" : null } } ", "{\"a\" : {}}"},
    };
    assert_all_examples(examples);
}
END_TEST

START_TEST(merge_takes_what_is_absent_for_no_object)
{
    static const struct merge_example examples[] = {
        {NULL, "{\"a\":1,\"b\":null,\"c\":{\"d\":null}}", "{\"a\":1,\"c\":{}}"},
        {NULL, "[null]", "[null]"},
        {NULL, "null", "null"},
        {"null", "{}", "{}"},
        {"{\"a\":5}", "{\"a\":{\"b\":null,\"c\":1}}", "{\"a\":{\"c\":1}}"},
        {"{\"a\":[{\"b\":1}]}", "{\"a\":{\"b\":{\"c\":null}}}", "{\"a\":{\"b\":{}}}"},
    };
    assert_all_examples(examples);
}
END_TEST

START_TEST(merge_compares_names_by_their_characters)
{
    static const struct merge_example examples[] = {
        {"{\"\\u0061\":1}", "{\"a\":2}", "{\"\\u0061\":2}"},
        {"{\"a\":1}", "{\"\\u0061\":null}", "{}"},
        {"{\"\\u00e9\":1,\"\xe2\x82\xac\":1}", "{\"\xc3\xa9\":2,\"\\u20AC\":3}",
         "{\"\\u00e9\":2,\"\xe2\x82\xac\":3}"},
        {"{\"\\ud83d\\ude00\":1}", "{\"\xf0\x9f\x98\x80\":2}", "{\"\\ud83d\\ude00\":2}"},
        {"{\"a\\/b\\n\":1}", "{\"a/b\\u000A\":2}", "{\"a\\/b\\n\":2}"},
        {"{\"a\\u0000b\":1,\"a\":2,\"a\\u0000c\":3}", "{\"\\u0061\\u0000b\":4}",
         "{\"a\\u0000b\":4,\"a\":2,\"a\\u0000c\":3}"},
        {"{\"\\ud800\":1,\"\\udc00\":2,\"\\ud800x\":3}", "{\"\\uD800\":null,\"\\udc00\":5}",
         "{\"\\udc00\":5,\"\\ud800x\":3}"},
        {"{\"\\ud800\\ud800\\udc00\":1}", "{\"\\ud800\xf0\x90\x80\x80\":2}", "{\"\\ud800\\ud800\\udc00\":2}"},
        {"{\"\":1}", "{\"\":2,\" \":3}", "{\"\":2,\" \":3}"},
    };
    assert_all_examples(examples);
}
END_TEST

START_TEST(merge_refuses_two_members_of_one_name_anywhere)
{
    static const char *const twice[] = {
        "{\"a\":1,\"a\":1}",
        "{\"a\":1,\"b\":2,\"\\u0061\":3}",
        "{\"x\":{\"a\":1,\"a\":2}}",
        "[{\"a\":1,\"a\":2}]",
        "{\"x\":[[{\"y\":{\"\":1,\"\":2}}]]}",
        "{\"a\\u0000\":1,\"a\\u0000\":2}",
        "{\"\\ud800\":1,\"\\uD800\":2}",
        "{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}",
        "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,\"a\":11}",
        "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,\"\\u006a\":11}",
    };
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        assert_refused(bytes_of(twice[i]), B("{}"), JSON_MERGE_DUPLICATE);
        assert_refused(bytes_of(twice[i]), B("1"), JSON_MERGE_DUPLICATE);
        assert_refused(B("{}"), bytes_of(twice[i]), JSON_MERGE_DUPLICATE);
        assert_refused(bytes_make(NULL, 0), bytes_of(twice[i]), JSON_MERGE_DUPLICATE);
    }
    static const struct merge_example once[] = {
        {"{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}", "{\"c\":{\"a\":1}}",
         "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}],\"c\":{\"a\":1}}"},
    };
    assert_all_examples(once);
}
END_TEST

START_TEST(merge_refuses_what_is_not_json)
{
    static const char *const bad[] = {"",
                                      " ",
                                      "{",
                                      "nul",
                                      "{\"a\":1",
                                      "{\"a\":1}}",
                                      "[1,]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{,}",
                                      "1 2",
                                      "\"\\ud8\"",
                                      "{'a':1}",
                                      "\xff",
                                      "01",
                                      "{\"\xff\":1}",
                                      "[{\"a\":01}]",
                                      "{\"a\":[}]}",
                                      "\\"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused(bytes_of(bad[i]), B("{}"), JSON_MERGE_INVALID_TARGET);
        assert_refused(B("{}"), bytes_of(bad[i]), JSON_MERGE_INVALID_PATCH);
    }
}
END_TEST

// `deep` levels of {"a": around a number, or of arrays in it.
static struct bytes nested(struct buffer *out, unsigned deep, const char *open, char close, const char *inner)
{
    buffer_clear(out);
    for (unsigned i = 0; i < deep; i++)
        buffer_add_text(out, open);
    buffer_add_text(out, inner);
    for (unsigned i = 0; i < deep; i++)
        buffer_add_char(out, close);
    return buffer_view(out);
}

START_TEST(merge_goes_as_deep_as_stored_json)
{
    struct buffer target = {0};
    struct buffer patch = {0};
    struct buffer expected = {0};
    assert_merged(nested(&target, JSON_STORED_DEPTH, "{\"a\":", '}', "1"),
                  nested(&patch, JSON_STORED_DEPTH, "{\"a\":", '}', "2"),
                  nested(&expected, JSON_STORED_DEPTH, "{\"a\":", '}', "2"));
    assert_merged(B("[]"), nested(&patch, JSON_STORED_DEPTH, "{\"a\":", '}', "null"),
                  nested(&expected, JSON_STORED_DEPTH - 1, "{\"a\":", '}', "{}"));
    assert_refused(nested(&target, JSON_STORED_DEPTH + 1, "{\"a\":", '}', "1"), B("{}"), JSON_MERGE_TOO_DEEP);
    assert_refused(nested(&target, JSON_STORED_DEPTH + 1, "[", ']', "1"), B("{}"), JSON_MERGE_TOO_DEEP);
    assert_refused(B("{}"), nested(&target, JSON_STORED_DEPTH + 1, "{\"a\":", '}', "1"), JSON_MERGE_TOO_DEEP);
    assert_refused(B("{}"), nested(&target, JSON_STORED_DEPTH + 1, "[", ']', ""), JSON_MERGE_TOO_DEEP);
    nested(&patch, JSON_STORED_DEPTH, "[", ']', "");
    assert_merged(B("{}"), buffer_view(&patch), buffer_view(&patch));
    assert_refused(nested(&target, 1000000, "[", ']', ""), B("{}"), JSON_MERGE_TOO_DEEP);
    buffer_free(&target);
    buffer_free(&patch);
    buffer_free(&expected);
}
END_TEST

START_TEST(merge_ends_at_the_most)
{
    struct buffer out = {0};
    buffer_add_text(&out, "x");
    struct bytes target = B("{\"a\":1}");
    struct bytes patch = B("{\"b\":22}");
    ck_assert_int_eq(merge(target, patch, 13, &out), JSON_MERGE_TOO_LARGE);
    assert_bytes_eq(buffer_view(&out), B("x"));
    ck_assert_int_eq(merge(target, patch, 14, &out), JSON_MERGED);
    assert_bytes_eq(buffer_view(&out), B("x{\"a\":1,\"b\":22}"));
    ck_assert_int_eq(merge(target, B("1"), 0, &out), JSON_MERGE_TOO_LARGE);
    assert_bytes_eq(buffer_view(&out), B("x{\"a\":1,\"b\":22}"));
    buffer_free(&out);
}
END_TEST

enum { MANY = 100000 };

// An object with members from `first` on; every name is as long as the others and begins like them.
static void write_wide(struct buffer *out, int first, int count, const char *value)
{
    buffer_clear(out);
    for (int i = 0; i < count; i++)
        buffer_printf(out, "%sa name like all others %06d\":%s", i ? ",\"" : "{\"", first + i, value);
    buffer_add_char(out, '}');
}

// A look through all members for every member would not end before the test's time is over.
START_TEST(merge_of_very_many_members_takes_their_time_once)
{
    struct buffer target = {0};
    struct buffer patch = {0};
    struct buffer expected = {0};
    struct buffer out = {0};
    write_wide(&target, 0, MANY, "1");
    write_wide(&patch, MANY / 2, MANY, "2");
    ck_assert_int_eq(json_merge_patch(buffer_view(&target), buffer_view(&patch), SIZE_MAX, &out),
                     JSON_MERGED);
    write_wide(&expected, 0, MANY / 2, "1");
    expected.size--;
    buffer_add_char(&expected, ',');
    buffer_add(&expected, patch.data + 1, patch.size - 1);
    ck_assert(bytes_equal(buffer_view(&out), buffer_view(&expected)));

    write_wide(&patch, 0, MANY, "null");
    buffer_clear(&out);
    ck_assert_int_eq(json_merge_patch(buffer_view(&target), buffer_view(&patch), SIZE_MAX, &out),
                     JSON_MERGED);
    assert_bytes_eq(buffer_view(&out), B("{}"));

    target.size--;
    buffer_add_text(&target, ",\"a name like all others 0500\\u00300\":1}");
    ck_assert_int_eq(json_merge_patch(buffer_view(&target), B("{}"), SIZE_MAX, &out), JSON_MERGE_DUPLICATE);
    buffer_free(&target);
    buffer_free(&patch);
    buffer_free(&expected);
    buffer_free(&out);
}
END_TEST

// A level's inside is not read again for every level around it.
START_TEST(merge_of_a_deep_and_long_text_takes_its_time_once)
{
    struct buffer inner = {0};
    struct buffer target = {0};
    struct buffer patch = {0};
    struct buffer out = {0};
    write_wide(&inner, 0, MANY, "[1,2,3,4,5,6,7,8,9,10]");
    buffer_add_char(&inner, 0);
    nested(&target, JSON_STORED_DEPTH - 2, "{\"a\":", '}', (const char *)inner.data);
    nested(&patch, JSON_STORED_DEPTH - 2, "{\"a\":", '}', "{}");
    for (int i = 0; i < 3; i++) {
        buffer_clear(&out);
        ck_assert_int_eq(json_merge_patch(buffer_view(&target), buffer_view(&patch), SIZE_MAX, &out),
                         JSON_MERGED);
        ck_assert(bytes_equal(buffer_view(&out), buffer_view(&target)));
    }
    buffer_free(&inner);
    buffer_free(&target);
    buffer_free(&patch);
    buffer_free(&out);
}
END_TEST

START_TEST(merge_agrees_with_the_procedure_of_the_rfc)
{
    struct random random = random_seeded(random_run_seed(), 21);
    int objects = 0;
    for (int round = 0; round < 4000; round++) {
        json_t *values[2] = {random_json(&random, 4), random_json(&random, 4)};
        struct buffer texts[2] = {0};
        for (int i = 0; i < 2; i++)
            write_json(&random, &texts[i], values[i]);
        json_t *patch = loaded(buffer_view(&texts[1]));
        json_t *expected = merge_by_the_rfc(loaded(buffer_view(&texts[0])), patch);
        objects += json_is_object(values[0]) && json_is_object(values[1]);

        struct buffer out = {0};
        ck_assert_int_eq(merge(buffer_view(&texts[0]), buffer_view(&texts[1]), SIZE_MAX, &out), JSON_MERGED);
        ck_assert_int_eq(json_check(buffer_view(&out), JSON_STORED_DEPTH), JSON_VALID);
        json_t *got = loaded(buffer_view(&out));
        // Written with the members in their order, so that a place that changed is seen too.
        char *wanted = json_dumps(expected, JSON_ENCODE_ANY);
        char *found = json_dumps(got, JSON_ENCODE_ANY);
        ck_assert_str_eq(found, wanted);
        free(wanted);
        free(found);
        json_decref(got);
        json_decref(expected);
        json_decref(patch);
        for (int i = 0; i < 2; i++) {
            json_decref(values[i]);
            buffer_free(&texts[i]);
        }
        buffer_free(&out);
    }
    ck_assert_int_gt(objects, 1000);
}
END_TEST

START_TEST(merge_survives_spoiled_texts)
{
    struct random random = random_seeded(random_run_seed(), 22);
    int merged = 0;
    for (int round = 0; round < 4000; round++) {
        struct buffer texts[2] = {0};
        for (int i = 0; i < 2; i++) {
            json_t *value = random_json(&random, 3);
            write_json(&random, &texts[i], value);
            json_decref(value);
            size_t size = texts[i].size;
            buffer_grow(&texts[i], 8);
            texts[i].size = spoil(&random, texts[i].data, size);
        }
        struct buffer out = {0};
        if (merge(buffer_view(&texts[0]), buffer_view(&texts[1]), SIZE_MAX, &out) == JSON_MERGED) {
            ck_assert_int_eq(json_check(buffer_view(&out), JSON_STORED_DEPTH), JSON_VALID);
            merged++;
        } else {
            ck_assert_uint_eq(out.size, 0);
        }
        buffer_free(&texts[0]);
        buffer_free(&texts[1]);
        buffer_free(&out);
    }
    ck_assert_int_gt(merged, 20);
}
END_TEST

Suite *json_merge_suite(void)
{
    const TTest *tests[] = {
        merge_does_what_rfc_7396_appendix_a_shows,
        merge_keeps_the_text_it_does_not_touch,
        merge_keeps_the_order_of_members,
        merge_reads_what_is_there_with_white_space_around,
        merge_takes_what_is_absent_for_no_object,
        merge_compares_names_by_their_characters,
        merge_refuses_two_members_of_one_name_anywhere,
        merge_refuses_what_is_not_json,
        merge_goes_as_deep_as_stored_json,
        merge_ends_at_the_most,
        merge_of_very_many_members_takes_their_time_once,
        merge_of_a_deep_and_long_text_takes_its_time_once,
        merge_agrees_with_the_procedure_of_the_rfc,
        merge_survives_spoiled_texts,
        NULL,
    };
    return suite_of("json_merge", tests);
}
