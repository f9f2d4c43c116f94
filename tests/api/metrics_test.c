// What /metrics tells: exact counts of known calls over several workers, text that a strict reader takes, and
// nothing that a client could make up.
#include "limit_steps.h"
#include "wait_steps.h"

#include "support/clock.h"
#include "support/pooler.h"
#include "support/scrape.h"

#include <stdio.h>

enum { COUNTED_MS = 10 * 1000, SERIES = 300 };

#define ROUTE_ENTRY "route=\"/v1/buckets/{bucket}/entries/{key}\""

static struct scrape *scrape(void)
{
    struct answer *answer = GET("/metrics");
    ck_status(answer, 200);
    ck_header(answer, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    return scrape_read((const char *)answer->body.data, answer->body.size);
}

// A series that is not there yet was never counted.
static double value_now(const char *series)
{
    struct scrape *now = scrape();
    double value = scrape_value(now, series);
    scrape_free(now);
    return value < 0 ? 0 : value;
}

struct expected {
    const char *series;
    double value;
};

static bool is_counted(void *user)
{
    const struct expected *expected = user;
    return value_now(expected->series) >= expected->value;
}

// A request is counted when its reply was sent, which its client may know before the counts do.
static void expect_value(const char *series, double value)
{
    struct expected expected = {series, value};
    clock_wait(is_counted, &expected, COUNTED_MS);
    double now = value_now(series);
    ck_assert_msg(now == value, "%s is %f and not %f", series, now, value);
}

static void expect_at_least(const char *series, double value)
{
    struct expected expected = {series, value};
    ck_assert_msg(clock_wait(is_counted, &expected, COUNTED_MS), "%s stays below %f", series, value);
}

static void put_anew(const char *path, struct bytes value, int status)
{
    http_client_reconnect(api.client); // perhaps to another worker
    ck_status(PUT(path, value), status);
}

START_TEST(requests_are_counted_by_route_method_and_status)
{
    static const char *const series[] = {
        "holdfast_requests_total{" ROUTE_ENTRY ",method=\"PUT\",status=\"201\"}",
        "holdfast_requests_total{" ROUTE_ENTRY ",method=\"PUT\",status=\"204\"}",
        "holdfast_requests_total{" ROUTE_ENTRY ",method=\"GET\",status=\"200\"}",
        "holdfast_requests_total{" ROUTE_ENTRY ",method=\"HEAD\",status=\"200\"}",
        "holdfast_requests_total{" ROUTE_ENTRY ",method=\"GET\",status=\"404\"}",
        "holdfast_request_duration_seconds_count{" ROUTE_ENTRY ",method=\"GET\"}",
        "holdfast_written_value_bytes_count",
        "holdfast_written_value_bytes_sum",
        "holdfast_request_body_bytes_count",
        "holdfast_reply_body_bytes_bucket{le=\"1024\"}",
    };
    static const double grown[] = {3, 2, 5, 1, 1, 6, 5, 15, 5, 6};
    enum { COUNT = sizeof series / sizeof series[0], REPLIES = COUNT - 1 };
    double before[COUNT];
    const char *bucket = api_bucket();
    for (int i = 0; i < COUNT; i++)
        before[i] = value_now(series[i]);
    for (int i = 0; i < 5; i++)
        put_anew(api_entry(bucket, TEXT("%d", i % 3)), BODY("abc"), i < 3 ? 201 : 204);
    for (int i = 0; i < 5; i++) {
        http_client_reconnect(api.client);
        ck_status(GET(api_entry(bucket, "1")), 200);
    }
    ck_status(HEAD(api_entry(bucket, "1")), 200);
    ck_status(GET(api_entry(bucket, "none")), 404);
    for (int i = 0; i < REPLIES; i++)
        expect_value(series[i], before[i] + grown[i]);
    expect_at_least(series[REPLIES], before[REPLIES] + grown[REPLIES]); // scrapes have replies too
}
END_TEST

static bool is_connected(void *user)
{
    (void)user;
    struct scrape *now = scrape();
    double connections = scrape_value(now, "holdfast_connections");
    scrape_free(now);
    return connections >= 1;
}

START_TEST(scrape_is_text_of_prometheus)
{
    expect_value("holdfast_ready", 1);
    struct scrape *now = scrape();
    ck_assert_double_eq(scrape_value(now, "holdfast_build_info{version=\"" HOLDFAST_VERSION "\"}"), 1);
    ck_assert_double_eq(scrape_value(now, "holdfast_workers"), 3);
    ck_assert_double_gt(scrape_value(now, "process_resident_memory_bytes"), 1 << 20);
    ck_assert_double_gt(scrape_value(now, "process_open_fds"), 10);
    ck_assert_double_gt(scrape_value(now, "process_start_time_seconds"), 1e9);
    ck_assert(clock_wait(is_connected, NULL, 5000)); // each worker tells now and then
    ck_assert_double_eq(scrape_value(now, "holdfast_database_connections_ready{role=\"write\"}"), 3);
    ck_assert_double_ge(scrape_value(now, "holdfast_database_round_trips_total{role=\"write\"}"), 3);
    scrape_free(now);
    struct answer *head = HEAD("/metrics");
    ck_status(head, 200);
    ck_problem(http(api.client, "POST", "/metrics", NO_BODY), 405, "method_not_allowed");
}
END_TEST

static void send_hostile(int round)
{
    static const char *const methods[] = {"GET", "PUT", "BREW", "ME\"TA", "{}"};
    static const char *const targets[] = {"/secret-%d", "/v1/buckets/secret-%d/entries/secret-%d",
                                          "/v1/secret-%d\"}%%0a",
                                          "/v1/buckets/%%22secret-%d%%0A/entries/%%FF", "/metrics/secret-%d"};
    for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++)
        for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++) {
            char target[200], request[400];
            struct raw *raw = raw_connect(service_port(api.service));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(target, sizeof target, targets[t], round, round);
#pragma GCC diagnostic pop
            snprintf(request, sizeof request,
                     "%s %s HTTP/1.1\r\nHost: secret-%d\r\nConnection: close\r\n\r\n", methods[m], target,
                     round);
            raw_text(raw, "%s", request);
            raw_read(raw, false, 5000);
            raw_close(raw);
        }
}

