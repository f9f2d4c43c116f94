// Getting and giving back a lease, so that it is never believed to last longer than it does.
#pragma once

#include "client/connection.h"
#include "client/place.h"

struct arguments;

enum { HOLDER_MOST = 256 };

struct lease_grant {
    char holder[HOLDER_MOST + 1];
    char token[32];
    int64_t ttl;         // as granted, in microseconds
    int64_t ends;        // boot_time when it ends: never later than it does
    const char *renewal; // the body of the request that renews it, in the connection's arena
};

// Who we are: what --holder says, else user@host with `more` behind it.
void lease_holder(const struct arguments *arguments, const char *more, char holder[HOLDER_MOST + 1]);

// Acquires the lease, for which `grant` has the holder; while another has it waits in the queue as long as
// --wait says. `reply` gets the answer. Gives the exit code; when it is not EXIT_DONE a line on standard
// error says why.
int grant_acquire(struct connection *connection, const struct arguments *arguments, const struct place *place,
                  struct lease_grant *grant, struct reply *reply);

// Gives it back; as long as the term lasts tries again when nobody answers. Gives the exit code: EXIT_REFUSED
// when it was not held any more, which `quiet` leaves unsaid.
int grant_release(struct connection *connection, const struct arguments *arguments, const struct place *place,
                  const struct lease_grant *grant, bool quiet, struct reply *reply);
