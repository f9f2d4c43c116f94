// Once: one run of all who ask, its answer kept and given back, and runs that end in other ways.
#include "once_steps.h"

#include "support/clock.h"
#include "support/parallel.h"
#include "support/random.h"

#include <stdatomic.h>

// --- asking for a run
// -------------------------------------------------------------------------------------------------

START_TEST(first_caller_runs_and_others_are_told)
{
    const char *path = once_path(api_bucket(), "k");
    database_stop_clock(&api.database, START);
    struct answer *run = BEGIN(path);
    ck_status(run, 201);
    ck_assert_uint_eq(json_object_size(run->json), 2);
    ck_assert_pstr_eq(answer_text(run, "run_expires_at"), "2030-01-01T00:01:00.000000Z");
    ck_header(run, "Holdfast-Position", run_token(run));
    ck_header(run, "Holdfast-Once", NULL);
    database_stop_clock(&api.database, START + 59 * SECOND);
    for (int i = 0; i < 2; i++) {
        struct answer *told = BEGIN(path);
        expect_running(told);
        ck_assert_pstr_eq(answer_text(told, "run_expires_at"), answer_text(run, "run_expires_at"));
        ck_header(told, "Preference-Applied", NULL);
    }
    ck_problem(GET(path), 404, "not_found");
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(answer_is_given_back_as_stored)
{
    static const char *const types[] = {"text/plain; charset=x", "application/json", "image/png", NULL};
    const char *name = api_bucket();
    for (int i = 0; i < 4; i++) {
        const char *path = once_path(name, TEXT("k%d", i));
        struct bytes body = BODY("{\"a\":1.0,\0\"\xff\r\n");
        const char *token = begun(path);
        struct answer *kept = types[i] ? ANSWER(path, token, body, TEXT("Content-Type: %s", types[i]))
                                       : ANSWER(path, token, body, "Content-Type;");
        ck_status(kept, 204);
        ck_assert_int_gt(strtoll(answer_need(kept, "Holdfast-Position"), NULL, 10), strtoll(token, NULL, 10));
        struct answer *answers[] = {BEGIN(path), GET(path), BEGIN(path)};
        for (int j = 0; j < 3; j++) {
            ck_status(answers[j], 200);
            ck_body(answers[j], body);
            ck_header(answers[j], "Content-Type", types[i] ? types[i] : "application/octet-stream");
            ck_header(answers[j], "Holdfast-Once", j == 1 ? NULL : "kept");
            ck_header(answers[j], "Holdfast-Meta-A", NULL);
            ck_header(answers[j], "Holdfast-Position", NULL);
            ck_assert_ptr_nonnull(answer_header(answers[j], "Holdfast-Expires-At"));
        }
        struct answer *head = HEAD(path);
        ck_status(head, 200);
        ck_header(head, "Content-Length", TEXT("%zu", body.size));
        ck_header(head, "Content-Type", answer_header(answers[1], "Content-Type"));
    }
}
END_TEST

START_TEST(empty_answer_is_an_answer)
{
    const char *path = once_path(api_bucket(), "k");
    ck_status(ANSWER(path, begun(path), BODY("")), 204);
    expect_kept(BEGIN(path), BODY(""));
    ck_status(GET(path), 200);
    ck_header(GET(path), "Content-Length", "0");
    ck_header(HEAD(path), "Content-Length", "0");
    const char *other = once_path(api_bucket(), "k");
    ck_status(ANSWER(other, begun(other), NO_BODY), 204);
    expect_kept(BEGIN(other), BODY(""));
}
END_TEST

// Where an answer takes another way: with its call, with other reads, alone.
START_TEST(answers_of_every_size)
{
    enum { MOST = 8 << 20 };
    static const size_t sizes[] = {8191, 8192, 8193, 65535, 65536, 65537, 1 << 20, MOST};
    static uint8_t bytes[MOST + 8];
    struct random random = random_seeded(1, 0);
    random_bytes(&random, bytes, sizeof bytes);
    const char *name = api_bucket();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *path = once_path(name, TEXT("%zu", sizes[i]));
        struct bytes body = bytes_make(bytes + i, sizes[i]);
        ck_status(ANSWER(path, begun(path), body, "Content-Type: image/x"), 204);
        expect_kept(BEGIN(path), body);
        ck_body(GET(path), body);
        ck_header(BEGIN(path), "Content-Type", "image/x");
        ck_header(HEAD(path), "Content-Length", TEXT("%zu", sizes[i]));
    }
    const char *path = once_path(name, "over");
    const char *token = begun(path);
    ck_over_limit(ANSWER(path, token, bytes_make(bytes, MOST + 1)), 413, "too_large", MOST);
    ck_status(ANSWER(path, token, BODY("smaller")), 204);
}
END_TEST

