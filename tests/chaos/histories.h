// Clients that write, with conditions and without, and read the same few entries at once: their histories
// must be linearizable through every fault.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts them beside a load (load.h), against whose replicas they ask; `seed` decides which.
void histories_start(uint64_t seed, size_t replicas);

// Whether one of them was answered what no fault explains.
bool histories_are_broken(void);

// Stops them and searches each history for an order that explains it, in which what was answered as unknown
// may come at any time or never, and what was answered as not done never. Fails the test when there is none.
void histories_finish(void);
