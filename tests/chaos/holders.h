// Holders of a lease who renew it, come late, and count under its fence, through every fault.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts them beside a load (load.h), against whose replicas they ask; `seed` decides which.
void holders_start(uint64_t seed, size_t replicas);

// Whether one of them was answered what no fault explains.
bool holders_are_broken(void);

// Stops them. Fails the test when two held the lease at one time of the database, tokens did not grow with
// it, or a write that a fence let through was lost or came from a former holder.
void holders_finish(void);
