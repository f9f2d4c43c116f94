// Each reads a number under the lease and writes the next one with its fence: were a late one let through, or
// two at a time, one of their writes would be lost. What they held, in the database's time, is compared
// afterwards.
#include "chaos/holders.h"

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
    LEASES = 3,
    HOLDERS = LEASES * 3,
    TTL_MS = 400,
    TTL_US = TTL_MS * 1000,
    ROUNDING_US = 2000,
    PAUSE_MS = 20,
    WORK_MS = 20,
    LATE_PERCENT = 5,
    RENEW_PERCENT = 30,
    MOST_GRANTS = 200 * 1000,
};

#define LEASE  "/v1/buckets/chaos-locks/leases/%u"
#define NUMBER "/v1/buckets/chaos-fenced/entries/%u"

// In the database's time, which is this machine's.
struct grant {
    unsigned lease;
    int64_t token;
    int64_t from;
    int64_t until; // it was certainly live so long
};

struct holder {
    pthread_t thread;
    unsigned number;
    unsigned lease;
    struct caller caller;
    size_t written, doubtful, late, renewed;
    char complaint[400]; // the first broken promise, empty while there is none
};

static struct {
    struct holder holders[HOLDERS];
    struct caller caller; // of the test
    atomic_bool stopping;
    atomic_bool broken;
    atomic_size_t count;
    struct grant *grants;
} all;

static void complain(struct holder *holder, const char *what, const struct entry_reply *reply)
{
    if (!holder->complaint[0])
        snprintf(holder->complaint, sizeof holder->complaint, "%s: %d %.*s", what, reply->status,
                 (int)(reply->body.size < 300 ? reply->body.size : 300), (const char *)reply->body.data);
    atomic_store(&all.broken, true);
}

static bool is_kind(const struct entry_reply *reply, const char *kind)
{
    char found[ENTRY_VERSION_ROOM];
    return entry_reply_member(reply, "kind", found) && strcmp(found, kind) == 0;
}

static int64_t expiry_of(const struct entry_reply *reply)
{
    char text[ENTRY_VERSION_ROOM];
    return entry_reply_member(reply, "expires_at", text) ? clock_parse_us(text) : 0;
}

// Refused as if the lease were over: false, after a complaint, when it certainly was not.
static bool is_over(struct holder *holder, const struct grant *grant, const char *what,
                    const struct entry_reply *reply)
{
    if (clock_real_us() < grant->until - ROUNDING_US)
        complain(holder, what, reply);
    return clock_real_us() >= grant->until - ROUNDING_US;
}

// --- the lease --------------------------------------------------------------------------------------------

static struct grant *acquire(struct holder *holder, char token[ENTRY_VERSION_ROOM])
{
    char body[80], target[80];
    struct entry_reply reply;
    snprintf(target, sizeof target, LEASE, holder->lease);
    snprintf(body, sizeof body, "{\"holder\":\"%u\",\"ttl\":\"%dms\"}", holder->number, TTL_MS);
    caller_ask(&holder->caller,
               &(struct entry_request){.method = "POST",
                                       .target = target,
                                       .body = bytes_of(body),
                                       .content_type = "application/json",
                                       .headers = "Prefer: wait=2\r\n"},
               &reply);
    if (entry_reply_is_fault(&reply) || (reply.status == 409 && is_kind(&reply, "lease_held")))
        return NULL;
    int64_t until = expiry_of(&reply);
    if (reply.status != 201 || !entry_reply_member(&reply, "token", token) || !until) {
        complain(holder, "a lease was asked for", &reply);
        return NULL;
    }
    size_t place = atomic_fetch_add(&all.count, 1);
    ck_assert_uint_lt(place, MOST_GRANTS);
    all.grants[place] = (struct grant){
        .lease = holder->lease, .token = strtoll(token, NULL, 10), .from = until - TTL_US, .until = until};
    return &all.grants[place];
}

