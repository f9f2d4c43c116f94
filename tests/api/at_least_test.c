// GET from a view that includes a position: one that is there, one that is being committed, one that is to
// come, one that never will.
#include "wait_steps.h"

#include "entry_steps.h"
#include "support/clock.h"
#include "support/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

static const char *at_least(const char *path, const char *position)
{
    return TEXT("%s?at_least=%s", path, position);
}

START_TEST(position_that_is_there_answers_at_once)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    struct http_client *twin = http_client_new(service_url(api.twin));
    struct answer *put = PUT(path, BODY("v"));
    struct answer *got = http(twin, "GET", at_least(path, answer_need(put, "Holdfast-Position")), NO_BODY);
    ck_status(got, 200);
    ck_body(got, BODY("v"));
    ck_header(got, "Preference-Applied", NULL);
    struct answer *gone = DELETE(path);
    const char *position = answer_need(gone, "Holdfast-Position");
    ck_problem(http(twin, "GET", at_least(path, position), NO_BODY), 404, "not_found");
    ck_problem(http(twin, "GET", at_least(api_entry(api_bucket(), "k"), position), NO_BODY), 404,
               "not_found");
    struct answer *again = PUT(path, BODY("w"));
    struct answer *same = http(twin, "GET", at_least(path, position), NO_BODY,
                               TEXT("If-None-Match: %s", tag_of(again)), "Prefer: wait=30");
    ck_status(same, 304);
    ck_header(same, "Preference-Applied", "wait=30");
    ck_status(http(twin, "HEAD", at_least(path, position), NO_BODY), 200);
    ck_status(http(twin, "GET", at_least(path, "0"), NO_BODY), 200);
    http_client_free(twin);
}
END_TEST

START_TEST(position_that_is_none_is_400)
{
    static const char *const none[] = {"",     "x",  "-1", "+1", "1.0", "01", "9223372036854775808",
                                       "1%20", "%00"};
    const char *path = api_entry(api_bucket(), "k");
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        ck_invalid(GET(at_least(path, none[i])), "at_least");
    ck_invalid(GET(TEXT("%s?at_least=1&at_least=1", path)), "at_least");
}
END_TEST

START_TEST(position_to_come_is_stale_when_the_time_is_up)
{
    const char *path = api_entry(api_bucket(), "k");
    struct answer *put = PUT(path, BODY("v"));
    // Far more than this database will issue meanwhile.
    const char *future = "9223372036854775807";
    int64_t start = clock_ms();
    struct answer *stale = GET(at_least(path, future), "Prefer: wait=1");
    ck_problem(stale, 503, "stale");
    ck_header(stale, "Preference-Applied", "wait=1");
    ck_assert_ptr_nonnull(answer_header(stale, "Retry-After"));
    ck_assert_int_ge(clock_ms() - start, 990);
    start = clock_ms();
    ck_problem(GET(at_least(path, future)), 503, "stale");
    ck_assert_int_ge(clock_ms() - start, 4900);
    ck_problem(GET(at_least(path, future), "Prefer: wait=0"), 503, "stale");
    // One that comes while it is waited for.
    put = PUT(path, BODY("w")); // connections that were opened meanwhile lifted the sequence
    long long next = strtoll(answer_need(put, "Holdfast-Position"), NULL, 10) + 600;
    struct raw *raw = wait_begin(api.twin, at_least(path, TEXT("%lld", next)), "Prefer: wait=30\r\n");
    ck_assert(raw_silent(raw, 100));
    for (int i = 0; i < 4; i++)
        put = PUT(path, bytes_of(TEXT("%d", i)));
    ck_status(wait_end(raw), 200);
}
END_TEST

// Nobody will ever be given a position that the sequence was lifted over.
START_TEST(position_of_another_history_is_stale)
{
    PGconn *connection = database_connect(&api.database);
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("v")), 201);
    char *lost = sql_text(connection, "select high - 1 from holdfast.lifts order by id desc limit 1");
    int64_t start = clock_ms();
    ck_problem(GET(at_least(path, lost), "Prefer: wait=20"), 503, "stale");
    ck_assert_int_lt(clock_ms() - start, 10000);
    free(lost);
    PQfinish(connection);
}
END_TEST

