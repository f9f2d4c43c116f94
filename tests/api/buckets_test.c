// Buckets: declaring, changing, listing, dropping, and every way to say it wrong.
#include "api.h"

static const char *bucket_path(const char *bucket)
{
    return TEXT("/v1/buckets/%s", bucket);
}

static json_t *member(const struct answer *answer, const char *name)
{
    json_t *value = json_object_get(answer->json, name);
    if (!value)
        ck_abort_msg("there is no member %s: %s", name, answer_describe(answer));
    return value;
}

// Whether the body's members are exactly `names`, which a NULL ends.
static bool has_exactly(json_t *object, const char *const *names)
{
    size_t count = 0;
    for (; names[count]; count++)
        if (!json_object_get(object, names[count]))
            return false;
    return json_object_size(object) == count;
}

static const char *const whole[] = {
    "name", "kind", "type", "ttl", "idle", "encrypted", "max_value_bytes", "created_at", NULL};

static bool is_time(const char *text)
{
    static const char form[] = "0000-00-00T00:00:00.000000Z";
    if (!text || strlen(text) != strlen(form))
        return false;
    for (size_t i = 0; form[i]; i++)
        if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return false;
    return true;
}

START_TEST(put_bucket_declares_and_changes)
{
    const char *bucket = api_bucket();
    struct answer *first = DECLARE(bucket, "{\"type\":\"json\",\"ttl\":\"15m\",\"max_value_bytes\":100}");
    ck_status(first, 201);
    ck_header(first, "Content-Type", "application/json");
    ck_assert_pstr_eq(answer_text(first, "name"), bucket);
    ck_assert_pstr_eq(answer_text(first, "kind"), "bucket");
    ck_assert_pstr_eq(answer_text(first, "type"), "json");
    ck_assert_pstr_eq(answer_text(first, "ttl"), "15m");
    ck_assert(json_is_null(member(first, "idle")));
    ck_assert_int_eq(json_integer_value(member(first, "max_value_bytes")), 100);
    ck_reply(first, is_time(answer_text(first, "created_at")));
    struct answer *second = DECLARE(bucket, "{\"idle\":\"30d\"}");
    ck_status(second, 200);
    ck_assert_pstr_eq(answer_text(second, "type"), "any");
    ck_assert_pstr_eq(answer_text(second, "idle"), "30d");
    ck_assert(json_is_null(member(second, "ttl")));
    ck_assert_int_eq(json_integer_value(member(second, "max_value_bytes")), 8388608);
    ck_assert_pstr_eq(answer_text(second, "created_at"), answer_text(first, "created_at"));
    ck_assert(strtoll(answer_need(second, "Holdfast-Position"), NULL, 10) >
              strtoll(answer_need(first, "Holdfast-Position"), NULL, 10));
    struct answer *got = GET(bucket_path(bucket));
    ck_status(got, 200);
    ck_assert(json_equal(got->json, second->json));
}
END_TEST

START_TEST(put_bucket_defaults)
{
    static const char *const bodies[] = {
        "{}", "", "{\"ttl\":null}", "{\"ttl\":null,\"idle\":null}",
        "{\"type\":\"any\",\"ttl\":null,\"idle\":null,\"encrypted\":false,\"max_value_bytes\":8388608}"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct answer *answer = PUT(bucket_path(api_bucket()), bytes_of(bodies[i]));
        ck_status(answer, 201);
        ck_assert_pstr_eq(answer_text(answer, "type"), "any");
        ck_assert(json_is_null(member(answer, "ttl")));
        ck_assert(json_is_null(member(answer, "idle")));
        ck_assert(json_is_false(member(answer, "encrypted")));
        ck_assert_int_eq(json_integer_value(member(answer, "max_value_bytes")), 8388608);
    }
}
END_TEST

START_TEST(configuration_is_whole)
{
    const char *bucket = api_bucket();
    struct answer *answer = DECLARE(bucket, "{}");
    ck_reply(answer, has_exactly(answer->json, whole));
    ck_reply(answer, has_exactly(GET(bucket_path(bucket))->json, whole));
}
END_TEST

