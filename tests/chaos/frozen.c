// A writer changes a few entries without end, all of them in one transaction, and another one a lone entry; a
// fork has them as they were in one moment, and the same whenever it is asked.
#include "chaos/frozen.h"

#include "chaos/caller.h"
#include "chaos/totals.h"
#include "support/clock.h"

#include <check.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    ENTRIES = 5,
    READERS = 2,
    LOOKS = 12, // at one fork
    PAUSE_MS = 20,
    BETWEEN_MS = 25, // two looks
    WRITES_MS = 5,
    WITHOUT_MS = 800, // at most, between two forks
};

#define BUCKET "chaos-frozen"
#define LONE   "lone"

struct client {
    pthread_t thread;
    unsigned number;
    struct caller caller;
    size_t forks, looks, writes;
    char complaint[500]; // the first broken promise, empty while there is none
};

static struct {
    struct client writer;
    struct client lone_writer;
    struct client readers[READERS];
    atomic_bool stopping;
    atomic_bool broken;
} frozen;

static void complain(struct client *client, const char *what, const struct entry_reply *reply)
{
    if (!client->complaint[0])
        snprintf(client->complaint, sizeof client->complaint, "%s: %d %.*s", what, reply->status,
                 (int)(reply->body.size < 300 ? reply->body.size : 300), (const char *)reply->body.data);
    atomic_store(&frozen.broken, true);
}

static bool is_over(void)
{
    return atomic_load(&frozen.stopping) || atomic_load(&frozen.broken);
}

static void ask(struct client *client, const char *method, const char *target, const char *body,
                struct entry_reply *reply)
{
    caller_ask(&client->caller,
               &(struct entry_request){.method = method,
                                       .target = target,
                                       .body = body ? bytes_of(body) : bytes_of(""),
                                       .content_type = body ? "application/json" : NULL},
               reply);
}

// --- writing ----------------------------------------------------------------------------------------------

// All entries get the same number.
static void write_all(struct client *client)
{
    char body[ENTRIES * 100 + 40] = "{\"operations\":[";
    struct entry_reply reply;
    for (int i = 0; i < ENTRIES; i++) {
        size_t used = strlen(body);
        snprintf(body + used, sizeof body - used,
                 "%s{\"op\":\"put\",\"bucket\":\"" BUCKET "\",\"key\":\"%d\",\"value\":%zu}", i ? "," : "", i,
                 client->writes);
    }
    strcat(body, "]}");
    ask(client, "POST", "/v1/transactions", body, &reply);
    if (!entry_reply_is_fault(&reply) && reply.status != 200)
        complain(client, "a transaction", &reply);
    client->writes += reply.status == 200;
}

static void *run_writer(void *argument)
{
    struct client *client = argument;
    while (!is_over()) {
        write_all(client);
        clock_pause(WRITES_MS);
    }
    return NULL;
}

static void *run_lone_writer(void *argument)
{
    struct client *client = argument;
    while (!is_over()) {
        char value[40];
        struct entry_reply reply;
        snprintf(value, sizeof value, "%zu", client->writes);
        ask(client, "PUT", "/v1/buckets/" BUCKET "/entries/" LONE, value, &reply);
        if (!entry_reply_is_fault(&reply) && reply.status != 201 && reply.status != 204)
            complain(client, "a lone write", &reply);
        client->writes += reply.status / 100 == 2;
        clock_pause(WRITES_MS);
    }
    return NULL;
}

// --- forks ------------------------------------------------------------------------------------------------

// What the fork shows, as text without what differs between two replies; false when it was not told.
static bool look(struct client *client, const char *fork, char shown[600])
{
    char target[160];
    struct entry_reply reply;
    snprintf(target, sizeof target, "/v1/buckets/" BUCKET "/entries?fork=%s", fork);
    ask(client, "GET", target, NULL, &reply);
    if (entry_reply_is_fault(&reply))
        return false;
    json_t *document =
        reply.status == 200 ? json_loadb((const char *)reply.body.data, reply.body.size, 0, NULL) : NULL;
    json_t *entries = json_object_get(document, "entries");
    if (!entries)
        complain(client, "a scan through a fork", &reply);
    long long first = -1;
    size_t used = 0;
    shown[0] = '\0';
    for (size_t i = 0; i < json_array_size(entries); i++) {
        json_t *entry = json_array_get(entries, i);
        long long value = json_integer_value(json_object_get(entry, "value"));
        const char *key = json_string_value(json_object_get(entry, "key"));
        used += (size_t)snprintf(shown + used, 600 - used, "%s@%s=%lld ", key,
                                 json_string_value(json_object_get(entry, "version")), value);
        if (strcmp(key, LONE) == 0)
            continue;
        if (i && value != first)
            complain(client, "a fork shows half a transaction", &reply);
        first = value;
    }
    json_decref(document);
    return true;
}

