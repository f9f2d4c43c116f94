// Queueing for a lease under an Idempotency-Key: it waits as without one, and however often the request is
// sent there is one grant, and every copy of it is told.
#include "queue_steps.h"

#include "support/clock.h"
#include "support/cut_proxy.h"
#include "support/parallel.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

// Who is told of a change tries at once; who was not, only after ten seconds.
enum { HEARD_MS = 5000 };

static const char *new_key(void)
{
    static unsigned keys;
    return TEXT("queue-%d-%u", (int)getpid(), ++keys);
}

static struct raw *queue_under(const struct service *service, const char *path, const char *holder,
                               const char *key)
{
    return queue_with(service, path, holder, "1h", TEXT("wait=60\r\nIdempotency-Key: %s", key));
}

static bool is_replayed(const struct answer *answer)
{
    return answer_header(answer, "Holdfast-Replayed") != NULL;
}

// The same request again, to either replica: the same grant.
static void expect_kept(const char *path, const char *holder, const char *key, const struct answer *grant)
{
    for (int i = 0; i < 2; i++) {
        struct raw *raw = queue_under(i ? api.twin : api.service, path, holder, key);
        struct answer *again = expect_grant(raw, holder);
        ck_header(again, "Holdfast-Replayed", "true");
        ck_body(again, grant->body);
        ck_header(again, "Holdfast-Position", answer_need(grant, "Holdfast-Position"));
        raw_close(raw);
    }
}

static void release(const char *path, const char *holder, const struct answer *grant)
{
    expect_released(RELEASE(path, holder, answer_text(grant, "token")), true);
}

static struct service *start_own(void)
{
    return service_start(&(struct service_options){.database = api.database.url});
}

// --- waiting ----------------------------------------------------------------------------------------------

START_TEST(free_lease_is_granted_at_once_and_kept)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *key = new_key();
    struct answer *grant = expect_grant(queue_under(api.service, path, "A", key), "A");
    ck_header(grant, "Preference-Applied", "wait=60");
    ck_header(grant, "Holdfast-Replayed", NULL);
    expect_kept(path, "A", key, grant);
    expect_places(connection, bucket, 0);
    PQfinish(connection);
}
END_TEST

static bool is_nothing_held(void *user)
{
    return sql_number(
               user, "select (select count(*) from pg_stat_activity where datname = current_database() "
                     "and pid <> pg_backend_pid() and state like 'idle in transaction%%') + "
                     "(select count(*) from pg_locks where locktype = 'advisory' and classid = 7240005 "
                     "and database = (select oid from pg_database where datname = current_database()))") == 0;
}

START_TEST(keyed_request_waits_without_a_transaction)
{
    PGconn *connection = database_connect(&api.database);
    for (int i = 0; i < 2; i++) {
        const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *key = new_key();
        struct answer *first = ACQUIRE(path, "A", "1h");
        struct raw *raw = queue_under(i ? api.twin : api.service, path, "B", key);
        expect_places(connection, bucket, 1);
        ck_assert(raw_silent(raw, 100));
        ck_assert(clock_wait(is_nothing_held, connection, WAIT_PATIENCE));
        int64_t begun = clock_ms();
        release(path, "A", first);
        struct answer *grant = expect_grant(raw, "B");
        ck_assert_int_lt(clock_ms() - begun, HEARD_MS);
        ck_header(grant, "Preference-Applied", "wait=60");
        ck_header(grant, "Holdfast-Replayed", NULL);
        ck_assert_int_gt(token_of(grant), token_of(first));
        expect_kept(path, "B", key, grant);
        expect_places(connection, bucket, 0);
        ck_problem(ACQUIRE(path, "C", "1m"), 409, "lease_held");
        release(path, "B", grant);
        ck_status(GET(path), 404);
        raw_close(raw);
    }
    PQfinish(connection);
}
END_TEST

START_TEST(expiry_grants_to_a_keyed_request)
{
    const char *path = lease_path(api_bucket(), "k");
    struct answer *first = ACQUIRE(path, "A", "700ms");
    struct answer *grant = expect_grant(queue_under(api.twin, path, "B", new_key()), "B");
    int64_t granted = expiry_of(grant) - 3600 * SECOND;
    ck_assert_int_ge(granted, expiry_of(first));
    ck_assert_int_le(granted, expiry_of(first) + HEARD_MS * 1000);
}
END_TEST

