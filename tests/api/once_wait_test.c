// Callers of once who wait: for the answer, or for their turn, on whichever replica they are.
#include "once_steps.h"

#include "support/clock.h"
#include "support/random.h"

enum { QUIET_MS = 60, WAITERS = 12 };

// A key whose run is under way for so long.
struct under_way {
    const char *name, *path, *token;
};

static struct under_way run_under_way(const char *run_ttl)
{
    struct under_way run = {.name = api_bucket()};
    run.path = once_path(run.name, "k");
    ck_status(PUT(TEXT("/v1/once/%s", run.name), bytes_of(TEXT("{\"run_ttl\":\"%s\"}", run_ttl))), 201);
    run.token = begun(run.path);
    return run;
}

static struct service *replica(int i)
{
    return i % 2 ? api.twin : api.service;
}

// Callers who wait on both replicas in turn, each in its place before the next comes.
static void park(struct raw **waiters, int count, const char *path)
{
    for (int i = 0; i < count; i++) {
        waiters[i] = begin_waiting(replica(i), path, 60);
        ck_assert(raw_silent(waiters[i], QUIET_MS));
    }
}

static bool has_reply(struct raw *raw)
{
    return !raw_silent(raw, 0);
}

// --- the answer
// -------------------------------------------------------------------------------------------------------

START_TEST(answer_wakes_all_who_wait)
{
    struct under_way run = run_under_way("1h");
    struct raw *waiters[WAITERS];
    park(waiters, WAITERS, run.path);
    ck_status(ANSWER(run.path, run.token, BODY("answer"), "Content-Type: text/x"), 204);
    for (int i = 0; i < WAITERS; i++) {
        struct answer *answer = waited(waiters[i]);
        expect_kept(answer, BODY("answer"));
        ck_header(answer, "Content-Type", "text/x");
        ck_header(answer, "Preference-Applied", "wait=60");
        raw_close(waiters[i]);
    }
}
END_TEST

START_TEST(empty_answer_wakes_all_who_wait)
{
    struct under_way run = run_under_way("1h");
    struct raw *waiters[4];
    park(waiters, 4, run.path);
    ck_status(ANSWER(run.path, run.token, BODY("")), 204);
    for (int i = 0; i < 4; i++)
        expect_kept(waited(waiters[i]), BODY(""));
}
END_TEST

START_TEST(large_answer_wakes_all_who_wait)
{
    enum { SIZE = 8 << 20 };
    static uint8_t bytes[SIZE];
    struct random random = random_seeded(2, 0);
    random_bytes(&random, bytes, SIZE);
    struct under_way run = run_under_way("1h");
    struct raw *waiters[WAITERS];
    park(waiters, WAITERS, run.path);
    ck_status(ANSWER(run.path, run.token, bytes_make(bytes, SIZE)), 204);
    for (int i = 0; i < WAITERS; i++) {
        expect_kept(waited(waiters[i]), bytes_make(bytes, SIZE));
        raw_close(waiters[i]);
    }
}
END_TEST

START_TEST(wait_below_a_branch)
{
    struct under_way run = run_under_way("1h");
    const char *path = TEXT("%s?under=a&under=%%00", run.path);
    const char *token = begun(path);
    struct raw *above, *under;
    park(&above, 1, run.path);
    park(&under, 1, path);
    ck_status(ANSWER(path, token, BODY("below")), 204);
    expect_kept(waited(under), BODY("below"));
    ck_assert(raw_silent(above, QUIET_MS));
    ck_status(ANSWER(run.path, run.token, BODY("above")), 204);
    expect_kept(waited(above), BODY("above"));
}
END_TEST

// --- the time
// ---------------------------------------------------------------------------------------------------------

START_TEST(wait_that_is_over_says_who_runs)
{
    struct under_way run = run_under_way("1h");
    struct answer *known = BEGIN(run.path);
    int64_t start = clock_ms();
    struct raw *raw = begin_waiting(api.twin, run.path, 1);
    struct answer *answer = waited(raw);
    expect_running(answer);
    ck_assert_pstr_eq(answer_text(answer, "run_expires_at"), answer_text(known, "run_expires_at"));
    ck_header(answer, "Preference-Applied", "wait=1");
    ck_assert_int_ge(clock_ms() - start, 990);
    ck_assert_int_lt(clock_ms() - start, 5000);
    // Its connection serves on.
    ck_assert(raw_text(raw, "POST %s HTTP/1.1\r\nHost: h\r\n\r\n", run.path));
    expect_running(waited(raw));
}
END_TEST

