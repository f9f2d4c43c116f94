// Forks as a whole: made, shown, listed, promoted and discarded.
#include "fork_steps.h"

#include "support/clock.h"
#include "support/parallel.h"
#include "support/raw.h"

#include <inttypes.h>

static const char *fork_path(const char *fork)
{
    return TEXT("/v1/forks/%s", fork);
}

START_TEST(fork_is_made_and_shown)
{
    struct answer *made =
        PUT(fork_path("shown"),
            BODY("{\"kind\":\"severed\",\"parent\":\"main\",\"buckets\":[\"a\",\"b \\\"c\\\"\"]}"));
    ck_status(made, 201);
    ck_header(made, "Holdfast-Position", answer_text(made, "position"));
    struct answer *got = GET(fork_path("shown"));
    ck_status(got, 200);
    ck_reply(got, json_equal(got->json, made->json));
    ck_assert_str_eq(answer_text(got, "id"), "shown");
    ck_assert_str_eq(answer_text(got, "kind"), "severed");
    ck_assert_str_eq(answer_text(got, "parent"), "main");
    ck_assert_str_eq(answer_text(got, "status"), "open");
    ck_reply(got, json_is_null(json_object_get(got->json, "owner")));
    ck_reply(got, json_integer_value(json_object_get(got->json, "rows")) == 0);
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(got->json, "buckets"), 1)), "b \"c\"");
    answer_text(got, "created_at");

    struct answer *plain = PUT(fork_path("plain"), BODY("{\"kind\":\"continuous\"}"));
    ck_status(plain, 201);
    ck_reply(plain, json_is_null(json_object_get(plain->json, "parent")));
    ck_reply(plain, json_array_size(json_object_get(plain->json, "buckets")) == 0);
    ck_status(DISCARD("shown"), 200);
    ck_status(DISCARD("plain"), 200);
}
END_TEST

START_TEST(fork_that_exists_is_409)
{
    const char *fork = fork_of("continuous", NULL);
    ck_problem(PUT(fork_path(fork), BODY("{\"kind\":\"severed\"}")), 409, "busy");
    ck_assert_str_eq(answer_text(GET(fork_path(fork)), "kind"), "continuous");
    ck_status(DISCARD(fork), 200);
    // An id is free again when its fork is closed, and nothing of the old one is left.
    ck_status(PUT(fork_path(fork), BODY("{\"kind\":\"severed\"}")), 201);
    ck_assert_int_eq(fork_rows(fork), 0);
}
END_TEST

START_TEST(malformed_forks_are_400)
{
    static const char *const ids[] = {"a%20b", "%2F", "a%2Bb", "%C3%A4", "a%00", "a:b"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        ck_invalid(PUT(fork_path(ids[i]), BODY("{\"kind\":\"severed\"}")), "fork");
        ck_invalid(GET(fork_path(ids[i])), "fork");
        ck_invalid(DISCARD(ids[i]), "fork");
        ck_invalid(PROMOTE(ids[i]), "fork");
        ck_invalid(GET(through(api_entry("b", "k"), ids[i])), "fork");
    }
    char longest[130];
    memset(longest, 'x', 129);
    longest[129] = 0;
    ck_invalid(PUT(fork_path(longest), BODY("{\"kind\":\"severed\"}")), "fork");
    longest[128] = 0;
    ck_status(PUT(fork_path(longest), BODY("{\"kind\":\"severed\"}")), 201);
    ck_status(GET(fork_path(longest)), 200);
    ck_status(DISCARD(longest), 200);
    ck_invalid(PUT(fork_path("f"), BODY("{}")), "kind");
    ck_invalid(PUT(fork_path("f"), BODY("{\"kind\":\"other\"}")), "kind");
    ck_invalid(PUT(fork_path("f"), BODY("{\"kind\":1}")), "kind");
    ck_invalid(PUT(fork_path("f"), BODY("{\"kind\":\"severed\",\"parent\":\"a b\"}")), "parent");
    ck_invalid(PUT(fork_path("f"), BODY("{\"kind\":\"severed\",\"parent\":1}")), "parent");
    ck_invalid(PUT(fork_path("f"), BODY("{\"kind\":\"severed\",\"buckets\":\"b\"}")), "buckets");
    ck_invalid(PUT(fork_path("f"), BODY("{\"kind\":\"severed\",\"buckets\":[1]}")), "buckets");
    ck_invalid(PUT(fork_path("f"), BODY("{\"kind\":\"severed\",\"buckets\":[\"\\u0001fork:1:b\"]}")),
               "buckets");
    ck_invalid(PUT(fork_path("f"), BODY("{\"kind\":\"severed\",\"bucket\":[]}")), "bucket");
    ck_invalid(POST("/v1/forks/f/promote?if_unchanged=yes", NO_BODY), "if_unchanged");
    ck_problem(GET(fork_path("f")), 404, "not_found");
}
END_TEST

