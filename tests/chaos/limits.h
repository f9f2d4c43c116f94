// Clients that use up quotas and count, through every fault: never more than the limit, no count lost.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts them beside a load (load.h), against whose replicas they ask; `seed` decides which. The replicas
// must be there.
void limits_start(uint64_t seed, size_t replicas);

// Whether one of them was answered what no fault explains.
bool limits_are_broken(void);

// Stops them and asks the replicas how it stands. Fails the test when more was granted than a limit, when
// something that was granted or counted is missing, or when more is there than was asked for.
void limits_finish(void);
