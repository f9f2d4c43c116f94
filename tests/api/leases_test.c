// Leases: acquiring, renewing, releasing, and tokens that only grow.
#include "lease_steps.h"

#include "support/clock.h"
#include "support/parallel.h"

#include <stdatomic.h>

// --- acquire ----------------------------------------------------------------------------------------------

START_TEST(acquire_grants_with_a_token)
{
    const char *path = lease_path(api_bucket(), "k");
    database_stop_clock(&api.database, START);
    struct answer *grant = ACQUIRE(path, "A \\\"1\\\" \\u00e4", "90s");
    ck_status(grant, 201);
    ck_assert_pstr_eq(answer_text(grant, "holder"), "A \"1\" ä");
    ck_assert_pstr_eq(answer_text(grant, "ttl"), "90s");
    ck_assert_pstr_eq(answer_text(grant, "expires_at"), "2030-01-01T00:01:30.000000Z");
    ck_header(grant, "Holdfast-Position", answer_text(grant, "position"));
    ck_header(grant, "ETag", NULL);
    ck_assert_int_gt(token_of(grant), INT64_C(1) << 53);
    ck_assert_pstr_ne(answer_text(grant, "token"), answer_text(grant, "position"));
    ck_assert_uint_eq(json_object_size(grant->json), 5);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(live_lease_conflicts_with_everybody)
{
    const char *path = lease_path(api_bucket(), "k");
    database_stop_clock(&api.database, START);
    struct answer *grant = ACQUIRE(path, "A", "20s");
    static const char *const holders[] = {"A", "B"};
    for (int i = 0; i < 2; i++) {
        struct answer *refused = ACQUIRE(path, holders[i], "1s");
        ck_problem(refused, 409, "lease_held");
        ck_assert_pstr_eq(answer_text(refused, "expires_at"), answer_text(grant, "expires_at"));
        ck_header(refused, "Retry-After", "20");
        ck_header(refused, "Holdfast-Position", NULL);
        ck_assert_ptr_null(answer_text(refused, "token"));
    }
    database_stop_clock(&api.database, START + 20 * SECOND - 1);
    ck_header(ACQUIRE(path, "B", "1s"), "Retry-After", "1");
    database_stop_clock(&api.database, START + 20 * SECOND);
    ck_status(ACQUIRE(path, "B", "1s"), 201);
    database_shift_clock(&api.database, 0);
}
END_TEST

// RATE-1
START_TEST(retry_after_of_a_held_lease_can_be_obeyed)
{
    static const char *const terms[] = {"100ms", "999ms", "1s", "1001ms", "59s", "1m", "1d"};
    static const int64_t phases[] = {0, 1, 499999, 500000, 999999};
    int64_t now = START;
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++)
        for (size_t j = 0; j < sizeof phases / sizeof phases[0]; j++) {
            const char *path = lease_path(api_bucket(), "k");
            database_stop_clock(&api.database, now += 86400 * SECOND);
            ck_status(ACQUIRE(path, "A", terms[i]), 201);
            database_stop_clock(&api.database, now + phases[j] % 100000);
            long after = strtol(answer_need(ACQUIRE(path, "B", "1s"), "Retry-After"), NULL, 10);
            ck_assert_int_ge(after, 1);
            database_stop_clock(&api.database, now + phases[j] % 100000 + after * SECOND);
            ck_status(ACQUIRE(path, "B", "1s"), 201);
        }
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(lease_ttl_is_checked)
{
    static const char *const bad[] = {"\"0s\"",   "\"-1s\"",   "\"10\"", "\"10ss\"",
                                      "\"1.5h\"", "\"3651d\"", "0",      "\"99999999999999999999s\"",
                                      "\"99ms\"", "\"\"",      "null",   "10",
                                      "\"1ms\"",  "true",      "[]",     "\" 1s\""};
    const char *path = lease_path(api_bucket(), "k");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_invalid(POST(path, bytes_of(TEXT("{\"holder\":\"A\",\"ttl\":%s}", bad[i]))), "ttl");
    ck_invalid(POST(path, BODY("{\"holder\":\"A\"}")), "ttl");
    ck_status(GET(path), 404);
    struct answer *grant = ACQUIRE(path, "A", "100ms");
    ck_status(grant, 201);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_invalid(PUT(path, bytes_of(TEXT("{\"holder\":\"A\",\"token\":\"%s\",\"ttl\":%s}",
                                           answer_text(grant, "token"), bad[i]))),
                   "ttl");
}
END_TEST

START_TEST(lease_ttl_is_cut_to_the_longest)
{
    const char *path = lease_path(api_bucket(), "k");
    struct service *own = service_start(&(struct service_options){
        .database = api.database.url, .flags = (const char *const[]){"--max-lease-ttl", "90m", NULL}});
    struct http_client *client = http_client_new(service_url(own));
    database_stop_clock(&api.database, START);
    struct answer *grant = http(client, "POST", path, BODY("{\"holder\":\"A\",\"ttl\":\"3650d\"}"));
    ck_status(grant, 201);
    ck_assert_pstr_eq(answer_text(grant, "ttl"), "90m");
    ck_assert_pstr_eq(answer_text(grant, "expires_at"), "2030-01-01T01:30:00.000000Z");
    struct answer *renewed = http(
        client, "PUT", path,
        bytes_of(TEXT("{\"holder\":\"A\",\"token\":\"%s\",\"ttl\":\"2h\"}", answer_text(grant, "token"))));
    ck_assert_pstr_eq(answer_text(renewed, "ttl"), "90m");
    // Without the flag it is a day.
    grant = ACQUIRE(lease_path(api_bucket(), "k"), "A", "2d");
    ck_assert_pstr_eq(answer_text(grant, "ttl"), "1d");
    ck_assert_pstr_eq(answer_text(grant, "expires_at"), "2030-01-02T00:00:00.000000Z");
    database_shift_clock(&api.database, 0);
    http_client_free(client);
    service_end(own);
}
END_TEST

START_TEST(holder_is_checked)
{
    static const char *const bad[] = {"\"\"", "\"a\\u0000b\"", "\"a\\nb\"", "\"\\u0085\"", "1", "null", "{}"};
    const char *path = lease_path(api_bucket(), "k");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_invalid(POST(path, bytes_of(TEXT("{\"holder\":%s,\"ttl\":\"1m\"}", bad[i]))), "holder");
    ck_invalid(POST(path, BODY("{\"ttl\":\"1m\"}")), "holder");
    char longest[257 + 1];
    memset(longest, 'x', sizeof longest);
    longest[257] = 0;
    ck_invalid(ACQUIRE(path, longest, "1m"), "holder");
    ck_status(GET(path), 404);
    longest[256] = 0;
    struct answer *grant = ACQUIRE(path, longest, "1m");
    ck_status(grant, 201);
    ck_assert_pstr_eq(answer_text(GET(path), "holder"), longest);
    ck_invalid(DELETE(TEXT("%s?token=%s", path, answer_text(grant, "token"))), "holder");
    ck_invalid(DELETE(TEXT("%s?holder=&token=%s", path, answer_text(grant, "token"))), "holder");
    ck_invalid(DELETE(TEXT("%s?holder=%%FF&token=%s", path, answer_text(grant, "token"))), "holder");
    ck_status(RELEASE(path, longest, answer_text(grant, "token")), 200);
}
END_TEST

START_TEST(token_is_decimal_text)
{
    static const char *const bad[] = {"\"\"",   "\"x\"",   "\"-1\"", "\"0\"", "\"01\"",
                                      "\"+1\"", "\"1.0\"", "1",      "null",  "\"9223372036854775808\""};
    const char *path = lease_path(api_bucket(), "k");
    struct answer *grant = ACQUIRE(path, "A", "1m");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_invalid(PUT(path, bytes_of(TEXT("{\"holder\":\"A\",\"ttl\":\"1m\",\"token\":%s}", bad[i]))),
                   "token");
    ck_invalid(PUT(path, BODY("{\"holder\":\"A\",\"ttl\":\"1m\"}")), "token");
    static const char *const bad_in_query[] = {"", "x", "-1", "0", "01", "%2B1", "9223372036854775808"};
    for (size_t i = 0; i < sizeof bad_in_query / sizeof bad_in_query[0]; i++)
        ck_invalid(RELEASE(path, "A", bad_in_query[i]), "token");
    ck_invalid(DELETE(TEXT("%s?holder=A", path)), "token");
    expect_released(RELEASE(path, "A", "9223372036854775807"), false);
    expect_released(RELEASE(path, "A", answer_text(grant, "token")), true);
}
END_TEST

START_TEST(lease_calls_refuse_what_they_have_not)
{
    const char *path = lease_path(api_bucket(), "k");
    ck_invalid(POST(path, BODY("{\"holder\":\"A\",\"ttl\":\"1m\",\"token\":\"1\"}")), "token");
    ck_invalid(PUT(path, BODY("{\"holder\":\"A\",\"ttl\":\"1m\",\"token\":\"1\",\"x\":1}")), "x");
    ck_invalid(POST(path, BODY("[]")), "body");
    ck_invalid(POST(path, NO_BODY), "body");
    ck_invalid(POST(TEXT("%s?ttl=1m", path), BODY("{\"holder\":\"A\",\"ttl\":\"1m\"}")), "ttl");
    ck_invalid(GET(TEXT("%s?token=1", path)), "token");
    ck_invalid(DELETE(TEXT("%s?holder=A&holder=B&token=1", path)), "holder");
    ck_invalid(POST(path, BODY("{\"holder\":\"A\",\"ttl\":\"1m\"}"), "If-None-Match: *"), "If-None-Match");
    ck_invalid(POST(TEXT("%s?fence_token=1", path), BODY("{\"holder\":\"A\",\"ttl\":\"1m\"}")),
               "fence_token");
    ck_status(http(api.client, "PATCH", path, NO_BODY), 405);
    ck_status(GET(TEXT("/v1/buckets/%s", api_bucket())), 404);
}
END_TEST

// --- renew, release, who holds it -------------------------------------------------------------------------

START_TEST(renew_gives_a_new_term)
{
    const char *path = lease_path(api_bucket(), "k");
    database_stop_clock(&api.database, START);
    struct answer *grant = ACQUIRE(path, "A", "1m");
    database_stop_clock(&api.database, START + 59 * SECOND);
    struct answer *renewed = RENEW(path, "A", answer_text(grant, "token"), "30s");
    ck_status(renewed, 200);
    ck_assert_pstr_eq(answer_text(renewed, "token"), answer_text(grant, "token"));
    ck_assert_pstr_eq(answer_text(renewed, "holder"), "A");
    ck_assert_pstr_eq(answer_text(renewed, "ttl"), "30s");
    ck_assert_pstr_eq(answer_text(renewed, "expires_at"), "2030-01-01T00:01:29.000000Z");
    ck_header(renewed, "Holdfast-Position", answer_text(renewed, "position"));
    ck_assert_int_gt(position_of(renewed), position_of(grant));
    // A term may become shorter too.
    ck_assert_pstr_eq(answer_text(RENEW(path, "A", answer_text(grant, "token"), "1s"), "expires_at"),
                      "2030-01-01T00:01:00.000000Z");
    database_stop_clock(&api.database, START + 60 * SECOND);
    ck_problem(RENEW(path, "A", answer_text(grant, "token"), "1m"), 409, "lease_lost");
    database_shift_clock(&api.database, 0);
}
END_TEST

// LEASE-3
START_TEST(holder_that_overslept_has_lost)
{
    const char *path = lease_path(api_bucket(), "k");
    database_stop_clock(&api.database, START);
    const char *token = answer_text(ACQUIRE(path, "A", "1m"), "token");
    database_stop_clock(&api.database, START + 60 * SECOND);
    ck_problem(RENEW(path, "A", token, "1m"), 409, "lease_lost");
    expect_released(RELEASE(path, "A", token), false);
    ck_problem(GET(path), 404, "not_found");
    struct answer *next = ACQUIRE(path, "B", "1m");
    ck_status(next, 201);
    ck_problem(RENEW(path, "A", token, "1m"), 409, "lease_lost");
    expect_released(RELEASE(path, "A", token), false);
    ck_assert_pstr_eq(answer_text(GET(path), "holder"), "B");
    ck_status(RENEW(path, "B", answer_text(next, "token"), "1m"), 200);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(renew_and_release_need_holder_and_token)
{
    const char *bucket = api_bucket();
    const char *path = lease_path(bucket, "k");
    ck_problem(RENEW(path, "A", "1", "1m"), 409, "lease_lost");
    expect_released(RELEASE(path, "A", "1"), false);
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 404);
    struct answer *grant = ACQUIRE(path, "A", "1m");
    const char *token = answer_text(grant, "token");
    const char *other = TEXT("%lld", (long long)token_of(grant) - 1);
    const char *wrong[][2] = {
        {"B", token}, {"a", token}, {"A", other}, {"A", answer_text(grant, "position")}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ck_problem(RENEW(path, wrong[i][0], wrong[i][1], "1m"), 409, "lease_lost");
        expect_released(RELEASE(path, wrong[i][0], wrong[i][1]), false);
    }
    struct answer *held = GET(path);
    ck_assert_pstr_eq(answer_text(held, "expires_at"), answer_text(grant, "expires_at"));
    expect_released(RELEASE(path, "A", token), true);
    expect_released(RELEASE(path, "A", token), false);
    ck_problem(RENEW(path, "A", token, "1m"), 409, "lease_lost");
    ck_status(ACQUIRE(path, "B", "1m"), 201);
}
END_TEST

START_TEST(get_shows_who_holds_without_the_token)
{
    const char *bucket = api_bucket();
    const char *path = lease_path(bucket, "k");
    ck_problem(GET(path), 404, "not_found");
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 404);
    ck_status(DECLARE(bucket, "{}"), 201);
    ck_problem(GET(path), 404, "not_found");
    struct answer *grant = ACQUIRE(path, "A", "1m");
    struct answer *held = GET(path);
    ck_status(held, 200);
    ck_assert_uint_eq(json_object_size(held->json), 3);
    ck_assert_pstr_eq(answer_text(held, "holder"), "A");
    ck_assert_pstr_eq(answer_text(held, "expires_at"), answer_text(grant, "expires_at"));
    ck_assert_pstr_eq(answer_text(held, "position"), answer_text(grant, "position"));
    struct answer *renewed = RENEW(path, "A", answer_text(grant, "token"), "2m");
    held = GET(path);
    ck_assert_pstr_eq(answer_text(held, "position"), answer_text(renewed, "position"));
    ck_assert_pstr_eq(answer_text(held, "expires_at"), answer_text(renewed, "expires_at"));
    expect_released(RELEASE(path, "A", answer_text(grant, "token")), true);
    ck_problem(GET(path), 404, "not_found");
}
END_TEST

