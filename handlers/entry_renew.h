// Renewal of entries with an idle term, by reads.
#pragma once

#include "handlers/entry_call.h"

// Looks at a live entry that was read. When a renewal is due it is queued; when so little of the term is left
// that the reply must wait for it, gives true: the call is submitted again once the renewal is durable.
bool entry_renew_first(struct request *request, struct get_call *call, const struct outcome *outcome);
