// A recorded concurrent history of a few keys in one bucket, and the checks that need no search: versions are
// never used twice, positions follow real time, and nobody sees an older state of one key after a newer one
// of another.
#pragma once

#include "model/entry_rule.h"

#include <stdio.h>

struct history {
    struct entry_call *calls;
    size_t *keys; // the key of each call, 0 to key_count - 1
    size_t count;
    size_t room;
    size_t key_count;
};

// Adds a call of `key`; the history owns its copy.
void history_add(struct history *history, size_t key, const struct entry_call *call);
void history_free(struct history *history);

// Each gives true when the history keeps the promise; else writes to `out` what breaks it.

// Each key's calls can be put in one order that the rule allows and that keeps real time.
bool history_is_linearizable(const struct history *history, FILE *out);

// No two writes have the same version or the same position, whatever their keys, and a version always shows
// the same value.
bool history_versions_are_unique(const struct history *history, FILE *out);

// A write that was answered before another began has the lower position (all keys are in one bucket).
bool history_positions_follow_time(const struct history *history, FILE *out);

// A client that has seen position p on any key sees, on every key, all writes up to p: positions become
// visible in their order.
bool history_visible_in_order(const struct history *history, FILE *out);