START_TEST(hostile_requests_add_no_series)
{
    send_hostile(0);
    struct scrape *before = scrape();
    for (int round = 1; round < 6; round++)
        send_hostile(round);
    struct scrape *after = scrape();
    // The answers of /metrics itself are counted by status too.
    ck_assert_uint_le(scrape_mentions(after, ""), scrape_mentions(before, "") + SERIES);
    ck_assert_uint_gt(scrape_mentions(after, "route=\"none\",method=\"other\""), 0);
    ck_assert_uint_eq(scrape_mentions(after, "secret"), 0);
    ck_assert_uint_eq(scrape_mentions(after, "BREW"), 0);
    for (int round = 6; round < 12; round++)
        send_hostile(round);
    struct scrape *last = scrape();
    // What the sweeper owes is told while it is known, whatever clients send.
    ck_assert_uint_eq(scrape_mentions(last, "route="), scrape_mentions(after, "route="));
    scrape_free(before);
    scrape_free(after);
    scrape_free(last);
}
END_TEST

START_TEST(refusals_of_limits_are_counted)
{
    static const char *const limiters[] = {"rate_limit", "rate_gate", "quota", "counter"};
    double before[4];
    for (int i = 0; i < 4; i++)
        before[i] = value_now(TEXT("holdfast_limiter_refusals_total{limiter=\"%s\"}", limiters[i]));
    const char *limit = rate_limit_key("1/h", 1);
    const char *quota = quota_key("\"day\":\"1/d\"");
    const char *gate = key_path("rate-gates", TEXT("gate-%s", api_bucket()), "k");
    const char *counter = key_path("counters", TEXT("counter-%s", api_bucket()), "k");
    for (int i = 0; i < 3; i++) { // one is granted, two are refused; a look is no refusal
        ck_status(ALLOW(limit, 1), 200);
        ck_status(ALLOW(quota, 1), 200);
        ck_status(CHECK(gate, 1, "1h"), 200);
        ck_status(GET(limit), 200);
        ck_status(GET(quota), 200);
    }
    ck_status(ADD(counter, INT64_MAX), 200);
    ck_status(ADD(counter, 1), 422);
    for (int i = 0; i < 4; i++)
        expect_value(TEXT("holdfast_limiter_refusals_total{limiter=\"%s\"}", limiters[i]),
                     before[i] + (i < 3 ? 2 : 1));
}
END_TEST

