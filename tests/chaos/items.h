// Clients that put items in, move, copy and take them out, through every fault: none comes out twice, none is
// lost.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts them beside a load (load.h), against whose replicas they ask; `seed` decides which.
void items_start(uint64_t seed, size_t replicas);

// Whether an item came out twice, or one of them was answered what no fault explains.
bool items_are_broken(void);

// Stops them and reads through each replica, which must be ready, what remains. Fails the test when an item
// came out that was never in, came out and is still there, is there twice, or is missing although all
// removals among which it was have an outcome.
void items_finish(void);