// A position is drawn before its transaction is committed; until then nobody answers without it.
START_TEST(position_under_way_is_waited_for)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    ck_status(PUT(path, BODY("old")), 201);
    PGconn *writer = database_connect(&api.database);
    sql_run(writer, "begin");
    int64_t version =
        sql_number(writer,
                   "select version from holdfast.put_entries(array['%s'], '{1}', '{1}', "
                   "array(select path from holdfast.entries where bucket_id = (select id from "
                   "holdfast.buckets where name = '%s')), '{new}', '{null}', '{null}', '{any}', "
                   "'{0}', '{null}', '{null}', '{null}', '{null}', '{t}')",
                   bucket, bucket);
    const char *target = at_least(path, TEXT("%lld", (long long)version));
    struct raw *waits[20];
    for (int i = 0; i < 20; i++)
        waits[i] = wait_begin(i % 2 ? api.service : api.twin, target, "Prefer: wait=30\r\n");
    struct raw *impatient = wait_begin(api.service, target, "Prefer: wait=1\r\n");
    // The bucket is held, and nobody who only reads waits behind those who wait for it.
    for (int i = 0; i < 20; i++) {
        ck_body(GET(path), BODY("old"));
        ck_status(GET(TEXT("/v1/buckets/%s/entries", bucket)), 200);
        ck_assert(raw_silent(waits[i], 0));
    }
    ck_problem(wait_end(impatient), 503, "stale");
    sql_run(writer, "commit");
    for (int i = 0; i < 20; i++)
        ck_body(wait_end(waits[i]), BODY("new"));
    PQfinish(writer);
}
END_TEST

struct storm {
    const char *path;
    atomic_bool over;
};

static void *write_on(void *user)
{
    struct storm *storm = user;
    struct http_client *client = http_client_new(service_url(api.service));
    while (!atomic_load(&storm->over))
        http(client, "PUT", storm->path, BODY("v"));
    http_client_free(client);
    return NULL;
}

// In a bucket that is never still, the position of an absent entry is settled as soon as its writer is done.
START_TEST(busy_bucket_does_not_keep_a_position_waiting)
{
    enum { WRITERS = 4, LOOKS = 100 };
    const char *bucket = api_bucket();
    struct storm storm = {.path = api_entry(bucket, "busy")};
    const char *path = api_entry(bucket, "gone");
    pthread_t writers[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        ck_assert_int_eq(pthread_create(&writers[i], NULL, write_on, &storm), 0);
    struct http_client *twin = http_client_new(service_url(api.twin));
    for (int i = 0; i < LOOKS; i++) {
        struct answer *put = PUT(path, BODY("v"));
        ck_status(http(twin, "GET", at_least(path, answer_need(put, "Holdfast-Position")), NO_BODY), 200);
        struct answer *gone = DELETE(path);
        ck_status(http(twin, "GET", at_least(path, answer_need(gone, "Holdfast-Position")), NO_BODY,
                       "Prefer: wait=20"),
                  404);
    }
    atomic_store(&storm.over, true);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    http_client_free(twin);
}
END_TEST

START_TEST(clients_that_leave_a_position_cost_nothing)
{
    const char *path = api_entry(api_bucket(), "k");
    for (int i = 0; i < 300; i++) {
        struct raw *raw = wait_begin(api.twin, at_least(path, "9223372036854775807"), "Prefer: wait=2\r\n");
        if (i % 10 == 0)
            ck_assert(raw_silent(raw, 20));
        raw_abort(raw);
    }
    struct raw *raw = wait_begin(api.twin, at_least(path, "9223372036854775807"), "Prefer: wait=3\r\n");
    ck_problem(wait_end(raw), 503, "stale");
}
END_TEST

Suite *at_least_suite(void)
{
    const TTest *const tests[] = {
        position_that_is_there_answers_at_once,
        position_that_is_none_is_400,
        position_to_come_is_stale_when_the_time_is_up,
        position_of_another_history_is_stale,
        position_under_way_is_waited_for,
        busy_bucket_does_not_keep_a_position_waiting,
        clients_that_leave_a_position_cost_nothing,
        NULL,
    };
    return api_suite_of_two("at_least", tests);
}