START_TEST(wait_is_clamped_or_ignored)
{
    struct under_way run = run_under_way("1h");
    static const char *const ignored[] = {"wait", "wait=0", "wait=-1", "wait=1.5", "wait=soon", "waits=5"};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        struct answer *answer = http(api.client, "POST", run.path, NO_BODY, TEXT("Prefer: %s", ignored[i]));
        expect_running(answer);
        ck_header(answer, "Preference-Applied", NULL);
    }
    struct raw *raw = begin_waiting(api.service, run.path, 1000000);
    ck_assert(raw_silent(raw, QUIET_MS));
    ck_status(ANSWER(run.path, run.token, BODY("v")), 204);
    ck_header(waited(raw), "Preference-Applied", "wait=300");
    // Who need not wait does not.
    struct answer *at_once = waited(begin_waiting(api.service, once_path(run.name, "other"), 5));
    ck_status(at_once, 201);
    ck_header(at_once, "Preference-Applied", "wait=5");
    ck_problem(http(api.client, "POST", once_path(bucket_of_type("any"), "k"), NO_BODY, "Prefer: wait=30"),
               409, "kind_mismatch");
}
END_TEST

// --- the turn
// ---------------------------------------------------------------------------------------------------------

// ONCE-1
START_TEST(failed_run_goes_to_one_who_waits)
{
    struct under_way run = run_under_way("1h");
    struct raw *waiters[WAITERS];
    bool served[WAITERS] = {false};
    park(waiters, WAITERS, run.path);
    const char *token = run.token;
    for (int turn = 0; turn < WAITERS; turn++) {
        ck_status(FAIL(run.path, token), 204);
        int64_t until = clock_ms() + ONCE_PATIENCE;
        int who = -1;
        for (int i = 0; who < 0 && clock_ms() < until; i = (i + 1) % WAITERS)
            if (!served[i] && has_reply(waiters[i]))
                who = i;
        ck_assert_int_ge(who, 0);
        struct answer *answer = waited(waiters[who]);
        ck_header(answer, "Preference-Applied", "wait=60");
        ck_assert_int_gt(strtoll(run_token(answer), NULL, 10), strtoll(token, NULL, 10));
        // Those before it on its replica had their turn.
        for (int i = who - 2; i >= 0; i -= 2)
            ck_assert(served[i]);
        served[who] = true;
        token = http_text(api.client, "%s", run_token(answer));
        for (int i = 0; i < WAITERS; i++)
            ck_assert(served[i] || raw_silent(waiters[i], 5));
        raw_close(waiters[who]);
    }
    ck_status(FAIL(run.path, token), 204);
    ck_status(BEGIN(run.path), 201);
}
END_TEST

// ONCE-1
START_TEST(dead_runner_is_replaced_by_one_who_waits)
{
    struct under_way run = run_under_way("1s");
    struct answer *known = BEGIN(run.path);
    struct raw *waiters[4];
    park(waiters, 4, run.path);
    int64_t until = clock_ms() + ONCE_PATIENCE;
    int who = -1;
    for (int i = 0; who < 0 && clock_ms() < until; i = (i + 1) % 4)
        if (has_reply(waiters[i]))
            who = i;
    ck_assert_int_ge(who, 0);
    struct answer *answer = waited(waiters[who]);
    ck_assert_int_gt(strtoll(run_token(answer), NULL, 10), strtoll(run.token, NULL, 10));
    ck_assert_int_ge(run_end_of(answer) - SECOND, run_end_of(known));
    ck_problem(ANSWER(run.path, run.token, BODY("late")), 409, "lease_lost");
    ck_status(ANSWER(run.path, run_token(answer), BODY("in time")), 204);
    for (int i = 0; i < 4; i++)
        if (i != who)
            expect_kept(waited(waiters[i]), BODY("in time"));
}
END_TEST

