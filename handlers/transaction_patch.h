// What the patches of a transaction make of the entries as they were read: JSON text is never taken apart in
// the database, so a patch becomes a put, and a transaction goes through only if the entries are still what
// was read.
#pragma once

#include "handlers/transaction_input.h"
#include "handlers/view_call.h"

// An entry that a patch is about, as it was read, and as the operations so far leave it.
struct patched_entry {
    bool was_live;
    int64_t version;
    bool live;
    struct bytes value;
    struct bytes content_type;
    struct bytes metadata;
};

struct transaction_patch {
    struct address *addresses; // of the distinct entries that patches are about
    size_t count;
    struct patched_entry *entries;
};

// Finds the entries that are patched, and says of each operation which of them it is about. In the request's
// arena.
void transaction_patch_find(struct request *request, struct transaction_input *input,
                            struct transaction_patch *patch);

// Makes the content of every patch from a complete view of those entries, whose rows must live until the
// transaction is done; one that cannot be done is marked as refused, with the problem. So is made
// what is added to sealed values. False when one of the entries does not open: that is replied then.
bool transaction_patch_make(struct request *request, struct transaction_input *input,
                            struct transaction_patch *patch, const struct outcome *viewed);

// Gives back what was made.
void transaction_patch_free(struct transaction_input *input);
