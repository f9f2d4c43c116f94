// What the files of this room share and nobody else sees: what takes operations, and the sessions of
// transactions.
#pragma once

#include "store/store.h"

struct transactions;

// How all connections stand, by role.
struct store_standing {
    uint64_t queued[COUNTED_ROLES]; // operations that wait
    uint64_t ready[COUNTED_ROLES];  // connections
    uint64_t wanted[COUNTED_ROLES];
};

// Something that takes operations: all of a worker's connections, or the session of one transaction.
struct store {
    void (*submit)(struct store *store, struct operation *operation);
    struct transactions
        *transactions; // NULL in one that belongs to a transaction: there are none within another
};

// A worker's sessions for transactions, which connect at once. `options` must outlive them.
struct transactions *transactions_start(struct loop *loop, const struct store_options *options);

// Ends every transaction and every operation in one, and frees.
void transactions_stop(struct transactions *transactions);

// As store_flush, store_idle and store_ready.
void transactions_flush(struct transactions *transactions);
bool transactions_idle(const struct transactions *transactions);
bool transactions_ready(const struct transactions *transactions);

// As connection_add_under_way, of all sessions.
void transactions_add_under_way(const struct transactions *transactions, struct store_under_way *sum);

// Adds its connections, and the transactions that wait for one.
void transactions_observe(const struct transactions *transactions, struct store_standing *standing);
