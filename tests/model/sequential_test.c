// Random operations, one at a time on either of two replicas, each answer held against a model in memory; the
// seed replays a run.
#include "base/timestamp.h"
#include "model/replicas.h"
#include "model/store_model.h"
#include "model/suites.h"
#include "support/entry_client.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

enum {
    STEPS = 2000, // of a run
    RUNS = 3,
    TRACE = 40, // steps told when one fails
    TRACE_LINE = 400,
    VERSIONS_KEPT = 64, // old versions to try conditions with
    BODY_ROOM = 256,
};

struct run {
    uint64_t seed;
    size_t step;
    struct random random;
    struct universe universe;
    struct store_model model;
    struct entry_client replicas[2];
    struct entry_reply reply; // of the last call
    int64_t highest_position;
    json_t *versions_used;
    char old_versions[VERSIONS_KEPT][VERSION_ROOM];
    size_t old_count;
    char trace[TRACE][TRACE_LINE];
    size_t applied[8]; // statuses seen, by hundred
};

static void refute(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

static void refute(struct run *run, const char *format, ...)
{
    va_list arguments;
    char text[600];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (size_t i = run->step + 1 > TRACE ? run->step + 1 - TRACE : 0; i <= run->step; i++) {
        fprintf(stderr, "%5zu %s\n", i, run->trace[i % TRACE]);
    }
    int told = run->reply.status >= 400 ? (int)run->reply.body.size : 0; // values are not for terminals
    ck_abort_msg("seed %" PRIu64 ", step %zu: %s; the reply was %d %.*s", run->seed, run->step, text,
                 run->reply.status, told, (const char *)run->reply.body.data);
    abort();
}

// Sends one request to a replica drawn by chance; anything but a whole reply fails the run.
static void ask(struct run *run, const char *method, const char *target, const char *headers,
                struct bytes body, const char *content_type)
{
    size_t replica = random_below(&run->random, 2);
    struct entry_request request = {method, target, body, content_type, headers};
    snprintf(run->trace[run->step % TRACE], TRACE_LINE,
             "%" PRId64 " replica %zu %s %.220s %zu bytes %s %.80s", run->model.now, replica, method, target,
             body.size, content_type != NULL ? content_type : "-", headers != NULL ? headers : "");
    entry_client_ask(&run->replicas[replica], &request, &run->reply);
    if (run->reply.outcome != ENTRY_ANSWERED) {
        refute(run, "no answer");
    }
    size_t used = strlen(run->trace[run->step % TRACE]);
    snprintf(run->trace[run->step % TRACE] + used, TRACE_LINE - used, " -> %d %s", run->reply.status,
             run->reply.version);
    run->applied[run->reply.status / 100]++;
}

// Fails unless Holdfast-Expires-At is what the model has for the entry.
static void check_expiry(struct run *run, const struct held_entry *entry)
{
    char expected[TIMESTAMP_SIZE] = "";
    if (entry->expires) {
        timestamp_format(entry->expires_at, expected);
    }
    if (strcmp(expected, run->reply.expires_at) != 0) {
        refute(run, "Holdfast-Expires-At is '%s', not '%s'", run->reply.expires_at, expected);
    }
}

// A write's position is above that of every write before, since all are one after the other.
static void check_position(struct run *run)
{
    if (run->reply.position <= run->highest_position) {
        refute(run, "position %" PRId64 " after %" PRId64, run->reply.position, run->highest_position);
    }
    run->highest_position = run->reply.position;
}

static void check_new_version(struct run *run)
{
    const char *version = run->reply.version;
    if (*version == '\0' || run->reply.weak || json_object_get(run->versions_used, version) != NULL) {
        refute(run, "the version '%s' is none, weak or was used before", version);
    }
    json_object_set_new(run->versions_used, version, json_true());
    snprintf(run->old_versions[run->old_count++ % VERSIONS_KEPT], VERSION_ROOM, "%s", version);
}

// A 412 tells the current version: null without ETag when nothing is there.
static void check_conflict(struct run *run, const struct held_entry *live)
{
    char current[ENTRY_VERSION_ROOM];
    char kind[ENTRY_VERSION_ROOM];
    entry_reply_member(&run->reply, "kind", kind);
    entry_reply_member(&run->reply, "current_version", current);
    const char *expected = live != NULL ? live->version : "";
    if (strcmp(kind, "version_conflict") != 0 || strcmp(current, expected) != 0 ||
        strcmp(run->reply.version, expected) != 0) {
        refute(run, "a conflict that names '%s' and '%s', not '%s'", current, run->reply.version, expected);
    }
}

static void check_kind(struct run *run, const char *expected)
{
    char kind[ENTRY_VERSION_ROOM];
    entry_reply_member(&run->reply, "kind", kind);
    if (strcmp(kind, expected) != 0 || strcmp(run->reply.content_type, "application/problem+json") != 0) {
        refute(run, "a problem of kind '%s' as %s, not '%s'", kind, run->reply.content_type, expected);
    }
}

static void check_problem(struct run *run, const struct held_entry *live)
{
    switch (run->reply.status) {
    case 404:
        check_kind(run, "not_found");
        break;
    case 412:
        check_kind(run, "version_conflict");
        check_conflict(run, live);
        break;
    case 413:
        check_kind(run, "too_large");
        break;
    case 422:
        check_kind(run, "type_mismatch");
        break;
    default:
        break;
    }
}

// A version that some entry had once; `none` before there was any.
static const char *draw_old_version(struct run *run)
{
    size_t kept = run->old_count < VERSIONS_KEPT ? run->old_count : VERSIONS_KEPT;
    return kept > 0 ? run->old_versions[random_below(&run->random, kept)] : "none";
}

// Draws a condition for a write and its headers.
static enum held_condition draw_condition(struct run *run, size_t bucket, size_t address,
                                          char version[VERSION_ROOM], char headers[BODY_ROOM])
{
    const struct held_entry *entry = &run->model.entries[bucket][address];
    const char *old = draw_old_version(run);
    const char *known = entry->present ? entry->version : old;
    snprintf(version, VERSION_ROOM, "%s", known);
    headers[0] = '\0';
    if (!run->model.buckets[bucket].declared) {
        return HELD_ALWAYS;
    }
    switch (random_below(&run->random, 20)) {
    case 0:
    case 1:
        snprintf(headers, BODY_ROOM, "If-Match: \"%s\"\r\n", known);
        return HELD_IF_VERSION;
    case 2:
        snprintf(headers, BODY_ROOM, "If-Match: \"x\" , \"%s\",W/\"%s\"\r\n", known, old);
        return HELD_IF_VERSION;
    case 3:
        snprintf(headers, BODY_ROOM, "If-Match: \"%s\"\r\n", old);
        snprintf(version, VERSION_ROOM, "%s", old);
        return HELD_IF_VERSION;
    case 4:
        snprintf(headers, BODY_ROOM, "If-Match: W/\"%s\"\r\n", known);
        return HELD_NEVER;
    case 5:
        snprintf(headers, BODY_ROOM, "If-Match: *\r\n");
        return HELD_IF_LIVE;
    case 6:
    case 7:
        snprintf(headers, BODY_ROOM, "If-None-Match: *\r\n");
        return HELD_IF_ABSENT;
    default:
        return HELD_ALWAYS;
    }
}

static int64_t draw_term(struct run *run)
{
    static const int64_t terms[] = {1000,     500000,     1000000,
                                    60000000, 3600000000, INT64_C(3650) * 86400 * 1000000};
    return terms[random_below(&run->random, sizeof terms / sizeof terms[0])];
}

// Draws what a PUT says about expiry and its query, NULL when nothing.
static const char *draw_expiry(struct run *run, struct model_put *put, char query[BODY_ROOM])
{
    char at[TIMESTAMP_SIZE];
    switch (random_below(&run->random, 10)) {
    case 0:
    case 1:
        put->wish = EXPIRY_TTL;
        put->expiry = draw_term(run);
        snprintf(query, BODY_ROOM, "ttl=%" PRId64 "ms", put->expiry / 1000);
        return query;
    case 2:
        put->wish = EXPIRY_UNTIL;
        put->expiry = run->model.now + draw_term(run) + 1;
        timestamp_format(put->expiry, at);
        snprintf(query, BODY_ROOM, "expires_at=%s", at);
        return query;
    case 3:
        put->wish = EXPIRY_PERSIST;
        return "persist=true";
    default:
        put->wish = EXPIRY_UNSAID;
        return NULL;
    }
}

static void put_entry(struct run *run, size_t bucket, size_t address)
{
    char target[UNIVERSE_URL];
    char query[BODY_ROOM];
    char headers[2 * BODY_ROOM];
    struct model_put put = {.bucket = bucket, .address = address};
    const struct held_bucket *held = &run->model.buckets[bucket];
    put.value = universe_value(held->declared ? held->type : "any", &put.fits, &run->random);
    put.content_type = universe_content_type(&run->random);
    put.note = universe_note(&run->random);
    put.condition = draw_condition(run, bucket, address, put.version, headers);
    const char *expiry = draw_expiry(run, &put, query);
    universe_url(target, bucket, &run->universe.addresses[address], expiry, &run->random);
    if (put.note != NULL) {
        size_t used = strlen(headers);
        snprintf(headers + used, sizeof headers - used, "Holdfast-Meta-Note: %s\r\n", put.note);
    }
    struct allowed allowed = model_allows_put(&run->model, &put);

    ask(run, "PUT", target, headers, put.value, put.content_type);
    if (!allowed_has(allowed, run->reply.status)) {
        refute(run, "a PUT that must get %d", allowed.statuses[0]);
    }
    if (run->reply.status >= 400) {
        check_problem(run, model_live(&run->model, bucket, address));
        free((void *)(uintptr_t)put.value.data);
        return;
    }
    check_position(run);
    check_new_version(run);
    model_put(&run->model, &put, run->reply.version);
    check_expiry(run, &run->model.entries[bucket][address]);
}

static void delete_entry(struct run *run, size_t bucket, size_t address)
{
    char target[UNIVERSE_URL];
    char headers[BODY_ROOM];
    char version[VERSION_ROOM];
    enum held_condition condition = draw_condition(run, bucket, address, version, headers);
    universe_url(target, bucket, &run->universe.addresses[address], NULL, &run->random);
    struct allowed allowed = model_allows_delete(&run->model, bucket, address, condition, version);

    ask(run, "DELETE", target, headers, (struct bytes){0}, NULL);
    if (!allowed_has(allowed, run->reply.status)) {
        refute(run, "a DELETE that must get %d", allowed.statuses[0]);
    }
    if (run->reply.status >= 400) {
        check_problem(run, model_live(&run->model, bucket, address));
        return;
    }
    check_position(run);
    model_delete(&run->model, bucket, address);
}

// Holds a 200 of GET or HEAD against the live entry.
static void check_entry(struct run *run, const struct held_entry *live, bool with_body)
{
    const char *type = live->content_type != NULL ? live->content_type : "application/octet-stream";
    if (strcmp(run->reply.version, live->version) != 0 || run->reply.weak) {
        refute(run, "the version is '%s', not '%s'", run->reply.version, live->version);
    }
    if (strcmp(run->reply.content_type, type) != 0) {
        refute(run, "the content type is '%s', not '%s'", run->reply.content_type, type);
    }
    if (strcmp(run->reply.note, live->note != NULL ? live->note : "") != 0) {
        refute(run, "the metadata is '%s', not '%s'", run->reply.note, live->note != NULL ? live->note : "");
    }
    if (run->reply.content_length != (int64_t)live->value.size) {
        refute(run, "the length is %" PRId64 ", not %zu", run->reply.content_length, live->value.size);
    }
    if (with_body && !bytes_equal(run->reply.body, live->value)) {
        refute(run, "the value is not the one written");
    }
    check_expiry(run, live);
}

// Draws a condition for a read; gives the status that a live entry then gets.
static int draw_read_condition(struct run *run, const struct held_entry *live, char headers[BODY_ROOM])
{
    headers[0] = '\0';
    const char *old = draw_old_version(run);
    const char *version = live != NULL && random_chance(&run->random, 70) ? live->version : old;
    bool same = live != NULL && strcmp(version, live->version) == 0;
    switch (random_below(&run->random, 10)) {
    case 0:
        snprintf(headers, BODY_ROOM, "If-None-Match: \"%s\"\r\n", version);
        return same ? 304 : 200;
    case 1:
        snprintf(headers, BODY_ROOM, "If-None-Match: \"x\", W/\"%s\"\r\n", version);
        return same ? 304 : 200;
    default:
        return 200;
    }
}

static void read_entry(struct run *run, const char *method, size_t bucket, size_t address)
{
    char target[UNIVERSE_URL];
    char headers[BODY_ROOM];
    const struct held_entry *live = model_live(&run->model, bucket, address);
    int status = draw_read_condition(run, live, headers);
    status = live == NULL ? 404 : status;
    universe_url(target, bucket, &run->universe.addresses[address], NULL, &run->random);

    ask(run, method, target, headers, (struct bytes){0}, NULL);
    bool with_body = strcmp(method, "GET") == 0;
    if (run->reply.status != status) {
        refute(run, "a %s that must get %d", method, status);
    }
    if (status == 200) {
        check_entry(run, live, with_body);
    } else if (status == 304) {
        if (strcmp(run->reply.version, live->version) != 0) {
            refute(run, "a 304 with the version '%s', not '%s'", run->reply.version, live->version);
        }
    } else if (*run->reply.version != '\0') {
        refute(run, "an absent entry with the version '%s'", run->reply.version);
    } else if (with_body) {
        check_kind(run, "not_found");
    }
}

static void get_entry(struct run *run, size_t bucket, size_t address)
{
    read_entry(run, "GET", bucket, address);
}

static void head_entry(struct run *run, size_t bucket, size_t address)
{
    read_entry(run, "HEAD", bucket, address);
}

// Fails unless `json` is about the bucket and `configuration` is the whole of its configuration.
static void check_configuration(struct run *run, size_t bucket, json_t *json, json_t *configuration)
{
    const struct held_bucket *held = &run->model.buckets[bucket];
    const char *ttl = json_string_value(json_object_get(configuration, "ttl"));
    int64_t ttl_ms = ttl != NULL ? strtoll(ttl, NULL, 10) : 0;
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    for (size_t i = 0; ttl != NULL && i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(ttl + strspn(ttl, "0123456789"), units[i].unit) == 0) {
            ttl_ms *= units[i].ms;
        }
    }
    const char *name = json_string_value(json_object_get(json, "name"));
    const char *type = json_string_value(json_object_get(configuration, "type"));
    const char *created = json_string_value(json_object_get(json, "created_at"));
    char expected_created[TIMESTAMP_SIZE];
    timestamp_format(held->created_at, expected_created);
    if (name == NULL || strcmp(name, universe_buckets[bucket].name) != 0 || type == NULL ||
        strcmp(type, held->type) != 0 || ttl_ms * 1000 != held->ttl || created == NULL ||
        strcmp(created, expected_created) != 0 || !json_is_null(json_object_get(configuration, "idle")) ||
        !json_is_false(json_object_get(configuration, "encrypted")) ||
        json_integer_value(json_object_get(configuration, "max_value_bytes")) != held->max_value_bytes) {
        refute(run, "another configuration than %s ttl %" PRId64 " max %" PRId64 " created %s", held->type,
               held->ttl, held->max_value_bytes, expected_created);
    }
}

