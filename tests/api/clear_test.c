// Removing many entries at once: by bounds, and whole branches, gone for every reader when the reply is
// there.
#include "entry_steps.h"

#include "support/clock.h"
#include "support/parallel.h"

#include <stdatomic.h>

static const char *list_of(const char *bucket, const char *query)
{
    return TEXT("/v1/buckets/%s/entries%s%s", bucket, *query ? "?" : "", query);
}

// Removes by `query` and expects so many, -1 for null.
static struct answer *expect_removed(const char *bucket, const char *query, int removed)
{
    struct answer *answer = DELETE(list_of(bucket, query));
    ck_status(answer, 200);
    ck_body(answer, bytes_of(removed < 0 ? "{\"removed\":null}\n" : TEXT("{\"removed\":%d}\n", removed)));
    answer_need(answer, "Holdfast-Position");
    return answer;
}

static void put_keys(const char *bucket, const char *const *keys)
{
    for (; *keys; keys++)
        PUT(api_entry(bucket, *keys), BODY("v"));
}

// --- by bounds
// --------------------------------------------------------------------------------------------

// SCAN-1
START_TEST(clear_by_bounds_removes_exactly_those)
{
    static const char *const high[] = {"a", "a%FF", "a%FFz", "b", "%FF", "%FF%FF", NULL};
    static const char *const patterns[] = {"a_1", "ab1", "a%251", "a%5C1", NULL};
    static const char *const order[] = {"a", "b", "b%00", "b1", "c", "d", NULL};
    static const struct {
        const char *const *keys;
        const char *query;
        int removed;
        const char *left;
    } rows[] = {
        {high, "prefix=a%FF", 2, "a b =/w== =//8="},
        {high, "prefix=%FF", 2, "a =Yf8= =Yf96 b"},
        {high, "prefix=a", 3, "b =/w== =//8="},
        {high, "prefix=", 6, ""},
        {high, "prefix=x", 0, "a =Yf8= =Yf96 b =/w== =//8="},
        {patterns, "prefix=a_", 1, "a%1 a\\1 ab1"},
        {patterns, "prefix=a%25", 1, "a\\1 a_1 ab1"},
        {patterns, "prefix=a%5C", 1, "a%1 a_1 ab1"},
        {patterns, "contains=_", 1, "a%1 a\\1 ab1"},
        {patterns, "contains=1", 4, ""},
        {high, "contains=a", 1, "=Yf8= =Yf96 b =/w== =//8="}, // not those that are no UTF-8
        {order, "start=b1", 3, "a b b"},
        {order, "end=b", 1, "b b b1 c d"},
        {order, "start=b&end=c", 3, "a c d"},
        {order, "start=c&end=c", 0, "a b b b1 c d"},
        {order, "start=d&end=a", 0, "a b b b1 c d"},
        {order, "end=", 0, "a b b b1 c d"},
        {order, "start=", 6, ""},
        {order, "prefix=b&start=b1&end=z", 1, "a b b c d"},
        {order, "prefix=b&contains=1", 1, "a b b c d"},
        {order, "start=a&end=c&contains=b", 3, "a c d"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *bucket = api_bucket();
        put_keys(bucket, rows[i].keys);
        ck_status(PUT(TEXT("%s?under=a", api_entry(bucket, "a_1")), BODY("v")), 201);
        uint64_t listed = json_array_size(entries_of(GET(list_of(bucket, rows[i].query))));
        ck_assert_uint_eq(listed, (unsigned)rows[i].removed); // the same bounds list the same
        expect_removed(bucket, rows[i].query, rows[i].removed);
        expect_keys(GET(list_of(bucket, "")), rows[i].left);
        expect_keys(GET(list_of(bucket, "under=a")),
                    "a_1"); // bounds are about one branch's own keys
        expect_removed(bucket, rows[i].query, 0);
    }
}
END_TEST

START_TEST(clear_counts_the_live_ones)
{
    database_stop_clock(&api.database, START);
    const char *bucket = api_bucket();
    ck_status(PUT(TEXT("%s?ttl=1s", api_entry(bucket, "a")), BODY("v")), 201);
    ck_status(PUT(api_entry(bucket, "b"), BODY("v")), 201);
    ck_status(PUT(api_entry(bucket, "c"), BODY("v")), 201);
    database_stop_clock(&api.database, START + SECOND);
    expect_removed(bucket, "", 2);
    expect_removed(bucket, "", 0);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(clear_parameters_are_checked)
{
    const char *bucket = api_bucket();
    ck_problem(DELETE(list_of(bucket, "")), 404, "not_found");
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 404);
    ck_status(PUT(api_entry(bucket, "k"), BODY("v")), 201);
    static const char *const foreign[] = {"limit", "cursor", "values", "ttl"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        ck_invalid(DELETE(list_of(bucket, TEXT("%s=1", foreign[i]))), foreign[i]);
    ck_invalid(DELETE(list_of(bucket, "prefix=a&prefix=b")), "prefix");
    ck_invalid(DELETE(list_of(bucket, "under=")), "under");
    ck_status(GET(api_entry(bucket, "k")), 200);
}
END_TEST

// --- branches
// ---------------------------------------------------------------------------------------------

START_TEST(clear_of_a_branch_takes_all_below)
{
    const char *bucket = api_bucket();
    static const char *const places[] = {
        "",         "under=x", "under=x&under=y", "under=x&under=y&under=z", "under=x%00",
        "under=xy", "under=w", "under=y",         "under=x&under=%FF"};
    enum { PLACES = sizeof places / sizeof places[0] };
    for (int i = 0; i < PLACES; i++)
        ck_status(PUT(TEXT("%s?%s", api_entry(bucket, "k"), places[i]), BODY("v")), 201);
    expect_removed(bucket, "under=x", 4);
    static const bool left[PLACES] = {true, false, false, false, true, true, true, true, false};
    for (int i = 0; i < PLACES; i++)
        ck_status(GET(TEXT("%s?%s", api_entry(bucket, "k"), places[i])), left[i] ? 200 : 404);
    expect_removed(bucket, "under=none", 0);
    expect_removed(bucket, "", 5);
    for (int i = 0; i < PLACES; i++)
        ck_status(GET(TEXT("%s?%s", api_entry(bucket, "k"), places[i])), 404);
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 200);
}
END_TEST

START_TEST(clear_counts_up_to_10000)
{
    const char *bucket = bucket_of_type("any");
    PGconn *connection = database_connect(&api.database);
    insert_entries(connection, bucket, "x", 10000);
    expect_removed(bucket, "under=x", 10000);
    ck_assert_int_eq(rows_of(connection, bucket), 0);
    insert_entries(connection, bucket, "x", 10001);
    ck_status(PUT(api_entry(bucket, "k"), BODY("v")), 201);
    expect_removed(bucket, "under=x&prefix=key", -1);
    ck_body(GET(list_of(bucket, "under=x")), BODY("{\"entries\":[],\"cursor\":null}\n"));
    ck_status(GET(api_entry(bucket, "k")), 200);
    PQfinish(connection);
}
END_TEST

// --- large
// ------------------------------------------------------------------------------------------------

enum { MANY = 100000, REPLY_MS = 1000 };

struct freed {
    PGconn *connection;
    const char *bucket;
    int64_t rows;
};

static bool is_freed(void *user)
{
    struct freed *freed = user;
    // The clear goes last; counting rows all the time would be in the sweeper's way.
    return sql_number(freed->connection,
                      "select count(*) from holdfast.clears c join "
                      "holdfast.buckets b on b.id = c.bucket_id "
                      "where b.name = '%s'",
                      freed->bucket) == 0 &&
           rows_of(freed->connection, freed->bucket) == freed->rows;
}

// Nothing of the branch `x` is there, for no call of this replica.
static void expect_gone(const char *url, const char *bucket, const struct answer *old)
{
    struct http_client *client = http_client_new(url);
    const char *path = TEXT("%s?under=x", api_entry(bucket, "key-050000"));
    const char *mine = TEXT("%s?under=x", api_entry(bucket, "mine"));
    ck_status(http(client, "GET", path, NO_BODY), 404);
    ck_status(http(client, "HEAD", path, NO_BODY), 404);
    ck_status(http(client, "DELETE", path, NO_BODY), 404);
    ck_status(http(client, "POST", TEXT("%s/take?under=x", api_entry(bucket, "key-000001")), NO_BODY), 404);
    ck_body(http(client, "GET", list_of(bucket, "under=x"), NO_BODY),
            BODY("{\"entries\":[],\"cursor\":null}\n"));
    ck_body(http(client, "GET", list_of(bucket, "under=x&contains=key"), NO_BODY),
            BODY("{\"entries\":[],\"cursor\":null}\n"));
    ck_body(http(client, "POST", TEXT("/v1/buckets/%s/batch-get", bucket),
                 BODY("{\"keys\":[\"key-000002\",\"key-100000\"],\"under\":[\"x\"]}")),
            BODY("{\"entries\":[null,null]}\n"));
    expect_conflict(http(client, "PUT", mine, BODY("w"), if_match_of(old)), NULL);
    struct answer *made = http(client, "PUT", mine, BODY("w"), "If-None-Match: *");
    ck_status(made, 201);
    ck_status(http(client, "GET", mine, NO_BODY, TEXT("If-None-Match: %s", tag_of(old))), 200);
    ck_status(http(client, "DELETE", mine, NO_BODY), 204);
    http_client_free(client);
}

START_TEST(clear_of_a_large_branch_is_at_once)
{
    const char *bucket = bucket_of_type("any");
    PGconn *holder = hold_sweeper(), *connection = database_connect(&api.database);
    insert_entries(connection, bucket, "x", MANY);
    const char *mine = TEXT("%s?under=x", api_entry(bucket, "mine"));
    struct answer *old = PUT(mine, BODY("v"));
    ck_status(PUT(api_entry(bucket, "outside"), BODY("v")), 201);
    ck_status(PUT(TEXT("%s?under=y", api_entry(bucket, "outside")), BODY("v")), 201);
    int64_t began = clock_ms();
    expect_removed(bucket, "under=x", -1);
    ck_assert_int_lt(clock_ms() - began, REPLY_MS);
    ck_assert_int_eq(rows_of(connection, bucket),
                     MANY + 3); // hidden, not freed: nobody may see it all the same
    expect_gone(service_url(api.service), bucket, old);
    expect_gone(service_url(api.twin), bucket, old);
    // What is written from now on stays, also where a hidden row was, also through the sweep.
    static const char *const later[] = {"key-000003", "key-099999", "new"};
    for (int i = 0; i < 3; i++)
        ck_status(PUT(TEXT("%s?under=x", api_entry(bucket, later[i])), BODY("later")), 201);
    expect_keys(GET(list_of(bucket, "under=x")), "key-000003 key-099999 new");
    PQfinish(holder);
    struct freed freed = {connection, bucket, 5};
    ck_assert_msg(clock_wait(is_freed, &freed, 60 * 1000), "%lld rows are left",
                  (long long)rows_of(connection, bucket));
    for (int i = 0; i < 3; i++)
        ck_body(GET(TEXT("%s?under=x", api_entry(bucket, later[i]))), BODY("later"));
    ck_status(GET(api_entry(bucket, "outside")), 200);
    ck_status(GET(TEXT("%s?under=y", api_entry(bucket, "outside"))), 200);
    ck_assert_int_eq(sql_number(connection,
                                "select count(*) from holdfast.buckets where "
                                "name = '%s' and cleared_to is not null",
                                bucket),
                     0);
    PQfinish(connection);
}
END_TEST

START_TEST(clears_one_over_the_other)
{
    const char *bucket = bucket_of_type("any");
    PGconn *holder = hold_sweeper(), *connection = database_connect(&api.database);
    insert_entries(connection, bucket, "x", 10001);
    expect_removed(bucket, "under=x", -1);
    ck_status(PUT(TEXT("%s?under=x", api_entry(bucket, "between")), BODY("v")), 201);
    ck_status(PUT(api_entry(bucket, "top"), BODY("v")), 201);
    expect_keys(GET(list_of(bucket, "under=x")), "between");
    expect_removed(bucket, "", -1); // the whole bucket, hidden rows and all
    ck_status(GET(api_entry(bucket, "top")), 404);
    ck_status(PUT(TEXT("%s?under=x", api_entry(bucket, "after")), BODY("v")), 201);
    expect_keys(GET(list_of(bucket, "under=x")), "after");
    expect_removed(bucket, "under=x&start=a&end=key-000005", 1); // the hidden ones are not counted
    ck_status(PUT(TEXT("%s?under=x", api_entry(bucket, "last")), BODY("v")), 201);
    PQfinish(holder);
    struct freed freed = {connection, bucket, 1};
    ck_assert(clock_wait(is_freed, &freed, 60 * 1000));
    expect_keys(GET(list_of(bucket, "under=x")), "last");
    PQfinish(connection);
}
END_TEST

// Rows that nobody can see any more do not keep a bucket from changing its type.
START_TEST(cleared_bucket_takes_another_type)
{
    const char *bucket = bucket_of_type("any");
    PGconn *holder = hold_sweeper();
    insert_entries(holder, bucket, NULL, 10001);
    ck_problem(DECLARE(bucket, "{\"type\":\"int\"}"), 409, "busy");
    expect_removed(bucket, "", -1);
    ck_status(DECLARE(bucket, "{\"type\":\"int\"}"), 200);
    ck_problem(PUT(api_entry(bucket, "key-000001"), BODY("v")), 422, "type_mismatch");
    ck_status(PUT(api_entry(bucket, "key-000001"), BODY("5")), 201);
    PQfinish(holder);
}
END_TEST

// --- races
// ------------------------------------------------------------------------------------------------

enum { WRITERS = 6, WRITES = 60 };

struct race {
    const char *bucket;
    int64_t position[WRITERS * WRITES];
    int64_t cleared;
    atomic_int started;
};

static int64_t position_of(const struct answer *answer)
{
    return strtoll(answer_need(answer, "Holdfast-Position"), NULL, 10);
}

static void write_or_clear(size_t index, void *user)
{
    struct race *race = user;
    struct http_client *client = http_client_new(replica_url(index));
    if (index == WRITERS) {
        while (atomic_load(&race->started) < WRITERS * WRITES / 3)
            clock_pause(1);
        const char *list = http_text(client, "/v1/buckets/%s/entries?under=x", race->bucket);
        race->cleared = position_of(http(client, "DELETE", list, NO_BODY));
    }
    for (size_t i = 0; index < WRITERS && i < WRITES; i++) {
        size_t at = index * WRITES + i;
        const char *path = http_text(client, "/v1/buckets/%s/entries/%zu?under=x", race->bucket, at);
        race->position[at] = position_of(http(client, "PUT", path, BODY("v")));
        atomic_fetch_add(&race->started, 1);
    }
    http_client_free(client);
}

// A clear has its place among the writes of its bucket: what has a position before it is gone, the rest
// stays.
static void expect_place_in_order(const char *bucket)
{
    struct race *race = calloc(1, sizeof *race);
    race->bucket = bucket;
    parallel_run(WRITERS + 1, write_or_clear, race);
    int gone = 0;
    for (int i = 0; i < WRITERS * WRITES; i++) {
        int status = GET(TEXT("/v1/buckets/%s/entries/%d?under=x", bucket, i))->status;
        ck_assert_int_eq(status, race->position[i] > race->cleared ? 200 : 404);
        gone += status == 404;
    }
    ck_assert_int_gt(gone, 0);
    free(race);
}

START_TEST(clear_has_its_place_among_the_writes)
{
    PGconn *connection = database_connect(&api.database);
    expect_place_in_order(bucket_of_type("any"));
    const char *large = bucket_of_type("any");
    insert_entries(connection, large, "x", 10001);
    expect_place_in_order(large);
    PQfinish(connection);
}
END_TEST

Suite *clear_suite(void)
{
    const TTest *const tests[] = {
        clear_by_bounds_removes_exactly_those,
        clear_counts_the_live_ones,
        clear_parameters_are_checked,
        clear_of_a_branch_takes_all_below,
        clear_counts_up_to_10000,
        clear_of_a_large_branch_is_at_once,
        clears_one_over_the_other,
        cleared_bucket_takes_another_type,
        clear_has_its_place_among_the_writes,
        NULL,
    };
    return api_suite_of_two("clear", tests);
}
