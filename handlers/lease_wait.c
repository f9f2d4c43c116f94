// A place in a queue is a row with a ticket, so that all replicas see one order; the process that holds the
// client's connection keeps the place alive, tries to acquire when the lease may be free, and gives the place
// up when the client leaves.
//
// Of those who queue in this process for one lease only the first tries: however many they are, a release
// costs one try a process. No wake-up is lost, because the first tries once its process is sure to be told of
// changes, and again after a try during which it was told of one.
//
// With an Idempotency-Key each try has its transaction, and the wait has none. Others with the same key may
// queue too: when one of them was served, those behind are told what it got, without waiting for their turn.
#include "handlers/lease_wait.h"

#include "base/timestamp.h"
#include "handlers/entry_get.h"
#include "handlers/idempotency.h"
#include "handlers/kept_reply.h"
#include "handlers/lease_call.h"
#include "handlers/outcome.h"

#include <stdlib.h>
#include <uthash.h>
#include <utlist.h>

enum {
    ALIVE = 8 * 1000 * 1000,      // how long a place outlives the process that keeps it
    KEEP_EVERY = 2 * 1000 * 1000, // and how often that says that it is there
    TRY_AFTER_FAILURE = 1000 * 1000,
    TRY_AT_LEAST = 10 * 1000 * 1000, // the database's clock may be set while ours runs on
    EXPIRY_MARGIN = 1000,            // microseconds that a timer may be early by the database's clock
};

// What a waiter's operation under way is for.
enum errand {
    ERRAND_NONE,
    ERRAND_ACQUIRE, // to acquire, or have a place
    ERRAND_LAST,    // to acquire, or give the place up
    ERRAND_LEAVE,   // to give up the place, or a lease that was granted to nobody
};

enum { KEEP_PATH, KEEP_TICKET, KEEP_WAIT, KEEP_COLUMNS };
enum { LEAVE_PATH, LEAVE_TICKET, LEAVE_COLUMNS };

struct waiter {
    struct waiter *next, *prev; // in its queue's line
    struct queue *queue;
    struct request *request; // NULL when it was answered or the client has left
    struct timer deadline;
    bool late;
    int64_t ticket; // 0 while it is not in line
    bool doubtful;  // it may have been granted the lease by a try that was cut off
    int64_t ttl;
    enum errand errand;
    struct operation operation; // of the errand
    struct value values[ACQUIRE_COLUMNS];
    struct operation keep;
    struct value keep_values[KEEP_COLUMNS];
    bool keeping;               // that operation is under way
    struct keyed_waiter *keyed; // NULL without a key
    bool over;                  // to be freed after what is under way
    struct bytes holder;
    uint8_t holder_bytes[];
};

// What a waiter with a key has besides.
struct keyed_waiter {
    struct keyed_wait wait; // first: the wait is the whole
    struct waiter *waiter;
    int seconds;       // that it asked for
    int64_t place;     // the ticket that the last try left
    int64_t change_in; // microseconds after which that try may fare better by itself
    struct operation ask;
    struct value ask_values[ASK_COLUMNS];
    bool asking; // that operation is under way
    bool again;  // ask once more, after it or after the errand
    struct keyed_name name;
    uint8_t name_bytes[];
};

struct queue {
    UT_hash_handle hh;
    struct lease_waits *waits;
    struct interest interest;
    struct address address;
    struct waiter *line; // in the order of tickets
    unsigned users;      // waiters in line or on an errand, and whoever works on the queue
    unsigned keyed;      // waiters in line with a key
    bool interested;
    bool registered;
    bool again; // the first shall try once it is free to
    struct timer look_timer;
    uint8_t key[]; // bucket, 0xff, path: no bucket's name has that byte
};

struct lease_waits {
    struct context *context;
    struct queue *queues;
    struct timer keep_timer;
    bool draining;
};

// --- queues and those in them
// -----------------------------------------------------------------------------------------

static struct loop *loop_of(const struct queue *queue)
{
    return queue->waits->context->loop;
}

