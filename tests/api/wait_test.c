// Long polls: every change that a GET would see ends the wait, on whichever replica it is made; nothing else
// does, and a wait that is over tells what is true.
#include "wait_steps.h"

#include "entry_steps.h"
#include "support/clock.h"
#include "support/process.h"

enum { QUIET_MS = 60 };

static const char *new_entry(const char *value)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, bytes_of(value), "Content-Type: application/json"), 201);
    return path;
}

static struct raw *wait_for_change(const char *path)
{
    struct raw *raw = wait_begin(api.twin, path, wait_headers(GET(path), 30));
    ck_assert(raw_silent(raw, QUIET_MS));
    return raw;
}

// --- what ends it
// -----------------------------------------------------------------------------------------------------

struct change {
    const char *method, *below, *body, *header;
    int status;
    const char *value; // NULL: gone
};

START_TEST(every_change_ends_a_wait)
{
    static const struct change changes[] = {
        {"PUT", "", "{\"n\":2}", NULL, 204, "{\"n\":2}"},
        {"PATCH", "", "{\"n\":3}", MERGE_PATCH, 204, "{\"n\":3}"},
        {"POST", "/exchange", "4", NULL, 200, "4"},
        {"POST", "/compare-and-set", "{\"expected\":{\"n\":1},\"value\":5}", NULL, 200, "5"},
        {"POST", "/upsert", "{\"insert\":{},\"update\":{\"set\":{\"n\":6}}}", NULL, 200, "{\"n\":6}"},
        {"DELETE", "", NULL, NULL, 204, NULL},
        {"POST", "/take", NULL, NULL, 200, NULL},
        {"POST", "/move", "{\"to_key\":\"elsewhere\"}", NULL, 200, NULL},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const struct change *change = &changes[i];
        const char *path = new_entry("{\"n\":1}");
        struct raw *raw = wait_for_change(path);
        struct answer *made = http(api.client, change->method, TEXT("%s%s", path, change->below),
                                   change->body ? bytes_of(change->body) : NO_BODY,
                                   change->header ? change->header : "X-Nothing: 1");
        ck_status(made, change->status);
        struct answer *answer = wait_end(raw);
        ck_header(answer, "Preference-Applied", "wait=30");
        if (!change->value) {
            ck_problem(answer, 404, "not_found");
            continue;
        }
        ck_status(answer, 200);
        ck_body(answer, bytes_of(change->value));
        ck_header(answer, "ETag", answer_header(GET(path), "ETag"));
        raw_close(raw);
    }
}
END_TEST

START_TEST(numbers_copies_clears_and_drops_end_a_wait)
{
    const char *path = new_entry("1");
    struct raw *raw = wait_for_change(path);
    ck_status(POST(TEXT("%s/add", path), BODY("{\"by\":1}")), 200);
    ck_body(wait_end(raw), BODY("2"));

    raw = wait_for_change(path);
    const char *bucket = api_bucket();
    ck_status(PUT(api_entry(bucket, "k"), BODY("copied")), 201);
    const char *to = TEXT("%.*s", (int)(strstr(path, "/entries") - path - 12), path + 12);
    ck_status(POST(TEXT("%s/copy", api_entry(bucket, "k")),
                   bytes_of(TEXT("{\"to_bucket\":\"%s\",\"to_key\":\"k\"}", to))),
              200);
    ck_body(wait_end(raw), BODY("copied"));

    raw = wait_for_change(path);
    ck_status(DELETE(TEXT("/v1/buckets/%s/entries", to)), 200);
    ck_problem(wait_end(raw), 404, "not_found");

    ck_status(PUT(path, BODY("v")), 201);
    raw = wait_for_change(path);
    ck_status(DELETE(TEXT("/v1/buckets/%s", to)), 204);
    ck_problem(wait_end(raw), 404, "not_found");
}
END_TEST

// More than a clear removes row by row: it hides them, and their waits end all the same.
START_TEST(large_clear_ends_a_wait)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = bucket_of_type("any");
    insert_entries(connection, bucket, NULL, 10001);
    struct raw *raw = wait_for_change(api_entry(bucket, "key-000001"));
    ck_status(DELETE(TEXT("/v1/buckets/%s/entries", bucket)), 200);
    ck_problem(wait_end(raw), 404, "not_found");
    PQfinish(connection);
}
END_TEST

