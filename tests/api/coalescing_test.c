// Requests that wait for the database share its next call.
#include "entry_steps.h"

#include "support/clock.h"
#include "support/raw.h"

enum { WRITERS = 30, REVISIONS_A_CALL = 256 };

static void start_one_worker(void)
{
    static const char *const flags[] = {"--workers", "1", NULL};
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(&(struct service_options){.database = api.database.url, .flags = flags});
    api.client = http_client_new(service_url(api.service));
}

static void end_one_worker(void)
{
    http_client_free(api.client);
    service_end(api.service);
    database_drop(api.postgres, &api.database);
}

static bool somebody_waits(void *user)
{
    return sql_number(user, "select count(*) from pg_locks where locktype = 'advisory' and not granted") > 0;
}

static void send_put(struct raw *raw, int number)
{
    ck_assert(raw_text(raw, "PUT /v1/buckets/b/entries/%d HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nv",
                       number));
}

// What was sent before is with the store when a read that was sent later is answered.
static void pass_by(void)
{
    for (int i = 0; i < 3; i++)
        ck_status(GET("/v1/buckets/b/entries/first"), 200);
}

// A commit for each that comes while another call is under way would keep the rest waiting for both.
START_TEST(writes_that_come_during_a_commit_share_the_next)
{
    static struct raw *writers[WRITERS];
    start_one_worker();
    ck_status(PUT("/v1/buckets/b/entries/first", BODY("v")), 201);
    for (int i = 0; i < WRITERS; i++)
        writers[i] = raw_connect(service_port(api.service));
    PGconn *holder = database_connect(&api.database);
    int64_t before = sql_number(holder, "select last_value from holdfast.revision");
    sql_run(holder, "select pg_advisory_lock(7240001, hashtext('b'))");
    send_put(writers[0], 0);
    ck_assert(clock_wait(somebody_waits, holder, 10 * 1000));
    send_put(writers[1], 1);
    pass_by();
    for (int i = 2; i < WRITERS; i++)
        send_put(writers[i], i);
    pass_by();
    sql_run(holder, "select pg_advisory_unlock(7240001, hashtext('b'))");
    for (int i = 0; i < WRITERS; i++) {
        ck_status(raw_read(writers[i], false, 10 * 1000), 201);
        raw_close(writers[i]);
    }
    int64_t drawn = sql_number(holder, "select last_value from holdfast.revision") - before;
    ck_assert_int_eq(drawn, 2 * REVISIONS_A_CALL);
    PQfinish(holder);
    end_one_worker();
}
END_TEST

Suite *coalescing_suite(void)
{
    const TTest *const tests[] = {writes_that_come_during_a_commit_share_the_next, NULL};
    return api_suite_bare("coalescing", tests);
}
