// Fenced writes: applied only while a lease is live and its token current, in the same transaction.
#include "lease_steps.h"

#include "support/clock.h"
#include "support/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

// A write that may be fenced, to an entry that has `value`.
struct write {
    const char *method;
    const char *query;
    const char *value;
    const char *body;         // NULL: none
    const char *content_type; // NULL: none
    int live;                 // status on a live entry
};

static const struct write writes[] = {
    {"PUT", "", "v", "w", NULL, 204},
    {"PUT", "&ttl=1h", "v", "w", NULL, 204},
    {"DELETE", "", "v", NULL, NULL, 204},
    {"PATCH", "", "{}", "{\"a\":1}", "application/merge-patch+json", 204},
    {"PATCH", "&upsert=true", "{}", "{\"a\":1}", "application/merge-patch+json", 204},
};
enum { WRITES = sizeof writes / sizeof writes[0] };

static const char *fence_of(const char *bucket, const char *key, const char *token)
{
    return TEXT("fence_bucket=%s&fence_key=%s&fence_token=%s", bucket, key, token);
}

static struct answer *send_body(struct http_client *client, const struct write *write, const char *path,
                                const char *fence, struct bytes body, const char *condition)
{
    const char *headers[3] = {NULL};
    int count = 0;
    if (write->content_type)
        headers[count++] = http_text(client, "Content-Type: %s", write->content_type);
    if (condition)
        headers[count++] = condition;
    return http_send(client, write->method, http_text(client, "%s?%s%s", path, fence, write->query), body,
                     headers);
}

static struct answer *send(const struct write *write, const char *path, const char *fence,
                           const char *condition)
{
    return send_body(api.client, write, path, fence, write->body ? bytes_of(write->body) : NO_BODY,
                     condition);
}

static void expect_lost(const struct answer *answer)
{
    ck_problem(answer, 409, "lease_lost");
    ck_header(answer, "ETag", NULL);
    ck_header(answer, "Holdfast-Position", NULL);
}

static void expect_untouched(const char *path, const struct write *write, const struct answer *put)
{
    struct answer *got = GET(path);
    ck_body(got, bytes_of(write->value));
    ck_header(got, "ETag", tag_of(put));
}

START_TEST(holder_may_write)
{
    for (int i = 0; i < WRITES; i++) {
        const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
        struct answer *put = PUT(path, bytes_of(writes[i].value));
        const char *token = answer_text(ACQUIRE(lease_path(bucket, "l"), "A", "1m"), "token");
        struct answer *written = send(&writes[i], path, fence_of(bucket, "l", token), if_match_of(put));
        ck_status(written, writes[i].live);
        ck_assert_int_gt(strtoll(answer_need(written, "Holdfast-Position"), NULL, 10),
                         strtoll(answer_need(put, "Holdfast-Position"), NULL, 10));
    }
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
    const char *token = answer_text(ACQUIRE(lease_path(bucket, "l"), "A", "1m"), "token");
    ck_status(send(&writes[0], path, fence_of(bucket, "l", token), "If-None-Match: *"), 201);
    ck_body(GET(path), BODY("w"));
}
END_TEST

// LEASE-3
START_TEST(holder_that_overslept_writes_nothing)
{
    for (int i = 0; i < WRITES; i++) {
        const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
        database_stop_clock(&api.database, START);
        struct answer *put = PUT(path, bytes_of(writes[i].value));
        const char *token = answer_text(ACQUIRE(lease_path(bucket, "l"), "A", "1m"), "token");
        const char *fence = fence_of(bucket, "l", token);
        database_stop_clock(&api.database, START + 60 * SECOND);
        // Nobody else has it yet; then another has; then nobody again.
        expect_lost(send(&writes[i], path, fence, if_match_of(put)));
        struct answer *next = ACQUIRE(lease_path(bucket, "l"), "B", "1m");
        expect_lost(send(&writes[i], path, fence, if_match_of(put)));
        expect_released(RELEASE(lease_path(bucket, "l"), "B", answer_text(next, "token")), true);
        expect_lost(send(&writes[i], path, fence, if_match_of(put)));
        expect_lost(
            send(&writes[i], path, fence_of(bucket, "l", answer_text(next, "token")), if_match_of(put)));
        expect_untouched(path, &writes[i], put);
    }
    database_shift_clock(&api.database, 0);
}
END_TEST

