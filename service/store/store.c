// The worker's connections by role, and which of them an operation takes.
#include "store/store.h"

#include "store/connection.h"
#include "store/internal.h"
#include "store/reach.h"

#include <stdlib.h>

// The connections, by what they are for. The first ones are opened at once, and belong to being ready; the
// others when they are needed, so that a replica takes no more of the server's connections than its use asks
// for.
static const enum store_role roles[] = {ROLE_WRITE, ROLE_READ,  ROLE_LIST, ROLE_LIST,
                                        ROLE_LARGE, ROLE_ADMIN, ROLE_ASYNC};

enum { CONNECTIONS = sizeof roles / sizeof roles[0], OPENED_AT_ONCE = 3 };

// The worker's whole store.
struct pool {
    struct store store; // first: the store is the pool
    struct store_options options;
    struct connection connections[CONNECTIONS];
};

static void submit_by_role(struct store *store, struct operation *operation);

struct store *store_new(struct loop *loop, const struct store_options *options)
{
    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        abort();
    pool->options = *options;
    pool->options.choice = reach_is_choice(options->connection);
    pool->store.submit = submit_by_role;
    for (int i = 0; i < CONNECTIONS; i++)
        connection_start(&pool->connections[i], loop, &pool->options, roles[i]);
    for (int i = 0; i < OPENED_AT_ONCE; i++)
        connection_need(&pool->connections[i]);
    pool->store.transactions = transactions_start(loop, &pool->options);
    return &pool->store;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    struct pool *pool = (struct pool *)store;
    transactions_stop(store->transactions);
    for (int i = 0; i < CONNECTIONS; i++)
        connection_stop(&pool->connections[i]);
    free(pool);
}

// The least busy connection of the role: for most there is one, which keeps its operations in order.
static struct connection *connection_for(struct pool *pool, enum store_role role)
{
    struct connection *best = NULL;
    for (int i = 0; i < CONNECTIONS; i++) {
        struct connection *one = &pool->connections[i];
        if (one->role == role && (!best || one->waiting + one->calls < best->waiting + best->calls))
            best = one;
    }
    return best;
}

static void submit_by_role(struct store *store, struct operation *operation)
{
    connection_submit(connection_for((struct pool *)store, operation->statement->role), operation);
}

void store_submit(struct store *store, struct operation *operation)
{
    store->submit(store, operation);
}

void store_flush(struct store *store)
{
    struct pool *pool = (struct pool *)store;
    for (int i = 0; i < CONNECTIONS; i++)
        connection_flush(&pool->connections[i]);
    transactions_flush(store->transactions);
}

bool store_idle(const struct store *store)
{
    const struct pool *pool = (const struct pool *)store;
    for (int i = 0; i < CONNECTIONS; i++)
        if (!connection_idle(&pool->connections[i]))
            return false;
    return transactions_idle(store->transactions);
}

struct store_under_way store_under_way(const struct store *store)
{
    const struct pool *pool = (const struct pool *)store;
    struct store_under_way all = {0};
    for (int i = 0; i < CONNECTIONS; i++)
        connection_add_under_way(&pool->connections[i], &all);
    transactions_add_under_way(store->transactions, &all);
    return all;
}

void store_observe(const struct store *store)
{
    const struct pool *pool = (const struct pool *)store;
    struct store_standing standing = {0};
    for (int i = 0; i < CONNECTIONS; i++)
        connection_observe(&pool->connections[i], &standing);
    transactions_observe(store->transactions, &standing);
    struct counts *counts = pool->options.counts;
    for (int role = 0; role < COUNTED_LISTEN; role++) {
        count_set(&counts->queued[role], standing.queued[role]);
        count_set(&counts->ready[role], standing.ready[role]);
        count_set(&counts->wanted[role], standing.wanted[role]);
    }
}

bool store_ready(const struct store *store)
{
    const struct pool *pool = (const struct pool *)store;
    for (int i = 0; i < CONNECTIONS; i++)
        if (!connection_good(&pool->connections[i]))
            return false;
    return transactions_ready(store->transactions);
}
