// A client that asks whichever replica chance gives it, and holds every answer to what no fault excuses: a
// status that the contract lacks, and none in time.
#pragma once

#include "chaos/load.h"
#include "support/entry_client.h"
#include "support/random.h"

struct caller {
    struct random random;
    size_t replicas;
    struct entry_client connections[LOAD_REPLICAS];
};

// `seed` and `stream` decide whom it asks.
void caller_start(struct caller *caller, uint64_t seed, uint64_t stream, size_t replicas);
void caller_end(struct caller *caller);

// Asks once, whichever replica or a certain one; of one that is nowhere the outcome is ENTRY_NOT_SENT.
void caller_ask(struct caller *caller, const struct entry_request *request, struct entry_reply *reply);
void caller_ask_at(struct caller *caller, size_t replica, const struct entry_request *request,
                   struct entry_reply *reply);

// The same on a connection of one's own, to its port. `waits_ms`: for how long the request may be parked.
void caller_ask_on(struct entry_client *connection, const struct entry_request *request, int waits_ms,
                   struct entry_reply *reply);

// 503 with the kind outcome_unknown, or no answer: it may have been done.
bool reply_is_doubtful(const struct entry_reply *reply);

// A reply's status and the first 200 bytes of its body, for a complaint; written to `out` and given back.
enum { REPLY_SHORT = 216 };
const char *reply_in_short(const struct entry_reply *reply, char out[REPLY_SHORT]);

// Every request of this process may take so much longer, since the process is stopped meanwhile.
void callers_allow(int ms);

// The first answer of any caller that no fault excuses, as text; empty while there is none.
const char *callers_complaint(void);
