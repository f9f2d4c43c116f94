// The sweeper: rows that are absent already are freed, by one replica at a time, never in the way of writers.
#include "entry_steps.h"

#include "support/clock.h"
#include "support/raw.h"

enum { MANY = 20000, FREED_MS = 60 * 1000 };

struct freed {
    PGconn *connection;
    const char *bucket;
    int64_t rows;
};

static bool is_freed(void *user)
{
    struct freed *freed = user;
    return rows_of(freed->connection, freed->bucket) == freed->rows;
}

static void expect_rows(PGconn *connection, const char *bucket, int64_t rows)
{
    struct freed freed = {connection, bucket, rows};
    ck_assert_msg(clock_wait(is_freed, &freed, FREED_MS), "there are %lld rows and not %lld",
                  (long long)rows_of(connection, bucket), (long long)rows);
}

// Gives all entries of the bucket an expiry so many seconds from now, as a put would have.
static void expire_in(PGconn *connection, const char *bucket, int seconds)
{
    sql_run(connection,
            "update holdfast.entries e set expires_at = holdfast.now() + interval '%d seconds', "
            "slot = holdfast.slot_of(holdfast.now() + interval '%d seconds') "
            "from holdfast.buckets b where b.id = e.bucket_id and b.name = '%s'",
            seconds, seconds, bucket);
}

START_TEST(expired_rows_are_freed)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = bucket_of_type("any");
    insert_entries(connection, bucket, NULL, MANY);
    expire_in(connection, bucket, -120);
    ck_status(PUT(TEXT("%s?ttl=1h", api_entry(bucket, "live")), BODY("v")), 201);
    ck_status(PUT(api_entry(bucket, "for-ever"), BODY("v")), 201);
    expect_rows(connection, bucket, 2);
    ck_status(GET(api_entry(bucket, "live")), 200);
    ck_status(GET(api_entry(bucket, "for-ever")), 200);
    PQfinish(connection);
}
END_TEST

// An entry put with a term and nothing else done to it goes the same way.
START_TEST(expired_entries_of_puts_are_freed)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket();
    for (int i = 0; i < 5; i++)
        ck_status(PUT(TEXT("%s?ttl=1s", api_entry(bucket, TEXT("%d", i))), BODY("v")), 201);
    ck_status(POST(TEXT("%s/add", api_entry(bucket, "sum")), BODY("{\"by\":1,\"ttl\":\"1s\"}")), 200);
    ck_status(PUT(api_entry(bucket, "set"), BODY("v")), 201);
    ck_status(PUT(TEXT("%s/expiry", api_entry(bucket, "set")), BODY("{\"ttl\":\"1s\"}")), 204);
    ck_status(POST(TEXT("%s/copy", api_entry(bucket, "set")), BODY("{\"to_key\":\"copy\"}")), 200);
    ck_assert_int_eq(rows_of(connection, bucket), 8);
    database_shift_clock(&api.database, 70 * SECOND);
    expect_rows(connection, bucket, 0);
    database_shift_clock(&api.database, 0);
    PQfinish(connection);
}
END_TEST

// Where the sweeper first looks is the first expiry the entry had; a later one is what counts.
START_TEST(prolonged_entries_stay)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket();
    const char *prolonged = api_entry(bucket, "prolonged"), *kept = api_entry(bucket, "kept");
    ck_status(PUT(TEXT("%s?ttl=1s", prolonged), BODY("v")), 201);
    ck_status(PUT(TEXT("%s?ttl=1s", kept), BODY("v")), 201);
    ck_status(PUT(TEXT("%s?ttl=1s", api_entry(bucket, "gone")), BODY("v")), 201);
    ck_status(PUT(TEXT("%s/expiry", prolonged), BODY("{\"ttl\":\"10m\"}")), 204);
    ck_status(PUT(TEXT("%s?persist=true", kept), BODY("w")), 204);
    database_shift_clock(&api.database, 120 * SECOND);
    expect_rows(connection, bucket, 2); // the step that freed the one has dealt with these two as well
    ck_body(GET(prolonged), BODY("v"));
    ck_body(GET(kept), BODY("w"));
    database_shift_clock(&api.database, 720 * SECOND);
    expect_rows(connection, bucket, 1);
    ck_status(GET(prolonged), 404);
    ck_body(GET(kept), BODY("w"));
    database_shift_clock(&api.database, 0);
    PQfinish(connection);
}
END_TEST

START_TEST(rows_of_a_dropped_bucket_are_freed)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = bucket_of_type("any");
    insert_entries(connection, bucket, NULL, MANY);
    int64_t id = sql_number(connection, "select id from holdfast.buckets where name = '%s'", bucket);
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    ck_status(PUT(api_entry(bucket, "key-000001"), BODY("anew")), 201);
    int64_t until = clock_ms() + FREED_MS;
    while (sql_number(connection,
                      "select (select count(*) from holdfast.entries where bucket_id = %lld) + "
                      "(select count(*) from holdfast.dropped_buckets where bucket_id = %lld)",
                      (long long)id, (long long)id) > 0) {
        ck_assert_msg(clock_ms() < until, "the rows of the dropped bucket stay");
        clock_pause(20);
    }
    ck_body(GET(api_entry(bucket, "key-000001")), BODY("anew"));
    PQfinish(connection);
}
END_TEST