// A refusal is not kept: the same key can be used until it has had an effect.
START_TEST(keyed_wait_that_is_over_is_409_and_not_kept)
{
    PGconn *connection = database_connect(&api.database);
    for (int i = 0; i < 2; i++) {
        const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *key = new_key();
        struct answer *first = ACQUIRE(path, "A", "1h");
        int64_t begun = clock_ms();
        struct raw *raw = queue_with(i ? api.twin : api.service, path, "B", "1h",
                                     TEXT("wait=1\r\nIdempotency-Key: %s", key));
        struct answer *refused = wait_end(raw);
        ck_assert_int_ge(clock_ms() - begun, 1000);
        ck_assert_int_lt(clock_ms() - begun, HEARD_MS);
        ck_problem(refused, 409, "lease_held");
        ck_header(refused, "Preference-Applied", "wait=1");
        ck_assert_pstr_eq(answer_text(refused, "expires_at"), answer_text(first, "expires_at"));
        ck_assert_int_ge(strtol(answer_need(refused, "Retry-After"), NULL, 10), 3590);
        expect_places(connection, bucket, 0);
        release(path, "A", first);
        ck_status(GET(path), 404);
        struct answer *grant = expect_grant(queue_under(api.service, path, "B", key), "B");
        ck_header(grant, "Holdfast-Replayed", NULL);
        expect_kept(path, "B", key, grant);
        raw_close(raw);
    }
    PQfinish(connection);
}
END_TEST

START_TEST(another_request_under_the_key_of_one_that_was_granted_is_422)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *key = new_key();
    struct answer *first = ACQUIRE(path, "A", "1h");
    struct raw *raw = queue_under(api.service, path, "B", key);
    expect_places(connection, bucket, 1);
    struct raw *other = queue_under(api.twin, path, "C", key);
    expect_places(connection, bucket, 2);
    release(path, "A", first);
    expect_grant(raw, "B");
    ck_problem(wait_end(other), 422, "idempotency_mismatch");
    expect_places(connection, bucket, 0);
    raw_close(raw);
    raw_close(other);
    PQfinish(connection);
}
END_TEST

enum { LINE = 12 };

START_TEST(first_come_first_served_with_keys_and_without)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *holder = "A";
    struct answer *grant = ACQUIRE(path, "A", "1h");
    struct raw *line[LINE];
    for (int i = 0; i < LINE; i++) {
        const struct service *service = i % 3 == 1 ? api.twin : api.service;
        line[i] = i % 2 ? queue_up(service, path, TEXT("h%d", i), "1h", 60)
                        : queue_under(service, path, TEXT("h%d", i), new_key());
        expect_places(connection, bucket, i + 1);
    }
    for (int i = 0; i < LINE; i++) {
        release(path, holder, grant);
        holder = TEXT("h%d", i);
        grant = expect_grant(line[i], holder);
        ck_problem(ACQUIRE(path, "C", "1m"), 409, "lease_held");
    }
    expect_places(connection, bucket, 0);
    for (int i = 0; i < LINE; i++)
        raw_close(line[i]);
    PQfinish(connection);
}
END_TEST

// --- copies of one request --------------------------------------------------------------------------------

// Copies wait on both replicas, a stranger among them: the first copy is granted, the others are told at
// once, before the stranger's turn, and leave no place.
START_TEST(copies_that_queue_are_told_of_the_one_grant)
{
    enum { COPIES = 6 };
    PGconn *connection = database_connect(&api.database);
    for (int round = 0; round < 4; round++) {
        const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *key = new_key();
        struct answer *first = ACQUIRE(path, "A", "1h");
        struct raw *copies[COPIES], *stranger = NULL, *other = NULL;
        for (int i = 0; i < COPIES; i++) {
            copies[i] = queue_under((i + round) % 2 ? api.twin : api.service, path, "B", key);
            expect_places(connection, bucket, i + (i ? 3 : 1));
            if (i == 0) {
                stranger = queue_up(api.service, path, "C", "1h", 60);
                expect_places(connection, bucket, 2);
                other = queue_under(api.twin, path, "D", new_key());
                expect_places(connection, bucket, 3);
            }
        }
        int64_t begun = clock_ms();
        release(path, "A", first);
        struct answer *grant = expect_grant(copies[0], "B");
        int originals = !is_replayed(grant);
        for (int i = 1; i < COPIES; i++) {
            struct answer *copy = expect_grant(copies[i], "B");
            ck_body(copy, grant->body);
            originals += !is_replayed(copy);
        }
        ck_assert_int_lt(clock_ms() - begun, HEARD_MS);
        ck_assert_int_eq(originals, 1);
        expect_places(connection, bucket, 2);
        ck_assert(raw_silent(stranger, 50));
        release(path, "B", grant);
        release(path, "C", expect_grant(stranger, "C"));
        expect_grant(other, "D");
        for (int i = 0; i < COPIES; i++)
            raw_close(copies[i]);
        raw_close(stranger);
        raw_close(other);
    }
    PQfinish(connection);
}
END_TEST

