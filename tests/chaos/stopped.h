// Clients that are processes of their own, so that they can be stopped in the middle of sending, of waiting
// and of being answered, and killed.
#pragma once

#include "support/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Starts them beside a load (load.h), against whose replicas they ask; `seed` decides which.
void stopped_start(uint64_t seed, size_t replicas);

// Whether one of them was answered what no fault explains.
bool stopped_is_broken(void);

// Stops a few of them where chance finds them in the middle of something, until stopped_resume, which kills
// some of those and starts others in their place.
void stopped_stop(struct random *random);
void stopped_resume(struct random *random);

// Ends them. Fails the test when something was broken.
void stopped_finish(void);
