// Grants: what is accepted and how it is written again, what is refused, and what each lets through.
#include "unit.h"

#include "base/path.h"
#include "security/grant.h"
#include "security/token.h"

#include <stdio.h>

static bool parses(const char *text)
{
    struct arena arena = {0};
    struct grant grant;
    const char *reason = NULL;
    struct bytes copy = exact_copy(bytes_of(text));
    bool good = grant_parse(&arena, copy, &grant, &reason);
    ck_assert_msg(good || (reason && *reason), "%s is refused without a reason", text);
    exact_free(copy);
    arena_free(&arena);
    return good;
}

static void expect_canonical(const char *text, const char *canonical)
{
    struct arena arena = {0};
    struct buffer out = {0};
    struct grant grant;
    const char *reason;
    ck_assert_msg(grant_parse(&arena, bytes_of(text), &grant, &reason), "%s", text);
    grant_format(&out, &grant);
    buffer_add_char(&out, 0);
    ck_assert_str_eq((const char *)out.data, canonical);
    buffer_free(&out);
    arena_free(&arena);
}

START_TEST(grants_are_written_in_one_form)
{
    static const char *const forms[][2] = {
        {"read:app", "read:app"},
        {"write:app*", "write:app*"},
        {"admin:*", "admin:*"},
        {"admin:buckets:app", "admin:app"},
        {"admin:buckets:*", "admin:buckets:*"},
        {"read:counters:hits", "read:counters:hits"},
        {"read:counters:*", "read:counters:*"},
        {"write:rate-limits:a", "write:rate-limits:a"},
        {"write:rate-gates:a", "write:rate-gates:a"},
        {"write:quotas:a", "write:quotas:a"},
        {"write:once:a", "write:once:a"},
        {"write:sessions:web", "write:sessions:web"},
        {"admin:forks:ci-*", "admin:forks:ci-*"},
        {"read:%61pp", "read:app"},
        {"read:a%2fb", "read:a%2Fb"},
        {"read:a%3Ab%2A%25%20", "read:a%3Ab%2A%25%20"},
        {"read:caf\xc3\xa9", "read:caf\xc3\xa9"},
        {"read:caf%C3%A9", "read:caf\xc3\xa9"},
        {"read:sessions/under=tenant-7", "read:sessions/under=tenant-7"},
        {"read:s/under=a/under=%42", "read:s/under=a/under=B"},
        {"read:s*/under=a", "read:s*/under=a"},
        {"read:*/under=a", "read:buckets:*/under=a"},
        {"read:counters:c/under=a", "read:counters:c/under=a"},
        {"read:s/under=%00%FF", "read:s/under=%00%FF"},
        {"read:s/under=a=b", "read:s/under=a=b"},
        {"read:A&B", "read:A&B"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        expect_canonical(forms[i][0], forms[i][1]);
        expect_canonical(forms[i][1], forms[i][1]);
    }
}
END_TEST

// A branch that fills the whole length of a path leaves no key in it: it must not turn into a grant without a
// branch.
START_TEST(long_branches_stay_or_are_refused)
{
    char text[1100];
    int good = 0;
    for (int size = 1000; size <= 1030; size++) {
        int at = snprintf(text, sizeof text, "write:app/under=");
        memset(text + at, 'o', (size_t)size);
        text[at + size] = 0;
        if (!parses(text))
            continue;
        expect_canonical(text, text);
        good++;
    }
    ck_assert_int_gt(good, 0);
    ck_assert_int_lt(good, 25);
}
END_TEST

START_TEST(malformed_grants_are_refused)
{
    static const char *const bad[] = {
        "",
        "read",
        "read:",
        ":app",
        "Read:app",
        "own:app",
        "read :app",
        "read: app",
        " read:app",
        "read:app ",
        "read:a p",
        "read:a*b",
        "read:**",
        "read:*a",
        "read:a/b",
        "read:a/",
        "read:a//under=b",
        "read:a/under=",
        "read:a/under",
        "read:a/Under=b",
        "read:a/under=b/",
        "read:a/under=b*",
        "read:a/under=b:c",
        "read:nothing:a",
        "read:tokens:a",
        "read:bucket:a",
        "read:buckets:",
        "read:counters:",
        "read:a:b:c",
        "read:a%",
        "read:a%4",
        "read:a%zz",
        "read:a%00",
        "read:a%0A",
        "read:a\nb",
        "read:%FF",
        "read:\xff",
        "read:a%C2%80",
        "read:forks:a/under=b",
        "read:sessions:a/under=b",
        "read:app,write:app",
        "admin",
        "admin:",
        "admin:*:",
        "admin:**",
        "read:/under=a",
        "read:a\t",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!parses(bad[i]), "%s is accepted", bad[i]);
    char longest[200] = "read:";
    memset(longest + 5, 'a', 128);
    longest[133] = 0;
    ck_assert(parses(longest));
    strcat(longest, "a");
    ck_assert(!parses(longest));
}
END_TEST

static bool allows(const char *text, enum grant_action action, enum grant_kind kind, const char *name,
                   const char *owner)
{
    struct arena arena = {0};
    struct grant grant;
    struct bytes owners[] = {bytes_of(owner ? owner : "x")};
    struct bytes path;
    const char *reason;
    ck_assert_msg(grant_parse(&arena, bytes_of(text), &grant, &reason), "%s", text);
    ck_assert_int_eq(path_encode_branch(&arena, owners, owner ? 1 : 0, &path), PATH_OK);
    bool allowed = grant_allows(&grant, action, kind, bytes_of(name), path);
    arena_free(&arena);
    return allowed;
}

START_TEST(actions_include_the_lesser_ones)
{
    static const char *const texts[] = {"read:app", "write:app", "admin:app"};
    for (int granted = GRANT_READ; granted <= GRANT_ADMIN; granted++)
        for (int wanted = GRANT_READ; wanted <= GRANT_ADMIN; wanted++)
            ck_assert_int_eq(
                allows(texts[granted - 1], (enum grant_action)wanted, GRANT_BUCKETS, "app", NULL),
                wanted <= granted);
}
END_TEST

// AUTH-1
START_TEST(a_name_is_that_name)
{
    static const char *const others[] = {"app2", "ap", "App", "app/..", "app ", "", "*", "xapp"};
    ck_assert(allows("read:app", GRANT_READ, GRANT_BUCKETS, "app", NULL));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!allows("read:app", GRANT_READ, GRANT_BUCKETS, others[i], NULL), "%s", others[i]);
    ck_assert(allows("read:app*", GRANT_READ, GRANT_BUCKETS, "app2", NULL));
    ck_assert(allows("read:app*", GRANT_READ, GRANT_BUCKETS, "app", NULL));
    ck_assert(!allows("read:app*", GRANT_READ, GRANT_BUCKETS, "ap", NULL));
    ck_assert(!allows("read:app%2A", GRANT_READ, GRANT_BUCKETS, "app2", NULL));
}
END_TEST