// Clients take dot segments out of a path, so a fork of such a name could hardly be reached again.
START_TEST(fork_ids_are_no_dot_segments)
{
    static const char *const ids[] = {".", ".."};
    for (int i = 0; i < 2; i++) {
        struct raw *raw = raw_connect(service_port(api.service));
        const char *body = "{\"kind\":\"severed\"}";
        ck_assert(raw_text(raw, "PUT /v1/forks/%s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
                           ids[i], strlen(body), body));
        struct answer *refused = raw_read(raw, false, 10 * 1000);
        ck_invalid(refused, "fork");
        ck_assert_ptr_nonnull(strstr(answer_text(refused, "detail"), "not . or .."));
        raw_close(raw);
        ck_invalid(GET(through(api_entry("b", "k"), ids[i])), "fork");
        ck_invalid(PUT(fork_path("f"), bytes_of(TEXT("{\"kind\":\"severed\",\"parent\":\"%s\"}", ids[i]))),
                   "parent");
    }
    ck_status(PUT(fork_path("..."), BODY("{\"kind\":\"severed\"}")), 201);
    ck_status(DISCARD("..."), 200);
}
END_TEST

START_TEST(fork_names_buckets_once)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = bucket_of_type("any"), *name = api_bucket();
    ck_invalid(PUT(fork_path("f"), bytes_of(TEXT("{\"kind\":\"severed\",\"buckets\":[\"%s\",\"x\",\"%s\"]}",
                                                 bucket, bucket))),
               "buckets");
    declare_other_kind(connection, name);
    struct answer *refused =
        PUT(fork_path("f"),
            bytes_of(TEXT("{\"kind\":\"continuous\",\"buckets\":[\"%s\",\"%s\"]}", bucket, name)));
    ck_problem(refused, 409, "kind_mismatch");
    ck_assert_ptr_nonnull(strstr(answer_text(refused, "detail"), name));
    ck_problem(GET(fork_path("f")), 404, "not_found");
    PQfinish(connection);
}
END_TEST

START_TEST(fork_names_at_most_1000_buckets)
{
    for (int count = 1000; count <= 1001; count++) {
        char *body = malloc(16 << 10);
        size_t size = (size_t)sprintf(body, "{\"kind\":\"continuous\",\"buckets\":[");
        for (int i = 0; i < count; i++)
            size += (size_t)sprintf(body + size, "%s\"b%d\"", i ? "," : "", i);
        size += (size_t)sprintf(body + size, "]}");
        struct answer *made = PUT(fork_path("wide"), bytes_make(body, size));
        if (count == 1000)
            ck_status(made, 201);
        else
            ck_over_limit(made, 413, "too_large", 1000);
        ck_status(DISCARD("wide"), 200);
        free(body);
    }
}
END_TEST

START_TEST(unknown_and_closed_forks_are_404)
{
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
    ck_status(PUT(path, BODY("{}"), "Content-Type: application/json"), 201);
    const char *discarded = fork_of("continuous", NULL), *promoted = fork_of("severed", NULL);
    ck_status(PUT(through(path, discarded), BODY("{}")), 204);
    ck_status(DISCARD(discarded), 200);
    expect_promoted(PROMOTE(promoted), 0);
    const char *const forks[] = {"never-was", discarded, promoted};
    for (int i = 0; i < 3; i++) {
        const char *fork = forks[i];
        ck_problem(GET(fork_path(fork)), 404, "not_found");
        ck_problem(PROMOTE(fork), 404, "not_found");
        ck_problem(GET(through(path, fork)), 404, "not_found");
        ck_status(HEAD(through(path, fork)), 404);
        ck_problem(PUT(through(path, fork), BODY("w")), 404, "not_found");
        ck_problem(PUT(through(path, fork), BODY("w"), "If-Match: *"), 404, "not_found");
        ck_problem(DELETE(through(path, fork)), 404, "not_found");
        ck_problem(PATCH(through(path, fork), BODY("{}")), 404, "not_found");
        ck_problem(POST(call_through(path, "take", fork), NO_BODY), 404, "not_found");
        ck_problem(POST(call_through(path, "add", fork), NO_BODY), 404, "not_found");
        ck_problem(POST(call_through(path, "exchange", fork), BODY("w")), 404, "not_found");
        ck_problem(POST(call_through(path, "compare-and-set", fork), BODY("{\"expected\":{},\"value\":1}")),
                   404, "not_found");
        ck_problem(POST(call_through(path, "upsert", fork), BODY("{\"insert\":{},\"update\":{}}")), 404,
                   "not_found");
        ck_problem(PUT(call_through(path, "expiry", fork), BODY("{\"ttl\":\"1h\"}")), 404, "not_found");
        ck_problem(DELETE(call_through(path, "expiry", fork)), 404, "not_found");
        ck_problem(GET(scan_through(bucket, fork)), 404, "not_found");
        ck_problem(
            POST(TEXT("/v1/buckets/%s/batch-get?fork=%s", bucket, fork), BODY("{\"keys\":[\"k\",\"l\"]}")),
            404, "not_found");
        struct answer *discard = DISCARD(fork);
        ck_status(discard, 200);
        ck_reply(discard, json_is_false(json_object_get(discard->json, "discarded")));
        ck_header(discard, "Holdfast-Position", NULL);
    }
    ck_body(GET(path), BODY("{}"));
}
END_TEST