START_TEST(ttl_beside_idle_is_400)
{
    const char *bucket = api_bucket();
    ck_problem(DECLARE(bucket, "{\"ttl\":\"1s\",\"idle\":\"1s\"}"), 400, "invalid");
    ck_problem(GET(bucket_path(bucket)), 404, "not_found");
    ck_status(DECLARE(bucket, "{\"ttl\":\"1s\",\"idle\":null}"), 201);
    ck_problem(DECLARE(bucket, "{\"ttl\":\"2s\",\"idle\":\"2s\"}"), 400, "invalid");
    ck_assert_pstr_eq(answer_text(GET(bucket_path(bucket)), "ttl"), "1s");
}
END_TEST

START_TEST(bucket_configuration_is_checked)
{
    static const struct {
        const char *body;
        const char *parameter;
    } rows[] = {
        {"{\"type\":\"string\"}", "type"},
        {"{\"type\":\"\"}", "type"},
        {"{\"type\":\"ANY\"}", "type"},
        {"{\"type\":\"any\\u0000\"}", "type"},
        {"{\"type\":null}", "type"},
        {"{\"type\":1}", "type"},
        {"{\"type\":[\"any\"]}", "type"},
        {"{\"ttl\":0}", "ttl"},
        {"{\"ttl\":60}", "ttl"},
        {"{\"ttl\":\"\"}", "ttl"},
        {"{\"ttl\":\"0s\"}", "ttl"},
        {"{\"ttl\":\"-1s\"}", "ttl"},
        {"{\"ttl\":\"10\"}", "ttl"},
        {"{\"ttl\":\"1s\\u0000\"}", "ttl"},
        {"{\"ttl\":false}", "ttl"},
        {"{\"ttl\":{}}", "ttl"},
        {"{\"ttl\":\"3651d\"}", "ttl"},
        {"{\"idle\":\"1w\"}", "idle"},
        {"{\"idle\":\"1.5h\"}", "idle"},
        {"{\"idle\":-1}", "idle"},
        {"{\"encrypted\":1}", "encrypted"},
        {"{\"encrypted\":\"false\"}", "encrypted"},
        {"{\"encrypted\":null}", "encrypted"},
        {"{\"max_value_bytes\":0}", "max_value_bytes"},
        {"{\"max_value_bytes\":-1}", "max_value_bytes"},
        {"{\"max_value_bytes\":8388609}", "max_value_bytes"},
        {"{\"max_value_bytes\":1.0}", "max_value_bytes"},
        {"{\"max_value_bytes\":\"100\"}", "max_value_bytes"},
        {"{\"max_value_bytes\":null}", "max_value_bytes"},
        {"{\"max_value_bytes\":true}", "max_value_bytes"},
        {"{\"Type\":\"any\"}", "Type"},
        {"{\"tll\":\"1s\"}", "tll"},
        {"{\"name\":\"x\"}", "name"},
        {"{\"kind\":\"bucket\"}", "kind"},
        {"{\"type\\u0000\":\"any\"}", "type\\u0000"},
    };
    const char *bucket = api_bucket();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct answer *answer = PUT(bucket_path(bucket), bytes_of(rows[i].body));
        if (strcmp(answer_kind(answer), "invalid") != 0)
            ck_abort_msg("%s: %s", rows[i].body, answer_describe(answer));
        if (!strchr(rows[i].parameter, '\\'))
            ck_invalid(answer, rows[i].parameter);
    }
    ck_problem(GET(bucket_path(bucket)), 404, "not_found");
}
END_TEST

static void refuse_json(const char *bucket, struct bytes body)
{
    struct answer *answer = PUT(bucket_path(bucket), body);
    if (answer->status != 400 && answer->status != 413 && answer->status != 422)
        ck_abort_msg("%.60s: %s", (const char *)body.data, answer_describe(answer));
}

