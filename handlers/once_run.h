// Runs of once: asking for one, keeping it alive, giving it up.
#pragma once

#include "handlers/address.h"

void once_begin(struct request *request);
void once_renew(struct request *request);
void once_fail(struct request *request);

// 201: the run is the caller's until then (microseconds since 1970).
void reply_run_granted(struct request *request, int64_t token, int64_t run_expires_at);

// 202: another runs it until then at most.
void reply_run_under_way(struct request *request, int64_t run_expires_at);

// Replies to what an attempt found unless it is ONCE_DONE or ONCE_RUNNING; false for those. `address` is what
// was asked for.
bool reply_attempt(struct request *request, const struct address *address, const struct outcome *outcome);

// Reads the query's `token`. Replies `invalid` and gives false when it is missing or malformed.
bool run_token_read(struct request *request, int64_t *token);

// Reads a member that says how long a run may be silent: at least 100ms; not given when it is absent. Replies
// `invalid` and gives false when it is malformed.
bool run_ttl_member(struct request *request, json_t *object, const char *member, struct value *us);

// 409: the run with this token is over.
void reply_run_lost(struct request *request);
