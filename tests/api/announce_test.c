// What writers tell those who wait: everything that a GET would see, nothing when nobody waits, and never so
// much that the write fails.
#include "api.h"

#include "support/clock.h"

#include <poll.h>

enum { PATIENCE = 10 * 1000 };

#define POST(target, body, ...) http(api.client, "POST", target, body __VA_OPT__(, ) __VA_ARGS__)

// A session that hears what is told, as the service's own does.
static PGconn *listen_to(const char *bucket)
{
    PGconn *ear = database_connect(&api.database);
    sql_run(ear, "listen holdfast");
    if (bucket)
        sql_run(ear, "select pg_advisory_lock_shared(7240004, hashtext('%s'))", bucket);
    return ear;
}

// The next notification but heartbeats, to be freed; NULL when none came in time.
static char *next_told(PGconn *ear, int limit_ms)
{
    int64_t until = clock_ms() + limit_ms;
    do {
        PGnotify *told;
        ck_assert(PQconsumeInput(ear));
        while ((told = PQnotifies(ear))) {
            char *text = strdup(told->extra);
            PQfreemem(told);
            if (text[0] != '!')
                return text;
            free(text);
        }
        poll(&(struct pollfd){PQsocket(ear), POLLIN, 0}, 1, 20);
    } while (clock_ms() < until);
    return NULL;
}

static void expect_told(PGconn *ear, const char *expected)
{
    char *told = next_told(ear, PATIENCE);
    ck_assert_ptr_nonnull(told);
    ck_assert_str_eq(told, expected);
    free(told);
}

// Everything told so far came before this.
static void expect_nothing_told(PGconn *ear)
{
    sql_run(ear, "notify holdfast, 'end'");
    expect_told(ear, "end");
}

static const char *hash_of(PGconn *connection, const char *hex_bytes)
{
    char *hash =
        sql_text(connection, "select left(encode(sha256(decode('%s', 'hex')), 'hex'), 8)", hex_bytes);
    const char *kept = TEXT("%s", hash);
    free(hash);
    return kept;
}

static const char *hex_of(const char *text)
{
    const char *hex = "";
    for (; *text; text++)
        hex = TEXT("%s%02x", hex, (unsigned char)*text);
    return hex;
}

START_TEST(nothing_is_told_when_nobody_waits)
{
    const char *bucket = api_bucket();
    PGconn *ear = listen_to(NULL);
    ck_status(PUT(api_entry(bucket, "k"), BODY("v")), 201);
    ck_status(DELETE(api_entry(bucket, "k")), 204);
    expect_nothing_told(ear);
    PQfinish(ear);
}
END_TEST

START_TEST(every_change_is_told)
{
    const char *bucket = api_bucket(), *other = api_bucket();
    const char *entry = api_entry(bucket, "k");
    PGconn *ear = listen_to(bucket);
    ck_status(PUT(entry, BODY("{\"n\":1}"), "Content-Type: application/json"), 201);
    // The path of a key without owners, as it is stored.
    char *path = sql_text(ear,
                          "select encode(path, 'hex') from holdfast.entries where bucket_id = "
                          "(select id from holdfast.buckets where name = '%s')",
                          bucket);
    const char *of_bucket = hash_of(ear, hex_of(bucket));
    const char *of_entry = TEXT("%s:e%s", of_bucket, hash_of(ear, path));
    free(path);
    expect_told(ear, of_entry);
    struct answer *answers[] = {
        PUT(entry, BODY("{\"n\":2}"), "Content-Type: application/json"),
        http(api.client, "PATCH", entry, BODY("{\"n\":3}"), "Content-Type: application/merge-patch+json"),
        POST(TEXT("%s/exchange", entry), BODY("4")),
        POST(TEXT("%s/compare-and-set", entry), BODY("{\"expected_text\":\"4\",\"value\":5}")),
        POST(TEXT("%s/add", entry), BODY("{\"by\":1}")),
        PUT(TEXT("%s/expiry", entry), BODY("{\"ttl\":\"1h\"}")),
        DELETE(TEXT("%s/expiry", entry)),
        POST(TEXT("%s/take", entry), NO_BODY),
        POST(TEXT("%s/upsert", entry), BODY("{\"insert\":{\"a\":1},\"update\":{\"set\":{}}}")),
        DELETE(entry),
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        ck_reply(answers[i], answer_->status < 300);
        expect_told(ear, of_entry);
    }
    ck_status(PUT(api_entry(other, "k"), BODY("v")), 201);
    const char *to_bucket = TEXT("{\"to_bucket\":\"%s\",\"to_key\":\"k\"}", bucket);
    ck_status(POST(TEXT("%s/copy", api_entry(other, "k")), bytes_of(to_bucket)), 200);
    expect_told(ear, of_entry);
    ck_status(POST(TEXT("%s/move", entry), bytes_of(TEXT("{\"to_bucket\":\"%s\",\"to_key\":\"k\"}", other))),
              200);
    expect_told(ear, of_entry);
    ck_status(DELETE(TEXT("/v1/buckets/%s/entries", bucket)), 200);
    expect_told(ear, TEXT("%s:e*", of_bucket));
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    expect_told(ear, TEXT("%s:**", of_bucket));
    expect_nothing_told(ear);
    PQfinish(ear);
}
END_TEST

