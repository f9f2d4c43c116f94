// Writes whose values are sealed. A sealed value is bound to its version, which the database gives when it
// writes the row: so the row is written first and filled then, in one transaction, and nobody sees it
// unfilled. Writes of one bucket that come meanwhile share the next transaction.
#pragma once

#include "handlers/sealed_entry.h"
#include "store/transaction.h"

struct sealed_batch;

enum sealed_verdict {
    SEALED_KEEP, // what was done is right
    SEALED_UNDO, // take it back
};

// In the memory of its request; zeroed by the caller, who sets the members above.
struct sealed_write {
    struct arena *arena;
    struct operation *operation; // whose `done` comes when all is committed, or nothing was done
    size_t size;                 // of what it is to be filled with
    bool alone;                  // it may be taken back: then it shares no transaction
    // Looks at the rows that the operation gave, and has what was written filled (sealed_write_fill).
    enum sealed_verdict (*seal)(struct sealed_write *write, const struct outcome *outcome);
    void *owner;

    // The layer's own.
    struct context *context;
    struct sealed_batch *batch; // NULL in the transaction of a keyed request
    struct sealed_write *next;
    void (*done)(struct operation *operation, const struct outcome *outcome);
    void *operation_owner;
    struct outcome outcome;
    struct held *held;
    struct store *store; // while the transaction is open
};

struct sealed_writes;

struct sealed_writes *sealed_writes_new(struct context *context);

// When no request is under way any more.
void sealed_writes_free(struct sealed_writes *writes);

// Does the operation in a transaction, a new one unless `context` has one already.
void sealed_write_submit(struct context *context, struct sealed_write *write);

// From `seal`: gives the row of this address and version its content, sealed unless `plain`.
void sealed_write_fill(struct sealed_write *write, const struct address *address, int64_t version,
                       const struct content *content, bool plain);
