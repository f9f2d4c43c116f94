// The list of a branch's entries: bounds taken literally, pages that fit together, cursors that belong to it.
#include "entry_steps.h"

#include "support/parallel.h"

#include <stdatomic.h>

static const char *list_of(const char *bucket, const char *query)
{
    return TEXT("/v1/buckets/%s/entries%s%s", bucket, *query ? "?" : "", query);
}

static void put_keys(const char *bucket, const char *const *keys)
{
    for (; *keys; keys++)
        ck_status(PUT(api_entry(bucket, *keys), BODY("v")), 201);
}

static void expect_list(const char *bucket, const char *query, const char *keys)
{
    struct answer *answer = GET(list_of(bucket, query));
    expect_keys(answer, keys);
    ck_reply(answer, json_is_null(json_object_get(answer->json, "cursor")));
}

// --- form
// -------------------------------------------------------------------------------------------------

START_TEST(scan_shows_whole_entries)
{
    database_stop_clock(&api.database, START);
    const char *bucket = api_bucket();
    const char *json = answer_version(PUT(TEXT("%s?ttl=1h", api_entry(bucket, "a")), BODY("{ \"n\":1.0}"),
                                          "Content-Type: application/json"));
    const char *text =
        answer_version(PUT(api_entry(bucket, "b"), BODY("x\"\n\xC3\xA9"), "Content-Type: text/plain"));
    const char *bytes = answer_version(PUT(api_entry(bucket, "c%FF"), BODY("\xFF\0")));
    const char *broken =
        answer_version(PUT(api_entry(bucket, "d"), BODY("{"), "Content-Type: application/json"));
    ck_body(GET(list_of(bucket, "")),
            bytes_of(TEXT("{\"entries\":["
                          "{\"key\":\"a\",\"under\":[],\"version\":\"%s\",\"expires_at\":"
                          "\"2030-01-01T01:00:00.000000Z\",\"content_type\":\"application/"
                          "json\",\"size\":10,"
                          "\"value\":{ \"n\":1.0}},"
                          "{\"key\":\"b\",\"under\":[],\"version\":\"%s\",\"expires_at\":null,"
                          "\"content_type\":\"text/"
                          "plain\",\"size\":5,\"text\":\"x\\\"\\n\xC3\xA9\"},"
                          "{\"key_base64\":\"Y/"
                          "8=\",\"under\":[],\"version\":\"%s\",\"expires_at\":null,"
                          "\"content_type\":\"application/"
                          "octet-stream\",\"size\":2,\"base64\":\"/wA=\"},"
                          "{\"key\":\"d\",\"under\":[],\"version\":\"%s\",\"expires_at\":null,"
                          "\"content_type\":\"application/"
                          "json\",\"size\":1,\"base64\":\"ew==\"}"
                          "],\"cursor\":null}\n",
                          json, text, bytes, broken)));
    struct answer *bare = GET(list_of(bucket, "values=false&limit=1"));
    ck_reply(bare, strstr((const char *)bare->body.data, "\"size\":10}],\"cursor\":\"") != NULL);
    ck_status(GET(list_of(bucket, "values=true")), 200);
    ck_invalid(GET(list_of(bucket, "values=no")), "values");
    ck_invalid(GET(list_of(bucket, "values=")), "values");
    database_shift_clock(&api.database, 0);
}
END_TEST

// JSON-1 and JSON-2: the text is spliced, whatever a JSON library would make of it.
START_TEST(scan_splices_json_as_it_is_stored)
{
    static const char *const values[] = {
        "[17000000000000000000,0.10,1e2,-0]",
        "{\"a\\u0000b\":1,\"a\\u0000c\":2,\"s\":\"x\\u0000y\",\"h\":\"\\ud800\"}",
        "1e400",
        "{\"a\":1,\"a\":2}",
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const char *bucket = bucket_of_type("json");
        ck_status(PUT(api_entry(bucket, "k"), bytes_of(values[i]), "Content-Type: application/json"), 201);
        struct answer *list = GET(list_of(bucket, ""));
        ck_reply(list, strstr((const char *)list->body.data, TEXT("\"value\":%s}]", values[i])) != NULL);
        struct answer *batch = POST(TEXT("/v1/buckets/%s/batch-get", bucket), BODY("{\"keys\":[\"k\"]}"));
        ck_reply(batch, strstr((const char *)batch->body.data, TEXT("\"value\":%s}]", values[i])) != NULL);
    }
}
END_TEST

