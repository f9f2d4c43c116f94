// Preconditions by RFC 9110 section 13: what they compare, in which order, and that a failed one changes
// nothing.
#include "api.h"

static const char *tag_of(const struct answer *answer)
{
    return answer_need(answer, "ETag");
}

// A live entry `k` with the value "v" in a fresh bucket, and a tag that it had before.
struct live {
    const char *path;
    const char *tag;
    const char *old;
};

static struct live make_live(void)
{
    struct live live = {.path = api_entry(api_bucket(), "k")};
    live.old = tag_of(PUT(live.path, BODY("before")));
    live.tag = tag_of(PUT(live.path, BODY("v")));
    return live;
}

static void expect_unchanged(const struct live *live)
{
    struct answer *got = GET(live->path);
    ck_body(got, BODY("v"));
    ck_header(got, "ETag", live->tag);
}

static void expect_conflict(const struct answer *answer, const char *tag)
{
    ck_problem(answer, 412, "version_conflict");
    ck_header(answer, "ETag", tag); // reply_check compares it with current_version
    ck_header(answer, "Holdfast-Position", NULL);
}

START_TEST(if_match)
{
    struct live live = make_live();
    expect_conflict(PUT(live.path, BODY("w"), TEXT("If-Match: %s", live.old)), live.tag);
    expect_conflict(PUT(live.path, BODY("w"), "If-Match: \"nonsense\""), live.tag);
    expect_conflict(PUT(live.path, BODY("w"), "If-Match: \"\""), live.tag);
    expect_conflict(PUT(live.path, BODY("w"), TEXT("If-Match: %s, \"1\"", live.old)), live.tag);
    expect_unchanged(&live);
    struct answer *put = PUT(live.path, BODY("w"), TEXT("If-Match: %s", live.tag));
    ck_status(put, 204);
    put = PUT(live.path, BODY("x"), TEXT("If-Match: %s, %s", live.old, tag_of(put)));
    ck_status(put, 204);
    put = PUT(live.path, BODY("y"), TEXT("If-Match:  ,%s ,, %s,\t", tag_of(put), live.old));
    ck_status(put, 204);
    put = PUT(live.path, BODY("z"), "If-Match: *");
    ck_status(put, 204);
    ck_body(GET(live.path), BODY("z"));
    ck_status(DELETE(live.path, TEXT("If-Match: %s", tag_of(put))), 204);
    expect_conflict(PUT(live.path, BODY("w"), "If-Match: *"), NULL);
    expect_conflict(PUT(live.path, BODY("w"), TEXT("If-Match: %s", tag_of(put))), NULL);
    ck_status(GET(live.path), 404);
}
END_TEST

// HTTP-1
START_TEST(weak_tags)
{
    struct live live = make_live();
    expect_conflict(PUT(live.path, BODY("w"), TEXT("If-Match: W/%s", live.tag)), live.tag);
    expect_conflict(DELETE(live.path, TEXT("If-Match: W/%s", live.tag)), live.tag);
    ck_problem(GET(live.path, TEXT("If-Match: W/%s", live.tag)), 412, "version_conflict");
    expect_unchanged(&live);
    ck_status(GET(live.path, TEXT("If-None-Match: W/%s", live.tag)), 304);
    ck_status(HEAD(live.path, TEXT("If-None-Match: W/%s", live.tag)), 304);
    ck_status(GET(live.path, TEXT("If-None-Match: W/%s, W/\"x\"", live.tag)), 304);
    ck_status(GET(live.path, TEXT("If-None-Match: W/%s", live.old)), 200);
    expect_conflict(PUT(live.path, BODY("w"), TEXT("If-None-Match: W/%s", live.tag)), live.tag);
    ck_status(PUT(live.path, BODY("w"), TEXT("If-Match: W/\"x\", %s", live.tag)), 204);
}
END_TEST

START_TEST(if_none_match_creates_only)
{
    const char *path = api_entry(api_bucket(), "k");
    struct answer *put = PUT(path, BODY("v"), "If-None-Match: *");
    ck_status(put, 201);
    expect_conflict(PUT(path, BODY("w"), "If-None-Match: *"), tag_of(put));
    ck_body(GET(path), BODY("v"));
    ck_status(DELETE(path), 204);
    ck_status(PUT(path, BODY("w"), "If-None-Match: *"), 201);
}
END_TEST

