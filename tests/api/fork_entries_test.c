// Entries through forks: what is written there is seen only there, and a severed fork sees the main data as
// it was.
#include "fork_steps.h"
#include "wait_steps.h"

#include "support/clock.h"

static const char *const kinds[] = {"continuous", "severed"};

static void set_clock(int64_t us)
{
    database_stop_clock(&api.database, us);
}

// --- writing
// ------------------------------------------------------------------------------------------------

START_TEST(writes_are_seen_through_the_fork_only)
{
    for (int i = 0; i < 2; i++) {
        const char *bucket = api_bucket(), *path = api_entry(bucket, "k"), *fork = fork_of(kinds[i], NULL);
        const char *other = fork_of(kinds[i], NULL);
        struct answer *main_put = PUT(api_entry(bucket, "m"), BODY("main"));
        struct answer *put =
            PUT(through(path, fork), BODY("v"), "Content-Type: text/own", "Holdfast-Meta-A: b");
        ck_status(put, 201);
        answer_need(put, "Holdfast-Position");
        struct answer *got = GET(through(path, fork));
        ck_body(got, BODY("v"));
        ck_header(got, "ETag", tag_of(put));
        ck_header(got, "Content-Type", "text/own");
        ck_header(got, "Holdfast-Meta-A", "b");
        ck_status(GET(path), 404);
        ck_status(GET(through(path, other)), 404);
        struct answer *again = PUT(through(path, fork), BODY("w"));
        ck_status(again, 204);
        ck_assert_str_ne(tag_of(again), tag_of(put));
        ck_status(DELETE(through(path, fork)), 204);
        ck_status(DELETE(through(path, fork)), 404);
        ck_status(GET(through(path, fork)), 404);
        ck_header(GET(api_entry(bucket, "m")), "ETag", tag_of(main_put));
    }
}
END_TEST

START_TEST(tombstone_hides_the_main_entry)
{
    for (int i = 0; i < 2; i++) {
        const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
        ck_status(PUT(path, BODY("main")), 201);
        const char *fork = fork_of(kinds[i], NULL);
        ck_status(DELETE(through(path, fork)), 204);
        ck_status(GET(through(path, fork)), 404);
        ck_body(GET(path), BODY("main"));
        ck_status(PUT(path, BODY("later")), 204);
        ck_status(GET(through(path, fork)), 404);
        ck_status(PUT(through(path, fork), BODY("anew")), 201);
        ck_body(GET(through(path, fork)), BODY("anew"));
    }
}
END_TEST

START_TEST(versions_and_preconditions_in_a_fork)
{
    for (int i = 0; i < 2; i++) {
        const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
        struct answer *put = PUT(path, BODY("1"));
        const char *fork = fork_of(kinds[i], NULL), *forked = through(path, fork);
        ck_header(GET(forked), "ETag", tag_of(put));
        ck_status(GET(forked, TEXT("If-None-Match: %s", tag_of(put))), 304);
        // What is refused leaves the key as it was: the fork has written nothing.
        expect_conflict(PUT(forked, BODY("2"), "If-None-Match: *"), tag_of(put));
        expect_conflict(PUT(forked, BODY("2"), "If-Match: \"1\""), tag_of(put));
        expect_conflict(DELETE(forked, "If-Match: \"1\""), tag_of(put));
        ck_assert_int_eq(fork_rows(fork), 0);
        struct answer *fork_put = PUT(forked, BODY("2"), if_match_of(put));
        ck_status(fork_put, 204);
        ck_assert_int_eq(fork_rows(fork), 1);
        expect_conflict(PUT(forked, BODY("3"), if_match_of(put)), tag_of(fork_put));
        ck_status(PUT(path, BODY("main"), if_match_of(put)), 204);
        ck_status(DELETE(forked, if_match_of(fork_put)), 204);
        expect_conflict(PUT(forked, BODY("3"), "If-Match: *"), NULL);
        ck_status(PUT(forked, BODY("3"), "If-None-Match: *"), 201);
        expect_conflict(PUT(through(api_entry(bucket, "new"), fork), BODY("x"), "If-Match: *"), NULL);
    }
}
END_TEST

