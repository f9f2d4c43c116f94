// The worker's connections by role, and which of them an operation takes.
#include "store/store.h"

#include "store/connection.h"

#include <stdlib.h>

struct store {
    struct store_options options;
    struct connection connections[ROLE_COUNT];
};

struct store *store_new(struct loop *loop, const struct store_options *options)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        abort();
    store->options = *options;
    for (int role = 0; role < ROLE_COUNT; role++)
        connection_start(&store->connections[role], loop, &store->options, (enum store_role)role);
    return store;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    for (int role = 0; role < ROLE_COUNT; role++)
        connection_stop(&store->connections[role]);
    free(store);
}

void store_submit(struct store *store, struct operation *operation)
{
    connection_submit(&store->connections[operation->statement->role], operation);
}

void store_flush(struct store *store)
{
    for (int role = 0; role < ROLE_COUNT; role++)
        connection_flush(&store->connections[role]);
}

bool store_idle(const struct store *store)
{
    for (int role = 0; role < ROLE_COUNT; role++)
        if (!connection_idle(&store->connections[role]))
            return false;
    return true;
}

bool store_ready(const struct store *store)
{
    return store->connections[ROLE_WRITE].state == CONNECTION_READY;
}
