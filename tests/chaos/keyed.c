// All add 1 to the same entry: the sums they are answered must be 1, 2, 3 … without a gap, each of them once.
#include "chaos/keyed.h"

#include "chaos/caller.h"
#include "chaos/totals.h"
#include "support/clock.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENTS = 6,
    MOST_KEYS = 200 * 1000, // of one client
    PAUSE_MS = 20,
    AGAIN_PERCENT = 20, // of the answered requests, sent once more
    LAST_MS = 30 * 1000,
};

#define SUM "/v1/buckets/keyed/entries/sum"

struct client {
    pthread_t thread;
    unsigned number;
    struct caller caller;
    int64_t *sums;
    int64_t count;
    int64_t repeated; // requests that were sent again after no answer, or none that tells
    char complaint[400];
};

static struct {
    struct client clients[CLIENTS];
    atomic_bool stopping;
    atomic_bool broken;
} keyed;

static void complain(struct client *client, const struct entry_reply *reply)
{
    snprintf(client->complaint, sizeof client->complaint, "key %u-%lld was answered %s", client->number,
             (long long)client->count, reply_in_short(reply, (char[REPLY_SHORT]){0}));
    atomic_store(&keyed.broken, true);
}

static void ask_once(struct client *client, struct entry_reply *reply)
{
    char headers[80];
    snprintf(headers, sizeof headers, "Idempotency-Key: %u-%lld\r\n", client->number,
             (long long)client->count);
    struct entry_request request = {.method = "POST",
                                    .target = SUM "/add",
                                    .body = bytes_of("{\"by\":1}"),
                                    .content_type = "application/json",
                                    .headers = headers};
    caller_ask(&client->caller, &request, reply);
}

// Asks until there is an answer. The sum in it; -1 when it is none that may come, or none came in time.
static int64_t ask(struct client *client)
{
    long long sum;
    int64_t until = 0;
    for (;;) {
        struct entry_reply reply;
        ask_once(client, &reply);
        if (reply.outcome == ENTRY_ANSWERED && reply.status == 200 &&
            sscanf((const char *)reply.body.data, "{\"value\":%lld,", &sum) == 1)
            return sum;
        bool late = until && clock_ms() > until;
        if (late || (reply.outcome == ENTRY_ANSWERED && reply.status != 503)) {
            complain(client, &reply);
            return -1;
        }
        if (!until && atomic_load(&keyed.stopping))
            until = clock_ms() + LAST_MS;
        client->repeated++;
        clock_pause(PAUSE_MS);
    }
}

static void *run_client(void *argument)
{
    struct client *client = argument;
    while (!atomic_load(&keyed.stopping) && client->count < MOST_KEYS) {
        int64_t sum = ask(client);
        bool again = random_chance(&client->caller.random, AGAIN_PERCENT);
        if (sum < 0 || (again && ask(client) != sum)) {
            if (sum >= 0 && !client->complaint[0])
                snprintf(client->complaint, sizeof client->complaint, "key %u-%lld was answered two sums",
                         client->number, (long long)client->count);
            atomic_store(&keyed.broken, true);
            break;
        }
        client->sums[client->count++] = sum;
    }
    return NULL;
}

void keyed_start(uint64_t seed, size_t replicas)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &keyed.clients[i];
        client->number = i;
        caller_start(&client->caller, seed, 1000 + i, replicas);
        client->sums = calloc(MOST_KEYS, sizeof *client->sums);
        ck_assert_ptr_nonnull(client->sums);
        ck_assert_int_eq(pthread_create(&client->thread, NULL, run_client, client), 0);
    }
}

bool keyed_is_broken(void)
{
    return atomic_load(&keyed.broken);
}

static int compare_sums(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void check_sums(int64_t count)
{
    int64_t *all = calloc((size_t)count, sizeof *all);
    ck_assert_ptr_nonnull(all);
    size_t used = 0;
    for (int i = 0; i < CLIENTS; i++) {
        memcpy(all + used, keyed.clients[i].sums, (size_t)keyed.clients[i].count * sizeof *all);
        used += (size_t)keyed.clients[i].count;
    }
    qsort(all, used, sizeof *all, compare_sums);
    for (int64_t i = 0; i < count; i++)
        ck_assert_msg(all[i] == i + 1,
                      "of %lld keys, the sum in place %lld is %lld: one was counted twice or not",
                      (long long)count, (long long)i + 1, (long long)all[i]);
    free(all);
}

void keyed_finish(void)
{
    int64_t count = 0, repeated = 0;
    atomic_store(&keyed.stopping, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(keyed.clients[i].thread, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &keyed.clients[i];
        ck_assert_msg(client->complaint[0] == '\0', "%s", client->complaint);
        count += client->count;
        repeated += client->repeated;
        caller_end(&client->caller);
    }
    printf("keyed: %lld keys, %lld requests had to be repeated\n", (long long)count, (long long)repeated);
    fflush(stdout);
    ck_assert_int_gt(count, 0);
    check_sums(count);
    totals_add(TOTAL_SUMS, (size_t)count);
    for (int i = 0; i < CLIENTS; i++)
        free(keyed.clients[i].sums);
}
