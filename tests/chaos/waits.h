// Clients that wait for the next version of an entry while others write it, through every fault.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts them beside a load (load.h), against whose replicas they ask; `seed` decides which.
void waits_start(uint64_t seed, size_t replicas);

// Whether one of them was answered what no fault explains, or missed a write.
bool waits_are_broken(void);

// Stops them. Fails the test when a wait slept through an acknowledged write, or saw an older version than
// one that was acknowledged before it began.
void waits_finish(void);
