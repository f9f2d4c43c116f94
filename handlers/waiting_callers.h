// A wait outlives the look that let it in: whose token was revoked, or has expired, while the request waits
// is turned away, as it would be now.
#pragma once

#include "handlers/context.h"

struct waiting_callers;

// `context` must have its server and store.
struct waiting_callers *waiting_callers_new(struct context *context);
void waiting_callers_stop(struct waiting_callers *waiting); // before the store goes
void waiting_callers_free(struct waiting_callers *waiting); // after it went

// How things stand with tokens: looked-up ones are good until `generation` changes; `now` is the database's
// time in microseconds since 1970. Answers 401 to whom it turns away; tokens of another generation are asked
// for, and good ones get this generation. Call it when something changed and several times a second.
void waiting_callers_review(struct waiting_callers *waiting, uint64_t generation, int64_t now);
