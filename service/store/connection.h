// One pipelined connection to PostgreSQL that reconnects by itself and never blocks.
#pragma once

#include "store/call.h"
#include "store/store.h"

enum { CONNECTION_LANES = 64 };

enum connection_state {
    CONNECTION_UNUSED, // nobody has needed it yet
    CONNECTION_AWAY,   // waiting for the next attempt
    CONNECTION_OPENING,
    CONNECTION_SETUP, // connected; the session is being prepared
    CONNECTION_READY,
};

struct store_standing;

struct connection {
    struct watch watch; // first: a pointer to it is a pointer to the connection
    struct timer timer; // the next attempt, or a look at the oldest call's age
    struct loop *loop;
    const struct store_options *options;
    enum store_role role;
    enum connection_state state;
    PGconn *pg;
    // What becomes of a call that the server refused.
    void (*refused)(struct connection *connection, struct call *call);
    unsigned losses;  // how often it was closed: what belonged to a session before that is gone
    bool failed;      // ROLE_TRANSACTION: a call was refused since its owner last looked
    bool worth_again; // and all of the transaction may well go through when it is done again
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

// Prepares it; it is opened when it is needed first.
void connection_start(struct connection *connection, struct loop *loop, const struct store_options *options,
                      enum store_role role);
// Opens it unless that was done before; connection_submit does so by itself.
void connection_need(struct connection *connection);
void connection_stop(struct connection *connection);

// Takes an operation; it may be done before this returns when the database is away.
void connection_submit(struct connection *connection, struct operation *operation);

// Sends what waits, as far as the connection takes calls now.
void connection_flush(struct connection *connection);

// Adds what waits for it, and whether it is there.
void connection_observe(const struct connection *connection, struct store_standing *standing);

// Adds what was sent over it and is not answered yet.
void connection_add_under_way(const struct connection *connection, struct store_under_way *all);

bool connection_idle(const struct connection *connection);

// Whether it is there, or was not needed yet.
bool connection_good(const struct connection *connection);

// Whether an operation would be taken now: it is there, was not needed yet, or the first attempt after a loss
// is still under way.
bool connection_patient(const struct connection *connection);

// Ends the session, whatever it holds, and opens another one.
void connection_renew(struct connection *connection);
