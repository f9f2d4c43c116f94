// A waiter for a lease keeps its turn when connections to the database break, and is told of a grant whose
// reply was lost.
#include "queue_steps.h"

#include "support/clock.h"
#include "support/cut_proxy.h"

enum { SOON_MS = 10 * 1000 };

static const char *const path = "/v1/buckets/b/leases/k";

struct release {
    const char *token;
};

static bool is_released(void *user)
{
    struct release *release = user;
    return RELEASE(path, "A", release->token)->status == 200;
}

static bool is_held_by_b(void *user)
{
    return sql_number(
               user,
               "select count(*) from holdfast.leases where holder = 'B' and expires_at > holdfast.now()") ==
           1;
}

static bool is_free(void *user)
{
    (void)user;
    return ACQUIRE(path, "C", "1h")->status == 201;
}

// The first replica by way of the proxy; the twin, which the client asks, without.
static PGconn *start(struct cut_proxy *proxy)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(&(struct service_options){.database = cut_proxy_url(proxy, &api.database)});
    api.twin = service_start(&(struct service_options){.database = api.database.url});
    api.client = http_client_new(service_url(api.twin));
    return database_connect(&api.database);
}

static void end(PGconn *connection, struct cut_proxy *proxy)
{
    http_client_free(api.client);
    service_end(api.service);
    service_end(api.twin);
    PQfinish(connection);
    database_drop(api.postgres, &api.database);
    cut_proxy_end(proxy);
}

struct place {
    PGconn *connection;
    int64_t alive_until;
};

static int64_t alive_until(PGconn *connection)
{
    return sql_number(
        connection, "select (extract(epoch from alive_until) * 1000000)::bigint from holdfast.lease_waiters");
}

static bool is_kept(void *user)
{
    struct place *place = user;
    return alive_until(place->connection) != place->alive_until;
}

// Who has come to queue tries once more when it is sure to be told of changes; that moves its place's life
// on, as does keeping the place.
static void settle(PGconn *connection)
{
    struct place place = {connection, alive_until(connection)};
    ck_assert(clock_wait(is_kept, &place, SOON_MS));
}

// B queues on the first replica while A holds the lease; then A is done, and B's try is cut off.
static struct raw *lose_try(PGconn *connection, struct cut_proxy *proxy, enum cut cut)
{
    const char *token = answer_text(ACQUIRE(path, "A", "1h"), "token");
    struct raw *raw = queue_up(api.service, path, "B", "1h", 100);
    expect_places(connection, "b", 1);
    settle(connection);
    cut_proxy_arm(proxy, cut, "acquire_leases");
    expect_released(RELEASE(path, "A", token), true);
    return raw;
}

START_TEST(grant_whose_reply_is_lost_reaches_its_waiter)
{
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    PGconn *connection = start(proxy);
    struct raw *raw = lose_try(connection, proxy, CUT_AFTER);
    ck_assert(clock_wait(is_held_by_b, connection, SOON_MS));
    ck_assert(cut_proxy_cut(proxy));
    struct answer *grant = expect_grant(raw, "B");
    ck_assert_int_eq(token_of(grant), sql_number(connection, "select token from holdfast.leases"));
    ck_assert_int_eq(position_of(grant), sql_number(connection, "select position from holdfast.leases"));
    expect_places(connection, "b", 0);
    ck_status(RENEW(path, "B", answer_text(grant, "token"), "1h"), 200);
    raw_close(raw);
    end(connection, proxy);
}
END_TEST

START_TEST(try_that_never_arrived_is_made_again)
{
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    PGconn *connection = start(proxy);
    struct raw *raw = lose_try(connection, proxy, CUT_BEFORE);
    expect_grant(raw, "B");
    ck_assert(cut_proxy_met(proxy));
    expect_places(connection, "b", 0);
    raw_close(raw);
    end(connection, proxy);
}
END_TEST

START_TEST(lost_grant_of_a_client_that_left_is_given_back)
{
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    PGconn *connection = start(proxy);
    struct raw *raw = lose_try(connection, proxy, CUT_AFTER);
    ck_assert(clock_wait(is_held_by_b, connection, SOON_MS));
    raw_close(raw);
    ck_assert(cut_proxy_cut(proxy));
    ck_assert(clock_wait(is_free, NULL, SOON_MS));
    end(connection, proxy);
}
END_TEST

START_TEST(lost_connections_lose_no_place)
{
    struct cut_proxy *proxy = cut_proxy_start(api.postgres);
    PGconn *connection = start(proxy);
    struct release release = {.token = answer_text(ACQUIRE(path, "A", "1h"), "token")};
    struct raw *raw = queue_up(api.service, path, "B", "1h", 100);
    expect_places(connection, "b", 1);
    for (int i = 0; i < 5; i++)
        sql_run(connection, "select pg_terminate_backend(pid) from pg_stat_activity where "
                            "datname = current_database() and pid <> pg_backend_pid()");
    ck_assert(clock_wait(is_released, &release, SOON_MS));
    expect_grant(raw, "B");
    raw_close(raw);
    end(connection, proxy);
}
END_TEST

Suite *lease_faults_suite(void)
{
    const TTest *const tests[] = {
        grant_whose_reply_is_lost_reaches_its_waiter,
        try_that_never_arrived_is_made_again,
        lost_grant_of_a_client_that_left_is_given_back,
        lost_connections_lose_no_place,
        NULL,
    };
    return api_suite_bare("lease_faults", tests);
}
