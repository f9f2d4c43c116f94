// The counts of all workers of the process, and how they are told to whoever watches.
#pragma once

#include "base/buffer.h"
#include "observe/counts.h"

// A route's row as requests are counted by it; the texts must outlive the observation.
struct metrics_route {
    const char *method;
    const char *template;
};

// The bounds of what the process may hold, all workers together.
struct metrics_limits {
    uint64_t connections;
    uint64_t waits;
    uint64_t body_bytes;
    uint64_t database_queue; // operations that may wait for one role
};

struct metrics;

// Counts for so many workers, all 0. `routes` (`route_count` of them) must outlive it. Memory running out
// ends the process.
struct metrics *metrics_new(int workers, const struct metrics_route *routes, size_t route_count,
                            const struct metrics_limits *limits);

// After all workers have ended.
void metrics_free(struct metrics *metrics);

// The counts of one worker, from 0; they live as long as the whole.
struct counts *metrics_of_worker(struct metrics *metrics, int worker);

// Adds everything as text of Prometheus. `ready`: whether the process would say so of itself. From any
// thread.
void metrics_write(struct buffer *out, const struct metrics *metrics, bool ready);
