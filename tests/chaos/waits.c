// A writer writes, and does not write again until everybody who waits has seen it: what one wake-up missed,
// no later one makes good.
#include "chaos/waits.h"

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
    ENTRIES = 3,
    WAITERS = 4, // of each
    PAUSE_MS = 20,
    LATE_MS = 30 * 1000, // a fault and what it takes to recover from it are shorter, WAIT is longer
    LAST_MS = 45 * 1000,
    CALM_ROUNDS = 25, // of each writer, at the end
};

#define WAIT "Prefer: wait=60\r\n"

struct waiter {
    pthread_t thread;
    int entry;
    size_t replica;
    struct caller caller;
    _Atomic long long seen;
    size_t woken, slept, faults;
    char complaint[300]; // the first broken promise, empty while there is none
};

struct writer {
    pthread_t thread;
    int entry;
    struct caller caller;
    _Atomic long long acknowledged; // version
    atomic_size_t rounds;
    int64_t latest_ms; // how long the last of all waiters took, at most
    char complaint[300];
};

static struct {
    struct writer writers[ENTRIES];
    struct waiter waiters[ENTRIES * WAITERS];
    atomic_bool stopping;
    atomic_bool broken;
} waits;

static void complain(char complaint[300], int entry, const char *what, const struct entry_reply *reply)
{
    if (!complaint[0])
        snprintf(complaint, 300, "entry %d: %s: %d, version %s", entry, what, reply ? reply->status : 0,
                 reply ? reply->version : "");
    atomic_store(&waits.broken, true);
}

static void write_target(char target[80], int entry)
{
    snprintf(target, 80, "/v1/buckets/chaos-waits/entries/%d", entry);
}

// --- a waiter ---------------------------------------------------------------------------------------------

static void look_at(struct waiter *waiter, long long before, const struct entry_reply *reply)
{
    long long seen = atomic_load(&waiter->seen), version = strtoll(reply->version, NULL, 10);
    if (reply->status == 304) {
        waiter->slept++;
        return;
    }
    if ((reply->status != 200 && reply->status != 404) || (reply->status == 200 && version <= seen))
        complain(waiter->complaint, waiter->entry, "a wait was answered", reply);
    else if ((reply->status == 200 ? version : 0) < before)
        complain(waiter->complaint, waiter->entry, "a wait saw less than was acknowledged before", reply);
    else if (reply->status == 200) {
        atomic_store(&waiter->seen, version);
        waiter->woken++;
    }
}

static void *run_waiter(void *argument)
{
    struct waiter *waiter = argument;
    char target[80], headers[120];
    write_target(target, waiter->entry);
    while (!atomic_load(&waits.stopping) && !atomic_load(&waits.broken)) {
        struct entry_reply reply;
        long long seen = atomic_load(&waiter->seen);
        long long before = atomic_load(&waits.writers[waiter->entry].acknowledged);
        snprintf(headers, sizeof headers, seen ? "If-None-Match: \"%lld\"\r\n" WAIT : WAIT, seen);
        caller_ask_at(&waiter->caller, waiter->replica,
                      &(struct entry_request){.method = "GET", .target = target, .headers = headers}, &reply);
        if (entry_reply_is_fault(&reply)) {
            waiter->faults++;
            clock_pause(PAUSE_MS);
        } else {
            look_at(waiter, before, &reply);
        }
    }
    return NULL;
}

// --- a writer ---------------------------------------------------------------------------------------------

static void write_once(struct writer *writer, struct entry_reply *reply)
{
    char target[80], value[40];
    write_target(target, writer->entry);
    snprintf(value, sizeof value, "%zu", atomic_load(&writer->rounds));
    caller_ask(&writer->caller,
               &(struct entry_request){.method = "PUT", .target = target, .body = bytes_of(value)}, reply);
}

// The acknowledged version; 0 when there is none, since the test stops or is broken.
static long long write_until_acknowledged(struct writer *writer)
{
    while (!atomic_load(&waits.stopping) && !atomic_load(&waits.broken)) {
        struct entry_reply reply;
        write_once(writer, &reply);
        if (reply.outcome == ENTRY_ANSWERED && (reply.status == 201 || reply.status == 204))
            return strtoll(reply.version, NULL, 10);
        if (!entry_reply_is_fault(&reply))
            complain(writer->complaint, writer->entry, "a write was answered", &reply);
        clock_pause(PAUSE_MS);
    }
    return 0;
}

