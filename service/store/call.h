// One round of a statement: which operations travel together, how they are encoded, and who gets which row.
#pragma once

#include "base/buffer.h"
#include "store/store.h"

#include <libpq-fe.h>

enum {
    CALL_OPERATIONS = 256, // as many versions as one draw of the sequence `revision` gives
    CALL_BYTES = 1 << 20,
    CALL_LARGE = 64 << 10, // an operation above this travels alone, as all of ROLE_LARGE do
    CALL_ATTEMPTS = 5,
};

// A statement that the session knows.
struct prepared {
    char name[72];       // empty before the first use
    unsigned generation; // of the name: one that failed is never used again
};

// The operations that wait for one statement on one connection, in order of arrival.
struct lane {
    const struct statement *statement;
    struct operation *head;
    struct operation **tail; // where the next one is linked
    struct prepared many;
    struct prepared lone;
};

// Lets the lane's statements be prepared anew.
void lane_forget(struct lane *lane);

struct call {
    struct call *next;
    struct lane *lane;
    int64_t sent;
    bool flushed; // the whole call has left this process
    bool led;     // the first result is of what makes a pooled session fit, not of the statement
    bool failed;
    bool fatal; // the server ended the session with the failure
    char sqlstate[6];
    PGresult *result;
    uint16_t count;
    uint16_t ordinals;
    uint16_t rows;                                 // STATEMENT_GROUPED: of all operations
    struct operation *operations[CALL_OPERATIONS]; // those that are sent; what they stand for hangs on them
};

// Takes what may travel together from the lane's head into `call` (zeroed by the caller). At least one
// operation when the lane is not empty.
void call_gather(struct call *call, struct lane *lane);

// Puts the call's operations back at the lane's head, in their order of arrival, what they stood for too.
void call_return(struct call *call);

// Hands the call to libpq in pipeline mode, preparing the statement on its first use. `scratch` is
// overwritten. False when libpq refuses (the connection is broken then).
bool call_send(struct call *call, PGconn *connection, struct buffer *scratch);

// The same without leaving a prepared statement in the session, which a pooler may give to somebody else.
bool call_send_unprepared(struct call *call, PGconn *connection, struct buffer *scratch);

// Ends every operation with its row. The call's result passes to the outcome's holders.
void call_deliver(struct call *call);

// Ends every operation with the same outcome.
void call_finish(struct call *call, enum outcome_kind kind, const char *detail);

// Ends one operation, and those it stands for, with an outcome without rows.
void operation_finish(struct operation *operation, enum outcome_kind kind, const char *detail);