START_TEST(release_has_a_position_when_it_releases)
{
    const char *path = lease_path(api_bucket(), "k");
    struct answer *grant = ACQUIRE(path, "A", "1m");
    struct answer *released = RELEASE(path, "A", answer_text(grant, "token"));
    ck_assert_int_gt(strtoll(answer_need(released, "Holdfast-Position"), NULL, 10), position_of(grant));
    ck_header(RELEASE(path, "A", answer_text(grant, "token")), "Holdfast-Position", NULL);
}
END_TEST

// --- where leases lie -------------------------------------------------------------------------------------

START_TEST(leases_lie_beside_entries)
{
    const char *bucket = bucket_of_type("int");
    ck_status(PUT(api_entry(bucket, "k"), BODY("1")), 201);
    struct answer *grant = ACQUIRE(lease_path(bucket, "k"), "A", "1m");
    ck_status(grant, 201);
    ck_status(PUT(api_entry(bucket, "k"), BODY("2")), 204);
    ck_status(DELETE(api_entry(bucket, "k")), 204);
    // Clearing is about entries.
    ck_status(DELETE(TEXT("/v1/buckets/%s/entries", bucket)), 200);
    ck_assert_pstr_eq(answer_text(GET(lease_path(bucket, "k")), "holder"), "A");
    expect_released(RELEASE(lease_path(bucket, "k"), "A", answer_text(grant, "token")), true);
}
END_TEST

