// Two replicas on one database: nothing in a process decides anything, and a write that waited sees what it
// waited for.
#include "api.h"

#include "support/clock.h"
#include "support/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static const char *url_of(size_t replica)
{
    return service_url(replica % 2 ? api.twin : api.service);
}

START_TEST(two_replicas)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    struct http_client *twin = http_client_new(service_url(api.twin));
    struct answer *last = NULL;
    for (int i = 0; i < 20; i++) {
        struct answer *put = PUT(path, bytes_of(TEXT("%d", i)), "Content-Type: text/plain");
        struct answer *got = http(twin, "GET", path, NO_BODY);
        ck_body(got, bytes_of(TEXT("%d", i)));
        ck_header(got, "ETag", answer_header(put, "ETag"));
        ck_header(got, "Content-Type", "text/plain");
        last = http(twin, "PUT", path, BODY("twin"), TEXT("If-Match: %s", answer_header(put, "ETag")));
        ck_status(last, 204);
        ck_problem(PUT(path, BODY("late"), TEXT("If-Match: %s", answer_header(put, "ETag"))), 412,
                   "version_conflict");
    }
    ck_status(http(twin, "DELETE", path, NO_BODY), 204);
    ck_status(GET(path), 404);
    // Bucket configurations hold on the other replica from the moment they were answered.
    static const char *const types[] = {"int", "bool", "none", "json", "any"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        ck_status(PUT(TEXT("/v1/buckets/%s", bucket), bytes_of(TEXT("{\"type\":\"%s\"}", types[i]))), 200);
        ck_reply(http(twin, "PUT", path, BODY("\xFF")),
                 answer_->status == (strcmp(types[i], "any") ? 422 : 201));
    }
    ck_status(http(twin, "DELETE", TEXT("/v1/buckets/%s", bucket), NO_BODY), 204);
    ck_status(GET(path), 404);
    http_client_free(twin);
}
END_TEST

// --- races ------------------------------------------------------------------------------------------------

enum { CREATORS = 50 };

struct creation {
    const char *path;
    int status[CREATORS];
    char tag[CREATORS][40];
};

static void create(size_t index, void *user)
{
    struct creation *creation = user;
    struct http_client *client = http_client_new(url_of(index));
    const char *value = http_text(client, "%zu", index);
    struct answer *answer = http(client, "PUT", creation->path, bytes_of(value), "If-None-Match: *");
    creation->status[index] = answer->status;
    snprintf(creation->tag[index], sizeof creation->tag[index], "%s", answer_header(answer, "ETag"));
    http_client_free(client);
}

// CAS-1: in a fresh bucket too, which the race also makes.
START_TEST(one_creator_wins)
{
    for (int round = 0; round < 4; round++) {
        struct creation creation = {.path = api_entry(api_bucket(), "k")};
        parallel_run(CREATORS, create, &creation);
        size_t winner = CREATORS, created = 0, refused = 0;
        for (size_t i = 0; i < CREATORS; i++) {
            created += creation.status[i] == 201;
            refused += creation.status[i] == 412;
            winner = creation.status[i] == 201 ? i : winner;
        }
        ck_assert_uint_eq(created, 1);
        ck_assert_uint_eq(refused, CREATORS - 1);
        for (size_t i = 0; i < CREATORS; i++)
            ck_assert_str_eq(creation.tag[i], creation.tag[winner]);
        ck_body(GET(creation.path), bytes_of(TEXT("%zu", winner)));
    }
}
END_TEST

enum { COUNTERS = 8, COUNTS = 25 };

struct counting {
    const char *path;
    int wrong;
};

// Adds one to a number by compare and swap, again and again until it was this thread's turn.
static void count_up(size_t index, void *user)
{
    struct counting *counting = user;
    struct http_client *client = http_client_new(url_of(index));
    for (int done = 0; done < COUNTS;) {
        struct answer *got = http(client, "GET", counting->path, NO_BODY);
        const char *next = http_text(client, "%d", atoi((const char *)got->body.data) + 1);
        struct answer *put = http(client, "PUT", counting->path, bytes_of(next),
                                  http_text(client, "If-Match: %s", answer_need(got, "ETag")));
        if (put->status != 204 && put->status != 412)
            counting->wrong++;
        done += put->status == 204;
    }
    http_client_free(client);
}

START_TEST(no_update_is_lost)
{
    struct counting counting = {.path = api_entry(api_bucket(), "n")};
    ck_status(PUT(counting.path, BODY("0")), 201);
    parallel_run(COUNTERS, count_up, &counting);
    ck_assert_int_eq(counting.wrong, 0);
    ck_body(GET(counting.path), bytes_of(TEXT("%d", COUNTERS * COUNTS)));
}
END_TEST

enum { DELETERS = 30 };