START_TEST(answer_takes_no_coding_and_no_condition)
{
    const char *path = once_path(api_bucket(), "k");
    const char *token = begun(path);
    ck_problem(ANSWER(path, token, BODY("v"), "Content-Encoding: gzip"), 415, "unsupported_media");
    ck_invalid(ANSWER(path, token, BODY("v"), "If-Match: *"), "If-Match");
    ck_problem(GET(path), 404, "not_found");
    ck_status(ANSWER(path, token, BODY("v"), "Content-Encoding: identity"), 204);
}
END_TEST

// --- times
// ------------------------------------------------------------------------------------------------------------

// ONCE-1
START_TEST(answer_is_kept_from_when_it_came)
{
    const char *name = api_bucket(), *path = once_path(name, "k");
    ck_status(PUT(TEXT("/v1/once/%s", name), BODY("{\"ttl\":\"1d\",\"run_ttl\":\"1h\"}")), 201);
    database_stop_clock(&api.database, START);
    const char *token = begun(path);
    int64_t kept = START + 3599 * SECOND;
    database_stop_clock(&api.database, kept);
    ck_status(ANSWER(path, token, BODY("v")), 204);
    ck_header(GET(path), "Holdfast-Expires-At", "2030-01-02T00:59:59.000000Z");
    database_stop_clock(&api.database, kept + 86400 * SECOND - 1);
    expect_kept(BEGIN(path), BODY("v"));
    ck_status(GET(path), 200);
    database_stop_clock(&api.database, kept + 86400 * SECOND);
    ck_problem(GET(path), 404, "not_found");
    struct answer *next = BEGIN(path);
    ck_assert_int_gt(strtoll(run_token(next), NULL, 10), strtoll(token, NULL, 10));
    ck_status(ANSWER(path, run_token(next), BODY("w")), 204);
    expect_kept(BEGIN(path), BODY("w"));
    database_shift_clock(&api.database, 0);
}
END_TEST

// ONCE-1
START_TEST(runner_that_is_late_has_lost)
{
    const char *path = once_path(api_bucket(), "k");
    database_stop_clock(&api.database, START);
    const char *token = begun(path);
    database_stop_clock(&api.database, START + 60 * SECOND);
    // Nobody took its place yet, and all the same:
    ck_problem(ANSWER(path, token, BODY("late")), 409, "lease_lost");
    ck_problem(RENEW_RUN(path, token, BODY("{\"ttl\":\"1m\"}")), 409, "lease_lost");
    ck_problem(FAIL(path, token), 409, "lease_lost");
    ck_problem(GET(path), 404, "not_found");
    const char *next = begun(path);
    ck_assert_int_gt(strtoll(next, NULL, 10), strtoll(token, NULL, 10));
    ck_problem(ANSWER(path, token, BODY("late")), 409, "lease_lost");
    ck_problem(FAIL(path, token), 409, "lease_lost");
    expect_running(BEGIN(path));
    ck_status(ANSWER(path, next, BODY("right")), 204);
    ck_problem(ANSWER(path, token, BODY("late")), 409, "lease_lost");
    expect_kept(BEGIN(path), BODY("right"));
    database_shift_clock(&api.database, 0);
}
END_TEST

