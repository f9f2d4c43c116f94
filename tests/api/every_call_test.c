// What holds for every call that writes one entry: preconditions, absence, expiry, branches and refusals.
#include "entry_steps.h"

#include "support/clock.h"

#define TO_COPY "{\"to_key\":\"copy\"}"

// A call with a body that does something to an entry that has `value`.
struct call {
    const char *method;
    const char *suffix; // of the entry's path
    const char *query;
    const char *value;
    const char *body;         // NULL: none
    const char *content_type; // NULL: none
    int live;                 // status on a live entry
    int absent;               // and on an absent one
    bool makes;               // it makes an absent entry
};

static const struct call calls[] = {
    {"PUT", "", "", "v", "w", NULL, 204, 201, true},
    {"DELETE", "", "", "v", NULL, NULL, 204, 404, false},
    {"PATCH", "", "", "{}", "{\"a\":1}", "application/merge-patch+json", 204, 404, false},
    {"PATCH", "", "upsert=true", "{}", "{\"a\":1}", "application/merge-patch+json", 204, 204, true},
    {"POST", "/take", "", "v", NULL, NULL, 200, 404, false},
    {"POST", "/exchange", "", "v", "w", NULL, 200, 204, true},
    {"POST", "/compare-and-set", "", "5", "{\"expected\":5,\"value\":6}", NULL, 200, 200, false},
    {"POST", "/add", "", "5", "{\"by\":1}", NULL, 200, 200, true},
    {"POST", "/upsert", "", "{}", "{\"insert\":{},\"update\":{\"set\":{\"a\":1}}}", NULL, 200, 201, true},
    {"PUT", "/expiry", "", "v", "{\"ttl\":\"1m\"}", NULL, 204, 404, false},
    {"DELETE", "/expiry", "", "v", NULL, NULL, 204, 404, false},
    {"POST", "/copy", "", "v", TO_COPY, NULL, 200, 404, false},
    {"POST", "/move", "", "v", TO_COPY, NULL, 200, 404, false},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

// Its conditions are about the entry that it writes, which is another one: transfer_test.c has them.
static bool writes_elsewhere(const struct call *call)
{
    return strcmp(call->suffix, "/copy") == 0 || strcmp(call->suffix, "/move") == 0;
}

static const char *call_name(const struct call *call)
{
    return TEXT("%s …%s?%s", call->method, call->suffix, call->query);
}

static const char *with_query(const char *path, const char *first, const char *second)
{
    const char *mark = *first || *second ? "?" : "";
    return TEXT("%s%s%s%s%s", path, mark, first, *first && *second ? "&" : "", second);
}

static struct answer *send_to(struct http_client *client, const struct call *call, const char *path,
                              const char *query, const char *header, const char *second)
{
    const char *headers[4] = {NULL};
    int count = 0;
    if (call->content_type)
        headers[count++] = TEXT("Content-Type: %s", call->content_type);
    if (header)
        headers[count++] = header;
    if (second)
        headers[count++] = second;
    const char *target = with_query(TEXT("%s%s", path, call->suffix), call->query, query);
    return http_send(client, call->method, target, call->body ? bytes_of(call->body) : NO_BODY, headers);
}

static struct answer *send(const struct call *call, const char *path, const char *header)
{
    return send_to(api.client, call, path, "", header, NULL);
}

static struct answer *put_value(const struct call *call, const char *path, const char *query)
{
    return PUT(with_query(path, query, ""), bytes_of(call->value), "Content-Type: application/x-test",
               "Holdfast-Meta-A: b");
}

static void expect_status(const struct call *call, const struct answer *answer, int status)
{
    if (answer->status != status)
        ck_abort_msg("%s is not %d: %s", call_name(call), status, answer_describe(answer));
}

// The entry is as put_value left it, and nothing was copied.
static void expect_untouched(const struct call *call, const char *bucket, const char *path,
                             const struct answer *put)
{
    struct answer *got = GET(path);
    ck_body(got, bytes_of(call->value));
    ck_header(got, "ETag", tag_of(put));
    ck_header(got, "Content-Type", "application/x-test");
    ck_header(got, "Holdfast-Meta-A", "b");
    ck_header(got, "Holdfast-Expires-At", answer_header(put, "Holdfast-Expires-At"));
    ck_status(GET(api_entry(bucket, "copy")), 404);
}

// --- preconditions ----------------------------------------------------------------------------------------

// CAS-1
START_TEST(stale_precondition_of_every_call_changes_nothing)
{
    for (int i = 0; i < CALLS; i++) {
        if (writes_elsewhere(&calls[i]))
            continue;
        const char *bucket = api_bucket();
        const char *path = api_entry(bucket, "k");
        const char *old = tag_of(put_value(&calls[i], path, ""));
        struct answer *put = put_value(&calls[i], path, "ttl=1h");
        const char *tag = tag_of(put);
        const char *failing[] = {
            TEXT("If-Match: %s", old),
            "If-Match: \"nonsense\"",
            TEXT("If-Match: W/%s", tag),
            TEXT("If-Match: %s, W/%s", old, tag),
            "If-None-Match: *",
            TEXT("If-None-Match: %s", tag),
            TEXT("If-None-Match: \"1\", %s", tag),
            TEXT("If-None-Match: W/%s", tag),
        };
        for (size_t j = 0; j < sizeof failing / sizeof failing[0]; j++)
            expect_conflict(send(&calls[i], path, failing[j]), tag);
        expect_conflict(send_to(api.client, &calls[i], path, "", TEXT("If-Match: %s", tag), failing[5]), tag);
        expect_untouched(&calls[i], bucket, path, put);
        // The same call goes through when the conditions hold.
        expect_status(&calls[i],
                      send_to(api.client, &calls[i], path, "", TEXT("If-Match: %s, %s", old, tag),
                              TEXT("If-None-Match: %s", old)),
                      calls[i].live);
        put_value(&calls[i], path, "");
        expect_status(&calls[i], send(&calls[i], path, "If-Match: *"), calls[i].live);
    }
}
END_TEST

START_TEST(precondition_of_every_call_on_an_absent_entry)
{
    for (int i = 0; i < CALLS; i++) {
        if (writes_elsewhere(&calls[i]))
            continue;
        const char *bucket = api_bucket();
        const char *path = api_entry(bucket, "k");
        static const char *const wanted[] = {"If-Match: \"1\"", "If-Match: *", "If-Match: \"x\""};
        for (size_t j = 0; j < 3; j++)
            expect_conflict(send(&calls[i], path, wanted[j]), NULL);
        ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 404); // a failed condition declares nothing
        ck_status(DECLARE(bucket, "{}"), 201);
        for (size_t j = 0; j < 3; j++)
            expect_conflict(send(&calls[i], path, wanted[j]), NULL);
        ck_status(GET(path), 404);
        expect_status(&calls[i], send(&calls[i], path, "If-None-Match: *"), calls[i].absent);
        ck_status(GET(path), calls[i].makes ? 200 : 404);
    }
}
END_TEST