START_TEST(scan_of_an_empty_or_absent_bucket)
{
    const char *bucket = api_bucket();
    ck_problem(GET(list_of(bucket, "")), 404, "not_found");
    ck_status(DECLARE(bucket, "{}"), 201);
    ck_body(GET(list_of(bucket, "")), BODY("{\"entries\":[],\"cursor\":null}\n"));
    ck_body(GET(list_of(bucket, "under=a&prefix=b&limit=1")), BODY("{\"entries\":[],\"cursor\":null}\n"));
}
END_TEST

START_TEST(scan_leaves_out_what_is_absent)
{
    database_stop_clock(&api.database, START);
    const char *bucket = api_bucket();
    ck_status(PUT(TEXT("%s?ttl=1s", api_entry(bucket, "a")), BODY("v")), 201);
    ck_status(PUT(TEXT("%s?ttl=2s", api_entry(bucket, "b")), BODY("v")), 201);
    ck_status(PUT(api_entry(bucket, "c"), BODY("v")), 201);
    ck_status(DELETE(api_entry(bucket, "c")), 204);
    ck_status(PUT(api_entry(bucket, "d"), BODY("v")), 201);
    expect_list(bucket, "", "a b d");
    database_stop_clock(&api.database, START + SECOND);
    expect_list(bucket, "", "b d");
    expect_list(bucket, "limit=2", "b d");
    database_stop_clock(&api.database, START + 2 * SECOND);
    expect_list(bucket, "limit=1", "d");
    database_shift_clock(&api.database, 0);
}
END_TEST

// --- bounds
// -----------------------------------------------------------------------------------------------

// SCAN-1
START_TEST(prefix_of_entries_is_literal)
{
    static const char *const high[] = {"a", "a%FF", "a%FFz", "b", "%FF", "%FF%FF", NULL};
    const char *bucket = api_bucket();
    put_keys(bucket, high);
    expect_list(bucket, "prefix=a%FF", "=Yf8= =Yf96");
    expect_list(bucket, "prefix=%FF", "=/w== =//8=");
    expect_list(bucket, "prefix=", "a =Yf8= =Yf96 b =/w== =//8=");
    expect_list(bucket, "prefix=a", "a =Yf8= =Yf96");
    expect_list(bucket, "prefix=%FF%FF", "=//8=");
    expect_list(bucket, "prefix=%FF%FF%FF", "");
    static const char *const patterns[] = {"a_1", "ab1", "a%251", "a%5C1", NULL};
    bucket = api_bucket();
    put_keys(bucket, patterns);
    expect_list(bucket, "prefix=a_", "a_1");
    expect_list(bucket, "prefix=a%25", "a%1");
    expect_list(bucket, "prefix=a%5C", "a\\1");
    expect_list(bucket, "contains=_", "a_1");
    expect_list(bucket, "contains=%25", "a%1");
    expect_list(bucket, "contains=%5C", "a\\1");
    expect_list(bucket, "contains=1", "a%1 a\\1 a_1 ab1");
    expect_list(bucket, "contains=.", "");
}
END_TEST