START_TEST(entry_that_appears_ends_a_wait)
{
    const char *bucket = api_bucket(); // not even declared
    const char *path = api_entry(bucket, "k%00%FF%2F");
    const char *branch = TEXT("%s?under=a&under=b", path);
    struct raw *plain = wait_begin(api.twin, path, "Prefer: wait=30\r\n");
    struct raw *below = wait_begin(api.service, branch, "Prefer: respond-async, wait=\"30\"\r\n");
    ck_assert(raw_silent(plain, QUIET_MS));
    ck_status(PUT(branch, BODY("below")), 201);
    ck_body(wait_end(below), BODY("below"));
    ck_assert(raw_silent(plain, QUIET_MS));
    ck_status(PUT(path, BODY("plain")), 201);
    struct answer *answer = wait_end(plain);
    ck_status(answer, 200);
    ck_body(answer, BODY("plain"));
}
END_TEST

START_TEST(what_changed_already_ends_a_wait_at_once)
{
    const char *path = new_entry("1");
    struct answer *old = GET(path);
    ck_status(PUT(path, BODY("2")), 204);
    ck_body(wait_end(wait_begin(api.twin, path, wait_headers(old, 300))), BODY("2"));
    ck_body(wait_end(wait_begin(api.twin, path, "Prefer: wait=300\r\n")), BODY("2"));
    ck_status(DELETE(path), 204);
    ck_problem(wait_end(wait_begin(api.twin, path, wait_headers(old, 300))), 404, "not_found");
    ck_problem(wait_end(wait_begin(api.twin, path, "If-None-Match: *\r\nPrefer: wait=300\r\n")), 404,
               "not_found");
}
END_TEST

START_TEST(expiry_ends_a_wait)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(TEXT("%s?ttl=700ms", path), BODY("v")), 201);
    struct raw *raw = wait_for_change(path);
    ck_problem(wait_end(raw), 404, "not_found");
    // One that is made shorter meanwhile.
    ck_status(PUT(TEXT("%s?ttl=1d", path), BODY("v")), 201);
    raw = wait_for_change(path);
    ck_status(PUT(TEXT("%s/expiry", path), BODY("{\"ttl\":\"200ms\"}")), 204);
    ck_problem(wait_end(raw), 404, "not_found");
    // And one that is made longer goes on being waited for.
    ck_status(PUT(TEXT("%s?ttl=500ms", path), BODY("v")), 201);
    raw = wait_for_change(path);
    ck_status(PUT(TEXT("%s/expiry", path), BODY("{\"ttl\":\"1d\"}")), 204);
    ck_assert(raw_silent(raw, 700));
    ck_status(PUT(path, BODY("w")), 204);
    ck_body(wait_end(raw), BODY("w"));
}
END_TEST

// --- what does not
// -----------------------------------------------------------------------------------------------------

START_TEST(time_that_is_up_tells_what_is_true)
{
    const char *path = new_entry("1");
    struct answer *known = GET(path);
    int64_t start = clock_ms();
    struct raw *unchanged = wait_begin(api.service, path, wait_headers(known, 1));
    struct raw *absent = wait_begin(api.service, api_entry(api_bucket(), "k"), "Prefer: wait=1\r\n");
    struct raw *any = wait_begin(api.service, path, "If-None-Match: *\r\nPrefer: wait=1\r\n");
    struct answer *answer = wait_end(unchanged);
    ck_status(answer, 304);
    ck_header(answer, "ETag", answer_header(known, "ETag"));
    ck_header(answer, "Preference-Applied", "wait=1");
    ck_problem(wait_end(absent), 404, "not_found");
    ck_status(wait_end(any), 304);
    ck_assert_int_ge(clock_ms() - start, 990);
    ck_assert_int_lt(clock_ms() - start, 5000);
}
END_TEST

START_TEST(other_changes_do_not_end_a_wait)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    ck_status(PUT(path, BODY("v")), 201);
    struct raw *raw = wait_for_change(path);
    struct raw *absent = wait_begin(api.twin, TEXT("%s-none", path), "Prefer: wait=30\r\n");
    ck_status(PUT(TEXT("%s?under=x", path), BODY("v")), 201);
    ck_status(PUT(api_entry(bucket, "other"), BODY("v")), 201);
    ck_problem(PUT(path, BODY("w"), "If-None-Match: *"), 412, "version_conflict");
    ck_status(DELETE(TEXT("%s/entries?prefix=nothing", TEXT("/v1/buckets/%s", bucket))), 200);
    ck_status(DELETE(TEXT("%s-none", path)), 404);
    ck_assert(raw_silent(raw, QUIET_MS));
    ck_assert(raw_silent(absent, 0));
    ck_status(PUT(path, BODY("w")), 204);
    ck_body(wait_end(raw), BODY("w"));
    raw_close(absent);
}
END_TEST

