// Writes with an Idempotency-Key: done once and answered alike, whatever they are and however they are sent
// again.
#include "entry_steps.h"

#include "support/clock.h"
#include "support/parallel.h"
#include "support/raw.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#define HOUR (INT64_C(3600) * SECOND)

static const char *new_key(void)
{
    static unsigned keys;
    return TEXT("Idempotency-Key: key-%d-%u", (int)getpid(), ++keys);
}

static bool is_replayed(const struct answer *answer)
{
    return answer_header(answer, "Holdfast-Replayed") != NULL;
}

// What is a reply's own and not its request's.
static bool is_own_header(const char *name)
{
    static const char *const own[] = {"Date", "Connection", "Holdfast-Request-Id", "Holdfast-Replayed"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcasecmp(name, own[i]) == 0)
            return true;
    return false;
}

static int headers_kept(const struct answer *answer)
{
    int count = 0;
    for (int i = 0; i < answer->header_count; i++)
        count += !is_own_header(answer->headers[i].name);
    return count;
}

static void expect_same(const struct answer *first, const struct answer *again)
{
    ck_reply(again, answer_->status == first->status);
    ck_body(again, first->body);
    for (int i = 0; i < first->header_count; i++)
        if (!is_own_header(first->headers[i].name))
            ck_header(again, first->headers[i].name, first->headers[i].value);
    ck_assert_int_eq(headers_kept(first), headers_kept(again));
}

static void expect_replay(const struct answer *first, const struct answer *again)
{
    ck_header(first, "Holdfast-Replayed", NULL);
    ck_header(again, "Holdfast-Replayed", "true");
    expect_same(first, again);
}

// --- every write ------------------------------------------------------------------------------------------

// A write on a bucket that has an entry `k` with `value` and, for calls with its {token}, a live lease `k`.
struct write {
    const char *method;
    const char *route;
    const char *query;
    const char *value;
    const char *body; // NULL: none
    const char *headers[3];
    int status;
};

#define BUCKET "/v1/buckets/{bucket}"
#define ENTRY  BUCKET "/entries/{key}"
#define LEASE  BUCKET "/leases/{key}"

static const struct write writes[] = {
    {"PUT", BUCKET, "", "v", "{\"ttl\":\"1h\"}", {0}, 200},
    {"DELETE", BUCKET, "", "v", NULL, {0}, 204},
    {"DELETE", BUCKET "/entries", "prefix=k", "v", NULL, {0}, 200},
    {"DELETE", BUCKET "/entries", "", "v", NULL, {0}, 200},
    {"PUT", ENTRY, "", "v", "w", {0}, 204},
    {"PUT", ENTRY, "ttl=1h", "v", "w", {"If-Match: *", "Content-Type: text/x", "Holdfast-Meta-A: b"}, 204},
    {"DELETE", ENTRY, "", "v", NULL, {0}, 204},
    {"PATCH", ENTRY, "", "{}", "{\"a\":1}", {MERGE_PATCH}, 204},
    {"PATCH", ENTRY, "upsert=true", "{}", "{\"a\":1}", {MERGE_PATCH, "Prefer: return=representation"}, 200},
    {"POST", ENTRY "/take", "", "v", NULL, {0}, 200},
    {"POST", ENTRY "/exchange", "", "v", "w", {0}, 200},
    {"POST", ENTRY "/compare-and-set", "", "5", "{\"expected\":5,\"value\":6}", {0}, 200},
    {"POST", ENTRY "/add", "", "5", "{\"by\":1}", {0}, 200},
    {"POST", ENTRY "/upsert", "", "{}", "{\"insert\":{},\"update\":{\"set\":{\"a\":1}}}", {0}, 200},
    {"PUT", ENTRY "/expiry", "", "v", "{\"ttl\":\"1m\"}", {0}, 204},
    {"DELETE", ENTRY "/expiry", "", "v", NULL, {0}, 204},
    {"POST", ENTRY "/copy", "", "v", "{\"to_key\":\"copy\"}", {0}, 200},
    {"POST", ENTRY "/move", "", "v", "{\"to_key\":\"copy\"}", {0}, 200},
    {"POST", LEASE, "", "v", "{\"holder\":\"w\",\"ttl\":\"1h\"}", {0}, 201},
    {"PUT", LEASE, "", "v", "{\"holder\":\"w\",\"ttl\":\"2h\",\"token\":\"{token}\"}", {0}, 200},
    {"DELETE", LEASE, "holder=w&token={token}", "v", NULL, {0}, 200},
};
enum { WRITES = sizeof writes / sizeof writes[0] };

