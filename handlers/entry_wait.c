// A group is an entry that somebody waits for. It is looked at once when it may have changed, however many
// wait, and each of them compares what was found with what it has.
//
// A wake-up is never lost because a group registers its interest before its first look, looks again for
// everybody who comes later, and looks again after a look during which it was woken.
#include "handlers/entry_wait.h"

#include "base/timestamp.h"
#include "handlers/entry_get.h"
#include "handlers/entry_renew.h"
#include "handlers/outcome.h"

#include <stdlib.h>
#include <uthash.h>
#include <utlist.h>

enum {
    ANSWERS_A_TURN = 256,
    LOOK_AFTER_FAILURE = 1000 * 1000,
    EXPIRY_MARGIN = 1000, // microseconds that a timer may be early by the database's clock
};

enum place {
    FRESH,  // a look that began after it came is not done yet
    PARKED, // what was found leaves it waiting
    DUE,    // to be compared with what was found
    PLACES,
};

struct waiter {
    struct waiter *next, *prev; // in its place
    struct group *group;
    struct request *request;
    struct timer deadline;
    struct value known; // the one version whose value it need not be sent
    uint64_t needs;     // FRESH: the first look that counts for it
    enum place place;
    bool late; // its time is up: the next comparison answers
};

struct group {
    UT_hash_handle hh;
    struct entry_waits *waits;
    struct interest interest;
    struct interest fork_end; // only with a fork
    struct get_call call;
    struct address address;
    struct waiter *places[PLACES]; // lists of utlist.h; FRESH in order of arrival
    unsigned waiting;
    struct value common; // the version that all but `others` of them know
    unsigned others;
    unsigned unregistered; // of its interests
    bool looking;
    bool again; // woken, or somebody came, during the look
    uint64_t looks;
    bool known;    // there was a look
    bool doubtful; // the last one failed
    struct found found;
    struct outcome outcome; // what was found with its value, while somebody is due
    struct held *held;
    struct timer look_timer; // when the entry expires, or after a failure
    struct timer answer_timer;
    uint8_t key[]; // bucket, 0xff, fork, 0xff, path: neither of the names has that byte
};

struct entry_waits {
    struct context *context;
    struct group *groups;
};

// --- who waits
// --------------------------------------------------------------------------------------------------------

static void place(struct waiter *waiter, enum place where)
{
    waiter->place = where;
    DL_APPEND(waiter->group->places[where], waiter);
}

static void move(struct waiter *waiter, enum place where)
{
    DL_DELETE(waiter->group->places[waiter->place], waiter);
    place(waiter, where);
}

static bool same_version(struct value a, struct value b)
{
    return a.given && b.given && a.number == b.number;
}

static void count_in(struct group *group, const struct waiter *waiter)
{
    if (!group->waiting++)
        group->common = waiter->known;
    if (!same_version(group->common, waiter->known))
        group->others++;
}

// Takes it out of the group; its request is to be answered, or gone.
static struct request *leave(struct waiter *waiter)
{
    struct group *group = waiter->group;
    DL_DELETE(group->places[waiter->place], waiter);
    loop_timer_clear(group->waits->context->loop, &waiter->deadline);
    group->waiting--;
    if (!same_version(group->common, waiter->known))
        group->others--;
    return waiter->request;
}

static void release_found(struct group *group)
{
    held_release(group->held);
    group->held = NULL;
}

static void group_free(struct group *group)
{
    struct context *context = group->waits->context;
    loop_timer_clear(context->loop, &group->look_timer);
    loop_timer_clear(context->loop, &group->answer_timer);
    listen_remove(context->listen, &group->interest);
    if (group->address.fork.data)
        listen_remove(context->listen, &group->fork_end);
    release_found(group);
    HASH_DEL(group->waits->groups, group);
    free(group);
}

// Nobody waits any more and no look will come back to it.
static void free_when_idle(struct group *group)
{
    if (!group->waiting && !group->looking)
        group_free(group);
}

// --- answering
// --------------------------------------------------------------------------------------------------------

static bool goes_on_waiting(const struct waiter *waiter, const struct found *found)
{
    if (waiter->late || found->status >= GET_OTHER_KIND) // nothing to wait for: also what forks answer
        return false;
    struct request *request = waiter->request;
    if (found->status == GET_LIVE)
        return found_unchanged(request, found) && !request->conditions.if_match.given;
    return !request->conditions.if_none_match.given;
}

static void reply_doubtful(struct request *request)
{
    reply_simple_problem(request, PROBLEM_UNAVAILABLE, "the database is away; nothing was done, try again");
}

static void compare(struct waiter *waiter)
{
    struct group *group = waiter->group;
    if (goes_on_waiting(waiter, &group->found)) {
        move(waiter, PARKED);
        return;
    }
    struct request *request = leave(waiter);
    if (group->doubtful && !group->held)
        reply_doubtful(request);
    else
        reply_found(request, &group->call, &group->found, group->held ? &group->outcome : NULL);
}

