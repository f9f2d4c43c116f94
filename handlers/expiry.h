// The expiry that a write asks for: `ttl`, `expires_at` or `persist` of its query.
#pragma once

#include "handlers/context.h"

enum { TTL_PERSIST = -1 };

struct expiry {
    struct value ttl;   // microseconds, TTL_PERSIST for never; not given: what the bucket or the entry says
    struct value until; // microseconds since 1970
};

// Replies `invalid` and gives false when it is malformed or more than one is asked for.
bool expiry_read(struct request *request, struct expiry *expiry);

// Whether the call says anything about expiry.
static inline bool expiry_given(const struct expiry *expiry)
{
    return expiry->ttl.given || expiry->until.given;
}