struct crowd {
    const char *path;
    atomic_int granted, told;
    long long least;
};

static void ask_once(size_t index, void *user)
{
    struct crowd *crowd = user;
    struct http_client *client = http_client_new(replica_url(index));
    struct answer *answer = begin_on(client, crowd->path);
    if (answer->status == 201 && strtoll(answer_text(answer, "token"), NULL, 10) > crowd->least)
        atomic_fetch_add(&crowd->granted, 1);
    else if (answer->status == 202)
        atomic_fetch_add(&crowd->told, 1);
    http_client_free(client);
}

// ONCE-1
START_TEST(runner_that_died_is_replaced_once)
{
    struct crowd crowd = {.path = once_path(api_bucket(), "k")};
    database_shift_clock(&api.database, 0);
    struct answer *run = BEGIN(crowd.path);
    crowd.least = strtoll(run_token(run), NULL, 10);
    parallel_run(50, ask_once, &crowd);
    ck_assert_int_eq(crowd.granted, 0);
    ck_assert_int_eq(crowd.told, 50);
    database_shift_clock(&api.database, 60 * SECOND);
    crowd.told = 0;
    parallel_run(50, ask_once, &crowd);
    ck_assert_int_eq(crowd.granted, 1);
    ck_assert_int_eq(crowd.told, 49);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(renewal_begins_a_new_term)
{
    const char *path = once_path(api_bucket(), "k");
    database_stop_clock(&api.database, START);
    const char *token = begun(path);
    database_stop_clock(&api.database, START + 59 * SECOND);
    struct answer *renewed = RENEW_RUN(path, token, BODY("{\"ttl\":\"1h\"}"));
    ck_status(renewed, 200);
    ck_assert_pstr_eq(answer_text(renewed, "token"), token);
    ck_assert_pstr_eq(answer_text(renewed, "run_expires_at"), "2030-01-01T01:00:59.000000Z");
    ck_assert_uint_eq(json_object_size(renewed->json), 2);
    ck_assert_ptr_nonnull(answer_header(renewed, "Holdfast-Position"));
    ck_assert_pstr_eq(answer_text(BEGIN(path), "run_expires_at"), "2030-01-01T01:00:59.000000Z");
    // Without a ttl it is the name's; a term may become shorter.
    ck_assert_pstr_eq(answer_text(RENEW_RUN(path, token, NO_BODY), "run_expires_at"),
                      "2030-01-01T00:01:59.000000Z");
    ck_assert_pstr_eq(answer_text(RENEW_RUN(path, token, BODY("{}")), "run_expires_at"),
                      "2030-01-01T00:01:59.000000Z");
    ck_status(RENEW_RUN(path, token, BODY("{\"ttl\":\"100ms\"}")), 200);
    database_stop_clock(&api.database, START + 59 * SECOND + 100 * 1000 - 1);
    expect_running(BEGIN(path));
    database_stop_clock(&api.database, START + 59 * SECOND + 100 * 1000);
    ck_status(BEGIN(path), 201);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(terms_are_checked)
{
    static const char *const bad[] = {"\"0s\"", "\"-1s\"",  "\"10\"", "\"1.5h\"", "\"3651d\"", "0",
                                      "10",     "\"99ms\"", "\"\"",   "true",     "[]",        "\" 1s\""};
    const char *name = TEXT("/v1/once/%s", api_bucket());
    const char *path = TEXT("%s/k", name);
    const char *token = begun(path);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_invalid(RENEW_RUN(path, token, bytes_of(TEXT("{\"ttl\":%s}", bad[i]))), "ttl");
        ck_invalid(PUT(name, bytes_of(TEXT("{\"run_ttl\":%s}", bad[i]))), "run_ttl");
        if (strcmp(bad[i], "\"99ms\"") != 0)
            ck_invalid(PUT(name, bytes_of(TEXT("{\"ttl\":%s}", bad[i]))), "ttl");
    }
    ck_invalid(RENEW_RUN(path, token, BODY("{\"ttl\":\"1m\",\"holder\":\"A\"}")), "holder");
    ck_invalid(RENEW_RUN(path, token, BODY("[]")), "body");
    ck_invalid(PUT(name, BODY("{\"idle\":\"1m\"}")), "idle");
    ck_invalid(PUT(name, BODY("{")), "body");
    ck_status(ANSWER(path, token, BODY("v")), 204);
}
END_TEST

// --- the end of a run
// -------------------------------------------------------------------------------------------------

START_TEST(failed_run_keeps_nothing)
{
    const char *path = once_path(api_bucket(), "k");
    const char *token = begun(path);
    for (int i = 0; i < 3; i++) {
        struct answer *failed = FAIL(path, token);
        ck_status(failed, 204);
        ck_assert_ptr_nonnull(answer_header(failed, "Holdfast-Position"));
        ck_problem(GET(path), 404, "not_found");
        ck_problem(FAIL(path, token), 409, "lease_lost");
        const char *next = begun(path);
        ck_assert_int_gt(strtoll(next, NULL, 10), strtoll(token, NULL, 10));
        token = next;
    }
    ck_status(ANSWER(path, token, BODY("v")), 204);
    ck_problem(FAIL(path, token), 409, "lease_lost");
    ck_problem(ANSWER(path, token, BODY("again")), 409, "lease_lost");
    ck_problem(RENEW_RUN(path, token, NO_BODY), 409, "lease_lost");
    expect_kept(BEGIN(path), BODY("v"));
}
END_TEST

START_TEST(token_is_that_of_this_run)
{
    static const char *const bad[] = {"", "x", "-1", "0", "01", "%2B1", "1.0", "9223372036854775808"};
    const char *name = api_bucket(), *path = once_path(name, "k"), *other = once_path(name, "other");
    const char *token = begun(path), *others = begun(other);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_invalid(ANSWER(path, bad[i], BODY("v")), "token");
        ck_invalid(RENEW_RUN(path, bad[i], NO_BODY), "token");
        ck_invalid(FAIL(path, bad[i]), "token");
    }
    ck_invalid(ANSWER(path, NULL, BODY("v")), "token");
    ck_invalid(RENEW_RUN(path, NULL, NO_BODY), "token");
    ck_invalid(FAIL(path, NULL), "token");
    const char *wrong[] = {others, "1", "9223372036854775807"};
    for (int i = 0; i < 3; i++) {
        ck_problem(ANSWER(path, wrong[i], BODY("v")), 409, "lease_lost");
        ck_problem(RENEW_RUN(path, wrong[i], NO_BODY), 409, "lease_lost");
        ck_problem(FAIL(path, wrong[i]), 409, "lease_lost");
    }
    ck_problem(FAIL(once_path(api_bucket(), "k"), token), 409, "lease_lost");
    ck_status(ANSWER(path, token, BODY("v")), 204);
    ck_status(FAIL(other, others), 204);
}
END_TEST

