// Keys, branches and queries: every byte arrives, stays apart from every other, and nothing is guessed at.
#include "api.h"

START_TEST(key_of_any_byte)
{
    const char *bucket = api_bucket();
    for (int byte = 0; byte < 256; byte++) {
        uint8_t value = (uint8_t)byte;
        const char *path = api_entry(bucket, TEXT(byte % 2 ? "%%%02X" : "%%%02x", (unsigned)byte));
        ck_status(PUT(path, bytes_make(&value, 1)), 201);
    }
    for (int byte = 0; byte < 256; byte++) {
        uint8_t value = (uint8_t)byte;
        ck_body(GET(api_entry(bucket, TEXT("%%%02X", (unsigned)byte))), bytes_make(&value, 1));
    }
    uint8_t all[256];
    for (int byte = 0; byte < 256; byte++)
        all[byte] = (uint8_t)(byte * 167);
    const char *whole = api_entry(bucket, http_encode(api.client, bytes_make(all, sizeof all)));
    ck_status(PUT(whole, BODY("all")), 201);
    ck_body(GET(whole), BODY("all"));
    ck_status(DELETE(api_entry(bucket, "%00")), 204);
    ck_status(GET(api_entry(bucket, "%00")), 404);
    ck_status(GET(api_entry(bucket, "%01")), 200);
}
END_TEST

// Bytes that need no escape in a path mean the same with one.
START_TEST(key_with_and_without_escapes)
{
    const char *bucket = api_bucket();
    const char *plain = "azAZ09-._~!$&'()*+,;=:@";
    ck_status(PUT(api_entry(bucket, plain), BODY("v")), 201);
    const char *escaped = "";
    for (const char *c = plain; *c; c++)
        escaped = TEXT("%s%%%02X", escaped, (unsigned)(unsigned char)*c);
    ck_body(GET(api_entry(bucket, escaped)), BODY("v"));
}
END_TEST

START_TEST(empty_segments)
{
    const char *bucket = api_bucket();
    ck_status(PUT(api_entry(bucket, "a"), BODY("v")), 201);
    const char *none[] = {
        TEXT("/v1/buckets/%s/entries/", bucket),
        TEXT("/v1/buckets/%s//entries/a", bucket),
        TEXT("/v1/buckets//entries/a"),
        TEXT("/v1/buckets/%s/entries//a", bucket),
        TEXT("/v1/buckets/%s/entries/a/", bucket),
        TEXT("/v1/buckets/%s/entries/a/b", bucket),
        TEXT("//v1/buckets/%s/entries/a", bucket),
        TEXT("/v1/buckets/%s/entries/a//", bucket),
        TEXT("/v1//buckets/%s/entries/a", bucket),
        TEXT("/v1/../v1/buckets/%s/entries/a", bucket),
        TEXT("/v1/./buckets/%s/entries/a", bucket),
        TEXT("/v1/buckets/%s/entries/../entries/a", bucket),
        TEXT("/V1/buckets/%s/entries/a", bucket),
        TEXT("/v1/buckets/%s/Entries/a", bucket),
        TEXT("/v1/buckets/%s/%%65ntries/%%", bucket),
        TEXT("/v1%%2Fbuckets/%s/entries/a", bucket),
    };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct answer *got = GET(none[i]);
        struct answer *put = PUT(none[i], BODY("w"));
        if ((got->status != 404 && got->status != 400) || (put->status != 404 && put->status != 400))
            ck_abort_msg("%s: %s and %s", none[i], answer_describe(got), answer_describe(put));
    }
    ck_body(GET(api_entry(bucket, "a")), BODY("v"));
}
END_TEST

static const char *repeated(char c, size_t count)
{
    char *text = calloc(1, count + 1);
    memset(text, c, count);
    const char *kept = TEXT("%s", text);
    free(text);
    return kept;
}

START_TEST(key_of_1024_bytes)
{
    const char *bucket = api_bucket();
    struct answer *answer;
    ck_status(PUT(api_entry(bucket, repeated('k', 1024)), BODY("v")), 201);
    ck_body(GET(api_entry(bucket, repeated('k', 1024))), BODY("v"));
    answer = PUT(api_entry(bucket, repeated('k', 1025)), BODY("v"));
    ck_over_limit(answer, 413, "too_large", 1024);
    ck_refused_for(answer, "too_large", "key");
    ck_status(GET(api_entry(bucket, repeated('k', 1025))), 413);
    ck_status(DELETE(api_entry(bucket, repeated('k', 1025))), 413);
    ck_status(HEAD(api_entry(bucket, repeated('k', 1025))), 413);
}
END_TEST