// Its end is by the database's clock, which may be set while somebody waits.
START_TEST(run_that_a_moved_clock_ended_is_replaced)
{
    struct under_way run = run_under_way("1h");
    struct raw *raw;
    park(&raw, 1, run.path);
    database_shift_clock(&api.database, 3601 * SECOND);
    ck_status(waited(raw), 201);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(renewed_run_is_waited_for_and_a_shortened_one_less)
{
    struct under_way run = run_under_way("300ms");
    ck_status(RENEW_RUN(run.path, run.token, BODY("{\"ttl\":\"1h\"}")), 200);
    struct raw *raw;
    park(&raw, 1, run.path);
    ck_assert(raw_silent(raw, 500));
    ck_status(RENEW_RUN(run.path, run.token, BODY("{\"ttl\":\"400ms\"}")), 200);
    ck_assert(raw_silent(raw, 100));
    ck_status(waited(raw), 201);
}
END_TEST

START_TEST(answer_whose_time_ends_while_callers_wait)
{
    struct under_way run = run_under_way("1h");
    ck_status(PUT(TEXT("/v1/once/%s", run.name), BODY("{\"ttl\":\"1ms\",\"run_ttl\":\"1h\"}")), 200);
    struct raw *waiters[WAITERS];
    bool served[WAITERS] = {false};
    park(waiters, WAITERS, run.path);
    const char *token = run.token;
    int left = WAITERS, runs = 0;
    int64_t until = clock_ms() + 3 * ONCE_PATIENCE;
    ck_status(ANSWER(run.path, token, BODY("v")), 204);
    // Each of them is told the answer or that it is its turn, never left behind.
    for (int i = 0; left && clock_ms() < until; i = (i + 1) % WAITERS) {
        if (served[i] || !has_reply(waiters[i]))
            continue;
        struct answer *answer = waited(waiters[i]);
        served[i] = true;
        left--;
        if (answer->status == 201) {
            runs++;
            ck_status(ANSWER(run.path, run_token(answer), BODY("v")), 204);
        } else {
            expect_kept(answer, BODY("v"));
        }
    }
    ck_assert_int_eq(left, 0);
    ck_assert_int_le(runs, WAITERS);
}
END_TEST

// --- clients that leave
// -----------------------------------------------------------------------------------------------

START_TEST(run_passes_over_clients_that_left)
{
    struct under_way run = run_under_way("1h");
    struct raw *waiters[WAITERS];
    park(waiters, WAITERS, run.path);
    for (int i = 0; i < WAITERS - 1; i++)
        i % 4 < 2 ? raw_close(waiters[i]) : raw_abort(waiters[i]);
    ck_status(FAIL(run.path, run.token), 204);
    struct answer *last = waited(waiters[WAITERS - 1]);
    ck_status(FAIL(run.path, run_token(last)), 204);
    ck_status(BEGIN(run.path), 201);
}
END_TEST

struct free_key {
    const char *path;
    struct answer *answer;
};

static bool is_granted(void *user)
{
    struct free_key *key = user;
    key->answer = BEGIN(key->path);
    return key->answer->status == 201;
}

START_TEST(run_that_nobody_is_left_for_is_free)
{
    struct under_way run = run_under_way("1h");
    const char *token = run.token;
    for (int round = 0; round < 20; round++) {
        struct raw *waiters[4];
        for (int i = 0; i < 4; i++)
            waiters[i] = begin_waiting(replica(i), run.path, 60);
        if (round % 2)
            for (int i = 0; i < 4; i++)
                ck_assert(raw_silent(waiters[i], 5));
        for (int i = 0; i < 4; i++)
            raw_close(waiters[i]);
        ck_status(FAIL(run.path, token), 204);
        struct free_key key = {run.path, NULL};
        ck_assert(clock_wait(is_granted, &key, ONCE_PATIENCE));
        token = run_token(key.answer);
    }
}
END_TEST

// --- the name
// ---------------------------------------------------------------------------------------------------------

START_TEST(cleared_and_dropped_runs_go_to_one_who_waits)
{
    struct under_way run = run_under_way("1h");
    const char *path = TEXT("%s?under=a", run.path);
    begun(path);
    struct raw *waiters[3];
    park(waiters, 3, path);
    ck_status(DELETE(TEXT("/v1/once/%s?under=a", run.name)), 204);
    int64_t until = clock_ms() + ONCE_PATIENCE;
    int granted = 0;
    while (!granted && clock_ms() < until)
        for (int i = 0; i < 3; i++)
            if (waiters[i] && has_reply(waiters[i])) {
                run_token(waited(waiters[i]));
                waiters[i] = NULL;
                granted++;
            }
    ck_assert_int_eq(granted, 1);
    ck_status(DELETE(TEXT("/v1/once/%s", run.name)), 204);
    while (granted == 1 && clock_ms() < until)
        for (int i = 0; i < 3; i++)
            if (waiters[i] && has_reply(waiters[i])) {
                run_token(waited(waiters[i]));
                waiters[i] = NULL;
                granted++;
            }
    ck_assert_int_eq(granted, 2);
}
END_TEST

START_TEST(name_that_becomes_another_kind_ends_the_wait)
{
    PGconn *connection = database_connect(&api.database);
    struct under_way run = run_under_way("1h");
    struct raw *waiters[2];
    park(waiters, 2, run.path);
    sql_run(
        connection,
        "begin; select holdfast.lock_names(array['%s']); select holdfast.announce(array['%s'], null, null, "
        "'*'); update holdfast.buckets set kind = 'bucket' where name = '%s'; commit",
        run.name, run.name, run.name);
    for (int i = 0; i < 2; i++)
        ck_problem(waited(waiters[i]), 409, "kind_mismatch");
    PQfinish(connection);
}
END_TEST

// --- other calls
// ------------------------------------------------------------------------------------------------------

START_TEST(other_keys_do_not_end_a_wait)
{
    struct under_way run = run_under_way("1h");
    struct raw *raw;
    park(&raw, 1, run.path);
    const char *other = once_path(run.name, "other");
    ck_status(ANSWER(other, begun(other), BODY("v")), 204);
    ck_status(DELETE(other), 204);
    ck_status(DELETE(run.path), 204);
    ck_status(DELETE(TEXT("/v1/once/%s?under=x", run.name)), 204);
    ck_problem(ANSWER(run.path, "1", BODY("v")), 409, "lease_lost");
    ck_problem(FAIL(run.path, "1"), 409, "lease_lost");
    ck_status(RENEW_RUN(run.path, run.token, NO_BODY), 200);
    ck_assert(raw_silent(raw, QUIET_MS));
    ck_status(ANSWER(run.path, run.token, BODY("v")), 204);
    expect_kept(waited(raw), BODY("v"));
}
END_TEST

START_TEST(crowd_is_answered_whole)
{
    enum { MANY = 1000 };
    struct under_way run = run_under_way("1h");
    static struct raw *waiters[MANY];
    for (int i = 0; i < MANY; i++)
        waiters[i] = begin_waiting(api.service, run.path, 60);
    ck_assert(raw_silent(waiters[MANY - 1], 300));
    ck_status(ANSWER(run.path, run.token, BODY("v")), 204);
    for (int i = 0; i < MANY; i++) {
        expect_kept(waited(waiters[i]), BODY("v"));
        raw_close(waiters[i]);
    }
}
END_TEST

Suite *once_wait_suite(void)
{
    const TTest *const tests[] = {
        answer_wakes_all_who_wait,
        empty_answer_wakes_all_who_wait,
        large_answer_wakes_all_who_wait,
        wait_below_a_branch,
        wait_that_is_over_says_who_runs,
        wait_is_clamped_or_ignored,
        failed_run_goes_to_one_who_waits,
        dead_runner_is_replaced_by_one_who_waits,
        run_that_a_moved_clock_ended_is_replaced,
        renewed_run_is_waited_for_and_a_shortened_one_less,
        answer_whose_time_ends_while_callers_wait,
        run_passes_over_clients_that_left,
        run_that_nobody_is_left_for_is_free,
        cleared_and_dropped_runs_go_to_one_who_waits,
        name_that_becomes_another_kind_ends_the_wait,
        other_keys_do_not_end_a_wait,
        crowd_is_answered_whole,
        NULL,
    };
    return api_suite_of_two("once_wait", tests);
}
