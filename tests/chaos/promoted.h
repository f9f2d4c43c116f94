// Clients that write through continuous forks and promote or discard them, through every fault: what a fork
// wrote comes as a whole or not at all.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Makes what they count and starts them beside a load (load.h), against whose replicas they ask; `seed`
// decides which. The replicas must be there.
void promoted_start(uint64_t seed, size_t replicas);

// Whether one of them saw a part of a fork, or was answered what no fault explains.
bool promoted_is_broken(void);

// Stops them and reads through each replica, which must be ready. Fails the test when what was promoted is
// not there, or only in part, when something is there that was not promoted, or when a promotion that had to
// refuse was done.
void promoted_finish(void);
