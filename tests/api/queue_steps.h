// Steps of tests about queueing for leases: raw connections, since a test has many in the queue at once.
#pragma once

#include "lease_steps.h"

#include "support/raw.h"
#include "wait_steps.h"

#include <stdatomic.h>

// Asks for the lease with these preferences (header lines may follow behind CR LF).
struct raw *queue_with(const struct service *service, const char *path, const char *holder, const char *ttl,
                       const char *prefer);

// The same for so many seconds.
struct raw *queue_up(const struct service *service, const char *path, const char *holder, const char *ttl,
                     int seconds);

// Waits until exactly so many queue in the bucket.
void expect_places(PGconn *connection, const char *bucket, int64_t count);

// The reply that comes is a grant to the holder.
struct answer *expect_grant(struct raw *raw, const char *holder);

// Many who want one lease at once, each `turns` times.
struct crowd {
    const char *path;
    const char *key; // what their Idempotency-Keys begin with, when they have any
    int turns;
    atomic_int inside, most_inside, served;
};

// Counts in who was granted the lease; the reply is a grant.
void crowd_enter(struct crowd *crowd, const struct answer *grant);

// Counts it out and releases, as holder A.
void crowd_leave(struct crowd *crowd, struct http_client *client, const struct answer *grant);

// Runs `hold` in so many threads, on both replicas, each with the crowd: everybody is served, nobody beside
// another, and no place in the bucket's queues is left.
void expect_served_alone(struct crowd *crowd, const char *bucket, size_t racers,
                         void (*hold)(size_t index, void *crowd));