// The text with the lease's token where it says so.
static const char *with_token(const char *text, const char *token)
{
    const char *place = strstr(text, "{token}");
    return place ? TEXT("%.*s%s%s", (int)(place - text), text, token, place + strlen("{token}")) : text;
}

static bool wants_token(const struct write *write)
{
    return strstr(write->query, "{token}") || (write->body && strstr(write->body, "{token}"));
}

static const char *target_of(const struct write *write, const char *bucket, const char *token)
{
    const char *place = strstr(write->route, "{bucket}") + strlen("{bucket}");
    const char *key = strstr(place, "{key}");
    const char *path = key ? TEXT("%.*sk%s", (int)(key - place), place, key + strlen("{key}")) : place;
    return TEXT("/v1/buckets/%s%s%s%s", bucket, path, *write->query ? "?" : "",
                with_token(write->query, token));
}

static struct answer *send_write(struct http_client *client, const struct write *write, const char *target,
                                 const char *token, const char *key)
{
    const char *headers[5] = {key};
    for (int i = 0; i < 3; i++)
        headers[i + 1] = write->headers[i];
    struct bytes body = write->body ? bytes_of(with_token(write->body, token)) : NO_BODY;
    return http_send(client, write->method, target, body, headers);
}

// Gives the lease's token; none when it is held already, or not wanted.
static const char *set_up(const struct write *write, const char *bucket)
{
    ck_reply(PUT(TEXT("%s?ttl=1d", api_entry(bucket, "k")), bytes_of(write->value),
                 "Content-Type: application/x-test", "Holdfast-Meta-Note: kept"),
             answer_->status == 201 || answer_->status == 204);
    if (!wants_token(write))
        return NULL;
    struct answer *lease =
        POST(TEXT("/v1/buckets/%s/leases/k", bucket), BODY("{\"holder\":\"w\",\"ttl\":\"1h\"}"));
    return lease->status == 201 ? answer_text(lease, "token") : NULL;
}

// All that a write of these could change.
static const char *state_of(const char *bucket)
{
    struct answer *entries = GET(TEXT("/v1/buckets/%s/entries", bucket));
    struct answer *configuration = GET(TEXT("/v1/buckets/%s", bucket));
    struct answer *lease = GET(TEXT("/v1/buckets/%s/leases/k", bucket));
    return TEXT("%s %s %s", (const char *)lease->body.data, (const char *)entries->body.data,
                (const char *)configuration->body.data);
}

START_TEST(every_write_is_done_once_and_answered_alike)
{
    struct http_client *twin = http_client_new(service_url(api.twin));
    for (int i = 0; i < WRITES; i++) {
        const char *bucket = api_bucket();
        const char *key = new_key();
        const char *token = set_up(&writes[i], bucket);
        const char *target = target_of(&writes[i], bucket, token);
        struct answer *first = send_write(api.client, &writes[i], target, token, key);
        ck_status(first, writes[i].status);
        set_up(&writes[i], bucket); // what doing it twice would change
        const char *before = state_of(bucket);
        expect_replay(first, send_write(api.client, &writes[i], target, token, key));
        expect_replay(first, send_write(twin, &writes[i], target, token, key));
        ck_assert_str_eq(before, state_of(bucket));
    }
    http_client_free(twin);
}
END_TEST

static bool has_key_parameter(const json_t *operation)
{
    size_t i;
    json_t *parameter;
    json_array_foreach(json_object_get(operation, "parameters"), i, parameter)
    {
        const char *reference = json_string_value(json_object_get(parameter, "$ref"));
        if (reference && strcmp(reference, "#/components/parameters/IdempotencyKey") == 0)
            return true;
    }
    return false;
}

static bool is_tested(const char *method, const char *route)
{
    for (int i = 0; i < WRITES; i++)
        if (strcasecmp(writes[i].method, method) == 0 && strcmp(writes[i].route, route) == 0)
            return true;
    return false;
}

