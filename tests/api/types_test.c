// The types of buckets: what each takes and gives back bit for bit, and what it refuses.
#include "api.h"

#define V(literal)                                                                                           \
    {                                                                                                        \
        literal, sizeof(literal) - 1                                                                         \
    }
enum { MOST = 40 };

struct value {
    const char *data;
    size_t size;
};

struct table {
    const char *type;
    struct value takes[MOST]; // one without data ends them
    struct value refuses[MOST];
};

static struct bytes bytes_in(struct value value)
{
    return bytes_make(value.data, value.size);
}

static void check_table(const struct table *table)
{
    const char *bucket = api_bucket();
    ck_status(PUT(TEXT("/v1/buckets/%s", bucket), bytes_of(TEXT("{\"type\":\"%s\"}", table->type))), 201);
    for (int i = 0; table->takes[i].data; i++) {
        struct answer *put = PUT(api_entry(bucket, TEXT("%d", i)), bytes_in(table->takes[i]));
        if (put->status != 201)
            ck_abort_msg("%s refuses %s: %s", table->type, table->takes[i].data, answer_describe(put));
        ck_body(GET(api_entry(bucket, TEXT("%d", i))), bytes_in(table->takes[i]));
    }
    for (int i = 0; table->refuses[i].data; i++) {
        struct answer *put = PUT(api_entry(bucket, "refused"), bytes_in(table->refuses[i]));
        if (strcmp(answer_kind(put), "type_mismatch") != 0)
            ck_abort_msg("%s takes %s: %s", table->type, table->refuses[i].data, answer_describe(put));
        ck_problem(PUT(api_entry(bucket, "0"), bytes_in(table->refuses[i])), 422, "type_mismatch");
    }
    ck_status(GET(api_entry(bucket, "refused")), 404);
    ck_body(GET(api_entry(bucket, "0")), bytes_in(table->takes[0]));
}

