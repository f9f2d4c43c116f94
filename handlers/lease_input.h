// What requests about leases give: who holds, for how long, and the token that proves it.
#pragma once

#include "handlers/address.h"

enum {
    LEASE_HOLDER_BYTES = 256,
    LEASE_SHORTEST = 100 * 1000, // microseconds
};

// All reply `invalid`, naming the parameter, and give false when the input is missing or malformed.

// A holder: 1 to 256 bytes of UTF-8 without control characters.
bool lease_holder_check(struct request *request, struct bytes holder);

// A token as the service gave it: a positive integer in canonical decimal, within 64 bits.
bool lease_token_parse(struct request *request, const char *parameter, struct bytes text, int64_t *token);

// The members `holder` and `token` of a JSON request.
bool lease_holder_member(struct request *request, json_t *object, struct bytes *holder);
bool lease_token_member(struct request *request, json_t *object, int64_t *token);

// The member `ttl`, cut to what the service grants at most: microseconds, at least LEASE_SHORTEST.
bool lease_ttl_member(struct request *request, json_t *object, int64_t *ttl);