static json_t *reply_json(struct run *run)
{
    json_t *json =
        json_loadb((const char *)run->reply.body.data, run->reply.body.size, JSON_REJECT_DUPLICATES, NULL);
    if (json == NULL || strcmp(run->reply.content_type, "application/json") != 0) {
        refute(run, "no JSON but %s", run->reply.content_type);
    }
    return json;
}

static void declare_bucket(struct run *run, size_t bucket, size_t address)
{
    (void)address;
    char target[UNIVERSE_URL];
    char body[BODY_ROOM];
    char ttl[40] = "null";
    const struct held_bucket *held = &run->model.buckets[bucket];
    const char *type = universe_buckets[bucket].type;
    bool changes_type = held->declared && strcmp(held->type, type) != 0;
    bool refused = changes_type && strcmp(type, "any") != 0 && model_has_live_entries(&run->model, bucket);
    int64_t term = random_chance(&run->random, 40) ? draw_term(run) : 0;
    int64_t most = random_chance(&run->random, 30) ? 64 : 8388608;
    if (term > 0) {
        snprintf(ttl, sizeof ttl, "\"%" PRId64 "ms\"", term / 1000);
    }
    universe_bucket_url(target, bucket);
    snprintf(body, sizeof body,
             "{\"type\":\"%s\",\"ttl\":%s,\"idle\":null,\"encrypted\":false,\"max_value_bytes\":%" PRId64 "}",
             type, ttl, most);

    ask(run, "PUT", target, NULL, bytes_of(body), "application/json");
    if (refused) {
        if (run->reply.status < 400 || run->reply.status > 499) {
            refute(run, "entries may not be of the new type, so this must be refused");
        }
        return;
    }
    if (run->reply.status != (held->declared ? 200 : 201)) {
        refute(run, "a declaration that must get %d", held->declared ? 200 : 201);
    }
    model_declare(&run->model, bucket, type, term, most);
    json_t *json = reply_json(run);
    check_configuration(run, bucket, json, json);
    json_decref(json);
}

