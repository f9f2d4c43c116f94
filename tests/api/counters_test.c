// Counters: sums that many make at once, that never wrap, and that may expire as a whole.
#include "limit_steps.h"

#include "support/clock.h"

#define LARGEST INT64_MAX
#define LEAST   INT64_MIN

static const char *counter_key(void)
{
    return key_path("counters", api_bucket(), "k");
}

static struct answer *lift(const char *path, int64_t value)
{
    return POST(TEXT("%s/max", path), bytes_of(TEXT("{\"value\":%lld}", (long long)value)));
}

static void expect_value(const struct answer *answer, int64_t value)
{
    ck_status(answer, 200);
    ck_body(answer, bytes_of(TEXT("{\"value\":%lld}\n", (long long)value)));
}

START_TEST(counter_adds_and_lifts)
{
    const char *path = counter_key();
    expect_value(GET(path), 0);
    expect_value(POST(TEXT("%s/add", path), NO_BODY), 1);
    expect_value(POST(TEXT("%s/add", path), BODY("{}")), 2);
    expect_value(ADD(path, 40), 42);
    expect_value(ADD(path, -50), -8);
    expect_value(ADD(path, 0), -8);
    expect_value(lift(path, -20), -8);
    expect_value(lift(path, 7), 7);
    expect_value(lift(path, 6), 7);
    expect_value(GET(path), 7);
    expect_value(GET(key_path("counters", "nobody-declared-this", "k")), 0);
    // An absent one counts as 0 for both.
    expect_value(lift(counter_key(), -5), 0);
    expect_value(lift(counter_key(), 5), 5);
    expect_value(ADD(counter_key(), 3000000000), 3000000000);
}
END_TEST

// CNT-1
START_TEST(counter_never_wraps)
{
    const char *path = counter_key();
    expect_value(ADD(path, LARGEST - 1), LARGEST - 1);
    expect_value(ADD(path, 1), LARGEST);
    ck_problem(ADD(path, 1), 422, "overflow");
    ck_problem(ADD(path, LARGEST), 422, "overflow");
    expect_value(GET(path), LARGEST);
    expect_value(ADD(path, LEAST), -1);
    ck_problem(ADD(path, LEAST), 422, "overflow");
    expect_value(GET(path), -1);
    path = counter_key();
    expect_value(ADD(path, LEAST), LEAST);
    ck_problem(ADD(path, -1), 422, "overflow");
    expect_value(ADD(path, LARGEST), -1);
    expect_value(lift(path, LARGEST), LARGEST);
}
END_TEST

START_TEST(counter_takes_whole_numbers)
{
    static const char *const bad[] = {"1.5", "1.0", "\"1\"", "null", "true", "[]", "{}"};
    const char *path = counter_key();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_invalid(POST(TEXT("%s/add", path), bytes_of(TEXT("{\"by\":%s}", bad[i]))), "by");
        ck_invalid(POST(TEXT("%s/max", path), bytes_of(TEXT("{\"value\":%s}", bad[i]))), "value");
    }
    ck_problem(POST(TEXT("%s/add", path), BODY("{\"by\":9223372036854775808}")), 422, "overflow");
    ck_invalid(POST(TEXT("%s/add", path), BODY("{\"by\":1,\"ttl\":\"1m\"}")), "ttl");
    ck_invalid(POST(TEXT("%s/max", path), BODY("{}")), "value");
    ck_status(POST(TEXT("%s/max", path), NO_BODY), 400);
    expect_value(GET(path), 0);
}
END_TEST