// --- how it is asked for
// ------------------------------------------------------------------------------------------------

START_TEST(preference_is_clamped_or_ignored)
{
    const char *path = new_entry("1");
    ck_header(GET(path, "Prefer: wait=1000000"), "Preference-Applied", "wait=300");
    ck_header(GET(path, "prefer: Wait = 5 ; x=y"), "Preference-Applied", "wait=5");
    ck_header(GET(path, "Prefer: wait=005"), "Preference-Applied", "wait=5");
    ck_header(GET(path, "Prefer: wait=99999999999999999999"), "Preference-Applied", "wait=300");
    const char *absent = api_entry(api_bucket(), "k");
    static const char *const ignored[] = {
        "Prefer: wait",    "Prefer: wait=",    "Prefer: wait=-1", "Prefer: wait=1.5",   "Prefer: wait=soon",
        "Prefer: wait=+5", "Prefer: wait=0x5", "Prefer: waits=5", "Prefer: x=\"wait=5", "Prefer: wait=0",
    };
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        int64_t start = clock_ms();
        struct answer *answer = GET(absent, ignored[i]);
        ck_problem(answer, 404, "not_found");
        ck_header(answer, "Preference-Applied", NULL);
        ck_assert_int_lt(clock_ms() - start, 3000);
    }
}
END_TEST

START_TEST(refusals_do_not_wait)
{
    PGconn *connection = database_connect(&api.database);
    const char *path = new_entry("1");
    const char *other = api_bucket();
    declare_other_kind(connection, other);
    ck_problem(GET(api_entry(other, "k"), "Prefer: wait=30"), 409, "kind_mismatch");
    ck_problem(GET(path, "Prefer: wait=30", "If-Match: \"1\""), 412, "version_conflict");
    ck_invalid(GET(TEXT("%s?until=1", path), "Prefer: wait=30"), "until");
    ck_invalid(GET(path, "Prefer: wait=30", "If-None-Match: v"), "If-None-Match");
    PQfinish(connection);
}
END_TEST

START_TEST(head_waits_too)
{
    const char *path = new_entry("1");
    struct raw *raw = raw_connect(service_port(api.twin));
    raw_text(raw, "HEAD %s HTTP/1.1\r\nHost: h\r\n%s\r\n", path, wait_headers(GET(path), 30));
    ck_assert(raw_silent(raw, QUIET_MS));
    ck_status(PUT(path, BODY("{\"longer\":true}"), "Content-Type: application/json"), 204);
    struct answer *answer = raw_read(raw, true, WAIT_PATIENCE);
    ck_assert_ptr_nonnull(answer);
    ck_status(answer, 200);
    ck_header(answer, "Content-Length", "15");
    raw_close(raw);
}
END_TEST