START_TEST(scan_is_in_byte_order)
{
    static const char *const keys[] = {"%C3%A9", "a",   "B",   "aB",      "ab", "a%00", "%00", "a%00b", "~",
                                       "%7F",    "%FF", "%C3", "%C3%A9a", "Z",  "10",   "9",   NULL};
    const char *bucket = api_bucket();
    put_keys(bucket, keys);
    struct answer *answer = GET(list_of(bucket, ""));
    json_t *entries = entries_of(answer);
    ck_assert_uint_eq(json_array_size(entries), 16);
    static const char *const expected[] = {"10", "9", "B", "Z", "a"};
    for (size_t i = 0; i < 5; i++)
        ck_assert_pstr_eq(entry_text(json_array_get(entries, i + 1), "key"), expected[i]);
    static const char *const tail[] = {"ab",
                                       "~",
                                       "\x7F",
                                       NULL,
                                       "\xC3\xA9",
                                       "\xC3\xA9"
                                       "a",
                                       NULL};
    for (size_t i = 0; i < 7; i++)
        ck_assert_pstr_eq(entry_text(json_array_get(entries, i + 9), "key"), tail[i]);
}
END_TEST

START_TEST(start_is_included_and_end_is_not)
{
    static const char *const keys[] = {"a", "b", "b%00", "b1", "c", "c%FF", "d", NULL};
    static const char *const rows[][2] = {
        {"start=b", "b b\\u0000 b1 c =Y/8= d"}, // the key with the NUL is looked at below
        {"start=b1", "b1 c =Y/8= d"},
        {"end=c", "a b b\\u0000 b1"},
        {"start=b1&end=c", "b1"},
        {"start=c&end=c%00", "c"},
        {"start=c&end=c", ""},
        {"start=d&end=a", ""},
        {"start=&end=b", "a"},
        {"end=", ""},
        {"start=e", ""},
        {"start=%00&end=%FF", "a b b\\u0000 b1 c =Y/8= d"},
        {"prefix=c&start=a&end=z", "c =Y/8="},
        {"prefix=c&start=c%01", "=Y/8="},
        {"prefix=c&end=c%FF", "c"},
        {"prefix=c&start=d", ""},
        {"prefix=c&end=b", ""},
        {"start=a&contains=1", "b1"},
        {"end=b1&contains=1", ""},
        {"prefix=b&start=b%00&end=c&contains=b", "b\\u0000 b1"},
    };
    const char *bucket = api_bucket();
    put_keys(bucket, keys);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct answer *answer = GET(list_of(bucket, rows[i][0]));
        json_t *entries = entries_of(answer), *entry;
        const char *found = "";
        size_t n;
        json_array_foreach(entries, n, entry)
        {
            json_t *key = json_object_get(entry, "key");
            bool nul = json_string_length(key) > strlen(key ? json_string_value(key) : "");
            found =
                TEXT("%s%s%s%s%s", found, n ? " " : "", key ? "" : "=",
                     key ? json_string_value(key) : entry_text(entry, "key_base64"), nul ? "\\u0000" : "");
        }
        if (strcmp(found, rows[i][1]) != 0)
            ck_abort_msg("%s lists %s and not %s", rows[i][0], found, rows[i][1]);
    }
}
END_TEST

START_TEST(contains_looks_at_utf_8_keys)
{
    static const char *const keys[] = {"caf%C3%A9", "%FFcaf", "caf%C3", "xcafx", "nul%00caf", "CAF", NULL};
    const char *bucket = api_bucket();
    put_keys(bucket, keys);
    struct answer *answer = GET(list_of(bucket, "contains=caf&values=false"));
    json_t *entries = entries_of(answer);
    ck_reply(answer, json_array_size(entries) == 3);
    ck_assert_pstr_eq(entry_text(json_array_get(entries, 0), "key"), "caf\xC3\xA9");
    ck_assert_uint_eq(json_string_length(json_object_get(json_array_get(entries, 1), "key")), 7);
    ck_assert_pstr_eq(entry_text(json_array_get(entries, 2), "key"), "xcafx");
    expect_list(bucket, "contains=%C3%A9", "caf\xC3\xA9");
    expect_list(bucket, "contains=%A9",
                "caf\xC3\xA9"); // bytes are compared, not characters
    expect_list(bucket, "contains=%FF", "");
    expect_list(bucket, "contains=cafx&prefix=x", "xcafx");
    ck_assert_uint_eq(json_array_size(entries_of(GET(list_of(bucket, "contains=")))), 4);
    // Only the key counts, not the branch it is in.
    ck_status(PUT(TEXT("%s?under=caf", api_entry(bucket, "z")), BODY("v")), 201);
    expect_list(bucket, "under=caf&contains=caf", "");
    expect_list(bucket, "under=caf&contains=z", "z");
}
END_TEST

