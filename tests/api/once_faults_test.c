// Callers of once who wait outlive what goes wrong, and a run never goes to somebody who is not there:
// clients that leave at the worst moment, replicas that stop or are killed, sessions that are cut, a database
// that restarts.
#include "once_steps.h"

#include "wait_steps.h"

#include "support/clock.h"

#include <signal.h>

enum { WAITERS = 6, SOON_MS = 5000 };

static struct raw *waiters[WAITERS];

static void start_two(void)
{
    api.service = service_start(&(struct service_options){.database = api.database.url});
    api.twin = service_start(&(struct service_options){.database = api.database.url});
    api.client = http_client_new(service_url(api.twin));
}

static PGconn *start_both(void)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    start_two();
    return database_connect(&api.database);
}

static void end_both(PGconn *connection)
{
    http_client_free(api.client);
    service_end(api.service);
    service_end(api.twin);
    PQfinish(connection);
    database_drop(api.postgres, &api.database);
}

static const char *const path = "/v1/once/o/k";

// A run that lasts an hour: whoever gets another got it before that one's time ended.
static const char *begin_long_run(void)
{
    ck_status(PUT("/v1/once/o", BODY("{\"run_ttl\":\"1h\"}")), 201);
    return begun(path);
}

// Callers who wait on the first replica, sure to be told of changes.
static void park(PGconn *connection)
{
    for (int i = 0; i < WAITERS; i++)
        waiters[i] = begin_waiting(api.service, path, 100);
    wait_until_told(connection, 1);
    ck_assert(raw_silent(waiters[WAITERS - 1], 100));
}

// The one that has a reply, which comes within `limit_ms`; -1 when none does.
static int first_served(int limit_ms)
{
    int64_t until = clock_ms() + limit_ms;
    do
        for (int i = 0; i < WAITERS; i++)
            if (waiters[i] && !raw_silent(waiters[i], 0))
                return i;
    while (clock_ms() < until);
    return -1;
}

static struct answer *take_served(int limit_ms)
{
    int who = first_served(limit_ms);
    ck_assert_int_ge(who, 0);
    struct answer *answer = waited(waiters[who]);
    waiters[who] = NULL;
    return answer;
}

struct free_key {
    struct http_client *client;
    struct answer *answer;
};

static bool is_granted(void *user)
{
    struct free_key *key = user;
    key->answer = begin_on(key->client, path);
    return key->answer->status == 201;
}

static void expect_free(void)
{
    ck_assert(clock_wait(is_granted, &(struct free_key){.client = api.client}, SOON_MS));
}

// --- stopped in the database
// ------------------------------------------------------------------------------------------

// From now on the database's clock stops everybody but the gate's session, within the call that asks for it.
static void build_gate(PGconn *gate)
{
    sql_run(gate,
            "create or replace function holdfast.now() returns timestamptz language plpgsql volatile as $$ "
            "begin perform pg_advisory_lock_shared(99); perform pg_advisory_unlock_shared(99); "
            "return clock_timestamp(); end $$");
    sql_run(gate, "select pg_advisory_lock(99)");
}

static bool somebody_is_stopped(void *user)
{
    return sql_number(user,
                      "select count(*) from pg_locks where locktype = 'advisory' and objid = 99 and not "
                      "granted and database = (select oid from pg_database where datname = "
                      "current_database())") > 0;
}

// Ends the run as a runner that failed would, from the session that the gate lets through, and waits until
// the attempt of those who wait is under way and stopped.
static void fail_behind_the_gate(PGconn *gate)
{
    sql_run(gate,
            "begin; select holdfast.lock_names(array['o']); select holdfast.announce(array['o'], '{1}', "
            "array(select r.path from holdfast.once_runs r), 'o'); delete from holdfast.once_runs; commit");
    ck_assert(clock_wait(somebody_is_stopped, gate, ONCE_PATIENCE));
}

static void open_gate(PGconn *gate)
{
    sql_run(gate, "select pg_advisory_unlock(99)");
}

