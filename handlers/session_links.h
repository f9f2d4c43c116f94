// Links from writes to the session that the client says they belong to.
#pragma once

#include "handlers/context.h"

struct session_link {
    struct bytes bucket;
    struct bytes path;
    struct bytes fork; // data NULL: none
    int64_t version;   // or position
    const char *operation;
};

// The links of one request; its context points at it while the request's transaction is open.
struct session_links {
    struct request *request;
    struct bytes stream;
    struct bytes session;
    struct session_link *links;
    size_t count;
    size_t room;
    struct operation operation;
};

// Begins, from the header Holdfast-Session of a request that is linked. In the request's arena.
struct session_links *session_links_new(struct request *request);

// Notes a write that is about more than the entry which the request's path names. Does nothing when the
// request has no session. The views must live as long as the request.
void session_link(struct request *request, struct bytes bucket, struct bytes path, int64_t version,
                  const char *operation);

// Submits what was noted, and the write of the entry that the path names, to the transaction's store, after
// the handler's reply came. `done` gets the outcome; it is not called, and false given, when there is nothing
// to link.
bool session_links_submit(struct session_links *links, struct store *store,
                          void (*done)(struct operation *, const struct outcome *), void *owner);