START_TEST(malformed_precondition_of_every_call_is_400)
{
    for (int i = 0; i < CALLS; i++) {
        const char *bucket = api_bucket();
        const char *path = api_entry(bucket, "k");
        struct answer *put = put_value(&calls[i], path, "");
        ck_invalid(send(&calls[i], path, "If-Match: x"), "If-Match");
        ck_invalid(send(&calls[i], path, "If-None-Match: *, \"a\""), "If-None-Match");
        expect_untouched(&calls[i], bucket, path, put);
    }
}
END_TEST

// Lists and removals by bounds are about no single version.
START_TEST(preconditions_of_lists_are_400)
{
    const char *bucket = api_bucket();
    const char *list = TEXT("/v1/buckets/%s/entries", bucket);
    ck_status(PUT(api_entry(bucket, "k"), BODY("v")), 201);
    ck_invalid(GET(list, "If-None-Match: *"), "If-None-Match");
    ck_invalid(DELETE(list, "If-Match: *"), "If-Match");
    ck_invalid(POST(TEXT("/v1/buckets/%s/batch-get", bucket), BODY("{\"keys\":[]}"), "If-Match: *"),
               "If-Match");
    ck_status(GET(api_entry(bucket, "k")), 200);
}
END_TEST

// --- absence ----------------------------------------------------------------------------------------------