static void queue_release(struct queue *queue)
{
    if (--queue->users)
        return;
    loop_timer_clear(loop_of(queue), &queue->look_timer);
    if (queue->interested)
        listen_remove(queue->waits->context->listen, &queue->interest);
    HASH_DEL(queue->waits->queues, queue);
    free(queue);
}

static void waiter_end(struct waiter *waiter)
{
    waiter->over = true;
    if (waiter->keeping || (waiter->keyed && waiter->keyed->asking))
        return;
    queue_release(waiter->queue);
    free(waiter->keyed);
    free(waiter);
}

static void join_line(struct waiter *waiter, int64_t ticket)
{
    struct queue *queue = waiter->queue;
    struct waiter *after = queue->line;
    waiter->ticket = ticket;
    while (after && after->ticket < ticket)
        after = after->next;
    if (after)
        DL_PREPEND_ELEM(queue->line, after, waiter);
    else
        DL_APPEND(queue->line, waiter);
    queue->keyed += waiter->keyed != NULL;
}

static void leave_line(struct waiter *waiter)
{
    if (!waiter->ticket)
        return;
    DL_DELETE(waiter->queue->line, waiter);
    waiter->queue->keyed -= waiter->keyed != NULL;
    waiter->ticket = 0;
}

// The request, which is to be answered now; NULL when the client has left.
static struct request *take_request(struct waiter *waiter)
{
    struct request *request = waiter->request;
    waiter->request = NULL;
    loop_timer_clear(loop_of(waiter->queue), &waiter->deadline);
    return request;
}

static void submit(struct waiter *waiter, struct store *store, const struct statement *statement,
                   void (*done)(struct operation *, const struct outcome *))
{
    struct queue *queue = waiter->queue;
    waiter->operation = (struct operation){
        .statement = statement,
        .bucket = queue->address.bucket,
        .key = queue->address.path,
        .values = waiter->values,
        .done = done,
        .owner = waiter,
    };
    store_submit(store, &waiter->operation);
}

static void run_errand(struct waiter *waiter, enum errand errand, const struct statement *statement,
                       void (*done)(struct operation *, const struct outcome *))
{
    waiter->errand = errand;
    submit(waiter, waiter->queue->waits->context->store, statement, done);
}

// --- leaving
// ----------------------------------------------------------------------------------------------------------

static const struct statement leave_lease_waiters = {
    .name = "leave_lease_waiters",
    .sql = "select * from holdfast.leave_lease_waiters($1, $2, $3, $4, $5)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE, // may be sent again: what is gone stays gone
    .keys = KEYS_ANY,
    .columns = LEAVE_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_INT8},
};

// Also when it failed: nobody tries for that place any more, and it is passed over soon.
static void left(struct operation *operation, const struct outcome *outcome)
{
    (void)outcome;
    struct waiter *waiter = operation->owner;
    struct request *request = take_request(waiter);
    if (request)
        reply_simple_problem(request, PROBLEM_UNAVAILABLE, "the service is shutting down; nothing was done");
    waiter_end(waiter);
}

static void give_place_up(struct waiter *waiter)
{
    waiter->values[LEAVE_PATH] = value_bytes(waiter->queue->address.path);
    waiter->values[LEAVE_TICKET] = value_number(waiter->ticket);
    leave_line(waiter);
    run_errand(waiter, ERRAND_LEAVE, &leave_lease_waiters, left);
}

// It was granted to a client that has left: the next one shall not wait for the term.
static void give_lease_back(struct waiter *waiter, int64_t token)
{
    waiter->values[RELEASE_PATH] = value_bytes(waiter->queue->address.path);
    waiter->values[RELEASE_HOLDER] = value_bytes(waiter->holder);
    waiter->values[RELEASE_TOKEN] = value_number(token);
    run_errand(waiter, ERRAND_LEAVE, &release_leases, left);
}

// --- acquiring
// --------------------------------------------------------------------------------------------------------

