// Sealing what was there before its bucket was encrypted, opening what is not to be sealed any more, sealing
// anew what was sealed with another key: in the background, in steps so small that nobody waits for them.
#pragma once

#include "handlers/context.h"

struct resealer;

// Looks for such work from now on; for one worker of a process. Never without keys: NULL then.
struct resealer *resealer_start(struct context *context);

// No step is begun from now on. NULL is nothing, here and below.
void resealer_stop(struct resealer *resealer);

// When nothing of the store is under way any more.
void resealer_free(struct resealer *resealer);