START_TEST(calls_without_forks_refuse_the_parameter)
{
    const char *fork = fork_of("continuous", NULL), *bucket = api_bucket(), *path = api_entry(bucket, "k");
    ck_status(PUT(path, BODY("v")), 201);
    ck_invalid(POST(call_through(path, "copy", fork), BODY("{\"to_key\":\"l\"}")), "fork");
    ck_invalid(POST(call_through(path, "move", fork), BODY("{\"to_key\":\"l\"}")), "fork");
    ck_invalid(DELETE(scan_through(bucket, fork)), "fork");
    ck_invalid(GET(TEXT("/v1/buckets/%s?fork=%s", bucket, fork)), "fork");
    ck_invalid(PUT(TEXT("%s&fence_bucket=b&fence_key=k&fence_token=1", through(path, fork)), BODY("w"),
                   "If-Match: *"),
               "fork");
    ck_body(GET(path), BODY("v"));
}
END_TEST

START_TEST(list_of_forks_has_pages)
{
    char last[32] = "";
    int count = 0;
    for (int i = 0; i < 7; i++)
        ck_status(PUT(fork_path(TEXT("page-%d", i)), BODY("{\"kind\":\"severed\"}")), 201);
    const char *cursor = "";
    do {
        struct answer *page = GET(TEXT("/v1/forks?limit=2%s%s", *cursor ? "&cursor=" : "", cursor));
        ck_status(page, 200);
        json_t *forks = json_object_get(page->json, "forks"), *fork;
        size_t i;
        ck_assert_uint_le(json_array_size(forks), 2);
        json_array_foreach(forks, i, fork)
        {
            const char *id = json_string_value(json_object_get(fork, "id"));
            ck_assert_str_gt(id, last);
            snprintf(last, sizeof last, "%s", id);
            count += strncmp(id, "page-", 5) == 0;
        }
        cursor = answer_text(page, "cursor") ? TEXT("%s", answer_text(page, "cursor")) : "";
    } while (*cursor);
    ck_assert_int_eq(count, 7);
    ck_invalid(GET("/v1/forks?cursor=abc"), "cursor");
    ck_over_limit(GET("/v1/forks?limit=1001"), 400, "invalid", 1000);
    for (int i = 0; i < 7; i++)
        ck_status(DISCARD(TEXT("page-%d", i)), 200);
}
END_TEST

START_TEST(fork_covers_its_buckets_only)
{
    const char *in = api_bucket(), *out = api_bucket();
    const char *fork = fork_of("continuous", TEXT("[\"%s\"]", in));
    ck_status(PUT(api_entry(in, "k"), BODY("v")), 201);
    ck_status(PUT(api_entry(out, "k"), BODY("v")), 201);
    ck_body(GET(through(api_entry(in, "k"), fork)), BODY("v"));
    ck_problem(GET(through(api_entry(out, "k"), fork)), 404, "not_found");
    ck_problem(PUT(through(api_entry(out, "k"), fork), BODY("w")), 404, "not_found");
    ck_problem(GET(scan_through(out, fork)), 404, "not_found");
    ck_status(PUT(through(api_entry(in, "k"), fork), BODY("w")), 204);
    ck_assert_int_eq(fork_rows(fork), 1);
    ck_body(GET(api_entry(out, "k")), BODY("v"));
}
END_TEST

// What a fork wrote lies in buckets of its own, which nobody sees.
START_TEST(own_buckets_of_forks_are_hidden)
{
    const char *bucket = api_bucket(), *fork = fork_of("continuous", NULL);
    ck_status(PUT(through(api_entry(bucket, "k"), fork), BODY("v")), 201);
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 404);
    struct answer *list = GET("/v1/buckets?limit=1000");
    json_t *buckets = json_object_get(list->json, "buckets"), *item;
    size_t i;
    json_array_foreach(buckets, i, item)
        ck_reply(list, !strstr(json_string_value(json_object_get(item, "name")), "fork:"));
    PGconn *connection = database_connect(&api.database);
    int64_t no = sql_number(connection, "select no from holdfast.forks where id = '%s' and not closed", fork);
    ck_assert_int_eq(sql_number(connection, "select count(*) from holdfast.fork_buckets(%d)", (int)no), 1);
    ck_invalid(GET(TEXT("/v1/buckets/%%01fork:%d:%s", (int)no, bucket)), "bucket");
    ck_invalid(GET(api_entry(TEXT("%%01fork:%d:%s", (int)no, bucket), "k")), "bucket");
    PQfinish(connection);
    ck_status(DISCARD(fork), 200);
}
END_TEST

