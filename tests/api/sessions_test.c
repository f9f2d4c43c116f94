// Session links: writes say which session they belong to, the session lists them, and lists show where a
// value came from.
#include "fork_steps.h"
#include "transaction_steps.h"

#define SESSION "Holdfast-Session: "

static json_t *writes_of(const struct answer *answer)
{
    ck_status(answer, 200);
    return json_object_get(answer->json, "writes");
}

// The operations of a page, joined by spaces.
static const char *operations_of(const struct answer *answer)
{
    const char *text = "";
    json_t *write;
    size_t i;
    json_array_foreach(writes_of(answer), i, write) text =
        TEXT("%s%s%s", text, i ? " " : "", entry_text(write, "operation"));
    return text;
}

static const char *session_path(const char *session)
{
    return TEXT("/v1/sessions/app/%s/writes", session);
}

START_TEST(every_write_is_linked_to_its_session)
{
    const char *b = bucket_of_type("any");
    const char *session = TEXT(SESSION "app/%s", b);
    const char *k = api_entry(b, "k"), *json = "Content-Type: application/json";
    struct answer *first = PUT(TEXT("%s?under=t", k), BODY("{}"), session, json);
    ck_status(first, 201);
    ck_status(PATCH(TEXT("%s?under=t", k), BODY("{\"a\":1}"), session), 204);
    ck_status(POST(TEXT("%s/exchange?under=t", k), BODY("{}"), session, json), 200);
    ck_status(POST(TEXT("%s/upsert", k), BODY("{\"insert\":{},\"update\":{}}"), session), 201);
    ck_status(POST(TEXT("%s/compare-and-set", k), BODY("{\"expected\":1,\"value\":2}"), session),
              200); // not swapped
    ck_status(POST(TEXT("%s/compare-and-set", k), BODY("{\"expected\":{},\"value\":2}"), session), 200);
    ck_status(POST(TEXT("%s/add", k), BODY("{}"), session), 200);
    ck_status(PUT(TEXT("%s/expiry", k), BODY("{\"ttl\":\"1h\"}"), session), 204);
    ck_status(DELETE(TEXT("%s/expiry", k), session), 204);
    ck_status(POST(TEXT("%s/copy", k), BODY("{\"to_key\":\"c\"}"), session), 200);
    ck_status(POST(TEXT("%s/move", k), BODY("{\"to_key\":\"m\"}"), session), 200);
    ck_status(POST(TEXT("%s/take", api_entry(b, "m")), NO_BODY, session), 200);
    ck_status(DELETE(api_entry(b, "c"), session), 204);
    ck_status(DELETE(api_entry(b, "c"), session), 404); // did nothing
    ck_status(
        POST("/v1/transactions",
             bytes_of(TEXT(
                 "{\"operations\":[%s,\"op\":\"put\",\"value\":1},%s,\"op\":\"add\"},%s,\"op\":\"delete\"}]}",
                 item_at(b, "x"), item_at(b, "x"), item_at(b, "x"))),
             session),
        200);
    struct answer *all = GET(session_path(b));
    ck_assert_str_eq(
        operations_of(all),
        "put patch exchange upsert compare-and-set add expiry expiry copy delete move take delete "
        "put add delete");
    json_t *put = json_array_get(writes_of(all), 0);
    ck_assert_pstr_eq(entry_text(put, "bucket"), b);
    ck_assert_pstr_eq(entry_text(put, "key"), "k");
    ck_assert_pstr_eq(json_string_value(json_array_get(json_object_get(put, "under"), 0)), "t");
    ck_assert_pstr_eq(entry_text(put, "version"), answer_version(first));
    ck_assert_ptr_nonnull(entry_text(put, "time"));
    ck_reply(all, json_is_null(json_object_get(all->json, "cursor")));
    ck_assert_pstr_eq(entry_text(json_array_get(writes_of(all), 8), "key"), "c");
    // What a move took away, and what it made, at one position.
    json_t *gone = json_array_get(writes_of(all), 9), *moved = json_array_get(writes_of(all), 10);
    ck_assert_pstr_eq(entry_text(gone, "key"), "k");
    ck_assert_pstr_eq(entry_text(moved, "key"), "m");
    ck_assert_pstr_eq(entry_text(gone, "version"), entry_text(moved, "version"));
    ck_reply(all, json_is_null(json_object_get(moved, "fork")));
}
END_TEST

