// A few sessions, taken in turn: a transaction waits for one, begins on it, and leaves it as it was.
#include "store/transaction.h"

#include "base/timestamp.h"
#include "store/connection.h"
#include "store/internal.h"

#include <stdlib.h>

enum {
    SESSIONS = 4,
    WAITING_MOST = 1000,
    LOOK_EVERY = 50 * 1000, // at who has waited too long
};

struct session {
    struct store store; // first: the store that operations of its transaction go to is the session
    struct connection connection;
    struct transactions *all;
    struct transaction *transaction; // the open one
    bool busy;                       // one is open, or its end is under way
    bool began;
    unsigned losses; // of the connection when it began
    struct operation begin;
    struct operation end;
};

struct transactions {
    struct timer timer; // first: the timer is the whole
    struct loop *loop;
    const struct store_options *options;
    struct session sessions[SESSIONS];
    struct transaction *head; // those that wait, in the order they came
    struct transaction **tail;
    unsigned waiting;
    bool stopping;
};

#define COMMAND(text) .name = text, .sql = text, .form = STATEMENT_ALONE, .role = ROLE_TRANSACTION

static const struct statement begin_statement = {COMMAND("begin"), .begins = true};
static const struct statement rollback_statement = {COMMAND("rollback")};
static const struct statement commit_statement = {COMMAND("commit"), .writes = true};

// --- one session
// ----------------------------------------------------------------------------------------------------

// Whether the connection is still the one that the transaction began on.
static bool same_connection(const struct session *session)
{
    return session->losses == session->connection.losses;
}

static void submit_to_session(struct store *store, struct operation *operation)
{
    struct session *session = (struct session *)store;
    if (!session->transaction || !same_connection(session))
        operation_finish(operation, OUTCOME_UNAVAILABLE, "the connection to the database broke");
    else
        connection_submit(&session->connection, operation);
}

static void begin_done(struct operation *operation, const struct outcome *outcome)
{
    struct session *session = operation->owner;
    session->began = outcome->kind == OUTCOME_ROWS;
}

static void start(struct session *session, struct transaction *transaction)
{
    session->busy = true;
    session->began = false;
    session->losses = session->connection.losses;
    session->connection.failed = false;
    session->connection.worth_again = false;
    session->transaction = transaction;
    session->begin = (struct operation){.statement = &begin_statement, .done = begin_done, .owner = session};
    transaction->session = session;
    transaction->store = &session->store;
    store_submit(&session->store, &session->begin);
    transaction->begun(transaction);
}

static void detach(struct transaction *transaction)
{
    transaction->session->transaction = NULL;
    transaction->session = NULL;
    transaction->store = NULL;
}

// --- taking turns
// ---------------------------------------------------------------------------------------------------

static struct session *free_session(struct transactions *all)
{
    for (int i = 0; i < SESSIONS; i++) {
        struct session *session = &all->sessions[i];
        if (!session->busy && session->connection.state == CONNECTION_READY && !session->connection.leaving)
            return session;
    }
    return NULL;
}

static bool name_is_open(const struct transactions *all, const struct transaction *transaction)
{
    for (int i = 0; i < SESSIONS; i++) {
        const struct transaction *open = all->sessions[i].transaction;
        if (open && open->hash == transaction->hash && bytes_equal(open->name, transaction->name))
            return true;
    }
    return false;
}

static struct transaction *unlink_waiting(struct transactions *all, struct transaction **link)
{
    struct transaction *transaction = *link;
    *link = transaction->next;
    if (!*link)
        all->tail = link;
    transaction->next = NULL;
    all->waiting--;
    return transaction;
}

static struct transaction *take_next(struct transactions *all)
{
    for (struct transaction **link = &all->head; *link; link = &(*link)->next)
        if (!name_is_open(all, *link))
            return unlink_waiting(all, link);
    return NULL;
}

// As many sessions are being opened as transactions wait, those not counted that may never come.
static void open_session(struct transactions *all)
{
    unsigned opening = 0;
    for (int i = 0; i < SESSIONS; i++) {
        struct connection *connection = &all->sessions[i].connection;
        if (connection->state == CONNECTION_UNUSED && opening < all->waiting) {
            connection_need(connection);
            return;
        }
        opening += !connection_good(connection) && connection_patient(connection);
    }
}

static void start_waiting(struct transactions *all)
{
    struct session *session;
    while (all->head && (session = free_session(all))) {
        struct transaction *next = take_next(all);
        if (!next)
            return;
        start(session, next);
    }
    if (all->head)
        open_session(all);
}

static void release(struct session *session)
{
    session->busy = false;
    start_waiting(session->all);
}

static bool reachable(const struct transactions *all)
{
    for (int i = 0; i < SESSIONS; i++)
        if (connection_patient(&all->sessions[i].connection))
            return true;
    return false;
}

// Why it waits no longer; NULL while it does.
static const char *waited_enough(const struct transactions *all, const struct transaction *transaction)
{
    if (all->stopping)
        return "the service is shutting down";
    if (!transaction->patient && !reachable(all))
        return "the database cannot be reached";
    if (loop_now(all->loop) >= transaction->until)
        return "other requests took too long";
    return NULL;
}