// --- promoting
// ------------------------------------------------------------------------------------------------------

START_TEST(promote_applies_writes_and_removals)
{
    static const char *const kinds[] = {"continuous", "severed"};
    for (int i = 0; i < 2; i++) {
        const char *one = api_bucket(), *two = api_bucket();
        ck_status(PUT(api_entry(one, "replaced"), BODY("main"), "Content-Type: text/plain"), 201);
        ck_status(PUT(api_entry(one, "removed"), BODY("main")), 201);
        ck_status(PUT(api_entry(one, "left"), BODY("main")), 201);
        const char *fork = fork_of(kinds[i], NULL);
        struct answer *put = PUT(TEXT("%s&ttl=1h", through(api_entry(one, "replaced"), fork)), BODY("fork"),
                                 "Content-Type: text/own", "Holdfast-Meta-A: b");
        ck_status(put, 204);
        ck_status(DELETE(through(api_entry(one, "removed"), fork)), 204);
        ck_status(PUT(through(api_entry(two, "made"), fork), BODY("fork")), 201);
        ck_status(PUT(through(api_entry(two, "made-and-removed"), fork), BODY("fork")), 201);
        ck_status(DELETE(through(api_entry(two, "made-and-removed"), fork)), 204);
        ck_body(GET(api_entry(one, "replaced")), BODY("main"));
        ck_status(GET(TEXT("/v1/buckets/%s", two)), 404);
        ck_assert_int_eq(fork_rows(fork), 4);

        struct answer *promoted = PROMOTE(fork);
        expect_promoted(promoted, 4);
        struct answer *got = GET(api_entry(one, "replaced"));
        ck_body(got, BODY("fork"));
        ck_header(got, "Content-Type", "text/own");
        ck_header(got, "Holdfast-Meta-A", "b");
        ck_header(got, "Holdfast-Expires-At", answer_need(put, "Holdfast-Expires-At"));
        ck_assert_str_ne(tag_of(got), tag_of(put)); // a version is never used twice
        ck_assert_int_le(strtoll(answer_version(got), NULL, 10),
                         strtoll(answer_need(promoted, "Holdfast-Position"), NULL, 10));
        ck_status(GET(api_entry(one, "removed")), 404);
        ck_body(GET(api_entry(one, "left")), BODY("main"));
        ck_body(GET(api_entry(two, "made")), BODY("fork"));
        expect_keys(GET(TEXT("/v1/buckets/%s/entries", one)), "left replaced");
        expect_keys(GET(TEXT("/v1/buckets/%s/entries", two)), "made");
        ck_problem(GET(through(api_entry(two, "made"), fork)), 404, "not_found");
    }
}
END_TEST

static void expect_moved(const struct answer *answer, const char *bucket, const char *keys)
{
    ck_problem(answer, 409, "busy");
    json_t *item;
    size_t i;
    char found[200] = "";
    json_array_foreach(json_object_get(answer->json, "keys"), i, item)
    {
        ck_assert_str_eq(json_string_value(json_object_get(item, "bucket")), bucket);
        ck_reply(answer, json_is_array(json_object_get(item, "under")));
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", i ? " " : "",
                 json_string_value(json_object_get(item, "key")));
    }
    ck_assert_str_eq(found, keys);
}

START_TEST(promote_if_unchanged_names_what_moved)
{
    static const char *const kinds[] = {"continuous", "severed"};
    for (int i = 0; i < 2; i++) {
        const char *bucket = api_bucket();
        static const char *const keys[] = {"changed", "kept", "removed", "same"};
        for (int k = 0; k < 4; k++)
            ck_status(PUT(api_entry(bucket, keys[k]), BODY("main")), 201);
        const char *fork = fork_of(kinds[i], NULL);
        for (int k = 0; k < 4; k++)
            ck_status(PUT(through(api_entry(bucket, keys[k]), fork), BODY("fork")), 204);
        ck_status(DELETE(through(api_entry(bucket, "kept"), fork)), 204);
        ck_status(PUT(through(api_entry(bucket, "appeared"), fork), BODY("fork")), 201);
        ck_status(PUT(through(api_entry(bucket, "new"), fork), BODY("fork")), 201);
        ck_status(PUT(api_entry(bucket, "changed"), BODY("later")), 204);
        ck_status(PUT(api_entry(bucket, "appeared"), BODY("later")), 201);
        ck_status(DELETE(api_entry(bucket, "removed")), 204);
        ck_status(PUT(api_entry(bucket, "untouched"), BODY("later")), 201);
        expect_moved(PROMOTE_IF_UNCHANGED(fork), bucket, "appeared changed removed");
        // Nothing was done, and the fork is open.
        ck_body(GET(api_entry(bucket, "changed")), BODY("later"));
        ck_body(GET(through(api_entry(bucket, "changed"), fork)), BODY("fork"));
        expect_promoted(PROMOTE(fork), 6);
        ck_body(GET(api_entry(bucket, "changed")), BODY("fork"));
        ck_status(GET(api_entry(bucket, "kept")), 404);
        ck_body(GET(api_entry(bucket, "untouched")), BODY("later"));
    }
}
END_TEST