enum { COPIERS = 16 };

struct copied {
    const char *path;
    const char *key;
    atomic_int originals, granted;
    char body[COPIERS][300];
};

static void queue_as_copy(size_t index, void *user)
{
    struct copied *copied = user;
    struct http_client *client = http_client_new(replica_url(index));
    struct answer *grant = http(client, "POST", copied->path, BODY("{\"holder\":\"B\",\"ttl\":\"1h\"}"),
                                "Prefer: wait=60", copied->key);
    atomic_fetch_add(&copied->granted, grant->status == 201);
    atomic_fetch_add(&copied->originals, !is_replayed(grant));
    snprintf(copied->body[index], sizeof copied->body[index], "%s", (const char *)grant->body.data);
    http_client_free(client);
}

struct hold {
    const char *path;
    const char *token;
    struct copied *copied;
};

static void release_amid_copies(size_t index, void *user)
{
    struct hold *hold = user;
    if (index) {
        queue_as_copy(index - 1, hold->copied);
        return;
    }
    struct timespec offset = {.tv_nsec = rand() % 40 * 1000000L};
    nanosleep(&offset, NULL);
    struct http_client *client = http_client_new(service_url(api.twin));
    expect_released(release_on(client, hold->path, "A", hold->token), true);
    http_client_free(client);
}

START_TEST(copies_that_race_get_one_grant)
{
    enum { ROUNDS = 12 };
    PGconn *connection = database_connect(&api.database);
    for (int round = 0; round < ROUNDS; round++) {
        const char *bucket = api_bucket();
        struct copied copied = {.path = lease_path(bucket, "k"),
                                .key = TEXT("Idempotency-Key: %s", new_key())};
        struct answer *first = ACQUIRE(copied.path, "A", "1h");
        struct hold hold = {copied.path, answer_text(first, "token"), &copied};
        parallel_run(COPIERS + 1, release_amid_copies, &hold);
        ck_assert_int_eq(copied.granted, COPIERS);
        ck_assert_int_eq(copied.originals, 1);
        for (int i = 1; i < COPIERS; i++)
            ck_assert_str_eq(copied.body[i], copied.body[0]);
        expect_places(connection, bucket, 0);
    }
    PQfinish(connection);
}
END_TEST

enum { RACERS = 32, RACES = 3 };

// Each of its requests has a key of its own, and is sent twice.
static void hold_shortly(size_t index, void *user)
{
    struct crowd *crowd = user;
    struct http_client *client = http_client_new(replica_url(index));
    struct http_client *other = http_client_new(replica_url(index + 1));
    for (int i = 0; i < crowd->turns; i++) {
        const char *key = http_text(client, "Idempotency-Key: %s-%zu-%d", crowd->key, index, i);
        struct bytes body = BODY("{\"holder\":\"A\",\"ttl\":\"1m\"}");
        struct answer *grant = http(client, "POST", crowd->path, body, "Prefer: wait=100", key);
        crowd_enter(crowd, grant);
        struct answer *again = http(other, "POST", crowd->path, body, "Prefer: wait=100", key);
        ck_header(again, "Holdfast-Replayed", "true");
        ck_body(again, grant->body);
        crowd_leave(crowd, client, grant);
    }
    http_client_free(client);
    http_client_free(other);
}

START_TEST(everybody_in_a_keyed_crowd_is_served_alone)
{
    const char *bucket = api_bucket();
    struct crowd crowd = {.path = lease_path(bucket, "k"), .key = new_key(), .turns = RACES};
    expect_served_alone(&crowd, bucket, RACERS, hold_shortly);
}
END_TEST

START_TEST(no_release_is_missed_under_a_key)
{
    enum { ROUNDS = 200 };
    const char *path = lease_path(api_bucket(), "k");
    unsigned seed = 7;
    for (int i = 0; i < ROUNDS; i++) {
        struct answer *first = ACQUIRE(path, "A", "1h");
        ck_status(first, 201);
        struct raw *raw = queue_under(i % 2 ? api.twin : api.service, path, "B", new_key());
        struct timespec offset = {.tv_nsec = rand_r(&seed) % 5 * 1000000L + rand_r(&seed) % 1000000};
        nanosleep(&offset, NULL);
        int64_t begun = clock_ms();
        release(path, "A", first);
        struct answer *grant = expect_grant(raw, "B");
        ck_assert_int_lt(clock_ms() - begun, HEARD_MS);
        release(path, "B", grant);
        raw_close(raw);
    }
}
END_TEST