static void acquired(struct operation *operation, const struct outcome *outcome);

static void set_acquire_values(struct waiter *waiter)
{
    struct queue *queue = waiter->queue;
    waiter->values[ACQUIRE_PATH] = value_bytes(queue->address.path);
    waiter->values[ACQUIRE_HOLDER] = value_bytes(waiter->holder);
    waiter->values[ACQUIRE_TTL] = value_number(waiter->ttl);
    waiter->values[ACQUIRE_TICKET] = waiter->ticket ? value_number(waiter->ticket) : value_null();
    waiter->values[ACQUIRE_WAIT] = value_number(waiter->errand == ERRAND_LAST ? 0 : ALIVE);
    waiter->values[ACQUIRE_DECLARES] = value_number(queue->waits->context->declares);
}

static void acquire_plainly(struct waiter *waiter)
{
    set_acquire_values(waiter);
    submit(waiter, waiter->queue->waits->context->store, &acquire_leases, acquired);
}

static void acquire(struct waiter *waiter, enum errand errand)
{
    waiter->errand = errand;
    if (!waiter->keyed) {
        acquire_plainly(waiter);
        return;
    }
    request_unpark(waiter->request);
    idempotency_attempt(waiter->request);
}

// Who may hold the lease without knowing has to find out.
static void leave(struct waiter *waiter)
{
    if (waiter->doubtful)
        acquire(waiter, ERRAND_LAST);
    else
        give_place_up(waiter);
}

static void client_gone(void *owner)
{
    struct waiter *waiter = owner;
    take_request(waiter);
    if (waiter->errand == ERRAND_NONE)
        leave(waiter);
}

// The first in line tries now, or after the errand it is on. Before changes are told it would be too early.
static void look(struct queue *queue)
{
    struct waiter *first = queue->line;
    queue->again = first && first->errand != ERRAND_NONE;
    if (first && !queue->again && queue->registered)
        acquire(first, ERRAND_ACQUIRE);
}

static void look_by_timer(struct timer *timer)
{
    look((struct queue *)((char *)timer - offsetof(struct queue, look_timer)));
}

static void look_in(struct queue *queue, int64_t wait)
{
    int64_t soonest = wait < 0 ? 0 : wait > TRY_AT_LEAST ? TRY_AT_LEAST : wait;
    loop_timer_set(loop_of(queue), &queue->look_timer, timestamp_monotonic() + soonest + EXPIRY_MARGIN);
}

static void ask_all(struct queue *queue);

static void woken(struct interest *interest)
{
    struct queue *queue = (struct queue *)((char *)interest - offsetof(struct queue, interest));
    if (queue->keyed)
        ask_all(queue);
    look(queue);
}

static void registered(struct interest *interest)
{
    struct queue *queue = (struct queue *)((char *)interest - offsetof(struct queue, interest));
    queue->registered = true;
    woken(interest);
}

static int64_t change_in(const struct outcome *outcome)
{
    return outcome_time(outcome, 0, ACQUIRED_EXPIRES_AT) - outcome_time(outcome, 0, ACQUIRED_NOW);
}

static void expect_change(struct queue *queue, const struct outcome *outcome)
{
    look_in(queue, change_in(outcome));
}

static void granted(struct waiter *waiter, const struct outcome *outcome)
{
    struct lease lease = lease_granted(outcome, waiter->holder, waiter->ttl);
    leave_line(waiter);
    expect_change(waiter->queue, outcome);
    if (!waiter->request || request_client_left(waiter->request)) {
        give_lease_back(waiter, lease.token);
        return;
    }
    reply_lease(take_request(waiter), 201, &lease);
    waiter_end(waiter);
}

// For good: there is no such bucket, or its time is over.
static void refused(struct waiter *waiter, const struct outcome *outcome)
{
    struct queue *queue = waiter->queue;
    struct request *request = take_request(waiter);
    leave_line(waiter);
    queue->again = queue->again || outcome_number(outcome, 0, ACQUIRED_STATUS) != WRITE_LEASE_HELD;
    if (request)
        reply_not_acquired(request, queue->address.bucket, outcome);
    waiter_end(waiter);
}

