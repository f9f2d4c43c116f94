// A process beside the holder that ends a command whose term is over, so that this happens on time however
// the holder fares: paused, killed or waiting for an answer.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct guard_terms;

struct guard {
    pid_t process;
    int life;                  // the guard sees the holder's end by this end of a pipe
    struct guard_terms *terms; // shared with it
};

// Begins to guard the process group: SIGTERM at `warn_at`, SIGKILL at `end_at` (boot_time). False, with
// errno, when that is not possible.
bool guard_begin(struct guard *guard, pid_t group, int64_t warn_at, int64_t end_at);

// Moves both.
void guard_move(struct guard *guard, int64_t warn_at, int64_t end_at);

// Whether the guard has told or ended the command.
bool guard_has_struck(const struct guard *guard);

// The guard ends; the group is left alone.
void guard_end(struct guard *guard);