// The document has the header for exactly the calls of the table above: a new write needs its row.
START_TEST(every_documented_write_takes_a_key)
{
    struct answer *document = GET("/openapi.json");
    const char *route, *method;
    json_t *item, *operation;
    int found = 0;
    json_object_foreach(json_object_get(document->json, "paths"), route, item)
    {
        if (strncmp(route, "/v1/buckets", strlen("/v1/buckets")) != 0)
            continue; // a suite of their own
        json_object_foreach(item, method, operation)
        {
            bool takes = has_key_parameter(operation);
            ck_assert_msg(takes == is_tested(method, route), "%s %s: %s", method, route,
                          takes ? "documented, not tested" : "tested, not documented");
            bool reads = strcmp(method, "get") == 0 || strcmp(method, "head") == 0 ||
                         strstr(route, "/batch-get") != NULL;
            ck_assert_msg(reads || takes || !json_is_object(operation), "%s %s is a write without a key",
                          method, route);
            found += takes;
        }
    }
    ck_assert_int_gt(found, 10);
}
END_TEST

START_TEST(keys_of_reads_are_ignored)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    const char *key = new_key();
    ck_status(PUT(path, BODY("v")), 201);
    ck_body(GET(path, key), BODY("v"));
    ck_status(HEAD(path, key), 200);
    ck_status(POST(TEXT("/v1/buckets/%s/batch-get", bucket), BODY("{\"keys\":[\"k\"]}"), key), 200);
    ck_status(GET(path, "Idempotency-Key;"), 200); // no good as a key
    struct answer *put = PUT(path, BODY("w"), key);
    ck_status(put, 204);
    ck_header(put, "Holdfast-Replayed", NULL);
    struct answer *got = GET(path, key);
    ck_body(got, BODY("w"));
    ck_header(got, "Holdfast-Replayed", NULL);
}
END_TEST

// --- the key ----------------------------------------------------------------------------------------------

static const char *long_key(size_t size)
{
    char text[300];
    memset(text, 'k', size);
    text[size] = 0;
    return TEXT("Idempotency-Key: %s", text);
}

