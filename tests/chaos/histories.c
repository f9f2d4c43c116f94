// Every so often all go on to other entries, so that no history becomes too long to be searched.
#include "chaos/histories.h"

#include "chaos/caller.h"
#include "chaos/totals.h"
#include "model/history.h"
#include "support/clock.h"

#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CLIENTS = 5,
    KEYS = 2, // at a time
    ROUND_MS = 1000,
    PAUSE_MS = 20,
    BETWEEN_MS = 8, // two calls of a client, at most
    VALUES_OF_A_CLIENT = 100 * 1000 * 1000,
};

struct recorded {
    size_t round;
    size_t key;
    struct entry_call call;
};

struct client {
    pthread_t thread;
    unsigned number;
    struct caller caller;
    uint64_t values;
    uint64_t seen[KEYS]; // versions that it heard of last
    struct recorded *calls;
    size_t count, room;
    char complaint[300]; // the first broken promise, empty while there is none
};

static struct {
    struct client clients[CLIENTS];
    int64_t began;
    atomic_bool stopping;
    atomic_bool broken;
} histories;

// False when no call of the kind may be answered so.
static bool read_answer(const struct entry_reply *reply, struct entry_call *call)
{
    if (!reply_is_doubtful(reply) && !entry_reply_is_fault(reply))
        return entry_answer_of(call->kind, reply->status, &call->answer);
    call->answer = reply_is_doubtful(reply) ? ANSWER_UNKNOWN : ANSWER_NOTHING;
    return true;
}

static void record(struct client *client, const struct recorded *recorded)
{
    if (client->count == client->room) {
        client->room = client->room ? client->room * 2 : 1024;
        client->calls = realloc(client->calls, client->room * sizeof *client->calls);
        ck_assert_ptr_nonnull(client->calls);
    }
    client->calls[client->count++] = *recorded;
}

static void complain(struct client *client, const struct entry_reply *reply)
{
    snprintf(client->complaint, sizeof client->complaint, "a call was answered %s",
             reply_in_short(reply, (char[REPLY_SHORT]){0}));
    atomic_store(&histories.broken, true);
}

// Draws what is asked, and on which condition.
static void draw(struct client *client, struct recorded *recorded)
{
    struct entry_call *call = &recorded->call;
    size_t drawn = random_below(&client->caller.random, 100);
    recorded->key = random_below(&client->caller.random, KEYS);
    call->client = client->number;
    call->kind = drawn < 50 ? ENTRY_PUT : drawn < 85 ? ENTRY_GET : ENTRY_DELETE;
    if (call->kind == ENTRY_PUT)
        call->value = client->number * (uint64_t)VALUES_OF_A_CLIENT + ++client->values;
    if (call->kind == ENTRY_GET)
        return;
    if (random_chance(&client->caller.random, 45) && client->seen[recorded->key]) {
        call->condition = CONDITION_IF_MATCH;
        call->expected = client->seen[recorded->key];
    } else if (call->kind == ENTRY_PUT && random_chance(&client->caller.random, 25)) {
        call->condition = CONDITION_IF_ABSENT;
    }
}

static void ask(struct client *client, struct recorded *recorded, struct entry_reply *reply)
{
    static const char *const methods[] = {
        [ENTRY_PUT] = "PUT", [ENTRY_GET] = "GET", [ENTRY_DELETE] = "DELETE"};
    struct entry_call *call = &recorded->call;
    char target[100], headers[100] = "", value[40] = "";
    snprintf(target, sizeof target, "/v1/buckets/chaos-histories/entries/%zu?under=%zu", recorded->key,
             recorded->round);
    if (call->condition == CONDITION_IF_MATCH)
        snprintf(headers, sizeof headers, "If-Match: \"%" PRIu64 "\"\r\n", call->expected);
    else if (call->condition == CONDITION_IF_ABSENT)
        snprintf(headers, sizeof headers, "If-None-Match: *\r\n");
    if (call->kind == ENTRY_PUT)
        snprintf(value, sizeof value, "%" PRIu64, call->value);
    call->invoked = clock_ns();
    caller_ask(
        &client->caller,
        &(struct entry_request){
            .method = methods[call->kind], .target = target, .body = bytes_of(value), .headers = headers},
        reply);
    call->returned = clock_ns();
}

