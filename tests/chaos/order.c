// A snapshot that shows a version shows all below it: what a later one shows anew has a greater version. And
// what is written after a version was seen gets a greater one.
#include "chaos/order.h"

#include "chaos/caller.h"
#include "chaos/totals.h"
#include "support/clock.h"

#include <check.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WRITERS = 4,
    WATCHERS = 2,
    KEYS = 12,
    PAUSE_MS = 20,
    BETWEEN_MS = 3, // two writes of a writer
    LOOK_MS = 15,   // two looks of a watcher
};

#define BUCKET  "chaos-order"
#define ENTRIES "/v1/buckets/" BUCKET "/entries"

struct client {
    pthread_t thread;
    struct caller caller;
    long long known[KEYS]; // versions, as the last snapshot had them; 0: absent
    size_t writes, snapshots, changes;
    char complaint[400]; // the first broken promise, empty while there is none
};

static struct {
    struct client writers[WRITERS];
    struct client watchers[WATCHERS];
    atomic_bool stopping;
    atomic_bool broken;
    _Atomic long long newest; // of all versions that anybody has seen
} order;

static bool is_over(void)
{
    return atomic_load(&order.stopping) || atomic_load(&order.broken);
}

static void complain(struct client *client, const char *what, long long version, long long other,
                     const struct entry_reply *reply)
{
    if (!client->complaint[0])
        snprintf(client->complaint, sizeof client->complaint, "%s: %lld beside %lld: %s", what, version,
                 other, reply_in_short(reply, (char[REPLY_SHORT]){0}));
    atomic_store(&order.broken, true);
}

static void has_seen(long long version)
{
    long long newest = atomic_load(&order.newest);
    while (version > newest && !atomic_compare_exchange_weak(&order.newest, &newest, version))
        ;
}

// --- writing ----------------------------------------------------------------------------------------------

static void make_transaction(struct client *client, char body[300])
{
    size_t from = random_below(&client->caller.random, KEYS);
    snprintf(body, 300,
             "{\"operations\":[{\"op\":\"put\",\"bucket\":\"" BUCKET "\",\"key\":\"%zu\",\"value\":%zu},"
             "{\"op\":\"delete\",\"bucket\":\"" BUCKET "\",\"key\":\"%zu\"}]}",
             from, client->writes, (from + 1) % KEYS);
}

static void write_once(struct client *client, struct entry_reply *reply)
{
    char target[80], body[300];
    size_t kind = random_below(&client->caller.random, 10);
    struct entry_request request = {.method = "PUT", .target = target, .content_type = "application/json"};
    snprintf(target, sizeof target, ENTRIES "/%zu", random_below(&client->caller.random, KEYS));
    snprintf(body, sizeof body, "%zu", client->writes);
    if (kind == 0) {
        request.method = "DELETE";
        request.content_type = NULL;
        body[0] = '\0';
    } else if (kind <= 2) {
        request.method = "POST";
        snprintf(target, sizeof target, "/v1/transactions");
        make_transaction(client, body);
    }
    request.body = bytes_of(body);
    caller_ask(&client->caller, &request, reply);
}

// Of a transaction it is in the body, of all else a header.
static long long position_of(const struct entry_reply *reply)
{
    char text[ENTRY_VERSION_ROOM];
    return entry_reply_member(reply, "position", text) ? strtoll(text, NULL, 10) : reply->position;
}

static void *run_writer(void *argument)
{
    struct client *client = argument;
    while (!is_over()) {
        struct entry_reply reply;
        long long before = atomic_load(&order.newest);
        write_once(client, &reply);
        if (entry_reply_is_fault(&reply)) {
            clock_pause(PAUSE_MS);
            continue;
        }
        if (reply.status / 100 == 2 && position_of(&reply) <= before)
            complain(client, "a write's position is not above a version that was seen before",
                     position_of(&reply), before, &reply);
        else if (reply.status / 100 != 2 && reply.status != 404)
            complain(client, "a write", 0, 0, &reply);
        else if (reply.status != 404)
            has_seen(position_of(&reply));
        client->writes++;
        clock_pause(BETWEEN_MS);
    }
    return NULL;
}

// --- watching ---------------------------------------------------------------------------------------------

