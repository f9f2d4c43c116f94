// What one worker counts of its work, without a lock: the worker alone adds, and whoever is asked for metrics
// reads.
#pragma once

#include "base/bytes.h"

#include <stdatomic.h>

// A number of one writer and any number of readers.
struct count {
    _Atomic uint64_t n;
};

static inline uint64_t count_get(const struct count *count)
{
    return atomic_load_explicit(&count->n, memory_order_relaxed);
}

static inline void count_set(struct count *count, uint64_t n)
{
    atomic_store_explicit(&count->n, n, memory_order_relaxed);
}

static inline void count_add(struct count *count, uint64_t n)
{
    count_set(count, count_get(count) + n);
}

enum { HISTOGRAM_BOUNDS = 18 };

// The upper bounds of a histogram's buckets, ascending, in the unit of what is counted; a base unit, a second
// or a byte, has `scale` of them.
struct histogram_bounds {
    int count;
    uint64_t scale;
    uint64_t most[HISTOGRAM_BOUNDS];
};

extern const struct histogram_bounds bounds_duration; // microseconds: 100 us to 10 s
extern const struct histogram_bounds bounds_wait;     // microseconds: 10 ms to 300 s
extern const struct histogram_bounds bounds_batch;    // operations: 1 to 256
extern const struct histogram_bounds bounds_size;     // bytes: 16 to 16 MiB

struct histogram {
    struct count within[HISTOGRAM_BOUNDS + 1]; // the last has what is above all bounds
    struct count sum;
};

// `value` is in the unit of the bounds.
static inline void histogram_add(struct histogram *histogram, const struct histogram_bounds *bounds,
                                 uint64_t value)
{
    int bucket = 0;
    while (bucket < bounds->count && value > bounds->most[bucket])
        bucket++;
    count_add(&histogram->within[bucket], 1);
    count_add(&histogram->sum, value);
}

// The statuses that the service answers with; the first stands for no answer, since the client had left.
enum { STATUSES = 24 };
extern const uint16_t counted_statuses[STATUSES];

// Requests of one method on one route.
struct route_counts {
    struct count statuses[STATUSES];
    struct count others; // of any other status
    struct histogram duration;
};

// Where a request spent its time.
enum request_part {
    PART_RECEIVED, // until its body was there
    PART_QUEUED,   // its operations waited for a connection to the database
    PART_DATABASE, // they were with the database
    PART_REPLY,    // from the last answer of the database until the reply was sent
    REQUEST_PARTS,
};

// What there was no room for, so that a request got 503 or a connection was closed at once.
enum capacity {
    CAPACITY_CONNECTIONS,
    CAPACITY_ADDRESS_CONNECTIONS,
    CAPACITY_WAITS,
    CAPACITY_TOKEN_WAITS,
    CAPACITY_BODY_MEMORY,
    CAPACITY_DATABASE_QUEUE,
    CAPACITIES,
};

// The connections to the database, in the order of enum store_role, and the one that listens.
enum { COUNTED_LISTEN = 7, COUNTED_ROLES };
extern const char *const counted_role_names[COUNTED_ROLES];

// What became of a call that the database refused.
enum call_refusal {
    CALL_REPEATED, // as it was: a deadlock, a plan that no longer fits
    CALL_SPLIT,    // its operations go one by one
    CALL_PUT_OFF,  // its requests got 503
    CALL_FAILED,   // they got 500
    CALL_REFUSALS,
};

// Whom a notification or the clock had look again, in the order of counted_topic().
enum { COUNTED_TOPICS = 4 };

enum lease_event { LEASE_GRANTED, LEASE_RENEWED, LEASE_RELEASED, LEASE_REFUSED, LEASE_EVENTS };

enum limiter_refusal {
    REFUSED_COUNTER, // it would have overflowed
    REFUSED_RATE_LIMIT,
    REFUSED_RATE_GATE,
    REFUSED_QUOTA,
    LIMITER_REFUSALS,
};

// The methods that requests without a route are told apart by; the last stands for all others.
enum { METHODS = 8 };
extern const char *const counted_method_names[METHODS];

struct counts {
    size_t routes;
    // Two for each route, the second for HEAD, then one for each method of requests without a route.
    struct route_counts *by_route;

    struct histogram parts[REQUEST_PARTS];
    struct histogram waits; // requests that waited for what others do, from first to last
    struct histogram request_bytes;
    struct histogram reply_bytes;
    struct histogram value_bytes; // of values that were written
    struct count slow_requests;
    struct count accepted;
    struct count capacity_refusals[CAPACITIES];

    struct count round_trips[COUNTED_ROLES];
    struct histogram batches[COUNTED_ROLES];
    struct histogram calls[COUNTED_ROLES];
    struct count call_refusals[CALL_REFUSALS];
    struct count unknown_outcomes; // operations
    struct count writing_calls;    // that were answered
    struct count losses[COUNTED_ROLES];
    struct count reconnects[COUNTED_ROLES];

    struct count notifications; // of changes, that the listening connection heard
    struct count wake_ups[COUNTED_TOPICS];

    struct count sweeps;
    struct count swept;

    struct count leases[LEASE_EVENTS];
    struct count limiter_refusals[LIMITER_REFUSALS];

    // As things stood when the worker's last turn ended.
    struct count connections;
    struct count parked;
    struct count body_bytes;
    struct count queued[COUNTED_ROLES];
    struct count ready[COUNTED_ROLES];  // connections
    struct count wanted[COUNTED_ROLES]; // connections, ready or not
    struct count waited_buckets;        // whose writers are asked to tell of changes

    // What the database was last asked about the rows that wait to be freed; asked_at 0: never.
    struct count backlog_asked_at; // by timestamp_monotonic()
    struct count backlog_lag;      // microseconds
    struct count backlog_clears;
    struct count leases_held;
};

// Which counts a request's are: `route` is its place in the table, or -1 when it has none.
struct route_counts *counts_of_route(struct counts *counts, int route, struct bytes method);

// Adds one request that was answered with `status` (0: not at all).
void count_status(struct route_counts *counts, int status);

// The place in wake_ups of a topic's letter (store/listen.h).
int counted_topic(char topic);