struct removal {
    const char *path;
    atomic_int removed, absent, other;
};

static void remove_once(size_t index, void *user)
{
    struct removal *removal = user;
    struct http_client *client = http_client_new(url_of(index));
    int status = http(client, "DELETE", removal->path, NO_BODY)->status;
    atomic_fetch_add(status == 204   ? &removal->removed
                     : status == 404 ? &removal->absent
                                     : &removal->other,
                     1);
    http_client_free(client);
}

START_TEST(one_deleter_wins)
{
    for (int round = 0; round < 3; round++) {
        struct removal removal = {.path = api_entry(api_bucket(), "k")};
        ck_status(PUT(removal.path, BODY("v")), 201);
        parallel_run(DELETERS, remove_once, &removal);
        ck_assert_int_eq(removal.removed, 1);
        ck_assert_int_eq(removal.absent, DELETERS - 1);
    }
}
END_TEST

// --- order ------------------------------------------------------------------------------------------------

enum { WRITERS = 8, WRITES = 60 };

struct order {
    const char *bucket;
    atomic_int running;
    int64_t started[WRITERS * WRITES], ended[WRITERS * WRITES], position[WRITERS * WRITES];
    int faults;
};

static void write_in_order(size_t index, struct order *order)
{
    struct http_client *client = http_client_new(url_of(index));
    for (size_t i = 0; i < WRITES; i++) {
        size_t at = index * WRITES + i;
        const char *path = http_text(client, "/v1/buckets/%s/entries/%zu", order->bucket, at);
        order->started[at] = clock_ns();
        struct answer *put = http(client, "PUT", path, BODY("v"));
        order->ended[at] = clock_ns();
        order->position[at] = strtoll(answer_need(put, "Holdfast-Position"), NULL, 10);
    }
    http_client_free(client);
    atomic_fetch_sub(&order->running, 1);
}

// Looks at all versions in the bucket again and again: one that was not there before must be above all that
// were.
static void watch_order(struct order *order)
{
    PGconn *connection = database_connect(&api.database);
    int64_t highest = 0, seen = 0;
    while (atomic_load(&order->running) > 0) {
        PGresult *rows =
            PQexec(connection, TEXT("select count(*) filter (where version <= %lld), count(*), "
                                    "coalesce(max(version), 0) from holdfast.entries where bucket_id = "
                                    "(select id from holdfast.buckets where name = '%s')",
                                    (long long)highest, order->bucket));
        ck_assert_int_eq(PQresultStatus(rows), PGRES_TUPLES_OK);
        order->faults += strtoll(PQgetvalue(rows, 0, 0), NULL, 10) != seen;
        seen = strtoll(PQgetvalue(rows, 0, 1), NULL, 10);
        highest = strtoll(PQgetvalue(rows, 0, 2), NULL, 10);
        PQclear(rows);
    }
    PQfinish(connection);
}

static void write_or_watch(size_t index, void *user)
{
    if (index == WRITERS)
        watch_order(user);
    else
        write_in_order(index, user);
}

START_TEST(positions_grow_in_commit_order)
{
    struct order *order = calloc(1, sizeof *order);
    order->bucket = api_bucket();
    order->running = WRITERS;
    parallel_run(WRITERS + 1, write_or_watch, order);
    ck_assert_int_eq(order->faults, 0);
    for (size_t i = 0; i < WRITERS * WRITES; i++)
        for (size_t j = 0; j < WRITERS * WRITES; j++)
            if (order->ended[i] < order->started[j] && order->position[i] >= order->position[j])
                ck_abort_msg("a write that began after another had ended has position %lld after %lld",
                             (long long)order->position[j], (long long)order->position[i]);
    free(order);
}
END_TEST

// --- waiting for a lock -----------------------------------------------------------------------------------

// One request that another thread sends while the test holds the bucket's lock.
struct waiting {
    pthread_t thread;
    const char *method;
    const char *path;
    const char *header;
    int status;
    char kind[40];
};

static void *send_waiting(void *user)
{
    struct waiting *waiting = user;
    struct http_client *client = http_client_new(service_url(api.service));
    struct bytes body = strcmp(waiting->method, "PUT") == 0 ? BODY("waited") : NO_BODY;
    struct answer *answer = http(client, waiting->method, waiting->path, body, waiting->header);
    waiting->status = answer->status;
    snprintf(waiting->kind, sizeof waiting->kind, "%s", answer_kind(answer));
    http_client_free(client);
    return NULL;
}

static bool somebody_waits(void *user)
{
    return sql_number(user, "select count(*) from pg_locks where not granted and database = "
                            "(select oid from pg_database where datname = current_database())") > 0;
}