START_TEST(bucket_type_json)
{
    static const struct table table = {
        "json",
        {
            V("{}"),
            V("[]"),
            V("null"),
            V("true"),
            V("0"),
            V("\"\""),
            V(" \t\r\n{ \"a\" : [ 1 , 2 ] } \n"),
            V("{\"a\":1,\"a\":2}"),
            V("\"\\u0000\\ud800\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
            V("\"\xF4\x8F\xBF\xBF\x7F\""),
            V("1e400"),
            V("-0"),
            V("-0.0E-00"),
            V("123456789012345678901234567890"),
            V("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
              "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"),
        },
        {
            V(""),
            V(" "),
            V("{"),
            V("{\"a\":1,}"),
            V("[1,]"),
            V("[1 2]"),
            V("{a:1}"),
            V("'a'"),
            V("01"),
            V("+1"),
            V(".5"),
            V("5."),
            V("1e"),
            V("-"),
            V("NaN"),
            V("Infinity"),
            V("-Infinity"),
            V("nul"),
            V("True"),
            V("\"a"),
            V("\"\t\""),
            V("\"\\x41\""),
            V("\"\\u12\""),
            V("{}{}"),
            V("1 2"),
            V("\xEF\xBB\xBF{}"),
            V("\"\xC0\x80\""),
            V("\"\xFF\""),
            V("{}\0"),
            V("// c\n1"),
            V("[1]//"),
            V("\v1"),
            V("\xC2\xA0"
              "1"),
        },
    };
    check_table(&table);
}
END_TEST

START_TEST(bucket_type_text)
{
    static const struct table table = {
        "text",
        {V(""), V("a"), V("\0"), V("\xC3\xA9"), V("\xE2\x82\xAC"), V("\xF0\x9F\x90\x98"),
         V("\xF4\x8F\xBF\xBF"), V("\xEF\xBB\xBFx"), V("\x01\x7F\r\n"), V("\xEF\xBF\xBF")},
        {V("\x80"), V("\xFF"), V("\xC0\x80"), V("\xC1\xBF"), V("\xE0\x80\x80"), V("\xED\xA0\x80"),
         V("\xED\xBF\xBF"), V("\xF0\x80\x80\x80"), V("\xF4\x90\x80\x80"), V("\xF8\x88\x80\x80\x80"),
         V("a\xC3"), V("\xE2\x82"), V("\xF0\x9F\x90"), V("\xC3(")},
    };
    check_table(&table);
}
END_TEST

START_TEST(bucket_type_bytes)
{
    static const struct table table = {
        "bytes", {V("\xFF\xFE\0\x80"), V(""), V("\0"), V("text"), V("\xC0\x80")}, {{0}}};
    check_table(&table);
}
END_TEST

START_TEST(bucket_types)
{
    static const struct table table = {
        "any", {V("\xFF\xFE\0\x80"), V(""), V("text"), V("{\"a\":"), V("007"), V("\xED\xA0\x80")}, {{0}}};
    check_table(&table);
}
END_TEST

START_TEST(bucket_type_int)
{
    static const struct table table = {
        "int",
        {V("0"), V("1"), V("-1"), V("-12"), V("9223372036854775807"), V("-9223372036854775808"), V("10"),
         V("100")},
        {V(""),
         V("+1"),
         V("007"),
         V("00"),
         V("-0"),
         V("1.0"),
         V("1e3"),
         V(" 1"),
         V("1 "),
         V("1\n"),
         V("0x10"),
         V("1_000"),
         V("--1"),
         V("-"),
         V("9223372036854775808"),
         V("-9223372036854775809"),
         V("99999999999999999999999999"),
         V("one"),
         V("1\0"),
         V("\xD9\xA1"),
         V("\"1\""),
         V("null"),
         V("-01")},
    };
    check_table(&table);
}
END_TEST

START_TEST(bucket_type_float)
{
    static const struct table table = {
        "float",
        {V("0"), V("-0"), V("0.1"), V("-12.50"), V("1e308"), V("1.7976931348623157e308"), V("5e-324"),
         V("1E+2"), V("123456789012345678901234567890"), V("0.30000000000000004"), V("1e-5")},
        {V(""),   V("1e309"), V("-1e309"), V("NaN"),  V("Infinity"), V("-inf"),  V("nan"),
         V("1."), V(".5"),    V("+1"),     V("01"),   V("1e"),       V("0x1p3"), V(" 1"),
         V("1 "), V("1,5"),   V("\"1\""),  V("null"), V("1f"),       V("1\0")},
    };
    check_table(&table);
}
END_TEST

START_TEST(bucket_type_bool)
{
    static const struct table table = {
        "bool",
        {V("true"), V("false")},
        {V(""), V("True"), V("TRUE"), V("1"), V("0"), V("yes"), V("true "), V(" true"), V("true\n"),
         V("\"true\""), V("null"), V("tru"), V("truee"), V("true\0")},
    };
    check_table(&table);
}
END_TEST

START_TEST(bucket_type_none)
{
    static const struct table table = {
        "none", {V("")}, {V("0"), V(" "), V("\0"), V("\n"), V("null"), V("{}")}};
    check_table(&table);
}
END_TEST

// A worker remembers the type that a bucket had; a bucket made anew under its name has its own.
START_TEST(types_of_a_bucket_made_anew)
{
    const char *bucket = api_bucket();
    static const char *const types[] = {"int", "bool", "json", "none", "text", "any", "float"};
    for (size_t i = 0; i < 2 * sizeof types / sizeof types[0]; i++) {
        const char *type = types[i % (sizeof types / sizeof types[0])];
        ck_status(PUT(TEXT("/v1/buckets/%s", bucket), bytes_of(TEXT("{\"type\":\"%s\"}", type))), 201);
        struct answer *put = PUT(api_entry(bucket, "k"), BODY("\xFF"));
        ck_reply(put, put->status == (strcmp(type, "any") == 0 ? 201 : 422));
        ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    }
}
END_TEST

// The type counts, not what the Content-Type claims.
START_TEST(types_ignore_the_content_type)
{
    const char *bucket = api_bucket();
    ck_status(DECLARE(bucket, "{\"type\":\"int\"}"), 201);
    ck_status(PUT(api_entry(bucket, "k"), BODY("5"), "Content-Type: image/png"), 201);
    ck_header(GET(api_entry(bucket, "k")), "Content-Type", "image/png");
    ck_problem(PUT(api_entry(bucket, "k"), BODY("x"), "Content-Type: application/json"), 422,
               "type_mismatch");
}
END_TEST

Suite *types_suite(void)
{
    const TTest *const tests[] = {
        bucket_types,
        bucket_type_json,
        bucket_type_text,
        bucket_type_bytes,
        bucket_type_int,
        bucket_type_float,
        bucket_type_bool,
        bucket_type_none,
        types_of_a_bucket_made_anew,
        types_ignore_the_content_type,
        NULL,
    };
    return api_suite("types", NULL, tests);
}
