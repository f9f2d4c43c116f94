// What every handler of one worker shares: the store, and what was learned about buckets and the database's
// health.
#pragma once

#include "http/reply.h"
#include "http/request.h"
#include "http/server.h"
#include "store/store.h"

enum {
    VALUE_LIMIT = 8 << 20,
    TYPE_HINTS = 1024,
};

struct health {
    struct timer timer;
    struct operation probe;
    struct value none[1];
    bool probing;
    bool writable;
    int64_t answered; // loop time of the last good answer; 0 for never
};

struct context {
    struct loop *loop;
    struct store *store;
    struct http_server *server;
    bool declares; // writes declare missing buckets
    struct health health;
    // By hash of a bucket's name, what type it had when last heard of. Only a guess at what to check a value
    // for: the database says when it is wrong.
    struct {
        uint64_t hash;
        int type;
    } type_hints[TYPE_HINTS];
};

static inline struct context *context_of(const struct request *request)
{
    return request->context;
}

// The table of routes (routes.c), ended by a row without method.
extern const struct route routes[];
