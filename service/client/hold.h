// Running a command while a lease or a run is held and renewed.
#pragma once

#include "base/buffer.h"
#include "client/connection.h"

// What is held, and how it is kept.
struct hold {
    char *const *command;     // a NULL ends it
    const char *what;         // for messages: the lease, the run
    int64_t ttl;              // microseconds, as granted
    int64_t ends;             // boot_time when the term ends unless it is renewed: never later than it does
    int64_t grace;            // 0: a third of the ttl, at most ten seconds
    const char *renew_target; // a PUT of renew_body to it begins the term anew
    struct bytes renew_body;  // JSON
    struct buffer *output;    // gets what the command writes to standard output, NULL: leaves it as it is
    size_t most_output;
    bool lost; // gets whether the term ended, or the hold was lost, before the command did
};

// Runs the command and waits for its end. It is a process group of its own, has the terminal if there is one,
// and gets the signals that we get. It is told (SIGTERM) when the term has only the grace left, and ended
// (SIGKILL) when it is over. Gives its exit code, 128 + n when signal n ended it, EXIT_NOT_RUN or
// EXIT_NOT_FOUND when it did not begin, EXIT_LOST when it was ended since the term was.
int hold_run(struct connection *connection, struct hold *hold);
