// The worker's connections by role, and which of them an operation takes.
#include "store/store.h"

#include "store/connection.h"

#include <stdlib.h>

// The connections, by what they are for; the roles' order in it does not matter.
static const enum store_role roles[] = {ROLE_WRITE, ROLE_READ, ROLE_LARGE, ROLE_LIST, ROLE_LIST, ROLE_ADMIN};

enum { CONNECTIONS = sizeof roles / sizeof roles[0] };

struct store {
    struct store_options options;
    struct connection connections[CONNECTIONS];
};

struct store *store_new(struct loop *loop, const struct store_options *options)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        abort();
    store->options = *options;
    for (int i = 0; i < CONNECTIONS; i++)
        connection_start(&store->connections[i], loop, &store->options, roles[i]);
    return store;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    for (int i = 0; i < CONNECTIONS; i++)
        connection_stop(&store->connections[i]);
    free(store);
}

// The least busy connection of the role: for most there is one, which keeps its operations in order.
static struct connection *connection_for(struct store *store, enum store_role role)
{
    struct connection *best = NULL;
    for (int i = 0; i < CONNECTIONS; i++) {
        struct connection *one = &store->connections[i];
        if (one->role == role && (!best || one->waiting + one->calls < best->waiting + best->calls))
            best = one;
    }
    return best;
}

void store_submit(struct store *store, struct operation *operation)
{
    connection_submit(connection_for(store, operation->statement->role), operation);
}

void store_flush(struct store *store)
{
    for (int i = 0; i < CONNECTIONS; i++)
        connection_flush(&store->connections[i]);
}

bool store_idle(const struct store *store)
{
    for (int i = 0; i < CONNECTIONS; i++)
        if (!connection_idle(&store->connections[i]))
            return false;
    return true;
}

bool store_ready(const struct store *store)
{
    for (int i = 0; i < CONNECTIONS; i++)
        if (store->connections[i].state != CONNECTION_READY)
            return false;
    return true;
}
