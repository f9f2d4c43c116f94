// Read, decide, write on condition that nothing changed in between, and again when it did: what looks to
// everybody else like one write, for decisions that only this side can make (JSON text is never taken apart
// in the database).
#pragma once

#include "handlers/entry_call.h"

// The entry as it was read. Views live until the decision is written or replied to.
struct current {
    bool live;
    int64_t version;
    struct bytes value;
    struct bytes content_type;
    struct bytes metadata;
    struct bytes type; // of its bucket; empty for any
};

struct rewrite {
    struct request *request;
    struct address address;
    struct expiry expiry;
    struct fence fence; // one whose lease is lost is refused before anything else is looked at

    // Looks at the entry. Fills `content` and gives true to have it written; or replies and gives false.
    bool (*decide)(struct rewrite *rewrite, const struct current *current, struct content *content);
    // Replies to success: ETag, Holdfast-Position and Holdfast-Expires-At are set already.
    void (*written)(struct rewrite *rewrite, const struct current *current, int64_t version);
    void *state; // the caller's

    // The engine's own.
    struct fence_call look;
    struct get_call get;
    struct put_call put;
    struct current current;
    struct held *held;  // keeps the views of `current`
    struct buffer made; // for a decision to build its value in; emptied before each
    int tries;
};

// Zeroed by the caller, who sets the members above; in the request's arena. The request's preconditions are
// honoured.
void rewrite_start(struct rewrite *rewrite);

// The value that was read, as a body that lives until it is sent. Once only, from `written` or a refusing
// `decide`.
void rewrite_reply_current(struct rewrite *rewrite, int status);