static void ask(struct waiter *waiter);

static void has_place(struct waiter *waiter, int64_t ticket, int64_t wait)
{
    struct queue *queue = waiter->queue;
    if (!waiter->ticket) {
        join_line(waiter, ticket);
        queue->again = queue->again || queue->line == waiter;
        if (!queue->interested)
            listen_add(queue->waits->context->listen, &queue->interest);
        queue->interested = true;
        if (queue->registered && queue->line != waiter)
            ask(waiter);
    }
    look_in(queue, wait);
    if (!waiter->request || queue->waits->draining)
        give_place_up(waiter);
    else if (waiter->late)
        acquire(waiter, ERRAND_LAST);
}

// With the database away for a while, who is in line waits on; its place may have been passed over by then.
// What became of a try that was cut off, the next one with the same ticket is told, also when only to give
// the lease back.
static bool waits_on(const struct waiter *waiter, const struct outcome *outcome)
{
    return waiter->ticket && !waiter->late && !waiter->queue->waits->draining &&
           (outcome->kind == OUTCOME_UNKNOWN || outcome->kind == OUTCOME_UNAVAILABLE) &&
           (waiter->request || waiter->doubtful);
}

static void failed(struct waiter *waiter, const struct outcome *outcome)
{
    struct queue *queue = waiter->queue;
    look_in(queue, TRY_AFTER_FAILURE);
    if (waits_on(waiter, outcome))
        return;
    struct request *request = take_request(waiter);
    leave_line(waiter);
    if (request)
        (void)outcome_usable(request, outcome);
    waiter_end(waiter);
}

static void acquired(struct operation *operation, const struct outcome *outcome)
{
    struct waiter *waiter = operation->owner;
    struct queue *queue = waiter->queue;
    bool last = waiter->errand == ERRAND_LAST;
    queue->users++;
    waiter->errand = ERRAND_NONE;
    waiter->doubtful =
        outcome->kind == OUTCOME_UNKNOWN || (waiter->doubtful && outcome->kind != OUTCOME_ROWS);
    if (outcome->kind != OUTCOME_ROWS)
        failed(waiter, outcome);
    else if (outcome_number(outcome, 0, ACQUIRED_STATUS) == WRITE_NEW)
        granted(waiter, outcome);
    else if (outcome_number(outcome, 0, ACQUIRED_STATUS) == WRITE_LEASE_HELD && !last)
        has_place(waiter, outcome_number(outcome, 0, ACQUIRED_TICKET), change_in(outcome));
    else
        refused(waiter, outcome);
    if (queue->again)
        look(queue);
    queue_release(queue);
}

// --- with a key
// ---------------------------------------------------------------------------------------------------------

static void asked(struct operation *operation, const struct outcome *outcome);

static void submit_ask(struct keyed_waiter *keyed)
{
    struct queue *queue = keyed->waiter->queue;
    keyed->asking = true;
    keyed->again = false;
    keyed->ask_values[ASK_SCOPE] = value_bytes(keyed->name.scope);
    keyed->ask_values[ASK_KEY] = value_bytes(keyed->name.key);
    keyed->ask = (struct operation){
        .statement = &are_replies_kept,
        .bucket = queue->address.bucket,
        .key = queue->address.path,
        .values = keyed->ask_values,
        .done = asked,
        .owner = keyed->waiter,
    };
    store_submit(queue->waits->context->store, &keyed->ask);
}

// Asks whether another request with the waiter's key was served; its next try gets that reply.
static void ask(struct waiter *waiter)
{
    if (!waiter->keyed)
        return;
    if (waiter->keyed->asking)
        waiter->keyed->again = true;
    else
        submit_ask(waiter->keyed);
}