START_TEST(every_call_works_through_a_fork)
{
    for (int i = 0; i < 2; i++) {
        const char *bucket = bucket_of_type("json");
        const char *path = api_entry(bucket, "k"), *number = api_entry(bucket, "n"),
                   *gone = api_entry(bucket, "t");
        ck_status(PUT(path, BODY("{\"a\":1}"), "Content-Type: application/json"), 201);
        ck_status(PUT(number, BODY("5")), 201);
        ck_status(PUT(gone, BODY("\"t\"")), 201);
        const char *fork = fork_of(kinds[i], NULL);
        ck_status(PATCH(through(path, fork), BODY("{\"b\":2}")), 204);
        ck_body(GET(through(path, fork)), BODY("{\"a\":1,\"b\":2}"));
        ck_status(PATCH(TEXT("%s&upsert=true", through(api_entry(bucket, "p"), fork)), BODY("{\"c\":3}")),
                  204);
        ck_status(PATCH(through(api_entry(bucket, "q"), fork), BODY("{\"c\":3}")), 404);
        struct answer *sum = POST(call_through(number, "add", fork), BODY("{\"by\":3}"));
        ck_reply(sum, json_integer_value(json_object_get(sum->json, "value")) == 8);
        sum = POST(call_through(number, "add", fork), BODY("{\"by\":3}"));
        ck_reply(sum, json_integer_value(json_object_get(sum->json, "value")) == 11);
        ck_body(POST(call_through(gone, "take", fork), NO_BODY), BODY("\"t\""));
        ck_status(POST(call_through(gone, "take", fork), NO_BODY), 404);
        struct answer *exchanged = POST(call_through(number, "exchange", fork), BODY("12"));
        ck_body(exchanged, BODY("11"));
        struct answer *swapped =
            POST(call_through(number, "compare-and-set", fork), BODY("{\"expected\":12,\"value\":13}"));
        ck_reply(swapped, json_is_true(json_object_get(swapped->json, "swapped")));
        ck_status(POST(call_through(path, "upsert", fork),
                       BODY("{\"insert\":{},\"update\":{\"increment\":{\"a\":1}}}")),
                  200);
        ck_status(
            POST(call_through(api_entry(bucket, "u"), "upsert", fork), BODY("{\"insert\":{},\"update\":{}}")),
            201);
        ck_status(PUT(call_through(path, "expiry", fork), BODY("{\"ttl\":\"1h\"}")), 204);
        answer_need(GET(through(path, fork)), "Holdfast-Expires-At");
        ck_status(DELETE(call_through(path, "expiry", fork)), 204);
        ck_header(GET(through(path, fork)), "Holdfast-Expires-At", NULL);
        ck_problem(PUT(through(path, fork), BODY("no json")), 422, "type_mismatch");
        ck_body(GET(through(path, fork)), BODY("{\"a\":2,\"b\":2}"));
        expect_keys(GET(scan_through(bucket, fork)), "k n p u");
        expect_keys(GET(TEXT("/v1/buckets/%s/entries", bucket)), "k n t");
        ck_body(GET(path), BODY("{\"a\":1}"));
        ck_body(GET(number), BODY("5"));
        ck_body(GET(gone), BODY("\"t\""));
        expect_promoted(PROMOTE(fork), 5);
        expect_keys(GET(TEXT("/v1/buckets/%s/entries", bucket)), "k n p u");
        ck_body(GET(number), BODY("13"));
    }
}
END_TEST

START_TEST(values_of_every_size_through_a_fork)
{
    static const size_t sizes[] = {0, 1, (64 << 10) + 1, 8 << 20};
    char *bytes = malloc(8 << 20);
    for (size_t i = 0; i < 8 << 20; i++)
        bytes[i] = (char)(i * 31 >> 3);
    for (int i = 0; i < 2; i++) {
        const char *bucket = api_bucket();
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            ck_status(PUT(api_entry(bucket, TEXT("%zu", s)), bytes_make(bytes, sizes[s])), 201);
        const char *fork = fork_of(kinds[i], NULL);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            const char *path = api_entry(bucket, TEXT("%zu", s));
            ck_body(GET(through(path, fork)), bytes_make(bytes, sizes[s]));
            ck_status(PUT(through(path, fork), bytes_make(bytes, sizes[s])), 204);
            ck_status(PUT(path, BODY("main")), 204);
            ck_body(GET(through(path, fork)), bytes_make(bytes, sizes[s]));
            ck_body(POST(call_through(path, "take", fork), NO_BODY), bytes_make(bytes, sizes[s]));
        }
    }
    free(bytes);
}
END_TEST

START_TEST(batch_get_through_a_fork)
{
    const char *bucket = api_bucket(), *fork = fork_of("severed", NULL);
    ck_status(PUT(api_entry(bucket, "late"), BODY("main")), 201);
    ck_status(PUT(through(api_entry(bucket, "own"), fork), BODY("fork"), "Content-Type: text/plain"), 201);
    struct answer *got =
        POST(TEXT("/v1/buckets/%s/batch-get?fork=%s", bucket, fork), BODY("{\"keys\":[\"late\",\"own\"]}"));
    ck_status(got, 200);
    ck_reply(got, json_is_null(json_array_get(entries_of(got), 0)));
    ck_assert_str_eq(entry_text(json_array_get(entries_of(got), 1), "text"), "fork");
}
END_TEST

// A bucket that only the fork has, with the defaults; where buckets are declared first it is refused like
// any.
START_TEST(bucket_of_a_fork_alone)
{
    const char *bucket = api_bucket(), *fork = fork_of("continuous", NULL);
    ck_problem(GET(through(api_entry(bucket, "k"), fork)), 404, "not_found");
    ck_problem(GET(scan_through(bucket, fork)), 404, "not_found");
    ck_problem(DELETE(through(api_entry(bucket, "k"), fork)), 404, "not_found");
    ck_status(PUT(through(api_entry(bucket, "k"), fork), BODY("v")), 201);
    expect_keys(GET(scan_through(bucket, fork)), "k");
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 404);
    expect_promoted(PROMOTE(fork), 1);
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 200);
}
END_TEST