// JSON-2 for requests, and everything else that a hostile document may be.
START_TEST(json_body_limits)
{
    static const char *const bodies[] = {
        "{\"type\":\"any\",\"type\":\"any\"}",
        "{\"type\":\"any\",\"ty\\u0070e\":\"any\"}",
        "{\"ttl\":\"1s\",\"ttl\":null}",
        "[]",
        "\"any\"",
        "null",
        "1",
        "{",
        "{}{}",
        "{} x",
        "{\"type\":\"any\",}",
        "{type:\"any\"}",
        "{'type':'any'}",
        "{\"type\":\"any\"",
        "{\"type\":\"an\ny\"}",
        "\xEF\xBB\xBF{}",
        "{\"type\":\"\xFF\"}",
        "{\"max_value_bytes\":99999999999999999999999}",
        "{\"max_value_bytes\":1e999}",
        "{\"max_value_bytes\":NaN}",
        "{\"max_value_bytes\":0x10}",
        "{\"max_value_bytes\":007}",
    };
    const char *bucket = api_bucket();
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        refuse_json(bucket, bytes_of(bodies[i]));
    refuse_json(bucket, BODY("{\"type\":\"any\"}\0"));
    refuse_json(bucket, BODY("\0"));
    char deep[2 * 100000 + 16];
    size_t levels[] = {65, 1000, 100000};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        int start = sprintf(deep, "{\"type\":");
        memset(deep + start, '[', levels[i]);
        memset(deep + start + levels[i], ']', levels[i]);
        deep[(size_t)start + 2 * levels[i]] = '}';
        refuse_json(bucket, bytes_make(deep, (size_t)start + 2 * levels[i] + 1));
    }
    ck_problem(GET(bucket_path(bucket)), 404, "not_found");
}
END_TEST

START_TEST(json_body_over_16_mib)
{
    enum { LIMIT = 16 << 20 };
    const char *bucket = api_bucket();
    char *body = malloc(LIMIT + 1);
    memset(body, ' ', LIMIT + 1);
    memcpy(body, "{}", 2);
    ck_status(PUT(bucket_path(bucket), bytes_make(body, LIMIT)), 201);
    struct answer *answer = PUT(bucket_path(bucket), bytes_make(body, LIMIT + 1));
    free(body);
    ck_problem(answer, 413, "too_large");
    ck_assert_int_eq(json_integer_value(member(answer, "limit")), LIMIT);
}
END_TEST

START_TEST(json_body_content_type)
{
    const char *path = bucket_path(api_bucket());
    ck_status(PUT(path, BODY("{}"), "Content-Type: application/json"), 201);
    ck_status(PUT(path, BODY("{}"), "Content-Type: application/json; charset=utf-8"), 200);
    ck_status(PUT(path, BODY("{}"), "Content-Type: Application/JSON"), 200);
    ck_problem(PUT(path, BODY("{}"), "Content-Type: text/plain"), 415, "unsupported_media");
    ck_problem(PUT(path, BODY("{}"), "Content-Type: application/xml"), 415, "unsupported_media");
    ck_problem(PUT(path, BODY("{}"), "Content-Encoding: gzip"), 415, "unsupported_media");
}
END_TEST

START_TEST(encrypted_is_501)
{
    const char *bucket = api_bucket();
    struct answer *answer = DECLARE(bucket, "{\"encrypted\":true}");
    ck_problem(answer, 501, "unsupported");
    ck_problem(GET(bucket_path(bucket)), 404, "not_found");
}
END_TEST

START_TEST(get_bucket)
{
    const char *bucket = api_bucket();
    ck_problem(GET(bucket_path(bucket)), 404, "not_found");
    struct answer *put = DECLARE(bucket, "{\"type\":\"int\",\"idle\":\"90s\"}");
    struct answer *got = GET(bucket_path(bucket));
    ck_status(got, 200);
    ck_header(got, "Content-Type", "application/json");
    ck_assert(json_equal(put->json, got->json));
}
END_TEST

START_TEST(durations_come_back)
{
    // As written, or in a unit that says the same; never another length.
    static const char *const rows[][2] = {{"1ms", "1ms"},   {"1500ms", "1500ms"}, {"60s", "1m"},
                                          {"90s", "90s"},   {"24h", "1d"},        {"3650d", "3650d"},
                                          {"1000ms", "1s"}, {"120m", "2h"}};
    const char *bucket = api_bucket();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct answer *answer = PUT(bucket_path(bucket), bytes_of(TEXT("{\"ttl\":\"%s\"}", rows[i][0])));
        const char *ttl = answer_text(answer, "ttl");
        ck_reply(answer, ttl && (strcmp(ttl, rows[i][0]) == 0 || strcmp(ttl, rows[i][1]) == 0));
    }
}
END_TEST