START_TEST(leases_of_keys_of_any_bytes_and_branches)
{
    static const char *const keys[] = {"%00", "a%2Fb", "%FF%FE", "+", "%2B", "..%2F"};
    const char *bucket = api_bucket();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i], "%2B") == 0)
            ck_problem(ACQUIRE(lease_path(bucket, keys[i]), "A", "1m"), 409, "lease_held");
        else
            ck_status(ACQUIRE(lease_path(bucket, keys[i]), "A", "1m"), 201);
    static const char *const branches[] = {"", "?under=a", "?under=a&under=b", "?under=b&under=a"};
    for (size_t i = 0; i < sizeof branches / sizeof branches[0]; i++) {
        const char *path = TEXT("%s%s", lease_path(bucket, "k"), branches[i]);
        ck_status(ACQUIRE(path, TEXT("%zu", i), "1m"), 201);
        ck_problem(ACQUIRE(path, "B", "1m"), 409, "lease_held");
    }
    for (size_t i = 0; i < sizeof branches / sizeof branches[0]; i++)
        ck_assert_pstr_eq(answer_text(GET(TEXT("%s%s", lease_path(bucket, "k"), branches[i])), "holder"),
                          TEXT("%zu", i));
    ck_invalid(ACQUIRE(TEXT("%s?under=", lease_path(bucket, "k")), "A", "1m"), "under");
}
END_TEST

