// GET from a view that includes a position.
#pragma once

#include "handlers/entry_call.h"

// Answers the request, a GET or HEAD, from a view that includes the position in `text`; 503 `stale` when that
// is not reached within `Prefer: wait`, 5 s without it; 400 when it is no position.
void entry_at_least(struct request *request, const struct address *address, struct bytes text);
