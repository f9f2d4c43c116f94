// Many threads that begin at the same moment.
#pragma once

#include <stddef.h>

// Runs `work(index, user)` for 0 to `count` - 1, each in a thread of its own, all released together; returns
// when all are done. A thread keeps what it saw and the caller judges it.
void parallel_run(size_t count, void (*work)(size_t index, void *user), void *user);
