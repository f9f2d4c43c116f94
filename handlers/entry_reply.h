// The headers that tell of an entry: its version, type, expiry and metadata.
#pragma once

#include "handlers/context.h"

// Adds Holdfast-Expires-At; `us` is microseconds since 1970.
void reply_expires_at(struct request *request, int64_t us);

// The metadata headers of a request as one stored value: lines of name, colon, value. Not given when there are none.
struct value metadata_encode(struct request *request);

// Adds them as reply headers. `stored` need not live on.
void reply_metadata(struct request *request, struct bytes stored);
