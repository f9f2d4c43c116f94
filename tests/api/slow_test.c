// What the log and the database tell of single requests: slow ones with their parts, traces, whose a call
// was.
#include "entry_steps.h"

#include "support/clock.h"
#include "support/pooler.h"
#include "support/scratch.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"

struct wanted {
    const char *event;
    const char *id; // that the line has as request_id, or among its request_ids
    json_t *line;
};

static bool names(const json_t *line, const char *id)
{
    const char *one = json_string_value(json_object_get(line, "request_id"));
    const char *many = json_string_value(json_object_get(line, "request_ids"));
    return (one && strcmp(one, id) == 0) || (many && strstr(many, id));
}

static bool find_line(void *user)
{
    struct wanted *wanted = user;
    char *log = scratch_read(service_log(api.service), NULL);
    char *rest = NULL;
    for (char *line = strtok_r(log, "\n", &rest); line && !wanted->line; line = strtok_r(NULL, "\n", &rest)) {
        json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        const char *event = json_string_value(json_object_get(object, "event"));
        if (event && strcmp(event, wanted->event) == 0 && names(object, wanted->id))
            wanted->line = json_incref(object);
        json_decref(object);
    }
    free(log);
    return wanted->line != NULL;
}

static json_t *logged(const char *event, const char *id)
{
    struct wanted wanted = {.event = event, .id = id};
    if (!clock_wait(find_line, &wanted, 5000))
        ck_abort_msg("the log has no line %s for %s", event, id);
    return wanted.line;
}

static int64_t number_of(const json_t *line, const char *name)
{
    const json_t *member = json_object_get(line, name);
    ck_assert_msg(json_is_integer(member), "%s is no number", name);
    return json_integer_value(member);
}

// A write of a bucket that somebody else writes to waits for the lock of its name, with the database.
START_TEST(slow_request_is_logged_with_its_parts)
{
    const char *bucket = api_bucket();
    const char *id = TEXT("slow-%s", bucket);
    PGconn *other = database_connect(&api.database);
    ck_status(PUT(api_entry(bucket, "k"), BODY("1")), 201);
    sql_run(other, "begin; select holdfast.lock_names(array['%s'])", bucket);
    ck_assert_int_eq(PQsendQuery(other, "select pg_sleep(0.3); commit"), 1);
    ck_status(PUT(api_entry(bucket, "SecretKey"), BODY("2"), TEXT("X-Request-Id: %s", id)), 201);
    json_t *line = logged("slow_request", id);
    ck_assert_str_eq(json_string_value(json_object_get(line, "level")), "warn");
    ck_assert_str_eq(json_string_value(json_object_get(line, "method")), "PUT");
    ck_assert_str_eq(json_string_value(json_object_get(line, "route")), "/v1/buckets/{bucket}/entries/{key}");
    ck_assert_int_eq(number_of(line, "status"), 201);
    int64_t whole = number_of(line, "us"), database = number_of(line, "database_us");
    int64_t others =
        number_of(line, "received_us") + number_of(line, "queued_us") + number_of(line, "reply_us");
    ck_assert_int_ge(database, 100 * 1000);
    ck_assert_int_ge(others, 0);
    ck_assert_int_le(database + others, whole);
    json_decref(line);
    line = logged("slow_call", id);
    ck_assert_str_eq(json_string_value(json_object_get(line, "statement")), "put_entries");
    ck_assert_str_eq(json_string_value(json_object_get(line, "role")), "write");
    ck_assert_int_eq(number_of(line, "operations"), 1);
    ck_assert_int_ge(number_of(line, "us"), 100 * 1000);
    json_decref(line);
    PQfinish(other);
}
END_TEST

START_TEST(quick_requests_have_one_line)
{
    const char *id = TEXT("quick-%s", api_bucket());
    ck_status(GET("/livez", TEXT("X-Request-Id: %s", id)), 200);
    json_decref(logged("request", id));
    struct wanted slow = {.event = "slow_request", .id = id};
    ck_assert(!find_line(&slow));
}
END_TEST

// A wait is meant to take long.
START_TEST(waits_are_not_slow)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    const char *id = TEXT("wait-%s", bucket);
    ck_status(PUT(path, BODY("1")), 201);
    struct answer *got = GET(path);
    ck_status(GET(path, TEXT("If-None-Match: %s", answer_need(got, "ETag")), "Prefer: wait=1",
                  TEXT("X-Request-Id: %s", id)),
              304);
    json_decref(logged("request", id));
    struct wanted slow = {.event = "slow_request", .id = id};
    ck_assert(!find_line(&slow));
}
END_TEST