START_TEST(leases_are_counted)
{
    static const char *const events[] = {"granted", "renewed", "released", "refused"};
    double before[4];
    for (int i = 0; i < 4; i++)
        before[i] = value_now(TEXT("holdfast_leases_total{event=\"%s\"}", events[i]));
    const char *path = TEXT("/v1/buckets/%s/leases/k", api_bucket());
    struct answer *granted = http(api.client, "POST", path, BODY("{\"holder\":\"h\",\"ttl\":\"1m\"}"));
    ck_status(granted, 201);
    ck_status(http(api.client, "POST", path, BODY("{\"holder\":\"i\",\"ttl\":\"1m\"}")), 409);
    const char *token = answer_text(granted, "token");
    ck_status(http(api.client, "PUT", path,
                   bytes_of(TEXT("{\"holder\":\"h\",\"token\":\"%s\",\"ttl\":\"1m\"}", token))),
              200);
    ck_status(DELETE(TEXT("%s?holder=h&token=%s", path, token)), 200);
    ck_status(DELETE(TEXT("%s?holder=h&token=%s", path, token)), 200); // nothing is left to release
    for (int i = 0; i < 4; i++)
        expect_value(TEXT("holdfast_leases_total{event=\"%s\"}", events[i]), before[i] + 1);
}
END_TEST

// A wait that ends with a change.
static void wait_and_change(PGconn *connection, const char *path)
{
    struct raw *raw = wait_begin(api.service, path, wait_headers(GET(path), 60));
    expect_value("holdfast_waits", 1);
    wait_until_covered(connection, 1);
    ck_status(PUT(path, BODY("2")), 204);
    ck_status(wait_end(raw), 200);
    expect_value("holdfast_waits", 0);
}

// Of two writes the one is told, since somebody waits for it.
START_TEST(notifications_are_saved)
{
    static const char told[] = "holdfast_notifications_total", written[] = "holdfast_writing_calls_total";
    double told_before = value_now(told), written_before = value_now(written);
    const char *path = api_entry(api_bucket(), "k");
    PGconn *connection = database_connect(&api.database);
    ck_status(PUT(path, BODY("1")), 201);
    expect_at_least(written, written_before + 1);
    ck_assert(value_now(told) == told_before);
    written_before = value_now(written);
    wait_and_change(connection, path);
    expect_at_least(written, written_before + 1);
    expect_at_least(told, told_before + 1);
    PQfinish(connection);
}
END_TEST

START_TEST(waits_are_told_apart_from_slow_requests)
{
    static const char waits[] = "holdfast_wait_duration_seconds_count";
    static const char gets[] = "holdfast_request_duration_seconds_count{" ROUTE_ENTRY ",method=\"GET\"}";
    double waits_before = value_now(waits), gets_before = value_now(gets);
    double told_before = value_now("holdfast_notifications_total");
    struct expected woken = {"holdfast_wakeups_total{topic=\"entries\"}", 1};
    woken.value += value_now(woken.series);
    const char *path = api_entry(api_bucket(), "k");
    PGconn *connection = database_connect(&api.database);
    ck_status(PUT(path, BODY("1")), 201);
    int changes = 0;
    do { // the look by the clock may come before the notification
        wait_and_change(connection, path);
        changes++;
    } while (!clock_wait(is_counted, &woken, 1000) && changes < 10);
    expect_at_least(woken.series, woken.value);
    expect_value(waits, waits_before + changes);
    expect_value(gets, gets_before + changes);
    expect_value("holdfast_notifications_total", told_before + changes);
    PQfinish(connection);
}
END_TEST