START_TEST(writes_of_a_session_come_in_pages)
{
    const char *b = bucket_of_type("int");
    const char *session = TEXT(SESSION "app/%s", b);
    for (int i = 0; i < 5; i++)
        ck_status(PUT(api_entry(b, TEXT("%d", i)), bytes_of(TEXT("%d", i)), session), 201);
    struct answer *page = GET(TEXT("%s?limit=2", session_path(b)));
    const char *keys = "";
    int pages = 0;
    for (;; page = GET(TEXT("%s?limit=2&cursor=%s", session_path(b), answer_text(page, "cursor")))) {
        json_t *write;
        size_t i;
        json_array_foreach(writes_of(page), i, write) keys = TEXT("%s%s", keys, entry_text(write, "key"));
        pages++;
        if (!answer_text(page, "cursor"))
            break;
    }
    ck_assert_str_eq(keys, "01234");
    ck_assert_int_eq(pages, 3);
    page = GET(TEXT("%s?limit=2", session_path(b)));
    ck_invalid(GET(TEXT("%s?cursor=%s", session_path("another"), answer_text(page, "cursor"))), "cursor");
    ck_reply(page, json_array_size(writes_of(GET(session_path("nobody")))) == 0);
    ck_status(DELETE(TEXT("/v1/buckets/%s", b)), 204);
    ck_reply(page, json_array_size(writes_of(GET(session_path(b)))) == 0);
}
END_TEST

START_TEST(a_list_shows_where_values_came_from)
{
    const char *b = bucket_of_type("int");
    struct answer *linked = PUT(api_entry(b, "a"), BODY("1"), TEXT(SESSION "app/%s", b), "X-Request-Id: r-1");
    struct answer *plain = PUT(api_entry(b, "b"), BODY("2"));
    struct answer *list = GET(TEXT("/v1/buckets/%s/entries?source=true", b));
    json_t *entries = entries_of(list);
    json_t *source = json_object_get(json_array_get(entries, 0), "source");
    ck_assert_pstr_eq(entry_text(source, "position"), answer_version(linked));
    ck_assert_pstr_eq(entry_text(source, "request_id"), "r-1");
    ck_reply(list, json_is_null(json_object_get(source, "token")));
    ck_assert_pstr_eq(entry_text(json_object_get(source, "session"), "stream"), "app");
    ck_assert_pstr_eq(entry_text(json_object_get(source, "session"), "session"), b);
    source = json_object_get(json_array_get(entries, 1), "source");
    ck_assert_pstr_eq(entry_text(source, "position"), answer_version(plain));
    ck_reply(list, json_is_null(json_object_get(source, "session")));
    ck_reply(list, json_is_null(json_object_get(source, "request_id")));
    // The next write without a session has no link of the one before.
    ck_status(PUT(api_entry(b, "a"), BODY("3")), 204);
    list = GET(TEXT("/v1/buckets/%s/entries?source=true&values=false", b));
    source = json_object_get(json_array_get(entries_of(list), 0), "source");
    ck_reply(list, json_is_null(json_object_get(source, "session")));
    list = GET(TEXT("/v1/buckets/%s/entries", b));
    ck_reply(list, !json_object_get(json_array_get(entries_of(list), 0), "source"));
    ck_body(GET(TEXT("/v1/buckets/%s/entries?source=true", bucket_of_type("any"))),
            BODY("{\"entries\":[],\"cursor\":null}\n"));
}
END_TEST