// Each refusal may have anything follow, so the list is looked at from its head again.
static void refuse_late(struct transactions *all)
{
    struct transaction **link = &all->head;
    while (*link) {
        const char *reason = waited_enough(all, *link);
        if (!reason) {
            link = &(*link)->next;
            continue;
        }
        struct transaction *transaction = unlink_waiting(all, link);
        transaction->refused(transaction, reason);
        link = &all->head;
    }
}

static void look(struct timer *timer)
{
    struct transactions *all = (struct transactions *)timer;
    refuse_late(all);
    start_waiting(all);
    if (all->head)
        loop_timer_set(all->loop, timer, timestamp_monotonic() + LOOK_EVERY);
}

void transaction_begin(struct store *store, struct transaction *transaction)
{
    struct transactions *all = store->transactions;
    transaction->hash = bytes_hash(transaction->name, 0);
    transaction->next = NULL;
    transaction->session = NULL;
    transaction->store = NULL;
    if (!transaction->until)
        transaction->until = loop_now(all->loop) + all->options->timeout;
    const char *reason = waited_enough(all, transaction);
    if (!reason && all->waiting >= WAITING_MOST) {
        count_add(&all->options->counts->capacity_refusals[CAPACITY_DATABASE_QUEUE], 1);
        reason = "too many requests wait for the database";
    }
    if (reason) {
        transaction->refused(transaction, reason);
        return;
    }
    *all->tail = transaction;
    all->tail = &transaction->next;
    all->waiting++;
    start_waiting(all);
    if (all->head && !all->timer.slot)
        loop_timer_set(all->loop, &all->timer, timestamp_monotonic() + LOOK_EVERY);
}

// --- ending
// ---------------------------------------------------------------------------------------------------------

bool transaction_sound(const struct transaction *transaction)
{
    const struct session *session = transaction->session;
    return session->began && same_connection(session) && !session->connection.failed;
}

bool transaction_unlucky(const struct transaction *transaction)
{
    const struct session *session = transaction->session;
    return !same_connection(session) || (session->connection.failed && session->connection.worth_again);
}

// A session that may still be in a transaction must not begin another one: its effects would come along.
static void leave_clean(struct session *session, const struct outcome *outcome)
{
    if (outcome->kind != OUTCOME_ROWS && same_connection(session))
        connection_renew(&session->connection);
}

static void rolled_back(struct operation *operation, const struct outcome *outcome)
{
    struct session *session = operation->owner;
    leave_clean(session, outcome);
    release(session);
}

void transaction_rollback(struct transaction *transaction)
{
    struct session *session = transaction->session;
    detach(transaction);
    if (!same_connection(session)) {
        release(session);
        return;
    }
    session->end =
        (struct operation){.statement = &rollback_statement, .done = rolled_back, .owner = session};
    connection_submit(&session->connection, &session->end);
}

static void committed(struct operation *operation, const struct outcome *outcome)
{
    struct session *session = operation->owner;
    struct transaction *transaction = session->transaction;
    bool done = outcome->kind == OUTCOME_ROWS && transaction_sound(transaction);
    detach(transaction);
    leave_clean(session, outcome);
    release(session);
    transaction->ended(transaction, done);
}

void transaction_commit(struct transaction *transaction,
                        void (*ended)(struct transaction *transaction, bool committed))
{
    struct session *session = transaction->session;
    transaction->ended = ended;
    session->end = (struct operation){
        .statement = &commit_statement, .done = committed, .owner = session, .account = transaction->account};
    store_submit(&session->store, &session->end);
}

// --- the whole
// ------------------------------------------------------------------------------------------------------

struct transactions *transactions_start(struct loop *loop, const struct store_options *options)
{
    struct transactions *all = calloc(1, sizeof *all);
    if (!all)
        abort();
    all->timer.fire = look;
    all->loop = loop;
    all->options = options;
    all->tail = &all->head;
    for (int i = 0; i < SESSIONS; i++) {
        all->sessions[i].store.submit = submit_to_session;
        all->sessions[i].all = all;
        connection_start(&all->sessions[i].connection, loop, options, ROLE_TRANSACTION);
    }
    return all;
}

void transactions_stop(struct transactions *all)
{
    all->stopping = true;
    refuse_late(all);
    for (int i = 0; i < SESSIONS; i++)
        connection_stop(&all->sessions[i].connection);
    loop_timer_clear(all->loop, &all->timer);
    free(all);
}

void transactions_flush(struct transactions *all)
{
    if (all->head)
        start_waiting(all);
    for (int i = 0; i < SESSIONS; i++)
        connection_flush(&all->sessions[i].connection);
}

bool transactions_idle(const struct transactions *all)
{
    for (int i = 0; i < SESSIONS; i++)
        if (all->sessions[i].busy)
            return false;
    return !all->head;
}

void transactions_add_under_way(const struct transactions *all, struct store_under_way *sum)
{
    for (int i = 0; i < SESSIONS; i++)
        connection_add_under_way(&all->sessions[i].connection, sum);
}

void transactions_observe(const struct transactions *all, struct store_standing *standing)
{
    for (int i = 0; i < SESSIONS; i++)
        connection_observe(&all->sessions[i].connection, standing);
    standing->queued[ROLE_TRANSACTION] += all->waiting;
}

bool transactions_ready(const struct transactions *all)
{
    for (int i = 0; i < SESSIONS; i++)
        if (!connection_good(&all->sessions[i].connection))
            return false;
    return true;
}