START_TEST(bucket_name_rules)
{
    char longest[129];
    memset(longest, 'n', 128);
    longest[128] = 0;
    const char *good[] = {
        TEXT("%.100s-%d", longest, (int)random()),
        "%20",
        "a%2Fb",
        "%C3%A9",
        "%F0%9F%90%98",
        "..",
        "+",
        "a%25b",
        "%E2%80%8B",
        "a%3Fb%23c",
        "%22%5C",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_status(PUT(bucket_path(good[i]), BODY("{}")), 201);
        ck_status(PUT(api_entry(good[i], "k"), bytes_of(TEXT("%zu", i))), 201);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_body(GET(api_entry(good[i], "k")), bytes_of(TEXT("%zu", i)));
        ck_status(GET(bucket_path(good[i])), 200);
        ck_status(DELETE(bucket_path(good[i])), 204);
    }
    struct answer *slash = PUT(bucket_path("x%2Fy"), BODY("{}"));
    ck_assert_pstr_eq(answer_text(slash, "name"), "x/y");
    ck_status(PUT(bucket_path(longest), BODY("{}")), 201);
    const char *bad[] = {
        TEXT("%sn", longest), "%00",          "a%00b",  "%0A",    "%7F", "%1F", "%FF", "%C3", "%C0%80",
        "%ED%A0%80",          "%F4%90%80%80", "%C2%80", "%E2%82",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_invalid(PUT(bucket_path(bad[i]), BODY("{}")), "bucket");
        ck_invalid(GET(bucket_path(bad[i])), "bucket");
        ck_invalid(DELETE(bucket_path(bad[i])), "bucket");
        ck_invalid(PUT(api_entry(bad[i], "k"), BODY("v")), "bucket");
        ck_invalid(GET(api_entry(bad[i], "k")), "bucket");
        ck_invalid(DELETE(api_entry(bad[i], "k")), "bucket");
    }
}
END_TEST

// A name of 128 bytes may be 32 characters of four bytes; a 129th byte is one too many however many
// characters.
START_TEST(bucket_name_is_counted_in_bytes)
{
    const char *name = "";
    for (int i = 0; i < 32; i++)
        name = TEXT("%s%%F0%%9F%%90%%98", name);
    ck_status(PUT(bucket_path(name), BODY("{}")), 201);
    ck_invalid(PUT(bucket_path(TEXT("%sx", name)), BODY("{}")), "bucket");
}
END_TEST

// Declares `count` buckets that begin with `prefix`, out of order.
static void declare_many(const char *prefix, int count)
{
    for (int i = 0; i < count; i++)
        ck_status(PUT(bucket_path(TEXT("%s%02d", prefix, (i * 7) % count)), BODY("{\"type\":\"int\"}")), 201);
}

START_TEST(list_buckets_pages)
{
    const char *prefix = TEXT("%s-", api_bucket());
    enum { COUNT = 23 };
    declare_many(prefix, COUNT);
    for (int limit = 1; limit <= COUNT + 1; limit += limit < 4 ? 1 : 10) {
        const char *cursor = NULL;
        int seen = 0, pages = 0;
        do {
            struct answer *page = GET(TEXT("/v1/buckets?prefix=%s&limit=%d%s%s", prefix, limit,
                                           cursor ? "&cursor=" : "", cursor ? cursor : ""));
            ck_status(page, 200);
            json_t *rows = member(page, "buckets");
            ck_reply(page, json_array_size(rows) <= (size_t)limit && json_array_size(rows) > 0);
            for (size_t i = 0; i < json_array_size(rows); i++, seen++)
                ck_assert_str_eq(json_string_value(json_object_get(json_array_get(rows, i), "name")),
                                 TEXT("%s%02d", prefix, seen));
            ck_reply(page, json_is_null(member(page, "cursor")) == (seen == COUNT));
            cursor = answer_text(page, "cursor");
            pages++;
        } while (cursor);
        ck_assert_int_eq(seen, COUNT);
        ck_assert_int_eq(pages, (COUNT + limit - 1) / limit);
    }
}
END_TEST