// Ten thousand replies in one turn would keep everybody else waiting.
static void answer_some(struct group *group)
{
    struct loop *loop = group->waits->context->loop;
    for (int i = 0; i < ANSWERS_A_TURN && group->places[DUE]; i++)
        compare(group->places[DUE]);
    if (group->places[DUE])
        loop_timer_set(loop, &group->answer_timer, loop_now(loop) + 1);
    else
        release_found(group);
}

static void answer_more(struct timer *timer)
{
    struct group *group = (struct group *)((char *)timer - offsetof(struct group, answer_timer));
    answer_some(group);
    free_when_idle(group);
}

static void time_is_up(struct timer *timer)
{
    struct waiter *waiter = (struct waiter *)((char *)timer - offsetof(struct waiter, deadline));
    struct group *group = waiter->group;
    waiter->late = true;
    if (waiter->place == FRESH) // its look is under way
        return;
    compare(waiter);
    if (!group->places[DUE])
        release_found(group);
    free_when_idle(group);
}

static void client_gone(void *owner)
{
    struct waiter *waiter = owner;
    leave(waiter);
    free_when_idle(waiter->group);
}

// --- looking
// ----------------------------------------------------------------------------------------------------------

static void look_done(struct operation *operation, const struct outcome *outcome);

static void look(struct group *group)
{
    group->looking = true;
    group->again = false;
    group->looks++;
    group->call.renewed = false;
    group->call.renewed_to = 0;
    struct value unless = group->others ? value_null() : group->common;
    get_call_submit(group->waits->context, NULL, &group->call, &group->address, unless, true, look_done,
                    group);
}

static void look_soon(struct group *group)
{
    if (group->looking)
        group->again = true;
    else
        look(group);
}

static void look_by_timer(struct timer *timer)
{
    look_soon((struct group *)((char *)timer - offsetof(struct group, look_timer)));
}

static void look_at(struct group *group, int64_t wait)
{
    struct loop *loop = group->waits->context->loop;
    loop_timer_set(loop, &group->look_timer, timestamp_monotonic() + wait);
}

static struct waiter *first_ready(struct group *group)
{
    struct waiter *first = group->places[FRESH];
    return first && first->needs <= group->looks ? first : NULL;
}

// The entry expires without anybody writing.
static void expect_expiry(struct group *group, const struct outcome *outcome)
{
    // As it is in the row: a renewal that is on its way may yet be lost. In a severed fork time stands still.
    if (outcome_null(outcome, 0, GOT_EXPIRES_AT) || outcome_null(outcome, 0, GOT_NOW))
        loop_timer_clear(group->waits->context->loop, &group->look_timer);
    else
        look_at(group,
                outcome_time(outcome, 0, GOT_EXPIRES_AT) - outcome_time(outcome, 0, GOT_NOW) + EXPIRY_MARGIN);
}

static void look_failed(struct group *group, const struct outcome *outcome)
{
    struct waiter *waiter;
    group->doubtful = true;
    look_at(group, LOOK_AFTER_FAILURE);
    while ((waiter = first_ready(group)))
        (void)outcome_usable(leave(waiter), outcome);
}

static void look_found(struct group *group, const struct outcome *outcome)
{
    struct found found = found_read(&group->call, outcome);
    struct waiter *waiter;
    bool changed =
        !group->known || found.status != group->found.status || found.version != group->found.version;
    group->known = true;
    group->doubtful = false;
    group->found = found;
    expect_expiry(group, outcome);
    while (changed && (waiter = group->places[PARKED]))
        move(waiter, DUE);
    while ((waiter = first_ready(group)))
        move(waiter, DUE);
    if (!group->places[DUE])
        return;
    release_found(group);
    group->held = outcome_hold(outcome);
    group->outcome = *outcome;
    answer_some(group);
}

// A GET that comes renews an idle term, and so does the answer that one got which waited; waiting does not.
static bool renews(struct group *group, const struct found *found)
{
    bool changed = !group->known || found->version != group->found.version;
    return first_ready(group) || (changed && group->places[PARKED]);
}

static bool value_is_missing(const struct group *group, const struct found *found)
{
    return found->status == GET_LIVE &&
           (group->others || !same_version(group->common, value_number(found->version)));
}

static void look_done(struct operation *operation, const struct outcome *outcome)
{
    struct get_call *call = (struct get_call *)operation;
    struct group *group = operation->owner;
    struct context *context = group->waits->context;
    if (outcome->kind == OUTCOME_ROWS) {
        struct found found = found_read(call, outcome);
        if (found.status == GET_LIVE && renews(group, &found) && entry_renew_first(context, call, outcome))
            return;
        if (value_is_missing(group, &found) && get_call_large(context, call, outcome))
            return;
    }
    group->looking = false;
    if (outcome->kind == OUTCOME_ROWS)
        look_found(group, outcome);
    else
        look_failed(group, outcome);
    if (group->again && group->waiting)
        look(group);
    else
        free_when_idle(group);
}

// --- coming
// -----------------------------------------------------------------------------------------------------------

static void one_registered(struct group *group)
{
    if (--group->unregistered == 0)
        look(group);
}