START_TEST(scan_shows_the_branchs_own_keys)
{
    const char *bucket = api_bucket();
    static const char *const places[][2] = {
        {"top", ""},         {"a", "under=x"},           {"b", "under=x"},  {"deep", "under=x&under=y"},
        {"k", "under=x%00"}, {"k", "under=%FF&under=x"}, {"k", "under=xy"},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        ck_status(PUT(TEXT("%s?%s", api_entry(bucket, places[i][0]), places[i][1]), BODY("v")), 201);
    expect_list(bucket, "", "top");
    expect_list(bucket, "under=x", "a b");
    expect_list(bucket, "under=x&prefix=b", "b");
    expect_list(bucket, "under=x&start=b", "b");
    expect_list(bucket, "under=x&end=b", "a");
    expect_list(bucket, "under=x&under=y", "deep");
    expect_list(bucket, "under=y", "");
    expect_list(bucket, "under=xy", "k");
    struct answer *answer = GET(list_of(bucket, "under=%FF&under=x"));
    ck_reply(answer,
             strstr((const char *)answer->body.data, "\"under\":[{\"base64\":\"/w==\"},\"x\"]") != NULL);
    ck_invalid(GET(list_of(bucket, "under=")), "under");
}
END_TEST

START_TEST(scan_parameters_are_checked)
{
    const char *bucket = api_bucket();
    ck_status(DECLARE(bucket, "{}"), 201);
    static const char *const limits[] = {"0", "-1", "1001", "", "x", "1.0", "01", "99999999999999999999"};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        ck_invalid(GET(list_of(bucket, TEXT("limit=%s", limits[i]))), "limit");
    ck_status(GET(list_of(bucket, "limit=1000")), 200);
    static const char *const single[] = {"prefix", "start", "end", "contains", "limit", "cursor", "values"};
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
        ck_invalid(GET(list_of(bucket, TEXT("%s=1&%s=1", single[i], single[i]))), single[i]);
    ck_invalid(GET(list_of(bucket, "after=x")), "after");
    ck_invalid(GET("/v1/buckets/a%0Ab/entries"), "bucket");
}
END_TEST

// --- pages
// ------------------------------------------------------------------------------------------------

static const char *cursor_of(const struct answer *answer)
{
    return answer_text(answer, "cursor");
}

START_TEST(pages_fit_together)
{
    const char *bucket = bucket_of_type("any");
    PGconn *connection = database_connect(&api.database);
    insert_entries(connection, bucket, NULL, 1050);
    insert_entries(connection, bucket, "x", 10);
    struct answer *first = GET(list_of(bucket, "values=false"));
    ck_assert_uint_eq(json_array_size(entries_of(first)), 100); // the default
    ck_assert_ptr_nonnull(cursor_of(first));
    static const int limits[] = {1000, 350, 99};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        int seen = 0;
        const char *cursor = NULL;
        do {
            struct answer *page = GET(list_of(
                bucket, TEXT("limit=%d%s%s", limits[i], cursor ? "&cursor=" : "", cursor ? cursor : "")));
            json_t *entries = entries_of(page), *entry;
            size_t n;
            json_array_foreach(entries, n, entry)
                ck_assert_pstr_eq(entry_text(entry, "key"), TEXT("key-%06d", ++seen));
            ck_assert_int_le((int)json_array_size(entries), limits[i]);
            cursor = cursor_of(page);
        } while (cursor);
        ck_assert_int_eq(seen, 1050);
    }
    // Null exactly when nothing follows: not one page too late.
    ck_assert_ptr_null(cursor_of(GET(list_of(bucket, "prefix=key-0010&limit=51"))));
    ck_assert_ptr_nonnull(cursor_of(GET(list_of(bucket, "prefix=key-0010&limit=50"))));
    ck_assert_ptr_null(cursor_of(GET(list_of(bucket, "prefix=key-00105"))));
    PQfinish(connection);
}
END_TEST