// Before preconditions are judged, absence, types and sizes: whoever lost the lease learns of that first.
START_TEST(lost_lease_is_told_first)
{
    for (int i = 0; i < WRITES; i++) {
        const char *bucket = bucket_of_type("json"), *path = api_entry(bucket, "k");
        const char *lost = fence_of(bucket, "l", "1");
        expect_lost(send(&writes[i], path, lost, "If-Match: \"1\""));
        expect_lost(send(&writes[i], path, lost, "If-None-Match: *"));
        ck_status(PUT(path, BODY("5")), 201);
        expect_lost(send(&writes[i], path, lost, "If-Match: \"1\""));
        expect_lost(send(&writes[i], path, lost, "If-Match: *"));
        ck_body(GET(path), BODY("5"));
        if (strcmp(writes[i].method, "PUT") == 0)
            continue; // its value is none of the bucket's type
        // With the lease the same are judged.
        const char *token = answer_text(ACQUIRE(lease_path(bucket, "l"), "A", "1m"), "token");
        ck_problem(send(&writes[i], path, fence_of(bucket, "l", token), "If-Match: \"1\""), 412,
                   "version_conflict");
        ck_body(GET(path), BODY("5"));
    }
    // And nothing is declared by what is refused.
    const char *bucket = api_bucket();
    expect_lost(send(&writes[0], api_entry(bucket, "k"), fence_of(bucket, "l", "1"), "If-None-Match: *"));
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 404);
}
END_TEST

START_TEST(fence_wants_the_very_lease)
{
    for (int i = 0; i < WRITES; i++) {
        const char *bucket = api_bucket(), *other = api_bucket(), *path = api_entry(bucket, "k");
        struct answer *put = PUT(path, bytes_of(writes[i].value));
        struct answer *grant = ACQUIRE(lease_path(bucket, "l"), "A", "1m");
        struct answer *neighbour = ACQUIRE(TEXT("%s?under=a", lease_path(other, "l")), "A", "1m");
        const char *token = answer_text(grant, "token");
        const char *wrong[] = {
            fence_of(other, "l", token),
            fence_of(bucket, "m", token),
            fence_of(bucket, "l", answer_text(grant, "position")),
            fence_of(bucket, "l", answer_text(neighbour, "token")),
            fence_of(bucket, "l", TEXT("%lld", (long long)token_of(grant) + 1)),
            fence_of(bucket, "l", TEXT("%lld", (long long)token_of(grant) - 1)),
            fence_of(bucket, "l", "9223372036854775807"),
            TEXT("%s&fence_under=a", fence_of(bucket, "l", token)),
            fence_of(other, "l", answer_text(neighbour, "token")),
        };
        for (size_t j = 0; j < sizeof wrong / sizeof wrong[0]; j++)
            expect_lost(send(&writes[i], path, wrong[j], if_match_of(put)));
        expect_untouched(path, &writes[i], put);
        // The lease may lie in another bucket, under a branch of its own.
        const char *branch = TEXT("%s&fence_under=a", fence_of(other, "l", answer_text(neighbour, "token")));
        ck_status(send(&writes[i], path, branch, if_match_of(put)), writes[i].live);
    }
}
END_TEST

START_TEST(fence_of_keys_of_any_bytes)
{
    static const char *const keys[] = {"%00", "a%2Fb", "%FF%FE", "%2B", "a%20b", "%26%3D"};
    const char *bucket = api_bucket();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *token = answer_text(ACQUIRE(lease_path(bucket, keys[i]), "A", "1m"), "token");
        ck_status(send(&writes[0], api_entry(bucket, keys[i]), fence_of(bucket, keys[i], token),
                       "If-None-Match: *"),
                  201);
    }
}
END_TEST

START_TEST(fenced_write_needs_a_precondition)
{
    for (int i = 0; i < WRITES; i++) {
        const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
        struct answer *put = PUT(path, bytes_of(writes[i].value));
        const char *token = answer_text(ACQUIRE(lease_path(bucket, "l"), "A", "1m"), "token");
        ck_problem(send(&writes[i], path, fence_of(bucket, "l", token), NULL), 428, "precondition_required");
        ck_problem(send(&writes[i], path, fence_of(bucket, "l", "1"), NULL), 428, "precondition_required");
        expect_untouched(path, &writes[i], put);
        ck_invalid(send(&writes[i], path, fence_of(bucket, "l", token), "If-Match: nonsense"), "If-Match");
        ck_status(send(&writes[i], path, fence_of(bucket, "l", token), "If-Match: *"), writes[i].live);
    }
}
END_TEST

