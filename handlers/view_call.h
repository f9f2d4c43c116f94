// Reading many entries of any buckets in one snapshot.
#pragma once

#include "handlers/sealed_entry.h"

enum { VIEW_ITEM, VIEW_PATH, VIEW_COLUMNS };

enum view_result {
    VIEWED_ORDINAL,
    VIEWED_ITEM,
    VIEWED_STATUS, // enum get_status
    VIEWED_VERSION,
    VIEWED_EXPIRES_AT,
    VIEWED_CONTENT_TYPE,
    VIEWED_METADATA,
    VIEWED_SIZE,
    VIEWED_VALUE, // absent when they are too much together
    VIEWED_KIND,
    VIEWED_POSITION,
};

enum { VIEW_BYTES = 16 << 20 };

struct view_call {
    struct operation operation; // first: the operation is the call
};

// Submits reads of 1 to OPERATION_ITEMS addresses. `done` gets a row for each, in their order, and `owner` in
// the operation. The call, zeroed before its first use, and `addresses`' views must live until then; memory
// is the request's.
void view_call_submit(struct request *request, struct view_call *call, const struct address *addresses,
                      size_t count, void (*done)(struct operation *, const struct outcome *), void *owner);

enum view_size {
    VIEW_COMPLETE,
    VIEW_SUBMITTED, // again, on the connection for large values: `done` will come again
    VIEW_TOO_LARGE, // the values are more than VIEW_BYTES together
};

// Whether all values came.
enum view_size view_call_size(struct context *context, struct view_call *call, const struct outcome *outcome);

// The row of a live entry, read at `address`, to be opened. It lives as long as the outcome.
struct stored_entry viewed_entry(const struct address *address, const struct outcome *outcome, int row);