// An entry that was `put` and is gone: by `tag` it conflicts, and each call does what it does to nothing.
static void expect_absent_to(const struct call *call, const char *path, const char *tag)
{
    if (!writes_elsewhere(call)) {
        expect_conflict(send(call, path, TEXT("If-Match: %s", tag)), NULL);
        expect_conflict(send(call, path, "If-Match: *"), NULL);
    }
    struct answer *answer = send(call, path, "If-None-Match: *");
    expect_status(call, answer, call->absent);
    if (strcmp(call->suffix, "/compare-and-set") == 0)
        ck_body(answer, BODY("{\"swapped\":false,\"version\":null,\"current\":null}\n"));
    if (strcmp(call->suffix, "/add") == 0)
        ck_assert_int_eq(json_integer_value(json_object_get(answer->json, "value")), 1);
    struct answer *got = GET(path);
    ck_status(got, call->makes ? 200 : 404);
    ck_header(got, "Holdfast-Meta-A", NULL); // nothing of the old entry is inherited
    ck_header(got, "Holdfast-Expires-At", NULL);
}

START_TEST(expired_entry_is_absent_to_every_call)
{
    const char *paths[CALLS], *tags[CALLS];
    const char *bucket = api_bucket();
    database_stop_clock(&api.database, START);
    for (int i = 0; i < CALLS; i++) {
        paths[i] = api_entry(bucket, TEXT("%d", i));
        tags[i] = tag_of(put_value(&calls[i], paths[i], "ttl=10s"));
    }
    database_stop_clock(&api.database, START + 10 * SECOND);
    for (int i = 0; i < CALLS; i++)
        expect_absent_to(&calls[i], paths[i], tags[i]);
    ck_status(GET(api_entry(bucket, "copy")), 404);
    database_shift_clock(&api.database, 0);
}
END_TEST

// So it is with an entry that a large clear hides while its row is still there.
START_TEST(cleared_entry_is_absent_to_every_call)
{
    const char *paths[CALLS], *tags[CALLS];
    const char *bucket = bucket_of_type("any");
    PGconn *holder = hold_sweeper();
    insert_entries(holder, bucket, NULL, 10001);
    for (int i = 0; i < CALLS; i++) {
        paths[i] = api_entry(bucket, TEXT("%d", i));
        tags[i] = tag_of(put_value(&calls[i], paths[i], "ttl=1h"));
    }
    ck_body(DELETE(TEXT("/v1/buckets/%s/entries", bucket)), BODY("{\"removed\":null}\n"));
    ck_assert_int_eq(rows_of(holder, bucket), 10001 + CALLS);
    for (int i = 0; i < CALLS; i++)
        expect_absent_to(&calls[i], paths[i], tags[i]);
    ck_status(GET(api_entry(bucket, "copy")), 404);
    ck_status(GET(api_entry(bucket, "key-000001")), 404);
    PQfinish(holder);
}
END_TEST

// A write that begins before an entry expires and is decided after it, is decided by what is true then.
START_TEST(every_call_is_decided_by_the_databases_clock)
{
    database_stop_clock(&api.database, START);
    for (int i = 0; i < CALLS; i++) {
        const char *path = api_entry(api_bucket(), "k");
        put_value(&calls[i], path, "expires_at=2030-01-01T00:00:00.000001Z");
        expect_status(&calls[i], send(&calls[i], path, writes_elsewhere(&calls[i]) ? NULL : "If-Match: *"),
                      calls[i].live);
    }
    database_shift_clock(&api.database, 0);
}
END_TEST

// --- expiry -----------------------------------------------------------------------------------------------

static bool keeps_expiry(const struct call *call)
{
    return call->live != 404 && strcmp(call->suffix, "/expiry") != 0 && strcmp(call->suffix, "/take") != 0 &&
           strcmp(call->suffix, "/copy") != 0 && strcmp(call->suffix, "/move") != 0 &&
           strcmp(call->method, "DELETE") != 0;
}