START_TEST(run_granted_to_a_client_that_left_is_handed_on)
{
    PGconn *gate = start_both();
    begin_long_run();
    park(gate);
    build_gate(gate);
    fail_behind_the_gate(gate);
    for (int i = 0; i < WAITERS - 1; i++)
        raw_close(waiters[i]);
    open_gate(gate);
    struct answer *last = waited(waiters[WAITERS - 1]);
    ck_status(FAIL(path, run_token(last)), 204);
    expect_free();
    end_both(gate);
}
END_TEST

START_TEST(run_granted_to_nobody_is_given_back)
{
    PGconn *gate = start_both();
    begin_long_run();
    park(gate);
    build_gate(gate);
    fail_behind_the_gate(gate);
    for (int i = 0; i < WAITERS; i++)
        raw_close(waiters[i]);
    open_gate(gate);
    expect_free();
    end_both(gate);
}
END_TEST

START_TEST(run_granted_at_once_to_a_client_that_left_is_given_back)
{
    PGconn *gate = start_both();
    ck_status(PUT("/v1/once/o", BODY("{\"run_ttl\":\"1h\"}")), 201);
    build_gate(gate);
    struct raw *raw = begin_waiting(api.service, path, 30);
    ck_assert(clock_wait(somebody_is_stopped, gate, ONCE_PATIENCE));
    raw_close(raw);
    open_gate(gate);
    expect_free();
    end_both(gate);
}
END_TEST

// --- replicas that go
// -------------------------------------------------------------------------------------------------

// K8S-3
START_TEST(sigterm_answers_who_waits_and_grants_nothing_after)
{
    PGconn *connection = start_both();
    const char *token = begin_long_run();
    park(connection);
    int64_t start = clock_ms();
    ck_assert_int_eq(kill(service_pid(api.service), SIGTERM), 0);
    for (int i = 0; i < WAITERS; i++) {
        struct answer *answer = waited(waiters[i]);
        ck_problem(answer, 503, "unavailable");
        ck_assert_int_ge(strtol(answer_need(answer, "Retry-After"), NULL, 10), 1);
        raw_close(waiters[i]);
    }
    ck_assert_int_lt(clock_ms() - start, SOON_MS);
    ck_assert_int_eq(service_wait(api.service, 2 * ONCE_PATIENCE), 0);
    api.service = NULL;
    ck_status(FAIL(path, token), 204);
    ck_status(BEGIN(path), 201);
    end_both(connection);
}
END_TEST

// The run is granted while the service stops: whoever is told so has it, and nobody else does.
START_TEST(sigterm_during_an_attempt_leaves_no_run_without_its_runner)
{
    PGconn *gate = start_both();
    begin_long_run();
    park(gate);
    build_gate(gate);
    fail_behind_the_gate(gate);
    ck_assert_int_eq(kill(service_pid(api.service), SIGTERM), 0);
    ck_assert(raw_silent(waiters[0], 300));
    open_gate(gate);
    const char *token = NULL;
    for (int i = 0; i < WAITERS; i++) {
        struct answer *answer = waited(waiters[i]);
        if (answer->status == 201 && !token)
            token = run_token(answer);
        else
            ck_problem(answer, 503, "unavailable");
    }
    ck_assert_int_eq(service_wait(api.service, 2 * ONCE_PATIENCE), 0);
    api.service = NULL;
    ck_assert_ptr_nonnull(token);
    ck_status(ANSWER(path, token, BODY("v")), 204);
    expect_kept(BEGIN(path), BODY("v"));
    end_both(gate);
}
END_TEST

START_TEST(caller_that_comes_while_the_service_stops_does_not_wait)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(&(struct service_options){
        .database = api.database.url, .flags = (const char *const[]){"--drain", "5s", NULL}});
    api.client = http_client_new(service_url(api.service));
    const char *token = begin_long_run();
    ck_assert_int_eq(kill(service_pid(api.service), SIGTERM), 0);
    int64_t until = clock_ms() + SOON_MS;
    while (GET("/readyz")->status != 503 && clock_ms() < until)
        clock_pause(5);
    struct answer *answer = http(api.client, "POST", path, NO_BODY, "Prefer: wait=30");
    ck_problem(answer, 503, "unavailable");
    ck_assert_ptr_nonnull(answer_header(answer, "Retry-After"));
    expect_running(BEGIN(path));
    ck_status(ANSWER(path, token, BODY("v")), 204);
    expect_kept(http(api.client, "POST", path, NO_BODY, "Prefer: wait=30"), BODY("v"));
    http_client_free(api.client);
    service_end(api.service);
    database_drop(api.postgres, &api.database);
}
END_TEST