static void get_bucket(struct run *run, size_t bucket, size_t address)
{
    (void)address;
    char target[UNIVERSE_URL];
    universe_bucket_url(target, bucket);
    ask(run, "GET", target, NULL, (struct bytes){0}, NULL);
    if (run->reply.status != (run->model.buckets[bucket].declared ? 200 : 404)) {
        refute(run, "the bucket is%s declared", run->model.buckets[bucket].declared ? "" : " not");
    }
    if (run->reply.status == 200) {
        json_t *json = reply_json(run);
        check_configuration(run, bucket, json, json);
        json_decref(json);
    } else {
        check_kind(run, "not_found");
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(universe_buckets[*(const size_t *)a].name, universe_buckets[*(const size_t *)b].name);
}

static void list_buckets(struct run *run, size_t bucket, size_t address)
{
    (void)bucket;
    (void)address;
    size_t order[UNIVERSE_BUCKETS];
    size_t declared = 0;
    for (size_t i = 0; i < UNIVERSE_BUCKETS; i++) {
        if (run->model.buckets[i].declared) {
            order[declared++] = i;
        }
    }
    qsort(order, declared, sizeof *order, compare_names);
    ask(run, "GET", "/v1/buckets", NULL, (struct bytes){0}, NULL);
    if (run->reply.status != 200) {
        refute(run, "a list that must get 200");
    }
    json_t *json = reply_json(run);
    json_t *listed = json_object_get(json, "buckets");
    if (json_array_size(listed) != declared || !json_is_null(json_object_get(json, "cursor"))) {
        refute(run, "%zu buckets with a cursor or without, not %zu", json_array_size(listed), declared);
    }
    for (size_t i = 0; i < declared; i++) {
        json_t *item = json_array_get(listed, i);
        check_configuration(run, order[i], item, json_object_get(item, "configuration"));
    }
    json_decref(json);
}

static void drop_bucket(struct run *run, size_t bucket, size_t address)
{
    (void)address;
    char target[UNIVERSE_URL];
    universe_bucket_url(target, bucket);
    ask(run, "DELETE", target, NULL, (struct bytes){0}, NULL);
    if (run->reply.status != (run->model.buckets[bucket].declared ? 204 : 404)) {
        refute(run, "the bucket is%s declared", run->model.buckets[bucket].declared ? "" : " not");
    }
    if (run->reply.status == 204) {
        check_position(run);
        model_drop(&run->model, bucket);
    }
}

// Moves the clock, often to the very microsecond at which the entry expires or the one before.
static void move_clock(struct run *run, size_t bucket, size_t address)
{
    const struct held_entry *live = model_live(&run->model, bucket, address);
    bool to_expiry = live != NULL && live->expires && live->expires_at - run->model.now < INT64_C(7200000000);
    if (to_expiry) {
        int64_t edge = live->expires_at - (random_chance(&run->random, 50) ? 1 : 0);
        run->model.now = edge > run->model.now ? edge : live->expires_at;
    } else {
        run->model.now += 1 + (int64_t)random_below(&run->random, 2000000);
    }
    replicas_set_clock(run->model.now);
    snprintf(run->trace[run->step % TRACE], TRACE_LINE, "the clock is %" PRId64, run->model.now);
    if (to_expiry) {
        run->step++;
        get_entry(run, bucket, address);
    }
}

static const struct {
    const char *name;
    unsigned weight; // of 100
    void (*run)(struct run *run, size_t bucket, size_t address);
} operations[] = {
    {"put", 36, put_entry},          {"get", 26, get_entry},
    {"head", 8, head_entry},         {"delete", 12, delete_entry},
    {"clock", 9, move_clock},        {"declare", 5, declare_bucket},
    {"get bucket", 2, get_bucket},   {"list buckets", 1, list_buckets},
    {"drop bucket", 1, drop_bucket},
};

static void step(struct run *run)
{
    size_t bucket = random_below(&run->random, UNIVERSE_BUCKETS);
    // Most steps stay among a few addresses, so that they meet each other.
    size_t address = random_below(&run->random, random_chance(&run->random, 70) ? 5 : UNIVERSE_ADDRESSES);
    size_t drawn = random_below(&run->random, 100);
    size_t operation = 0;
    for (; drawn >= operations[operation].weight; operation++) {
        drawn -= operations[operation].weight;
    }
    operations[operation].run(run, bucket, address);
}

static void start_run(struct run *run, uint64_t seed)
{
    *run = (struct run){.seed = seed, .random = random_seeded(seed, 0), .versions_used = json_object()};
    for (size_t i = 0; i < 2; i++) {
        run->replicas[i] = entry_client_new(replicas_port(i));
    }
    universe_draw(&run->universe, &run->random);
    run->model.now = (int64_t)time(NULL) * 1000000 + 123456;
    for (size_t bucket = 0; bucket < UNIVERSE_BUCKETS; bucket++) { // what a failed run before may have left
        char target[UNIVERSE_URL];
        universe_bucket_url(target, bucket);
        ask(run, "DELETE", target, NULL, (struct bytes){0}, NULL);
    }
    replicas_set_clock(run->model.now);
}

// Every address of every bucket is read once more and everything dropped, so that the next run starts from
// nothing.
static void end_run(struct run *run)
{
    for (size_t bucket = 0; bucket < UNIVERSE_BUCKETS; bucket++) {
        for (size_t address = 0; address < UNIVERSE_ADDRESSES; address++, run->step++) {
            get_entry(run, bucket, address);
        }
        drop_bucket(run, bucket, 0);
    }
    replicas_set_clock(0);
    printf("operations, seed %" PRIu64 ": %zu steps, %zu replies 2xx, %zu 3xx, %zu 4xx\n", run->seed,
           run->step, run->applied[2], run->applied[3], run->applied[4]);
    fflush(stdout);
    model_free(&run->model);
    universe_free(&run->universe);
    json_decref(run->versions_used);
    entry_client_close(&run->replicas[0]);
    entry_client_close(&run->replicas[1]);
}

START_TEST(random_operations_agree_with_the_model)
{
    struct run *run = malloc(sizeof *run);
    ck_assert_ptr_nonnull(run);
    start_run(run, random_run_seed() + (uint64_t)_i);
    for (; run->step < STEPS; run->step++) {
        step(run);
    }
    end_run(run);
    free(run);
}
END_TEST

Suite *sequential_suite(void)
{
    Suite *suite = suite_create("sequential");
    TCase *tcase = tcase_create("two replicas");
    tcase_set_timeout(tcase, 120);
    tcase_add_unchecked_fixture(tcase, replicas_start, replicas_stop);
    tcase_add_loop_test(tcase, random_operations_agree_with_the_model, 0, RUNS);
    suite_add_tcase(suite, tcase);
    return suite;
}
