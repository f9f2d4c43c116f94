// How a limit answers: what is left, when to come again, and the same in the fields that clients and proxies
// know.
#pragma once

#include "base/buffer.h"
#include "handlers/context.h"

// One limit as the RateLimit and RateLimit-Policy fields (draft-ietf-httpapi-ratelimit-headers) tell of it.
struct policy {
    struct bytes name; // a-z, 0-9 and _
    int64_t quota;
    int64_t window; // microseconds in which so much is given
    int64_t remaining;
    int64_t reset; // microseconds until more remains; not above 0 when nothing is used
};

// Adds the fields RateLimit-Policy and RateLimit.
void reply_policies(struct request *request, const struct policy *policies, int count);

// Reads the query's `enforce`, false when it is absent. Replies `invalid` and gives false when it is neither
// true nor false.
bool enforce_read(struct request *request, bool *enforced);

// Answers with the allowance, of which `members` are the members as JSON text, which is freed. When it is not
// `ok`, Retry-After is what `wait` microseconds are in seconds, rounded up, at least 1. An `enforced` one is
// 204, or 429 with the members in the problem.
void reply_allowance(struct request *request, enum limiter_refusal limiter, bool ok, bool enforced,
                     int64_t wait, struct buffer *members);

// Adds `"name":` and the moment, in microseconds since 1970, or null when it is not given.
void allowance_write_time(struct buffer *members, const char *name, bool given, int64_t us);
