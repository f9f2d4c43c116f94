// A group is a key that somebody waits for. When its run may have ended one attempt is made, however many
// wait: the run goes to the first of them, an answer to all.
//
// A wake-up is never lost because a group registers its interest before its first attempt, makes another for
// everybody who comes later, and another after one during which it was woken.
#include "handlers/once_wait.h"

#include "base/timestamp.h"
#include "handlers/once_attempt.h"
#include "handlers/once_run.h"
#include "handlers/outcome.h"

#include <stdlib.h>
#include <uthash.h>
#include <utlist.h>

enum {
    ANSWERS_A_TURN = 256,
    TRY_AFTER_FAILURE = 1000 * 1000,
    TRY_AT_LEAST = 10 * 1000 * 1000, // the database's clock may be set while ours runs on
    EXPIRY_MARGIN = 1000,            // microseconds that a timer may be early by the database's clock
};

struct waiter {
    struct waiter *next, *prev; // in the group, in order of arrival
    struct group *group;
    struct request *request;
    struct timer deadline;
    uint64_t needs; // the first attempt whose answer counts for it: what was found before it came may be old
};

struct group {
    UT_hash_handle hh;
    struct once_waits *waits;
    struct interest interest;
    struct once_attempt attempt;
    struct waiter *waiters;
    bool registered;
    bool trying;
    bool again; // woken, or somebody came, while an attempt could not be made
    uint64_t attempts;
    bool doubtful; // the last one failed
    int64_t run_expires_at;
    struct outcome outcome; // what everybody up to the last attempt is told, while some are not yet
    struct held *held;
    struct timer try_timer; // when the run's time ends, or after a failure
    struct timer answer_timer;
    uint8_t key[]; // name, 0xff, path: no name has that byte
};

struct once_waits {
    struct context *context;
    struct group *groups;
    bool draining;
};

// --- who waits
// --------------------------------------------------------------------------------------------------------

// Takes it out of the group; its request is to be answered, or gone.
static struct request *leave(struct waiter *waiter)
{
    DL_DELETE(waiter->group->waiters, waiter);
    loop_timer_clear(waiter->group->waits->context->loop, &waiter->deadline);
    return waiter->request;
}

static void group_free(struct group *group)
{
    struct context *context = group->waits->context;
    loop_timer_clear(context->loop, &group->try_timer);
    loop_timer_clear(context->loop, &group->answer_timer);
    listen_remove(context->listen, &group->interest);
    held_release(group->held);
    HASH_DEL(group->waits->groups, group);
    free(group);
}

// Nobody waits any more and no attempt will come back to it.
static void free_when_idle(struct group *group)
{
    if (!group->waiters && !group->trying)
        group_free(group);
}

static void reply_doubtful(struct request *request)
{
    reply_simple_problem(request, PROBLEM_UNAVAILABLE, "the database is away; nothing was done, try again");
}

static void time_is_up(struct timer *timer)
{
    struct waiter *waiter = (struct waiter *)((char *)timer - offsetof(struct waiter, deadline));
    struct group *group = waiter->group;
    struct request *request = leave(waiter);
    if (group->doubtful)
        reply_doubtful(request);
    else
        reply_run_under_way(request, group->run_expires_at);
    free_when_idle(group);
}

static void client_gone(void *owner)
{
    struct waiter *waiter = owner;
    leave(waiter);
    free_when_idle(waiter->group);
}

// --- attempts
// ---------------------------------------------------------------------------------------------------------

static void try_now(struct group *group)
{
    group->trying = true;
    group->again = false;
    group->attempts++;
    once_attempt_submit(&group->attempt);
}

static void try_soon(struct group *group)
{
    if (group->trying || group->held)
        group->again = true;
    else
        try_now(group);
}

static void try_by_timer(struct timer *timer)
{
    try_soon((struct group *)((char *)timer - offsetof(struct group, try_timer)));
}

static void try_in(struct group *group, int64_t wait)
{
    loop_timer_set(group->waits->context->loop, &group->try_timer, timestamp_monotonic() + wait);
}

static void refuse_all(struct group *group)
{
    while (group->waiters)
        reply_shutting_down(leave(group->waiters));
}

// What comes after an attempt that is dealt with.
static void go_on(struct group *group)
{
    if (group->waits->draining)
        refuse_all(group);
    if (group->again && group->waiters)
        try_now(group);
    else
        free_when_idle(group);
}

static struct waiter *first_told(struct group *group)
{
    struct waiter *first = group->waiters;
    return first && first->needs <= group->attempts ? first : NULL;
}

// Ten thousand replies in one turn would keep everybody else waiting.
static void tell_some(struct group *group)
{
    struct loop *loop = group->waits->context->loop;
    struct waiter *waiter;
    for (int i = 0; i < ANSWERS_A_TURN && (waiter = first_told(group)); i++)
        reply_attempt(leave(waiter), &group->attempt.address, &group->outcome);
    if (first_told(group)) {
        loop_timer_set(loop, &group->answer_timer, loop_now(loop) + 1);
        return;
    }
    held_release(group->held);
    group->held = NULL;
    go_on(group);
}

static void tell_more(struct timer *timer)
{
    tell_some((struct group *)((char *)timer - offsetof(struct group, answer_timer)));
}