START_TEST(cursor_belongs_to_its_list)
{
    const char *bucket = bucket_of_type("any"), *other = bucket_of_type("any");
    PGconn *connection = database_connect(&api.database);
    insert_entries(connection, bucket, NULL, 20);
    insert_entries(connection, other, NULL, 20);
    insert_entries(connection, bucket, "x", 20);
    const char *bounds = "prefix=key&start=key-000002&end=key-000015&contains=0&limit=5";
    const char *cursor = cursor_of(GET(list_of(bucket, bounds)));
    expect_keys(GET(list_of(bucket, TEXT("%s&cursor=%s", bounds, cursor))),
                "key-000007 key-000008 key-000009 key-000010 key-000011");
    // How much is shown may change between pages, and the order of the query says nothing.
    expect_keys(GET(list_of(bucket, TEXT("cursor=%s&end=key-000015&limit=2&"
                                         "contains=0&start=key-000002&prefix="
                                         "key&values=false",
                                         cursor))),
                "key-000007 key-000008");
    const char *foreign[] = {
        "",
        "prefix=key&start=key-000002&end=key-000015",
        "prefix=key&start=key-000002&end=key-000016&contains=0",
        "prefix=key&start=key-000003&end=key-000015&contains=0",
        "prefix=key&start=key-000002&end=key-000015&contains=00",
        "prefix=key&start=key-000002&end=key-000015&contains=",
        "prefix=key&start=key-000002&contains=0",
        "prefix=key&start=key-000002&end=key-000015&contains=0&under=x",
    };
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        ck_invalid(GET(list_of(bucket, TEXT("%s&cursor=%s", foreign[i], cursor) + !foreign[i][0])), "cursor");
    ck_invalid(GET(list_of(other, TEXT("%s&cursor=%s", bounds, cursor))), "cursor");
    const char *branch = cursor_of(GET(list_of(bucket, "under=x&limit=5")));
    ck_invalid(GET(list_of(bucket, TEXT("limit=5&cursor=%s", branch))), "cursor");
    ck_invalid(GET(list_of(bucket, TEXT("under=x&under=x&cursor=%s", branch))), "cursor");
    const char *buckets = cursor_of(GET("/v1/buckets?limit=1"));
    ck_invalid(GET(list_of(bucket, TEXT("cursor=%s", buckets))), "cursor");
    PQfinish(connection);
}
END_TEST

START_TEST(cursor_that_is_forged_is_400)
{
    const char *bucket = bucket_of_type("any");
    PGconn *connection = database_connect(&api.database);
    insert_entries(connection, bucket, NULL, 20);
    const char *cursor = cursor_of(GET(list_of(bucket, "limit=5")));
    static const char *const forged[] = {
        "", "x", "null", "0", "%00", "AAAA", "key-000005", "%FF", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++)
        ck_invalid(GET(list_of(bucket, TEXT("cursor=%s", forged[i]))), "cursor");
    size_t size = strlen(cursor);
    for (size_t i = 0; i < size; i++) { // one character changed, or cut
        char *mangled = strdup(cursor);
        mangled[i] = mangled[i] == 'A' ? 'B' : 'A';
        struct answer *answer = GET(list_of(bucket, TEXT("cursor=%s", mangled)));
        // The last character's unused bits say nothing; the position is the same then.
        if (i + 1 < size)
            ck_invalid(answer, "cursor");
        free(mangled);
        ck_invalid(GET(list_of(bucket, TEXT("cursor=%.*s", (int)i, cursor))), "cursor");
    }
    ck_invalid(GET(list_of(bucket, TEXT("cursor=%sA", cursor))), "cursor");
    ck_invalid(GET(list_of(bucket, TEXT("cursor=%s%s", cursor, cursor))), "cursor");
    PQfinish(connection);
}
END_TEST