START_TEST(writes_through_a_fork_are_its_own)
{
    const char *b = bucket_of_type("any"), *alone = api_bucket(), *k = api_entry(b, "k");
    const char *session = TEXT(SESSION "app/%s", b);
    ck_status(PUT(k, BODY("main"), session), 201);
    const char *fork = fork_of("continuous", NULL);
    struct answer *forked = PUT(through(k, fork), BODY("fork"), session, "X-Request-Id: r-2");
    ck_status(forked, 204);
    ck_status(PUT(through(api_entry(alone, "k"), fork), BODY("fork"), session), 201);
    struct answer *all = GET(session_path(b));
    ck_assert_str_eq(operations_of(all), "put put put");
    ck_reply(all, json_is_null(json_object_get(json_array_get(writes_of(all), 0), "fork")));
    ck_assert_pstr_eq(entry_text(json_array_get(writes_of(all), 1), "fork"), fork);
    ck_assert_pstr_eq(entry_text(json_array_get(writes_of(all), 1), "bucket"), b);
    ck_assert_pstr_eq(entry_text(json_array_get(writes_of(all), 2), "bucket"), alone);
    ck_status(PUT(through(api_entry(b, "plain"), fork), BODY("x")), 201);
    struct answer *list = GET(TEXT("%s&source=true", scan_through(b, fork)));
    json_t *source = json_object_get(json_array_get(entries_of(list), 0), "source");
    ck_assert_pstr_eq(entry_text(source, "position"), answer_version(forked));
    ck_assert_pstr_eq(entry_text(source, "request_id"), "r-2");
    source = json_object_get(json_array_get(entries_of(list), 1), "source");
    ck_reply(list, json_is_null(json_object_get(source, "session")));
    // Discarded, they are gone.
    ck_status(DISCARD(fork), 200);
    ck_assert_str_eq(operations_of(GET(session_path(b))), "put");
}
END_TEST

static const char *source_of(const char *bucket, size_t place, const char *member)
{
    struct answer *list = GET(TEXT("/v1/buckets/%s/entries?source=true", bucket));
    json_t *entry = json_array_get(entries_of(list), place), *source = json_object_get(entry, "source");
    ck_assert_pstr_eq(entry_text(source, "position"), entry_text(entry, "version"));
    json_t *session = json_object_get(source, "session");
    return strcmp(member, "session") == 0 ? entry_text(session, "session") : entry_text(source, member);
}

// Promoted, the last write of each key is one of the main data, at its new version.
START_TEST(promote_keeps_the_sources_of_writes)
{
    const char *b = bucket_of_type("any"), *k = api_entry(b, "k"), *gone = api_entry(b, "gone");
    const char *session = TEXT(SESSION "app/%s", b);
    ck_status(PUT(gone, BODY("main")), 201);
    const char *fork = fork_of("severed", NULL);
    ck_status(PUT(through(k, fork), BODY("1"), session, "X-Request-Id: r-1"), 201);
    ck_status(PUT(through(k, fork), BODY("2"), session, "X-Request-Id: r-2"), 204);
    ck_status(PUT(call_through(k, "expiry", fork), BODY("{\"ttl\":\"1h\"}"), session), 204);
    ck_status(DELETE(through(gone, fork), session), 204);
    ck_status(PUT(through(api_entry(b, "plain"), fork), BODY("x"), session), 201);
    ck_status(PUT(through(api_entry(b, "plain"), fork), BODY("y")), 204);
    struct answer *promoted = PROMOTE(fork);
    expect_promoted(promoted, 3);
    struct answer *all = GET(session_path(b));
    ck_assert_str_eq(operations_of(all), "put delete");
    ck_assert_pstr_eq(entry_text(json_array_get(writes_of(all), 0), "version"), answer_version(GET(k)));
    ck_assert_pstr_eq(entry_text(json_array_get(writes_of(all), 1), "version"),
                      answer_header(promoted, "Holdfast-Position"));
    ck_reply(all, json_is_null(json_object_get(json_array_get(writes_of(all), 0), "fork")));
    ck_assert_pstr_eq(source_of(b, 0, "session"), b);
    ck_assert_pstr_eq(source_of(b, 0, "request_id"), "r-2");
    ck_assert_pstr_eq(source_of(b, 1, "session"), NULL); // its last write came without one
}
END_TEST

