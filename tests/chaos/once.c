// All ask for the same key at the same time and go on to the next when they have its answer. A runner
// answers, gives up, dies, or comes late; whatever it does and whatever breaks, a key has one answer.
#include "chaos/once.h"

#include "chaos/caller.h"
#include "chaos/totals.h"
#include "support/clock.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    CALLERS = 8,
    MOST_KEYS = 100 * 1000,
    ANSWER_ROOM = 32,
    PAUSE_MS = 20,
    RUN_MS = 300, // how long a runner may be silent
};

#define NAME "/v1/once/chaos-once"

struct runner {
    pthread_t thread;
    unsigned number;
    unsigned runs;
    struct caller asks;
};

static struct {
    struct runner callers[CALLERS];
    size_t replicas;
    atomic_bool stopping;
    atomic_bool broken;
    atomic_int key; // that everybody wants now
    pthread_mutex_t lock;
    char answers[MOST_KEYS][ANSWER_ROOM]; // as first seen; under the lock, as what follows
    size_t granted, answered, failed, died, late, lost, kept;
    char complaint[400]; // the first broken promise, empty while there is none
} once = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void complain(int key, const char *what, const struct entry_reply *reply)
{
    pthread_mutex_lock(&once.lock);
    if (!once.complaint[0])
        snprintf(once.complaint, sizeof once.complaint, "key %d: %s: %s", key, what,
                 reply_in_short(reply, (char[REPLY_SHORT]){0}));
    pthread_mutex_unlock(&once.lock);
    atomic_store(&once.broken, true);
}

static void count(size_t *what)
{
    pthread_mutex_lock(&once.lock);
    ++*what;
    pthread_mutex_unlock(&once.lock);
}

// The key's answer was seen, or acknowledged; false when it is not the one that was seen before.
static bool note_answer(int key, struct bytes answer)
{
    pthread_mutex_lock(&once.lock);
    char *known = once.answers[key];
    if (!known[0])
        snprintf(known, ANSWER_ROOM, "%.*s", (int)answer.size, (const char *)answer.data);
    bool same = bytes_is(answer, known);
    pthread_mutex_unlock(&once.lock);
    return same;
}

static void ask(struct runner *caller, const struct entry_request *request, struct entry_reply *reply)
{
    caller_ask(&caller->asks, request, reply);
}

static void give_answer(struct runner *caller, int key, const char *token)
{
    char target[200], answer[ANSWER_ROOM];
    struct entry_reply reply;
    snprintf(target, sizeof target, NAME "/%d/answer?token=%s", key, token);
    snprintf(answer, sizeof answer, "%u of %u", ++caller->runs, caller->number);
    ask(caller, &(struct entry_request){.method = "PUT", .target = target, .body = bytes_of(answer)}, &reply);
    if (entry_reply_is_fault(&reply))
        return;
    if (reply.status == 409)
        count(&once.lost);
    else if (reply.status != 204 || !note_answer(key, bytes_of(answer)))
        complain(key, "an answer beside another was kept", &reply);
    else
        count(&once.answered);
}

static void give_up(struct runner *caller, int key, const char *token)
{
    char target[200];
    struct entry_reply reply;
    snprintf(target, sizeof target, NAME "/%d/run?token=%s", key, token);
    ask(caller, &(struct entry_request){.method = "DELETE", .target = target}, &reply);
    if (!entry_reply_is_fault(&reply) && reply.status != 204 && reply.status != 409)
        complain(key, "giving up", &reply);
    count(&once.failed);
}

static void run(struct runner *caller, int key, const char *token)
{
    size_t chance = random_below(&caller->asks.random, 10);
    count(&once.granted);
    if (chance == 0) {
        count(&once.died);
    } else if (chance == 1) {
        give_up(caller, key, token);
    } else {
        if (chance == 2) {
            clock_pause(RUN_MS - 20 + (int)random_below(&caller->asks.random, 40));
            count(&once.late);
        }
        give_answer(caller, key, token);
    }
}

// Whether the key has its answer.
static bool call(struct runner *caller, int key)
{
    char target[100], token[ENTRY_VERSION_ROOM];
    struct entry_reply reply;
    snprintf(target, sizeof target, NAME "/%d", key);
    ask(caller, &(struct entry_request){.method = "POST", .target = target, .headers = "Prefer: wait=2\r\n"},
        &reply);
    if (entry_reply_is_fault(&reply)) {
        clock_pause(PAUSE_MS);
    } else if (reply.status == 200) {
        if (!note_answer(key, reply.body))
            complain(key, "there are two answers", &reply);
        count(&once.kept);
        return true;
    } else if (reply.status == 201 && entry_reply_member(&reply, "token", token)) {
        run(caller, key, token);
    } else if (reply.status != 202) {
        complain(key, "asking", &reply);
    }
    return false;
}

static void *run_caller(void *argument)
{
    struct runner *caller = argument;
    while (!atomic_load(&once.stopping) && !atomic_load(&once.broken)) {
        int key = atomic_load(&once.key), next = key + 1;
        if (call(caller, key) && next < MOST_KEYS)
            atomic_compare_exchange_strong(&once.key, &key, next);
    }
    return NULL;
}

static void declare(void)
{
    struct entry_client client = entry_client_new(load_port(0));
    struct entry_reply reply;
    entry_client_ask(&client,
                     &(struct entry_request){.method = "PUT",
                                             .target = NAME,
                                             .body = bytes_of("{\"run_ttl\":\"300ms\"}"),
                                             .content_type = "application/json"},
                     &reply);
    ck_assert_int_eq(reply.status, 201);
    entry_client_close(&client);
}

void once_start(uint64_t seed, size_t replicas)
{
    once.replicas = replicas;
    declare();
    for (unsigned i = 0; i < CALLERS; i++) {
        struct runner *caller = &once.callers[i];
        caller->number = i;
        caller_start(&caller->asks, seed, 2000 + i, replicas);
        ck_assert_int_eq(pthread_create(&caller->thread, NULL, run_caller, caller), 0);
    }
}

bool once_is_broken(void)
{
    return atomic_load(&once.broken);
}

static void verify(size_t replica, int keys)
{
    struct entry_client client = entry_client_new(load_port(replica));
    for (int key = 0; key < keys; key++) {
        char target[100];
        struct entry_reply reply;
        snprintf(target, sizeof target, NAME "/%d", key);
        entry_client_ask(&client, &(struct entry_request){.method = "GET", .target = target}, &reply);
        ck_assert_msg(reply.status == 200 && note_answer(key, reply.body),
                      "key %d, answered '%s', is %d %.*s on replica %zu", key, once.answers[key],
                      reply.status, (int)reply.body.size, (const char *)reply.body.data, replica);
    }
    entry_client_close(&client);
}

void once_finish(void)
{
    atomic_store(&once.stopping, true);
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(once.callers[i].thread, NULL);
        caller_end(&once.callers[i].asks);
    }
    int keys = atomic_load(&once.key);
    printf("once: %d keys; %zu runs, of which %zu were answered, %zu given up, %zu died, %zu came late, %zu "
           "lost; "
           "%zu callers got an answer\n",
           keys, once.granted, once.answered, once.failed, once.died, once.late, once.lost, once.kept);
    fflush(stdout);
    ck_assert_msg(once.complaint[0] == '\0', "%s", once.complaint);
    totals_add(TOTAL_ONCE, once.kept);
    ck_assert_int_gt(keys, 0);
    for (size_t i = 0; i < once.replicas; i++)
        verify(i, keys);
}