// An owner costs its bytes, one more for each zero byte, and three.
START_TEST(owner_costs_three_bytes)
{
    const char *bucket = api_bucket();
    const struct {
        size_t key;
        const char *branch;
        int status;
    } rows[] = {
        {1020, "?under=o", 201},
        {1021, "?under=o", 413},
        {1016, "?under=o&under=p", 201},
        {1017, "?under=o&under=p", 413},
        {1019, "?under=%00", 201},
        {1020, "?under=%00", 413},
        {1, "?under=", 400},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *path = TEXT("%s%s", api_entry(bucket, repeated('k', rows[i].key)), rows[i].branch);
        ck_status(PUT(path, BODY("v")), rows[i].status);
        ck_status(GET(path), rows[i].status == 201 ? 200 : rows[i].status);
    }
    ck_status(PUT(TEXT("%s?under=%s", api_entry(bucket, "k"), repeated('o', 1020)), BODY("v")), 201);
    ck_status(PUT(TEXT("%s?under=%s", api_entry(bucket, "k"), repeated('o', 1021)), BODY("v")), 413);
    ck_status(PUT(TEXT("%s?under=%s", api_entry(bucket, "k"), repeated('o', 5000)), BODY("v")), 413);
}
END_TEST

START_TEST(bad_escape_is_400)
{
    const char *bucket = api_bucket();
    static const char *const bad[] = {"%",   "%4",   "%zz", "%4g", "%g4", "a%",
                                      "a%2", "%%41", "%-1", "%+1", "% 1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (strchr(bad[i], ' '))
            continue;
        ck_problem(PUT(api_entry(bucket, bad[i]), BODY("v")), 400, "invalid");
        ck_problem(PUT(TEXT("/v1/buckets/%s/entries/k", bad[i]), BODY("v")), 400, "invalid");
        ck_problem(PUT(TEXT("%s?under=%s", api_entry(bucket, "k"), bad[i]), BODY("v")), 400, "invalid");
        ck_problem(GET(TEXT("/v1/buckets?prefix=%s", bad[i])), 400, "invalid");
    }
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 404);
}
END_TEST

START_TEST(branches_are_apart)
{
    const char *bucket = api_bucket();
    static const char *const branches[] = {
        "",           "?under=a",     "?under=a&under=b",   "?under=b&under=a",   "?under=ab",
        "?under=b",   "?under=a%00",  "?under=a&under=%00", "?under=%00&under=a", "?under=a%00%01",
        "?under=%FF", "?under=a%26b", "?under=a&under=a",   "?under=k",           "?under=a%2Fb",
    };
    enum { COUNT = sizeof branches / sizeof branches[0] };
    for (int i = 0; i < COUNT; i++)
        ck_status(PUT(TEXT("%s%s", api_entry(bucket, "k"), branches[i]), bytes_of(TEXT("value %d", i))), 201);
    for (int i = 0; i < COUNT; i++)
        ck_body(GET(TEXT("%s%s", api_entry(bucket, "k"), branches[i])), bytes_of(TEXT("value %d", i)));
    ck_status(DELETE(TEXT("%s?under=a", api_entry(bucket, "k"))), 204);
    for (int i = 0; i < COUNT; i++)
        ck_status(GET(TEXT("%s%s", api_entry(bucket, "k"), branches[i])), i == 1 ? 404 : 200);
}
END_TEST

START_TEST(owner_of_any_byte)
{
    const char *bucket = api_bucket();
    for (unsigned byte = 0; byte < 256; byte++)
        ck_status(PUT(TEXT("%s?under=%%%02X", api_entry(bucket, "k"), byte), bytes_of(TEXT("%u", byte))),
                  201);
    for (unsigned byte = 0; byte < 256; byte++)
        ck_body(GET(TEXT("%s?under=%%%02x", api_entry(bucket, "k"), byte)), bytes_of(TEXT("%u", byte)));
}
END_TEST

START_TEST(plus_in_path_and_query)
{
    const char *bucket = api_bucket();
    ck_status(PUT(api_entry(bucket, "a+b"), BODY("plus")), 201);
    ck_status(PUT(api_entry(bucket, "a%20b"), BODY("space")), 201);
    ck_body(GET(api_entry(bucket, "a%2Bb")), BODY("plus"));
    ck_body(GET(api_entry(bucket, "a+b")), BODY("plus"));
    ck_status(PUT(TEXT("%s?under=x+y", api_entry(bucket, "k")), BODY("space")), 201);
    ck_status(PUT(TEXT("%s?under=x%%2By", api_entry(bucket, "k")), BODY("plus")), 201);
    ck_body(GET(TEXT("%s?under=x%%20y", api_entry(bucket, "k"))), BODY("space"));
    ck_body(GET(TEXT("%s?under=x%%2by", api_entry(bucket, "k"))), BODY("plus"));
}
END_TEST