START_TEST(list_buckets_shape)
{
    static const char *const row_members[] = {"name", "kind", "configuration", "created_at", NULL};
    static const char *const configuration[] = {"type", "ttl", "idle", "encrypted", "max_value_bytes", NULL};
    const char *bucket = api_bucket();
    ck_status(DECLARE(bucket, "{\"ttl\":\"1h\"}"), 201);
    struct answer *page = GET(TEXT("/v1/buckets?prefix=%s", bucket));
    ck_header(page, "Content-Type", "application/json");
    static const char *const members[] = {"buckets", "cursor", NULL};
    ck_reply(page, has_exactly(page->json, members));
    json_t *row = json_array_get(member(page, "buckets"), 0);
    ck_reply(page, has_exactly(row, row_members));
    ck_reply(page, has_exactly(json_object_get(row, "configuration"), configuration));
    ck_reply(page, is_time(json_string_value(json_object_get(row, "created_at"))));
    struct answer *none = GET("/v1/buckets?prefix=there-is-none");
    ck_status(none, 200);
    ck_reply(none, json_is_array(member(none, "buckets")) && !json_array_size(member(none, "buckets")));
    ck_reply(none, json_is_null(member(none, "cursor")));
}
END_TEST

// SCAN-1: a prefix means itself, whatever it looks like to a pattern or a collation.
START_TEST(list_prefix_is_literal)
{
    const char *bucket = api_bucket();
    static const char *const names[] = {"%25", "_", "%5C", "%27", "*", "A", "a", "%C3%A9", "%F0%9F%90%98"};
    enum { COUNT = sizeof names / sizeof names[0] };
    for (int i = 0; i < COUNT; i++)
        ck_status(PUT(bucket_path(TEXT("%s%s-x", bucket, names[i])), BODY("{}")), 201);
    for (int i = 0; i < COUNT; i++) {
        struct answer *page = GET(TEXT("/v1/buckets?prefix=%s%s", bucket, names[i]));
        ck_reply(page, json_array_size(member(page, "buckets")) == 1);
    }
    struct answer *page = GET(TEXT("/v1/buckets?prefix=%s", bucket));
    const char *before = "";
    for (size_t i = 0; i < COUNT; i++) {
        const char *name =
            json_string_value(json_object_get(json_array_get(member(page, "buckets"), i), "name"));
        ck_reply(page, name && strcmp(before, name) < 0);
        before = name;
    }
    ck_invalid(GET("/v1/buckets?prefix=%FF"), "prefix");
    ck_invalid(GET("/v1/buckets?prefix=%00"), "prefix");
}
END_TEST

