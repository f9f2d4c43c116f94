// Queueing for a lease: first come, first served over two replicas, whoever leaves, dies or is stopped
// meanwhile.
#include "queue_steps.h"

#include "support/clock.h"
#include "support/parallel.h"

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

static int64_t database_now(PGconn *connection)
{
    return sql_number(connection, "select (extract(epoch from holdfast.now()) * 1000000)::bigint");
}

// --- one in the queue -------------------------------------------------------------------------------------

START_TEST(free_lease_is_granted_without_queueing)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
    struct answer *grant = expect_grant(queue_up(api.service, path, "A", "1m", 30), "A");
    ck_header(grant, "Preference-Applied", "wait=30");
    expect_places(connection, bucket, 0);
    PQfinish(connection);
}
END_TEST

START_TEST(release_grants_to_who_queues)
{
    PGconn *connection = database_connect(&api.database);
    for (int i = 0; i < 4; i++) {
        const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
        struct answer *first = ACQUIRE(path, "A", "1h");
        struct raw *raw = queue_up(i % 2 ? api.twin : api.service, path, "B", "5s", 30);
        expect_places(connection, bucket, 1);
        ck_assert(raw_silent(raw, 100));
        int64_t before = database_now(connection);
        struct answer *released = RELEASE(path, "A", answer_text(first, "token"));
        struct answer *grant = expect_grant(raw, "B");
        int64_t after = database_now(connection);
        ck_header(grant, "Preference-Applied", "wait=30");
        ck_assert_pstr_eq(answer_text(grant, "ttl"), "5s");
        ck_assert_int_ge(expiry_of(grant), before + 5 * SECOND);
        ck_assert_int_le(expiry_of(grant), after + 5 * SECOND);
        ck_assert_int_lt(after - before, SECOND);
        ck_assert_int_gt(token_of(grant), token_of(first));
        ck_assert_int_gt(position_of(grant), strtoll(answer_need(released, "Holdfast-Position"), NULL, 10));
        expect_places(connection, bucket, 0);
        raw_close(raw);
    }
    PQfinish(connection);
}
END_TEST

// LEASE-2: at once, without polling, and for a whole term.
START_TEST(expiry_grants_to_who_queues)
{
    PGconn *connection = database_connect(&api.database);
    for (int i = 0; i < 2; i++) {
        const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
        struct answer *first = ACQUIRE(path, "A", "1500ms");
        struct raw *raw = queue_up(i ? api.twin : api.service, path, "B", "5s", 30);
        struct answer *grant = expect_grant(raw, "B");
        int64_t granted = expiry_of(grant) - 5 * SECOND;
        ck_assert_int_ge(granted, expiry_of(first));
        ck_assert_int_le(granted, expiry_of(first) + SECOND / 2);
        ck_assert_int_lt(database_now(connection), granted + SECOND / 2);
        raw_close(raw);
    }
    PQfinish(connection);
}
END_TEST

// LEASE-2
START_TEST(time_that_is_up_is_409_and_no_grant_later)
{
    PGconn *connection = database_connect(&api.database);
    for (int i = 0; i < 2; i++) {
        const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
        struct answer *first = ACQUIRE(path, "A", "1m");
        int64_t begun = clock_ms();
        struct raw *raw = queue_up(i ? api.twin : api.service, path, "B", "5s", 1);
        struct answer *refused = wait_end(raw);
        ck_assert_int_ge(clock_ms() - begun, 1000);
        ck_assert_int_lt(clock_ms() - begun, 2000);
        ck_problem(refused, 409, "lease_held");
        ck_header(refused, "Preference-Applied", "wait=1");
        ck_assert_pstr_eq(answer_text(refused, "expires_at"), answer_text(first, "expires_at"));
        ck_assert_int_ge(strtol(answer_need(refused, "Retry-After"), NULL, 10), 58);
        expect_places(connection, bucket, 0);
        expect_released(RELEASE(path, "A", answer_text(first, "token")), true);
        ck_status(GET(path), 404);
        ck_status(ACQUIRE(path, "C", "1m"), 201);
        raw_close(raw);
    }
    PQfinish(connection);
}
END_TEST