START_TEST(bad_keys_are_400)
{
    const char *path = api_entry(api_bucket(), "k");
    const char *bad[] = {"Idempotency-Key;", "Idempotency-Key: a b", "Idempotency-Key: \xC3\xA9",
                         "Idempotency-Key: a\tb", long_key(256)};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_invalid(PUT(path, BODY("v"), bad[i]), "Idempotency-Key");
    ck_invalid(PUT(path, BODY("v"), "Idempotency-Key: a", "Idempotency-Key: a"), "Idempotency-Key");
    struct raw *raw = raw_connect(service_port(api.service));
    raw_text(raw, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nIdempotency-Key: a\x01\r\n\r\nv", path);
    struct answer *answer = raw_read(raw, false, 5000);
    ck_assert(answer && answer->status == 400);
    raw_close(raw);
    ck_status(GET(path), 404);
    ck_status(PUT(path, BODY("v"), long_key(255)), 201);
    ck_header(PUT(path, BODY("v"), long_key(255)), "Holdfast-Replayed", "true");
    ck_status(PUT(path, BODY("v"), long_key(254)), 204);
    ck_status(PUT(path, BODY("v"), "Idempotency-Key: !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), 204);
}
END_TEST

// --- the same request, or another -------------------------------------------------------------------------

struct variant {
    const char *method;
    const char *suffix;
    const char *query;
    const char *body;
    const char *headers[5];
};

#define TYPE "Content-Type: text/plain"
#define META "Holdfast-Meta-A: 1"

static struct answer *send_variant(const struct variant *variant, const char *path, const char *key)
{
    const char *headers[7] = {key};
    for (int i = 0; i < 5; i++)
        headers[i + 1] = variant->headers[i];
    return http_send(api.client, variant->method, TEXT("%s%s?%s", path, variant->suffix, variant->query),
                     variant->body ? bytes_of(variant->body) : NO_BODY, headers);
}

START_TEST(another_request_under_a_key_is_422)
{
    static const struct variant kept = {"PUT", "", "under=a&ttl=1h", "v", {TYPE, META, "If-None-Match: *"}};
    static const struct variant others[] = {
        {"DELETE", "", "under=a", NULL, {"If-None-Match: *"}},
        {"POST", "/exchange", "under=a&ttl=1h", "v", {TYPE, META, "If-None-Match: *"}},
        {"PUT", "x", "under=a&ttl=1h", "v", {TYPE, META, "If-None-Match: *"}},
        {"PUT", "", "under=b&ttl=1h", "v", {TYPE, META, "If-None-Match: *"}},
        {"PUT", "", "under=a&under=a&ttl=1h", "v", {TYPE, META, "If-None-Match: *"}},
        {"PUT", "", "under=a&ttl=2h", "v", {TYPE, META, "If-None-Match: *"}},
        {"PUT", "", "under=a", "v", {TYPE, META, "If-None-Match: *"}},
        {"PUT", "", "under=a&ttl=1h", "w", {TYPE, META, "If-None-Match: *"}},
        {"PUT", "", "under=a&ttl=1h", "", {TYPE, META, "If-None-Match: *"}},
        {"PUT", "", "under=a&ttl=1h", "v", {"Content-Type: text/html", META, "If-None-Match: *"}},
        {"PUT", "", "under=a&ttl=1h", "v", {META, "If-None-Match: *"}},
        {"PUT", "", "under=a&ttl=1h", "v", {TYPE, "Holdfast-Meta-A: 2", "If-None-Match: *"}},
        {"PUT", "", "under=a&ttl=1h", "v", {TYPE, "Holdfast-Meta-B: 1", "If-None-Match: *"}},
        {"PUT", "", "under=a&ttl=1h", "v", {TYPE, META, "Holdfast-Meta-B: 1", "If-None-Match: *"}},
        {"PUT", "", "under=a&ttl=1h", "v", {TYPE, META}},
        {"PUT", "", "under=a&ttl=1h", "v", {TYPE, META, "If-None-Match: \"1\""}},
        {"PUT", "", "under=a&ttl=1h", "v", {TYPE, META, "If-None-Match: *", "If-Match: *"}},
        {"PUT", "", "under=a&ttl=1h", "v", {TYPE, META, "If-None-Match: *", "Holdfast-Session: s/1"}},
        {"PUT", "", "under=a&ttl=1h", "v", {TYPE, META, "If-None-Match: *", "Prefer: return=representation"}},
    };
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    const char *key = new_key();
    struct answer *first = send_variant(&kept, path, key);
    ck_status(first, 201);
    const char *state = state_of(bucket);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_problem(send_variant(&others[i], path, key), 422, "idempotency_mismatch");
    ck_problem(send_variant(&kept, api_entry(api_bucket(), "k"), key), 422, "idempotency_mismatch");
    ck_assert_str_eq(state, state_of(bucket));
    expect_replay(first, send_variant(&kept, path, key));
}
END_TEST

// What does not change what is asked: how it is written, and headers that are about this sending alone.
START_TEST(the_same_request_written_otherwise_is_replayed)
{
    static const struct variant same[] = {
        {"PUT", "", "under=a+b&ttl=1h", "v", {TYPE, META, "Holdfast-Meta-B: 2"}},
        {"PUT", "", "under=a%20b&ttl=%31h", "v", {TYPE, "holdfast-meta-b:  2", "HOLDFAST-META-A: 1"}},
        {"PUT", "", "under=a+b&ttl=1h", "v", {TYPE, META, "Holdfast-Meta-B: 2", "X-Request-Id: other"}},
        {"PUT", "", "under=a+b&ttl=1h", "v", {TYPE, META, "Holdfast-Meta-B: 2", "Prefer: wait=3"}},
        {"PUT", "", "under=a+b&ttl=1h", "v", {TYPE, META, "Holdfast-Meta-B: 2", "User-Agent: retry"}},
    };
    const char *bucket = api_bucket();
    const char *key = new_key();
    struct answer *first = send_variant(&same[0], api_entry(bucket, "a%2Fb"), key);
    ck_status(first, 201);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        expect_replay(first, send_variant(&same[i], api_entry(bucket, "%61%2fb"), key));
}
END_TEST

// --- what is kept -----------------------------------------------------------------------------------------

// ONCE-2
START_TEST(refusals_are_not_kept)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    const char *put = new_key(), *taken = new_key(), *patch = new_key(), *typed = new_key();
    expect_conflict(PUT(path, BODY("v"), "If-Match: *", put), NULL);
    ck_problem(POST(TEXT("%s/take", path), NO_BODY, taken), 404, "not_found");
    ck_problem(PATCH(path, BODY("{}"), patch), 404, "not_found");
    ck_status(PUT(path, BODY("{}")), 201);
    struct answer *written = PUT(path, BODY("v"), "If-Match: *", put);
    ck_status(written, 204);
    expect_replay(written, PUT(path, BODY("v"), "If-Match: *", put));
    ck_problem(PATCH(path, BODY("{}"), patch), 422, "unprocessable");
    ck_body(POST(TEXT("%s/take", path), NO_BODY, taken), BODY("v"));
    const char *other = bucket_of_type("int");
    ck_problem(PUT(api_entry(other, "k"), BODY("v"), typed), 422, "type_mismatch");
    ck_status(DECLARE(other, "{\"type\":\"text\"}"), 200);
    ck_status(PUT(api_entry(other, "k"), BODY("v"), typed), 201);
    // Another request may use a key under which nothing was kept.
    const char *again = new_key();
    ck_invalid(PUT(TEXT("%s?ttl=0s", path), BODY("v"), again), "ttl");
    ck_problem(DELETE(path, again), 404, "not_found");
    ck_status(PUT(path, BODY("v"), again), 201);
}
END_TEST

// What answers that nothing was changed is no effect to keep, though it is no refusal either.
START_TEST(answers_without_an_effect_are_not_kept)
{
    const char *path = api_entry(api_bucket(), "k");
    const char *swap = new_key(), *release = new_key();
    const char *comparison = "{\"expected\":2,\"value\":3}";
    const char *lease = TEXT("/v1/buckets/%s/leases/k", api_bucket());
    ck_status(PUT(path, BODY("1"), "Content-Type: application/json"), 201);
    struct answer *answer = POST(TEXT("%s/compare-and-set", path), bytes_of(comparison), swap);
    ck_status(answer, 200);
    ck_assert(json_is_false(json_object_get(answer->json, "swapped")));
    ck_status(PUT(path, BODY("2"), "Content-Type: application/json"), 204);
    answer = POST(TEXT("%s/compare-and-set", path), bytes_of(comparison), swap);
    ck_header(answer, "Holdfast-Replayed", NULL);
    ck_assert(json_is_true(json_object_get(answer->json, "swapped")));
    expect_replay(answer, POST(TEXT("%s/compare-and-set", path), bytes_of(comparison), swap));
    for (int i = 0; i < 2; i++) {
        answer = DELETE(TEXT("%s?holder=h&token=1", lease), release);
        ck_header(answer, "Holdfast-Replayed", NULL);
        ck_assert(json_is_false(json_object_get(answer->json, "released")));
    }
}
END_TEST

START_TEST(replies_of_any_size_are_kept)
{
    enum { LARGE = 8 << 20 };
    const char *path = api_entry(api_bucket(), "k");
    const char *taken = new_key(), *exchanged = new_key();
    char *value = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        value[i] = (char)(i * 2654435761u >> 13);
    ck_status(PUT(path, bytes_make(value, LARGE), "Content-Type: image/x"), 201);
    struct answer *first = POST(TEXT("%s/exchange", path), bytes_make(value + 1, LARGE - 1), exchanged);
    ck_body(first, bytes_make(value, LARGE));
    struct answer *second = POST(TEXT("%s/take", path), NO_BODY, taken);
    ck_body(second, bytes_make(value + 1, LARGE - 1));
    expect_replay(first, POST(TEXT("%s/exchange", path), bytes_make(value + 1, LARGE - 1), exchanged));
    expect_replay(second, POST(TEXT("%s/take", path), NO_BODY, taken));
    ck_status(GET(path), 404);
    free(value);
}
END_TEST

START_TEST(replies_are_kept_for_a_day)
{
    const char *path = api_entry(api_bucket(), "k");
    const char *key = new_key();
    PGconn *sweeper = hold_sweeper();
    database_stop_clock(&api.database, START);
    struct answer *first = PUT(path, BODY("v"), key);
    ck_status(first, 201);
    database_stop_clock(&api.database, START + 24 * HOUR - 1);
    expect_replay(first, PUT(path, BODY("v"), key));
    ck_problem(PUT(path, BODY("w"), key), 422, "idempotency_mismatch");
    database_stop_clock(&api.database, START + 24 * HOUR);
    struct answer *second = PUT(path, BODY("w"), key);
    ck_status(second, 204);
    ck_header(second, "Holdfast-Replayed", NULL);
    database_stop_clock(&api.database, START + 47 * HOUR);
    expect_replay(second, PUT(path, BODY("w"), key));
    database_shift_clock(&api.database, 0);
    PQfinish(sweeper);
}
END_TEST

static bool replies_are_swept(void *user)
{
    return sql_number(user, "select count(*) from holdfast.idempotency where created_at <= holdfast.now() - "
                            "interval '24 h'") == 0;
}

START_TEST(old_replies_are_swept)
{
    PGconn *connection = database_connect(&api.database);
    const char *path = api_entry(api_bucket(), "k");
    const char *key = new_key();
    sql_run(connection, "insert into holdfast.idempotency select '', 'old-' || n, '', 204, '', '', "
                        "holdfast.now() - interval '25 h' from generate_series(1, 5000) n");
    struct answer *first = PUT(path, BODY("v"), key);
    ck_assert(clock_wait(replies_are_swept, connection, 60 * 1000));
    expect_replay(first, PUT(path, BODY("v"), key));
    PQfinish(connection);
}
END_TEST

// Nothing that was sent is there, but what the reply itself tells.
START_TEST(kept_rows_hold_nothing_of_the_request)
{
    PGconn *connection = database_connect(&api.database);
    ck_status(PUT(TEXT("%s?under=secret-owner", api_entry(api_bucket(), "secret-key")), BODY("secret-value"),
                  "Holdfast-Meta-Note: secret-note", new_key()),
              201);
    ck_assert_int_gt(sql_number(connection, "select count(*) from holdfast.idempotency"), 0);
    ck_assert_int_eq(sql_number(connection, "select count(*) from holdfast.idempotency i where "
                                            "position('secret'::bytea in i::text::bytea) > 0 or "
                                            "position('secret'::bytea in i.headers || i.body) > 0"),
                     0);
    PQfinish(connection);
}
END_TEST

// --- twins ------------------------------------------------------------------------------------------------

enum { TWINS = 64 };

struct twins {
    const char *target;
    const char *key;
    size_t replicas;
    int status[TWINS];
    bool replayed[TWINS];
    char body[TWINS][100];
    char etag[TWINS][40];
};

static void add_as_twin(size_t index, void *user)
{
    struct twins *twins = user;
    struct http_client *client = http_client_new(replica_url(twins->replicas == 2 ? index : 0));
    struct answer *answer = http(client, "POST", twins->target, BODY("{\"by\":1}"), twins->key);
    twins->status[index] = answer->status;
    twins->replayed[index] = is_replayed(answer);
    snprintf(twins->body[index], sizeof twins->body[index], "%s", (const char *)answer->body.data);
    snprintf(twins->etag[index], sizeof twins->etag[index], "%s", answer_header(answer, "ETag"));
    http_client_free(client);
}

static void race_twins(size_t replicas)
{
    for (int round = 0; round < 4; round++) {
        const char *path = api_entry(api_bucket(), "n");
        struct twins twins = {.target = TEXT("%s/add", path), .key = new_key(), .replicas = replicas};
        parallel_run(TWINS, add_as_twin, &twins);
        int originals = 0;
        for (int i = 0; i < TWINS; i++) {
            ck_assert_int_eq(twins.status[i], 200);
            ck_assert_str_eq(twins.body[i], twins.body[0]);
            ck_assert_str_eq(twins.etag[i], twins.etag[0]);
            originals += !twins.replayed[i];
        }
        ck_assert_int_eq(originals, 1);
        ck_body(GET(path), BODY("1"));
    }
}

START_TEST(twins_at_once_have_one_effect)
{
    race_twins(1);
    race_twins(2);
}
END_TEST

static void add_with_own_key(size_t index, void *user)
{
    struct twins *twins = user;
    struct http_client *client = http_client_new(replica_url(index));
    for (int i = 0; i < 8; i++) { // each key is sent by four
        const char *key = http_text(client, "%s-%zu-%d", twins->key, index / 4, i);
        struct answer *answer = http(client, "POST", twins->target, BODY("{\"by\":1}"), key);
        twins->status[index] = answer->status == 200 ? twins->status[index] : answer->status;
    }
    http_client_free(client);
}

static void add_plainly(size_t index, void *user)
{
    struct twins *twins = user;
    struct http_client *client = http_client_new(replica_url(index));
    for (int i = 0; i < 8; i++) {
        struct answer *answer = http(client, "POST", twins->target, BODY("{\"by\":1}"));
        twins->status[index] = answer->status == 200 ? twins->status[index] : answer->status;
    }
    http_client_free(client);
}

static void add_either_way(size_t index, void *user)
{
    if (index < TWINS / 2)
        add_with_own_key(index, user);
    else
        add_plainly(index, user);
}

// Distinct keys on one hot entry, beside writes without any.
START_TEST(each_key_counts_once)
{
    const char *path = api_entry(api_bucket(), "n");
    struct twins twins = {.target = TEXT("%s/add", path), .key = new_key()};
    parallel_run(TWINS, add_either_way, &twins);
    for (int i = 0; i < TWINS; i++)
        ck_assert_int_eq(twins.status[i], 0);
    ck_body(GET(path), bytes_of(TEXT("%d", TWINS / 2 / 4 * 8 + TWINS / 2 * 8)));
}
END_TEST

// --- one that takes long ----------------------------------------------------------------------------------

// A PUT that waits for the bucket's lock, in a thread.
struct slow_put {
    pthread_t thread;
    size_t replica;
    const char *path;
    const char *value;
    const char *key;
    atomic_int status;
    bool replayed;
    char etag[40];
};

static void *put_slowly(void *user)
{
    struct slow_put *put = user;
    struct http_client *client = http_client_new(replica_url(put->replica));
    struct answer *answer = http(client, "PUT", put->path, bytes_of(put->value), put->key);
    const char *etag = answer_header(answer, "ETag");
    put->replayed = is_replayed(answer);
    snprintf(put->etag, sizeof put->etag, "%s", etag ? etag : "");
    atomic_store(&put->status, answer->status);
    http_client_free(client);
    return NULL;
}

static PGconn *hold_bucket(const char *bucket)
{
    PGconn *connection = database_connect(&api.database);
    sql_run(connection, "select pg_advisory_lock(7240001, hashtext('%s'))", bucket);
    return connection;
}

struct waiting {
    PGconn *connection;
    int class;
    int64_t count;
};

static bool wait_for_lock(void *user)
{
    struct waiting *waiting = user;
    return sql_number(
               waiting->connection,
               "select count(*) from pg_locks l join pg_database d on d.oid = l.database where "
               "d.datname = current_database() and not granted and locktype = 'advisory' and classid = %d",
               waiting->class) >= waiting->count;
}

static void expect_waiting(PGconn *connection, int class, int64_t count)
{
    struct waiting waiting = {connection, class, count};
    ck_assert(clock_wait(wait_for_lock, &waiting, 10 * 1000));
}

static void start_put(struct slow_put *put)
{
    ck_assert_int_eq(pthread_create(&put->thread, NULL, put_slowly, put), 0);
}

START_TEST(twin_waits_for_the_one_under_way)
{
    for (size_t replica = 0; replica < 2; replica++) {
        const char *bucket = api_bucket();
        const char *path = api_entry(bucket, "k");
        const char *key = new_key();
        struct slow_put first = {.path = path, .value = "v", .key = key};
        struct slow_put twin = {.path = path, .value = "v", .key = key, .replica = replica};
        struct slow_put other = {.path = path, .value = "w", .key = key, .replica = 1};
        PGconn *holder = hold_bucket(bucket);
        start_put(&first);
        expect_waiting(holder, 7240001, 1);
        start_put(&twin);
        start_put(&other);
        expect_waiting(holder, 7240005, 1);
        ck_status(PUT(api_entry(api_bucket(), "k"), BODY("v"), new_key()), 201); // nobody else waits
        ck_assert_int_eq(first.status + twin.status + other.status, 0);
        PQfinish(holder);
        pthread_join(first.thread, NULL);
        pthread_join(twin.thread, NULL);
        pthread_join(other.thread, NULL);
        ck_assert_int_eq(first.status, 201);
        ck_assert(!first.replayed);
        ck_assert_int_eq(twin.status, 201);
        ck_assert(twin.replayed);
        ck_assert_str_eq(first.etag, twin.etag);
        ck_assert_int_eq(other.status, 422);
    }
}
END_TEST

// However many wait for one key, the sessions of the others are free.
START_TEST(twins_hold_one_session)
{
    const char *bucket = api_bucket();
    const char *key = new_key();
    struct slow_put twins[12];
    PGconn *holder = hold_bucket(bucket);
    for (int i = 0; i < 12; i++) {
        twins[i] = (struct slow_put){.path = api_entry(bucket, "k"), .value = "v", .key = key};
        start_put(&twins[i]);
    }
    expect_waiting(holder, 7240001, 1);
    for (int i = 0; i < 5; i++)
        ck_status(PUT(api_entry(api_bucket(), "k"), BODY("v"), new_key()), 201);
    PQfinish(holder);
    for (int i = 0; i < 12; i++) {
        pthread_join(twins[i].thread, NULL);
        ck_assert_int_eq(twins[i].status, 201);
        ck_assert_str_eq(twins[i].etag, twins[0].etag);
    }
}
END_TEST

// IDEM-1: the client went away before it was answered; what it asked for is done, and its reply is there.
START_TEST(client_that_vanishes_gets_its_reply_later)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    const char *key = new_key();
    PGconn *holder = hold_bucket(bucket);
    struct raw *raw = raw_connect(service_port(api.service));
    raw_text(raw, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nIf-None-Match: *\r\n%s\r\n\r\nv", path,
             key);
    expect_waiting(holder, 7240001, 1);
    raw_abort(raw);
    PQfinish(holder);
    struct answer *again = PUT(path, BODY("v"), "If-None-Match: *", key);
    ck_status(again, 201);
    ck_header(again, "Holdfast-Replayed", "true");
    ck_header(GET(path), "ETag", tag_of(again));
    expect_conflict(PUT(path, BODY("v"), "If-None-Match: *"), tag_of(again)); // without the key
}
END_TEST

// A reply that arrived and was not read, for each kind of call that a blind repetition would spoil.
static void drop_first_reply(const struct write *write, int status)
{
    const char *bucket = api_bucket();
    const char *key = new_key();
    const char *token = set_up(write, bucket);
    const char *target = target_of(write, bucket, token);
    struct raw *raw = raw_connect(service_port(api.service));
    const char *body = write->body ? with_token(write->body, token) : "";
    raw_text(raw, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n%s\r\n", write->method, target,
             strlen(body), key);
    for (int i = 0; i < 3 && write->headers[i]; i++)
        raw_text(raw, "%s\r\n", write->headers[i]);
    raw_text(raw, "\r\n%s", body);
    struct answer *lost = raw_read(raw, false, 10 * 1000); // what the proxy saw, and dropped
    ck_assert_ptr_nonnull(lost);
    const char *state = state_of(bucket);
    struct answer *again = send_write(api.client, write, target, token, key);
    ck_status(again, status);
    expect_replay(lost, again);
    ck_assert_str_eq(state, state_of(bucket));
    raw_close(raw);
}

// IDEM-1
START_TEST(lost_reply_is_given_again)
{
    static const struct write lost[] = {
        {"PUT", ENTRY, "", "v", "w", {"If-Match: *"}, 204},
        {"POST", ENTRY "/take", "", "v", NULL, {0}, 200},
        {"POST", ENTRY "/add", "", "5", "{\"by\":1}", {0}, 200},
        {"POST", ENTRY "/exchange", "", "v", "w", {0}, 200},
        {"POST", LEASE, "", "v", "{\"holder\":\"w\",\"ttl\":\"1h\"}", {0}, 201},
        {"PUT", LEASE, "", "v", "{\"holder\":\"w\",\"ttl\":\"2h\",\"token\":\"{token}\"}", {0}, 200},
    };
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        drop_first_reply(&lost[i], lost[i].status);
}
END_TEST

Suite *idempotency_suite(void)
{
    const TTest *const tests[] = {
        every_write_is_done_once_and_answered_alike,
        every_documented_write_takes_a_key,
        keys_of_reads_are_ignored,
        bad_keys_are_400,
        another_request_under_a_key_is_422,
        the_same_request_written_otherwise_is_replayed,
        refusals_are_not_kept,
        answers_without_an_effect_are_not_kept,
        replies_of_any_size_are_kept,
        replies_are_kept_for_a_day,
        old_replies_are_swept,
        kept_rows_hold_nothing_of_the_request,
        twins_at_once_have_one_effect,
        each_key_counts_once,
        twin_waits_for_the_one_under_way,
        twins_hold_one_session,
        client_that_vanishes_gets_its_reply_later,
        lost_reply_is_given_again,
        NULL,
    };
    return api_suite_of_two("idempotency", tests);
}
