// Setting and incrementing members: exact sums, their limits, and every refusal.
#include "unit.h"

#include "base/json_text.h"
#include "base/json_upsert.h"
#include "json_random.h"

static struct bytes text_or_none(const char *text)
{
    return text ? exact_copy(bytes_of(text)) : bytes_make(NULL, 0);
}

static enum json_upsert_verdict update(const char *target, const char *set, const char *increment,
                                       size_t most, struct buffer *out)
{
    struct bytes texts[3] = {text_or_none(target), text_or_none(set), text_or_none(increment)};
    enum json_upsert_verdict verdict = json_upsert_update(texts[0], texts[1], texts[2], most, out);
    for (size_t i = 0; i < 3; i++)
        exact_free(texts[i]);
    return verdict;
}

static void assert_updated(const char *target, const char *set, const char *increment, const char *expected)
{
    struct buffer out = {0};
    ck_assert_int_eq(update(target, set, increment, SIZE_MAX, &out), JSON_UPSERT_DONE);
    ck_assert_msg(bytes_is(buffer_view(&out), expected), "%s gave %.*s, not %s", target,
                  shown(buffer_view(&out)), (const char *)out.data, expected);
    buffer_free(&out);
}

static void assert_refused(const char *target, const char *set, const char *increment,
                           enum json_upsert_verdict expected)
{
    struct buffer out = {0};
    buffer_add_text(&out, "before");
    enum json_upsert_verdict verdict = update(target, set, increment, SIZE_MAX, &out);
    ck_assert_msg(verdict == expected, "%s, %s, %s: %d", target, set, increment, (int)verdict);
    assert_bytes_eq(buffer_view(&out), B("before"));
    buffer_free(&out);
}

START_TEST(upsert_sets_whole_values_at_the_top)
{
    assert_updated("{\"a\":1,\"b\":{\"x\":1,\"y\":2},\"c\":3}", "{\"z\":1.0,\"b\":{\"x\":null},\"a\":null}",
                   NULL, "{\"a\":null,\"b\":{\"x\":null},\"c\":3,\"z\":1.0}");
    assert_updated("{}", "{\"a\":[1e400]}", NULL, "{\"a\":[1e400]}");
    assert_updated("{\"\\u0061\":1}", "{\"a\":2}", NULL, "{\"\\u0061\":2}");
    assert_updated(" {\"a\":1} ", NULL, NULL, "{\"a\":1}");
    assert_updated("{\"a\":1}", "{}", "{}", "{\"a\":1}");
}
END_TEST

START_TEST(upsert_keeps_the_text_it_does_not_touch)
{
    assert_updated("{\"big\":12345678901234567890,\"far\":1e400,\"one\":1.0,\"s\":\"\\u0061\\ud800\",\"o\":{ "
                   "\"a\" : 1,\"a\":2 }}",
                   "{\"x\":-0.0}", "{\"n\":1}",
                   "{\"big\":12345678901234567890,\"far\":1e400,\"one\":1.0,\"s\":\"\\u0061\\ud800\",\"o\":{ "
                   "\"a\" : 1,\"a\":2 },"
                   "\"x\":-0.0,\"n\":1}");
}
END_TEST

START_TEST(upsert_adds_integers_exactly)
{
    assert_updated("{\"hits\":41}", NULL, "{\"hits\":1}", "{\"hits\":42}");
    assert_updated("{}", NULL, "{\"hits\":1}", "{\"hits\":1}");
    assert_updated("{\"n\":9007199254740992}", NULL, "{\"n\":1}", "{\"n\":9007199254740993}");
    assert_updated("{\"n\":9223372036854775806}", NULL, "{\"n\":1}", "{\"n\":9223372036854775807}");
    assert_updated("{\"n\":-9223372036854775807}", NULL, "{\"n\":-1}", "{\"n\":-9223372036854775808}");
    assert_updated("{\"n\":-9223372036854775808}", NULL, "{\"n\":9223372036854775807}", "{\"n\":-1}");
    assert_updated("{\"n\":-0}", NULL, "{\"n\":-0}", "{\"n\":0}");
    assert_updated("{\"\\u006e\":1}", NULL, "{\"n\":2}", "{\"\\u006e\":3}");
    assert_updated("{\"a\":1,\"b\":2}", "{\"c\":0}", "{\"d\":1,\"b\":5}",
                   "{\"a\":1,\"b\":7,\"c\":0,\"d\":1}");
}
END_TEST

