// What the commands that write an entry share: conditions, fences, forks and keys of idempotency.
#pragma once

#include "client/connection.h"
#include "client/place.h"

struct arguments;

// Adds what --if-match, --if-absent, --fenced, --fork and --idempotency-key ask for. False, with a line on
// standard error, when that cannot be.
bool write_conditions(struct connection *connection, const struct arguments *arguments,
                      struct target *target);

// Sends the write; again, to another address, where that is safe. Gives the exit code; when it is not
// EXIT_DONE a line on standard error says why.
int write_send(struct connection *connection, const struct arguments *arguments, const char *method,
               const char *target, struct bytes body, struct reply *reply);
