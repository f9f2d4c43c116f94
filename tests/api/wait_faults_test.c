// WAIT-3 and what is like it: waits outlive a listening session that is killed, deaf or shut out, a database
// that restarts or takes no writes, a bucket that is held; and a write that commits during the look is seen.
#include "wait_steps.h"

#include "support/clock.h"
#include "support/cut_proxy.h"
#include "support/process.h"
#include "support/scratch.h"

#include <stdio.h>

enum { MANY = 100 };

static struct raw *waits[MANY];

static void start_two(const char *url)
{
    api.service = service_start(&(struct service_options){.database = url});
    api.twin = service_start(&(struct service_options){.database = api.database.url});
    api.client = http_client_new(service_url(api.twin));
}

static void end_two(void)
{
    http_client_free(api.client);
    service_end(api.service);
    service_end(api.twin);
}

static const char *path_of(int i)
{
    return TEXT("/v1/buckets/b/entries/%d", i);
}

// A hundred waits for keys that are not there, on the first replica.
static void park_many(PGconn *connection)
{
    for (int i = 0; i < MANY; i++)
        waits[i] = wait_begin(api.service, path_of(i), "Prefer: wait=100\r\n");
    wait_until_covered(connection, 1);
    ck_assert(raw_silent(waits[MANY - 1], 100));
}

static void write_many(void)
{
    for (int i = 0; i < MANY; i++)
        ck_status(PUT(path_of(i), BODY("v")), 201);
}

static void expect_many(int limit_ms)
{
    int64_t until = clock_ms() + limit_ms;
    for (int i = 0; i < MANY; i++) {
        int64_t left = until - clock_ms();
        struct answer *answer = raw_read(waits[i], false, left > 0 ? (int)left : 0);
        ck_assert_msg(answer != NULL, "wait %d was not answered in time", i);
        ck_status(answer, 200);
        raw_close(waits[i]);
    }
}

START_TEST(writes_of_the_same_replica_need_no_notification)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&api.database);
    start_two(api.database.url);
    http_client_free(api.client);
    api.client = http_client_new(service_url(api.service)); // where the waits are
    sql_run(connection,
            "create or replace function holdfast.notify_waiters(name text, place smallint, which smallint[], "
            "paths bytea[], topic text) returns boolean language sql as 'select true'");
    park_many(connection);
    write_many();
    expect_many(WAIT_PATIENCE);
    PQfinish(connection);
    end_two();
    database_drop(api.postgres, &api.database);
}
END_TEST

static void cut_listeners(PGconn *connection)
{
    sql_run(connection, "select pg_terminate_backend(pid) from pg_stat_activity where %s", IS_LISTENER);
}

START_TEST(killed_listener_loses_nothing)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&api.database);
    start_two(api.database.url);
    for (int round = 0; round < 3; round++) {
        park_many(connection);
        cut_listeners(connection);
        write_many();
        expect_many(WAIT_PATIENCE);
        sql_run(connection, "delete from holdfast.entries");
    }
    // It listens again: with its lock held a write is told at once.
    park_many(connection);
    int64_t start = clock_ms();
    write_many();
    expect_many(WAIT_PATIENCE);
    ck_assert_int_lt(clock_ms() - start, 5000);
    end_two();
    PQfinish(connection);
    database_drop(api.postgres, &api.database);
}
END_TEST

// Nothing of it arrives any more and no end of the connection is seen, as behind a firewall that forgot it.
START_TEST(deaf_listener_is_found_out)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&api.database);
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    start_two(cut_proxy_url(proxy, &api.database));
    park_many(connection);
    cut_proxy_arm(proxy, CUT_AFTER, "pg_catalog.pg_notify('holdfast'");
    int64_t until = clock_ms() + WAIT_PATIENCE;
    while (!cut_proxy_met(proxy) && clock_ms() < until)
        clock_pause(10);
    ck_assert(cut_proxy_met(proxy));
    write_many();
    expect_many(WAIT_PATIENCE);
    cut_proxy_cut(proxy);
    end_two();
    cut_proxy_end(proxy);
    PQfinish(connection);
    database_drop(api.postgres, &api.database);
}
END_TEST

static int lines_with(const char *path, const char *text)
{
    size_t size;
    int count = 0;
    char *log = scratch_read(path, &size);
    for (const char *at = log; (at = strstr(at, text)); at++)
        count++;
    free(log);
    return count;
}

START_TEST(database_that_restarts_loses_no_wait)
{
    enum { AWAY_MS = 6000 };
    struct postgres *postgres = postgres_new(NULL);
    api.database = database_new(postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&api.database);
    start_two(api.database.url);
    park_many(connection);
    PQfinish(connection);
    postgres_stop(postgres);
    // Away for a while: it costs little and says little.
    long cpu = process_cpu_ms(service_pid(api.service));
    clock_pause(AWAY_MS);
    ck_assert_int_lt(process_cpu_ms(service_pid(api.service)) - cpu, AWAY_MS / 10);
    ck_assert_int_le(lines_with(service_log(api.service), "listening connection"), AWAY_MS / 1000 + 2);
    postgres_start(postgres);
    ck_assert(service_wait_ready(api.twin, WAIT_PATIENCE));
    write_many();
    expect_many(WAIT_PATIENCE);
    end_two();
    postgres_free(postgres);
}
END_TEST