// What the fork saw counts: for a severed one that is the main data when it was made, for a continuous one
// when it wrote.
START_TEST(unchanged_since_the_fork_saw_it)
{
    const char *path = api_entry(api_bucket(), "k"), *branch = TEXT("%s?under=a&under=b%%00c", path);
    ck_status(PUT(path, BODY("1")), 201);
    ck_status(PUT(branch, BODY("1")), 201);
    const char *continuous = fork_of("continuous", NULL), *severed = fork_of("severed", NULL);
    ck_status(PUT(path, BODY("2")), 204);
    ck_status(PUT(branch, BODY("2")), 204);
    ck_status(PUT(through(path, continuous), BODY("fork")), 204);
    ck_status(PUT(through(path, severed), BODY("fork")), 204);
    ck_status(PUT(through(branch, severed), BODY("fork")), 204);
    struct answer *moved = PROMOTE_IF_UNCHANGED(severed);
    ck_problem(moved, 409, "busy");
    ck_reply(moved, json_array_size(json_object_get(moved->json, "keys")) == 2);
    json_t *under = json_object_get(json_array_get(json_object_get(moved->json, "keys"), 1), "under");
    ck_reply(moved, json_array_size(under) == 2);
    expect_promoted(PROMOTE_IF_UNCHANGED(continuous), 1);
    ck_body(GET(path), BODY("fork"));
    ck_body(GET(branch), BODY("2"));
    ck_status(DISCARD(severed), 200);
}
END_TEST

START_TEST(promote_meets_another_type_or_kind)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = bucket_of_type("text"), *path = api_entry(bucket, "k"),
               *fork = fork_of("continuous", NULL);
    ck_status(PUT(through(path, fork), BODY("no json")), 201);
    ck_status(DECLARE(bucket, "{\"type\":\"json\"}"), 200);
    ck_problem(PROMOTE(fork), 422, "type_mismatch");
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    declare_other_kind(connection, bucket);
    struct answer *refused = PROMOTE(fork);
    ck_problem(refused, 409, "kind_mismatch");
    ck_body(GET(through(path, fork)), BODY("no json"));
    sql_run(connection, "delete from holdfast.buckets where name = '%s'", bucket);
    expect_promoted(PROMOTE(fork), 1); // declared as the fork had it
    ck_body(GET(path), BODY("no json"));
    ck_assert_str_eq(answer_text(GET(TEXT("/v1/buckets/%s", bucket)), "type"), "text");
    PQfinish(connection);
}
END_TEST

START_TEST(promote_meets_a_smaller_limit)
{
    const char *bucket = bucket_of_type("any"), *path = TEXT("%s?under=t", api_entry(bucket, "long"));
    const char *fork = fork_of("continuous", NULL);
    ck_status(PUT(through(path, fork), BODY("four")), 201);
    ck_status(PUT(through(api_entry(bucket, "a"), fork), BODY("one")), 201);
    ck_status(DECLARE(bucket, "{\"max_value_bytes\":3}"), 200);
    struct answer *refused = PROMOTE(fork);
    ck_over_limit(refused, 413, "too_large", 3);
    json_t *key = json_array_get(json_object_get(refused->json, "keys"), 0);
    ck_assert_pstr_eq(entry_text(key, "bucket"), bucket);
    ck_assert_pstr_eq(entry_text(key, "key"), "long");
    ck_assert_pstr_eq(json_string_value(json_array_get(json_object_get(key, "under"), 0)), "t");
    // Nothing was done, and the fork is open.
    expect_keys(GET(TEXT("/v1/buckets/%s/entries", bucket)), "");
    ck_status(DELETE(through(path, fork)), 204);
    expect_promoted(PROMOTE(fork), 2);
    ck_body(GET(api_entry(bucket, "a")), BODY("one"));
}
END_TEST

enum { MANY = 100000, PROMOTE_MS = 60 * 1000 };

struct watched {
    const char *bucket;
    const char *fork;
    bool done;
    int none, all, partial;
};