// EXP-3
START_TEST(every_write_keeps_the_expiry_unless_told_otherwise)
{
    for (int i = 0; i < CALLS; i++) {
        if (!keeps_expiry(&calls[i]))
            continue;
        bool told = strcmp(calls[i].suffix, "/add") != 0; // add takes a term only for what it makes
        const char *path = api_entry(api_bucket(), "k");
        const char *expiry = answer_need(put_value(&calls[i], path, "ttl=60s"), "Holdfast-Expires-At");
        struct answer *kept = send(&calls[i], path, NULL);
        expect_status(&calls[i], kept, calls[i].live);
        ck_header(kept, "Holdfast-Expires-At", expiry);
        ck_header(GET(path), "Holdfast-Expires-At", expiry);
        put_value(&calls[i], path, "");
        struct answer *refused = send_to(api.client, &calls[i], path, "ttl=1s&persist=true", NULL, NULL);
        expect_status(&calls[i], refused, 400);
        ck_header(GET(path), "Holdfast-Expires-At", expiry);
        struct answer *persisted = send_to(api.client, &calls[i], path, "persist=true", NULL, NULL);
        if (!told) {
            ck_invalid(persisted, "persist");
            continue;
        }
        expect_status(&calls[i], persisted, calls[i].live);
        ck_header(GET(path), "Holdfast-Expires-At", NULL);
        put_value(&calls[i], path, "");
        struct answer *timed =
            send_to(api.client, &calls[i], path, "expires_at=2099-01-01T00:00:00Z", NULL, NULL);
        ck_header(timed, "Holdfast-Expires-At", "2099-01-01T00:00:00.000000Z");
        put_value(&calls[i], path, "");
        ck_invalid(send_to(api.client, &calls[i], path, "expires_at=2020-01-01T00:00:00Z", NULL, NULL),
                   "expires_at");
        ck_invalid(send_to(api.client, &calls[i], path, "ttl=0s", NULL, NULL), "ttl");
        ck_header(GET(path), "Holdfast-Expires-At", "2099-01-01T00:00:00.000000Z");
    }
}
END_TEST

START_TEST(every_call_that_makes_an_entry_gives_it_the_buckets_term)
{
    database_stop_clock(&api.database, START);
    for (int i = 0; i < CALLS; i++) {
        if (!calls[i].makes)
            continue;
        const char *bucket = api_bucket();
        ck_status(DECLARE(bucket, "{\"ttl\":\"1h\"}"), 201);
        struct answer *made = send(&calls[i], api_entry(bucket, "k"), NULL);
        expect_status(&calls[i], made, calls[i].absent);
        ck_header(made, "Holdfast-Expires-At", "2030-01-01T01:00:00.000000Z");
        bucket = api_bucket();
        ck_status(DECLARE(bucket, "{\"idle\":\"30s\"}"), 201);
        send(&calls[i], api_entry(bucket, "k"), NULL);
        database_stop_clock(&api.database, START + 20 * SECOND);
        ck_status(GET(api_entry(bucket, "k")), 200);
        database_stop_clock(&api.database, START);
    }
    database_shift_clock(&api.database, 0);
}
END_TEST

// --- place ------------------------------------------------------------------------------------------------

START_TEST(every_call_acts_in_its_branch_alone)
{
    for (int i = 0; i < CALLS; i++) {
        const char *bucket = api_bucket();
        const char *path = api_entry(bucket, "k");
        const char *inside = TEXT("%s?under=a&under=b", path);
        struct answer *put = put_value(&calls[i], path, "");
        struct answer *other = put_value(&calls[i], path, "under=b&under=a");
        put_value(&calls[i], path, "under=a&under=b");
        expect_status(&calls[i], send_to(api.client, &calls[i], path, "under=a&under=b", NULL, NULL),
                      calls[i].live);
        expect_untouched(&calls[i], bucket, path, put);
        ck_header(GET(TEXT("%s?under=b&under=a", path)), "ETag", tag_of(other));
        ck_reply(GET(inside), answer_->status == 404 || strcmp(tag_of(answer_), tag_of(put)) != 0);
    }
}
END_TEST