START_TEST(if_none_match_of_versions_on_writes)
{
    struct live live = make_live();
    expect_conflict(PUT(live.path, BODY("w"), TEXT("If-None-Match: %s", live.tag)), live.tag);
    expect_conflict(PUT(live.path, BODY("w"), TEXT("If-None-Match: %s, %s", live.old, live.tag)), live.tag);
    expect_conflict(DELETE(live.path, TEXT("If-None-Match: %s", live.tag)), live.tag);
    expect_conflict(DELETE(live.path, "If-None-Match: *"), live.tag);
    expect_unchanged(&live);
    ck_status(PUT(live.path, BODY("w"), TEXT("If-None-Match: %s", live.old)), 204);
    ck_status(DELETE(live.path, TEXT("If-None-Match: %s", live.tag)), 204);
    ck_status(PUT(live.path, BODY("w"), TEXT("If-None-Match: %s", live.tag)), 201);
}
END_TEST

START_TEST(get_if_none_match_is_304)
{
    struct live live = make_live();
    struct answer *same = GET(live.path, TEXT("If-None-Match: %s", live.tag));
    ck_status(same, 304);
    ck_header(same, "ETag", live.tag);
    ck_body(same, BODY(""));
    ck_status(HEAD(live.path, TEXT("If-None-Match: %s", live.tag)), 304);
    ck_status(GET(live.path, "If-None-Match: *"), 304);
    ck_status(GET(live.path, TEXT("If-None-Match: %s, %s", live.old, live.tag)), 304);
    ck_status(GET(live.path, TEXT("If-None-Match: %s", live.old), TEXT("If-None-Match: %s", live.tag)), 304);
    struct answer *other = GET(live.path, TEXT("If-None-Match: %s", live.old));
    ck_status(other, 200);
    ck_body(other, BODY("v"));
    ck_status(GET(live.path, "If-None-Match: \"x\""), 200);
    ck_status(GET(live.path, TEXT("If-None-Match: \"0%.*s\"", (int)strlen(live.tag) - 2, live.tag + 1)), 200);
    ck_status(DELETE(live.path), 204);
    ck_status(GET(live.path, TEXT("If-None-Match: %s", live.tag)), 404);
    ck_status(GET(live.path, "If-None-Match: *"), 404);
}
END_TEST

// A 304 carries what a 200 would have said about the value's validity.
START_TEST(not_modified_has_the_expiry)
{
    const char *path = api_entry(api_bucket(), "k");
    struct answer *put = PUT(TEXT("%s?ttl=1h", path), BODY("v"));
    struct answer *same = GET(path, TEXT("If-None-Match: %s", tag_of(put)));
    ck_status(same, 304);
    ck_header(same, "Holdfast-Expires-At", answer_need(put, "Holdfast-Expires-At"));
}
END_TEST

START_TEST(get_if_match)
{
    struct live live = make_live();
    ck_status(GET(live.path, TEXT("If-Match: %s", live.tag)), 200);
    ck_status(GET(live.path, "If-Match: *"), 200);
    expect_conflict(GET(live.path, TEXT("If-Match: %s", live.old)), live.tag);
    ck_status(HEAD(live.path, TEXT("If-Match: %s", live.old)), 412);
    ck_status(HEAD(live.path, TEXT("If-Match: %s", live.tag)), 200);
}
END_TEST

// RFC 9110 section 13.2.2: If-Match comes first; what it lets through, If-None-Match judges.
START_TEST(both_conditions)
{
    struct live live = make_live();
    const char *match[] = {live.tag, live.old, "*"};
    const char *none_match[] = {live.tag, live.old, "*"};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const char *first = TEXT("If-Match: %s", match[i]);
            const char *second = TEXT("If-None-Match: %s", none_match[j]);
            bool goes = i != 1 && j == 1;
            struct answer *got = GET(live.path, second, first);
            ck_reply(got, got->status == (i == 1 ? 412 : j == 1 ? 200 : 304));
            if (!goes)
                expect_conflict(PUT(live.path, BODY("w"), first, second), live.tag);
            if (!goes)
                expect_conflict(DELETE(live.path, second, first), live.tag);
        }
    expect_unchanged(&live);
    ck_status(PUT(live.path, BODY("w"), TEXT("If-None-Match: %s", live.old), TEXT("If-Match: %s", live.tag)),
              204);
    ck_status(DELETE(live.path, TEXT("If-None-Match: %s", live.old), "If-Match: *"), 204);
    expect_conflict(PUT(live.path, BODY("w"), "If-Match: *", "If-None-Match: *"), NULL);
}
END_TEST