START_TEST(name_of_another_kind_in_a_fork)
{
    PGconn *connection = database_connect(&api.database);
    const char *name = api_bucket();
    declare_other_kind(connection, name);
    for (int i = 0; i < 2; i++) {
        const char *path = api_entry(name, "k"), *fork = fork_of(kinds[i], NULL);
        ck_problem(GET(through(path, fork)), 409, "kind_mismatch");
        ck_problem(PUT(through(path, fork), BODY("v")), 409, "kind_mismatch");
        ck_problem(DELETE(through(path, fork)), 409, "kind_mismatch");
        ck_problem(POST(call_through(path, "take", fork), NO_BODY), 409, "kind_mismatch");
        ck_problem(POST(call_through(path, "add", fork), NO_BODY), 409, "kind_mismatch");
        ck_problem(PUT(call_through(path, "expiry", fork), BODY("{\"ttl\":\"1h\"}")), 409, "kind_mismatch");
        ck_problem(GET(scan_through(name, fork)), 409, "kind_mismatch");
    }
    PQfinish(connection);
}
END_TEST

// --- a continuous fork
// ------------------------------------------------------------------------------------------

START_TEST(continuous_fork_sees_main_writes_to_what_it_left)
{
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k"), *fork = fork_of("continuous", NULL);
    ck_status(PUT(path, BODY("1")), 201);
    ck_body(GET(through(path, fork)), BODY("1"));
    ck_status(PUT(path, BODY("2")), 204);
    ck_body(GET(through(path, fork)), BODY("2"));
    ck_status(PUT(through(api_entry(bucket, "own"), fork), BODY("fork")), 201);
    ck_status(PUT(api_entry(bucket, "own"), BODY("main")), 201);
    ck_body(GET(through(api_entry(bucket, "own"), fork)), BODY("fork"));
    ck_status(DELETE(path), 204);
    ck_status(GET(through(path, fork)), 404);
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    ck_body(GET(through(api_entry(bucket, "own"), fork)), BODY("fork"));
    ck_status(PUT(api_entry(bucket, "again"), BODY("v")), 201);
    expect_keys(GET(scan_through(bucket, fork)), "again own");
}
END_TEST

// --- a severed fork
// ------------------------------------------------------------------------------------------------

START_TEST(severed_fork_is_frozen_under_every_write)
{
    const char *bucket = bucket_of_type("json"), *other = bucket_of_type("json");
    static const char *const calls[] = {"put",      "delete",      "take",       "patch",  "add",
                                        "exchange", "swap",        "upsert",     "expiry", "persist",
                                        "move",     "copied-over", "transaction"};
    enum { CALLS = sizeof calls / sizeof calls[0] };
    struct answer *puts[CALLS];
    for (int i = 0; i < CALLS; i++) {
        puts[i] = PUT(TEXT("%s?ttl=1h", api_entry(bucket, calls[i])), BODY("7"), "Holdfast-Meta-A: b");
        ck_status(puts[i], 201);
    }
    const char *fork = fork_of("severed", NULL);
#define OF(i) api_entry(bucket, calls[i])
    for (int round = 0; round < 2; round++) { // what is saved is saved once, and stays
        ck_status(PUT(OF(0), BODY("8")), 204);
        ck_status(DELETE(OF(1)), 204);
        ck_status(POST(TEXT("%s/take", OF(2)), NO_BODY), 200);
        ck_status(PATCH(OF(3), BODY("{\"a\":1}")), 204);
        ck_status(POST(TEXT("%s/add", OF(4)), BODY("{\"by\":1}")), 200);
        ck_status(POST(TEXT("%s/exchange", OF(5)), BODY("8")), 200);
        ck_status(POST(TEXT("%s/compare-and-set", OF(6)), BODY("{\"expected\":7,\"value\":7}")), 200);
        ck_status(PUT(OF(7), BODY("{}")), 204);
        ck_status(POST(TEXT("%s/upsert", OF(7)), BODY("{\"insert\":{},\"update\":{\"set\":{\"a\":1}}}")),
                  200);
        ck_status(PUT(TEXT("%s/expiry", OF(8)), BODY("{\"ttl\":\"2h\"}")), 204);
        ck_status(DELETE(TEXT("%s/expiry", OF(9))), 204);
        ck_status(
            POST(TEXT("%s/move", OF(10)), bytes_of(TEXT("{\"to_bucket\":\"%s\",\"to_key\":\"m\"}", other))),
            200);
        ck_status(POST(TEXT("%s/copy", OF(0)), BODY("{\"to_key\":\"copied-over\"}")), 200);
        ck_status(POST(TEXT("%s/copy", OF(0)), BODY("{\"to_key\":\"new\"}")), 200);
        ck_status(
            POST(
                "/v1/transactions",
                bytes_of(TEXT(
                    "{\"operations\":[{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"transaction\",\"value\":8},"
                    "{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"transaction\",\"value\":9}]}",
                    bucket, bucket))),
            200);
        ck_status(PUT(api_entry(bucket, "new-too"), BODY("1")), round ? 204 : 201);
        for (int i = 0; i < CALLS; i++) {
            struct answer *got = GET(through(OF(i), fork));
            ck_status(got, 200);
            ck_body(got, BODY("7"));
            ck_header(got, "ETag", tag_of(puts[i]));
            ck_header(got, "Holdfast-Expires-At", answer_need(puts[i], "Holdfast-Expires-At"));
            ck_header(got, "Holdfast-Meta-A", "b");
        }
        ck_status(GET(through(api_entry(bucket, "new"), fork)), 404);
        ck_status(GET(through(api_entry(other, "m"), fork)), 404);
        expect_keys(
            GET(scan_through(bucket, fork)),
            "add copied-over delete exchange expiry move patch persist put swap take transaction upsert");
        ck_status(PUT(OF(1), BODY("again")), 422);
        for (int i = 0; i < CALLS; i++)
            PUT(OF(i), BODY("7"));
    }
#undef OF
    PGconn *connection = database_connect(&api.database);
    ck_assert_int_eq(
        sql_number(connection,
                   "select count(*) from holdfast.images i join holdfast.buckets b on b.id = i.bucket_id "
                   "where b.name = '%s'",
                   bucket),
        CALLS);
    PQfinish(connection);
    ck_status(DISCARD(fork), 200);
}
END_TEST