START_TEST(promote_is_linked_to_its_own_session)
{
    const char *b = bucket_of_type("any"), *fork = fork_of("continuous", NULL);
    ck_status(PUT(api_entry(b, "c"), BODY("main")), 201);
    ck_status(PUT(through(api_entry(b, "a"), fork), BODY("1"), TEXT(SESSION "app/%s-writer", b)), 201);
    ck_status(PUT(through(api_entry(b, "b"), fork), BODY("1")), 201);
    ck_status(DELETE(through(api_entry(b, "c"), fork)), 204);
    ck_status(POST(TEXT("/v1/forks/%s/promote", "no-such-fork"), NO_BODY, TEXT(SESSION "app/%s", b)), 404);
    expect_promoted(PROMOTE(fork, TEXT(SESSION "app/%s", b), "X-Request-Id: r-p"), 3);
    struct answer *all = GET(session_path(b));
    ck_assert_str_eq(operations_of(all), "promote promote promote");
    ck_assert_pstr_eq(entry_text(json_array_get(writes_of(all), 2), "key"), "c");
    ck_assert_str_eq(operations_of(GET(session_path(TEXT("%s-writer", b)))), "put");
    for (size_t i = 0; i < 2; i++) {
        ck_assert_pstr_eq(source_of(b, i, "session"), b);
        ck_assert_pstr_eq(source_of(b, i, "request_id"), "r-p");
    }
}
END_TEST

START_TEST(keyed_write_is_linked_once)
{
    const char *b = bucket_of_type("int");
    const char *session = TEXT(SESSION "app/%s", b), *key = TEXT("Idempotency-Key: %s", b);
    for (int i = 0; i < 2; i++)
        ck_status(POST(TEXT("%s/add", api_entry(b, "k")), BODY("{}"), session, key), 200);
    ck_assert_str_eq(operations_of(GET(session_path(b))), "add");
    ck_body(GET(api_entry(b, "k")), BODY("1"));
}
END_TEST

START_TEST(malformed_session_is_400)
{
    const char *path = api_entry(bucket_of_type("any"), "k");
    char long_name[140];
    memset(long_name, 'x', sizeof long_name);
    const char *bad[] = {"Holdfast-Session;",
                         SESSION "a",
                         SESSION "/s",
                         SESSION "a/",
                         SESSION "a/b/c",
                         SESSION "a b/c",
                         SESSION "a/\xC3\xA9",
                         TEXT(SESSION "a/%.129s", long_name),
                         TEXT(SESSION "%.129s/s", long_name)};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_invalid(PUT(path, BODY("x"), bad[i]), "Holdfast-Session");
    ck_status(GET(path, SESSION "a"), 404); // a read links nothing
    ck_status(PUT(path, BODY("x"), TEXT(SESSION "%.128s/%.128s", long_name, long_name)), 201);
    ck_invalid(GET(TEXT("/v1/sessions/%.129s/s/writes", long_name)), "stream");
    ck_invalid(GET("/v1/sessions/a/b%2Fc/writes"), "session");
    ck_invalid(GET("/v1/sessions/a/b/writes?limit=0"), "limit");
}
END_TEST

Suite *sessions_suite(void)
{
    const TTest *const tests[] = {
        every_write_is_linked_to_its_session,
        writes_of_a_session_come_in_pages,
        a_list_shows_where_values_came_from,
        writes_through_a_fork_are_its_own,
        promote_keeps_the_sources_of_writes,
        promote_is_linked_to_its_own_session,
        keyed_write_is_linked_once,
        malformed_session_is_400,
        NULL,
    };
    return api_suite("sessions", NULL, tests);
}
