// Frees, in the background, the rows of what is absent already.
#pragma once

#include "store/store.h"

struct sweeper;

// Begins to sweep through `store`, as long as no other replica does. Ends with sweeper_stop, before the store
// is freed; the object itself lives until the store gave its last operation back.
struct sweeper *sweeper_start(struct loop *loop, struct store *store);
void sweeper_stop(struct sweeper *sweeper);

// After the store was freed.
void sweeper_free(struct sweeper *sweeper);
