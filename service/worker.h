// One worker: a thread with a loop, a listener, an HTTP server and connections to the database, sharing
// nothing.
#pragma once

#include "http/route.h"
#include "observe/metrics.h"
#include "options.h"

struct key_ring;
struct worker;

// What it is made of; all but the listener outlives it.
struct worker_parts {
    int listener; // a listening socket of the worker's own
    int place;    // among the workers, from 0
    const struct router *router;
    const char *connection; // a libpq connection string
    const char *sessions;   // one of the same database that does not lead through a pooler
    struct key_ring *keys;  // those that values are sealed with; NULL for none
    struct metrics *metrics;
};

// What all workers together may hold.
struct metrics_limits worker_limits(const struct options *options);

// NULL with a logged reason when something cannot be made.
struct worker *worker_start(const struct options *options, const struct worker_parts *parts);

// Asks the worker to drain and end; a second call hurries it. From any thread.
void worker_stop(struct worker *worker);

// Whether the worker's thread has ended. From any thread.
bool worker_ended(const struct worker *worker);

// Waits for the end and frees.
void worker_join(struct worker *worker);