// A wait whose time is up while the database is away does not say what nobody knows.
START_TEST(wait_that_ends_while_the_database_is_away)
{
    struct postgres *postgres = postgres_new(NULL);
    api.database = database_new(postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&api.database);
    start_two(api.database.url);
    struct raw *raw = wait_begin(api.service, path_of(0), "Prefer: wait=5\r\n");
    wait_until_covered(connection, 1);
    ck_assert(raw_silent(raw, 100));
    PQfinish(connection);
    postgres_stop(postgres);
    ck_problem(wait_end(raw), 503, "unavailable");
    ck_problem(wait_end(wait_begin(api.service, path_of(0), "Prefer: wait=30\r\n")), 503, "unavailable");
    postgres_start(postgres);
    ck_assert(service_wait_ready(api.service, WAIT_PATIENCE));
    end_two();
    postgres_free(postgres);
}
END_TEST

// Nobody can tell there what changes: the service looks by the clock, and says so once a second at most.
START_TEST(server_that_takes_no_writes_is_looked_at_by_the_clock)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&api.database);
    start_two(api.database.url);
    park_many(connection);
    sql_run(connection, "alter database %s set default_transaction_read_only = on", api.database.name);
    int64_t start = clock_ms();
    cut_listeners(connection);
    wait_until_covered(connection, 0);
    write_many(); // the twin's writers are still of before
    expect_many(WAIT_PATIENCE);
    ck_assert_int_le(lines_with(service_log(api.service), "listening connection"),
                     (int)((clock_ms() - start) / 1000) + 2);
    sql_run(connection, "alter database %s reset default_transaction_read_only", api.database.name);
    sql_run(connection, "delete from holdfast.entries");
    park_many(connection);
    write_many();
    expect_many(WAIT_PATIENCE);
    end_two();
    PQfinish(connection);
    database_drop(api.postgres, &api.database);
}
END_TEST

// A transaction sits on the bucket and nobody can register there: its waits are looked at by the clock, and
// those of other buckets are as quick as ever.
START_TEST(held_bucket_is_looked_at_by_the_clock)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *holder = database_connect(&api.database);
    start_two(api.database.url);
    sql_run(holder, "select pg_advisory_lock(7240004, hashtext('held'))");
    struct raw *held = wait_begin(api.service, "/v1/buckets/held/entries/k", "Prefer: wait=60\r\n");
    struct raw *late = wait_begin(api.service, "/v1/buckets/held/entries/none", "Prefer: wait=1\r\n");
    ck_problem(wait_end(late), 404, "not_found");
    ck_assert(raw_silent(held, 0));
    for (int i = 0; i < 20; i++) {
        struct raw *other = wait_begin(api.service, path_of(i), "Prefer: wait=60\r\n");
        ck_status(PUT(path_of(i), BODY("v")), 201);
        ck_status(wait_end(other), 200);
    }
    ck_status(PUT("/v1/buckets/held/entries/k", BODY("v")), 201);
    ck_status(wait_end(held), 200);
    sql_run(holder, "select pg_advisory_unlock_all()");
    struct raw *after = wait_begin(api.service, "/v1/buckets/held/entries/other", "Prefer: wait=60\r\n");
    wait_until_covered(holder, 2);
    ck_assert(raw_silent(after, 20));
    ck_status(PUT("/v1/buckets/held/entries/other", BODY("v")), 201);
    ck_status(wait_end(after), 200);
    end_two();
    PQfinish(holder);
    database_drop(api.postgres, &api.database);
}
END_TEST

// --- between the look and the parking
// -----------------------------------------------------------------------------------

static bool somebody_is_stopped(void *user)
{
    return sql_number(user,
                      "select count(*) from pg_locks where locktype = 'advisory' and objid = 99 and not "
                      "granted and database = (select oid from pg_database where datname = "
                      "current_database())") > 0;
}

// The look has its snapshot and is stopped before it gives its answer; a write commits and is told meanwhile.
// What the look then finds is old, and the wait must not park on it.
START_TEST(write_between_look_and_parking_is_seen)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *gate = database_connect(&api.database);
    start_two(api.database.url);
    ck_status(PUT(path_of(0), BODY("old")), 201);
    struct answer *known = GET(path_of(0));
    // The database's clock stops everybody but the session that holds the gate, within the statement that
    // asks.
    sql_run(
        gate,
        "create or replace function holdfast.now() returns timestamptz language plpgsql volatile as $$ begin "
        "perform pg_advisory_lock_shared(99); perform pg_advisory_unlock_shared(99); "
        "return clock_timestamp(); end $$");
    sql_run(gate, "select pg_advisory_lock(99)");
    struct raw *raw = wait_begin(api.service, path_of(0), wait_headers(known, 60));
    ck_assert(clock_wait(somebody_is_stopped, gate, WAIT_PATIENCE));
    sql_run(gate, "update holdfast.entries set version = nextval('holdfast.revision')"); // as a writer would
    sql_run(gate,
            "begin; select holdfast.lock_names(array['b']); select holdfast.announce(array['b'], '{1}', "
            "array(select path from holdfast.entries), 'e'); commit");
    ck_assert(raw_silent(raw, 100));
    sql_run(gate, "select pg_advisory_unlock(99)");
    struct answer *answer = wait_end(raw);
    ck_status(answer, 200);
    ck_assert_str_ne(answer_need(answer, "ETag"), answer_need(known, "ETag"));
    end_two();
    PQfinish(gate);
    database_drop(api.postgres, &api.database);
}
END_TEST

Suite *wait_faults_suite(void)
{
    const TTest *const tests[] = {
        writes_of_the_same_replica_need_no_notification,
        killed_listener_loses_nothing,
        deaf_listener_is_found_out,
        database_that_restarts_loses_no_wait,
        wait_that_ends_while_the_database_is_away,
        server_that_takes_no_writes_is_looked_at_by_the_clock,
        held_bucket_is_looked_at_by_the_clock,
        write_between_look_and_parking_is_seen,
        NULL,
    };
    return api_suite_bare("wait_faults", tests);
}