START_TEST(renewal_keeps_the_queue_waiting)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
    struct answer *first = ACQUIRE(path, "A", "1s");
    struct raw *raw = queue_up(api.twin, path, "B", "5s", 30);
    expect_places(connection, bucket, 1);
    struct answer *renewed = RENEW(path, "A", answer_text(first, "token"), "2500ms");
    ck_status(renewed, 200);
    struct answer *grant = expect_grant(raw, "B");
    ck_assert_int_ge(expiry_of(grant) - 5 * SECOND, expiry_of(renewed));
    ck_assert_int_le(expiry_of(grant) - 5 * SECOND, expiry_of(renewed) + SECOND / 2);
    raw_close(raw);
    // A shorter term is heard of too.
    first = ACQUIRE(lease_path(bucket, "l"), "A", "1h");
    raw = queue_up(api.twin, lease_path(bucket, "l"), "B", "5s", 30);
    expect_places(connection, bucket, 1);
    ck_status(RENEW(lease_path(bucket, "l"), "A", answer_text(first, "token"), "200ms"), 200);
    expect_grant(raw, "B");
    raw_close(raw);
    PQfinish(connection);
}
END_TEST

START_TEST(dropped_bucket_grants_to_who_queues)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
    struct answer *first = ACQUIRE(path, "A", "1h");
    struct raw *raw = queue_up(api.twin, path, "B", "5s", 30);
    expect_places(connection, bucket, 1);
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    struct answer *grant = expect_grant(raw, "B");
    ck_assert_int_gt(token_of(grant), token_of(first));
    raw_close(raw);
    PQfinish(connection);
}
END_TEST

START_TEST(only_a_wait_queues)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *other = api_bucket();
    static const char *const none[] = {"wait=0", "wait=-1", "wait=x", "wait", "wait=1.5", "return=minimal"};
    ck_status(ACQUIRE(path, "A", "1h"), 201);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct raw *raw = queue_with(api.service, path, "B", "5s", none[i]);
        struct answer *refused = wait_end(raw);
        ck_problem(refused, 409, "lease_held");
        ck_header(refused, "Preference-Applied", NULL);
        raw_close(raw);
    }
    // What cannot come true is refused at once.
    declare_other_kind(connection, other);
    struct raw *raw = queue_up(api.service, lease_path(other, "k"), "B", "5s", 30);
    ck_problem(wait_end(raw), 409, "kind_mismatch");
    raw_close(raw);
    raw = queue_up(api.service, path, "B", "99ms", 30);
    ck_problem(wait_end(raw), 400, "invalid");
    raw_close(raw);
    expect_places(connection, bucket, 0);
    PQfinish(connection);
}
END_TEST

// --- many in the queue ------------------------------------------------------------------------------------

enum { LINE = 24 };

START_TEST(first_come_first_served_over_replicas)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
    struct answer *grant = ACQUIRE(path, "A", "1h");
    const char *holder = "A";
    struct raw *line[LINE];
    for (int i = 0; i < LINE; i++) {
        line[i] = queue_up(i % 3 == 1 ? api.twin : api.service, path, TEXT("h%d", i), "1h", 120);
        expect_places(connection, bucket, i + 1);
    }
    for (int i = 0; i < LINE; i++) {
        int64_t token = token_of(grant);
        expect_released(RELEASE(path, holder, answer_text(grant, "token")), true);
        holder = TEXT("h%d", i);
        grant = expect_grant(line[i], holder);
        ck_assert_int_gt(token_of(grant), token);
        // Nobody overtakes, with or without queueing.
        ck_problem(ACQUIRE(path, "C", "1m"), 409, "lease_held");
    }
    expect_places(connection, bucket, 0);
    for (int i = 0; i < LINE; i++)
        raw_close(line[i]);
    PQfinish(connection);
}
END_TEST