START_TEST(half_a_fence_is_refused)
{
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
    const char *token = answer_text(ACQUIRE(lease_path(bucket, "l"), "A", "1m"), "token");
    const char *long_key = TEXT("%01025d", 0);
    const char *const bad[][2] = {
        {TEXT("fence_token=%s", token), "fence_bucket"},
        {TEXT("fence_bucket=%s&fence_token=%s", bucket, token), "fence_key"},
        {TEXT("fence_bucket=%s&fence_key=l", bucket), "fence_token"},
        {"fence_under=a", "fence_bucket"},
        {fence_of(bucket, "l", ""), "fence_token"},
        {fence_of(bucket, "l", "0"), "fence_token"},
        {fence_of(bucket, "l", "-1"), "fence_token"},
        {fence_of(bucket, "l", "01"), "fence_token"},
        {fence_of(bucket, "l", "1e3"), "fence_token"},
        {fence_of(bucket, "l", "9223372036854775808"), "fence_token"},
        {fence_of(bucket, "", token), "fence_key"},
        {fence_of("", "l", token), "fence_bucket"},
        {fence_of("%FF", "l", token), "fence_bucket"},
        {fence_of("a%0Ab", "l", token), "fence_bucket"},
        {TEXT("%s&fence_under=", fence_of(bucket, "l", token)), "fence_under"},
        {TEXT("%s&fence_token=%s", fence_of(bucket, "l", token), token), "fence_token"},
    };
    for (int i = 0; i < WRITES; i++) {
        for (size_t j = 0; j < sizeof bad / sizeof bad[0]; j++)
            ck_invalid(send(&writes[i], path, bad[j][0], "If-None-Match: *"), bad[j][1]);
        struct answer *over = send(&writes[i], path, fence_of(bucket, long_key, token), "If-None-Match: *");
        ck_over_limit(over, 413, "too_large", 1024);
        ck_refused_for(over, "too_large", "fence_under");
    }
    ck_status(GET(path), 404);
}
END_TEST

// LEASE-3: refused where it is not known, never left out.
START_TEST(no_other_call_takes_a_fence)
{
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
    struct answer *put = PUT(path, BODY("5"));
    const char *token = answer_text(ACQUIRE(lease_path(bucket, "l"), "A", "1m"), "token");
    const char *fence = fence_of(bucket, "l", token);
    static const char *const calls[][3] = {
        {"POST", "/take", ""},
        {"POST", "/exchange", "6"},
        {"POST", "/compare-and-set", "{\"expected\":5,\"value\":6}"},
        {"POST", "/add", "{}"},
        {"POST", "/upsert", "{\"insert\":{},\"update\":{}}"},
        {"PUT", "/expiry", "{\"ttl\":\"1m\"}"},
        {"DELETE", "/expiry", ""},
        {"POST", "/copy", "{\"to_key\":\"copy\"}"},
        {"POST", "/move", "{\"to_key\":\"copy\"}"},
        {"GET", "", ""},
        {"HEAD", "", ""},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const char *target = TEXT("%s%s?%s", path, calls[i][1], fence);
        struct answer *answer = http(api.client, calls[i][0], target,
                                     *calls[i][2] ? bytes_of(calls[i][2]) : NO_BODY, if_match_of(put));
        ck_status(answer, 400);
    }
    ck_invalid(DELETE(TEXT("/v1/buckets/%s/entries?%s", bucket, fence)), "fence_bucket");
    ck_invalid(DELETE(TEXT("/v1/buckets/%s?fence_token=1", bucket)), "fence_token");
    ck_invalid(POST(TEXT("/v1/buckets/%s/batch-get?fence_key=l", bucket), BODY("{\"keys\":[]}")),
               "fence_key");
    ck_body(GET(path), BODY("5"));
    ck_status(GET(api_entry(bucket, "copy")), 404);
}
END_TEST