// Requests that come behind one that waits are answered after it, and cost nothing meanwhile.
START_TEST(requests_behind_a_wait_are_answered_after_it)
{
    const char *path = new_entry("1");
    struct raw *raw = raw_connect(service_port(api.twin));
    raw_text(raw, "GET %s HTTP/1.1\r\nHost: h\r\n%s\r\nGET /livez HTTP/1.1\r\nHost: h\r\n\r\n", path,
             wait_headers(GET(path), 30));
    ck_assert(raw_silent(raw, QUIET_MS));
    raw_text(raw, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    long before = process_cpu_ms(service_pid(api.twin));
    ck_assert(raw_silent(raw, 1000));
    ck_assert_int_lt(process_cpu_ms(service_pid(api.twin)) - before, 400);
    ck_status(PUT(path, BODY("2")), 204);
    ck_body(wait_end(raw), BODY("2"));
    ck_body(wait_end(raw), BODY("{\"status\":\"ok\"}\n"));
    ck_body(wait_end(raw), BODY("2"));
    // The connection is as good as any.
    raw_text(raw, "GET %s HTTP/1.1\r\nHost: h\r\n%s\r\n", path, wait_headers(GET(path), 30));
    ck_assert(raw_silent(raw, QUIET_MS));
    ck_status(PUT(path, BODY("3")), 204);
    ck_body(wait_end(raw), BODY("3"));
    raw_close(raw);
}
END_TEST

// --- who waits together
// ------------------------------------------------------------------------------------------------

// They know different versions, or none: each gets what is right for it from one look.
START_TEST(waits_for_one_key_each_get_their_own)
{
    const char *path = new_entry("1");
    struct answer *first = GET(path);
    ck_status(PUT(path, BODY("2")), 204);
    struct answer *second = GET(path);
    struct raw *knows_second = wait_begin(api.twin, path, wait_headers(second, 30));
    struct raw *knows_both = wait_begin(
        api.twin, path, TEXT("If-None-Match: %s, %s\r\nPrefer: wait=30\r\n", tag_of(first), tag_of(second)));
    ck_assert(raw_silent(knows_second, QUIET_MS));
    ck_body(wait_end(wait_begin(api.twin, path, wait_headers(first, 30))), BODY("2"));
    ck_body(wait_end(wait_begin(api.twin, path, "Prefer: wait=30\r\n")), BODY("2"));
    ck_assert(raw_silent(knows_second, 0));
    ck_assert(raw_silent(knows_both, 0));
    ck_status(DELETE(path), 204);
    struct raw *appears = wait_begin(api.twin, path, "Prefer: wait=30\r\n");
    ck_problem(wait_end(knows_second), 404, "not_found");
    ck_problem(wait_end(knows_both), 404, "not_found");
    ck_assert(raw_silent(appears, QUIET_MS));
    ck_status(PUT(path, BODY("3")), 201);
    ck_body(wait_end(appears), BODY("3"));
}
END_TEST

START_TEST(large_values_end_a_wait)
{
    size_t size = 1 << 20;
    char *bytes = calloc(1, size);
    const char *path = new_entry("1");
    struct raw *waits[5];
    for (int i = 0; i < 5; i++)
        waits[i] = wait_for_change(path);
    ck_status(PUT(path, bytes_make(bytes, size)), 204);
    for (int i = 0; i < 5; i++)
        ck_body(wait_end(waits[i]), bytes_make(bytes, size));
    // Who knows a large value waits like others.
    waits[0] = wait_for_change(path);
    waits[1] = wait_begin(api.twin, path, "Prefer: wait=30\r\n");
    ck_body(wait_end(waits[1]), bytes_make(bytes, size));
    ck_assert(raw_silent(waits[0], QUIET_MS));
    ck_status(PUT(path, BODY("2")), 204);
    ck_body(wait_end(waits[0]), BODY("2"));
    free(bytes);
}
END_TEST

// A GET that comes renews, waiting does not keep alive, and the answer after a wait renews again.
START_TEST(waits_and_the_idle_term)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    ck_status(DECLARE(bucket, "{\"idle\":\"1500ms\"}"), 201);
    ck_status(PUT(path, BODY("v")), 201);
    struct raw *raw = wait_for_change(path);
    ck_problem(wait_end(raw), 404, "not_found");
    ck_status(PUT(path, BODY("v")), 201);
    clock_pause(700);
    raw = wait_for_change(path);
    ck_status(PUT(path, BODY("w")), 204);
    ck_status(wait_end(raw), 200);
    clock_pause(1000);
    ck_status(GET(path), 200);
}
END_TEST

// Past a thousand buckets a worker looks by the clock: slower, never less sure.
START_TEST(more_buckets_than_locks)
{
    enum { BUCKETS = 1050 };
    static struct raw *waits[BUCKETS];
    static const char *paths[BUCKETS];
    PGconn *connection = database_connect(&api.database);
    const char *name = api_bucket();
    for (int i = 0; i < BUCKETS; i++) {
        paths[i] = api_entry(TEXT("%s-%d", name, i), "k");
        waits[i] = wait_begin(api.twin, paths[i], "Prefer: wait=100\r\n");
    }
    for (int i = 0; i < BUCKETS; i++)
        ck_status(PUT(paths[i], BODY("v")), 201);
    for (int i = 0; i < BUCKETS; i++) {
        ck_status(wait_end(waits[i]), 200);
        raw_close(waits[i]);
    }
    // The locks are given up when nobody has waited for a while.
    wait_until_covered(connection, 0);
    PQfinish(connection);
}
END_TEST

Suite *wait_suite(void)
{
    const TTest *const tests[] = {
        every_change_ends_a_wait,
        numbers_copies_clears_and_drops_end_a_wait,
        large_clear_ends_a_wait,
        entry_that_appears_ends_a_wait,
        what_changed_already_ends_a_wait_at_once,
        expiry_ends_a_wait,
        time_that_is_up_tells_what_is_true,
        other_changes_do_not_end_a_wait,
        preference_is_clamped_or_ignored,
        refusals_do_not_wait,
        head_waits_too,
        requests_behind_a_wait_are_answered_after_it,
        waits_for_one_key_each_get_their_own,
        large_values_end_a_wait,
        waits_and_the_idle_term,
        more_buckets_than_locks,
        NULL,
    };
    return api_suite_of_two("wait", tests);
}