// A place is worth something also while its process has not heard of the release yet.
START_TEST(nobody_overtakes_a_place)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
    struct answer *grant = ACQUIRE(path, "A", "1h");
    expect_released(RELEASE(path, "A", answer_text(grant, "token")), true);
    sql_run(connection,
            "insert into holdfast.lease_waiters (bucket_id, slot, ticket, alive_until, path) "
            "select l.bucket_id, 0, 1, holdfast.now() + interval '1500 ms', l.path from holdfast.leases l "
            "join holdfast.buckets b on b.id = l.bucket_id where b.name = '%s'",
            bucket);
    struct answer *refused = ACQUIRE(path, "B", "1m");
    ck_problem(refused, 409, "lease_held");
    ck_header(refused, "Retry-After", "2");
    // Its process does not move on: it is passed over.
    struct raw *raw = queue_up(api.twin, path, "B", "1m", 30);
    expect_grant(raw, "B");
    expect_places(connection, bucket, 0);
    raw_close(raw);
    PQfinish(connection);
}
END_TEST

enum { CROWD = 200, CALLS_A_RELEASE = 12 };

static int64_t calls_so_far(PGconn *connection)
{
    return sql_number(connection, "select last_value / 256 from holdfast.revision");
}

START_TEST(release_costs_a_try_a_process)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
    struct answer *grant = ACQUIRE(path, "A", "1h");
    static struct raw *crowd[CROWD];
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = queue_up(i % 2 ? api.twin : api.service, path, "B", "1h", 120);
        if (i < 2)
            expect_places(connection, bucket, i + 1);
    }
    expect_places(connection, bucket, CROWD);
    int64_t before = calls_so_far(connection);
    expect_released(RELEASE(path, "A", answer_text(grant, "token")), true);
    expect_grant(crowd[0], "B");
    expect_places(connection, bucket, CROWD - 1);
    ck_assert(raw_silent(crowd[1], 500));
    // A release draws a block, a try two.
    ck_assert_int_le(calls_so_far(connection) - before, CALLS_A_RELEASE);
    for (int i = 0; i < CROWD; i++)
        raw_close(crowd[i]);
    expect_places(connection, bucket, 0);
    PQfinish(connection);
}
END_TEST

enum { RACERS = 64, RACES = 3 };

static void hold_shortly(size_t index, void *user)
{
    struct crowd *crowd = user;
    struct http_client *client = http_client_new(replica_url(index));
    for (int i = 0; i < crowd->turns; i++) {
        struct answer *grant =
            http(client, "POST", crowd->path, BODY("{\"holder\":\"A\",\"ttl\":\"1m\"}"), "Prefer: wait=100");
        crowd_enter(crowd, grant);
        crowd_leave(crowd, client, grant);
    }
    http_client_free(client);
}

START_TEST(everybody_in_a_crowd_is_served_alone)
{
    const char *bucket = api_bucket();
    struct crowd crowd = {.path = lease_path(bucket, "k"), .turns = RACES};
    expect_served_alone(&crowd, bucket, RACERS, hold_shortly);
}
END_TEST

// WAIT-2
START_TEST(no_release_is_missed)
{
    enum { ROUNDS = 600 };
    const char *path = lease_path(api_bucket(), "k");
    unsigned seed = 7;
    for (int i = 0; i < ROUNDS; i++) {
        struct answer *grant = ACQUIRE(path, "A", "1h");
        ck_status(grant, 201);
        struct raw *raw = queue_up(i % 2 ? api.twin : api.service, path, "B", "1h", 100);
        struct timespec offset = {.tv_nsec = rand_r(&seed) % 3 * 1000000L + rand_r(&seed) % 1000000};
        nanosleep(&offset, NULL);
        int64_t begun = clock_ms();
        expect_released(RELEASE(path, "A", answer_text(grant, "token")), true);
        grant = expect_grant(raw, "B");
        ck_assert_int_lt(clock_ms() - begun, 1000);
        expect_released(RELEASE(path, "B", answer_text(grant, "token")), true);
        raw_close(raw);
    }
}
END_TEST

// --- those who leave --------------------------------------------------------------------------------------

// LEASE-2
START_TEST(client_that_left_is_skipped)
{
    PGconn *connection = database_connect(&api.database);
    for (int i = 0; i < 4; i++) {
        const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
        struct answer *first = ACQUIRE(path, "A", "1h");
        struct raw *gone = queue_up(i % 2 ? api.twin : api.service, path, "B", "1h", 100);
        expect_places(connection, bucket, 1);
        struct raw *next = queue_up(api.service, path, "C", "1h", 100);
        expect_places(connection, bucket, 2);
        if (i < 2)
            raw_close(gone);
        else
            raw_abort(gone);
        expect_places(connection, bucket, 1);
        expect_released(RELEASE(path, "A", answer_text(first, "token")), true);
        expect_grant(next, "C");
        raw_close(next);
    }
    PQfinish(connection);
}
END_TEST