START_TEST(one_replica_sweeps_at_a_time)
{
    PGconn *holder = hold_sweeper(), *connection = database_connect(&api.database);
    const char *bucket = bucket_of_type("any");
    insert_entries(connection, bucket, NULL, 10);
    expire_in(connection, bucket, -120);
    ck_assert_int_eq(sql_number(connection, "select holdfast.sweep(1000)"), -1);
    ck_assert_int_eq(rows_of(connection, bucket), 10);
    PQfinish(holder);
    expect_rows(connection, bucket, 0);
    PQfinish(connection);
}
END_TEST

// --- writers ----------------------------------------------------------------------------------------------

// Rows that a writer holds are passed over; the rest does not wait for them.
START_TEST(sweeper_passes_over_rows_that_are_held)
{
    PGconn *connection = database_connect(&api.database), *writer = database_connect(&api.database);
    const char *bucket = bucket_of_type("any");
    PGconn *holder = hold_sweeper();
    insert_entries(connection, bucket, NULL, 100);
    expire_in(connection, bucket, -120);
    sql_run(writer, "begin");
    sql_run(
        writer,
        "select 1 from holdfast.entries e join holdfast.buckets b on b.id = e.bucket_id "
        "where b.name = '%s' and e.path = '\\x01'::bytea || convert_to('key-000007', 'UTF8') for update of e",
        bucket);
    PQfinish(holder);
    expect_rows(connection, bucket, 1);
    sql_run(writer, "commit");
    expect_rows(connection, bucket, 0);
    PQfinish(writer);
    PQfinish(connection);
}
END_TEST

static bool sweep_waits(void *user)
{
    return sql_number(user, "select count(*) from pg_locks where not granted and database = "
                            "(select oid from pg_database where datname = current_database())") > 0;
}

// A sweep that waits for a writer of a cleared bucket holds no row that the writer could want: else the two
// would wait for each other.
START_TEST(sweeper_that_waits_holds_no_rows)
{
    PGconn *holder = hold_sweeper(), *observer = database_connect(&api.database);
    PGconn *writer = database_connect(&api.database);
    const char *bucket = bucket_of_type("any");
    insert_entries(observer, bucket, NULL, 5);
    expire_in(observer, bucket, -120);
    // A clear whose rows are all freed: forgetting it is what the sweeper takes the name's lock for.
    sql_run(observer,
            "with c as (insert into holdfast.clears (bucket_id, revision, low) "
            "select id, nextval('holdfast.revision'), '\\x02' from holdfast.buckets where name = '%s' "
            "returning bucket_id, revision) "
            "update holdfast.buckets b set cleared_to = c.revision from c where b.id = c.bucket_id",
            bucket);
    sql_run(writer, "begin");
    sql_run(writer, "select holdfast.lock_names(array['%s'])", bucket);
    PQfinish(holder);
    ck_assert_msg(clock_wait(sweep_waits, observer, 10 * 1000), "the sweeper does not wait for the name");
    sql_run(writer, "set local lock_timeout = '500ms'");
    sql_run(writer,
            "update holdfast.entries e set version = version from holdfast.buckets b "
            "where b.id = e.bucket_id and b.name = '%s'",
            bucket);
    sql_run(writer, "commit");
    expect_rows(observer, bucket, 0);
    PQfinish(writer);
    PQfinish(observer);
}
END_TEST

static bool writer_waits(void *user)
{
    return sql_number(user, "select count(*) from pg_stat_activity where wait_event_type = 'Lock' "
                            "and datname = current_database()") > 0;
}

// An expired entry was none, also when its row goes while the put waits for it.
START_TEST(put_meets_a_row_that_is_being_freed)
{
    PGconn *holder = hold_sweeper(), *observer = database_connect(&api.database);
    PGconn *freeing = database_connect(&api.database);
    const char *bucket = bucket_of_type("any"), *path = api_entry(bucket, "k");
    ck_status(PUT(path, BODY("v")), 201);
    expire_in(observer, bucket, -120);
    sql_run(freeing, "begin");
    sql_run(
        freeing,
        "delete from holdfast.entries e using holdfast.buckets b where b.id = e.bucket_id and b.name = '%s'",
        bucket);
    struct raw *raw = raw_connect(service_port(api.service));
    ck_assert(raw_text(raw, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nw", path));
    ck_assert_msg(clock_wait(writer_waits, observer, 10 * 1000), "the put does not wait for the row");
    sql_run(freeing, "commit");
    struct answer *answer = raw_read(raw, false, 10 * 1000);
    ck_assert_ptr_nonnull(answer);
    ck_status(answer, 201);
    ck_body(GET(path), BODY("w"));
    raw_close(raw);
    PQfinish(freeing);
    PQfinish(observer);
    PQfinish(holder);
}
END_TEST

Suite *sweeper_suite(void)
{
    const TTest *const tests[] = {
        expired_rows_are_freed,
        expired_entries_of_puts_are_freed,
        prolonged_entries_stay,
        rows_of_a_dropped_bucket_are_freed,
        one_replica_sweeps_at_a_time,
        sweeper_passes_over_rows_that_are_held,
        sweeper_that_waits_holds_no_rows,
        put_meets_a_row_that_is_being_freed,
        NULL,
    };
    return api_suite_of_two("sweeper", tests);
}