START_TEST(failed_call_tells_whose_it_was)
{
    const char *bucket = api_bucket();
    const char *id = TEXT("failed-%s", bucket);
    PGconn *connection = database_connect(&api.database);
    ck_status(PUT(api_entry(bucket, "k"), BODY("1")), 201);
    sql_run(connection,
            "create function public.refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$;"
            "create trigger refuse before insert on holdfast.entries execute function public.refuse()");
    ck_problem(PUT(api_entry(bucket, "other"), BODY("1"), TEXT("X-Request-Id: %s", id)), 500, "internal");
    sql_run(connection, "drop trigger refuse on holdfast.entries; drop function public.refuse()");
    json_t *line = logged("statement_failed", id);
    ck_assert_str_eq(json_string_value(json_object_get(line, "sqlstate")), "P0001");
    json_decref(line);
    PQfinish(connection);
}
END_TEST

START_TEST(trace_is_handed_on_and_logged)
{
    const char *id = TEXT("trace-%s", api_bucket());
    struct answer *answer =
        GET("/livez", "traceparent: 00-" TRACE "-00f067aa0ba902b7-01", TEXT("X-Request-Id: %s", id));
    const char *traceparent = answer_need(answer, "traceparent");
    json_t *line = logged("request", id);
    ck_assert_str_eq(json_string_value(json_object_get(line, "trace_id")), TRACE);
    const char *span = json_string_value(json_object_get(line, "span_id"));
    ck_assert_str_ne(span, "00f067aa0ba902b7");
    ck_assert_str_eq(traceparent, TEXT("00-" TRACE "-%s-01", span));
    answer = GET("/nowhere", "traceparent: 00-" TRACE "-00f067aa0ba902b7-00");
    ck_problem(answer, 404, "not_found");
    ck_assert_str_ne(answer_need(answer, "traceparent"), TEXT("00-" TRACE "-%s-00", span));
    json_decref(line);
}
END_TEST

START_TEST(doubtful_trace_is_none)
{
    ck_header(GET("/livez"), "traceparent", NULL);
    ck_header(GET("/livez", "traceparent: 00-" TRACE "-0000000000000000-01"), "traceparent", NULL);
    ck_header(GET("/livez", "traceparent;"), "traceparent", NULL);
    struct answer *twice = GET("/livez", "traceparent: 00-" TRACE "-00f067aa0ba902b7-01",
                               "traceparent: 00-" TRACE "-00f067aa0ba902b7-01");
    ck_status(twice, 200);
    ck_header(twice, "traceparent", NULL);
}
END_TEST

struct carried {
    PGconn *observer;
    const char *name;
    const char *bucket;
};

// A pooler's session is named for whom it served last, so somebody must be served while we look.
static bool session_is_named(void *user)
{
    const struct carried *carried = user;
    const char *path = api_entry(carried->bucket, "k");
    if (pooler_is_wanted()) {
        http_client_reconnect(api.client); // perhaps to another worker
        ck_reply(PUT(path, BODY("v")), answer_->status < 300);
        ck_status(GET(path), 200);
        ck_status(GET(TEXT("/v1/buckets/%s/entries", carried->bucket)), 200);
    }
    return sql_number(carried->observer,
                      "select count(*) from pg_stat_activity where datname = current_database() and "
                      "application_name = 'holdfast %s'",
                      carried->name) >= 1;
}

START_TEST(sessions_say_what_they_carry)
{
    static const char *const names[] = {"read/0", "write/0", "list/0"};
    struct carried carried = {.observer = database_connect(&api.database), .bucket = api_bucket()};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        carried.name = names[i];
        ck_assert_msg(clock_wait(session_is_named, &carried, pooler_is_wanted() ? 10 * 1000 : 0),
                      "no session is named for %s", names[i]);
    }
    PQfinish(carried.observer);
}
END_TEST

static void start_slow(void)
{
    api_start((const char *const[]){"--slow", "100ms", NULL});
}

Suite *slow_suite(void)
{
    const TTest *const tests[] = {
        slow_request_is_logged_with_its_parts,
        quick_requests_have_one_line,
        waits_are_not_slow,
        failed_call_tells_whose_it_was,
        trace_is_handed_on_and_logged,
        doubtful_trace_is_none,
        sessions_say_what_they_carry,
        NULL,
    };
    return api_suite_started("slow", start_slow, tests);
}