static void asked(struct operation *operation, const struct outcome *outcome)
{
    struct waiter *waiter = operation->owner;
    bool kept = outcome->kind == OUTCOME_ROWS && outcome_number(outcome, 0, ASKED_KEPT);
    waiter->keyed->asking = false;
    if (waiter->over)
        waiter_end(waiter);
    else if (kept && waiter->errand != ERRAND_NONE)
        waiter->keyed->again = true; // the try under way may have looked before
    else if (kept)
        acquire(waiter, ERRAND_ACQUIRE);
    else if (waiter->keyed->again)
        submit_ask(waiter->keyed);
}

// The first finds out by trying.
static void ask_all(struct queue *queue)
{
    struct waiter *waiter, *next;
    DL_FOREACH_SAFE(queue->line, waiter, next)
    if (waiter != queue->line)
        ask(waiter);
}

static struct waiter *waiter_of(struct keyed_wait *wait)
{
    return ((struct keyed_waiter *)wait)->waiter;
}

// The grant is committed after it, or rolled back and tried again.
static void grant_under_key(struct waiter *waiter, const struct outcome *outcome)
{
    struct request *request = waiter->request;
    struct lease lease = lease_granted(outcome, waiter->holder, waiter->ttl);
    expect_change(waiter->queue, outcome);
    if (request_client_left(request)) {
        reply_simple_problem(request, PROBLEM_UNAVAILABLE, "the client has left; nothing was done");
        return;
    }
    reply_lease(request, 201, &lease);
}

static void acquired_under_key(struct operation *operation, const struct outcome *outcome)
{
    struct waiter *waiter = operation->owner;
    struct queue *queue = waiter->queue;
    if (!outcome_usable(waiter->request, outcome))
        return;
    int64_t status = outcome_number(outcome, 0, ACQUIRED_STATUS);
    if (status == WRITE_NEW) {
        grant_under_key(waiter, outcome);
    } else if (status == WRITE_LEASE_HELD && waiter->errand != ERRAND_LAST) {
        waiter->keyed->place = outcome_number(outcome, 0, ACQUIRED_TICKET);
        waiter->keyed->change_in = change_in(outcome);
        idempotency_set_aside(waiter->request);
    } else {
        queue->again = queue->again || status != WRITE_LEASE_HELD;
        reply_not_acquired(waiter->request, queue->address.bucket, outcome);
    }
}

static void attempt(struct keyed_wait *wait)
{
    struct waiter *waiter = waiter_of(wait);
    reply_wait_applied(waiter->request, waiter->keyed->seconds);
    set_acquire_values(waiter);
    submit(waiter, context_of(waiter->request)->store, &acquire_leases, acquired_under_key);
}

static void finish_step(struct queue *queue)
{
    if (queue->again)
        look(queue);
    queue_release(queue);
}

// Waits for the next try; when the client has left already its request is gone.
static void park(struct waiter *waiter)
{
    if (!request_park(waiter->request, client_gone, waiter))
        take_request(waiter);
}

static void set_aside(struct keyed_wait *wait)
{
    struct waiter *waiter = waiter_of(wait);
    struct queue *queue = waiter->queue;
    queue->users++;
    waiter->errand = ERRAND_NONE;
    park(waiter);
    if (waiter->keyed->again)
        ask(waiter);
    has_place(waiter, waiter->keyed->place, waiter->keyed->change_in);
    finish_step(queue);
}

static bool missed(struct keyed_wait *wait)
{
    struct waiter *waiter = waiter_of(wait);
    if (!waiter->ticket || waiter->late || waiter->queue->waits->draining)
        return false;
    waiter->errand = ERRAND_NONE;
    look_in(waiter->queue, TRY_AFTER_FAILURE);
    park(waiter);
    if (!waiter->request)
        give_place_up(waiter);
    return true;
}

static void answered(struct keyed_wait *wait, bool done)
{
    struct waiter *waiter = waiter_of(wait);
    struct queue *queue = waiter->queue;
    queue->users++;
    // The next one knows nothing of the lease there is.
    queue->again = queue->again || (!done && queue->line == waiter);
    take_request(waiter);
    if (waiter->ticket && !done) {
        give_place_up(waiter);
    } else {
        leave_line(waiter);
        waiter_end(waiter);
    }
    finish_step(queue);
}

