// Callers of once who all want the same keys run, through every fault.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts them beside a load (load.h), against whose replicas they ask; `seed` decides which, and what becomes
// of the runs.
void once_start(uint64_t seed, size_t replicas);

// Whether one of them was answered what no fault explains.
bool once_is_broken(void);

// Stops them and reads every key's answer from each replica, which must be ready. Fails the test when a key
// had two answers, or one that was acknowledged is not there.
void once_finish(void);