START_TEST(acquire_declares_its_bucket)
{
    const char *bucket = api_bucket();
    ck_status(ACQUIRE(lease_path(bucket, "k"), "A", "1m"), 201);
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 200);
    ck_problem(GET(api_entry(bucket, "k")), 404, "not_found");
}
END_TEST

START_TEST(leases_need_a_bucket_of_entries)
{
    PGconn *connection = database_connect(&api.database);
    const char *name = api_bucket();
    const char *path = lease_path(name, "k");
    declare_other_kind(connection, name);
    struct answer *answers[] = {ACQUIRE(path, "A", "1m"), RENEW(path, "A", "1", "1m"),
                                RELEASE(path, "A", "1"), GET(path)};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        ck_problem(answers[i], 409, "kind_mismatch");
        ck_assert_pstr_eq(answer_text(answers[i], "actual_kind"), "counter");
    }
    PQfinish(connection);
}
END_TEST

START_TEST(dropped_bucket_takes_its_leases_along)
{
    const char *bucket = api_bucket();
    const char *path = lease_path(bucket, "k");
    struct answer *grant = ACQUIRE(path, "A", "1h");
    const char *token = answer_text(grant, "token");
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    ck_problem(GET(path), 404, "not_found");
    ck_problem(RENEW(path, "A", token, "1m"), 409, "lease_lost");
    expect_released(RELEASE(path, "A", token), false);
    struct answer *next = ACQUIRE(path, "B", "1m");
    ck_status(next, 201);
    ck_assert_int_gt(token_of(next), token_of(grant));
    ck_problem(RENEW(path, "A", token, "1m"), 409, "lease_lost");
}
END_TEST

