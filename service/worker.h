// One worker: a thread with a loop, a listener, an HTTP server and connections to the database, sharing
// nothing.
#pragma once

#include "http/route.h"
#include "options.h"

struct worker;

// `listener` is a listening socket of the worker's own. `connection` is a libpq connection string that
// outlives it. NULL with a logged reason when something cannot be made.
struct worker *worker_start(const struct options *options, const struct router *router,
                            const char *connection, int listener);

// Asks the worker to drain and end; a second call hurries it. From any thread.
void worker_stop(struct worker *worker);

// Whether the worker's thread has ended. From any thread.
bool worker_ended(const struct worker *worker);

// Waits for the end and frees.
void worker_join(struct worker *worker);
