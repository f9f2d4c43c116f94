// Idle terms: a read makes an entry live on, and hardly ever writes a row for it.
#include "entry_steps.h"

#include "support/clock.h"
#include "support/parallel.h"

#include <stdatomic.h>
#include <stdio.h>

// One whole term; a thirtieth of it is a second.
#define TERM "{\"idle\":\"30s\"}"

static void set_clock(int64_t us)
{
    database_stop_clock(&api.database, us);
}

// A fresh entry of an idle bucket, made at START.
static const char *idle_entry(void)
{
    const char *bucket = api_bucket();
    set_clock(START);
    ck_status(DECLARE(bucket, TERM), 201);
    ck_header(PUT(api_entry(bucket, "k"), BODY("v")), "Holdfast-Expires-At", "2030-01-01T00:00:30.000000Z");
    return api_entry(bucket, "k");
}

struct row {
    PGconn *connection;
    const char *path; // of the request
    int64_t expires_at;
};

static int64_t expiry_in_row(PGconn *connection, const char *path)
{
    const char *bucket = path + strlen("/v1/buckets/");
    return sql_number(
        connection,
        "select (extract(epoch from e.expires_at) * 1000000)::bigint from holdfast.entries e "
        "join holdfast.buckets b on b.id = e.bucket_id where b.name = '%.*s' and e.path = '\\x016b'",
        (int)strcspn(bucket, "/"), bucket);
}

static bool is_written(void *user)
{
    struct row *row = user;
    return expiry_in_row(row->connection, row->path) == row->expires_at;
}

// The row gets this expiry, by a write that nobody waits for.
static void expect_row(PGconn *connection, const char *path, int64_t expires_at)
{
    struct row row = {connection, path, expires_at};
    ck_assert_msg(clock_wait(is_written, &row, 10 * 1000), "the row expires at %lld and not at %lld",
                  (long long)expiry_in_row(connection, path), (long long)expires_at);
}

