// Transactions of several statements: an open one has a session of its own, and what is submitted to its
// store belongs to it.
#pragma once

#include "store/store.h"

struct session;

// The object is the caller's and must stay until the transaction ended or was refused; then it may begin
// again.
struct transaction {
    // Of those with the same name at most one is open in this process, in the order they came: others would
    // only wait for it, and hold sessions meanwhile.
    struct bytes name;
    bool patient;  // waits also while the database is away, not only for its turn
    int64_t until; // loop time until which it waits to begin; 0: for the store's timeout, and it is set then

    // One of them is called for each begin, perhaps before that returns. `begun`: operations may be submitted
    // to `store`; they come behind the BEGIN, whose success transaction_sound tells from the first outcome
    // on.
    void (*begun)(struct transaction *transaction);
    void (*refused)(struct transaction *transaction, const char *detail);
    void *owner;
    struct account *account; // of the request that waits for its end; NULL when none does
    struct store *store;     // while it is open, else NULL

    // The store's own, from here on.
    void (*ended)(struct transaction *transaction, bool committed);
    struct session *session;
    struct transaction *next;
    uint64_t hash;
};

void transaction_begin(struct store *store, struct transaction *transaction);

// Whether all that was done in it so far will be there when it commits.
bool transaction_sound(const struct transaction *transaction);

// Whether one that is not sound came to that by bad luck (its connection broke, a deadlock, a restored
// database): done again from the start it may go through.
bool transaction_unlucky(const struct transaction *transaction);

// Ends it with nothing done. It may begin again at once.
void transaction_rollback(struct transaction *transaction);

// Ends it. `ended` comes once: committed, or else it is not known whether it did.
void transaction_commit(struct transaction *transaction,
                        void (*ended)(struct transaction *transaction, bool committed));