// Leaving and being granted the lease at the same moment: the next one does not wait for the term.
START_TEST(client_that_leaves_as_it_is_granted_holds_nobody_up)
{
    enum { ROUNDS = 60 };
    for (int i = 0; i < ROUNDS; i++) {
        const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
        PGconn *connection = database_connect(&api.database);
        struct answer *first = ACQUIRE(path, "A", "1h");
        struct raw *gone = queue_up(i % 2 ? api.twin : api.service, path, "B", "1h", 100);
        expect_places(connection, bucket, 1);
        struct raw *next = queue_up(api.service, path, "C", "1h", 100);
        expect_places(connection, bucket, 2);
        if (i % 3 == 0)
            raw_close(gone);
        expect_released(RELEASE(path, "A", answer_text(first, "token")), true);
        if (i % 3 == 0) {
            expect_grant(next, "C");
        } else {
            struct answer *grant = expect_grant(gone, "B");
            expect_released(RELEASE(path, "B", answer_text(grant, "token")), true);
            expect_grant(next, "C");
            raw_close(gone);
        }
        raw_close(next);
        PQfinish(connection);
    }
}
END_TEST

static struct service *start_own(void)
{
    return service_start(&(struct service_options){.database = api.database.url});
}

struct sessions {
    PGconn *connection;
    int64_t listeners; // so many at most; 0: any number
};

static bool are_quiet(void *user)
{
    struct sessions *sessions = user;
    if (sessions->listeners &&
        sql_number(sessions->connection, "select count(*) from pg_stat_activity where " IS_LISTENER) >
            sessions->listeners)
        return false;
    return sql_number(sessions->connection,
                      "select count(*) from pg_stat_activity where datname = current_database() "
                      "and state <> 'idle' and pid <> pg_backend_pid()") == 0;
}

// A process that died, or is stopped, keeps nobody waiting for long.
static void pass_over(int signal_number)
{
    PGconn *connection = database_connect(&api.database);
    struct sessions before = {
        connection, sql_number(connection, "select count(*) from pg_stat_activity where " IS_LISTENER)};
    struct service *own = start_own();
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
    struct answer *first = ACQUIRE(path, "A", "1h");
    struct raw *dead = queue_up(own, path, "B", "1h", 100);
    expect_places(connection, bucket, 1);
    struct raw *next = queue_up(api.service, path, "C", "1h", 100);
    expect_places(connection, bucket, 2);
    kill(service_pid(own), signal_number);
    // What it had sent already is done: a try among that could still be granted.
    if (signal_number == SIGSTOP)
        before.listeners = 0;
    ck_assert(clock_wait(are_quiet, &before, WAIT_PATIENCE));
    int64_t begun = clock_ms();
    expect_released(RELEASE(path, "A", answer_text(first, "token")), true);
    struct answer *grant = raw_read(next, false, 20 * 1000);
    ck_assert_ptr_nonnull(grant);
    ck_status(grant, 201);
    ck_assert_int_lt(clock_ms() - begun, 12 * 1000);
    if (signal_number == SIGSTOP) {
        // It goes on, with its client still there: it is next.
        kill(service_pid(own), SIGCONT);
        expect_released(RELEASE(path, "C", answer_text(grant, "token")), true);
        expect_grant(dead, "B");
        service_end(own);
    } else {
        service_kill(own);
    }
    raw_close(dead);
    raw_close(next);
    PQfinish(connection);
}

START_TEST(killed_replica_is_passed_over)
{
    pass_over(SIGKILL);
}
END_TEST

START_TEST(stopped_replica_is_passed_over)
{
    pass_over(SIGSTOP);
}
END_TEST