START_TEST(list_limit_is_checked)
{
    static const char *const bad[] = {"0",   "-1", "1001", "x", "", "1.5", "%201", "99999999999999999999",
                                      "1e2", "+1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_invalid(GET(TEXT("/v1/buckets?limit=%s", bad[i])), "limit");
    ck_status(GET("/v1/buckets?limit=1000"), 200);
    ck_status(GET("/v1/buckets?limit=1"), 200);
}
END_TEST

START_TEST(list_defaults_to_100)
{
    const char *prefix = TEXT("%s-", api_bucket());
    PGconn *connection = database_connect(&api.database);
    sql_run(connection,
            "insert into holdfast.buckets (name, created_at) "
            "select '%s' || to_char(i, 'FM0000'), holdfast.now() from generate_series(1, 1002) i",
            prefix);
    PQfinish(connection);
    struct answer *page = GET(TEXT("/v1/buckets?prefix=%s", prefix));
    ck_reply(page, json_array_size(member(page, "buckets")) == 100 && answer_text(page, "cursor"));
    page = GET(TEXT("/v1/buckets?prefix=%s&limit=1000", prefix));
    ck_reply(page, json_array_size(member(page, "buckets")) == 1000 && answer_text(page, "cursor"));
    page = GET(TEXT("/v1/buckets?prefix=%s&limit=1000&cursor=%s", prefix, answer_text(page, "cursor")));
    ck_assert_int_eq((int)json_array_size(member(page, "buckets")), 2);
    ck_assert(json_is_null(member(page, "cursor")));
}
END_TEST

START_TEST(cursor_stays_good_across_writes)
{
    const char *prefix = TEXT("%s-", api_bucket());
    declare_many(prefix, 6);
    struct answer *page = GET(TEXT("/v1/buckets?prefix=%s&limit=3", prefix));
    ck_status(DELETE(bucket_path(TEXT("%s02", prefix))), 204);
    ck_status(DELETE(bucket_path(TEXT("%s03", prefix))), 204);
    ck_status(PUT(bucket_path(TEXT("%s01b", prefix)), BODY("{}")), 201);
    ck_status(PUT(bucket_path(TEXT("%s04b", prefix)), BODY("{}")), 201);
    page = GET(TEXT("/v1/buckets?prefix=%s&limit=10&cursor=%s", prefix, answer_text(page, "cursor")));
    static const char *const rest[] = {"04", "04b", "05"};
    ck_assert_int_eq((int)json_array_size(member(page, "buckets")), 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(
            json_string_value(json_object_get(json_array_get(member(page, "buckets"), i), "name")),
            TEXT("%s%s", prefix, rest[i]));
}
END_TEST

START_TEST(forged_cursor_is_400)
{
    const char *prefix = TEXT("%s-", api_bucket());
    declare_many(prefix, 3);
    const char *cursor = answer_text(GET(TEXT("/v1/buckets?prefix=%s&limit=1", prefix)), "cursor");
    ck_assert_ptr_nonnull(cursor);
    ck_status(GET(TEXT("/v1/buckets?prefix=%s&limit=2&cursor=%s", prefix, cursor)), 200);
    ck_invalid(GET(TEXT("/v1/buckets?prefix=%sx&cursor=%s", prefix, cursor)), "cursor");
    ck_invalid(GET(TEXT("/v1/buckets?cursor=%s", cursor)), "cursor");
    ck_invalid(GET(TEXT("/v1/buckets?prefix=%s&cursor=", prefix)), "cursor");
    static const char *const bad[] = {"0", "AAAA", "%00", "%FF%FE", "null", "..", "%27%3B--", "-_-_", "===="};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_invalid(GET(TEXT("/v1/buckets?prefix=%s&cursor=%s", prefix, bad[i])), "cursor");
    // Every single change of the text makes it another text, never another page.
    for (size_t i = 0; cursor[i]; i++) {
        char *changed = strdup(cursor);
        changed[i] = changed[i] == 'B' ? 'C' : 'B';
        struct answer *answer = GET(TEXT("/v1/buckets?prefix=%s&cursor=%s", prefix, changed));
        free(changed);
        ck_invalid(answer, "cursor");
    }
    ck_invalid(GET(TEXT("/v1/buckets?prefix=%s&cursor=%sA", prefix, cursor)), "cursor");
    ck_invalid(GET(TEXT("/v1/buckets?prefix=%s&cursor=%.*s", prefix, (int)strlen(cursor) - 1, cursor)),
               "cursor");
}
END_TEST

START_TEST(delete_bucket_drops_everything)
{
    const char *bucket = api_bucket();
    ck_problem(DELETE(bucket_path(bucket)), 404, "not_found");
    ck_status(DECLARE(bucket, "{\"type\":\"text\"}"), 201);
    struct answer *old = PUT(api_entry(bucket, "k"), BODY("v"));
    ck_status(PUT(TEXT("%s?under=a", api_entry(bucket, "k")), BODY("v")), 201);
    struct answer *dropped = DELETE(bucket_path(bucket));
    ck_status(dropped, 204);
    ck_problem(GET(bucket_path(bucket)), 404, "not_found");
    ck_problem(GET(api_entry(bucket, "k")), 404, "not_found");
    ck_problem(DELETE(bucket_path(bucket)), 404, "not_found");
    ck_problem(PUT(api_entry(bucket, "k"), BODY("w"), TEXT("If-Match: %s", answer_header(old, "ETag"))), 412,
               "version_conflict");
    struct answer *again = PUT(api_entry(bucket, "other"), BODY("\xFF"));
    ck_status(again, 201);
    ck_assert_pstr_eq(answer_text(GET(bucket_path(bucket)), "type"), "any");
    ck_status(GET(api_entry(bucket, "k")), 404);
    ck_status(GET(TEXT("%s?under=a", api_entry(bucket, "k"))), 404);
    ck_assert(strtoll(answer_need(again, "Holdfast-Position"), NULL, 10) >
              strtoll(answer_need(old, "Holdfast-Position"), NULL, 10));
}
END_TEST

START_TEST(write_declares_bucket)
{
    const char *bucket = api_bucket();
    ck_problem(DELETE(api_entry(bucket, "k")), 404, "not_found");
    ck_problem(GET(api_entry(bucket, "k")), 404, "not_found");
    ck_problem(HEAD(api_entry(bucket, "k")), 404, "");
    ck_problem(PUT(api_entry(bucket, "k"), BODY("v"), "If-Match: *"), 412, "version_conflict");
    ck_problem(PUT(TEXT("%s?ttl=0s", api_entry(bucket, "k")), BODY("v")), 400, "invalid");
    ck_problem(PUT(TEXT("%s?expires_at=2001-01-01T00:00:00Z", api_entry(bucket, "k")), BODY("v")), 400,
               "invalid");
    ck_problem(GET(bucket_path(bucket)), 404, "not_found");
    ck_status(PUT(api_entry(bucket, "k"), BODY("v")), 201);
    struct answer *got = GET(bucket_path(bucket));
    ck_status(got, 200);
    ck_assert_pstr_eq(answer_text(got, "type"), "any");
}
END_TEST

START_TEST(kind_mismatch_names_the_kind)
{
    const char *name = api_bucket();
    ck_status(PUT(TEXT("/v1/quotas/%s", name), BODY("{\"windows\":{\"daily\":\"5/1d\"}}"),
                  "Content-Type: application/json"),
              201);
    struct answer *answers[] = {
        DECLARE(name, "{}"),       GET(bucket_path(name)),
        DELETE(bucket_path(name)), PUT(api_entry(name, "k"), BODY("v")),
        GET(api_entry(name, "k")), DELETE(api_entry(name, "k")),
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        ck_problem(answers[i], 409, "kind_mismatch");
        ck_assert_pstr_eq(answer_text(answers[i], "actual_kind"), "quota");
    }
    struct answer *page = GET(TEXT("/v1/buckets?prefix=%s", name));
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(member(page, "buckets"), 0), "kind")),
                     "quota");
}
END_TEST

