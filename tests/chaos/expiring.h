// Entries that expire: there for as long as was said, and absent from then on, through every fault.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts them beside a load (load.h), against whose replicas they ask; `seed` decides which.
void expiring_start(uint64_t seed, size_t replicas);

// Whether one was there too long, or gone too early.
bool expiring_is_broken(void);

// Stops them. Fails the test when something was broken.
void expiring_finish(void);