START_TEST(every_write_has_a_position_and_an_own_version)
{
    for (int i = 0; i < CALLS; i++) {
        const char *path = api_entry(api_bucket(), "k");
        struct answer *put = put_value(&calls[i], path, "");
        struct answer *done = send(&calls[i], path, NULL);
        expect_status(&calls[i], done, calls[i].live);
        int64_t before = strtoll(answer_need(put, "Holdfast-Position"), NULL, 10);
        int64_t after = strtoll(answer_need(done, "Holdfast-Position"), NULL, 10);
        ck_assert_int_gt(after, before);
        bool same = strcmp(calls[i].suffix, "/expiry") == 0 || strcmp(calls[i].suffix, "/take") == 0;
        if (same)
            ck_header(done, "ETag", tag_of(put));
        else if (calls[i].suffix[0] || strcmp(calls[i].method, "DELETE") != 0)
            ck_assert_str_ne(tag_of(done), tag_of(put));
    }
}
END_TEST

// --- refusals ---------------------------------------------------------------------------------------------

START_TEST(every_call_refuses_a_name_of_another_kind)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket();
    declare_other_kind(connection, bucket);
    for (int i = 0; i < CALLS; i++) {
        struct answer *answer = send(&calls[i], api_entry(bucket, "k"), NULL);
        expect_status(&calls[i], answer, 409);
        ck_problem(answer, 409, "kind_mismatch");
        ck_assert_pstr_eq(answer_text(answer, "actual_kind"), "counter");
    }
    ck_problem(GET(TEXT("/v1/buckets/%s/entries", bucket)), 409, "kind_mismatch");
    ck_problem(DELETE(TEXT("/v1/buckets/%s/entries", bucket)), 409, "kind_mismatch");
    ck_problem(POST(TEXT("/v1/buckets/%s/batch-get", bucket), BODY("{\"keys\":[\"k\"]}")), 409,
               "kind_mismatch");
    ck_problem(POST(TEXT("%s/copy", api_entry(api_bucket(), "k")), BODY(TO_COPY)), 404, "not_found");
    PQfinish(connection);
}
END_TEST

START_TEST(every_call_needs_a_declared_bucket_where_told_so)
{
    struct service *strict = service_start(&(struct service_options){
        .database = api.database.url, .flags = (const char *const[]){"--declared-buckets-only", NULL}});
    struct http_client *client = http_client_new(service_url(strict));
    const char *bucket = api_bucket();
    for (int i = 0; i < CALLS; i++) {
        bool compares = strcmp(calls[i].suffix, "/compare-and-set") == 0; // says that it is absent
        expect_status(&calls[i], send_to(client, &calls[i], api_entry(bucket, "k"), "", NULL, NULL),
                      compares ? 200 : 404);
    }
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 404);
    ck_status(DECLARE(bucket, "{}"), 201);
    for (int i = 0; i < CALLS; i++) {
        put_value(&calls[i], api_entry(bucket, "k"), "");
        expect_status(&calls[i], send_to(client, &calls[i], api_entry(bucket, "k"), "", NULL, NULL),
                      calls[i].live);
    }
    const char *elsewhere = api_bucket();
    put_value(&calls[0], api_entry(bucket, "k"), "");
    static const char *const transfers[] = {"copy", "move"};
    for (int i = 0; i < 2; i++)
        ck_problem(http(client, "POST", TEXT("%s/%s", api_entry(bucket, "k"), transfers[i]),
                        bytes_of(TEXT("{\"to_bucket\":\"%s\"}", elsewhere))),
                   404, "not_found");
    ck_status(GET(TEXT("/v1/buckets/%s", elsewhere)), 404);
    ck_status(GET(api_entry(bucket, "k")), 200);
    http_client_free(client);
    service_end(strict);
}
END_TEST

