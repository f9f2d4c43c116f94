// Severed forks that must show the main data as of their creation, while it is written, through every fault.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts writers, and clients that make, read and discard forks, beside a load (load.h), against whose
// replicas they ask; `seed` decides which.
void frozen_start(uint64_t seed, size_t replicas);

// Whether a fork changed, or one of them was answered what no fault explains.
bool frozen_is_broken(void);

// Stops them. Fails the test when something was broken.
void frozen_finish(void);
