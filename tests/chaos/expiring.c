// A write and each read lie between the times at which they were sent and answered, by the clock of the
// machine that the database shares: most reads were certainly before the end, or certainly after it.
#include "chaos/expiring.h"

#include "chaos/caller.h"
#include "chaos/totals.h"
#include "support/clock.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    CLIENTS = 3,
    PAUSE_MS = 20,
    SHORTEST_MS = 200,
    MORE_MS = 600,
    BETWEEN_MS = 25, // two reads
    ROUNDING_MS = 5,
};

struct client {
    pthread_t thread;
    unsigned number;
    unsigned key; // another one after a write whose outcome is not known
    struct caller caller;
    size_t early, late;
    char complaint[300]; // the first broken promise, empty while there is none
};

static struct {
    struct client clients[CLIENTS];
    atomic_bool stopping;
    atomic_bool broken;
} expiring;

static bool is_over(void)
{
    return atomic_load(&expiring.stopping) || atomic_load(&expiring.broken);
}

static void complain(struct client *client, const char *what, int64_t ms, const struct entry_reply *reply)
{
    snprintf(client->complaint, sizeof client->complaint, "%s by %lld ms: key %u of %u, %d", what,
             (long long)ms, client->key, client->number, reply->status);
    atomic_store(&expiring.broken, true);
}

static void ask(struct client *client, const char *method, const char *query, struct entry_reply *reply)
{
    char target[100];
    bool writes = strcmp(method, "PUT") == 0;
    snprintf(target, sizeof target, "/v1/buckets/chaos-expiring/entries/%u-%u%s", client->number, client->key,
             query);
    caller_ask(&client->caller,
               &(struct entry_request){
                   .method = method, .target = target, .body = bytes_of(writes ? "a value" : "")},
               reply);
}

// The entry ends between these.
struct end {
    int64_t from;
    int64_t to;
};

// Writes the entry, which is absent; false when it cannot be told when it ends.
static bool begin(struct client *client, struct end *end)
{
    char query[40];
    struct entry_reply reply;
    int ttl = SHORTEST_MS + (int)random_below(&client->caller.random, MORE_MS);
    snprintf(query, sizeof query, "?ttl=%dms", ttl);
    end->from = clock_ms() + ttl - ROUNDING_MS;
    ask(client, "PUT", query, &reply);
    end->to = clock_ms() + ttl + ROUNDING_MS;
    if (reply_is_doubtful(&reply))
        client->key++;
    if (entry_reply_is_fault(&reply))
        return false;
    if (reply.status != 201)
        complain(client, "an expired entry was there for a write", 0, &reply);
    return true;
}

// True when it is certainly gone.
static bool look(struct client *client, const struct end *end)
{
    struct entry_reply reply;
    int64_t sent = clock_ms();
    ask(client, "GET", "", &reply);
    int64_t answered = clock_ms();
    if (entry_reply_is_fault(&reply))
        return false;
    if (answered < end->from) {
        client->early++;
        if (reply.status != 200)
            complain(client, "gone too early", end->from - answered, &reply);
    }
    if (sent > end->to) {
        client->late++;
        if (reply.status != 404)
            complain(client, "there too long", sent - end->to, &reply);
    }
    return sent > end->to;
}

static void *run_client(void *argument)
{
    struct client *client = argument;
    while (!is_over()) {
        struct end end;
        if (!begin(client, &end)) {
            clock_pause(PAUSE_MS);
            continue;
        }
        while (!is_over() && !look(client, &end))
            clock_pause(BETWEEN_MS);
    }
    return NULL;
}

void expiring_start(uint64_t seed, size_t replicas)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &expiring.clients[i];
        client->number = i;
        caller_start(&client->caller, seed, 9500 + i, replicas);
        ck_assert_int_eq(pthread_create(&client->thread, NULL, run_client, client), 0);
    }
}

bool expiring_is_broken(void)
{
    return atomic_load(&expiring.broken);
}

void expiring_finish(void)
{
    size_t early = 0, late = 0;
    atomic_store(&expiring.stopping, true);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &expiring.clients[i];
        pthread_join(client->thread, NULL);
        caller_end(&client->caller);
        early += client->early;
        late += client->late;
    }
    printf("expiry: %zu reads before the end, %zu after it\n", early, late);
    fflush(stdout);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_msg(!expiring.clients[i].complaint[0], "%s", expiring.clients[i].complaint);
    totals_add(TOTAL_EXPIRIES, early + late);
    ck_assert_uint_gt(early, 0);
    ck_assert_uint_gt(late, 0);
}