// The ordinals of one call: what the function decides for a batch, the third alone is refused.
START_TEST(overflow_in_a_batch_is_one_operations_own)
{
    PGconn *connection = database_connect(&api.database);
    const char *path = counter_key();
    expect_value(ADD(path, LARGEST - 10), LARGEST - 10);
    const char *name = strrchr(TEXT("%.*s", (int)(strlen(path) - 2), path), '/') + 1;
    char *verdicts =
        sql_text(connection,
                 "select string_agg(c.status || ':' || (c.val - 9223372036854775807), ' ' order by c.o) "
                 "from holdfast.change_counters(array['%s'], '{1,1,1,1}', '{1,2,3,4}', "
                 "array_fill('\\x016b'::bytea, array[4]), '{t,t,t,t}', '{3,4,5,2}', '{f,f,f,f}') c",
                 name);
    ck_assert_str_eq(verdicts, "0:-7 0:-3 11:-3 0:-1");
    expect_value(GET(path), LARGEST - 1);
    free(verdicts);
    PQfinish(connection);
}
END_TEST

START_TEST(counter_ttl_runs_from_the_first_change)
{
    const char *name = declared("counters", "{\"ttl\":\"15m\"}");
    const char *path = key_path("counters", name, "k"), *lifted = key_path("counters", name, "l");
    database_stop_clock(&api.database, START);
    expect_value(ADD(path, 1), 1);
    expect_value(lift(lifted, 3), 3);
    database_stop_clock(&api.database, START + 14 * 60 * SECOND);
    expect_value(ADD(path, 1), 2);
    database_stop_clock(&api.database, START + 15 * 60 * SECOND - 1);
    expect_value(ADD(path, 1), 3);
    expect_value(GET(path), 3);
    expect_value(GET(lifted), 3);
    database_stop_clock(&api.database, START + 15 * 60 * SECOND);
    expect_value(GET(path), 0);
    expect_value(GET(lifted), 0);
    expect_value(ADD(path, 5), 5); // and anew
    // A key that counts keeps its expiry when the counter is declared anew.
    ck_status(PUT(name_path("counters", name), BODY("{\"ttl\":\"1d\"}")), 200);
    database_stop_clock(&api.database, START + 30 * 60 * SECOND - 1);
    expect_value(ADD(path, 1), 6);
    database_stop_clock(&api.database, START + 30 * 60 * SECOND);
    expect_value(ADD(path, 1), 1);
    database_stop_clock(&api.database, START + 60 * 60 * SECOND);
    expect_value(ADD(path, 1), 2);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(counter_that_overflows_begins_no_ttl)
{
    const char *path = key_path("counters", declared("counters", "{\"ttl\":\"1m\"}"), "k");
    database_stop_clock(&api.database, START);
    expect_value(ADD(path, LARGEST), LARGEST);
    database_stop_clock(&api.database, START + 59 * SECOND);
    ck_problem(ADD(path, 1), 422, "overflow");
    database_stop_clock(&api.database, START + 60 * SECOND);
    expect_value(ADD(path, 1), 1);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(counter_configuration_is_whole)
{
    const char *name = declared("counters", "{}");
    ck_status(PUT(name_path("counters", name), NO_BODY), 200);
    struct answer *shown = GET(name_path("counters", name));
    ck_status(shown, 200);
    ck_assert_uint_eq(json_object_size(shown->json), 5);
    ck_assert_pstr_eq(answer_text(shown, "kind"), "counter");
    ck_assert(json_is_null(json_object_get(shown->json, "ttl")));
    ck_assert(json_is_null(json_object_get(shown->json, "lose_at_most")));
    shown = PUT(name_path("counters", name), BODY("{\"ttl\":\"900s\",\"lose_at_most\":\"600ms\"}"));
    ck_status(shown, 200);
    ck_assert_pstr_eq(answer_text(shown, "ttl"), "15m");
    ck_assert_pstr_eq(answer_text(shown, "lose_at_most"), "600ms");
    answer_need(shown, "Holdfast-Position");
    ck_invalid(PUT(name_path("counters", name), BODY("{\"ttl\":\"0s\"}")), "ttl");
    ck_invalid(PUT(name_path("counters", name), BODY("{\"idle\":\"1m\"}")), "idle");
    ck_problem(GET(name_path("counters", api_bucket())), 404, "not_found");
}
END_TEST

// The server promises three times wal_writer_delay, and no less can be asked of it.
START_TEST(lose_at_most_is_what_the_server_can_promise)
{
    const char *name = api_bucket();
    static const char *const kinds[] = {"counters", "rate-limits"};
    for (int i = 0; i < 2; i++) {
        const char *rest = i ? ",\"rate\":\"1/s\"" : "";
        ck_invalid(PUT(name_path(kinds[i], name), bytes_of(TEXT("{\"lose_at_most\":\"599ms\"%s}", rest))),
                   "lose_at_most");
        ck_invalid(PUT(name_path(kinds[i], name), bytes_of(TEXT("{\"lose_at_most\":\"1ms\"%s}", rest))),
                   "lose_at_most");
        ck_problem(GET(name_path(kinds[i], name)), 404, "not_found");
        ck_status(
            PUT(name_path(kinds[i], api_bucket()), bytes_of(TEXT("{\"lose_at_most\":\"600ms\"%s}", rest))),
            201);
    }
    PGconn *connection = database_connect(&api.database);
    ck_assert_int_eq(sql_number(connection, "select holdfast.shortest_loss()"), 600000);
    PQfinish(connection);
}
END_TEST

// Whether the transaction of a call waits for the disk is decided by what its names may lose.
START_TEST(only_what_may_lose_commits_without_the_disk)
{
    PGconn *connection = database_connect(&api.database);
    const char *losing = declared("counters", "{\"lose_at_most\":\"1s\"}");
    const char *durable = declared("counters", "{}");
    static const struct {
        const char *losses;
        bool lost;
    } cases[] = {
        {"array[600000]", true},        {"array[600000, 9000000]", true}, {"array[599999]", false},
        {"array[600000, null]", false}, {"array[null::bigint]", false},   {"array[600000, 1]", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sql_run(connection, "begin");
        ck_assert_int_eq(
            sql_number(connection, "select holdfast.may_lose(%s::bigint[])::integer", cases[i].losses),
            cases[i].lost);
        char *commit = sql_text(connection, "select current_setting('synchronous_commit')");
        ck_assert_str_eq(commit, cases[i].lost ? "off" : "on");
        free(commit);
        sql_run(connection, "rollback");
    }
    for (int i = 0; i < 3; i++) {
        expect_value(ADD(key_path("counters", losing, "k"), 1), i + 1);
        expect_value(ADD(key_path("counters", durable, "k"), 1), i + 1);
        struct http_client *other = http_client_new(service_url(api.twin));
        expect_value(http(other, "GET", key_path("counters", losing, "k"), NO_BODY), i + 1);
        http_client_free(other);
    }
    PQfinish(connection);
}
END_TEST

START_TEST(undeclared_counter_is_404_where_names_must_be_declared)
{
    struct service *own = service_start(&(struct service_options){
        .database = api.database.url, .flags = (const char *const[]){"--declared-buckets-only", NULL}});
    struct http_client *client = http_client_new(service_url(own));
    const char *path = counter_key();
    ck_problem(add_on(client, path, 1), 404, "not_found");
    ck_problem(http(client, "GET", path, NO_BODY), 404, "not_found");
    ck_problem(http(client, "DELETE", path, NO_BODY), 404, "not_found");
    const char *known = key_path("counters", declared("counters", "{}"), "k");
    expect_value(add_on(client, known, 1), 1);
    // No call declares a gate, so its first check does.
    const char *gate = key_path("rate-gates", api_bucket(), "k");
    ck_status(check_on(client, gate, 1, "1m"), 200);
    http_client_free(client);
    service_end(own);
}
END_TEST

Suite *counters_suite(void)
{
    const TTest *const tests[] = {
        counter_adds_and_lifts,
        counter_never_wraps,
        counter_takes_whole_numbers,
        overflow_in_a_batch_is_one_operations_own,
        counter_ttl_runs_from_the_first_change,
        counter_that_overflows_begins_no_ttl,
        counter_configuration_is_whole,
        lose_at_most_is_what_the_server_can_promise,
        only_what_may_lose_commits_without_the_disk,
        undeclared_counter_is_404_where_names_must_be_declared,
        NULL,
    };
    return api_suite_of_two("counters", tests);
}
