// A worker's way to PostgreSQL: operations go in, gathered calls go out, each operation gets its own outcome.
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "loop/loop.h"
#include "observe/account.h"
#include "observe/counts.h"
#include "store/statement.h"

struct store;
struct outcome;

enum { OPERATION_ITEMS = 2000 };

// One column of one operation. Views stay the caller's until the operation is done.
struct value {
    bool given; // false is NULL
    int64_t number;
    double real; // COLUMN_FLOAT8
    struct bytes bytes;
};

static inline struct value value_number(int64_t number)
{
    return (struct value){.given = true, .number = number};
}

static inline struct value value_real(double real)
{
    return (struct value){.given = true, .real = real};
}

static inline struct value value_bytes(struct bytes bytes)
{
    return (struct value){.given = true, .bytes = bytes};
}

static inline struct value value_null(void)
{
    return (struct value){0};
}

// One row of an operation of STATEMENT_GROUPED.
struct item {
    struct bytes bucket;
    struct bytes key; // the path, for the rule of keys
    bool writes;

    uint64_t key_hash; // the store's own
};

// One request for one statement. The object and all it points to are the caller's (a request's arena) and
// must stay until `done` was called, which happens exactly once, perhaps before store_submit returns.
struct operation {
    const struct statement *statement;
    struct bytes bucket; // STATEMENT_SHARED: the bucket's name
    struct bytes key;    // STATEMENT_SHARED: the path, for the rule of keys
    struct value
        *values; // statement->columns of them; STATEMENT_GROUPED: so many for each item, one after the other
    struct item *items; // STATEMENT_GROUPED: 1 to OPERATION_ITEMS
    uint16_t item_count;
    bool apart;     // STATEMENT_GROUPED: travels alone
    bool collapses; // a later one of the same key may stand for it, when that one collapses as well
    void (*done)(struct operation *operation, const struct outcome *outcome);
    void *owner;
    struct account
        *account; // of the request it is for; NULL when it is for none. Lives as long as the operation

    // The store's own, from here on.
    struct operation *next;
    struct operation *stands_for; // the earlier operation that this one collapsed onto itself
    uint64_t key_hash;
    int64_t submitted;   // loop time
    int64_t waits_since; // the same, or when it came back from a call that failed
    uint64_t turn;       // order of arrival over all statements of a connection
    size_t size;
    uint16_t ordinal; // in its call, from 1
    uint8_t attempts;
    bool alone; // its call failed once: run it by itself, so that only the culprit fails
};

enum outcome_kind {
    OUTCOME_ROWS,
    OUTCOME_UNAVAILABLE, // nothing was done
    OUTCOME_UNKNOWN,     // sent, and the connection broke before the answer
    OUTCOME_FAILED,      // the database refused it: a fault of ours, logged
};

struct outcome {
    enum outcome_kind kind;
    int rows;           // STATEMENT_SHARED: 1; STATEMENT_GROUPED: 0 or more
    int row;            // the first of them
    int behind;         // this operation collapsed: its version is the row's less this
    bool first;         // of those that collapsed, the one that came first (also when none did)
    const char *detail; // for OUTCOME_FAILED and OUTCOME_UNAVAILABLE: a line without values, may be NULL
    struct held *result;
};

// Reading a row: `row` counts from 0 up to outcome->rows - 1, columns from 0. Views live until `done`
// returns, unless the result is held.
bool outcome_null(const struct outcome *outcome, int row, int column);
int64_t outcome_number(const struct outcome *outcome, int row,
                       int column); // bool, int2, int4, int8; 0 for NULL
int64_t outcome_time(const struct outcome *outcome, int row, int column); // microseconds since 1970
struct bytes outcome_bytes(const struct outcome *outcome, int row, int column);

// An int8[] without nulls into `numbers` (room for `room`). Gives how many were there and fit; 0 for NULL.
int outcome_numbers(const struct outcome *outcome, int row, int column, int64_t *numbers, int room);

// Keeps the result's memory until store_release, so that a large value is sent from where libpq put it.
struct held *outcome_hold(const struct outcome *outcome);
void held_release(struct held *held);

struct store_options {
    const char *connection; // libpq connection string; must outlive the store
    int64_t timeout;        // microseconds after which an unanswered call counts as a broken connection
    unsigned queue_limit;   // operations waiting in one connection before more are refused as unavailable
    bool choice;            // the address names several servers: the one that takes writes is wanted
    // Comes, unless it is NULL, for each entry that a committed call may have changed, before the call's
    // operations are done.
    void (*changed)(void *user, struct bytes bucket, struct bytes path);
    void *user;
    bool pooled; // `connection` leads through a pooler: the next transaction may be in another session
    struct counts *counts; // what the store counts; outlives it
    int64_t slow;          // microseconds beyond which a call gets a line in the log; 0: none does
    int worker;            // what the sessions are told apart by in the database
};

// Starts connecting at once; never blocks, never fails for the database's sake.
struct store *store_new(struct loop *loop, const struct store_options *options);

// Every operation must be done before (see store_idle). Closes the connections.
void store_free(struct store *store);

void store_submit(struct store *store, struct operation *operation);

// Sends what has gathered. Once at the end of each turn.
void store_flush(struct store *store);

// Whether no operation waits or is under way.
bool store_idle(const struct store *store);

// What was sent and is not answered yet.
struct store_under_way {
    unsigned operations;
    bool writes; // one of them waits for a commit
};

struct store_under_way store_under_way(const struct store *store);

// Tells the counts how things stand: what waits for which connections, and which are there.
void store_observe(const struct store *store);

// Whether every connection is there, so that each kind of request would be taken now.
bool store_ready(const struct store *store);