static struct keyed_waiter *keyed_new(struct waiter *waiter, int seconds)
{
    struct keyed_name name = idempotency_name(waiter->request);
    struct keyed_waiter *keyed = calloc(1, sizeof *keyed + name.scope.size + name.key.size);
    if (!keyed)
        abort();
    keyed->wait =
        (struct keyed_wait){.attempt = attempt, .aside = set_aside, .missed = missed, .over = answered};
    keyed->waiter = waiter;
    keyed->seconds = seconds;
    memcpy(keyed->name_bytes, name.scope.data, name.scope.size);
    memcpy(keyed->name_bytes + name.scope.size, name.key.data, name.key.size);
    keyed->name.scope = bytes_make(keyed->name_bytes, name.scope.size);
    keyed->name.key = bytes_make(keyed->name_bytes + name.scope.size, name.key.size);
    return keyed;
}

// --- time
// ---------------------------------------------------------------------------------------------------------------

static void time_is_up(struct timer *timer)
{
    struct waiter *waiter = (struct waiter *)((char *)timer - offsetof(struct waiter, deadline));
    waiter->late = true;
    if (waiter->errand == ERRAND_NONE)
        acquire(waiter, ERRAND_LAST);
}

// --- keeping places
// ---------------------------------------------------------------------------------------------------

static const struct statement keep_lease_waiters = {
    .name = "keep_lease_waiters",
    .sql = "select * from holdfast.keep_lease_waiters($1, $2, $3, $4, $5, $6)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE, // may be sent again
    .keys = KEYS_ANY,
    .columns = KEEP_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_INT8},
};

static void kept(struct operation *operation, const struct outcome *outcome)
{
    (void)outcome; // the next one comes soon
    struct waiter *waiter = operation->owner;
    waiter->keeping = false;
    if (waiter->over)
        waiter_end(waiter);
}

static void keep_place(struct waiter *waiter)
{
    struct queue *queue = waiter->queue;
    waiter->keeping = true;
    waiter->keep_values[KEEP_PATH] = value_bytes(queue->address.path);
    waiter->keep_values[KEEP_TICKET] = value_number(waiter->ticket);
    waiter->keep_values[KEEP_WAIT] = value_number(ALIVE);
    waiter->keep = (struct operation){
        .statement = &keep_lease_waiters,
        .bucket = queue->address.bucket,
        .key = queue->address.path,
        .values = waiter->keep_values,
        .done = kept,
        .owner = waiter,
    };
    store_submit(queue->waits->context->store, &waiter->keep);
}

static void keep_later(struct lease_waits *waits)
{
    loop_timer_set(waits->context->loop, &waits->keep_timer, timestamp_monotonic() + KEEP_EVERY);
}

static void keep_places(struct timer *timer)
{
    struct lease_waits *waits =
        (struct lease_waits *)((char *)timer - offsetof(struct lease_waits, keep_timer));
    struct queue *queue, *next;
    struct waiter *waiter;
    HASH_ITER(hh, waits->queues, queue, next)
    {
        DL_FOREACH(queue->line, waiter)
        if (!waiter->keeping)
            keep_place(waiter);
    }
    if (waits->queues)
        keep_later(waits);
}

// --- coming
// -----------------------------------------------------------------------------------------------------------

static struct queue *queue_new(struct lease_waits *waits, const struct address *address, struct bytes key)
{
    struct queue *queue = calloc(1, sizeof *queue + key.size);
    if (!queue)
        abort();
    memcpy(queue->key, key.data, key.size);
    queue->waits = waits;
    queue->address.bucket = bytes_make(queue->key, address->bucket.size);
    queue->address.path = bytes_make(queue->key + address->bucket.size + 1, address->path.size);
    queue->look_timer.fire = look_by_timer;
    queue->interest = (struct interest){
        .bucket = queue->address.bucket,
        .path = queue->address.path,
        .topic = LISTEN_LEASES,
        .registered = registered,
        .woken = woken,
    };
    if (!waits->queues)
        keep_later(waits);
    HASH_ADD_KEYPTR(hh, waits->queues, queue->key, key.size, queue);
    return queue;
}