static void renew(struct holder *holder, struct grant *grant, const char *token)
{
    char body[160], target[80];
    struct entry_reply reply;
    snprintf(target, sizeof target, LEASE, holder->lease);
    snprintf(body, sizeof body, "{\"holder\":\"%u\",\"token\":\"%s\",\"ttl\":\"%dms\"}", holder->number,
             token, TTL_MS);
    caller_ask(
        &holder->caller,
        &(struct entry_request){
            .method = "PUT", .target = target, .body = bytes_of(body), .content_type = "application/json"},
        &reply);
    if (entry_reply_is_fault(&reply))
        return;
    if (reply.status == 200 && expiry_of(&reply)) {
        grant->until = expiry_of(&reply) > grant->until ? expiry_of(&reply) : grant->until;
        holder->renewed++;
    } else if (reply.status == 409 && is_kind(&reply, "lease_lost")) {
        is_over(holder, grant, "a live lease was not renewed", &reply);
    } else {
        complain(holder, "a lease was to be renewed", &reply);
    }
}

static void release(struct holder *holder, struct grant *grant, const char *token)
{
    char target[160];
    struct entry_reply reply;
    snprintf(target, sizeof target, LEASE "?holder=%u&token=%s", holder->lease, holder->number, token);
    int64_t now = clock_real_us();
    if (now < grant->until)
        grant->until = now;
    caller_ask(&holder->caller, &(struct entry_request){.method = "DELETE", .target = target}, &reply);
    if (!entry_reply_is_fault(&reply) && reply.status != 200)
        complain(holder, "a lease was released", &reply);
}

// --- the number -------------------------------------------------------------------------------------------

// -1 when it could not be read.
static long long read_number(struct caller *caller, unsigned lease)
{
    char target[80];
    struct entry_reply reply;
    snprintf(target, sizeof target, NUMBER, lease);
    caller_ask(caller, &(struct entry_request){.method = "GET", .target = target}, &reply);
    if (entry_reply_is_fault(&reply) || reply.status != 200)
        return -1;
    char text[40];
    snprintf(text, sizeof text, "%.*s", (int)reply.body.size, (const char *)reply.body.data);
    return strtoll(text, NULL, 10);
}

static void write_number(struct holder *holder, const struct grant *grant, const char *token,
                         long long number)
{
    char body[40], target[200];
    struct entry_reply reply;
    snprintf(body, sizeof body, "%lld", number);
    snprintf(target, sizeof target, NUMBER "?fence_bucket=chaos-locks&fence_key=%u&fence_token=%s",
             holder->lease, holder->lease, token);
    // The precondition always holds: only the fence keeps a late writer out.
    caller_ask(&holder->caller,
               &(struct entry_request){
                   .method = "PUT", .target = target, .body = bytes_of(body), .headers = "If-Match: *\r\n"},
               &reply);
    if (reply_is_doubtful(&reply))
        holder->doubtful++;
    else if (entry_reply_is_fault(&reply))
        return;
    else if (reply.status == 204)
        holder->written++;
    else if (reply.status == 409 && is_kind(&reply, "lease_lost"))
        holder->late += is_over(holder, grant, "a live lease's fence refused a write", &reply);
    else
        complain(holder, "a write with a fence", &reply);
}

static void hold(struct holder *holder, struct grant *grant, const char *token)
{
    struct random *random = &holder->caller.random;
    long long number = read_number(&holder->caller, holder->lease);
    if (random_chance(random, RENEW_PERCENT))
        renew(holder, grant, token);
    bool late = random_chance(random, LATE_PERCENT);
    clock_pause((late ? TTL_MS : 0) + 1 + (int)random_below(random, WORK_MS));
    if (number >= 0)
        write_number(holder, grant, token, number + 1);
    release(holder, grant, token);
}

static void *run_holder(void *argument)
{
    struct holder *holder = argument;
    while (!atomic_load(&all.stopping) && !atomic_load(&all.broken)) {
        char token[ENTRY_VERSION_ROOM];
        struct grant *grant = acquire(holder, token);
        if (grant)
            hold(holder, grant, token);
        else
            clock_pause(PAUSE_MS);
    }
    return NULL;
}