// Another replica's transaction in slow motion: it has the bucket's lock, and has not committed yet.
static PGconn *hold_bucket(const char *bucket)
{
    PGconn *holder = database_connect(&api.database);
    sql_run(holder, "begin");
    sql_run(holder, "select holdfast.lock_names(array['%s'])", bucket);
    return holder;
}

// Starts the request and returns when it waits in the database.
static void start_waiting(struct waiting *waiting)
{
    PGconn *observer = database_connect(&api.database);
    ck_assert_int_eq(pthread_create(&waiting->thread, NULL, send_waiting, waiting), 0);
    ck_assert_msg(clock_wait(somebody_waits, observer, 10000),
                  "the write does not wait for the bucket's lock");
    PQfinish(observer);
}

static void commit(PGconn *holder)
{
    sql_run(holder, "commit");
    PQfinish(holder);
}

static const char this_entry[] = "bucket_id = (select id from holdfast.buckets where name = '%s')";

START_TEST(no_stale_snapshot_after_a_lock)
{
    static const struct {
        const char *method;
        const char *change;
        bool match; // If-Match of the version before; else If-None-Match: *
        int status;
    } rows[] = {
        {"PUT", "update holdfast.entries set version = nextval('holdfast.revision'), value = 'other' where ",
         true, 412},
        {"DELETE", "update holdfast.entries set version = nextval('holdfast.revision') where ", true, 412},
        {"PUT", "delete from holdfast.entries where ", true, 412},
        {"DELETE", "delete from holdfast.entries where ", true, 412},
        {"PUT", "delete from holdfast.entries where ", false, 201},
        {"PUT", "update holdfast.entries set expires_at = holdfast.now() where ", false, 201},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *bucket = api_bucket();
        struct waiting waiting = {.method = rows[i].method, .path = api_entry(bucket, "k")};
        struct answer *put = PUT(waiting.path, BODY("v"));
        waiting.header = rows[i].match ? TEXT("If-Match: %s", answer_need(put, "ETag")) : "If-None-Match: *";
        PGconn *holder = hold_bucket(bucket);
        start_waiting(&waiting);
        sql_run(holder, "%s", TEXT(TEXT("%s%s", rows[i].change, this_entry), bucket));
        commit(holder);
        pthread_join(waiting.thread, NULL);
        ck_assert_msg(waiting.status == rows[i].status, "row %zu: %d %s", i, waiting.status, waiting.kind);
    }
}
END_TEST

// The same for what only the bucket's row says.
START_TEST(no_stale_configuration_after_a_lock)
{
    const char *bucket = api_bucket();
    struct waiting waiting = {
        .method = "PUT", .path = api_entry(bucket, "k"), .header = "X-Request-Id: waits"};
    ck_status(DECLARE(bucket, "{}"), 201);
    PGconn *holder = hold_bucket(bucket);
    start_waiting(&waiting);
    sql_run(holder, "update holdfast.buckets set type = 'int' where name = '%s'", bucket);
    commit(holder);
    pthread_join(waiting.thread, NULL);
    ck_assert_str_eq(waiting.kind, "type_mismatch");
    ck_status(GET(waiting.path), 404);
}
END_TEST

START_TEST(writes_to_a_bucket_that_is_dropped_meanwhile)
{
    const char *bucket = api_bucket();
    struct waiting waiting = {
        .method = "PUT", .path = api_entry(bucket, "k"), .header = "X-Request-Id: waits"};
    ck_status(DECLARE(bucket, "{\"type\":\"int\"}"), 201);
    ck_status(PUT(api_entry(bucket, "other"), BODY("1")), 201);
    PGconn *holder = hold_bucket(bucket);
    start_waiting(&waiting);
    sql_run(holder, "delete from holdfast.buckets where name = '%s'", bucket);
    commit(holder);
    pthread_join(waiting.thread, NULL);
    ck_assert_int_eq(waiting.status, 201); // in the bucket that the write declared
    ck_body(GET(waiting.path), BODY("waited"));
    ck_status(GET(api_entry(bucket, "other")), 404);
}
END_TEST

// A reader never waits for a writer, nor a writer of one bucket for one of another on another replica.
START_TEST(a_held_bucket_holds_nobody_else)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    struct waiting waiting = {.method = "PUT", .path = path, .header = "X-Request-Id: waits"};
    ck_status(PUT(path, BODY("v")), 201);
    PGconn *holder = hold_bucket(bucket);
    start_waiting(&waiting);
    struct http_client *twin = http_client_new(service_url(api.twin));
    ck_body(GET(path), BODY("v"));
    ck_body(http(twin, "GET", path, NO_BODY), BODY("v"));
    ck_status(http(twin, "PUT", api_entry(api_bucket(), "k"), BODY("v")), 201);
    ck_status(GET("/readyz"), 200);
    http_client_free(twin);
    commit(holder);
    pthread_join(waiting.thread, NULL);
    ck_assert_int_eq(waiting.status, 204);
}
END_TEST

