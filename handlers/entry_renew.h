// Renewal of entries with an idle term, by reads.
#pragma once

#include "handlers/entry_call.h"

// Looks at a live entry that was read by `call`. When a renewal is due it is queued. True when so little of
// the term is left that the reply must wait for it: the call's `done` will come again, with a new read once
// the renewal is durable, or with the outcome of a renewal that failed. Else `renewed_to` says what the reply
// may tell.
bool entry_renew_first(struct context *context, struct get_call *call, const struct outcome *outcome);