START_TEST(large_values_are_fenced_too)
{
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
    size_t size = 200 << 10;
    char *large = malloc(size);
    memset(large, 'x', size);
    struct bytes body = bytes_make(large, size);
    struct answer *grant = ACQUIRE(lease_path(bucket, "l"), "A", "1m");
    const char *fence = fence_of(bucket, "l", answer_text(grant, "token"));
    expect_lost(
        send_body(api.client, &writes[0], path, fence_of(bucket, "l", "1"), body, "If-None-Match: *"));
    struct answer *put = send_body(api.client, &writes[0], path, fence, body, "If-None-Match: *");
    ck_status(put, 201);
    // A patch that makes a large value is a large write.
    large[0] = '"', large[size - 1] = '"';
    struct answer *patched = send_body(api.client, &writes[3], path, fence, body, if_match_of(put));
    ck_problem(patched, 422, "unprocessable");
    ck_status(PUT(path, BODY("{}")), 204);
    ck_status(send_body(api.client, &writes[3], path, fence, body, "If-Match: *"), 204);
    ck_assert_uint_eq(GET(path)->body.size, size);
    struct answer *now = HEAD(path);
    expect_released(RELEASE(lease_path(bucket, "l"), "A", answer_text(grant, "token")), true);
    expect_lost(send_body(api.client, &writes[0], path, fence, body, if_match_of(now)));
    expect_lost(send_body(api.client, &writes[3], path, fence, body, if_match_of(now)));
    expect_lost(send(&writes[2], path, fence, if_match_of(now)));
    ck_header(GET(path), "ETag", tag_of(now));
    free(large);
}
END_TEST

START_TEST(fence_in_a_bucket_of_another_kind_is_lost)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = api_bucket(), *counter = api_bucket(), *path = api_entry(bucket, "k");
    declare_other_kind(connection, counter);
    expect_lost(send(&writes[0], path, fence_of(counter, "l", "1"), "If-None-Match: *"));
    const char *token = answer_text(ACQUIRE(lease_path(bucket, "l"), "A", "1m"), "token");
    for (int i = 0; i < WRITES; i++)
        ck_problem(
            send(&writes[i], api_entry(counter, "k"), fence_of(bucket, "l", token), "If-None-Match: *"), 409,
            "kind_mismatch");
    PQfinish(connection);
}
END_TEST

// --- races ------------------------------------------------------------------------------------------------

enum { WRITERS = 32 };

struct mixed {
    const char *bucket;
    const char *live, *lost;
    atomic_int written, refused, other;
};

// Every second writer has lost the lease; all travel in the same calls.
static void write_fenced(size_t index, void *user)
{
    struct mixed *mixed = user;
    struct http_client *client = http_client_new(replica_url(index / 2));
    for (int i = 0; i < 20; i++) {
        bool live = (index + (size_t)i) % 2 == 0;
        const char *target = http_text(client, "/v1/buckets/%s/entries/%zu-%d?%s", mixed->bucket, index, i,
                                       live ? mixed->live : mixed->lost);
        struct answer *answer = http(client, "PUT", target, BODY("v"), "If-None-Match: *");
        bool right = live ? answer->status == 201 : strcmp(answer_kind(answer), "lease_lost") == 0;
        atomic_fetch_add(!right ? &mixed->other : live ? &mixed->written : &mixed->refused, 1);
        if (!live)
            continue;
        // Deletes too.
        answer = http(client, "DELETE", http_text(client, "%s", target), NO_BODY,
                      http_text(client, "If-Match: %s", answer_need(answer, "ETag")));
        if (answer->status != 204)
            atomic_fetch_add(&mixed->other, 1);
    }
    http_client_free(client);
}

START_TEST(fenced_writes_spare_their_neighbours)
{
    struct mixed mixed = {.bucket = api_bucket()};
    const char *leases = api_bucket();
    mixed.live = fence_of(leases, "l", answer_text(ACQUIRE(lease_path(leases, "l"), "A", "1m"), "token"));
    mixed.lost = fence_of(leases, "m", "1");
    parallel_run(WRITERS, write_fenced, &mixed);
    ck_assert_int_eq(mixed.other, 0);
    ck_assert_int_eq(mixed.written, WRITERS * 10);
    ck_assert_int_eq(mixed.refused, WRITERS * 10);
    ck_assert_uint_eq(json_array_size(entries_of(GET(TEXT("/v1/buckets/%s/entries", mixed.bucket)))), 0);
}
END_TEST

