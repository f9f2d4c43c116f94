// Clients whose writes belong to sessions, through every fault: a session lists what was done, and no more.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts them beside a load (load.h), against whose replicas they ask; `seed` decides which.
void linked_start(uint64_t seed, size_t replicas);

// Whether a list lacked a write or had one too many, or one of them was answered what no fault explains.
bool linked_is_broken(void);

// Stops them and reads all lists, which the replicas must be ready to give. Fails the test when an
// acknowledged write is missing in one, when a refused one is in it, or when of a write whose outcome was not
// known there is the link and not the effect, or the effect and not the link.
void linked_finish(void);