START_TEST(several_condition_headers)
{
    struct live live = make_live();
    expect_conflict(PUT(live.path, BODY("w"), TEXT("If-Match: %s", live.old), "If-Match: \"x\""), live.tag);
    expect_conflict(
        PUT(live.path, BODY("w"), TEXT("If-None-Match: %s", live.old), TEXT("if-none-match: %s", live.tag)),
        live.tag);
    expect_unchanged(&live);
    ck_status(PUT(live.path, BODY("w"), TEXT("If-Match: %s", live.old), "IF-MATCH: \"x\"",
                  TEXT("if-match: %s", live.tag)),
              204);
    // `*` stands alone; beside anything else it is no list.
    ck_problem(PUT(live.path, BODY("w"), "If-Match: *", TEXT("If-Match: %s", live.tag)), 400, "invalid");
    ck_problem(GET(live.path, "If-None-Match: *", "If-None-Match: *"), 400, "invalid");
}
END_TEST

START_TEST(malformed_condition_is_400)
{
    struct live live = make_live();
    static const char *const bad[] = {
        "x",       "1",       "\"x",      "x\"",     "'x'",       "\"a\" \"b\"", "\"a\";\"b\"",
        "w/\"a\"", "W/",      "W /\"a\"", "W/*",     "*, \"a\"",  "\"a\", *",    "**",
        ",",       "\"a\",b", "\"a\"b",   "\"a b\"", "W/W/\"a\"", "\"\"\"",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        static const char *const headers[] = {"If-Match", "If-None-Match"};
        for (int j = 0; j < 2; j++) {
            const char *line = TEXT("%s: %s", headers[j], bad[i]);
            ck_invalid(PUT(live.path, BODY("w"), line), headers[j]);
            ck_invalid(DELETE(live.path, line), headers[j]);
            ck_invalid(GET(live.path, line), headers[j]);
        }
        expect_unchanged(&live);
    }
    ck_invalid(PUT(live.path, BODY("w"), "If-Match;"), "If-Match");
    ck_invalid(PUT(live.path, BODY("w"), "If-None-Match;"), "If-None-Match");
    expect_unchanged(&live);
}
END_TEST

// Tags that are well formed and no version of ours match nothing, however close they look.
START_TEST(foreign_tags_match_nothing)
{
    struct live live = make_live();
    const char *version = TEXT("%.*s", (int)strlen(live.tag) - 2, live.tag + 1);
    const char *near[] = {
        TEXT("\"+%s\"", version),
        TEXT("\"0%s\"", version),
        TEXT("\"%s.0\"", version),
        TEXT("\"-%s\"", version),
        TEXT("\"%s!\"", version),
        "\"0\"",
        "\"-1\"",
        "\"9223372036854775808\"",
        "\"99999999999999999999999\"",
        "\"NULL\"",
        "\"{1}\"",
        "\"\xC3\xA9\"",
        "\"',');--\"",
        "\"*\"",
        "\"a,b\"",
        "\"\\\"",
    };
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
        expect_conflict(PUT(live.path, BODY("w"), TEXT("If-Match: %s", near[i])), live.tag);
        expect_conflict(DELETE(live.path, TEXT("If-Match: %s", near[i])), live.tag);
        ck_status(GET(live.path, TEXT("If-None-Match: %s", near[i])), 200);
    }
    expect_unchanged(&live);
    ck_status(PUT(live.path, BODY("w"), TEXT("If-None-Match: %s", near[0])), 204);
}
END_TEST

START_TEST(long_lists_of_tags)
{
    struct live live = make_live();
    const char *list = "\"1\"";
    for (int i = 0; i < 300; i++)
        list = TEXT("%s, \"%d\"", list, i + 2);
    expect_conflict(PUT(live.path, BODY("w"), TEXT("If-Match: %s", list)), live.tag);
    ck_status(PUT(live.path, BODY("w"), TEXT("If-Match: %s, %s", list, live.tag)), 204);
    ck_status(GET(live.path, TEXT("If-None-Match: %s", list)), 200);
}
END_TEST