// Alone in a fork's own bucket, as that many puts through it would have.
static void write_many_through(PGconn *connection, const char *bucket, const char *fork, int count)
{
    ck_status(PUT(through(api_entry(bucket, "key-000001"), fork), BODY("v")), 201);
    int64_t own = sql_number(connection,
                             "select b.id from holdfast.forks f, holdfast.fork_buckets(f.no) b "
                             "where f.id = '%s' and not f.closed",
                             fork);
    sql_run(connection,
            "insert into holdfast.entries (bucket_id, path, version, value) "
            "select %lld, '\\x01'::bytea || convert_to('key-' || lpad(i::text, 6, '0'), 'UTF8'), "
            "(select last_value from holdfast.revision), 'v' from generate_series(2, %d) i",
            (long long)own, count);
    sql_run(connection,
            "insert into holdfast.fork_keys (bucket_id, path) select bucket_id, path from holdfast.entries "
            "where bucket_id = %lld on conflict do nothing",
            (long long)own);
}

static void promote_or_watch(size_t index, void *user)
{
    struct watched *watched = user;
    struct http_client *client = http_client_new(replica_url(index));
    if (index == 0) {
        struct answer *promoted =
            http(client, "POST", http_text(client, "/v1/forks/%s/promote", watched->fork), NO_BODY);
        ck_assert_msg(promoted->status == 200, "%s", answer_describe(promoted));
        __atomic_store_n(&watched->done, true, __ATOMIC_SEQ_CST);
    }
    while (index && !__atomic_load_n(&watched->done, __ATOMIC_SEQ_CST)) {
        struct answer *page = http(
            client, "GET",
            http_text(client, "/v1/buckets/%s/entries?limit=1000&values=false", watched->bucket), NO_BODY);
        ck_assert_int_eq(page->status, 200);
        size_t rows = json_array_size(json_object_get(page->json, "entries"));
        *(rows == 0 ? &watched->none : rows == 1000 ? &watched->all : &watched->partial) += 1;
    }
    http_client_free(client);
}

START_TEST(promote_of_100000_rows_is_seen_whole)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = bucket_of_type("any"), *fork = fork_of("severed", NULL);
    write_many_through(connection, bucket, fork, MANY);
    struct watched watched = {.bucket = bucket, .fork = fork};
    parallel_run(2, promote_or_watch, &watched);
    ck_assert_int_eq(watched.partial, 0);
    ck_assert_int_eq(rows_of(connection, bucket), MANY);
    ck_assert_int_eq(
        sql_number(connection,
                   "select count(distinct version) from holdfast.entries e join holdfast.buckets b "
                   "on b.id = e.bucket_id where b.name = '%s'",
                   bucket),
        MANY);
    ck_body(GET(api_entry(bucket, "key-100000")), BODY("v"));
    PQfinish(connection);
}
END_TEST

// --- discarding
// -----------------------------------------------------------------------------------------------------

START_TEST(discard_leaves_the_main_data)
{
    const char *path = api_entry(api_bucket(), "k"), *fork = fork_of("continuous", NULL);
    ck_status(PUT(path, BODY("main")), 201);
    ck_status(PUT(through(path, fork), BODY("fork")), 204);
    struct answer *gone = DISCARD(fork);
    ck_status(gone, 200);
    ck_reply(gone, json_is_true(json_object_get(gone->json, "discarded")));
    answer_need(gone, "Holdfast-Position");
    ck_body(GET(path), BODY("main"));
    ck_status(GET(through(path, fork)), 404);
}
END_TEST

static bool nothing_is_left(void *user)
{
    return sql_number(
               user,
               "select (select count(*) from holdfast.images) + (select count(*) from holdfast.fork_keys) "
               "+ (select count(*) from holdfast.forks where closed) "
               "+ (select count(*) from holdfast.dropped_buckets)") == 0;
}

static void discard_all(void)
{
    struct answer *list = GET("/v1/forks?limit=1000");
    json_t *fork;
    size_t i;
    json_array_foreach(json_object_get(list->json, "forks"), i, fork)
        ck_status(DISCARD(json_string_value(json_object_get(fork, "id"))), 200);
}