static bool all_have_seen(void *user)
{
    const struct writer *writer = user;
    for (int i = 0; i < ENTRIES * WAITERS; i++)
        if (waits.waiters[i].entry == writer->entry &&
            atomic_load(&waits.waiters[i].seen) < atomic_load(&writer->acknowledged))
            return atomic_load(&waits.stopping) || atomic_load(&waits.broken);
    return true;
}

static void *run_writer(void *argument)
{
    struct writer *writer = argument;
    for (;;) {
        long long version = write_until_acknowledged(writer);
        if (!version)
            return NULL;
        int64_t start = clock_ms();
        atomic_store(&writer->acknowledged, version);
        if (!clock_wait(all_have_seen, writer, LATE_MS))
            complain(writer->complaint, writer->entry, "a wait slept through an acknowledged write", NULL);
        int64_t took = clock_ms() - start;
        writer->latest_ms = took > writer->latest_ms ? took : writer->latest_ms;
        atomic_fetch_add(&writer->rounds, 1);
    }
}

// --- all --------------------------------------------------------------------------------------------------

void waits_start(uint64_t seed, size_t replicas)
{
    for (int i = 0; i < ENTRIES; i++) {
        struct writer *writer = &waits.writers[i];
        writer->entry = i;
        caller_start(&writer->caller, seed, 5000 + (uint64_t)i, replicas);
        ck_assert_int_eq(pthread_create(&writer->thread, NULL, run_writer, writer), 0);
    }
    for (int i = 0; i < ENTRIES * WAITERS; i++) {
        struct waiter *waiter = &waits.waiters[i];
        waiter->entry = i % ENTRIES;
        waiter->replica = (size_t)(i / ENTRIES) % replicas;
        caller_start(&waiter->caller, seed, 5100 + (uint64_t)i, replicas);
        ck_assert_int_eq(pthread_create(&waiter->thread, NULL, run_waiter, waiter), 0);
    }
}

bool waits_are_broken(void)
{
    return atomic_load(&waits.broken);
}

static bool calm_is_over(void *user)
{
    const size_t *before = user;
    bool over = true;
    for (int i = 0; i < ENTRIES; i++)
        over &= atomic_load(&waits.writers[i].rounds) >= before[i] + CALM_ROUNDS;
    return over || atomic_load(&waits.broken);
}

// A fault makes every wait look again, which mends what was missed before it: now there are none.
static void stay_calm(void)
{
    size_t before[ENTRIES];
    for (int i = 0; i < ENTRIES; i++)
        before[i] = atomic_load(&waits.writers[i].rounds);
    ck_assert(clock_wait(calm_is_over, before, LAST_MS));
}

void waits_finish(void)
{
    stay_calm();
    size_t rounds = 0, woken = 0, slept = 0, faults = 0;
    int64_t latest = 0;
    atomic_store(&waits.stopping, true);
    for (int i = 0; i < ENTRIES; i++) {
        struct writer *writer = &waits.writers[i];
        struct entry_reply reply;
        pthread_join(writer->thread, NULL);
        write_once(writer, &reply); // so that nobody waits on
        caller_end(&writer->caller);
        rounds += atomic_load(&writer->rounds);
        latest = writer->latest_ms > latest ? writer->latest_ms : latest;
    }
    for (int i = 0; i < ENTRIES * WAITERS; i++) {
        struct waiter *waiter = &waits.waiters[i];
        pthread_join(waiter->thread, NULL);
        caller_end(&waiter->caller);
        woken += waiter->woken;
        slept += waiter->slept;
        faults += waiter->faults;
    }
    printf("waits: %zu writes that all waiters saw, the latest after %lld ms; %zu woken, %zu slept, %zu cut "
           "off\n",
           rounds, (long long)latest, woken, slept, faults);
    fflush(stdout);
    for (int i = 0; i < ENTRIES; i++)
        ck_assert_msg(!waits.writers[i].complaint[0], "%s", waits.writers[i].complaint);
    for (int i = 0; i < ENTRIES * WAITERS; i++)
        ck_assert_msg(!waits.waiters[i].complaint[0], "%s", waits.waiters[i].complaint);
    totals_add(TOTAL_WAITS, woken + slept);
    ck_assert_uint_gt(rounds, 0);
}
