// Values of encrypted buckets where they are kept beside their entries: forks, images, replies, answers.
#include "fork_steps.h"
#include "sealed_steps.h"
#include "wait_steps.h"

#include <string.h>

#define JSON "Content-Type: application/json"

static PGconn *connection(void)
{
    return database_connect(&api.database);
}

static void expect_nothing_plain(void)
{
    PGconn *db = connection();
    ck_assert(!database_contains(db, SECRET));
    PQfinish(db);
}

static struct answer *promote(const char *fork)
{
    return POST(TEXT("/v1/forks/%s/promote", fork), NO_BODY);
}

START_TEST(forks_of_encrypted_buckets)
{
    static const char *const kinds[] = {"continuous", "severed"};
    for (int i = 0; i < 2; i++) {
        const char *bucket = sealed_bucket("any"), *a = api_entry(bucket, "a"), *b = api_entry(bucket, "b");
        const char *c = api_entry(bucket, "c"), *n = api_entry(bucket, "n");
        ck_status(PUT(a, BODY("main a " SECRET), "Holdfast-Meta-Note: n", "Content-Type: a/b"), 201);
        ck_status(PUT(b, BODY("main b " SECRET)), 201);
        ck_status(PUT(c, BODY("main c " SECRET)), 201);
        ck_status(PUT(n, BODY("5")), 201);
        const char *fork = fork_of(kinds[i], NULL);
        struct answer *got = GET(through(a, fork));
        ck_body(got, BODY("main a " SECRET));
        ck_header(got, "Holdfast-Meta-Note", "n");
        ck_status(PUT(through(a, fork), BODY("fork a " SECRET), "Holdfast-Meta-Note: m"), 204);
        ck_body(GET(through(a, fork)), BODY("fork a " SECRET));
        ck_body(GET(a), BODY("main a " SECRET));
        // What the fork only gives another expiry keeps the bytes of the main data.
        ck_status(PUT(call_through(b, "expiry", fork), BODY("{\"ttl\":\"1h\"}"), JSON), 204);
        ck_body(GET(through(b, fork)), BODY("main b " SECRET));
        ck_status(PUT(c, BODY("later c " SECRET)), 204);
        ck_body(GET(through(c, fork)), i ? BODY("main c " SECRET) : BODY("later c " SECRET));
        struct answer *sum = POST(call_through(n, "add", fork), BODY("{\"by\":2}"), JSON);
        ck_status(sum, 200);
        ck_assert_int_eq(json_integer_value(json_object_get(sum->json, "value")), 7);
        struct answer *list = GET(scan_through(bucket, fork));
        expect_keys(list, "a b c n");
        ck_assert(!json_object_get(json_array_get(entries_of(list), 0), "corrupt"));
        ck_body(POST(call_through(c, "take", fork), NO_BODY),
                i ? BODY("main c " SECRET) : BODY("later c " SECRET));
        expect_nothing_plain();
        struct answer *done = promote(fork);
        ck_status(done, 200);
        ck_assert_int_eq(json_integer_value(json_object_get(done->json, "rows")), 4);
        got = GET(a);
        ck_body(got, BODY("fork a " SECRET));
        ck_header(got, "Holdfast-Meta-Note", "m");
        got = GET(b);
        ck_body(got, BODY("main b " SECRET));
        answer_need(got, "Holdfast-Expires-At");
        ck_status(GET(c), 404);
        ck_body(GET(n), BODY("7"));
        expect_nothing_plain();
    }
}
END_TEST

START_TEST(corrupt_fork_is_not_promoted)
{
    const char *bucket = sealed_bucket("any"), *a = api_entry(bucket, "a");
    ck_status(PUT(a, BODY("1")), 201);
    const char *fork = fork_of("continuous", NULL);
    ck_status(PUT(through(a, fork), BODY("2")), 204);
    PGconn *db = connection();
    sql_run(db,
            "update holdfast.entries e set value = set_bit(e.value, 300, 1 - get_bit(e.value, 300)) "
            "from holdfast.buckets b where b.id = e.bucket_id and b.name like '_fork:%%:%s'",
            bucket);
    PQfinish(db);
    ck_problem(promote(fork), 500, "corrupt");
    ck_body(GET(a), BODY("1"));
    ck_problem(GET(through(a, fork)), 500, "corrupt");
    ck_status(DELETE(TEXT("/v1/forks/%s", fork)), 200);
}
END_TEST

