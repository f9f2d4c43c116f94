// Callers of once who wait for another's run: all of one key share one attempt to get on.
#pragma once

#include "handlers/address.h"

struct once_waits;

// The waits of one worker; `context` must outlive them.
struct once_waits *once_waits_new(struct context *context);

// After the store was freed. Requests that still wait are left to the server without an answer.
void once_waits_free(struct once_waits *waits);

// Answers every waiting caller as unavailable, unless an attempt for it is under way: then with what that
// gives. None is granted a run afterwards. For a service that begins to stop.
void once_waits_drain(struct once_waits *waits);

// Lets the request, which has found another at work until `run_expires_at`, wait so many seconds (1 to 300):
// for the answer, or for its turn to run.
void once_wait(struct request *request, const struct address *address, int seconds, int64_t run_expires_at);
