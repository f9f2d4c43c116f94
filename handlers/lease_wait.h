// Queueing for a lease that somebody holds: first come, first served, over all replicas.
#pragma once

#include "handlers/address.h"

struct lease_waits;

// The queues of one worker; `context` must outlive them.
struct lease_waits *lease_waits_new(struct context *context);

// After the store was freed. Requests that still wait are left to the server without an answer.
void lease_waits_free(struct lease_waits *waits);

// Answers everybody who queues with 503, once their places are given up, so that nothing is granted to them
// later. For a service that begins to stop.
void lease_waits_drain(struct lease_waits *waits);

// Acquires for `holder` and `ttl` microseconds, and queues up to so many seconds (1 to 300) when that cannot
// be at once: replies 201, `lease_held` when the time is up, or with the problem.
void lease_wait(struct request *request, const struct address *address, struct bytes holder, int64_t ttl,
                int seconds);

// The same from inside the transaction of a request with an Idempotency-Key, which waits without one.
void lease_wait_under_key(struct request *request, const struct address *address, struct bytes holder,
                          int64_t ttl, int seconds);
