// Lines of dumps: what cannot stand on a line is encoded, what is no entry is refused, and the last
// checkpoint counts.
#include "unit.h"

#include "client/dump_lines.h"

#include <string.h>

static void expect_entry(const char *entry, enum dump_verdict verdict, const char *expected)
{
    struct buffer lines = {0};
    struct bytes copy = exact_copy(bytes_of(entry));
    ck_assert_msg(dump_line_entry(&lines, bytes_of("b"), copy) == verdict, "%s", entry);
    assert_bytes_eq(buffer_view(&lines), bytes_of(expected));
    exact_free(copy);
    buffer_free(&lines);
}

#define LINE(rest) "{\"kind\":\"entry\",\"bucket\":\"b\"," rest "\n"

START_TEST(dump_lines_have_every_byte)
{
    expect_entry("{\"key\":\"k\",\"size\":3,\"value\":1.0}", DUMP_WRITTEN,
                 LINE("\"key\":\"k\",\"size\":3,\"value\":1.0}"));
    expect_entry("{\"key_base64\":\"AA==\",\"text\":\"x\"}", DUMP_WRITTEN,
                 LINE("\"key_base64\":\"AA==\",\"text\":\"x\"}"));
    expect_entry("{\"key\":\"k\",\"size\":6,\"value\": [1]\n }", DUMP_WRITTEN,
                 LINE("\"key\":\"k\",\"size\":6,\"base64\":\"IFsxXQog\"}"));
    expect_entry("{\"key\":\"k\",\"value\":[\n1],\"size\":4}", DUMP_WRITTEN,
                 LINE("\"key\":\"k\",\"base64\":\"WwoxXQ==\",\"size\":4}"));
    expect_entry("{\"key\":\"k\",\"corrupt\":true}", DUMP_CORRUPT, "");
}
END_TEST

START_TEST(dump_lines_refuse_what_is_no_entry)
{
    static const char *const others[] = {
        "1",
        "null",
        "[]",
        "{}",
        "\"key\"",
        "{\"size\":1}",
        "{\"key\":\"k\",\"value\":1}",                // no size
        "{\"key\":\"k\",\"size\":9,\"value\":1}",     // beyond the entry
        "{\"key\":\"k\",\"size\":2,\"value\":[1,2]}", // ends within the value
        "{\"key\":\"k\",\"size\":0,\"value\":1}",
        "{\"key\":\"k\",\"size\":-1,\"value\":1}",
        "{\"key\":\"k\",\n\"text\":\"x\"}", // a line break that is no value's
        "{\"key\":\"k\",\"size\":2,\"value\":1\n,\"a\":[\n]}",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        expect_entry(others[i], DUMP_BROKEN, "");
}
END_TEST

static struct dump_checkpoint find(const char *text, const char *only)
{
    struct dump_checkpoint last = {0};
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    dump_checkpoint_find(file, only, &last);
    fclose(file);
    return last;
}

#define CHECKPOINT(bucket, cursor, only)                                                                     \
    "{\"kind\":\"checkpoint\",\"bucket\":" bucket ",\"cursor\":" cursor ",\"only\":" only "}\n"

START_TEST(dump_goes_on_at_its_last_checkpoint)
{
    static const char first[] = CHECKPOINT("\"a\"", "\"x\"", "null");
    static const char whole[] = CHECKPOINT("\"a\"", "\"x\"", "null") "{\"name\":\"b\"}\n" //
        CHECKPOINT("\"b\\u0000\"", "null", "null");
    struct dump_checkpoint last = find(whole, NULL);
    ck_assert_int_eq(last.end, sizeof whole - 1);
    ck_assert(!last.of_another && !last.cursor.data);
    assert_bytes_eq(last.bucket, B("b\0"));
    arena_free(&last.arena);

    // Behind it is what is no checkpoint, though it looks like one, and a line that broke off.
    static const char *const others[] = {
        CHECKPOINT("1", "null", "null"),
        CHECKPOINT("null", "null", "null"),
        CHECKPOINT("\"b\"", "7", "null"),
        CHECKPOINT("\"b\"", "null", "[]"),
        "{\"kind\":\"checkpoint\"}\n",
        "{\"kind\":\"checkpoint\",\"bucket\":\"b\",\"cursor\":null,\"only\":null}",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char text[300];
        snprintf(text, sizeof text, "%s%s", first, others[i]);
        last = find(text, NULL);
        ck_assert_msg(last.end == sizeof first - 1, "%s", others[i]);
        assert_bytes_eq(last.bucket, bytes_of("a"));
        assert_bytes_eq(last.cursor, bytes_of("x"));
        arena_free(&last.arena);
    }
    ck_assert_int_eq(find("", NULL).end, 0);
}
END_TEST

START_TEST(dump_of_other_buckets_is_known)
{
    static const char all[] = CHECKPOINT("\"a\"", "null", "null"),
                      one[] = CHECKPOINT("\"a\"", "null", "\"a\"");
    static const struct {
        const char *text;
        const char *only;
        bool of_another;
    } dumps[] = {
        {all, NULL, false}, {all, "a", true}, {one, NULL, true}, {one, "a", false}, {one, "b", true}};
    for (size_t i = 0; i < sizeof dumps / sizeof dumps[0]; i++) {
        struct dump_checkpoint last = find(dumps[i].text, dumps[i].only);
        ck_assert(last.of_another == dumps[i].of_another);
        arena_free(&last.arena);
    }
}
END_TEST

Suite *dump_lines_suite(void)
{
    const TTest *const tests[] = {
        dump_lines_have_every_byte,
        dump_lines_refuse_what_is_no_entry,
        dump_goes_on_at_its_last_checkpoint,
        dump_of_other_buckets_is_known,
        NULL,
    };
    return suite_of("dump_lines", tests);
}
