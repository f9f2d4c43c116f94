// Clients that count with an Idempotency-Key, and repeat each request until it is answered, through every
// fault.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts them beside a load (load.h), against whose replicas they ask; `seed` decides which.
void keyed_start(uint64_t seed, size_t replicas);

// Whether one of them was answered what no fault explains.
bool keyed_is_broken(void);

// Stops them, once each has its last answer, which the replicas must be ready to give. Fails the test unless
// every key was counted exactly once, and every repetition got the first answer.
void keyed_finish(void);
