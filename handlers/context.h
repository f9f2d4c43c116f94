// What every handler of one worker shares: the store, and what was learned about buckets and the database's
// health.
#pragma once

#include "handlers/declared_type.h"
#include "http/reply.h"
#include "http/request.h"
#include "http/server.h"
#include "store/listen.h"
#include "store/store.h"

enum {
    VALUE_LIMIT = 8 << 20,
    TYPE_HINTS = 1024,
    LOSS_HINTS = 1024,
};

struct context;
struct key_ring;
struct metrics;
struct sealed_writes;
struct session_links;

struct health {
    struct timer timer; // first: the timer is the health
    struct context *context;
    struct operation probe;
    struct value binary[2]; // what the database judges it by
    unsigned place;         // among the workers of the process
    bool probing;
    bool writable;
    int64_t asked;    // when it was last probed
    int64_t answered; // loop time of the last good answer; 0 for never
};

// By hash of a bucket's name, what type it had when last heard of. Only a guess at what to check a value for,
// and whether to seal it: the database says when it is wrong.
struct type_hint {
    uint64_t hash;
    struct declared_type declared;
};

// A request whose operations go to a transaction has a copy of it (idempotency.c), so what changes is pointed
// at.
struct context {
    struct loop *loop;
    struct store *store;
    bool within;           // the store is that of a transaction which ends with the request
    struct key_ring *keys; // NULL: nothing is sealed here
    struct sealed_writes *sealed_writes;
    struct listen *listen;
    struct entry_waits *entry_waits;
    struct lease_waits *lease_waits;
    struct once_waits *once_waits;
    struct counts *counts;   // the worker's
    struct metrics *metrics; // of all workers; NULL: nobody is told of them
    struct http_server *server;
    struct callers *callers;
    struct session_links *links; // of a request that has a session, else NULL
    bool insecure;               // whoever reaches it may come by any name
    bool declares;               // writes declare missing buckets
    bool console;                // the page /ui is served
    int64_t max_lease_ttl;       // microseconds
    struct health *health;
    struct type_hint *type_hints; // TYPE_HINTS of them
    // Hashes of names that were last heard of as ones that may lose changes: only a guess at which connection
    // to use.
    uint64_t *loses; // LOSS_HINTS of them
};

static inline struct context *context_of(const struct request *request)
{
    return request->context;
}

// Submits an operation that the request waits for, which is charged with its time.
static inline void request_submit(struct request *request, struct operation *operation)
{
    operation->account = &request->account;
    store_submit(context_of(request)->store, operation);
}

// The table of routes (routes.c), ended by a row without method.
extern const struct route routes[];