START_TEST(unknown_parameter_is_400)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_invalid(PUT(TEXT("%s?tll=5s", path), BODY("v")), "tll");
    ck_invalid(PUT(TEXT("%s?TTL=5s", path), BODY("v")), "TTL");
    ck_invalid(GET(TEXT("%s?ttl=5s", path)), "ttl");
    ck_invalid(GET(TEXT("%s?x", path)), "x");
    ck_status(GET(TEXT("%s?=x", path)), 400);
    ck_invalid(DELETE(TEXT("%s?persist=true", path)), "persist");
    ck_invalid(GET("/v1/buckets?start=a"), "start");
    ck_status(GET(TEXT("%s?a%%00b=1", path)), 400);
    ck_status(GET(TEXT("%s?%%FF=1", path)), 400);
    ck_invalid(GET("/livez?x=1"), "x");
    ck_status(PUT(path, BODY("v")), 201);
    ck_status(GET(TEXT("%s?", path)), 200);
    ck_status(GET(TEXT("%s?&", path)), 200);
}
END_TEST

START_TEST(repeated_parameter_is_400)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_invalid(PUT(TEXT("%s?ttl=5s&ttl=5s", path), BODY("v")), "ttl");
    ck_invalid(PUT(TEXT("%s?persist=true&persist=true", path), BODY("v")), "persist");
    ck_invalid(PUT(TEXT("%s?ttl=5s&%%74tl=6s", path), BODY("v")), "ttl");
    ck_invalid(GET("/v1/buckets?limit=1&limit=1"), "limit");
    ck_invalid(GET("/v1/buckets?prefix=a&prefix=b"), "prefix");
    ck_status(GET(path), 404);
}
END_TEST

// KEY-2
START_TEST(reserved_characters_in_keys)
{
    const char *bucket = api_bucket();
    ck_status(PUT(api_entry(bucket, "%2Fv9%2F"), BODY("slashes")), 201);
    ck_status(PUT(api_entry(bucket, "%252F"), BODY("escape")), 201);
    ck_status(PUT(api_entry(bucket, "%2F"), BODY("slash")), 201);
    ck_body(GET(api_entry(bucket, "%2Fv9%2F")), BODY("slashes"));
    ck_body(GET(api_entry(bucket, "%2fv9%2f")), BODY("slashes"));
    ck_body(GET(api_entry(bucket, "%252F")), BODY("escape"));
    ck_status(PUT(api_entry(bucket, "a.html"), BODY("x"), "Content-Type: image/png"), 201);
    ck_status(PUT(api_entry(bucket, "a.json"), BODY("y"), "Content-Type: text/css"), 201);
    ck_status(GET(api_entry(bucket, "a")), 404);
    ck_header(GET(api_entry(bucket, "a.html")), "Content-Type", "image/png");
    ck_header(GET(api_entry(bucket, "a.json"), "Accept: application/json"), "Content-Type", "text/css");
    ck_status(PUT(api_entry(bucket, "%2E%2E"), BODY("dots")), 201);
    ck_body(GET(api_entry(bucket, "..")), BODY("dots"));
    ck_status(PUT(api_entry(bucket, "."), BODY("dot")), 201);
    ck_body(GET(api_entry(bucket, "%2e")), BODY("dot"));
    ck_status(PUT(api_entry(bucket, "k%3Fttl%3D1s"), BODY("question")), 201);
    ck_header(GET(api_entry(bucket, "k%3fttl%3d1s")), "Holdfast-Expires-At", NULL);
    ck_status(GET(api_entry(bucket, "k")), 404);
    ck_status(PUT(api_entry(bucket, "a;b=c"), BODY("semicolon")), 201);
    ck_body(GET(api_entry(bucket, "a%3Bb%3Dc")), BODY("semicolon"));
}
END_TEST

// SDK-1: a generated client that forgets to escape a slash reaches nothing, least of all another entry.
START_TEST(raw_slash_reaches_nothing)
{
    const char *bucket = api_bucket();
    ck_status(PUT(api_entry(bucket, "a"), BODY("v")), 201);
    ck_status(DELETE(api_entry(bucket, "a/b")), 404);
    ck_status(PUT(api_entry(bucket, "a/b"), BODY("v")), 404);
    ck_status(GET(api_entry(bucket, "a")), 200);
}
END_TEST

Suite *keys_suite(void)
{
    const TTest *const tests[] = {
        key_of_any_byte,
        key_with_and_without_escapes,
        empty_segments,
        key_of_1024_bytes,
        owner_costs_three_bytes,
        bad_escape_is_400,
        branches_are_apart,
        owner_of_any_byte,
        plus_in_path_and_query,
        unknown_parameter_is_400,
        repeated_parameter_is_400,
        reserved_characters_in_keys,
        raw_slash_reaches_nothing,
        NULL,
    };
    return api_suite("keys", NULL, tests);
}