// Values that are there were checked for the old type, so a narrower one is refused while there are any.
START_TEST(type_changes_when_it_is_safe)
{
    const char *bucket = api_bucket();
    ck_status(DECLARE(bucket, "{\"type\":\"int\"}"), 201);
    ck_status(DECLARE(bucket, "{\"type\":\"bool\"}"), 200);
    ck_status(PUT(api_entry(bucket, "k"), BODY("true")), 201);
    ck_problem(DECLARE(bucket, "{\"type\":\"int\"}"), 409, "busy");
    ck_assert_pstr_eq(answer_text(GET(bucket_path(bucket)), "type"), "bool");
    ck_status(DECLARE(bucket, "{\"type\":\"bool\",\"ttl\":\"1d\"}"), 200);
    ck_status(DECLARE(bucket, "{\"type\":\"any\"}"), 200);
    ck_body(GET(api_entry(bucket, "k")), BODY("true"));
    ck_status(DELETE(api_entry(bucket, "k")), 204);
    ck_status(DECLARE(bucket, "{\"type\":\"int\"}"), 200);
    ck_problem(PUT(api_entry(bucket, "k"), BODY("true")), 422, "type_mismatch");
}
END_TEST

Suite *buckets_suite(void)
{
    const TTest *const tests[] = {
        put_bucket_declares_and_changes,
        put_bucket_defaults,
        configuration_is_whole,
        ttl_beside_idle_is_400,
        bucket_configuration_is_checked,
        json_body_limits,
        json_body_over_16_mib,
        json_body_content_type,
        encrypted_is_501,
        get_bucket,
        durations_come_back,
        bucket_name_rules,
        bucket_name_is_counted_in_bytes,
        list_buckets_pages,
        list_buckets_shape,
        list_prefix_is_literal,
        list_limit_is_checked,
        list_defaults_to_100,
        cursor_stays_good_across_writes,
        forged_cursor_is_400,
        delete_bucket_drops_everything,
        write_declares_bucket,
        kind_mismatch_names_the_kind,
        type_changes_when_it_is_safe,
        NULL,
    };
    return api_suite("buckets", NULL, tests);
}