START_TEST(what_closed_forks_leave_is_freed)
{
    discard_all();
    PGconn *connection = database_connect(&api.database);
    ck_assert(clock_wait(nothing_is_left, connection, PROMOTE_MS)); // of the tests before
    const char *bucket = bucket_of_type("any"), *kept = fork_of("severed", NULL);
    insert_entries(connection, bucket, NULL, 5000);
    const char *first = fork_of("severed", NULL), *second = fork_of("severed", NULL);
    write_many_through(connection, bucket_of_type("any"), second, 5000);
    sql_run(connection, "select count(*) from holdfast.clear_range('%s', '', null, 0, null, 10000)", bucket);
    ck_assert_int_eq(sql_number(connection, "select count(*) from holdfast.images"), 5000);
    // What one of them needs stays when another closes.
    ck_status(DISCARD(first), 200);
    int64_t until = clock_ms() + PROMOTE_MS;
    while (sql_number(connection, "select count(*) from holdfast.forks where closed") > 0) {
        ck_assert_msg(clock_ms() < until, "the closed fork is not forgotten");
        clock_pause(20);
    }
    ck_assert_int_eq(sql_number(connection, "select count(*) from holdfast.images"), 5000);
    ck_body(GET(through(api_entry(bucket, "key-000001"), second)),
            GET(through(api_entry(bucket, "key-000001"), second))->body);
    ck_status(DISCARD(second), 200);
    ck_assert_msg(clock_wait(nothing_is_left, connection, PROMOTE_MS),
                  "something is left of the closed forks");
    ck_status(GET(TEXT("/v1/forks/%s", kept)), 200);
    ck_status(DISCARD(kept), 200);
    ck_assert_msg(clock_wait(nothing_is_left, connection, PROMOTE_MS), "something is left of the last fork");
    PQfinish(connection);
}
END_TEST

// --- races
// ------------------------------------------------------------------------------------------------

enum { PROMOTERS = 16 };

struct promotion {
    const char *fork;
    int won, lost, other;
};

static void promote_once(size_t index, void *user)
{
    struct promotion *promotion = user;
    struct http_client *client = http_client_new(replica_url(index));
    struct answer *reply =
        http(client, "POST", http_text(client, "/v1/forks/%s/promote", promotion->fork), NO_BODY);
    int *counter = reply->status == 200                           ? &promotion->won
                   : reply->status == 404 || reply->status == 409 ? &promotion->lost
                                                                  : &promotion->other;
    __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
    http_client_free(client);
}

START_TEST(one_promote_wins)
{
    for (int round = 0; round < 5; round++) {
        const char *path = api_entry(api_bucket(), "k");
        struct promotion promotion = {.fork = fork_of(round % 2 ? "severed" : "continuous", NULL)};
        ck_status(PUT(through(path, promotion.fork), BODY("v")), 201);
        parallel_run(PROMOTERS, promote_once, &promotion);
        ck_assert_int_eq(promotion.won, 1);
        ck_assert_int_eq(promotion.lost, PROMOTERS - 1);
        ck_body(GET(path), BODY("v"));
    }
}
END_TEST

enum { ADDERS = 8, ADDS = 40 };

struct adding {
    const char *path;
    const char *fork;
    int added;
};

static void add_or_promote(size_t index, void *user)
{
    struct adding *adding = user;
    struct http_client *client = http_client_new(replica_url(index));
    bool open = true;
    for (int i = 0; index && open && i < ADDS; i++) {
        struct answer *sum =
            http(client, "POST", http_text(client, "%s/add?fork=%s", adding->path, adding->fork), NO_BODY);
        open = sum->status == 200;
        if (open)
            __atomic_add_fetch(&adding->added, 1, __ATOMIC_SEQ_CST);
        else
            ck_assert_msg(sum->status == 404 || sum->status == 409, "%s", answer_describe(sum));
    }
    while (!index && __atomic_load_n(&adding->added, __ATOMIC_SEQ_CST) < ADDERS * ADDS / 4)
        clock_pause(1);
    if (!index)
        ck_assert_int_eq(
            http(client, "POST", http_text(client, "/v1/forks/%s/promote", adding->fork), NO_BODY)->status,
            200);
    http_client_free(client);
}

// A write through a fork is in what is promoted, or it was refused.
START_TEST(no_acknowledged_write_is_lost_by_promote)
{
    for (int round = 0; round < 4; round++) {
        const char *path = api_entry(api_bucket(), "n");
        struct adding adding = {.path = path, .fork = fork_of(round % 2 ? "severed" : "continuous", NULL)};
        parallel_run(ADDERS + 1, add_or_promote, &adding);
        ck_assert_int_eq(strtoll((const char *)GET(path)->body.data, NULL, 10), adding.added);
    }
}
END_TEST

enum { WRITERS = 4, CUTS = 40 };

struct cuts {
    const char *bucket;
    const char *other;
    bool done;
    int64_t acknowledged[WRITERS];
};

