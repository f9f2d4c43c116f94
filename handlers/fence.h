// The lease that fences a write: `fence_bucket`, `fence_key`, `fence_under` and `fence_token` of its query.
#pragma once

#include "handlers/context.h"

struct fence {
    bool given;
    struct bytes bucket;
    struct bytes path; // branch and key of the lease, as stored
    int64_t token;
};

enum { FENCE_BUCKET, FENCE_PATH, FENCE_TOKEN, FENCE_COLUMNS };

// The types of a statement's columns that fence_values fills.
#define FENCE_COLUMN_TYPES COLUMN_TEXT, COLUMN_BYTEA, COLUMN_INT8

// Reads the fence; `given` is false when the query has none. When it is not whole, or malformed, replies
// `invalid`, and when the request has no precondition beside it, `precondition_required`: gives false then.
bool fence_read(struct request *request, struct fence *fence);

// Fills FENCE_COLUMNS values. Views into the fence.
void fence_values(const struct fence *fence, struct value *values);

// A look at the lease alone, for calls that read before they write: one that is lost stays lost, so they may
// end there.
struct fence_call {
    struct operation operation; // first: the operation is the call
    struct value values[2];
};

// `done` gets `owner` in the operation; `call` and `fence` must stay until then.
void fence_call_submit(struct context *context, struct account *account, struct fence_call *call,
                       const struct fence *fence, void (*done)(struct operation *, const struct outcome *),
                       void *owner);

// Whether the lease was live; of an outcome with rows.
bool fence_call_live(const struct outcome *outcome);
