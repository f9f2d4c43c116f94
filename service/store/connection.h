// One pipelined connection to PostgreSQL that reconnects by itself and never blocks.
#pragma once

#include "store/call.h"
#include "store/store.h"

enum { CONNECTION_LANES = 64 };

enum connection_state {
    CONNECTION_AWAY, // waiting for the next attempt
    CONNECTION_OPENING,
    CONNECTION_SETUP, // connected; the session is being prepared
    CONNECTION_READY,
};

struct connection {
    struct watch watch; // first: a pointer to it is a pointer to the connection
    struct timer timer; // the next attempt, or a look at the oldest call's age
    struct loop *loop;
    const struct store_options *options;
    enum store_role role;
    enum connection_state state;
    PGconn *pg;
    bool want_write;
    bool
        leaving; // the server takes no more writes: what is under way is awaited, then another one looked for
    bool lost_while_ready; // the first attempt after a loss: what waits is given that attempt's time
    int64_t opening_since;
    int64_t backoff;
    int64_t last_complaint;
    struct lane lanes[CONNECTION_LANES];
    int lane_count;
    uint64_t turn;
    unsigned waiting; // operations in the lanes
    unsigned calls;   // under way, the one for setting up not counted
    struct call *first;
    struct call **last;
    struct buffer scratch;
};

void connection_start(struct connection *connection, struct loop *loop, const struct store_options *options,
                      enum store_role role);
void connection_stop(struct connection *connection);

// Takes an operation; it may be done before this returns when the database is away.
void connection_submit(struct connection *connection, struct operation *operation);

// Sends what waits, as far as the connection takes calls now.
void connection_flush(struct connection *connection);

bool connection_idle(const struct connection *connection);
