// Watchers of a bucket, to whom changes must appear in the order of their versions, through every fault.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts writers and watchers beside a load (load.h), against whose replicas they ask; `seed` decides which.
void order_start(uint64_t seed, size_t replicas);

// Whether one of them was answered what no fault explains, or saw a change out of order.
bool order_is_broken(void);

// Stops them. Fails the test when something was broken.
void order_finish(void);
