// Clients that pass through rate gates, through every fault: never more than the most in a window.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts them beside a load (load.h), against whose replicas they ask; `seed` decides which.
void gates_start(uint64_t seed, size_t replicas);

// Whether one of them was answered what no fault explains.
bool gates_are_broken(void);

// Stops them and looks at all passes. Fails the test when more passed in a window than might, when a pass was
// forgotten and given again, or when a window began before the last one was over.
void gates_finish(void);