// Holds the names' locks of buckets, as a writer that is slow does.
static PGconn *hold_names(const char *first, const char *second)
{
    PGconn *connection = database_connect(&api.database);
    sql_run(connection, "begin; select holdfast.lock_names(array['%s','%s'])", first, second);
    return connection;
}

static bool is_waiting(void *user)
{
    return sql_number(user, "select count(*) from pg_stat_activity where wait_event = 'advisory' and "
                            "datname = current_database() and query like '%%fenced_entries%%'") > 0;
}

struct paused {
    const struct write *write;
    const char *path, *fence, *condition;
    struct answer *answer;
    struct http_client *client;
};

static void *write_paused(void *user)
{
    struct paused *paused = user;
    paused->answer =
        send_body(paused->client, paused->write, paused->path, paused->fence,
                  paused->write->body ? bytes_of(paused->write->body) : NO_BODY, paused->condition);
    return NULL;
}

// The holder's write is under way, held up before it looks at the lease, while the lease passes on.
static void pass_on_before(const struct write *write, bool acquired_by_another)
{
    const char *bucket = api_bucket(), *leases = api_bucket(), *path = api_entry(bucket, "k");
    PGconn *watcher = database_connect(&api.database);
    database_shift_clock(&api.database, 0);
    struct answer *put = PUT(path, bytes_of(write->value));
    const char *token = answer_text(ACQUIRE(lease_path(leases, "l"), "A", "1h"), "token");
    struct paused paused = {.write = write,
                            .path = path,
                            .fence = fence_of(leases, "l", token),
                            .condition = if_match_of(put),
                            .client = http_client_new(service_url(api.twin))};
    PGconn *holder = hold_names(bucket, bucket);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, write_paused, &paused), 0);
    ck_assert(clock_wait(is_waiting, watcher, 20 * 1000));
    database_shift_clock(&api.database, 3600 * SECOND);
    sql_run(holder,
            "commit"); // it goes on, with its place in the order of the lease's bucket after the expiry
    if (acquired_by_another)
        ck_status(ACQUIRE(lease_path(leases, "l"), "B", "1m"), 201);
    pthread_join(thread, NULL);
    expect_lost(paused.answer);
    expect_untouched(path, write, put);
    database_shift_clock(&api.database, 0);
    http_client_free(paused.client);
    PQfinish(holder);
    PQfinish(watcher);
}

START_TEST(lease_that_passes_on_under_a_write_stops_it)
{
    for (int i = 0; i < WRITES; i++)
        if (strcmp(writes[i].method, "PATCH") != 0)
            for (int another = 0; another < 2; another++)
                pass_on_before(&writes[i], another);
}
END_TEST

// PATCH: between its look at the lease, which is live, and its write.
START_TEST(lease_that_passes_on_between_read_and_write_stops_a_patch)
{
    for (int i = 0; i < WRITES; i++)
        if (strcmp(writes[i].method, "PATCH") == 0)
            for (int another = 0; another < 2; another++)
                pass_on_before(&writes[i], another);
}
END_TEST

struct successor {
    struct http_client *client;
    const char *path;
    struct answer *grant;
};

static void *succeed(void *user)
{
    struct successor *successor = user;
    successor->grant = acquire_on(successor->client, successor->path, "B", "1m");
    return NULL;
}

static bool is_row_waited_for(void *user)
{
    return sql_number(user, "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and "
                            "wait_event <> 'advisory' and datname = current_database()") > 0;
}

static bool is_acquirer_waiting(void *user)
{
    return sql_number(user, "select count(*) from pg_stat_activity where wait_event = 'advisory' and "
                            "datname = current_database() and query like '%%acquire_leases%%'") > 0;
}