START_TEST(cursor_of_entries_stays_good_across_writes)
{
    const char *bucket = bucket_of_type("any");
    PGconn *connection = database_connect(&api.database);
    insert_entries(connection, bucket, NULL, 9);
    const char *cursor = cursor_of(GET(list_of(bucket, "limit=3")));
    const char *next = list_of(bucket, TEXT("limit=3&cursor=%s", cursor));
    ck_status(DELETE(api_entry(bucket, "key-000003")),
              204); // where the cursor stands
    ck_status(DELETE(api_entry(bucket, "key-000004")), 204);
    ck_status(PUT(api_entry(bucket, "key-0000035"), BODY("v")), 201);
    ck_status(PUT(api_entry(bucket, "a"), BODY("v")), 201);
    expect_keys(GET(next), "key-0000035 key-000005 key-000006");
    ck_status(DELETE(list_of(bucket, "")), 200);
    expect_keys(GET(next), "");
    ck_status(PUT(api_entry(bucket, "key-000008"), BODY("v")), 201);
    expect_keys(GET(next), "key-000008");
    ck_status(DECLARE(bucket, "{\"ttl\":\"1h\"}"), 200);
    expect_keys(GET(next), "key-000008");
    PQfinish(connection);
}
END_TEST

// --- size of a page
// ---------------------------------------------------------------------------------------

// Writes entries of these sizes and reads them back page by page, each page as `pages` says.
static void expect_pages(const size_t *sizes, const char *const *pages)
{
    const char *bucket = api_bucket();
    char *bytes = calloc(1, 8 << 20);
    for (int i = 0; sizes[i] != SIZE_MAX; i++)
        ck_status(PUT(api_entry(bucket, TEXT("%d", i)), bytes_make(bytes, sizes[i])), 201);
    const char *cursor = NULL;
    for (; *pages; pages++) {
        struct answer *page = GET(list_of(bucket, cursor ? TEXT("cursor=%s", cursor) : ""));
        json_t *entries = entries_of(page), *entry;
        const char *keys = "";
        size_t i;
        json_array_foreach(entries, i, entry)
        {
            size_t size = (size_t)json_integer_value(json_object_get(entry, "size"));
            ck_assert_uint_eq(json_string_length(json_object_get(entry, "base64")), (size + 2) / 3 * 4);
            keys = TEXT("%s%s", keys, entry_text(entry, "key"));
        }
        ck_assert_str_eq(keys, *pages);
        cursor = cursor_of(page);
        ck_assert_msg(!cursor == !pages[1], "a cursor after page %s: %s", *pages, cursor ? cursor : "none");
        ck_assert_uint_eq(json_array_size(entries_of(GET(list_of(bucket, "values=false")))), 8);
    }
    free(bytes);
}

#define MIB ((size_t)1 << 20)

START_TEST(page_has_4_mib_of_values)
{
    static const size_t fives[] = {MIB, MIB, MIB, MIB, MIB, MIB, MIB, MIB, SIZE_MAX};
    static const char *const halves[] = {"0123", "4567", NULL}; // exactly full
    expect_pages(fives, halves);
    static const size_t mixed[] = {5 * MIB, 1, 4 * MIB, 0, 3 * MIB, MIB + 1, 0, 8 * MIB, SIZE_MAX};
    static const char *const parts[] = {"0", "1", "23", "4", "56", "7", NULL}; // the first always comes
    expect_pages(mixed, parts);
}
END_TEST

// --- while it changes
// -------------------------------------------------------------------------------------

enum { STAYING = 300, CHURNERS = 4, SCANS = 6, SCANNERS = 2 };

struct churn {
    const char *bucket;
    atomic_int scanning;
    atomic_int repeated, missed, wrong;
};