START_TEST(upsert_adds_other_numbers_as_doubles)
{
    assert_updated("{\"n\":1}", NULL, "{\"n\":0.5}", "{\"n\":1.5}");
    assert_updated("{\"n\":0.1}", NULL, "{\"n\":0.2}", "{\"n\":0.30000000000000004}");
    assert_updated("{\"n\":99.5}", NULL, "{\"n\":0.5}", "{\"n\":100}");
    assert_updated("{\"n\":1.0}", NULL, "{\"n\":1}", "{\"n\":2}");
    assert_updated("{\"n\":1e21}", NULL, "{\"n\":0}", "{\"n\":1e+21}");
    assert_updated("{\"n\":0.5}", NULL, "{\"n\":-0.5}", "{\"n\":0}");
    assert_updated("{}", NULL, "{\"n\":1.50}", "{\"n\":1.5}");
    assert_updated("{\"n\":12345678901234567890}", NULL, "{\"n\":0.0}", "{\"n\":12345678901234567000}");
}
END_TEST

START_TEST(upsert_refuses_sums_out_of_range)
{
    assert_refused("{\"n\":9223372036854775807}", NULL, "{\"n\":1}", JSON_UPSERT_OVERFLOW);
    assert_refused("{\"n\":-9223372036854775808}", NULL, "{\"n\":-1}", JSON_UPSERT_OVERFLOW);
    assert_refused("{\"n\":9223372036854775808}", NULL, "{\"n\":-1}", JSON_UPSERT_OVERFLOW);
    assert_refused("{\"n\":-1}", NULL, "{\"n\":9223372036854775808}", JSON_UPSERT_OVERFLOW);
    assert_refused("{}", NULL, "{\"n\":18446744073709551615}", JSON_UPSERT_OVERFLOW);
    assert_refused(
        "{\"n\":1}", NULL,
        "{\"n\":100000000000000000000000000000000000000000000000000000000000000000000000000000000}",
        JSON_UPSERT_OVERFLOW);
    assert_refused("{\"n\":1.7976931348623157e308}", NULL, "{\"n\":1.7976931348623157e308}",
                   JSON_UPSERT_OVERFLOW);
    assert_refused("{\"n\":1e400}", NULL, "{\"n\":1}", JSON_UPSERT_OVERFLOW);
    assert_refused("{\"n\":1e400}", NULL, "{\"n\":-1e400}", JSON_UPSERT_OVERFLOW);
    assert_refused("{}", NULL, "{\"n\":1e400}", JSON_UPSERT_OVERFLOW);
}
END_TEST

START_TEST(upsert_refuses_to_add_what_is_not_a_number)
{
    static const char *const values[] = {"null", "true", "false", "\"1\"", "[]", "[1]", "{}", "{\"n\":1}"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[32];
        snprintf(text, sizeof text, "{\"n\":%s}", values[i]);
        assert_refused(text, NULL, "{\"n\":1}", JSON_UPSERT_NOT_NUMBER);
        assert_refused("{\"n\":1}", NULL, text, JSON_UPSERT_BAD_INCREMENT);
        assert_refused("{}", NULL, text, JSON_UPSERT_BAD_INCREMENT);
    }
}
END_TEST

START_TEST(upsert_refuses_a_member_named_twice)
{
    assert_refused("{\"a\":1,\"\\u0061\":2}", "{}", NULL, JSON_UPSERT_DUPLICATE);
    assert_refused("{}", "{\"a\":1,\"a\":2}", NULL, JSON_UPSERT_DUPLICATE);
    assert_refused("{}", NULL, "{\"a\":1,\"a\":2}", JSON_UPSERT_DUPLICATE);
    assert_refused("{}", "{\"a\":1}", "{\"\\u0061\":2}", JSON_UPSERT_DUPLICATE);
    assert_refused("{\"a\":1}", "{\"a\":1}", "{\"a\":2}", JSON_UPSERT_DUPLICATE);
}
END_TEST

START_TEST(upsert_refuses_what_is_no_object)
{
    static const char *const bad[] = {"",  "null",     "[]",         "1",     "\"a\"",
                                      "{", "{\"a\":1", "{\"a\":01}", "{} {}", "{\"a\":[{]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused(bad[i], "{\"b\":1}", "{\"c\":1}", JSON_UPSERT_NOT_OBJECT);
        assert_refused("{}", bad[i], NULL, JSON_UPSERT_INVALID);
        assert_refused("{}", NULL, bad[i], JSON_UPSERT_INVALID);
    }
    assert_refused(NULL, "{\"b\":1}", NULL, JSON_UPSERT_NOT_OBJECT);
}
END_TEST