// --- those who leave --------------------------------------------------------------------------------------

START_TEST(client_that_left_gives_its_place_up_and_may_come_again)
{
    PGconn *connection = database_connect(&api.database);
    for (int i = 0; i < 4; i++) {
        const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *key = new_key();
        struct answer *first = ACQUIRE(path, "A", "1h");
        struct raw *gone = queue_under(i % 2 ? api.twin : api.service, path, "B", key);
        expect_places(connection, bucket, 1);
        struct raw *next = queue_under(api.service, path, "C", new_key());
        expect_places(connection, bucket, 2);
        if (i < 2)
            raw_close(gone);
        else
            raw_abort(gone);
        expect_places(connection, bucket, 1);
        release(path, "A", first);
        struct answer *grant = expect_grant(next, "C");
        struct raw *again = queue_under(api.service, path, "B", key);
        expect_places(connection, bucket, 1);
        release(path, "C", grant);
        ck_header(expect_grant(again, "B"), "Holdfast-Replayed", NULL);
        raw_close(next);
        raw_close(again);
    }
    PQfinish(connection);
}
END_TEST

// Leaving and being granted the lease at the same moment: whoever comes again has it, and has it once.
START_TEST(client_that_leaves_as_it_is_granted_finds_its_grant)
{
    enum { ROUNDS = 40 };
    PGconn *connection = database_connect(&api.database);
    for (int i = 0; i < ROUNDS; i++) {
        const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *key = new_key();
        struct answer *first = ACQUIRE(path, "A", "1h");
        struct raw *gone = queue_under(i % 2 ? api.twin : api.service, path, "B", key);
        expect_places(connection, bucket, 1);
        if (i % 4 < 2) {
            raw_close(gone);
            release(path, "A", first);
        } else {
            release(path, "A", first);
            raw_abort(gone);
        }
        struct raw *again = queue_under(i % 3 ? api.twin : api.service, path, "B", key);
        struct answer *grant = expect_grant(again, "B");
        expect_kept(path, "B", key, grant);
        release(path, "B", grant);
        ck_status(GET(path), 404);
        expect_places(connection, bucket, 0);
        raw_close(again);
    }
    PQfinish(connection);
}
END_TEST

// It leaves while its first try is under way; the same request from another connection is answered.
START_TEST(client_that_vanishes_at_once_finds_its_grant)
{
    enum { ROUNDS = 150 };
    for (int i = 0; i < ROUNDS; i++) {
        const char *path = lease_path(api_bucket(), "k"), *key = new_key();
        struct raw *gone = queue_under(i % 2 ? api.twin : api.service, path, "B", key);
        raw_abort(gone);
        struct raw *again = queue_under(i % 3 ? api.twin : api.service, path, "B", key);
        release(path, "B", expect_grant(again, "B"));
        ck_status(GET(path), 404);
        raw_close(again);
    }
}
END_TEST

START_TEST(sigterm_ends_keyed_queueing_with_503_and_keeps_nothing)
{
    PGconn *connection = database_connect(&api.database);
    struct service *own = start_own();
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k");
    struct answer *first = ACQUIRE(path, "A", "1h");
    struct raw *line[LINE];
    const char *keys[LINE];
    for (int i = 0; i < LINE; i++) {
        keys[i] = new_key();
        line[i] = queue_under(own, path, "B", keys[i]);
    }
    expect_places(connection, bucket, LINE);
    kill(service_pid(own), SIGTERM);
    for (int i = 0; i < LINE; i++) {
        struct answer *refused = wait_end(line[i]);
        ck_problem(refused, 503, "unavailable");
        ck_assert_int_ge(strtol(answer_need(refused, "Retry-After"), NULL, 10), 1);
        raw_close(line[i]);
    }
    expect_places(connection, bucket, 0);
    ck_assert_int_eq(service_wait(own, 30 * 1000), 0);
    release(path, "A", first);
    ck_status(GET(path), 404);
    struct answer *grant = expect_grant(queue_under(api.service, path, "B", keys[0]), "B");
    ck_header(grant, "Holdfast-Replayed", NULL);
    PQfinish(connection);
}
END_TEST