// --- DB-3 -------------------------------------------------------------------------------------------------

enum { CLIENTS = 32, HOT = 20, OVERLAP_MS = 4000 };

struct overlap {
    const char *buckets[3];
    atomic_int wrong;
    atomic_int done;
};

static void write_hot_keys(size_t index, void *user)
{
    struct overlap *overlap = user;
    struct http_client *client = http_client_new(url_of(index));
    unsigned seed = (unsigned)index + 1;
    int64_t until = clock_ms() + OVERLAP_MS;
    while (clock_ms() < until) {
        const char *path = http_text(client, "/v1/buckets/%s/entries/%d", overlap->buckets[rand_r(&seed) % 3],
                                     rand_r(&seed) % HOT);
        int status;
        switch (rand_r(&seed) % 5) {
        case 0:
            status = http(client, "DELETE", path, NO_BODY)->status;
            break;
        case 1:
            status = http(client, "PUT", path, BODY("v"), "If-None-Match: *")->status;
            break;
        case 2:
            status = http(client, "PUT", path, BODY("v"), "If-Match: *")->status;
            break;
        default:
            status = http(client, "PUT", path, BODY("v"))->status;
            break;
        }
        if (status != 201 && status != 204 && status != 404 && status != 412)
            atomic_fetch_add(&overlap->wrong, 1);
        atomic_fetch_add(&overlap->done, 1);
    }
    http_client_free(client);
}

START_TEST(overlapping_batches)
{
    struct overlap *overlap = calloc(1, sizeof *overlap);
    PGconn *connection = database_connect(&api.database);
    for (int i = 0; i < 3; i++)
        overlap->buckets[i] = api_bucket();
    parallel_run(CLIENTS, write_hot_keys, overlap);
    ck_assert_int_eq(overlap->wrong, 0);
    ck_assert_int_gt(overlap->done, 100);
    ck_assert_int_eq(
        sql_number(connection, "select deadlocks from pg_stat_database where datname = current_database()"),
        0);
    PQfinish(connection);
    free(overlap);
}
END_TEST

// --- versions ---------------------------------------------------------------------------------------------

enum { MOST_VERSIONS = 2000 };

static int by_number(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static size_t add_version(int64_t *versions, size_t count, const struct answer *answer)
{
    ck_reply(answer, answer->status == 201 || answer->status == 204);
    ck_assert_uint_lt(count, MOST_VERSIONS);
    versions[count] = strtoll(answer_version(answer), NULL, 10);
    return count + 1;
}

START_TEST(versions_never_repeat)
{
    static int64_t versions[MOST_VERSIONS];
    size_t count = 0;
    const char *bucket = api_bucket();
    struct http_client *twin = http_client_new(service_url(api.twin));
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 20; i++) {
            count = add_version(versions, count, PUT(api_entry(bucket, TEXT("%d", i % 3)), BODY("v")));
            count = add_version(versions, count, http(twin, "PUT", api_entry(bucket, "twin"), BODY("v")));
        }
        ck_status(DELETE(api_entry(bucket, "0")), 204);
        count = add_version(versions, count, PUT(api_entry(bucket, "0"), BODY("v"))); // after a delete
        count = add_version(versions, count, PUT(TEXT("%s?ttl=1h", api_entry(bucket, "e")), BODY("v")));
        database_shift_clock(&api.database, INT64_C(7200000000));
        count = add_version(versions, count, PUT(api_entry(bucket, "e"), BODY("v"))); // after an expiry
        database_shift_clock(&api.database, 0);
        ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204); // after a drop
        // And after a restart, as a third replica that comes and goes.
        struct service *third = service_start(&(struct service_options){.database = api.database.url});
        struct http_client *client = http_client_new(service_url(third));
        count = add_version(versions, count, http(client, "PUT", api_entry(bucket, "third"), BODY("v")));
        http_client_free(client);
        service_end(third);
    }
    http_client_free(twin);
    qsort(versions, count, sizeof *versions, by_number);
    for (size_t i = 1; i < count; i++)
        ck_assert_int_ne(versions[i - 1], versions[i]);
}
END_TEST

Suite *replicas_suite(void)
{
    const TTest *const tests[] = {
        two_replicas,
        one_creator_wins,
        no_update_is_lost,
        one_deleter_wins,
        positions_grow_in_commit_order,
        no_stale_snapshot_after_a_lock,
        no_stale_configuration_after_a_lock,
        writes_to_a_bucket_that_is_dropped_meanwhile,
        a_held_bucket_holds_nobody_else,
        overlapping_batches,
        versions_never_repeat,
        NULL,
    };
    return api_suite_of_two("replicas", tests);
}
