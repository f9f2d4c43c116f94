// All use the same keys: what they were told for certain, and what they were not, bounds what must be there.
#include "chaos/limits.h"

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
    QUOTAS = 40, // keys, used one after the other
    LIMIT = 100, // of each
    PAUSE_MS = 20,
    RATE = 5, // a second; few enough that a slow machine asks for more
    BURST = 5,
    RATE_KEY_MS = 1500, // how long one is used, so that there are many bursts
    RATE_KEYS = 4096,
};

// What happened to one key.
struct tally {
    atomic_llong granted; // for certain
    atomic_llong doubtful;
};

struct client {
    pthread_t thread;
    struct caller caller;
    char complaint[400];
};

static struct {
    struct client clients[CLIENTS];
    atomic_bool stopping;
    atomic_bool broken;
    atomic_int quota; // in use now
    struct tally quotas[QUOTAS];
    struct tally counter;
    int64_t began;
    atomic_llong rate_granted[RATE_KEYS];
    atomic_llong rate_uses;
    atomic_llong refused;
} limits;

static void complain(struct client *client, const char *target, const struct entry_reply *reply)
{
    snprintf(client->complaint, sizeof client->complaint, "%s was answered %s", target,
             reply_in_short(reply, (char[REPLY_SHORT]){0}));
    atomic_store(&limits.broken, true);
}

static void ask(struct client *client, const char *method, const char *target, const char *body,
                struct entry_reply *reply)
{
    struct entry_request request = {
        .method = method, .target = target, .body = bytes_of(body), .content_type = "application/json"};
    caller_ask(&client->caller, &request, reply);
}

static bool body_begins(const struct entry_reply *reply, const char *text)
{
    return reply->body.size >= strlen(text) && memcmp(reply->body.data, text, strlen(text)) == 0;
}

static void use_quota(struct client *client)
{
    struct entry_reply reply;
    char target[80];
    int quota = atomic_load(&limits.quota);
    snprintf(target, sizeof target, "/v1/quotas/chaos-quota/%d/allow", quota);
    ask(client, "POST", target, "{}", &reply);
    if (reply_is_doubtful(&reply)) {
        atomic_fetch_add(&limits.quotas[quota].doubtful, 1);
    } else if (reply.outcome == ENTRY_ANSWERED && reply.status == 200) {
        if (body_begins(&reply, "{\"ok\":true")) {
            atomic_fetch_add(&limits.quotas[quota].granted, 1);
            return;
        }
        atomic_fetch_add(&limits.refused, 1);
        if (quota + 1 < QUOTAS)
            atomic_compare_exchange_strong(&limits.quota, &quota, quota + 1);
        return;
    } else if (reply.outcome == ENTRY_ANSWERED && reply.status != 503) {
        complain(client, target, &reply);
    }
    clock_pause(PAUSE_MS);
}

// A key's first use is not before its time has come, and each grant was given before its answer is here.
static void use_rate(struct client *client)
{
    struct entry_reply reply;
    char target[80];
    int64_t since = clock_ms() - limits.began, key = since / RATE_KEY_MS;
    if (key >= RATE_KEYS)
        return;
    snprintf(target, sizeof target, "/v1/rate-limits/chaos-rate/%lld/allow", (long long)key);
    ask(client, "POST", target, "{}", &reply);
    if (entry_reply_is_fault(&reply))
        return;
    atomic_fetch_add(&limits.rate_uses, 1);
    if (reply.status != 200)
        complain(client, target, &reply);
    if (!body_begins(&reply, "{\"ok\":true"))
        return;
    long long granted = atomic_fetch_add(&limits.rate_granted[key], 1) + 1;
    long long ms = clock_ms() - limits.began - key * RATE_KEY_MS + 1; // after those that were counted
    if (granted > BURST + RATE * ms / 1000 + 1)
        complain(client, "a rate limit that let more through than it may", &reply);
}

static void count(struct client *client)
{
    struct entry_reply reply;
    ask(client, "POST", "/v1/counters/chaos-counter/k/add", "{\"by\":1}", &reply);
    if (reply_is_doubtful(&reply))
        atomic_fetch_add(&limits.counter.doubtful, 1);
    else if (reply.outcome == ENTRY_ANSWERED && reply.status == 200)
        atomic_fetch_add(&limits.counter.granted, 1);
    else if (reply.outcome == ENTRY_ANSWERED && reply.status != 503)
        complain(client, "add", &reply);
}