// Held up after its look at the lease: the lease cannot pass on before the write is done.
START_TEST(lease_cannot_pass_on_between_check_and_write)
{
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
    PGconn *watcher = database_connect(&api.database), *holder = database_connect(&api.database);
    struct answer *put = PUT(path, BODY("v"));
    const char *token = answer_text(ACQUIRE(lease_path(bucket, "l"), "A", "1h"), "token");
    struct paused paused = {.write = &writes[0],
                            .path = path,
                            .fence = fence_of(bucket, "l", token),
                            .condition = if_match_of(put),
                            .client = http_client_new(service_url(api.twin))};
    struct successor successor = {.client = http_client_new(service_url(api.service)),
                                  .path = lease_path(bucket, "l")};
    pthread_t writer, other;
    sql_run(holder,
            "begin; select 1 from holdfast.entries e join holdfast.buckets b on b.id = e.bucket_id "
            "where b.name = '%s' for update of e",
            bucket);
    ck_assert_int_eq(pthread_create(&writer, NULL, write_paused, &paused), 0);
    ck_assert(clock_wait(is_row_waited_for, watcher, 20 * 1000));
    database_shift_clock(&api.database, 3600 * SECOND);
    ck_assert_int_eq(pthread_create(&other, NULL, succeed, &successor), 0);
    ck_assert(clock_wait(is_acquirer_waiting, watcher, 20 * 1000));
    sql_run(holder, "commit");
    pthread_join(writer, NULL);
    pthread_join(other, NULL);
    ck_status(paused.answer, 204);
    ck_status(successor.grant, 201);
    ck_assert_int_gt(position_of(successor.grant),
                     strtoll(answer_need(paused.answer, "Holdfast-Position"), NULL, 10));
    expect_lost(send(&writes[0], path, paused.fence, "If-Match: *"));
    database_shift_clock(&api.database, 0);
    http_client_free(paused.client);
    http_client_free(successor.client);
    PQfinish(holder);
    PQfinish(watcher);
}
END_TEST

// --- a counter kept by whoever holds the lease ------------------------------------------------------------

enum { COUNTERS = 16, COUNTS = 12 };

struct counted {
    const char *bucket;
    atomic_int written, lost;
};

// Reads, oversleeps now and then, and writes what it read plus one under its fence alone: without the fence,
// late writers would take counts back, as their precondition is always met.
static void count_on(size_t index, void *user)
{
    struct counted *counted = user;
    struct http_client *client = http_client_new(replica_url(index));
    const char *lease = http_text(client, "/v1/buckets/%s/leases/l", counted->bucket);
    const char *entry = http_text(client, "/v1/buckets/%s/entries/n", counted->bucket);
    for (int done = 0; done < COUNTS;) {
        struct answer *grant = acquire_on(client, lease, "A", "150ms");
        if (grant->status != 201)
            continue;
        long n = strtol((const char *)http(client, "GET", entry, NO_BODY)->body.data, NULL, 10);
        if ((index + (size_t)done) % 4 == 0)
            clock_pause(160);
        const char *target = http_text(client, "%s?fence_bucket=%s&fence_key=l&fence_token=%s", entry,
                                       counted->bucket, answer_text(grant, "token"));
        struct answer *written =
            http(client, "PUT", target, bytes_of(http_text(client, "%ld", n + 1)), "If-Match: *");
        done++;
        if (written->status == 204)
            atomic_fetch_add(&counted->written, 1);
        else
            atomic_fetch_add(&counted->lost, strcmp(answer_kind(written), "lease_lost") == 0 ? 1 : 1000000);
        release_on(client, lease, "A", answer_text(grant, "token"));
    }
    http_client_free(client);
}

START_TEST(counter_under_a_fence_loses_nothing)
{
    struct counted counted = {.bucket = api_bucket()};
    ck_status(PUT(api_entry(counted.bucket, "n"), BODY("0")), 201);
    parallel_run(COUNTERS, count_on, &counted);
    ck_assert_int_eq(counted.written + counted.lost, COUNTERS * COUNTS);
    ck_assert_int_gt(counted.lost, 0);
    ck_body(GET(api_entry(counted.bucket, "n")), bytes_of(TEXT("%d", counted.written)));
}
END_TEST

Suite *fence_suite(void)
{
    const TTest *const tests[] = {
        holder_may_write,
        holder_that_overslept_writes_nothing,
        lost_lease_is_told_first,
        fence_wants_the_very_lease,
        fence_of_keys_of_any_bytes,
        fenced_write_needs_a_precondition,
        half_a_fence_is_refused,
        no_other_call_takes_a_fence,
        large_values_are_fenced_too,
        fence_in_a_bucket_of_another_kind_is_lost,
        fenced_writes_spare_their_neighbours,
        lease_that_passes_on_under_a_write_stops_it,
        lease_that_passes_on_between_read_and_write_stops_a_patch,
        lease_cannot_pass_on_between_check_and_write,
        counter_under_a_fence_loses_nothing,
        NULL,
    };
    return api_suite_of_two("fence", tests);
}
