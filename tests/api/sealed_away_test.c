// A write to an encrypted bucket is a transaction of several calls: when its sessions fall silent one after
// the other, its client is answered all the same, in the time of one.
#include "sealed_steps.h"

#include "support/clock.h"
#include "support/raw.h"
#include "support/scrape.h"

#include <signal.h>

enum { SESSIONS = 4, BACK_MS = 10 * 1000 };

static const char sessions[] = "application_name = 'holdfast transaction/0' and datname = current_database()";

static bool all_are_open(void *user)
{
    return sql_number(user, "select count(*) from pg_stat_activity where %s", sessions) == SESSIONS;
}

// Writes that each wait for a bucket of their own, until each has a session.
static void open_sessions(PGconn *connection, const char *const *entries, const char *const *buckets)
{
    struct raw *writers[SESSIONS];
    for (int i = 0; i < SESSIONS; i++)
        sql_run(connection, "select pg_advisory_lock(7240001, hashtext('%s'))", buckets[i]);
    for (int i = 0; i < SESSIONS; i++) {
        writers[i] = raw_connect(service_port(api.service));
        ck_assert(
            raw_text(writers[i], "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nv", entries[i]));
    }
    ck_assert(clock_wait(all_are_open, connection, BACK_MS));
    sql_run(connection, "select pg_advisory_unlock_all()");
    for (int i = 0; i < SESSIONS; i++) {
        struct answer *answer = raw_read(writers[i], false, BACK_MS);
        ck_assert_ptr_nonnull(answer);
        ck_assert_int_eq(answer->status, 204);
        raw_close(writers[i]);
    }
}

START_TEST(silent_sessions_are_tried_for_the_time_of_one)
{
    const char *flags[] = {
        sealed_flags()[0], sealed_flags()[1], "--metrics", "--database-timeout", "1s", NULL};
    api_start(flags);
    api.client = http_client_new(service_url(api.service));
    PGconn *connection = database_connect(&api.database);
    const char *buckets[SESSIONS], *entries[SESSIONS];
    for (int i = 0; i < SESSIONS; i++) {
        buckets[i] = sealed_bucket("any");
        entries[i] = api_entry(buckets[i], "k");
        ck_status(PUT(entries[i], BODY("u")),
                  201); // from now on the worker knows that the bucket is encrypted
    }
    open_sessions(connection, entries, buckets);
    char *pids[SESSIONS];
    for (int i = 0; i < SESSIONS; i++) {
        pids[i] =
            sql_text(connection, "select pid from pg_stat_activity where %s order by pid offset %d limit 1",
                     sessions, i);
        ck_assert_int_eq(kill((pid_t)strtol(pids[i], NULL, 10), SIGSTOP), 0);
    }
    struct answer *answer = PUT(entries[0], BODY("w"));
    struct answer *metrics = GET("/metrics");
    for (int i = 0; i < SESSIONS; i++) {
        kill((pid_t)strtol(pids[i], NULL, 10), SIGCONT);
        free(pids[i]);
    }
    ck_problem(answer, 503, "unavailable");
    ck_status(metrics, 200);
    struct scrape *counts = scrape_read((const char *)metrics->body.data, metrics->body.size);
    double lost = scrape_value(counts, "holdfast_database_connections_lost_total{role=\"transaction\"}");
    ck_assert_msg(lost == 1, "%f sessions were tried", lost);
    scrape_free(counts);
    PQfinish(connection);
    http_client_free(api.client);
    service_end(api.service);
    database_drop(api.postgres, &api.database);
}
END_TEST

Suite *sealed_away_suite(void)
{
    const TTest *const tests[] = {silent_sessions_are_tried_for_the_time_of_one, NULL};
    return api_suite_bare("sealed_away", tests);
}