// The run is here: it goes to the first who is still there to do it.
static void grant(struct group *group, int64_t token)
{
    struct waiter *waiter, *next;
    DL_FOREACH_SAFE(group->waiters, waiter, next)
    {
        if (request_client_left(waiter->request))
            continue;
        reply_run_granted(leave(waiter), token, group->run_expires_at);
        return;
    }
    once_hand_back(group->waits->context, &group->attempt.address, token);
}

static void expect_expiry(struct group *group, const struct outcome *outcome)
{
    group->run_expires_at = outcome_time(outcome, 0, ONCE_EXPIRES_AT);
    int64_t left = group->run_expires_at - outcome_time(outcome, 0, ONCE_NOW);
    try_in(group, left < TRY_AT_LEAST ? left + EXPIRY_MARGIN : TRY_AT_LEAST);
}

static void attempt_failed(struct group *group, const struct outcome *outcome)
{
    group->doubtful = true;
    if (outcome->kind != OUTCOME_FAILED) {
        try_in(group, TRY_AFTER_FAILURE);
        return;
    }
    while (group->waiters)
        (void)outcome_usable(leave(group->waiters), outcome);
}

static void attempt_done(struct once_attempt *attempt, const struct outcome *outcome)
{
    struct group *group = attempt->owner;
    group->trying = false;
    if (outcome->kind != OUTCOME_ROWS) {
        attempt_failed(group, outcome);
        go_on(group);
        return;
    }
    group->doubtful = false;
    switch ((enum once_status)outcome_number(outcome, 0, ONCE_STATUS)) {
    case ONCE_DONE:
        expect_expiry(group, outcome);
        grant(group, outcome_number(outcome, 0, ONCE_TOKEN));
        break;
    case ONCE_RUNNING:
        expect_expiry(group, outcome);
        break;
    default:
        group->held = outcome_hold(outcome);
        group->outcome = *outcome;
        tell_some(group);
        return;
    }
    go_on(group);
}

// --- coming
// -----------------------------------------------------------------------------------------------------------

static void registered(struct interest *interest)
{
    struct group *group = (struct group *)((char *)interest - offsetof(struct group, interest));
    group->registered = true;
    try_soon(group);
}

static void woken(struct interest *interest)
{
    try_soon((struct group *)((char *)interest - offsetof(struct group, interest)));
}

static struct group *group_new(struct once_waits *waits, const struct address *address, struct bytes key)
{
    struct group *group = calloc(1, sizeof *group + key.size);
    if (!group)
        abort();
    memcpy(group->key, key.data, key.size);
    group->waits = waits;
    group->attempt.context = waits->context;
    group->attempt.address.bucket = bytes_make(group->key, address->bucket.size);
    group->attempt.address.path = bytes_make(group->key + address->bucket.size + 1, address->path.size);
    group->attempt.done = attempt_done;
    group->attempt.owner = group;
    group->try_timer.fire = try_by_timer;
    group->answer_timer.fire = tell_more;
    group->interest = (struct interest){
        .bucket = group->attempt.address.bucket,
        .path = group->attempt.address.path,
        .topic = LISTEN_ONCE,
        .registered = registered,
        .woken = woken,
    };
    HASH_ADD_KEYPTR(hh, waits->groups, group->key, key.size, group);
    listen_add(waits->context->listen, &group->interest);
    return group;
}

static struct group *group_of(struct request *request, const struct address *address)
{
    struct once_waits *waits = context_of(request)->once_waits;
    size_t size = address->bucket.size + 1 + address->path.size;
    uint8_t *key = arena_alloc(&request->arena, size);
    memcpy(key, address->bucket.data, address->bucket.size);
    key[address->bucket.size] = 0xff;
    memcpy(key + address->bucket.size + 1, address->path.data, address->path.size);
    struct group *group;
    HASH_FIND(hh, waits->groups, key, size, group);
    return group ? group : group_new(waits, address, bytes_make(key, size));
}

void once_wait(struct request *request, const struct address *address, int seconds, int64_t run_expires_at)
{
    if (!request_begin_wait(request))
        return;
    struct context *context = context_of(request);
    struct waiter *waiter = arena_zalloc(&request->arena, sizeof *waiter);
    if (!request_park(request, client_gone, waiter))
        return;
    struct group *group = group_of(request, address);
    waiter->group = group;
    waiter->request = request;
    waiter->needs = group->attempts + 1;
    waiter->deadline.fire = time_is_up;
    DL_APPEND(group->waiters, waiter);
    group->run_expires_at = run_expires_at;
    loop_timer_set(context->loop, &waiter->deadline, timestamp_monotonic() + (int64_t)seconds * 1000000);
    if (group->registered)
        try_soon(group);
}

// --- the whole
// --------------------------------------------------------------------------------------------------------

struct once_waits *once_waits_new(struct context *context)
{
    struct once_waits *waits = calloc(1, sizeof *waits);
    if (!waits)
        abort();
    waits->context = context;
    return waits;
}

void once_waits_drain(struct once_waits *waits)
{
    struct group *group, *next;
    waits->draining = true;
    HASH_ITER(hh, waits->groups, group, next)
    {
        if (!group->trying && !group->held)
            go_on(group);
    }
}

void once_waits_free(struct once_waits *waits)
{
    struct group *group, *next;
    HASH_ITER(hh, waits->groups, group, next)
    {
        while (group->waiters)
            request_unpark(leave(group->waiters));
        group_free(group);
    }
    free(waits);
}
