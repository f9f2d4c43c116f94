// The lines of a dump, and what each asks of the service.
#pragma once

#include "base/arena.h"
#include "base/buffer.h"

enum line_kind {
    LINE_BROKEN,  // no JSON, or nothing that a dump has
    LINE_IGNORED, // a checkpoint, or a name that is not declared
    LINE_NAME,    // a bucket or another name with its configuration
    LINE_ENTRY,
    LINE_EXPIRED, // an entry whose time is over
};

// What is known from the lines before.
struct load_lines {
    struct arena arena;
    struct bytes idle_bucket; // the last bucket whose entries live as long as they are read; data NULL: none
};

enum line_kind load_line_kind(struct bytes line);

// Of a LINE_NAME: the path that declares it, percent-encoded, and the JSON to send, a view into the line.
// Notes what entries need to know. False when the line is broken.
bool load_line_name(struct load_lines *lines, struct bytes line, struct buffer *path,
                    struct bytes *configuration);

// Of a LINE_ENTRY: adds the operation of a transaction that puts it, without a comma; `*values` gets how many
// JSON values it has. LINE_ENTRY, or what else it turned out to be.
enum line_kind load_line_operation(const struct load_lines *lines, struct bytes line, struct buffer *json,
                                   size_t *values);