START_TEST(kept_replies_are_sealed)
{
    const char *bucket = sealed_bucket("any"), *a = api_entry(bucket, "a");
    const char *key = TEXT("Idempotency-Key: sealed-%s", bucket),
               *other = TEXT("Idempotency-Key: other-%s", bucket);
    ck_status(PUT(a, BODY("1 " SECRET), "Holdfast-Meta-Note: " SECRET, other), 201);
    struct answer *taken = POST(TEXT("%s/take", a), NO_BODY, key);
    ck_body(taken, BODY("1 " SECRET));
    struct answer *again = POST(TEXT("%s/take", a), NO_BODY, key);
    ck_body(again, BODY("1 " SECRET));
    ck_header(again, "Holdfast-Replayed", "true");
    ck_header(again, "Holdfast-Meta-Note", SECRET);
    ck_header(again, "ETag", tag_of(taken));
    ck_header(PUT(a, BODY("1 " SECRET), "Holdfast-Meta-Note: " SECRET, other), "Holdfast-Replayed", "true");
    ck_problem(POST(TEXT("%s/take", api_entry(bucket, "b")), NO_BODY, key), 422, "idempotency_mismatch");
    expect_nothing_plain();
    PGconn *db = connection();
    // Nor does it keep a hash of what was asked for, from which short values could be tried.
    ck_assert_int_eq(sql_number(db, "select sum(octet_length(fingerprint)) from holdfast.idempotency"), 0);
    sql_run(db,
            "update holdfast.idempotency i set body = x.body from holdfast.idempotency x "
            "where i.key = 'sealed-%s' and x.key = 'other-%s'",
            bucket, bucket);
    PQfinish(db);
    ck_problem(POST(TEXT("%s/take", a), NO_BODY, key), 500, "corrupt");
}
END_TEST

START_TEST(answers_of_once_are_sealed)
{
    const char *name = api_bucket(), *a = TEXT("/v1/once/%s/a", name), *b = TEXT("/v1/once/%s/b", name);
    const char *const keys[] = {a, b};
    for (int i = 0; i < 2; i++) {
        struct answer *run = POST(keys[i], NO_BODY);
        ck_status(run, 201);
        ck_status(PUT(TEXT("%s/answer?token=%s", keys[i], answer_text(run, "token")), BODY("answer " SECRET),
                      "Content-Type: a/b"),
                  204);
    }
    struct answer *kept = POST(a, NO_BODY);
    ck_body(kept, BODY("answer " SECRET));
    ck_header(kept, "Content-Type", "a/b");
    ck_header(kept, "Holdfast-Once", "kept");
    ck_body(GET(a), BODY("answer " SECRET));
    ck_header(HEAD(a), "Content-Length", TEXT("%zu", sizeof "answer " SECRET - 1));
    expect_nothing_plain();
    PGconn *db = connection();
    sql_run(
        db,
        "update holdfast.once_answers i set value = x.value, token = x.token from holdfast.once_answers x, "
        "holdfast.buckets n where n.name = '%s' and i.bucket_id = n.id and x.bucket_id = n.id "
        "and i.path = '\\x0161' and x.path = '\\x0162'",
        name);
    PQfinish(db);
    ck_problem(GET(a), 500, "corrupt");
    ck_problem(POST(a, NO_BODY), 500, "corrupt");
    ck_body(GET(b), BODY("answer " SECRET));
}
END_TEST

START_TEST(waits_and_fences)
{
    const char *bucket = sealed_bucket("any"), *a = api_entry(bucket, "a");
    struct answer *put = PUT(a, BODY("1"));
    ck_status(GET(a, TEXT("If-None-Match: %s", tag_of(put)), "Prefer: wait=1"), 304);
    ck_body(GET(TEXT("%s?at_least=%s", a, answer_need(put, "Holdfast-Position"))), BODY("1"));
    struct answer *lease =
        POST(TEXT("/v1/buckets/%s/leases/l", bucket), BODY("{\"holder\":\"h\",\"ttl\":\"1m\"}"), JSON);
    ck_status(lease, 201);
    const char *fenced =
        TEXT("%s?fence_bucket=%s&fence_key=l&fence_token=%s", a, bucket, answer_text(lease, "token"));
    ck_status(PUT(fenced, BODY("2 " SECRET), if_match_of(put)), 204);
    ck_body(GET(a, TEXT("If-None-Match: %s", tag_of(put)), "Prefer: wait=30"), BODY("2 " SECRET));
    expect_nothing_plain();
}
END_TEST

static void start(void)
{
    api_start(sealed_flags());
}

Suite *sealed_kept_suite(void)
{
    const TTest *const tests[] = {
        forks_of_encrypted_buckets, corrupt_fork_is_not_promoted,
        kept_replies_are_sealed,    answers_of_once_are_sealed,
        waits_and_fences,           NULL,
    };
    return api_suite_started("sealed_kept", start, tests);
}