START_TEST(severed_fork_is_frozen_in_time)
{
    set_clock(START);
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k"), *kept = api_entry(bucket, "kept");
    struct answer *put = PUT(TEXT("%s?ttl=1m", path), BODY("v"));
    ck_status(PUT(TEXT("%s?ttl=1m", api_entry(bucket, "over")), BODY("v")), 201);
    ck_status(PUT(TEXT("%s?ttl=1s", api_entry(bucket, "dead")), BODY("v")), 201);
    ck_status(PUT(TEXT("%s?ttl=1m", kept), BODY("v")), 201);
    set_clock(START + 10 * SECOND);
    const char *fork = fork_of("severed", NULL);
    set_clock(START + 3600 * SECOND);
    ck_status(GET(path), 404);
    for (int round = 0; round < 2; round++) {
        struct answer *got = GET(through(path, fork));
        ck_body(got, BODY("v"));
        ck_header(got, "Holdfast-Expires-At", answer_need(put, "Holdfast-Expires-At"));
        ck_body(GET(through(api_entry(bucket, "over"), fork)), BODY("v"));
        ck_status(GET(through(api_entry(bucket, "dead"), fork)), 404);
        expect_keys(GET(scan_through(bucket, fork)), "k kept over");
        // Written over, and freed, after its term.
        if (!round)
            ck_status(PUT(api_entry(bucket, "over"), BODY("w")), 201);
        PGconn *connection = database_connect(&api.database);
        int64_t until = clock_ms() + 60 * 1000;
        while (rows_of(connection, bucket) > 1) {
            ck_assert_msg(clock_ms() < until, "expired rows are not freed");
            clock_pause(20);
        }
        PQfinish(connection);
    }
    // A refused write starts no clock.
    expect_conflict(PUT(through(path, fork), BODY("w"), "If-None-Match: *"), tag_of(put));
    ck_header(GET(through(path, fork)), "Holdfast-Expires-At", answer_need(put, "Holdfast-Expires-At"));
    // What was left of the term when the fork was made begins with the fork's own write.
    struct answer *written = PUT(through(path, fork), BODY("w"), if_match_of(put));
    ck_status(written, 204);
    ck_header(written, "Holdfast-Expires-At", "2030-01-01T01:00:50.000000Z");
    set_clock(START + 3650 * SECOND);
    ck_status(GET(through(path, fork)), 404);
    ck_body(GET(through(kept, fork)), BODY("v"));
    expect_keys(GET(scan_through(bucket, fork)), "kept over");
    database_shift_clock(&api.database, 0);
    ck_status(DISCARD(fork), 200);
}
END_TEST

START_TEST(severed_fork_keeps_idle_terms_as_they_were)
{
    set_clock(START);
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
    ck_status(DECLARE(bucket, "{\"idle\":\"30s\"}"), 201);
    struct answer *put = PUT(path, BODY("v"));
    const char *fork = fork_of("severed", NULL);
    set_clock(START + 29 * SECOND + 500000);
    ck_header(GET(path), "Holdfast-Expires-At", "2030-01-01T00:00:59.500000Z");
    struct answer *got = GET(through(path, fork));
    ck_header(got, "Holdfast-Expires-At", answer_need(put, "Holdfast-Expires-At"));
    set_clock(START + 45 * SECOND);
    ck_body(GET(through(path, fork)), BODY("v"));
    // Reading through the fork renewed nothing.
    set_clock(START + 60 * SECOND);
    ck_status(GET(path), 404);
    database_shift_clock(&api.database, 0);
    ck_status(DISCARD(fork), 200);
}
END_TEST

