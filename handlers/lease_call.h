// The operations and replies that acquiring at once and queueing for a lease share.
#pragma once

#include "handlers/entry_call.h"

enum acquire_column {
    ACQUIRE_PATH,
    ACQUIRE_HOLDER,
    ACQUIRE_TTL,
    ACQUIRE_TICKET, // of one who queues already
    ACQUIRE_WAIT,   // microseconds for which it is sure to be there; 0: not granted, it does not queue
    ACQUIRE_DECLARES,
    ACQUIRE_COLUMNS,
};

enum acquire_result {
    ACQUIRED_ORDINAL,
    ACQUIRED_STATUS,
    ACQUIRED_TOKEN,
    ACQUIRED_POSITION,
    ACQUIRED_EXPIRES_AT,
    ACQUIRED_KIND,
    ACQUIRED_TICKET,
    ACQUIRED_NOW,
};

// Several for one lease may travel together and are decided in order.
extern const struct statement acquire_leases;

enum release_column { RELEASE_PATH, RELEASE_HOLDER, RELEASE_TOKEN, RELEASE_COLUMNS };

enum release_result { RELEASED_ORDINAL, RELEASED_STATUS, RELEASED_POSITION, RELEASED_KIND };

extern const struct statement release_leases;

// A lease as its holder has it.
struct lease {
    struct bytes holder;
    int64_t ttl; // microseconds, as granted
    int64_t token;
    int64_t expires_at; // microseconds since 1970
    int64_t position;
};

// The lease that an acquire granted to `holder` for `ttl`.
struct lease lease_granted(const struct outcome *outcome, struct bytes holder, int64_t ttl);

// Sends the lease, with Holdfast-Position.
void reply_lease(struct request *request, int status, const struct lease *lease);

// Replies to an acquire that granted nothing, whatever its status.
void reply_not_acquired(struct request *request, struct bytes bucket, const struct outcome *outcome);

// A time in the arena, as replies have it; `us` is microseconds since 1970.
const char *reply_time(struct request *request, int64_t us);