static void *run_client(void *argument)
{
    struct client *client = argument;
    while (!atomic_load(&limits.stopping) && !client->complaint[0]) {
        use_quota(client);
        count(client);
        use_rate(client);
    }
    return NULL;
}

static void declare(struct client *client, const char *target, const char *body)
{
    struct entry_reply reply;
    ask(client, "PUT", target, body, &reply);
    ck_assert_msg(reply.outcome == ENTRY_ANSWERED && reply.status == 201, "%s: %d %.*s", target, reply.status,
                  (int)reply.body.size, (const char *)reply.body.data);
}

void limits_start(uint64_t seed, size_t replicas)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &limits.clients[i];
        caller_start(&client->caller, seed, 3000 + i, replicas);
    }
    declare(&limits.clients[0], "/v1/quotas/chaos-quota",
            "{\"windows\":{\"a\":\"100/30d\",\"b\":\"150/300d\"}}");
    declare(&limits.clients[0], "/v1/counters/chaos-counter", "{}");
    declare(&limits.clients[0], "/v1/rate-limits/chaos-rate", "{\"rate\":\"5/s\",\"burst\":5}");
    limits.began = clock_ms();
    for (unsigned i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(pthread_create(&limits.clients[i].thread, NULL, run_client, &limits.clients[i]), 0);
}

bool limits_are_broken(void)
{
    return atomic_load(&limits.broken);
}

// The number behind `member` in the reply to a GET.
static long long number_at(const char *target, const char *member)
{
    struct entry_reply reply;
    ask(&limits.clients[0], "GET", target, "", &reply);
    ck_assert_msg(reply.outcome == ENTRY_ANSWERED && reply.status == 200, "%s: %d", target, reply.status);
    const char *found = strstr((const char *)reply.body.data, member);
    ck_assert_msg(found != NULL, "%s: %.*s", target, (int)reply.body.size, (const char *)reply.body.data);
    return strtoll(found + strlen(member), NULL, 10);
}

static void check_tally(const char *name, struct tally *tally, long long there)
{
    long long granted = atomic_load(&tally->granted), doubtful = atomic_load(&tally->doubtful);
    ck_assert_msg(there >= granted, "%s: %lld were granted and %lld are there", name, granted, there);
    ck_assert_msg(there <= granted + doubtful, "%s: %lld were granted, %lld doubtful, and %lld are there",
                  name, granted, doubtful, there);
}

void limits_finish(void)
{
    atomic_store(&limits.stopping, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(limits.clients[i].thread, NULL);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_msg(limits.clients[i].complaint[0] == '\0', "%s", limits.clients[i].complaint);
    int used = atomic_load(&limits.quota);
    for (int i = 0; i <= used; i++) {
        char target[80];
        snprintf(target, sizeof target, "/v1/quotas/chaos-quota/%d", i);
        long long there = number_at(target, "\"used\":");
        ck_assert_msg(there <= LIMIT && atomic_load(&limits.quotas[i].granted) <= LIMIT,
                      "%s is over its limit: %lld, %lld granted", target, there,
                      (long long)atomic_load(&limits.quotas[i].granted));
        check_tally(target, &limits.quotas[i], there);
        totals_add(TOTAL_QUOTA_USES, (size_t)there);
    }
    check_tally("the counter", &limits.counter, number_at("/v1/counters/chaos-counter/k", "\"value\":"));
    printf(
        "limits: %d quotas used up, %lld uses refused; counted %lld times, %lld doubtful; a rate limit used "
        "%lld times\n",
        used, (long long)atomic_load(&limits.refused), (long long)atomic_load(&limits.counter.granted),
        (long long)atomic_load(&limits.counter.doubtful), (long long)atomic_load(&limits.rate_uses));
    fflush(stdout);
    totals_add(TOTAL_RATE_USES, (size_t)atomic_load(&limits.rate_uses));
    totals_add(TOTAL_COUNTED, (size_t)atomic_load(&limits.counter.granted));
    ck_assert_int_gt(atomic_load(&limits.counter.granted), 0);
    for (int i = 0; i < CLIENTS; i++)
        caller_end(&limits.clients[i].caller);
}