// Writes n to one key and then to another, and to two of two buckets in one transaction, for n that grows.
static void write_pairs(struct cuts *cuts, size_t writer, struct http_client *client)
{
    for (int64_t n = 1; !__atomic_load_n(&cuts->done, __ATOMIC_SEQ_CST); n++) {
        char value[24];
        snprintf(value, sizeof value, "%" PRId64, n);
        for (int k = 0; k < 2; k++) {
            const char *path =
                http_text(client, "/v1/buckets/%s/entries/%c-%zu", cuts->bucket, 'a' + k, writer);
            int status = http(client, "PUT", path, bytes_of(value))->status;
            ck_assert_int_eq(status, n == 1 ? 201 : 204);
        }
        const char *body =
            http_text(client,
                      "{\"operations\":[{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"t-%zu\",\"value\":%s},"
                      "{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"t-%zu\",\"value\":%s}]}",
                      cuts->bucket, writer, value, cuts->other, writer, value);
        ck_assert_int_eq(http(client, "POST", "/v1/transactions", bytes_of(body))->status, 200);
        __atomic_store_n(&cuts->acknowledged[writer], n, __ATOMIC_SEQ_CST);
    }
}

static int64_t number_in(struct http_client *client, const char *bucket, char key, size_t writer, int fork)
{
    struct answer *got = http(
        client, "GET",
        http_text(client, "/v1/buckets/%s/entries/%c-%zu?fork=cut-%d", bucket, key, writer, fork), NO_BODY);
    ck_assert_msg(got->status == 200 || got->status == 404, "%s", answer_describe(got));
    return got->status == 200 ? strtoll((const char *)got->body.data, NULL, 10) : 0;
}

static void write_or_cut(size_t index, void *user)
{
    struct cuts *cuts = user;
    struct http_client *client = http_client_new(replica_url(index));
    if (index < WRITERS) {
        write_pairs(cuts, index, client);
        http_client_free(client);
        return;
    }
    int64_t seen[CUTS][WRITERS];
    for (int fork = 0; fork < CUTS; fork++) {
        int64_t before[WRITERS];
        for (size_t w = 0; w < WRITERS; w++)
            before[w] = __atomic_load_n(&cuts->acknowledged[w], __ATOMIC_SEQ_CST);
        ck_assert_int_eq(
            http(client, "PUT", http_text(client, "/v1/forks/cut-%d", fork), BODY("{\"kind\":\"severed\"}"))
                ->status,
            201);
        for (size_t w = 0; w < WRITERS; w++) {
            int64_t first = number_in(client, cuts->bucket, 'a', w, fork);
            int64_t second = number_in(client, cuts->bucket, 'b', w, fork);
            seen[fork][w] = number_in(client, cuts->bucket, 't', w, fork);
            ck_assert_int_eq(number_in(client, cuts->other, 't', w, fork), seen[fork][w]);
            ck_assert(first == second || first == second + 1);
            ck_assert(second == seen[fork][w] || second == seen[fork][w] + 1);
            ck_assert_int_ge(seen[fork][w], before[w]);
        }
    }
    __atomic_store_n(&cuts->done, true, __ATOMIC_SEQ_CST);
    for (int fork = 0; fork < CUTS; fork++) // and they stay as they were
        for (size_t w = 0; w < WRITERS; w++)
            ck_assert_int_eq(number_in(client, cuts->other, 't', w, fork), seen[fork][w]);
    http_client_free(client);
}

// Each severed fork has what was acknowledged before it was asked for, and of what is written meanwhile all
// up to one point.
START_TEST(severed_forks_are_consistent_cuts)
{
    struct cuts cuts = {.bucket = bucket_of_type("json"), .other = bucket_of_type("json")};
    parallel_run(WRITERS + 1, write_or_cut, &cuts);
    for (int fork = 0; fork < CUTS; fork++)
        ck_status(DISCARD(TEXT("cut-%d", fork)), 200);
}
END_TEST

// To promote a hundred thousand rows takes longer than a statement usually may, on a busy machine.
static void start_patient(void)
{
    static const char *const flags[] = {"--database-timeout", "1m", NULL};
    api_start(flags);
    api.twin = service_start(&(struct service_options){.database = api.database.url, .flags = flags});
}

Suite *forks_suite(void)
{
    const TTest *const tests[] = {
        fork_is_made_and_shown,
        fork_that_exists_is_409,
        malformed_forks_are_400,
        fork_ids_are_no_dot_segments,
        fork_names_buckets_once,
        fork_names_at_most_1000_buckets,
        unknown_and_closed_forks_are_404,
        calls_without_forks_refuse_the_parameter,
        list_of_forks_has_pages,
        fork_covers_its_buckets_only,
        own_buckets_of_forks_are_hidden,
        promote_applies_writes_and_removals,
        promote_if_unchanged_names_what_moved,
        unchanged_since_the_fork_saw_it,
        promote_meets_another_type_or_kind,
        promote_meets_a_smaller_limit,
        promote_of_100000_rows_is_seen_whole,
        discard_leaves_the_main_data,
        what_closed_forks_leave_is_freed,
        one_promote_wins,
        no_acknowledged_write_is_lost_by_promote,
        severed_forks_are_consistent_cuts,
        NULL,
    };
    return api_suite_started("forks", start_patient, tests);
}
