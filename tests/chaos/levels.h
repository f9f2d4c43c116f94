// What replicas use of memory, descriptors and sessions of PostgreSQL: after all faults no more than before
// the first.
#pragma once

#include "chaos/faults.h"

// Before there are clients, and when they have warmed the replicas up.
void levels_note_idle(const struct scene *scene);
void levels_note_warm(const struct scene *scene);

// Under the same clients, faults being over: the levels come back to those after the warm-up. The test fails
// when they do not. `replica` alone, or (LEVELS_ALL) each, and the sessions of all.
enum { LEVELS_ALL = -1 };
void levels_check_warm(const struct scene *scene, int replica);

// When the clients are gone, their descriptors are.
void levels_check_idle(const struct scene *scene);
