// How much waits to be freed, and for how long: asked of the database now and then, for who watches.
#pragma once

#include "store/store.h"

struct backlog;

// Asks through `store` and tells `counts`, both of which outlive it. Nothing is asked by itself.
struct backlog *backlog_new(struct loop *loop, struct store *store, struct counts *counts);

// Asks, unless that was done within the last 15 seconds.
void backlog_look(struct backlog *backlog);

// After the store was freed. NULL is fine.
void backlog_free(struct backlog *backlog);