// Writes and removes keys between those that stay, and rewrites those.
static void churn_keys(size_t index, struct churn *churn, struct http_client *client)
{
    unsigned seed = (unsigned)index + 1;
    while (atomic_load(&churn->scanning) > 0) {
        int near = rand_r(&seed) % STAYING + 1;
        const char *stays = http_text(client, "/v1/buckets/%s/entries/key-%06d", churn->bucket, near);
        const char *goes = http_text(client, "%s-%d", stays, rand_r(&seed) % 3);
        switch (rand_r(&seed) % 3) {
        case 0:
            http(client, "PUT", goes, BODY("v"));
            break;
        case 1:
            http(client, "DELETE", goes, NO_BODY);
            break;
        default:
            http(client, "PUT", stays, BODY("w"));
            break;
        }
    }
}

// One whole scan in small pages: no key twice, and every key that stays once.
static void scan_once(struct churn *churn, struct http_client *client, int limit)
{
    char last[64] = "";
    const char *cursor = NULL;
    int stayed = 0;
    do {
        const char *target = http_text(client, "/v1/buckets/%s/entries?limit=%d%s%s", churn->bucket, limit,
                                       cursor ? "&cursor=" : "", cursor ? cursor : "");
        struct answer *page = http(client, "GET", target, NO_BODY);
        json_t *entries = json_object_get(page->json, "entries"), *entry;
        size_t i;
        if (page->status != 200)
            atomic_fetch_add(&churn->wrong, 1);
        json_array_foreach(entries, i, entry)
        {
            const char *key = entry_text(entry, "key");
            if (strcmp(key, last) <= 0)
                atomic_fetch_add(&churn->repeated, 1);
            snprintf(last, sizeof last, "%s", key);
            stayed += strlen(key) == strlen("key-000000");
        }
        cursor = answer_text(page, "cursor");
    } while (cursor);
    if (stayed != STAYING)
        atomic_fetch_add(&churn->missed, 1);
}

static void churn_or_scan(size_t index, void *user)
{
    struct churn *churn = user;
    struct http_client *client = http_client_new(replica_url(index));
    if (index < CHURNERS) {
        churn_keys(index, churn, client);
    } else {
        for (int i = 0; i < SCANS; i++)
            scan_once(churn, client, 7 + i);
        atomic_fetch_sub(&churn->scanning, 1);
    }
    http_client_free(client);
}

START_TEST(scan_while_keys_come_and_go)
{
    struct churn churn = {.bucket = bucket_of_type("any"), .scanning = SCANNERS};
    PGconn *connection = database_connect(&api.database);
    insert_entries(connection, churn.bucket, NULL, STAYING);
    parallel_run(CHURNERS + SCANNERS, churn_or_scan, &churn);
    ck_assert_int_eq(churn.wrong, 0);
    ck_assert_int_eq(churn.repeated, 0);
    ck_assert_int_eq(churn.missed, 0);
    PQfinish(connection);
}
END_TEST

// --- branches and metadata --------------------------------------------------------------------------------

static void put_under(const char *bucket, const char *entry)
{
    ck_status(
        PUT(api_entry(bucket, entry), BODY("v"), "Holdfast-Meta-By: ann", "Holdfast-Meta-note: a: \"b\""),
        201);
}