static bool call_once(struct client *client, size_t round)
{
    struct recorded recorded = {.round = round};
    struct entry_reply reply;
    draw(client, &recorded);
    ask(client, &recorded, &reply);
    if (!read_answer(&reply, &recorded.call))
        complain(client, &reply);
    recorded.call.version = strtoull(reply.version, NULL, 10);
    recorded.call.position = reply.position;
    if (recorded.call.answer == ANSWER_VALUE)
        recorded.call.value = strtoull((const char *)reply.body.data, NULL, 10);
    if (recorded.call.version)
        client->seen[recorded.key] = recorded.call.version;
    record(client, &recorded);
    return !entry_reply_is_fault(&reply);
}

static void *run_client(void *argument)
{
    struct client *client = argument;
    size_t last = SIZE_MAX;
    while (!atomic_load(&histories.stopping) && !atomic_load(&histories.broken)) {
        size_t round = (size_t)((clock_ms() - histories.began) / ROUND_MS);
        if (round != last)
            memset(client->seen, 0, sizeof client->seen);
        last = round;
        bool answered = call_once(client, round);
        clock_pause(answered ? (int)random_below(&client->caller.random, BETWEEN_MS) : PAUSE_MS);
    }
    return NULL;
}

void histories_start(uint64_t seed, size_t replicas)
{
    histories.began = clock_ms();
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &histories.clients[i];
        client->number = i;
        caller_start(&client->caller, seed, 9700 + i, replicas);
        ck_assert_int_eq(pthread_create(&client->thread, NULL, run_client, client), 0);
    }
}

bool histories_are_broken(void)
{
    return atomic_load(&histories.broken);
}

// Adds what a client did in a round; gives the place of its first call of a later one.
static size_t add_calls(struct history *history, const struct client *client, size_t from, size_t round)
{
    for (; from < client->count && client->calls[from].round == round; from++)
        history_add(history, client->calls[from].key, &client->calls[from].call);
    return from;
}

static void check_round(size_t places[CLIENTS], size_t round)
{
    struct history history = {0};
    for (int i = 0; i < CLIENTS; i++)
        places[i] = add_calls(&history, &histories.clients[i], places[i], round);
    ck_assert_msg(history_is_linearizable(&history, stderr), "round %zu is not linearizable", round);
    ck_assert_msg(history_versions_are_unique(&history, stderr), "round %zu has a version twice", round);
    ck_assert_msg(history_positions_follow_time(&history, stderr), "round %zu has positions against time",
                  round);
    ck_assert_msg(history_visible_in_order(&history, stderr), "round %zu became visible out of order", round);
    history_free(&history);
}

void histories_finish(void)
{
    size_t calls = 0, unknown = 0, rounds = 0, places[CLIENTS] = {0};
    atomic_store(&histories.stopping, true);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &histories.clients[i];
        pthread_join(client->thread, NULL);
        caller_end(&client->caller);
        calls += client->count;
        for (size_t j = 0; j < client->count; j++)
            unknown += client->calls[j].call.answer == ANSWER_UNKNOWN;
        if (client->count && client->calls[client->count - 1].round >= rounds)
            rounds = client->calls[client->count - 1].round + 1;
    }
    printf("histories: %zu of %d entries, %zu calls, %zu of them with an unknown outcome\n", rounds, KEYS,
           calls, unknown);
    fflush(stdout);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_msg(!histories.clients[i].complaint[0], "%s", histories.clients[i].complaint);
    for (size_t round = 0; round < rounds; round++)
        check_round(places, round);
    totals_add(TOTAL_HISTORIES, rounds * KEYS);
    totals_add(TOTAL_CALLS, calls);
    ck_assert_uint_gt(calls, 0);
    for (int i = 0; i < CLIENTS; i++)
        free(histories.clients[i].calls);
}