// A key that the fork has written is its own: reads through the fork renew its idle term as everywhere.
START_TEST(reads_through_a_fork_renew_its_own_terms)
{
    for (int i = 0; i < 2; i++) {
        set_clock(START);
        const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
        ck_status(DECLARE(bucket, "{\"idle\":\"30s\"}"), 201);
        const char *fork = fork_of(kinds[i], NULL), *forked = through(path, fork);
        ck_header(PUT(forked, BODY("v")), "Holdfast-Expires-At", "2030-01-01T00:00:30.000000Z");
        struct http_client *twin = http_client_new(service_url(api.twin));
        for (int64_t n = 1; n <= 6; n++) { // read in the last second of each term, by either replica
            set_clock(START + n * (30 * SECOND - 1));
            ck_body(http(n % 2 ? api.client : twin, "GET", forked, NO_BODY), BODY("v"));
        }
        set_clock(START + 6 * (30 * SECOND - 1) + 12 * SECOND);
        struct answer *told = HEAD(forked); // not late: nobody waits for this one
        ck_header(told, "Holdfast-Expires-At", "2030-01-01T00:03:41.999994Z");
        ck_status(GET(path), 404);
        // Lists renew nothing, and a read does not bring it back.
        expect_keys(GET(scan_through(bucket, fork)), "k");
        set_clock(START + 300 * SECOND);
        ck_status(GET(forked), 404);
        expect_keys(GET(scan_through(bucket, fork)), "");
        http_client_free(twin);
        ck_status(DISCARD(fork), 200);
    }
    database_shift_clock(&api.database, 0);
}
END_TEST

// A GET through a continuous fork of what it has not written is a read of the main entry.
START_TEST(reads_through_a_continuous_fork_renew_main_terms)
{
    set_clock(START);
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k"), *written = api_entry(bucket, "w");
    ck_status(DECLARE(bucket, "{\"idle\":\"30s\"}"), 201);
    ck_status(PUT(path, BODY("v")), 201);
    ck_status(PUT(written, BODY("main")), 201);
    const char *fork = fork_of("continuous", NULL);
    ck_status(PUT(through(written, fork), BODY("fork")), 204);
    for (int64_t n = 1; n <= 3; n++) {
        set_clock(START + n * (30 * SECOND - 1));
        ck_body(GET(through(path, fork)), BODY("v"));
        ck_body(GET(through(written, fork)), BODY("fork"));
    }
    ck_body(GET(path), BODY("v"));
    ck_status(GET(written), 404); // its main row nobody read
    database_shift_clock(&api.database, 0);
    ck_status(DISCARD(fork), 200);
}
END_TEST

START_TEST(severed_forks_of_different_times)
{
    enum { TIMES = 5 };
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
    const char *forks[TIMES];
    ck_status(PUT(api_entry(bucket, "other"), BODY("x")), 201);
    for (int i = 0; i < TIMES; i++) { // absent, 1, 2, absent, 4
        if (i == 3)
            ck_status(DELETE(path), 204);
        else if (i)
            ck_status(PUT(path, bytes_of(TEXT("%d", i))), i == 2 ? 204 : 201);
        forks[i] = fork_of("severed", NULL);
        ck_status(
            PUT(TEXT("%s/expiry", api_entry(bucket, "other")), bytes_of(TEXT("{\"ttl\":\"%dh\"}", i + 1))),
            204);
    }
    ck_status(PUT(path, BODY("last")), 204);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < TIMES; i++) {
            if (i % 3 == 0)
                ck_status(GET(through(path, forks[i])), 404);
            else
                ck_body(GET(through(path, forks[i])), bytes_of(TEXT("%d", i)));
            expect_keys(GET(scan_through(bucket, forks[i])), i % 3 ? "k other" : "other");
            const char *expiry =
                answer_header(GET(through(api_entry(bucket, "other"), forks[i])), "Holdfast-Expires-At");
            ck_assert((expiry == NULL) == (i == 0));
        }
        ck_status(DELETE(TEXT("/v1/buckets/%s/entries", bucket)), 200);
    }
    for (int i = 0; i < TIMES; i++)
        ck_status(DISCARD(forks[i]), 200);
}
END_TEST