START_TEST(failed_condition_is_412)
{
    struct live live = make_live();
    struct answer *failed = PUT(live.path, BODY("w"), TEXT("If-Match: %s", live.old));
    ck_problem(failed, 412, "version_conflict");
    ck_assert_str_eq(TEXT("\"%s\"", answer_text(failed, "current_version")), live.tag);
    ck_status(DELETE(live.path), 204);
    failed = PUT(live.path, BODY("w"), TEXT("If-Match: %s", live.old));
    ck_problem(failed, 412, "version_conflict");
    ck_reply(failed, json_is_null(json_object_get(failed->json, "current_version")));
    ck_header(failed, "ETag", NULL);
}
END_TEST

START_TEST(failed_condition_changes_nothing)
{
    const char *path = api_entry(api_bucket(), "k");
    struct answer *put =
        PUT(TEXT("%s?ttl=1h", path), BODY("v"), "Content-Type: text/plain", "Holdfast-Meta-A: b");
    expect_conflict(PUT(TEXT("%s?persist=true", path), BODY("w"), "Content-Type: text/html",
                        "Holdfast-Meta-A: c", "If-Match: \"1\""),
                    tag_of(put));
    expect_conflict(PUT(TEXT("%s?ttl=1s", path), BODY("w"), "If-None-Match: *"), tag_of(put));
    expect_conflict(DELETE(path, "If-Match: \"1\""), tag_of(put));
    struct answer *got = GET(path);
    ck_body(got, BODY("v"));
    ck_header(got, "ETag", tag_of(put));
    ck_header(got, "Content-Type", "text/plain");
    ck_header(got, "Holdfast-Meta-A", "b");
    ck_header(got, "Holdfast-Expires-At", answer_need(put, "Holdfast-Expires-At"));
}
END_TEST

START_TEST(unhonoured_condition_is_400)
{
    const char *bucket = api_bucket();
    const char *path = TEXT("/v1/buckets/%s", bucket);
    ck_invalid(PUT(path, BODY("{}"), "If-None-Match: *"), "If-None-Match");
    ck_invalid(PUT(path, BODY("{}"), "If-Match: \"1\""), "If-Match");
    ck_status(GET(path), 404);
    ck_status(PUT(path, BODY("{}")), 201);
    ck_invalid(GET(path, "If-None-Match: *"), "If-None-Match");
    ck_invalid(DELETE(path, "If-Match: *"), "If-Match");
    ck_invalid(GET("/v1/buckets", "If-Match: *"), "If-Match");
    ck_status(GET(path), 200);
}
END_TEST

// CAS-2
START_TEST(absence_is_clear)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    for (int declared = 0; declared < 2; declared++) {
        struct answer *got = GET(path);
        ck_problem(got, 404, "not_found");
        ck_header(got, "ETag", NULL);
        ck_problem(DELETE(path), 404, "not_found");
        expect_conflict(DELETE(path, "If-Match: \"1\""), NULL);
        expect_conflict(DELETE(path, "If-Match: *"), NULL);
        expect_conflict(PUT(path, BODY("v"), "If-Match: \"1\""), NULL);
        ck_problem(DELETE(path, "If-None-Match: *"), 404, "not_found");
        ck_status(PUT(TEXT("/v1/buckets/%s", bucket), BODY("{}")), declared ? 200 : 201);
    }
    struct answer *put = PUT(path, BODY("v"));
    ck_status(DELETE(path), 204);
    expect_conflict(DELETE(path, TEXT("If-Match: %s", tag_of(put))), NULL);
    ck_header(GET(path), "ETag", NULL);
}
END_TEST

Suite *conditions_suite(void)
{
    const TTest *const tests[] = {
        if_match,
        weak_tags,
        if_none_match_creates_only,
        if_none_match_of_versions_on_writes,
        get_if_none_match_is_304,
        not_modified_has_the_expiry,
        get_if_match,
        both_conditions,
        several_condition_headers,
        malformed_condition_is_400,
        foreign_tags_match_nothing,
        long_lists_of_tags,
        failed_condition_is_412,
        failed_condition_changes_nothing,
        unhonoured_condition_is_400,
        absence_is_clear,
        NULL,
    };
    return api_suite("conditions", NULL, tests);
}