START_TEST(calls_to_the_database_are_counted)
{
    static const char operations[] = "holdfast_batch_operations_sum{role=\"list\"}";
    static const char calls[] = "holdfast_batch_operations_count{role=\"list\"}";
    static const char trips[] = "holdfast_database_round_trips_total{role=\"list\"}";
    static const char parts[] = "holdfast_request_part_duration_seconds_count{part=\"database\"}";
    const char *list = TEXT("/v1/buckets/%s/entries", bucket_of_type("any"));
    ck_status(GET(list), 200);
    double operations_before = value_now(operations), calls_before = value_now(calls);
    double trips_before = value_now(trips), parts_before = value_now(parts);
    for (int i = 0; i < 4; i++)
        ck_status(GET(list), 200);
    expect_value(operations, operations_before + 4);
    expect_value(calls, calls_before + 4);
    expect_value(parts, parts_before + 4);
    expect_at_least(trips, trips_before + 4);
}
END_TEST

// Cuts the connections for lists, and gives how many there were.
static int64_t cut_lists(void)
{
    if (pooler_is_wanted()) // it keeps a client whose idle session ends
        return pooler_cut(&api.database, "holdfast list/");
    PGconn *connection = database_connect(&api.database);
    int64_t cut = sql_number(connection,
                             "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = "
                             "current_database() and application_name like 'holdfast list/%%'");
    PQfinish(connection);
    return cut;
}

START_TEST(reconnects_are_counted)
{
    static const char losses[] = "holdfast_database_connections_lost_total{role=\"list\"}";
    static const char reconnects[] = "holdfast_database_reconnects_total{role=\"list\"}";
    double lost = value_now(losses), back = value_now(reconnects);
    int64_t cut = cut_lists();
    ck_assert_int_ge(cut, 2); // of each worker
    expect_value(losses, lost + (double)cut);
    expect_value(reconnects, back + (double)cut);
}
END_TEST

START_TEST(what_the_sweeper_owes_is_told)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket();
    put_anew(TEXT("%s?ttl=1h", api_entry(bucket, "k")), BODY("v"), 201);
    sql_run(
        connection,
        "begin; update holdfast.entries e set slot = holdfast.slot_of(holdfast.now() - interval '10 min') "
        "from holdfast.buckets b where b.id = e.bucket_id and b.name = '%s'",
        bucket);
    int64_t lag = sql_number(connection, "select lag_us from holdfast.sweep_backlog()");
    ck_assert_int_gt(lag, INT64_C(530) * 1000000);
    ck_assert_int_lt(lag, INT64_C(600) * 1000000);
    sql_run(connection, "rollback");
    ck_assert_int_eq(sql_number(connection, "select lag_us from holdfast.sweep_backlog()"), 0);
    expect_at_least("holdfast_sweeper_steps_total", 1);
    struct scrape *now = scrape();
    ck_assert_double_ge(scrape_value(now, "holdfast_sweeper_lag_seconds"), 0);
    ck_assert_double_ge(scrape_value(now, "holdfast_sweeper_clears"), 0);
    ck_assert_double_ge(scrape_value(now, "holdfast_leases_held"), 0);
    scrape_free(now);
    PQfinish(connection);
}
END_TEST

static void start_counted(void)
{
    api_start((const char *const[]){"--metrics", "--workers", "3", NULL});
}

Suite *metrics_suite(void)
{
    const TTest *const tests[] = {
        requests_are_counted_by_route_method_and_status,
        scrape_is_text_of_prometheus,
        hostile_requests_add_no_series,
        refusals_of_limits_are_counted,
        leases_are_counted,
        notifications_are_saved,
        waits_are_told_apart_from_slow_requests,
        calls_to_the_database_are_counted,
        reconnects_are_counted,
        what_the_sweeper_owes_is_told,
        NULL,
    };
    return api_suite_started("metrics", start_counted, tests);
}
