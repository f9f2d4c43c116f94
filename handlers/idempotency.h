// Writes with an Idempotency-Key: done once, however often they are sent.
#pragma once

#include "handlers/context.h"

// Runs the request's handler inside one transaction, in which its reply is kept when it had an effect; or
// answers what an earlier request kept under the key, or that it was another request. Handlers do not know:
// what they submit to their context's store belongs to the transaction, and their reply is sent when it is
// committed. A handler may run again from its beginning when the transaction failed by bad luck.
void idempotency_run(struct request *request);

// A handler that waits for long does so without its transaction, which would keep others from ending the wait
// and from the key: it tries in one, is set aside without one, and tries again in another. Before each
// attempt what is kept under the key is looked up, so that a request with the same key that waits beside it
// and comes first answers both.
struct keyed_wait {
    // A transaction is open: submits to the store of the request's context, then replies or is set aside.
    void (*attempt)(struct keyed_wait *wait);
    // No transaction is open any more; what the attempt did is committed unless the database went away.
    void (*aside)(struct keyed_wait *wait);
    // No attempt could be made. Gives whether it waits on, as if set aside; otherwise the request is refused.
    bool (*missed)(struct keyed_wait *wait);
    // The request is answered as soon as this returns: by what its last attempt did (`done`), or by the reply
    // of another request with its key, or by a refusal.
    void (*over)(struct keyed_wait *wait, bool done);
};

// Whose key it is, and which: in memory of the request.
struct keyed_name {
    struct bytes scope;
    struct bytes key;
};

// From a handler of a keyed request: from now on `wait`, which stays until it is over, makes its attempts.
// The first one is under way.
void idempotency_wait(struct request *request, struct keyed_wait *wait);

struct keyed_name idempotency_name(const struct request *request);

// Ends an attempt without a reply: what it did is committed and nothing is kept under the key.
void idempotency_set_aside(struct request *request);

// Makes another attempt for a request that was set aside and is not parked.
void idempotency_attempt(struct request *request);