// Large clears hide rows and free them later; small ones delete them.
START_TEST(severed_fork_is_frozen_under_clears)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = bucket_of_type("any");
    PGconn *held = hold_sweeper();
    insert_entries(connection, bucket, "before", 10001);
    ck_status(DELETE(TEXT("/v1/buckets/%s/entries?under=before", bucket)), 200); // still there, but hidden
    insert_entries(connection, bucket, "after", 10001);
    insert_entries(connection, bucket, "small", 10);
    const char *fork = fork_of("severed", NULL);
    const char *before = TEXT("%s?under=before", api_entry(bucket, "key-000001"));
    const char *after = TEXT("%s?under=after", api_entry(bucket, "key-000001"));
    const char *small = TEXT("%s?under=small", api_entry(bucket, "key-000001"));
    ck_status(DELETE(TEXT("/v1/buckets/%s/entries?under=after", bucket)), 200);
    ck_status(DELETE(TEXT("/v1/buckets/%s/entries?under=small", bucket)), 200);
    ck_status(PUT(before, BODY("anew")), 201);
    ck_status(PUT(after, BODY("anew")), 201);
    for (int round = 0; round < 2; round++) {
        ck_status(GET(through(before, fork)), 404);
        ck_status(GET(through(after, fork)), 200);
        ck_status(GET(through(TEXT("%s?under=after", api_entry(bucket, "key-010001")), fork)), 200);
        ck_status(GET(through(small, fork)), 200);
        struct answer *page = GET(TEXT("%s&under=after&limit=1000", scan_through(bucket, fork)));
        ck_assert_uint_eq(json_array_size(entries_of(page)), 1000);
        page = GET(TEXT("%s&under=before&limit=1000", scan_through(bucket, fork)));
        ck_assert_uint_eq(json_array_size(entries_of(page)), 0);
        page = GET(TEXT("%s&under=small&limit=1000", scan_through(bucket, fork)));
        ck_assert_uint_eq(json_array_size(entries_of(page)), 10);
        if (round)
            break;
        PQfinish(held); // the sweeper frees them, and saves what the fork sees
        int64_t until = clock_ms() + 60 * 1000;
        while (rows_of(connection, bucket) > 2) {
            ck_assert_msg(clock_ms() < until, "cleared rows are not freed");
            clock_pause(20);
        }
    }
    ck_status(DISCARD(fork), 200);
    PQfinish(connection);
}
END_TEST

START_TEST(severed_fork_keeps_a_dropped_bucket)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = bucket_of_type("json"), *path = api_entry(bucket, "k");
    ck_status(PUT(path, BODY("1")), 201);
    ck_status(PUT(api_entry(bucket, "l"), BODY("2")), 201);
    int64_t id = sql_number(connection, "select id from holdfast.buckets where name = '%s'", bucket);
    const char *fork = fork_of("severed", NULL), *elsewhere = fork_of("severed", "[\"elsewhere\"]");
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    const char *late = fork_of("severed", NULL);
    ck_status(PUT(path, BODY("anew")), 201); // of any type: another bucket
    const char *last = fork_of("severed", NULL);
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    for (int round = 0; round < 3; round++) {
        ck_body(GET(through(path, fork)), BODY("1"));
        expect_keys(GET(scan_through(bucket, fork)), "k l");
        ck_status(GET(through(path, late)), 404);
        ck_status(GET(scan_through(bucket, late)), 404);
        ck_body(GET(through(path, last)), BODY("anew"));
        sql_run(connection, "select holdfast.sweep(1000)");
    }
    ck_problem(PUT(through(path, fork), BODY("no json")), 422, "type_mismatch");
    ck_status(PUT(through(path, fork), BODY("3")), 204);
    ck_status(DISCARD(elsewhere), 200);
    ck_status(DISCARD(late), 200);
    ck_status(DISCARD(last), 200);
    expect_promoted(PROMOTE(fork), 1);
    ck_body(GET(path), BODY("3"));
    expect_keys(GET(TEXT("/v1/buckets/%s/entries", bucket)), "k");
    int64_t until = clock_ms() + 60 * 1000;
    while (sql_number(connection, "select count(*) from holdfast.entries where bucket_id = %lld",
                      (long long)id) > 0) {
        ck_assert_msg(clock_ms() < until, "rows of the dropped bucket stay");
        clock_pause(20);
    }
    PQfinish(connection);
}
END_TEST

// A promote is a write like others to those who watch.
START_TEST(severed_fork_is_frozen_under_promotes)
{
    const char *bucket = api_bucket();
    ck_status(PUT(api_entry(bucket, "changed"), BODY("main")), 201);
    ck_status(PUT(api_entry(bucket, "removed"), BODY("main")), 201);
    const char *frozen = fork_of("severed", NULL), *applied = fork_of("continuous", NULL);
    ck_status(PUT(through(api_entry(bucket, "changed"), applied), BODY("fork")), 204);
    ck_status(PUT(through(api_entry(bucket, "made"), applied), BODY("fork")), 201);
    ck_status(DELETE(through(api_entry(bucket, "removed"), applied)), 204);
    expect_promoted(PROMOTE(applied), 3);
    ck_body(GET(through(api_entry(bucket, "changed"), frozen)), BODY("main"));
    ck_body(GET(through(api_entry(bucket, "removed"), frozen)), BODY("main"));
    expect_keys(GET(scan_through(bucket, frozen)), "changed removed");
    ck_status(DISCARD(frozen), 200);
}
END_TEST

// --- lists
// ------------------------------------------------------------------------------------------------