// Its place lasts for its term, and its client comes to another replica with the same key.
START_TEST(killed_replica_keeps_nobody_from_its_key)
{
    PGconn *connection = database_connect(&api.database);
    struct service *own = start_own();
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *key = new_key();
    struct answer *first = ACQUIRE(path, "A", "1h");
    struct raw *dead = queue_under(own, path, "B", key);
    expect_places(connection, bucket, 1);
    service_kill(own);
    struct raw *again = queue_under(api.twin, path, "B", key);
    expect_places(connection, bucket, 2);
    int64_t begun = clock_ms();
    release(path, "A", first);
    struct answer *grant = raw_read(again, false, 20 * 1000);
    ck_assert_ptr_nonnull(grant);
    ck_status(grant, 201);
    ck_assert_int_lt(clock_ms() - begun, 12 * 1000);
    expect_kept(path, "B", key, grant);
    expect_places(connection, bucket, 0);
    raw_close(dead);
    raw_close(again);
    PQfinish(connection);
}
END_TEST

// --- faults -----------------------------------------------------------------------------------------------

static void end_all_sessions(PGconn *connection)
{
    sql_run(connection, "select pg_terminate_backend(pid) from pg_stat_activity where "
                        "datname = current_database() and pid <> pg_backend_pid()");
}

struct lease_end {
    const char *path;
    const char *token;
};

static bool is_released(void *user)
{
    struct lease_end *end = user;
    return RELEASE(end->path, "A", end->token)->status == 200;
}

START_TEST(lost_connections_lose_no_keyed_wait)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *key = new_key();
    struct lease_end end = {path, answer_text(ACQUIRE(path, "A", "1h"), "token")};
    struct raw *raw = queue_under(api.twin, path, "B", key);
    expect_places(connection, bucket, 1);
    for (int i = 0; i < 3; i++)
        end_all_sessions(connection);
    ck_assert(clock_wait(is_released, &end, WAIT_PATIENCE));
    struct answer *grant = expect_grant(raw, "B");
    expect_kept(path, "B", key, grant);
    raw_close(raw);
    PQfinish(connection);
}
END_TEST

// The grant's commit is cut off, in turn just before and just after PostgreSQL had it.
START_TEST(grant_whose_commit_is_cut_off_is_one_grant)
{
    enum { ROUNDS = 12 };
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    PGconn *connection = database_connect(&api.database);
    struct service *own =
        service_start(&(struct service_options){.database = cut_proxy_url(proxy, &api.database)});
    for (int round = 0; round < ROUNDS; round++) {
        const char *bucket = api_bucket(), *path = lease_path(bucket, "k"), *key = new_key();
        struct answer *first = ACQUIRE(path, "A", "1h");
        struct raw *raw = queue_under(own, path, "B", key);
        expect_places(connection, bucket, 1);
        // Sent together with its commit, and in no try that is not granted.
        cut_proxy_arm(proxy, round % 2 ? CUT_AFTER : CUT_BEFORE, "keep_reply_");
        release(path, "A", first);
        if (round % 2) {
            expect_places(connection, bucket, 0);
            ck_assert(cut_proxy_cut(proxy));
        }
        struct answer *grant = expect_grant(raw, "B");
        ck_assert(cut_proxy_met(proxy));
        ck_header(grant, "Holdfast-Replayed", NULL);
        expect_kept(path, "B", key, grant);
        expect_places(connection, bucket, 0);
        release(path, "B", grant);
        ck_status(GET(path), 404);
        raw_close(raw);
    }
    service_end(own);
    PQfinish(connection);
    cut_proxy_end(proxy);
}
END_TEST

Suite *lease_keys_suite(void)
{
    const TTest *const tests[] = {
        free_lease_is_granted_at_once_and_kept,
        keyed_request_waits_without_a_transaction,
        expiry_grants_to_a_keyed_request,
        keyed_wait_that_is_over_is_409_and_not_kept,
        another_request_under_the_key_of_one_that_was_granted_is_422,
        first_come_first_served_with_keys_and_without,
        copies_that_queue_are_told_of_the_one_grant,
        copies_that_race_get_one_grant,
        everybody_in_a_keyed_crowd_is_served_alone,
        no_release_is_missed_under_a_key,
        client_that_left_gives_its_place_up_and_may_come_again,
        client_that_leaves_as_it_is_granted_finds_its_grant,
        client_that_vanishes_at_once_finds_its_grant,
        sigterm_ends_keyed_queueing_with_503_and_keeps_nothing,
        killed_replica_keeps_nobody_from_its_key,
        lost_connections_lose_no_keyed_wait,
        grant_whose_commit_is_cut_off_is_one_grant,
        NULL,
    };
    return api_suite_of_two("lease_keys", tests);
}