START_TEST(scan_below_gives_every_branch)
{
    const char *bucket = api_bucket(), *cursor;
    static const char *const entries[] = {"z",           "k?under=b&under=c", "k?under=b",
                                          "a?under=%FF", "k?under=ba",        "k?under=a"};
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        put_under(bucket, entries[i]);
    struct answer *all = GET(list_of(bucket, "below=true"));
    ck_reply(all, json_array_size(json_object_get(all->json, "entries")) == 6);
    ck_reply(all, json_is_null(json_object_get(all->json, "cursor")));
    expect_keys(GET(list_of(bucket, "below=true&under=b")), "k k");
    expect_keys(GET(list_of(bucket, "below=true&under=b&under=c")), "k");
    expect_keys(GET(list_of(bucket, "below=false")), "z");
    // Pages fit together over branches, and a cursor of one list is none of the other.
    const char *seen = "";
    const char *query = "below=true&limit=2";
    do {
        struct answer *page = GET(list_of(bucket, query));
        ck_status(page, 200);
        size_t i;
        json_t *entry;
        json_array_foreach(json_object_get(page->json, "entries"), i, entry) seen = TEXT(
            "%s %s%zu", seen, entry_text(entry, "key"), json_array_size(json_object_get(entry, "under")));
        cursor = answer_text(page, "cursor");
        if (cursor) {
            ck_invalid(GET(list_of(bucket, TEXT("cursor=%s", cursor))), "cursor");
            query = TEXT("below=true&limit=2&cursor=%s", cursor);
        }
    } while (cursor);
    ck_assert_str_eq(seen, " z0 k1 k1 k2 k1 a1");
    static const char *const bounds[] = {"prefix", "start", "end", "contains"};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        ck_invalid(GET(list_of(bucket, TEXT("below=true&%s=a", bounds[i]))), "below");
    ck_invalid(GET(list_of(bucket, "below=1")), "below");
    // Through forks too.
    ck_status(http(api.client, "PUT", TEXT("/v1/forks/%s", bucket), BODY("{\"kind\":\"severed\"}"),
                   "Content-Type: application/json"),
              201);
    put_under(bucket, TEXT("new?under=b&fork=%s", bucket));
    expect_keys(GET(list_of(bucket, TEXT("below=true&under=b&fork=%s", bucket))), "k new k");
}
END_TEST

START_TEST(scan_shows_metadata_when_asked)
{
    const char *bucket = api_bucket();
    put_under(bucket, "a");
    ck_status(PUT(api_entry(bucket, "b"), BODY("v")), 201);
    struct answer *list = GET(list_of(bucket, "metadata=true&values=false"));
    json_t *entries = json_object_get(list->json, "entries");
    json_t *metadata = json_object_get(json_array_get(entries, 0), "metadata");
    ck_assert_str_eq(entry_text(metadata, "by"), "ann");
    ck_assert_str_eq(entry_text(metadata, "note"), "a: \"b\"");
    ck_reply(list, json_object_size(metadata) == 2);
    ck_reply(list, json_object_size(json_object_get(json_array_get(entries, 1), "metadata")) == 0);
    list = GET(list_of(bucket, ""));
    ck_reply(list, !json_object_get(json_array_get(json_object_get(list->json, "entries"), 0), "metadata"));
    ck_invalid(GET(list_of(bucket, "metadata=yes")), "metadata");
    ck_status(http(api.client, "PUT", TEXT("/v1/forks/%s", bucket), BODY("{\"kind\":\"continuous\"}"),
                   "Content-Type: application/json"),
              201);
    list = GET(list_of(bucket, TEXT("metadata=true&fork=%s", bucket)));
    metadata = json_object_get(json_array_get(json_object_get(list->json, "entries"), 0), "metadata");
    ck_assert_str_eq(entry_text(metadata, "by"), "ann");
}
END_TEST

Suite *scan_suite(void)
{
    const TTest *const tests[] = {
        scan_shows_whole_entries,
        scan_splices_json_as_it_is_stored,
        scan_of_an_empty_or_absent_bucket,
        scan_leaves_out_what_is_absent,
        prefix_of_entries_is_literal,
        scan_is_in_byte_order,
        start_is_included_and_end_is_not,
        contains_looks_at_utf_8_keys,
        scan_shows_the_branchs_own_keys,
        scan_parameters_are_checked,
        pages_fit_together,
        cursor_belongs_to_its_list,
        cursor_that_is_forged_is_400,
        cursor_of_entries_stays_good_across_writes,
        page_has_4_mib_of_values,
        scan_below_gives_every_branch,
        scan_shows_metadata_when_asked,
        scan_while_keys_come_and_go,
        NULL,
    };
    return api_suite_of_two("scan", tests);
}