// --- all --------------------------------------------------------------------------------------------------

static void begin_numbers(void)
{
    for (unsigned i = 0; i < LEASES; i++) {
        char target[80];
        struct entry_reply reply;
        snprintf(target, sizeof target, NUMBER, i);
        caller_ask(&all.caller,
                   &(struct entry_request){.method = "PUT", .target = target, .body = bytes_of("0")}, &reply);
        ck_assert_int_eq(reply.status, 201);
    }
}

void holders_start(uint64_t seed, size_t replicas)
{
    all.grants = calloc(MOST_GRANTS, sizeof *all.grants);
    ck_assert_ptr_nonnull(all.grants);
    caller_start(&all.caller, seed, 8100, replicas);
    begin_numbers();
    for (unsigned i = 0; i < HOLDERS; i++) {
        struct holder *holder = &all.holders[i];
        holder->number = i;
        holder->lease = i % LEASES;
        caller_start(&holder->caller, seed, 8000 + i, replicas);
        ck_assert_int_eq(pthread_create(&holder->thread, NULL, run_holder, holder), 0);
    }
}

bool holders_are_broken(void)
{
    return atomic_load(&all.broken);
}

static int by_token(const void *a, const void *b)
{
    const struct grant *left = a, *right = b;
    if (left->lease != right->lease)
        return left->lease < right->lease ? -1 : 1;
    return (left->token > right->token) - (left->token < right->token);
}

static void compare_grants(size_t count)
{
    qsort(all.grants, count, sizeof *all.grants, by_token);
    for (size_t i = 1; i < count; i++) {
        const struct grant *before = &all.grants[i - 1], *after = &all.grants[i];
        if (before->lease != after->lease)
            continue;
        ck_assert_msg(before->token < after->token, "two grants have the token %lld",
                      (long long)after->token);
        ck_assert_msg(before->until <= after->from + ROUNDING_US,
                      "the lease of token %lld lasted until %lld us, that of %lld began at %lld",
                      (long long)before->token, (long long)before->until, (long long)after->token,
                      (long long)after->from);
    }
}

// Holders' own counts of their fenced writes against the number that they made.
static void compare_number(unsigned lease)
{
    long long written = 0, doubtful = 0, number = read_number(&all.caller, lease);
    for (int i = 0; i < HOLDERS; i++) {
        written += all.holders[i].lease == lease ? (long long)all.holders[i].written : 0;
        doubtful += all.holders[i].lease == lease ? (long long)all.holders[i].doubtful : 0;
    }
    ck_assert_msg(number >= written && number <= written + doubtful,
                  "%lld fenced writes were acknowledged, %lld are in doubt, and the number is %lld", written,
                  doubtful, number);
}

void holders_finish(void)
{
    size_t written = 0, doubtful = 0, late = 0, renewed = 0;
    atomic_store(&all.stopping, true);
    for (int i = 0; i < HOLDERS; i++) {
        struct holder *holder = &all.holders[i];
        pthread_join(holder->thread, NULL);
        caller_end(&holder->caller);
        written += holder->written;
        doubtful += holder->doubtful;
        late += holder->late;
        renewed += holder->renewed;
    }
    size_t count = atomic_load(&all.count);
    printf(
        "leases: granted %zu times, renewed %zu times; %zu writes with a fence, %zu in doubt, %zu too late\n",
        count, renewed, written, doubtful, late);
    fflush(stdout);
    for (int i = 0; i < HOLDERS; i++)
        ck_assert_msg(!all.holders[i].complaint[0], "%s", all.holders[i].complaint);
    for (unsigned i = 0; i < LEASES; i++)
        compare_number(i);
    compare_grants(count);
    totals_add(TOTAL_GRANTS, count);
    totals_add(TOTAL_FENCED, written);
    ck_assert_uint_gt(written, 0);
    caller_end(&all.caller);
    free(all.grants);
}
