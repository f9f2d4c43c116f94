// Threads that keep asking whichever replica chance gives them, and remember what they were told.
#include "chaos/load.h"

#include "chaos/caller.h"
#include "chaos/ledger.h"
#include "chaos/totals.h"
#include "support/clock.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

// A client that was turned away waits this long, as any sane client does.
enum { PAUSE_MS = 20 };

struct client {
    pthread_t thread;
    struct random random;
    struct ledger ledger;
    struct entry_client connections[LOAD_REPLICAS];
};

static struct {
    struct client clients[LOAD_CLIENTS];
    size_t replicas;
    atomic_bool stopping;
    atomic_bool broken;
    atomic_size_t acknowledged[LOAD_REPLICAS];
} load;

// In memory that clients with a process of their own share.
static _Atomic uint16_t *ports;

static void *run_client(void *argument)
{
    struct client *client = argument;
    while (!atomic_load(&load.stopping)) {
        size_t replica = random_below(&client->random, load.replicas);
        size_t before = client->ledger.acknowledged;
        struct entry_client *connection = &client->connections[replica];
        connection->port = load_port(replica);
        bool done = connection->port != 0 && ledger_step(&client->ledger, connection, &client->random);
        atomic_fetch_add(&load.acknowledged[replica], client->ledger.acknowledged - before);
        if (client->ledger.complaint[0] != '\0') {
            atomic_store(&load.broken, true);
            break;
        }
        if (!done) {
            clock_pause(PAUSE_MS);
        }
    }
    return NULL;
}

void load_start(uint64_t seed, size_t replicas)
{
    load.replicas = replicas;
    for (unsigned i = 0; i < LOAD_CLIENTS; i++) {
        struct client *client = &load.clients[i];
        client->random = random_seeded(seed, i + 1);
        ledger_start(&client->ledger, i);
        for (size_t j = 0; j < replicas; j++) {
            client->connections[j] = entry_client_new(0);
        }
        ck_assert_int_eq(pthread_create(&client->thread, NULL, run_client, client), 0);
    }
}

void load_set_port(size_t replica, uint16_t port)
{
    if (ports == NULL) {
        ports = mmap(NULL, LOAD_REPLICAS * sizeof *ports, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0);
        ck_assert(ports != MAP_FAILED);
    }
    atomic_store(&ports[replica], port);
}

uint16_t load_port(size_t replica)
{
    return ports != NULL ? atomic_load(&ports[replica]) : 0;
}

size_t load_acknowledged(size_t replica)
{
    return atomic_load(&load.acknowledged[replica]);
}

struct awaited {
    size_t replica;
    size_t acknowledged;
};

static bool has_acknowledged_more(void *user)
{
    const struct awaited *awaited = user;
    return load_is_broken() || load_acknowledged(awaited->replica) > awaited->acknowledged;
}

bool load_await_writes(size_t replica, int limit_ms)
{
    struct awaited awaited = {replica, load_acknowledged(replica)};
    return clock_wait(has_acknowledged_more, &awaited, limit_ms);
}

bool load_is_broken(void)
{
    return atomic_load(&load.broken) || callers_complaint()[0] != '\0';
}

static int compare_versions(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void check_versions(void)
{
    size_t count = 0;
    for (size_t i = 0; i < LOAD_CLIENTS; i++) {
        count += load.clients[i].ledger.version_count;
    }
    char(*all)[ENTRY_VERSION_ROOM] = calloc(count > 0 ? count : 1, sizeof *all);
    ck_assert_ptr_nonnull(all);
    size_t used = 0;
    for (size_t i = 0; i < LOAD_CLIENTS; i++) {
        const struct ledger *ledger = &load.clients[i].ledger;
        for (size_t j = 0; j < ledger->version_count; j++) {
            memcpy(all[used++], ledger->versions[j], sizeof *all);
        }
    }
    qsort(all, count, sizeof *all, compare_versions);
    for (size_t i = 1; i < count; i++) {
        ck_assert_msg(strcmp(all[i - 1], all[i]) != 0, "version %s was given twice", all[i]);
    }
    totals_add(TOTAL_VERSIONS, count);
    free(all);
}

// Every key through every replica; gives how many doubtful writes happened.
static size_t verify(struct client *client)
{
    size_t happened = 0;
    for (size_t i = 0; i < load.replicas; i++) {
        client->connections[i].port = load_port(i);
        happened = ledger_verify(&client->ledger, &client->connections[i]);
        entry_client_close(&client->connections[i]);
    }
    return happened;
}

static void print_counts(const char *title, size_t happened)
{
    struct ledger sum = {0};
    for (size_t i = 0; i < LOAD_CLIENTS; i++) {
        const struct ledger *ledger = &load.clients[i].ledger;
        sum.acknowledged += ledger->acknowledged;
        sum.reads += ledger->reads;
        sum.unavailable += ledger->unavailable;
        sum.unknown += ledger->unknown;
        sum.refused_connections += ledger->refused_connections;
        sum.broken_connections += ledger->broken_connections;
        sum.retired_count += ledger->retired_count;
    }
    printf("%s: %zu writes acknowledged, %zu reads; 503 unavailable %zu, outcome_unknown %zu; connections "
           "refused %zu, "
           "broken %zu; of %zu doubtful writes %zu had happened\n",
           title, sum.acknowledged, sum.reads, sum.unavailable, sum.unknown, sum.refused_connections,
           sum.broken_connections, sum.retired_count, happened);
    fflush(stdout);
    totals_add(TOTAL_WRITES, sum.acknowledged);
    totals_add(TOTAL_READS, sum.reads + (size_t)load.replicas * LOAD_CLIENTS * LEDGER_KEYS);
    totals_add(TOTAL_DOUBTS, sum.retired_count);
    ck_assert_uint_gt(sum.acknowledged, 0);
    ck_assert_uint_gt(sum.reads, 0);
}

void load_finish(const char *title)
{
    size_t happened = 0;
    atomic_store(&load.stopping, true);
    for (size_t i = 0; i < LOAD_CLIENTS; i++) {
        pthread_join(load.clients[i].thread, NULL);
    }
    for (size_t i = 0; i < LOAD_CLIENTS; i++) {
        happened += verify(&load.clients[i]);
    }
    print_counts(title, happened);
    for (size_t i = 0; i < LOAD_CLIENTS; i++) {
        ck_assert_msg(load.clients[i].ledger.complaint[0] == '\0', "%s", load.clients[i].ledger.complaint);
    }
    ck_assert_msg(callers_complaint()[0] == '\0', "%s", callers_complaint());
    check_versions();
    for (size_t i = 0; i < LOAD_CLIENTS; i++) {
        ledger_free(&load.clients[i].ledger);
    }
}