// A place lives as long as its client, however long that is.
START_TEST(place_outlives_the_time_without_a_sign)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
    struct answer *first = ACQUIRE(path, "A", "1h");
    struct raw *raw = queue_up(api.twin, path, "B", "1h", 100);
    expect_places(connection, bucket, 1);
    int64_t until = clock_ms() + 10 * 1000;
    while (clock_ms() < until) {
        ck_assert_int_eq(
            sql_number(connection,
                       "select count(*) from holdfast.lease_waiters w join holdfast.buckets b on "
                       "b.id = w.bucket_id where b.name = '%s' and alive_until > holdfast.now()",
                       bucket),
            1);
        clock_pause(100);
    }
    expect_released(RELEASE(path, "A", answer_text(first, "token")), true);
    expect_grant(raw, "B");
    raw_close(raw);
    PQfinish(connection);
}
END_TEST

START_TEST(sigterm_ends_queueing_with_503)
{
    PGconn *connection = database_connect(&api.database);
    struct service *own = start_own();
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *other = lease_path(bucket, "l");
    struct answer *first = ACQUIRE(path, "A", "1h");
    ck_status(ACQUIRE(other, "A", "1h"), 201);
    struct raw *line[LINE];
    for (int i = 0; i < LINE; i++)
        line[i] = queue_up(own, i % 2 ? path : other, "B", "1h", 100);
    expect_places(connection, bucket, LINE);
    kill(service_pid(own), SIGTERM);
    for (int i = 0; i < LINE; i++) {
        struct answer *refused = wait_end(line[i]);
        ck_problem(refused, 503, "unavailable");
        ck_assert_int_ge(strtol(answer_need(refused, "Retry-After"), NULL, 10), 1);
        ck_header(refused, "Connection", "close");
    }
    expect_places(connection, bucket, 0);
    ck_assert_int_eq(service_wait(own, 30 * 1000), 0);
    expect_released(RELEASE(path, "A", answer_text(first, "token")), true);
    ck_status(GET(path), 404);
    ck_status(ACQUIRE(path, "C", "1m"), 201);
    for (int i = 0; i < LINE; i++)
        raw_close(line[i]);
    PQfinish(connection);
}
END_TEST

// --- faults -----------------------------------------------------------------------------------------------

START_TEST(cut_listener_loses_no_release)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
    struct answer *first = ACQUIRE(path, "A", "1h");
    struct raw *raw = queue_up(api.twin, path, "B", "1h", 100);
    expect_places(connection, bucket, 1);
    sql_run(connection, "select pg_terminate_backend(pid) from pg_stat_activity where " IS_LISTENER);
    expect_released(RELEASE(path, "A", answer_text(first, "token")), true);
    expect_grant(raw, "B");
    raw_close(raw);
    PQfinish(connection);
}
END_TEST

START_TEST(places_that_were_left_behind_are_freed)
{
    PGconn *connection = database_connect(&api.database);
    struct service *own = start_own();
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
    ck_status(ACQUIRE(path, "A", "1h"), 201);
    struct raw *raw = queue_up(own, path, "B", "1h", 100);
    expect_places(connection, bucket, 1);
    service_kill(own);
    database_shift_clock(&api.database, 20 * 60 * SECOND);
    expect_places(connection, bucket, 0);
    database_shift_clock(&api.database, 0);
    raw_close(raw);
    PQfinish(connection);
}
END_TEST

Suite *lease_wait_suite(void)
{
    const TTest *const tests[] = {
        free_lease_is_granted_without_queueing,
        release_grants_to_who_queues,
        expiry_grants_to_who_queues,
        time_that_is_up_is_409_and_no_grant_later,
        renewal_keeps_the_queue_waiting,
        dropped_bucket_grants_to_who_queues,
        only_a_wait_queues,
        first_come_first_served_over_replicas,
        nobody_overtakes_a_place,
        release_costs_a_try_a_process,
        everybody_in_a_crowd_is_served_alone,
        no_release_is_missed,
        client_that_left_is_skipped,
        client_that_leaves_as_it_is_granted_holds_nobody_up,
        killed_replica_is_passed_over,
        stopped_replica_is_passed_over,
        place_outlives_the_time_without_a_sign,
        sigterm_ends_queueing_with_503,
        cut_listener_loses_no_release,
        places_that_were_left_behind_are_freed,
        NULL,
    };
    return api_suite_of_two("lease_wait", tests);
}
