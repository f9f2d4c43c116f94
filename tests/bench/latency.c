// Buckets of a histogram: the first 64 hold one nanosecond each, then every doubling has 64 of equal width.
#include "latency.h"

static unsigned bucket_of(uint64_t nanoseconds)
{
    if (nanoseconds < LATENCY_STEPS)
        return (unsigned)nanoseconds;
    unsigned doubling = 63 - (unsigned)__builtin_clzll(nanoseconds) - 6;
    unsigned bucket = (doubling + 1) * LATENCY_STEPS + (unsigned)((nanoseconds >> doubling) - LATENCY_STEPS);
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

static uint64_t bucket_end(unsigned bucket)
{
    if (bucket < LATENCY_STEPS)
        return bucket;
    unsigned doubling = bucket / LATENCY_STEPS - 1;
    return ((uint64_t)(bucket % LATENCY_STEPS + LATENCY_STEPS + 1) << doubling) - 1;
}

void latency_add(struct latency *latency, uint64_t nanoseconds)
{
    latency->count++;
    latency->sum += nanoseconds;
    latency->buckets[bucket_of(nanoseconds)]++;
}

uint64_t latency_at(const struct latency *latency, double share)
{
    uint64_t wanted = (uint64_t)((double)latency->count * share);
    uint64_t seen = 0;
    for (unsigned i = 0; i < LATENCY_BUCKETS && latency->count; i++) {
        seen += latency->buckets[i];
        if (seen > wanted || seen == latency->count)
            return bucket_end(i);
    }
    return 0;
}

double latency_mean(const struct latency *latency)
{
    return latency->count ? (double)latency->sum / (double)latency->count : 0;
}