START_TEST(killed_replica_takes_only_its_own_waiters_along)
{
    PGconn *connection = start_both();
    const char *token = begin_long_run();
    park(connection);
    struct raw *elsewhere = begin_waiting(api.twin, path, 100);
    wait_until_told(connection, 2);
    service_kill(api.service);
    api.service = NULL;
    ck_assert(raw_silent(elsewhere, 100));
    ck_status(FAIL(path, token), 204);
    struct answer *answer = waited(elsewhere);
    ck_status(ANSWER(path, run_token(answer), BODY("v")), 204);
    expect_kept(BEGIN(path), BODY("v"));
    end_both(connection);
}
END_TEST

// --- sessions and the database
// ----------------------------------------------------------------------------------------

START_TEST(cut_sessions_lose_no_turn)
{
    PGconn *connection = start_both();
    const char *token = begin_long_run();
    park(connection);
    for (int turn = 0; turn < WAITERS - 1; turn++) {
        sql_run(connection, "select pg_terminate_backend(pid) from pg_stat_activity where %s", IS_LISTENER);
        ck_status(FAIL(path, token), 204);
        token = http_text(api.client, "%s", run_token(take_served(ONCE_PATIENCE)));
    }
    sql_run(connection, "select pg_terminate_backend(pid) from pg_stat_activity where %s", IS_LISTENER);
    ck_status(ANSWER(path, token, BODY("v")), 204);
    expect_kept(take_served(ONCE_PATIENCE), BODY("v"));
    end_both(connection);
}
END_TEST

START_TEST(database_that_restarts_loses_no_caller)
{
    struct postgres *postgres = postgres_new(NULL);
    api.database = database_new(postgres, DATABASE_MIGRATED);
    start_two();
    PGconn *connection = database_connect(&api.database);
    const char *token = begin_long_run();
    park(connection);
    struct raw *late = begin_waiting(api.service, path, 3);
    ck_assert(raw_silent(late, 100));
    PQfinish(connection);
    postgres_stop(postgres);
    // What is not known is not told.
    ck_problem(waited(late), 503, "unavailable");
    ck_problem(waited(begin_waiting(api.service, path, 30)), 503, "unavailable");
    postgres_start(postgres);
    ck_assert(service_wait_ready(api.twin, ONCE_PATIENCE));
    ck_assert(service_wait_ready(api.service, ONCE_PATIENCE));
    ck_status(FAIL(path, token), 204);
    struct answer *next = take_served(ONCE_PATIENCE);
    ck_status(ANSWER(path, run_token(next), BODY("v")), 204);
    for (int i = 0; i < WAITERS - 1; i++)
        expect_kept(take_served(ONCE_PATIENCE), BODY("v"));
    http_client_free(api.client);
    service_end(api.service);
    service_end(api.twin);
    postgres_free(postgres);
}
END_TEST

Suite *once_faults_suite(void)
{
    const TTest *const tests[] = {
        run_granted_to_a_client_that_left_is_handed_on,
        run_granted_to_nobody_is_given_back,
        run_granted_at_once_to_a_client_that_left_is_given_back,
        sigterm_answers_who_waits_and_grants_nothing_after,
        sigterm_during_an_attempt_leaves_no_run_without_its_runner,
        caller_that_comes_while_the_service_stops_does_not_wait,
        killed_replica_takes_only_its_own_waiters_along,
        cut_sessions_lose_no_turn,
        database_that_restarts_loses_no_caller,
        NULL,
    };
    return api_suite_bare("once_faults", tests);
}
