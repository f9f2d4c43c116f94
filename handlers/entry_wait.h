// GETs that wait until an entry changes or appears: all who wait for one key share one look at it.
#pragma once

#include "handlers/entry_call.h"

struct entry_waits;

// The waits of one worker; `context` must outlive them.
struct entry_waits *entry_waits_new(struct context *context);

// After the store was freed. Requests that still wait are left to the server without an answer.
void entry_waits_free(struct entry_waits *waits);

// Answers every waiting request with what is true now; a few each turn. For a service that begins to stop.
void entry_waits_drain(struct entry_waits *waits);

// Answers the request, a GET or HEAD, as soon as the entry is none of the versions in its If-None-Match or,
// without that, is there; and with what is true after so many seconds (1 to 300).
void entry_wait(struct request *request, const struct address *address, int seconds);