// The versions that a snapshot has; false when it is none.
static bool read_versions(const struct entry_reply *reply, long long versions[KEYS])
{
    json_t *document = json_loadb((const char *)reply->body.data, reply->body.size, 0, NULL);
    json_t *entries = json_object_get(document, "entries");
    bool good = reply->status == 200 && entries;
    memset(versions, 0, KEYS * sizeof *versions);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        json_t *entry = json_array_get(entries, i);
        const char *key = json_string_value(json_object_get(entry, "key"));
        const char *version = json_string_value(json_object_get(entry, "version"));
        size_t place = key ? strtoul(key, NULL, 10) : KEYS;
        good = good && version && place < KEYS;
        if (good)
            versions[place] = strtoll(version, NULL, 10);
    }
    json_decref(document);
    return good;
}

static long long greatest(const long long versions[KEYS])
{
    long long result = 0;
    for (int i = 0; i < KEYS; i++)
        result = versions[i] > result ? versions[i] : result;
    return result;
}

static void compare(struct client *client, const long long versions[KEYS], const struct entry_reply *reply)
{
    long long before = greatest(client->known);
    for (int i = 0; i < KEYS; i++) {
        if (!versions[i] || versions[i] == client->known[i])
            continue;
        if (versions[i] <= before)
            complain(client, "a version appeared after a greater one", versions[i], before, reply);
        client->changes++;
    }
    memcpy(client->known, versions, sizeof client->known);
    client->snapshots++;
    has_seen(greatest(versions));
}

static void *run_watcher(void *argument)
{
    struct client *client = argument;
    while (!is_over()) {
        struct entry_reply reply;
        long long versions[KEYS];
        caller_ask(&client->caller, &(struct entry_request){.method = "GET", .target = ENTRIES}, &reply);
        if (entry_reply_is_fault(&reply))
            clock_pause(PAUSE_MS);
        else if (!read_versions(&reply, versions))
            complain(client, "a snapshot", 0, 0, &reply);
        else
            compare(client, versions, &reply);
        clock_pause(LOOK_MS);
    }
    return NULL;
}

// --- all --------------------------------------------------------------------------------------------------

static void start(struct client *client, void *(*run)(void *), uint64_t seed, uint64_t stream,
                  size_t replicas)
{
    caller_start(&client->caller, seed, stream, replicas);
    ck_assert_int_eq(pthread_create(&client->thread, NULL, run, client), 0);
}

static void declare(uint64_t seed, size_t replicas)
{
    struct caller caller;
    struct entry_reply reply;
    caller_start(&caller, seed, 9200, replicas);
    caller_ask(&caller,
               &(struct entry_request){.method = "PUT",
                                       .target = "/v1/buckets/" BUCKET,
                                       .body = bytes_of("{}"),
                                       .content_type = "application/json"},
               &reply);
    ck_assert_int_eq(reply.status, 201);
    caller_end(&caller);
}

void order_start(uint64_t seed, size_t replicas)
{
    declare(seed, replicas);
    for (unsigned i = 0; i < WRITERS; i++)
        start(&order.writers[i], run_writer, seed, 9000 + i, replicas);
    for (unsigned i = 0; i < WATCHERS; i++)
        start(&order.watchers[i], run_watcher, seed, 9100 + i, replicas);
}

bool order_is_broken(void)
{
    return atomic_load(&order.broken);
}

static void end(struct client *client)
{
    pthread_join(client->thread, NULL);
    caller_end(&client->caller);
}

void order_finish(void)
{
    size_t writes = 0, snapshots = 0, changes = 0;
    atomic_store(&order.stopping, true);
    for (int i = 0; i < WRITERS; i++) {
        end(&order.writers[i]);
        writes += order.writers[i].writes;
    }
    for (int i = 0; i < WATCHERS; i++) {
        end(&order.watchers[i]);
        snapshots += order.watchers[i].snapshots;
        changes += order.watchers[i].changes;
    }
    printf("order: %zu writes; %zu snapshots showed %zu changes\n", writes, snapshots, changes);
    fflush(stdout);
    for (int i = 0; i < WRITERS; i++)
        ck_assert_msg(!order.writers[i].complaint[0], "%s", order.writers[i].complaint);
    for (int i = 0; i < WATCHERS; i++)
        ck_assert_msg(!order.watchers[i].complaint[0], "%s", order.watchers[i].complaint);
    totals_add(TOTAL_SNAPSHOTS, snapshots);
    totals_add(TOTAL_CHANGES_IN_ORDER, changes);
    ck_assert_uint_gt(changes, 0);
}