START_TEST(forgetting_leaves_a_run_alone)
{
    const char *path = once_path(api_bucket(), "k");
    const char *token = begun(path);
    struct answer *forgotten = DELETE(path);
    ck_status(forgotten, 204);
    ck_assert_ptr_nonnull(answer_header(forgotten, "Holdfast-Position"));
    expect_running(BEGIN(path));
    ck_status(ANSWER(path, token, BODY("v")), 204);
    expect_kept(BEGIN(path), BODY("v"));
    ck_status(DELETE(path), 204);
    ck_problem(GET(path), 404, "not_found");
    ck_status(DELETE(path), 204);
    ck_status(BEGIN(path), 201);
    ck_status(DELETE(once_path(api_bucket(), "k")), 204);
}
END_TEST

// --- names
// ------------------------------------------------------------------------------------------------------------

START_TEST(name_is_declared_and_changed)
{
    const char *name = api_bucket(), *target = TEXT("/v1/once/%s", name);
    ck_problem(GET(target), 404, "not_found");
    ck_problem(DELETE(target), 404, "not_found");
    ck_problem(GET(once_path(name, "k")), 404, "not_found");
    database_stop_clock(&api.database, START);
    struct answer *made = PUT(target, BODY("{\"ttl\":\"90m\",\"run_ttl\":\"100ms\"}"));
    ck_status(made, 201);
    ck_assert_ptr_nonnull(answer_header(made, "Holdfast-Position"));
    const char *whole = TEXT("{\"name\":\"%s\",\"kind\":\"once\",\"ttl\":\"90m\",\"run_ttl\":\"100ms\","
                             "\"created_at\":\"2030-01-01T00:00:00.000000Z\"}\n",
                             name);
    ck_body(made, bytes_of(whole));
    ck_body(GET(target), bytes_of(whole));
    ck_assert_ptr_nonnull(strstr(
        (const char *)GET(TEXT("/v1/buckets?prefix=%s", name))->body.data,
        TEXT("{\"name\":\"%s\",\"kind\":\"once\",\"configuration\":{\"ttl\":\"90m\",\"run_ttl\":\"100ms\"}",
             name)));
    static const char *const defaults[] = {"{}", "{\"ttl\":null,\"run_ttl\":null}", ""};
    for (int i = 0; i < 3; i++) {
        ck_status(PUT(target, BODY("{\"ttl\":\"1s\"}")), 200);
        struct answer *changed = PUT(target, bytes_of(defaults[i]));
        ck_status(changed, 200);
        ck_assert_pstr_eq(answer_text(changed, "ttl"), "1d");
        ck_assert_pstr_eq(answer_text(changed, "run_ttl"), "1m");
    }
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(change_holds_for_what_comes_after)
{
    const char *name = api_bucket(), *target = TEXT("/v1/once/%s", name);
    const char *running = once_path(name, "running"), *kept = once_path(name, "kept");
    database_stop_clock(&api.database, START);
    const char *token = begun(running);
    ck_status(ANSWER(kept, begun(kept), BODY("v")), 204);
    ck_status(PUT(target, BODY("{\"ttl\":\"1h\",\"run_ttl\":\"2h\"}")), 200);
    ck_assert_pstr_eq(answer_text(BEGIN(running), "run_expires_at"), "2030-01-01T00:01:00.000000Z");
    ck_header(GET(kept), "Holdfast-Expires-At", "2030-01-02T00:00:00.000000Z");
    ck_status(ANSWER(running, token, BODY("v")), 204);
    ck_header(GET(running), "Holdfast-Expires-At", "2030-01-01T01:00:00.000000Z");
    ck_assert_pstr_eq(answer_text(BEGIN(once_path(name, "new")), "run_expires_at"),
                      "2030-01-01T02:00:00.000000Z");
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(one_name_has_one_kind)
{
    const char *bucket = bucket_of_type("any"), *name = api_bucket();
    const char *target = TEXT("/v1/once/%s", bucket), *path = TEXT("%s/k", target);
    struct answer *refused[] = {
        PUT(target, BODY("{}")),
        GET(target),
        DELETE(target),
        DELETE(TEXT("%s?under=x", target)),
        BEGIN(path),
        GET(path),
        DELETE(path),
        ANSWER(path, "1", BODY("v")),
        FAIL(path, "1"),
        RENEW_RUN(path, "1", NO_BODY),
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ck_problem(refused[i], 409, "kind_mismatch");
        ck_assert_pstr_eq(answer_text(refused[i], "actual_kind"), "bucket");
    }
    ck_status(BEGIN(once_path(name, "k")), 201);
    struct answer *others[] = {
        PUT(api_entry(name, "k"), BODY("v")),
        GET(api_entry(name, "k")),
        DECLARE(name, "{}"),
        GET(TEXT("/v1/buckets/%s", name)),
        DELETE(TEXT("/v1/buckets/%s", name)),
        POST(TEXT("/v1/buckets/%s/leases/k", name), BODY("{\"holder\":\"A\",\"ttl\":\"1m\"}")),
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_problem(others[i], 409, "kind_mismatch");
        ck_assert_pstr_eq(answer_text(others[i], "actual_kind"), "once");
    }
}
END_TEST

START_TEST(names_and_keys_are_checked)
{
    char longest[129 + 1];
    memset(longest, 'x', sizeof longest);
    longest[129] = 0;
    const char *const bad[] = {longest, "%00", "a%0Ab", "%FF"};
    for (int i = 0; i < 4; i++) {
        ck_invalid(PUT(TEXT("/v1/once/%s", bad[i]), BODY("{}")), "name");
        ck_invalid(GET(TEXT("/v1/once/%s", bad[i])), "name");
        ck_invalid(DELETE(TEXT("/v1/once/%s", bad[i])), "name");
        ck_invalid(BEGIN(once_path(bad[i], "k")), "name");
        ck_invalid(GET(once_path(bad[i], "k")), "name");
        ck_invalid(FAIL(once_path(bad[i], "k"), "1"), "name");
    }
    longest[128] = 0;
    const char *path = once_path(longest, "%00%2F%FF");
    ck_status(ANSWER(path, begun(path), BODY("v")), 204);
    expect_kept(BEGIN(path), BODY("v"));
    ck_invalid(BEGIN(TEXT("%s?under=", path)), "under");
    ck_invalid(DELETE(TEXT("/v1/once/%s?under=", longest)), "under");
    ck_invalid(BEGIN(TEXT("%s?wait=1", path)), "wait");
}
END_TEST

START_TEST(undeclared_name_is_refused_where_they_must_be_declared)
{
    struct service *own = service_start(&(struct service_options){
        .database = api.database.url, .flags = (const char *const[]){"--declared-buckets-only", NULL}});
    struct http_client *client = http_client_new(service_url(own));
    const char *name = api_bucket(), *path = once_path(name, "k");
    ck_problem(begin_on(client, path), 404, "not_found");
    ck_problem(http(client, "PUT", below(path, "answer", "1"), BODY("v")), 409, "lease_lost");
    ck_problem(GET(TEXT("/v1/once/%s", name)), 404, "not_found");
    ck_status(http(client, "PUT", TEXT("/v1/once/%s", name), BODY("{}")), 201);
    ck_status(begin_on(client, path), 201);
    http_client_free(client);
    service_end(own);
}
END_TEST

// --- branches, dropping, sweeping
// -------------------------------------------------------------------------------------

START_TEST(once_branches_are_apart)
{
    const char *name = api_bucket(), *path = once_path(name, "k");
    const char *paths[] = {path, TEXT("%s?under=a", path), TEXT("%s?under=a&under=b", path),
                           TEXT("%s?under=b", path)};
    const char *tokens[4];
    for (int i = 0; i < 4; i++)
        tokens[i] = begun(paths[i]);
    ck_problem(ANSWER(paths[0], tokens[1], BODY("v")), 409, "lease_lost");
    for (int i = 0; i < 3; i++)
        ck_status(ANSWER(paths[i], tokens[i], bytes_of(TEXT("%d", i))), 204);
    for (int i = 0; i < 3; i++)
        expect_kept(BEGIN(paths[i]), bytes_of(TEXT("%d", i)));
    expect_running(BEGIN(paths[3]));
    // Clearing a branch takes what lies below along, runs too.
    struct answer *cleared = DELETE(TEXT("/v1/once/%s?under=a", name));
    ck_status(cleared, 204);
    ck_assert_ptr_nonnull(answer_header(cleared, "Holdfast-Position"));
    ck_status(DELETE(TEXT("/v1/once/%s?under=b", name)), 204);
    expect_kept(BEGIN(paths[0]), BODY("0"));
    ck_problem(ANSWER(paths[3], tokens[3], BODY("v")), 409, "lease_lost");
    for (int i = 1; i < 4; i++)
        ck_status(BEGIN(paths[i]), 201);
    ck_problem(DELETE(TEXT("/v1/once/%s?under=a", api_bucket())), 404, "not_found");
}
END_TEST

// Rows of keys `key-000001` and so on below `owner`.
static void insert_rows(PGconn *connection, const char *name, const char *owner, int count)
{
    const char *branch = TEXT("'\\x02'::bytea || '%s'::bytea || '\\x0001'::bytea", owner);
    sql_run(connection,
            "insert into holdfast.once_answers (bucket_id, path, version, expires_at, slot, value) "
            "select b.id, %s || convert_to(to_char(n, '\"\\x01key-\"FM000000'), 'UTF8'), "
            "nextval('holdfast.revision'), holdfast.now() + interval '1 day', "
            "holdfast.slot_of(holdfast.now() + interval '1 day'), '\\x76' "
            "from generate_series(1, %d) n, holdfast.buckets b where b.name = '%s'",
            branch, count, name);
}

struct rows {
    PGconn *connection;
    const char *name;
    int64_t runs, answers;
};

static bool has_rows(void *user)
{
    struct rows *rows = user;
    return once_rows(rows->connection, "once_runs", rows->name) == rows->runs &&
           once_rows(rows->connection, "once_answers", rows->name) == rows->answers;
}

static void expect_rows(PGconn *connection, const char *name, int64_t runs, int64_t answers)
{
    ck_assert(clock_wait(has_rows, &(struct rows){connection, name, runs, answers}, 30 * 1000));
}

START_TEST(large_clear_hides_answers_and_runs_at_once)
{
    PGconn *connection = database_connect(&api.database);
    PGconn *sweeper = hold_sweeper();
    const char *name = api_bucket(), *target = TEXT("/v1/once/%s", name);
    const char *answered = TEXT("%s/answered?under=x", target),
               *running = TEXT("%s/running?under=x&under=y", target);
    const char *outside = TEXT("%s/k?under=xx", target);
    ck_status(ANSWER(answered, begun(answered), BODY("v")), 204);
    ck_status(ANSWER(outside, begun(outside), BODY("outside")), 204);
    const char *token = begun(running);
    insert_rows(connection, name, "x", 10001);
    ck_status(DELETE(TEXT("%s?under=x", target)), 204);
    ck_assert_int_ge(once_rows(connection, "once_answers", name), 10001);
    ck_problem(GET(answered), 404, "not_found");
    ck_problem(GET(TEXT("%s/key-000007?under=x", target)), 404, "not_found");
    ck_problem(ANSWER(running, token, BODY("v")), 409, "lease_lost");
    ck_problem(RENEW_RUN(running, token, NO_BODY), 409, "lease_lost");
    ck_problem(FAIL(running, token), 409, "lease_lost");
    // What comes after is there, also where a hidden row lies.
    const char *next = begun(running);
    ck_status(ANSWER(answered, begun(answered), BODY("after")), 204);
    expect_kept(BEGIN(outside), BODY("outside"));
    PQfinish(sweeper);
    expect_rows(connection, name, 1, 2);
    expect_kept(BEGIN(answered), BODY("after"));
    ck_status(ANSWER(running, next, BODY("v")), 204);
    expect_kept(BEGIN(outside), BODY("outside"));
    PQfinish(connection);
}
END_TEST

START_TEST(dropped_name_starts_empty)
{
    PGconn *connection = database_connect(&api.database);
    const char *name = api_bucket(), *target = TEXT("/v1/once/%s", name);
    const char *kept = once_path(name, "kept"), *running = once_path(name, "running");
    ck_status(ANSWER(kept, begun(kept), BODY("v")), 204);
    const char *token = begun(running);
    struct answer *dropped = DELETE(target);
    ck_status(dropped, 204);
    ck_assert_ptr_nonnull(answer_header(dropped, "Holdfast-Position"));
    ck_problem(GET(kept), 404, "not_found");
    ck_problem(ANSWER(running, token, BODY("v")), 409, "lease_lost");
    ck_status(BEGIN(kept), 201);
    ck_problem(ANSWER(running, token, BODY("v")), 409, "lease_lost");
    ck_assert_int_gt(strtoll(begun(running), NULL, 10), strtoll(token, NULL, 10));
    ck_status(DELETE(target), 204);
    ck_status(DECLARE(name, "{}"), 201);
    ck_assert(clock_wait(has_rows, &(struct rows){connection, name, 0, 0}, 30 * 1000));
    int64_t until = clock_ms() + 30 * 1000;
    while (sql_number(connection, "select count(*) from holdfast.dropped_buckets") && clock_ms() < until)
        clock_pause(20);
    ck_assert_int_eq(sql_number(connection, "select count(*) from holdfast.once_answers a where not exists "
                                            "(select from holdfast.buckets b where b.id = a.bucket_id)"),
                     0);
    ck_assert_int_eq(sql_number(connection, "select count(*) from holdfast.once_runs r where not exists "
                                            "(select from holdfast.buckets b where b.id = r.bucket_id)"),
                     0);
    PQfinish(connection);
}
END_TEST

START_TEST(what_is_over_is_freed)
{
    PGconn *connection = database_connect(&api.database);
    const char *name = api_bucket();
    ck_status(PUT(TEXT("/v1/once/%s", name), BODY("{\"ttl\":\"1h\",\"run_ttl\":\"1h\"}")), 201);
    for (int i = 0; i < 5; i++) {
        const char *answered = once_path(name, TEXT("a%d", i));
        ck_status(ANSWER(answered, begun(answered), BODY("v")), 204);
        ck_status(BEGIN(once_path(name, TEXT("r%d", i))), 201);
    }
    expect_rows(connection, name, 5, 5);
    database_shift_clock(&api.database, 7200 * SECOND);
    const char *later = once_path(name, "later"), *again = once_path(name, "a0");
    const char *token = begun(later);
    ck_status(RENEW_RUN(later, token, BODY("{\"ttl\":\"2d\"}")), 200);
    ck_status(ANSWER(again, begun(again), BODY("again")), 204);
    expect_rows(connection, name, 1, 1);
    expect_kept(BEGIN(again), BODY("again"));
    // A renewed run is looked at, and stays.
    database_shift_clock(&api.database, 86400 * SECOND);
    expect_rows(connection, name, 1, 0);
    ck_status(ANSWER(later, token, BODY("v")), 204);
    database_shift_clock(&api.database, 0);
    PQfinish(connection);
}
END_TEST

Suite *once_suite(void)
{
    const TTest *const tests[] = {
        first_caller_runs_and_others_are_told,
        answer_is_given_back_as_stored,
        empty_answer_is_an_answer,
        answers_of_every_size,
        answer_takes_no_coding_and_no_condition,
        answer_is_kept_from_when_it_came,
        runner_that_is_late_has_lost,
        runner_that_died_is_replaced_once,
        renewal_begins_a_new_term,
        terms_are_checked,
        failed_run_keeps_nothing,
        token_is_that_of_this_run,
        forgetting_leaves_a_run_alone,
        name_is_declared_and_changed,
        change_holds_for_what_comes_after,
        one_name_has_one_kind,
        names_and_keys_are_checked,
        undeclared_name_is_refused_where_they_must_be_declared,
        once_branches_are_apart,
        large_clear_hides_answers_and_runs_at_once,
        dropped_name_starts_empty,
        what_is_over_is_freed,
        NULL,
    };
    return api_suite_of_two("once", tests);
}
