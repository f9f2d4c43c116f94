// Frees, in the background, the rows of what is absent already.
#pragma once

#include "store/store.h"

struct sweeper;

// Begins to sweep through `store`, as long as no other replica does. Ends with sweeper_stop, before the store
// is freed; the object itself lives until the store gave its last operation back.
// `counts`, which outlive it, get what it did; with `asks` also, now and then, what still waits to be freed.
struct sweeper *sweeper_start(struct loop *loop, struct store *store, struct counts *counts, bool asks);
void sweeper_stop(struct sweeper *sweeper);

// After the store was freed.
void sweeper_free(struct sweeper *sweeper);
