// An entry as a JSON object, as lists, batch-get and views show it.
#pragma once

#include "base/arena.h"
#include "base/buffer.h"
#include "base/bytes.h"

struct context;
struct outcome;
struct request;
struct stored_entry;

struct entry_view {
    struct bytes bucket; // shown when its data is not NULL: of entries of many buckets
    struct bytes path;
    int64_t version;
    bool expires;
    int64_t expires_at;        // microseconds since 1970
    struct bytes content_type; // empty stands for application/octet-stream
    struct bytes type;         // of the bucket, by name; empty when not known
    int64_t size;
    bool with_value;
    bool corrupt; // its value does not open: the member `corrupt` stands for it
    bool with_metadata;
    struct bytes metadata; // as it is stored
    struct bytes value;
    const struct outcome *sources; // of write_source.h, when it is shown where the value came from; else NULL
    int source_row;
    const struct request *request; // with sources: who looks
};

// Whether the media type says that the value is JSON, or text.
bool content_is_json(struct bytes content_type);
bool content_is_text(struct bytes content_type);

// Fills in content type, type, metadata and value from the row, opened; or marks it as corrupt. What is
// opened lives in the arena.
void entry_view_open(struct context *context, struct arena *arena, struct stored_entry *stored,
                     struct entry_view *view);

// Adds the object. `arena` is for passing memory.
void entry_json_write(struct buffer *json, struct arena *arena, const struct entry_view *entry);

// Adds the members `key` or `key_base64`, and `under`.
void entry_json_place(struct buffer *json, struct arena *arena, struct bytes path);

// Adds one member with the value in the form its type asks for: `name` with raw JSON spliced in,
// `name_text`-style for text, base64 else. `names` are the three member names, in that order.
void entry_json_value(struct buffer *json, struct arena *arena, const char *const names[3],
                      struct bytes content_type, struct bytes type, struct bytes value);