START_TEST(scan_merges_in_byte_order)
{
    for (int i = 0; i < 2; i++) {
        const char *bucket = api_bucket();
        for (int k = 0; k < 40; k++)
            ck_status(PUT(api_entry(bucket, TEXT("%%%02X", 1 + k * 6)), BODY("main")), 201);
        const char *fork = fork_of(kinds[i], NULL);
        for (int k = 0; k < 40; k++) {
            const char *path = api_entry(bucket, TEXT("%%%02X", 1 + k * 6));
            if (k % 4 == 0)
                ck_status(DELETE(through(path, fork)), 204);
            if (k % 4 == 1)
                ck_status(PUT(through(path, fork), BODY("fork")), 204);
            if (k % 4 == 2)
                ck_status(i ? PUT(path, BODY("later")) : PUT(path, BODY("main")), 204);
            if (k % 5 == 0)
                ck_status(PUT(through(api_entry(bucket, TEXT("%%%02X", 3 + k * 6)), fork), BODY("fork")),
                          201);
        }
        int expected[64], count = 0;
        for (int k = 0; k < 40; k++) {
            if (k % 4)
                expected[count++] = 1 + k * 6;
            if (k % 5 == 0)
                expected[count++] = 3 + k * 6;
        }
        for (int limit = 1; limit <= 64; limit = limit * 3 + 1) {
            int seen = 0;
            const char *cursor = "";
            do {
                struct answer *page = GET(TEXT("%s&limit=%d%s%s", scan_through(bucket, fork), limit,
                                               *cursor ? "&cursor=" : "", cursor));
                ck_status(page, 200);
                json_t *entry;
                size_t e;
                ck_assert_uint_le(json_array_size(entries_of(page)), (size_t)limit);
                json_array_foreach(entries_of(page), e, entry)
                {
                    const char *key = json_string_value(json_object_get(entry, "key"));
                    const char *encoded = json_string_value(json_object_get(entry, "key_base64"));
                    ck_assert_int_lt(seen, count);
                    if (key)
                        ck_assert_int_eq((unsigned char)key[0], expected[seen]);
                    else
                        ck_assert(encoded && expected[seen] >= 0x80);
                    seen++;
                }
                cursor = answer_text(page, "cursor") ? TEXT("%s", answer_text(page, "cursor")) : "";
            } while (*cursor);
            ck_assert_int_eq(seen, count);
        }
        struct answer *page = GET(TEXT("%s&limit=1", scan_through(bucket, fork)));
        const char *cursor = answer_text(page, "cursor");
        ck_invalid(GET(TEXT("/v1/buckets/%s/entries?limit=1&cursor=%s", bucket, cursor)), "cursor");
        ck_invalid(GET(TEXT("%s&limit=1&cursor=%s", scan_through(bucket, fork_of(kinds[i], NULL)), cursor)),
                   "cursor");
        ck_status(GET(TEXT("%s&limit=1&cursor=%s", scan_through(bucket, fork), cursor)), 200);
    }
}
END_TEST

START_TEST(scan_bounds_apply_in_a_fork)
{
    const char *bucket = api_bucket();
    static const char *const keys[] = {"a", "ab", "abc", "b", "bc", "c"};
    for (int k = 0; k < 6; k++)
        ck_status(PUT(TEXT("%s?under=o", api_entry(bucket, keys[k])), BODY("main")), 201);
    const char *fork = fork_of("severed", NULL);
    for (int k = 0; k < 6; k += 2)
        ck_status(DELETE(TEXT("%s?under=o", api_entry(bucket, keys[k]))), 204);
    ck_status(PUT(through(TEXT("%s?under=o", api_entry(bucket, "abd")), fork), BODY("fork")), 201);
    ck_status(PUT(through(api_entry(bucket, "top"), fork), BODY("fork")), 201);
    const char *scan = TEXT("%s&under=o", scan_through(bucket, fork));
    expect_keys(GET(scan), "a ab abc abd b bc c");
    expect_keys(GET(TEXT("%s&prefix=ab", scan)), "ab abc abd");
    expect_keys(GET(TEXT("%s&start=abc&end=c", scan)), "abc abd b bc");
    expect_keys(GET(TEXT("%s&contains=c", scan)), "abc bc c");
    expect_keys(GET(scan_through(bucket, fork)), "top");
    ck_status(DISCARD(fork), 200);
}
END_TEST

START_TEST(page_of_large_values_through_a_fork)
{
    const char *bucket = api_bucket();
    char *large = calloc(1, 1 << 20);
    for (int k = 0; k < 7; k++)
        ck_status(PUT(api_entry(bucket, TEXT("%d", k)), bytes_make(large, 1 << 20)), 201);
    const char *fork = fork_of("severed", NULL);
    for (int k = 0; k < 7; k += 2)
        ck_status(DELETE(api_entry(bucket, TEXT("%d", k))), 204);
    struct answer *page = GET(scan_through(bucket, fork));
    ck_status(page, 200);
    expect_keys(page, "0 1 2 3");
    expect_keys(GET(TEXT("%s&cursor=%s", scan_through(bucket, fork), answer_text(page, "cursor"))), "4 5 6");
    free(large);
    ck_status(DISCARD(fork), 200);
}
END_TEST

// --- waiting
// ------------------------------------------------------------------------------------------------

