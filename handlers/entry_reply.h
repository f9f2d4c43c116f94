// How replies tell of an entry: its version, type, expiry, metadata and value.
#pragma once

#include "handlers/context.h"

// Adds Holdfast-Expires-At; `us` is microseconds since 1970.
void reply_expires_at(struct request *request, int64_t us);

// Adds Content-Type; an empty stored type stands for application/octet-stream. `stored` need not live on.
void reply_content_type(struct request *request, struct bytes stored);

// The metadata headers of a request as one stored value: lines of name, colon, value. Not given when there
// are none.
struct value metadata_encode(struct request *request);

// Adds them as reply headers. `stored` need not live on.
void reply_metadata(struct request *request, struct bytes stored);

// Sends a value that the outcome's result holds: small ones are copied, large ones sent from where they are.
void reply_value(struct request *request, int status, struct bytes value, const struct outcome *outcome);