START_TEST(every_json_call_refuses_what_is_no_request)
{
    for (int i = 0; i < CALLS; i++) {
        bool json = calls[i].suffix[0] && calls[i].body && strcmp(calls[i].suffix, "/exchange") != 0;
        if (!json)
            continue;
        const char *bucket = api_bucket();
        const char *path = api_entry(bucket, "k");
        struct answer *put = put_value(&calls[i], path, "");
        const char *target = TEXT("%s%s", path, calls[i].suffix);
        static const char *const bad[] = {"{",           "[]",    "null", "5", "\"x\"",
                                          "{\"by\":1,}", "{} {}", "\xFF", " "};
        for (size_t j = 0; j < sizeof bad / sizeof bad[0]; j++)
            ck_invalid(http(api.client, calls[i].method, target, bytes_of(bad[j])), "body");
        struct bytes good = bytes_of(calls[i].body);
        const char *twice = TEXT("%.*s,%s", (int)good.size - 1, calls[i].body, calls[i].body + 1);
        struct answer *refused = http(api.client, calls[i].method, target, bytes_of(twice));
        ck_invalid(refused, "body");
        ck_assert_ptr_nonnull(strstr(answer_text(refused, "detail"), "a member occurs twice"));
        const char *more = TEXT("%.*s,\"nonsense\":1}", (int)good.size - 1, calls[i].body);
        ck_invalid(http(api.client, calls[i].method, target, bytes_of(more)), "nonsense");
        ck_problem(http(api.client, calls[i].method, target, good, "Content-Type: text/plain"), 415,
                   "unsupported_media");
        ck_problem(http(api.client, calls[i].method, target, good, "Content-Encoding: gzip"), 415,
                   "unsupported_media");
        expect_untouched(&calls[i], bucket, path, put);
        ck_status(
            http(api.client, calls[i].method, target, good, "Content-Type: application/json; charset=utf-8"),
            calls[i].live);
    }
}
END_TEST

START_TEST(every_call_refuses_parameters_that_it_has_not)
{
    for (int i = 0; i < CALLS; i++) {
        const char *bucket = api_bucket();
        const char *path = api_entry(bucket, "k");
        struct answer *put = put_value(&calls[i], path, "");
        static const char *const foreign[] = {"limit", "prefix", "values", "unknown"};
        for (size_t j = 0; j < 4; j++)
            ck_invalid(send_to(api.client, &calls[i], path, TEXT("%s=1", foreign[j]), NULL, NULL),
                       foreign[j]);
        if (!keeps_expiry(&calls[i]) || strcmp(calls[i].suffix, "/add") == 0)
            ck_invalid(send_to(api.client, &calls[i], path, "ttl=1h", NULL, NULL), "ttl");
        if (strcmp(calls[i].method, "PATCH") != 0)
            ck_invalid(send_to(api.client, &calls[i], path, "upsert=true", NULL, NULL), "upsert");
        expect_untouched(&calls[i], bucket, path, put);
        if (!calls[i].suffix[0])
            continue;
        struct answer *other = HEAD(TEXT("%s%s", path, calls[i].suffix));
        ck_status(other, 405);
        ck_reply(other, strstr(answer_need(other, "Allow"), calls[i].method) != NULL);
    }
}
END_TEST

Suite *every_call_suite(void)
{
    const TTest *const tests[] = {
        stale_precondition_of_every_call_changes_nothing,
        precondition_of_every_call_on_an_absent_entry,
        malformed_precondition_of_every_call_is_400,
        preconditions_of_lists_are_400,
        expired_entry_is_absent_to_every_call,
        cleared_entry_is_absent_to_every_call,
        every_call_is_decided_by_the_databases_clock,
        every_write_keeps_the_expiry_unless_told_otherwise,
        every_call_that_makes_an_entry_gives_it_the_buckets_term,
        every_call_acts_in_its_branch_alone,
        every_write_has_a_position_and_an_own_version,
        every_call_refuses_a_name_of_another_kind,
        every_call_needs_a_declared_bucket_where_told_so,
        every_json_call_refuses_what_is_no_request,
        every_call_refuses_parameters_that_it_has_not,
        NULL,
    };
    return api_suite("every_call", NULL, tests);
}