static bool make_fork(struct client *client, const char *fork)
{
    char target[100];
    struct entry_reply reply;
    snprintf(target, sizeof target, "/v1/forks/%s", fork);
    ask(client, "PUT", target, "{\"kind\":\"severed\"}", &reply);
    if (!entry_reply_is_fault(&reply) && reply.status != 201)
        complain(client, "a fork", &reply);
    return reply.status == 201;
}

static void discard(struct client *client, const char *fork)
{
    char target[100];
    struct entry_reply reply;
    snprintf(target, sizeof target, "/v1/forks/%s", fork);
    do {
        ask(client, "DELETE", target, NULL, &reply);
        if (entry_reply_is_fault(&reply))
            clock_pause(PAUSE_MS);
    } while (entry_reply_is_fault(&reply) && !is_over());
    if (!entry_reply_is_fault(&reply) && reply.status != 200)
        complain(client, "discarding a fork", &reply);
}

static void watch(struct client *client, const char *fork)
{
    char first[600] = "", shown[600];
    for (int i = 0; i < LOOKS && !is_over(); i++) {
        if (look(client, fork, shown)) {
            client->looks++;
            if (first[0] && strcmp(first, shown) != 0 && !client->complaint[0]) {
                snprintf(client->complaint, sizeof client->complaint,
                         "a severed fork was %.200s and is %.200s", first, shown);
                atomic_store(&frozen.broken, true);
            }
            memcpy(first, shown, sizeof first);
        }
        clock_pause(BETWEEN_MS);
    }
}

static void *run_reader(void *argument)
{
    struct client *client = argument;
    for (size_t number = 0; !is_over(); number++) {
        char fork[60];
        snprintf(fork, sizeof fork, "chaos-%u-%zu", client->number, number);
        if (make_fork(client, fork)) {
            client->forks++;
            watch(client, fork);
            discard(client, fork);
            // Without a severed fork writes take a shorter way, which must be left in time for the next one.
            clock_pause((int)random_below(&client->caller.random, WITHOUT_MS));
        } else {
            clock_pause(PAUSE_MS);
        }
    }
    return NULL;
}

// --- all --------------------------------------------------------------------------------------------------

static void prepare(struct client *client, uint64_t seed, unsigned number, size_t replicas)
{
    client->number = number;
    caller_start(&client->caller, seed, 6000 + number, replicas);
}

static void start(struct client *client, void *(*run)(void *))
{
    ck_assert_int_eq(pthread_create(&client->thread, NULL, run, client), 0);
}

static void end(struct client *client)
{
    pthread_join(client->thread, NULL);
    caller_end(&client->caller);
}

void frozen_start(uint64_t seed, size_t replicas)
{
    prepare(&frozen.writer, seed, READERS, replicas);
    write_all(&frozen.writer); // forks of nothing show nothing
    ck_assert_uint_eq(frozen.writer.writes, 1);
    prepare(&frozen.lone_writer, seed, READERS + 1, replicas);
    start(&frozen.writer, run_writer);
    start(&frozen.lone_writer, run_lone_writer);
    for (unsigned i = 0; i < READERS; i++) {
        prepare(&frozen.readers[i], seed, i, replicas);
        start(&frozen.readers[i], run_reader);
    }
}

bool frozen_is_broken(void)
{
    return atomic_load(&frozen.broken);
}

void frozen_finish(void)
{
    size_t forks = 0, looks = 0;
    atomic_store(&frozen.stopping, true);
    end(&frozen.writer);
    end(&frozen.lone_writer);
    for (int i = 0; i < READERS; i++) {
        end(&frozen.readers[i]);
        forks += frozen.readers[i].forks;
        looks += frozen.readers[i].looks;
    }
    printf("severed forks: %zu, looked at %zu times, beside %zu transactions and %zu lone writes\n", forks,
           looks, frozen.writer.writes, frozen.lone_writer.writes);
    fflush(stdout);
    ck_assert_msg(!frozen.writer.complaint[0], "%s", frozen.writer.complaint);
    ck_assert_msg(!frozen.lone_writer.complaint[0], "%s", frozen.lone_writer.complaint);
    for (int i = 0; i < READERS; i++)
        ck_assert_msg(!frozen.readers[i].complaint[0], "%s", frozen.readers[i].complaint);
    totals_add(TOTAL_FORKS, forks);
    totals_add(TOTAL_FORK_LOOKS, looks);
    ck_assert_uint_gt(looks, 0);
}
