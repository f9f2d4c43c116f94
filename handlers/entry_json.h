// An entry as a JSON object, as lists, batch-get and views show it.
#pragma once

#include "base/arena.h"
#include "base/buffer.h"
#include "base/bytes.h"

struct entry_view {
    struct bytes path;
    int64_t version;
    bool expires;
    int64_t expires_at;        // microseconds since 1970
    struct bytes content_type; // empty stands for application/octet-stream
    struct bytes type;         // of the bucket, by name; empty when not known
    int64_t size;
    bool with_value;
    struct bytes value;
};

// Whether the media type says that the value is JSON, or text.
bool content_is_json(struct bytes content_type);
bool content_is_text(struct bytes content_type);

// Adds the object. `arena` is for passing memory.
void entry_json_write(struct buffer *json, struct arena *arena, const struct entry_view *entry);

// Adds one member with the value in the form its type asks for: `name` with raw JSON spliced in,
// `name_text`-style for text, base64 else. `names` are the three member names, in that order.
void entry_json_value(struct buffer *json, struct arena *arena, const char *const names[3],
                      struct bytes content_type, struct bytes type, struct bytes value);
