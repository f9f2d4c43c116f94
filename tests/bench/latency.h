// A histogram of durations: constant cost to add to, exact to about 1.5 %.
#pragma once

#include <stdint.h>

enum {
    LATENCY_STEPS = 64, // buckets to each doubling
    LATENCY_DOUBLINGS = 36,
    LATENCY_BUCKETS = LATENCY_STEPS * LATENCY_DOUBLINGS,
};

struct latency {
    uint64_t count;
    uint64_t sum; // nanoseconds
    uint64_t buckets[LATENCY_BUCKETS];
};

// Nanoseconds; what is above some twenty minutes counts as that.
void latency_add(struct latency *latency, uint64_t nanoseconds);

// The duration (nanoseconds, the upper end of its bucket) that `share` (0 to 1) of all did not exceed; 0 for
// none.
uint64_t latency_at(const struct latency *latency, double share);

// Nanoseconds; 0 for none.
double latency_mean(const struct latency *latency);