// Who begins to wait while a write is under way gets the lock when it is committed, and looks then.
START_TEST(new_waiter_waits_for_what_is_under_way)
{
    const char *bucket = api_bucket();
    PGconn *writer = database_connect(&api.database);
    PGconn *waiter = database_connect(&api.database);
    sql_run(writer, "begin");
    sql_run(writer, "select holdfast.lock_names(array['%s'])", bucket);
    ck_assert_int_eq(
        sql_number(writer, "select holdfast.announce(array['%s'], '{1}', '{x}', 'e')::int", bucket), 0);
    const char *try = TEXT("select pg_try_advisory_lock_shared(7240004, hashtext('%s'))::int", bucket);
    ck_assert_int_eq(sql_number(waiter, "%s", try), 0);
    sql_run(writer, "commit");
    ck_assert_int_eq(sql_number(waiter, "%s", try), 1);
    ck_assert_int_eq(
        sql_number(writer, "select holdfast.announce(array['%s'], '{1}', '{x}', 'e')::int", bucket), 1);
    PQfinish(writer);
    PQfinish(waiter);
}
END_TEST

// WAIT-4: a notification of 8,000 bytes would roll the write back.
START_TEST(many_changes_are_told_as_all)
{
    const char *bucket = api_bucket(), *other = api_bucket();
    PGconn *ear = listen_to(bucket);
    PGconn *writer = database_connect(&api.database);
    const char *call = "select holdfast.announce(array['%s', '%s'], array_agg((i %% 2 + 1)::smallint), "
                       "array_agg(sha256(i::text::bytea)), 'e') from generate_series(1, %d) i";
    sql_run(writer, call, bucket, other, 1900);
    char *told = next_told(ear, PATIENCE);
    ck_assert_ptr_nonnull(told);
    ck_assert_uint_eq(strlen(told), 10 + 950 * 8);
    free(told);
    sql_run(writer, call, bucket, other, 2000);
    expect_told(ear, TEXT("%s:e*", hash_of(ear, hex_of(bucket))));
    PQfinish(ear);
    PQfinish(writer);
}
END_TEST

// A queue of notifications that is full, since a session somewhere does not read it, refuses the commit.
START_TEST(full_queue_is_503_and_nothing_done)
{
    PGconn *connection = database_connect(&api.database);
    const char *entry = api_entry(api_bucket(), "k");
    char *as_it_was = sql_text(connection, "select pg_get_functiondef('holdfast.announce'::regproc)");
    sql_run(connection,
            "create or replace function holdfast.announce(names text[], which smallint[], paths bytea[], "
            "topic text) returns boolean language plpgsql as $$ begin raise exception 'too many "
            "notifications in the NOTIFY queue' using errcode = '54000'; end $$");
    struct answer *put = PUT(entry, BODY("v"));
    ck_problem(put, 503, "unavailable");
    ck_status(GET(entry), 404);
    sql_run(connection, "%s", as_it_was);
    ck_status(PUT(entry, BODY("v")), 201);
    free(as_it_was);
    PQfinish(connection);
}
END_TEST

Suite *announce_suite(void)
{
    const TTest *const tests[] = {
        nothing_is_told_when_nobody_waits,      every_change_is_told,
        new_waiter_waits_for_what_is_under_way, many_changes_are_told_as_all,
        full_queue_is_503_and_nothing_done,     NULL,
    };
    return api_suite("announce", NULL, tests);
}
