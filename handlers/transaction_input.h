// Transactions as clients write them, taken apart into checks and operations.
#pragma once

#include "base/buffer.h"
#include "handlers/entry_call.h"
#include "handlers/item_input.h"

// In the order of migrations/functions/transactions.sql.
enum transaction_op {
    TRANSACT_CHECK,
    TRANSACT_PUT,
    TRANSACT_DELETE,
    TRANSACT_TAKE,
    TRANSACT_ADD,
    TRANSACT_EXPIRY,
    TRANSACT_REFUSE, // what is refused already when all before it holds
    TRANSACT_PATCH,  // becomes a put, or what is refused
};

struct transaction_item {
    struct item_place place;
    enum transaction_op op;
    struct address address;
    int conditions; // as precondition.h has them
    int64_t if_version;
    struct content content; // of a put; of a patch what it makes
    struct declared_type checked;
    struct expiry expiry;
    struct value integer; // of an add
    struct value real;
    struct bytes patch;
    bool upserts;
    bool continues;            // such a sum keeps the expiry that the entry has
    bool sums;                 // an add whose sum is made here, since the value is sealed
    bool opens;                // a take whose value is sealed: it is taken only if it opens
    struct stored_entry taken; // what was taken, opened

    int patched;            // which of the entries that are patched it is about, from 0; -1: none
    struct buffer made;     // what a patch made; to be freed
    struct problem refusal; // of a patch that cannot be done
    bool refused;
};

struct transaction_input {
    struct transaction_item *checks;
    size_t check_count;
    struct transaction_item *operations;
    size_t operation_count;
};

// Reads the request's body; replies and gives false when something is wrong. All is in the request's arena.
bool transaction_input_read(struct request *request, struct transaction_input *input);
