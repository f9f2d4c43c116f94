// Where values came from, for lists that show it.
#pragma once

#include "base/buffer.h"
#include "handlers/context.h"

enum source_result {
    SOURCE_ORDINAL,
    SOURCE_ITEM,
    SOURCE_REQUEST_ID,
    SOURCE_STREAM,
    SOURCE_SESSION,
    SOURCE_TOKEN
};

// Submits a look at what is known of `count` entries (1 to OPERATION_ITEMS) of one bucket by path and
// version, as they are seen through the fork (data NULL: in the main data). `done` gets a row for each, in
// their order, and `owner` in the operation. Memory is the request's; the views must live on.
void write_source_submit(struct request *request, struct operation *operation, struct bytes bucket,
                         struct bytes fork, const struct bytes *paths, const int64_t *versions, size_t count,
                         void (*done)(struct operation *, const struct outcome *), void *owner);

// Adds the object for one row, as the caller may see it: of a session of another tenant nothing is told.
void write_source_json(struct buffer *json, const struct request *request, int64_t version,
                       const struct outcome *sources, int row);
