// Entity-tag lists: what RFC 9110 allows, what it does not, and which comparison each header uses.
#include "unit.h"

#include "http/conditions.h"

static struct arena arena;

static bool parse(struct bytes text, bool strong, struct condition *condition)
{
    return condition_parse(&arena, text, strong, condition);
}

START_TEST(conditions_read_lists)
{
    struct condition condition;
    ck_assert(parse(B("\"a\", \"b\" ,\"\""), true, &condition));
    ck_assert(!condition.any);
    ck_assert_int_eq(condition.count, 3);
    assert_bytes_eq(condition.tags[0], B("a"));
    assert_bytes_eq(condition.tags[1], B("b"));
    assert_bytes_eq(condition.tags[2], B(""));
    ck_assert(condition_matches(&condition, B("b")));
    ck_assert(!condition_matches(&condition, B("c")));
    arena_free(&arena);
}
END_TEST

START_TEST(conditions_star_matches_everything)
{
    struct condition condition;
    ck_assert(parse(B(" * "), true, &condition));
    ck_assert(condition.any);
    ck_assert(condition_matches(&condition, B("anything")));
    arena_free(&arena);
}
END_TEST

START_TEST(conditions_weak_tags_match_only_weakly)
{
    struct condition condition;
    ck_assert(parse(B("W/\"a\", \"b\""), true, &condition));
    ck_assert(!condition_matches(&condition, B("a")));
    ck_assert(condition_matches(&condition, B("b")));
    ck_assert(parse(B("W/\"a\""), false, &condition));
    ck_assert(condition_matches(&condition, B("a")));
    ck_assert(parse(B("W/\"a\""), true, &condition));
    ck_assert(condition.given);
    ck_assert_int_eq(condition.count, 0);
    arena_free(&arena);
}
END_TEST

START_TEST(conditions_refuse_what_is_no_list)
{
    static const char *const bad[] = {"",         ",",          "a",       "\"a", "a\"", "\"a\" \"b\"",
                                      "*, \"a\"", "\"a\"*",     "w/\"a\"", "W/a", "W/",  "\"a b\"",
                                      "'a'",      "\"a\";\"b\""};
    struct condition condition;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!parse(bytes_of(bad[i]), true, &condition), "%s", bad[i]);
    arena_free(&arena);
}
END_TEST

START_TEST(conditions_skip_empty_elements)
{
    struct condition condition;
    ck_assert(parse(B(" , \"a\",, \"b\","), false, &condition));
    ck_assert_int_eq(condition.count, 2);
    arena_free(&arena);
}
END_TEST

Suite *conditions_suite(void)
{
    const TTest *tests[] = {conditions_read_lists,
                            conditions_star_matches_everything,
                            conditions_weak_tags_match_only_weakly,
                            conditions_refuse_what_is_no_list,
                            conditions_skip_empty_elements,
                            NULL};
    return suite_of("conditions", tests);
}