START_TEST(upsert_ends_at_the_most_and_at_the_depth)
{
    struct buffer out = {0};
    ck_assert_int_eq(update("{\"a\":9}", NULL, "{\"a\":1}", 7, &out), JSON_UPSERT_TOO_LARGE);
    ck_assert_uint_eq(out.size, 0);
    ck_assert_int_eq(update("{\"a\":9}", NULL, "{\"a\":1}", 8, &out), JSON_UPSERT_DONE);
    assert_bytes_eq(buffer_view(&out), B("{\"a\":10}"));
    for (unsigned deep = JSON_STORED_DEPTH; deep <= JSON_STORED_DEPTH + 1; deep++) {
        struct buffer text = {0};
        buffer_add_text(&text, "{\"a\":");
        for (unsigned i = 1; i < deep; i++)
            buffer_add_char(&text, '[');
        for (unsigned i = 1; i < deep; i++)
            buffer_add_char(&text, ']');
        buffer_add_char(&text, '}');
        bool fits = deep == JSON_STORED_DEPTH;
        buffer_clear(&out);
        ck_assert_int_eq(json_upsert_update(buffer_view(&text), B("{}"), B("{}"), SIZE_MAX, &out),
                         fits ? JSON_UPSERT_DONE : JSON_UPSERT_NOT_OBJECT);
        ck_assert_int_eq(json_upsert_update(B("{}"), buffer_view(&text), B("{}"), SIZE_MAX, &out),
                         fits ? JSON_UPSERT_DONE : JSON_UPSERT_INVALID);
        buffer_free(&text);
    }
    buffer_free(&out);
}
END_TEST

// Whether the member `name` of the result is what setting alone or adding alone gives.
START_TEST(upsert_agrees_with_jansson)
{
    struct random random = random_seeded(random_run_seed(), 25);
    int added = 0;
    for (int round = 0; round < 4000; round++) {
        json_t *target = json_object();
        json_t *set = json_object();
        json_t *increment = json_object();
        for (size_t n = random_below(&random, 20); n > 0; n--)
            json_object_set_new(target, random_name(&random),
                                random_chance(&random, 60)
                                    ? json_integer((json_int_t)random_below(&random, 1000))
                                    : random_json(&random, 2));
        json_t *expected = json_deep_copy(target);
        for (size_t n = random_below(&random, 6); n > 0; n--) {
            const char *name = random_name(&random);
            json_t *old = json_object_get(expected, name);
            if (json_object_get(set, name) || json_object_get(increment, name))
                continue;
            if (random_chance(&random, 50) || (old && !json_is_integer(old))) {
                json_object_set_new(set, name, random_json(&random, 2));
                json_object_set(expected, name, json_object_get(set, name));
            } else {
                json_int_t by = (json_int_t)random_below(&random, 2000) - 1000;
                json_int_t sum;
                if (__builtin_add_overflow(json_integer_value(old), by, &sum))
                    continue;
                json_object_set_new(increment, name, json_integer(by));
                json_object_set_new(expected, name, json_integer(sum));
                added++;
            }
        }
        char *texts[3] = {json_dumps(target, 0), json_dumps(set, JSON_INDENT(1)),
                          json_dumps(increment, JSON_ENSURE_ASCII)};
        struct buffer out = {0};
        ck_assert_int_eq(update(texts[0], texts[1], texts[2], SIZE_MAX, &out), JSON_UPSERT_DONE);
        json_t *got = loaded(buffer_view(&out));
        ck_assert_msg(json_equal(got, expected), "%.*s", shown(buffer_view(&out)), (const char *)out.data);
        buffer_free(&out);
        for (size_t i = 0; i < 3; i++)
            free(texts[i]);
        json_decref(got);
        json_decref(expected);
        json_decref(target);
        json_decref(set);
        json_decref(increment);
    }
    ck_assert_int_gt(added, 1000);
}
END_TEST

Suite *json_upsert_suite(void)
{
    const TTest *tests[] = {
        upsert_sets_whole_values_at_the_top,
        upsert_keeps_the_text_it_does_not_touch,
        upsert_adds_integers_exactly,
        upsert_adds_other_numbers_as_doubles,
        upsert_refuses_sums_out_of_range,
        upsert_refuses_to_add_what_is_not_a_number,
        upsert_refuses_a_member_named_twice,
        upsert_refuses_what_is_no_object,
        upsert_ends_at_the_most_and_at_the_depth,
        upsert_agrees_with_jansson,
        NULL,
    };
    return suite_of("json_upsert", tests);
}