static void registered(struct interest *interest)
{
    one_registered((struct group *)((char *)interest - offsetof(struct group, interest)));
}

static void woken(struct interest *interest)
{
    struct group *group = (struct group *)((char *)interest - offsetof(struct group, interest));
    if (!group->unregistered)
        look_soon(group);
}

static void fork_end_registered(struct interest *interest)
{
    one_registered((struct group *)((char *)interest - offsetof(struct group, fork_end)));
}

static void fork_ended(struct interest *interest)
{
    struct group *group = (struct group *)((char *)interest - offsetof(struct group, fork_end));
    if (!group->unregistered)
        look_soon(group);
}

// A fork may end without a change to this bucket. The name is that of holdfast.close_fork().
static void expect_fork_end(struct group *group)
{
    struct bytes claim = group->address.fork;
    const uint8_t *end = memchr(claim.data, 1, claim.size); // what follows says whose it must be
    group->unregistered++;
    group->fork_end = (struct interest){
        .bucket = bytes_of("\001forks"),
        .path = bytes_make(claim.data, end ? (size_t)(end - claim.data) : claim.size),
        .topic = LISTEN_FORKS,
        .registered = fork_end_registered,
        .woken = fork_ended,
    };
    listen_add(group->waits->context->listen, &group->fork_end);
}

static struct group *group_new(struct entry_waits *waits, const struct address *address, struct bytes key)
{
    struct group *group = calloc(1, sizeof *group + key.size);
    if (!group)
        abort();
    memcpy(group->key, key.data, key.size);
    group->waits = waits;
    const uint8_t *fork = group->key + address->bucket.size + 1;
    group->address.bucket = bytes_make(group->key, address->bucket.size);
    if (address->fork.data)
        group->address.fork = bytes_make(fork, address->fork.size);
    group->address.path = bytes_make(fork + address->fork.size + 1, address->path.size);
    group->unregistered = 1;
    group->look_timer.fire = look_by_timer;
    group->answer_timer.fire = answer_more;
    group->interest = (struct interest){
        .bucket = group->address.bucket,
        .path = group->address.path,
        .topic = LISTEN_ENTRIES,
        .registered = registered,
        .woken = woken,
    };
    HASH_ADD_KEYPTR(hh, waits->groups, group->key, key.size, group);
    listen_add(waits->context->listen, &group->interest);
    if (group->address.fork.data)
        expect_fork_end(group);
    return group;
}

static struct group *group_of(struct request *request, const struct address *address)
{
    struct entry_waits *waits = context_of(request)->entry_waits;
    size_t size = address->bucket.size + 1 + address->fork.size + 1 + address->path.size;
    uint8_t *key = arena_alloc(&request->arena, size);
    uint8_t *at = key;
    memcpy(at, address->bucket.data, address->bucket.size);
    at += address->bucket.size;
    *at++ = 0xff;
    if (address->fork.data)
        memcpy(at, address->fork.data, address->fork.size);
    at += address->fork.size;
    *at++ = 0xff;
    memcpy(at, address->path.data, address->path.size);
    struct group *group;
    HASH_FIND(hh, waits->groups, key, size, group);
    return group ? group : group_new(waits, address, bytes_make(key, size));
}

void entry_wait(struct request *request, const struct address *address, int seconds)
{
    if (!request_begin_wait(request))
        return;
    struct context *context = context_of(request);
    struct group *group = group_of(request, address);
    struct waiter *waiter = arena_zalloc(&request->arena, sizeof *waiter);
    reply_wait_applied(request, seconds);
    waiter->group = group;
    waiter->request = request;
    waiter->known = known_version(request);
    waiter->needs = group->looks + 1;
    waiter->deadline.fire = time_is_up;
    count_in(group, waiter);
    place(waiter, FRESH);
    loop_timer_set(context->loop, &waiter->deadline, timestamp_monotonic() + (int64_t)seconds * 1000000);
    request_park(request, client_gone, waiter); // it has just come: it is there
    if (!group->unregistered)
        look_soon(group);
}

// --- the whole
// --------------------------------------------------------------------------------------------------------

struct entry_waits *entry_waits_new(struct context *context)
{
    struct entry_waits *waits = calloc(1, sizeof *waits);
    if (!waits)
        abort();
    waits->context = context;
    return waits;
}

void entry_waits_drain(struct entry_waits *waits)
{
    struct group *group, *next;
    struct waiter *waiter;
    HASH_ITER(hh, waits->groups, group, next)
    {
        for (int i = 0; i < PLACES; i++)
            DL_FOREACH(group->places[i], waiter)
        waiter->late = true;
        while ((waiter = group->places[PARKED]))
            move(waiter, DUE);
        if (group->places[DUE])
            answer_more(&group->answer_timer);
    }
}

void entry_waits_free(struct entry_waits *waits)
{
    struct group *group, *next;
    struct waiter *waiter;
    HASH_ITER(hh, waits->groups, group, next)
    {
        for (int i = 0; i < PLACES; i++)
            while ((waiter = group->places[i]))
                request_unpark(leave(waiter));
        group_free(group);
    }
    free(waits);
}