START_TEST(reads_renew_the_idle_term)
{
    PGconn *connection = database_connect(&api.database);
    static const char *const methods[] = {"GET", "HEAD", "GET"};
    for (int i = 0; i < 3; i++) {
        const char *path = idle_entry();
        const char *header = i == 2 ? TEXT("If-None-Match: %s", tag_of(GET(path))) : "Accept: */*";
        int64_t now = START + 12 * SECOND;
        set_clock(now);
        struct answer *read = http(api.client, methods[i], path, NO_BODY, header);
        ck_status(read, i == 2 ? 304 : 200);
        ck_header(read, "Holdfast-Expires-At", "2030-01-01T00:00:42.000000Z");
        expect_row(connection, path, now + 30 * SECOND);
        set_clock(now + SECOND); // a thirtieth later it is not written, and not told
        ck_header(http(api.client, methods[i], path, NO_BODY, header), "Holdfast-Expires-At",
                  "2030-01-01T00:00:42.000000Z");
        set_clock(START + 41 * SECOND);
        ck_body(GET(path), BODY("v"));
        set_clock(START + 120 * SECOND);
        ck_status(GET(path), 404);
    }
    PQfinish(connection);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(entry_lives_as_long_as_it_is_read)
{
    const char *path = idle_entry();
    struct http_client *twin = http_client_new(service_url(api.twin));
    for (int i = 1; i <= 12; i++) { // read in the last second of each term, by either replica
        set_clock(START + i * (30 * SECOND - 1));
        ck_body(http(i % 2 ? api.client : twin, "GET", path, NO_BODY), BODY("v"));
    }
    set_clock(START + 12 * (30 * SECOND - 1) + 30 * SECOND);
    ck_status(GET(path), 404); // the last term ran out, and a read does not bring it back
    ck_status(GET(path), 404);
    http_client_free(twin);
    database_shift_clock(&api.database, 0);
}
END_TEST

// With less than a thirtieth of the term left, the reply says the new expiry, and the row has it already.
START_TEST(late_read_renews_before_its_reply)
{
    PGconn *connection = database_connect(&api.database);
    static const char *const methods[] = {"GET", "HEAD"};
    for (int i = 0; i < 2; i++) {
        const char *path = idle_entry();
        set_clock(START + 29 * SECOND + 1);
        struct answer *got = http(api.client, methods[i], path, NO_BODY);
        ck_assert_int_eq(expiry_in_row(connection, path), START + 59 * SECOND + 1);
        ck_header(got, "Holdfast-Expires-At", "2030-01-01T00:00:59.000001Z");
        ck_status(got, 200);
    }
    PQfinish(connection);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(late_read_of_a_large_value)
{
    const char *path = idle_entry();
    size_t size = 1 << 20;
    char *bytes = calloc(1, size);
    ck_status(PUT(path, bytes_make(bytes, size)), 204);
    set_clock(START + 29 * SECOND + 1);
    struct answer *got = GET(path);
    ck_header(got, "Holdfast-Expires-At", "2030-01-01T00:00:59.000001Z");
    ck_body(got, bytes_make(bytes, size));
    set_clock(START + 39 * SECOND);
    ck_header(GET(path), "Holdfast-Expires-At", "2030-01-01T00:01:09.000000Z");
    free(bytes);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(lists_and_writes_renew_nothing)
{
    PGconn *connection = database_connect(&api.database);
    const char *path = idle_entry();
    const char *bucket = TEXT("%.*s", (int)(strstr(path, "/entries") - path), path);
    set_clock(START + 29 * SECOND + 1);
    expect_keys(GET(TEXT("%s/entries", bucket)), "k");
    expect_keys(POST(TEXT("%s/batch-get", bucket), BODY("{\"keys\":[\"k\"]}")), "k");
    ck_header(PUT(path, BODY("w")), "Holdfast-Expires-At", "2030-01-01T00:00:30.000000Z");
    ck_header(PATCH(path, BODY("{}")), "Holdfast-Expires-At", NULL); // 422: no JSON
    ck_status(POST(TEXT("%s/compare-and-set", path), BODY("{\"expected\":1,\"value\":2}")), 200);
    ck_status(POST(TEXT("%s/copy", path), BODY("{\"to_key\":\"other\",\"to_under\":[\"x\"]}")), 200);
    ck_status(DELETE(TEXT("%s/entries?under=x", bucket)), 200);
    // A read renews what it sees; its write would come after these if one of them had asked for it.
    ck_status(PUT(TEXT("%s/entries/later", bucket), BODY("v")), 201);
    ck_assert_int_eq(expiry_in_row(connection, path), START + 30 * SECOND);
    set_clock(START + 30 * SECOND);
    ck_status(GET(path), 404);
    PQfinish(connection);
    database_shift_clock(&api.database, 0);
}
END_TEST

// --- how often
// ----------------------------------------------------------------------------------------------

enum { READERS = 8, READS = 125, RENEWALS = READERS * READS };

struct reading {
    struct service *replicas[2];
    const char *path;
    atomic_int wrong;
};

static void read_often(size_t index, void *user)
{
    struct reading *reading = user;
    struct http_client *client = http_client_new(service_url(reading->replicas[index % 2]));
    for (int i = 0; i < READS; i++)
        if (http(client, "GET", reading->path, NO_BODY)->status != 200)
            atomic_fetch_add(&reading->wrong, 1);
    http_client_free(client);
}

// EXP-3: a thousand reads within one second of the database's clock, over two replicas.
START_TEST(a_thousand_reads_write_two_rows_at_most)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    struct reading reading = {.path = "/v1/buckets/b/entries/k"};
    for (int i = 0; i < 2; i++)
        reading.replicas[i] = service_start(&(struct service_options){.database = database.url});
    struct http_client *client = http_client_new(service_url(reading.replicas[0]));
    database_stop_clock(&database, START);
    ck_status(http(client, "PUT", "/v1/buckets/b", BODY(TERM)), 201);
    ck_status(http(client, "PUT", reading.path, BODY("v")), 201);
    parallel_run(READERS, read_often, &reading); // no thirtieth has passed: nothing is written
    database_stop_clock(&database, START + 10 * SECOND);
    parallel_run(READERS, read_often, &reading); // one write, whoever comes first
    database_stop_clock(&database, START + 10 * SECOND + 999999);
    parallel_run(READERS, read_often, &reading); // and none within the next thirtieth
    http_client_free(client);
    for (int i = 0; i < 2; i++)
        service_end(reading.replicas[i]);
    ck_assert_int_eq(reading.wrong, 0);
    // The statistics of a backend are whole when it has gone.
    PGconn *connection = database_connect(&database);
    int64_t updates =
        sql_number(connection, "select n_tup_upd from pg_stat_user_tables where relname = 'entries'");
    ck_assert_int_eq(
        sql_number(connection, "select n_tup_ins from pg_stat_user_tables where relname = 'entries'"), 1);
    ck_assert_int_eq(updates, 1);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

// Late readers wait for the renewal, all for one.
START_TEST(a_thousand_late_reads_write_one_row)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    struct reading reading = {.path = "/v1/buckets/b/entries/k"};
    for (int i = 0; i < 2; i++)
        reading.replicas[i] = service_start(&(struct service_options){.database = database.url});
    struct http_client *client = http_client_new(service_url(reading.replicas[0]));
    database_stop_clock(&database, START);
    ck_status(http(client, "PUT", "/v1/buckets/b", BODY(TERM)), 201);
    ck_status(http(client, "PUT", reading.path, BODY("v")), 201);
    database_stop_clock(&database, START + 29 * SECOND + 500000);
    parallel_run(READERS, read_often, &reading);
    http_client_free(client);
    for (int i = 0; i < 2; i++)
        service_end(reading.replicas[i]);
    ck_assert_int_eq(reading.wrong, 0);
    PGconn *connection = database_connect(&database);
    ck_assert_int_eq(
        sql_number(connection, "select n_tup_upd from pg_stat_user_tables where relname = 'entries'"), 1);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

// The late read's renewal outlives a server that is killed as soon as the reply is there.
START_TEST(late_renewal_is_durable_before_its_reply)
{
    struct postgres *postgres = postgres_new(NULL);
    struct database database = database_new(postgres, DATABASE_MIGRATED);
    struct service *service = service_start(&(struct service_options){.database = database.url});
    struct http_client *client = http_client_new(service_url(service));
    database_stop_clock(&database, START);
    ck_status(http(client, "PUT", "/v1/buckets/b", BODY(TERM)), 201);
    ck_status(http(client, "PUT", "/v1/buckets/b/entries/k", BODY("v")), 201);
    int64_t until = clock_ms() + 30 * 1000;
    for (int i = 1; i <= 3; i++) {
        int64_t now = START + i * (30 * SECOND - 1);
        database_stop_clock(&database, now);
        struct answer *got;
        do // until the connection for reads is there again; what is refused has done nothing
            got = http(client, "GET", "/v1/buckets/b/entries/k", NO_BODY);
        while (got->status == 503 && clock_ms() < until);
        ck_status(got, 200);
        postgres_kill(postgres);
        postgres_start(postgres);
        PGconn *connection = database_connect(&database);
        ck_assert_int_eq(expiry_in_row(connection, "/v1/buckets/b/entries/k"), now + 30 * SECOND);
        PQfinish(connection);
        ck_assert(service_wait_ready(service, 30 * 1000));
    }
    http_client_free(client);
    service_end(service);
    postgres_free(postgres);
}
END_TEST

Suite *idle_suite(void)
{
    const TTest *const tests[] = {
        reads_renew_the_idle_term,
        entry_lives_as_long_as_it_is_read,
        late_read_renews_before_its_reply,
        late_read_of_a_large_value,
        lists_and_writes_renew_nothing,
        a_thousand_reads_write_two_rows_at_most,
        a_thousand_late_reads_write_one_row,
        late_renewal_is_durable_before_its_reply,
        NULL,
    };
    return api_suite_of_two("idle", tests);
}