// --- freeing ----------------------------------------------------------------------------------------------

struct freed {
    PGconn *connection;
    int64_t rows;
};

static bool is_freed(void *user)
{
    struct freed *freed = user;
    return sql_number(freed->connection, "select count(*) from holdfast.leases") == freed->rows;
}

START_TEST(leases_that_nobody_holds_are_freed)
{
    struct freed freed = {.connection = database_connect(&api.database)};
    sql_run(freed.connection, "delete from holdfast.leases"); // those of other tests
    const char *bucket = api_bucket();
    const char *gone = lease_path(bucket, "gone"), *kept = lease_path(bucket, "kept");
    const char *dropped = api_bucket();
    struct answer *first = ACQUIRE(gone, "A", "1d");
    struct answer *live = ACQUIRE(kept, "A", "1d");
    expect_released(RELEASE(gone, "A", answer_text(first, "token")), true);
    ck_status(ACQUIRE(lease_path(bucket, "short"), "A", "1s"), 201);
    ck_status(ACQUIRE(lease_path(dropped, "k"), "A", "1d"), 201);
    ck_status(DELETE(TEXT("/v1/buckets/%s", dropped)), 204);
    // One that was released early is freed early.
    database_shift_clock(&api.database, 20 * 60 * SECOND);
    freed.rows = 1;
    ck_assert(clock_wait(is_freed, &freed, 60 * 1000));
    ck_assert_pstr_eq(answer_text(GET(kept), "expires_at"), answer_text(live, "expires_at"));
    // The token grows although the row is another.
    struct answer *next = ACQUIRE(gone, "A", "1m");
    ck_assert_int_gt(token_of(next), token_of(first));
    database_shift_clock(&api.database, 2 * 86400 * SECOND);
    freed.rows = 0;
    ck_assert(clock_wait(is_freed, &freed, 60 * 1000));
    ck_assert_int_gt(token_of(ACQUIRE(kept, "B", "1m")), token_of(next));
    database_shift_clock(&api.database, 0);
    PQfinish(freed.connection);
}
END_TEST

Suite *leases_suite(void)
{
    const TTest *const tests[] = {
        acquire_grants_with_a_token,
        live_lease_conflicts_with_everybody,
        retry_after_of_a_held_lease_can_be_obeyed,
        lease_ttl_is_checked,
        lease_ttl_is_cut_to_the_longest,
        holder_is_checked,
        token_is_decimal_text,
        lease_calls_refuse_what_they_have_not,
        renew_gives_a_new_term,
        holder_that_overslept_has_lost,
        renew_and_release_need_holder_and_token,
        get_shows_who_holds_without_the_token,
        release_has_a_position_when_it_releases,
        leases_lie_beside_entries,
        leases_of_keys_of_any_bytes_and_branches,
        acquire_declares_its_bucket,
        leases_need_a_bucket_of_entries,
        dropped_bucket_takes_its_leases_along,
        leases_that_nobody_holds_are_freed,
        NULL,
    };
    return api_suite_of_two("leases", tests);
}