START_TEST(a_kind_is_that_kind)
{
    for (int kind = GRANT_BUCKETS; kind < GRANT_KINDS; kind++) {
        ck_assert_int_eq(allows("read:app*", GRANT_READ, (enum grant_kind)kind, "app", NULL),
                         kind == GRANT_BUCKETS);
        ck_assert_int_eq(allows("read:buckets:*", GRANT_READ, (enum grant_kind)kind, "app", NULL),
                         kind == GRANT_BUCKETS);
        ck_assert_int_eq(allows("read:quotas:*", GRANT_READ, (enum grant_kind)kind, "app", NULL),
                         kind == GRANT_QUOTAS);
        ck_assert(allows("read:*", GRANT_READ, (enum grant_kind)kind, "app", NULL));
    }
}
END_TEST

START_TEST(a_branch_is_that_branch_and_what_is_below)
{
    struct arena arena = {0};
    struct grant grant;
    const char *reason;
    static const char *const inside[] = {"a", "b"}, *const beside[] = {"ab", "a\xff", "b"};
    ck_assert(grant_parse(&arena, bytes_of("read:s/under=a"), &grant, &reason));
    for (size_t count = 1; count <= 2; count++) {
        struct bytes owners[2] = {bytes_of(inside[0]), bytes_of(inside[1])}, path;
        ck_assert_int_eq(path_encode(&arena, owners, count, bytes_of("k"), &path), PATH_OK);
        ck_assert(grant_allows(&grant, GRANT_READ, GRANT_BUCKETS, bytes_of("s"), path));
    }
    for (size_t i = 0; i < 3; i++) {
        struct bytes owner = bytes_of(beside[i]), path;
        ck_assert_int_eq(path_encode(&arena, &owner, 1, bytes_of("k"), &path), PATH_OK);
        ck_assert(!grant_allows(&grant, GRANT_READ, GRANT_BUCKETS, bytes_of("s"), path));
    }
    struct bytes top;
    ck_assert_int_eq(path_encode(&arena, NULL, 0, bytes_of("a"), &top), PATH_OK);
    ck_assert(!grant_allows(&grant, GRANT_READ, GRANT_BUCKETS, bytes_of("s"), top));
    ck_assert(!grant_allows(&grant, GRANT_READ, GRANT_BUCKETS, bytes_of("s"), (struct bytes){0}));
    arena_free(&arena);
}
END_TEST

Suite *grant_suite(void)
{
    const TTest *tests[] = {
        grants_are_written_in_one_form,
        long_branches_stay_or_are_refused,
        malformed_grants_are_refused,
        actions_include_the_lesser_ones,
        a_name_is_that_name,
        a_kind_is_that_kind,
        a_branch_is_that_branch_and_what_is_below,
        NULL,
    };
    return suite_of("grant", tests);
}