START_TEST(waits_through_a_fork)
{
    PGconn *connection = database_connect(&api.database);
    for (int i = 0; i < 2; i++) {
        const char *path = api_entry(api_bucket(), "k");
        struct answer *put = PUT(path, BODY("main"));
        const char *fork = fork_of(kinds[i], NULL), *forked = through(path, fork);
        // The fork's own write, through the other replica.
        struct raw *wait = wait_begin(api.service, forked, wait_headers(put, 30));
        wait_until_covered(connection, 2); // the bucket, and the ends of forks
        struct http_client *twin = http_client_new(service_url(api.twin));
        struct answer *written = http(twin, "PUT", forked, BODY("fork"));
        struct answer *woken = wait_end(wait);
        ck_body(woken, BODY("fork"));
        ck_header(woken, "ETag", tag_of(written));
        // A main write of what the fork has written is none there.
        wait = wait_begin(api.service, forked, wait_headers(written, 1));
        ck_status(PUT(path, BODY("later")), 204);
        ck_status(wait_end(wait), 304);
        // The end of the fork.
        wait = wait_begin(api.service, forked, wait_headers(written, 30));
        struct answer *main_put = GET(path);
        struct raw *main_wait = wait_begin(api.service, path, wait_headers(main_put, 30));
        wait_until_covered(connection, 2);
        ck_status(http(twin, "POST", TEXT("/v1/forks/%s/promote", fork), NO_BODY), 200);
        ck_problem(wait_end(wait), 404, "not_found");
        ck_body(wait_end(main_wait), BODY("fork"));
        http_client_free(twin);
    }
    PQfinish(connection);
}
END_TEST

START_TEST(waits_of_a_fork_for_the_main_data)
{
    PGconn *connection = database_connect(&api.database);
    const char *path = api_entry(api_bucket(), "k");
    struct answer *put = PUT(TEXT("%s?ttl=1s", path), BODY("1"));
    const char *continuous = fork_of("continuous", NULL), *severed = fork_of("severed", NULL);
    struct raw *sees = wait_begin(api.service, through(path, continuous), wait_headers(put, 30));
    struct raw *frozen = wait_begin(api.service, through(path, severed), wait_headers(put, 3));
    wait_until_covered(connection, 2);
    // It expires in the one; in the other time stands still.
    ck_status(wait_end(sees), 404);
    ck_status(PUT(path, BODY("2")), 201);
    ck_status(wait_end(frozen), 304);
    ck_status(DISCARD(continuous), 200);
    ck_status(DISCARD(severed), 200);
    PQfinish(connection);
}
END_TEST

// Whatever the fork wrote, and in whichever bucket somebody waits.
START_TEST(end_of_a_fork_ends_its_waits)
{
    enum { ENDED = 4 };
    PGconn *connection = database_connect(&api.database);
    struct http_client *twin = http_client_new(service_url(api.twin));
    const char *ended[ENDED], *other = fork_of("continuous", NULL),
                              *path = api_entry(bucket_of_type("any"), "k");
    struct raw *waits[ENDED], *goes_on = wait_begin(api.service, through(path, other), "Prefer: wait=30\r\n");
    for (int i = 0; i < ENDED; i++) {
        ended[i] = fork_of(kinds[i % 2], NULL);
        waits[i] = wait_begin(api.service, through(api_entry(bucket_of_type("any"), "k"), ended[i]),
                              "Prefer: wait=30\r\n");
    }
    wait_until_covered(connection, ENDED + 2); // the buckets, and the ends of forks
    for (int i = 0; i < ENDED; i++) {
        if (i < 2)
            ck_status(http(twin, "DELETE", TEXT("/v1/forks/%s", ended[i]), NO_BODY), 200);
        else
            ck_status(http(twin, "POST", TEXT("/v1/forks/%s/promote", ended[i]), NO_BODY), 200);
        ck_problem(wait_end(waits[i]), 404, "not_found");
    }
    ck_status(PUT(through(path, other), BODY("v")), 201);
    ck_body(wait_end(goes_on), BODY("v"));
    ck_status(DISCARD(other), 200);
    http_client_free(twin);
    PQfinish(connection);
}
END_TEST

Suite *fork_entries_suite(void)
{
    const TTest *const tests[] = {
        writes_are_seen_through_the_fork_only,
        tombstone_hides_the_main_entry,
        versions_and_preconditions_in_a_fork,
        every_call_works_through_a_fork,
        values_of_every_size_through_a_fork,
        batch_get_through_a_fork,
        bucket_of_a_fork_alone,
        name_of_another_kind_in_a_fork,
        continuous_fork_sees_main_writes_to_what_it_left,
        severed_fork_is_frozen_under_every_write,
        severed_fork_is_frozen_in_time,
        severed_fork_keeps_idle_terms_as_they_were,
        reads_through_a_fork_renew_its_own_terms,
        reads_through_a_continuous_fork_renew_main_terms,
        severed_forks_of_different_times,
        severed_fork_is_frozen_under_clears,
        severed_fork_keeps_a_dropped_bucket,
        severed_fork_is_frozen_under_promotes,
        scan_merges_in_byte_order,
        scan_bounds_apply_in_a_fork,
        page_of_large_values_through_a_fork,
        waits_through_a_fork,
        waits_of_a_fork_for_the_main_data,
        end_of_a_fork_ends_its_waits,
        NULL,
    };
    return api_suite_of_two("fork_entries", tests);
}