static struct queue *queue_of(struct request *request, const struct address *address)
{
    struct lease_waits *waits = context_of(request)->lease_waits;
    size_t size = address->bucket.size + 1 + address->path.size;
    uint8_t *key = arena_alloc(&request->arena, size);
    memcpy(key, address->bucket.data, address->bucket.size);
    key[address->bucket.size] = 0xff;
    memcpy(key + address->bucket.size + 1, address->path.data, address->path.size);
    struct queue *queue;
    HASH_FIND(hh, waits->queues, key, size, queue);
    return queue ? queue : queue_new(waits, address, bytes_make(key, size));
}

static struct waiter *waiter_new(struct request *request, const struct address *address, struct bytes holder,
                                 int64_t ttl, int seconds)
{
    struct waiter *waiter = calloc(1, sizeof *waiter + holder.size);
    if (!waiter)
        abort();
    memcpy(waiter->holder_bytes, holder.data, holder.size);
    waiter->holder = bytes_make(waiter->holder_bytes, holder.size);
    waiter->ttl = ttl;
    waiter->request = request;
    waiter->queue = queue_of(request, address);
    waiter->queue->users++;
    waiter->deadline.fire = time_is_up;
    loop_timer_set(loop_of(waiter->queue), &waiter->deadline,
                   timestamp_monotonic() + (int64_t)seconds * 1000000);
    return waiter;
}

void lease_wait(struct request *request, const struct address *address, struct bytes holder, int64_t ttl,
                int seconds)
{
    if (!request_begin_wait(request))
        return;
    struct waiter *waiter = waiter_new(request, address, holder, ttl, seconds);
    reply_wait_applied(request, seconds);
    request_park(request, client_gone, waiter); // it has just come: it is there
    acquire(waiter, ERRAND_ACQUIRE);
}

void lease_wait_under_key(struct request *request, const struct address *address, struct bytes holder,
                          int64_t ttl, int seconds)
{
    if (!request_begin_wait(request))
        return;
    struct waiter *waiter = waiter_new(request, address, holder, ttl, seconds);
    waiter->keyed = keyed_new(waiter, seconds);
    waiter->errand = ERRAND_ACQUIRE;
    idempotency_wait(request, &waiter->keyed->wait);
    attempt(&waiter->keyed->wait);
}

// --- the whole
// --------------------------------------------------------------------------------------------------------

struct lease_waits *lease_waits_new(struct context *context)
{
    struct lease_waits *waits = calloc(1, sizeof *waits);
    if (!waits)
        abort();
    waits->context = context;
    waits->keep_timer.fire = keep_places;
    return waits;
}

void lease_waits_drain(struct lease_waits *waits)
{
    struct queue *queue, *next;
    struct waiter *waiter, *next_waiter;
    waits->draining = true;
    HASH_ITER(hh, waits->queues, queue, next)
    {
        queue->users++;
        DL_FOREACH_SAFE(queue->line, waiter, next_waiter)
        if (waiter->errand == ERRAND_NONE)
            leave(waiter);
        queue_release(queue);
    }
}

void lease_waits_free(struct lease_waits *waits)
{
    struct queue *queue, *next;
    struct waiter *waiter, *next_waiter;
    loop_timer_clear(waits->context->loop, &waits->keep_timer);
    HASH_ITER(hh, waits->queues, queue, next)
    {
        queue->users++;
        DL_FOREACH_SAFE(queue->line, waiter, next_waiter)
        {
            leave_line(waiter);
            struct request *request = take_request(waiter);
            if (request)
                request_unpark(request);
            waiter_end(waiter);
        }
        queue_release(queue);
    }
    free(waits);
}
