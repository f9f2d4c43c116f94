// Decides whether a concurrent history of one object is linearizable, for any sequential rule: the search of
// Wing and Gong with Lowe's memory of the configurations already tried.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What `returned` is for a call whose outcome was never learned: it may take effect at any time after
// `invoked`, or never.
#define LINEAR_NEVER INT64_MAX

struct linear_call {
    int64_t invoked;  // one clock for all clients, any unit
    int64_t returned; // not before `invoked`, or LINEAR_NEVER
    const void *call; // what was asked and answered; only the rule reads it
};

// A sequential object. States are `state_size` plain bytes, compared and remembered as bytes, so a rule
// leaves no byte of `next` unset.
struct linear_rule {
    size_t state_size;
    void (*start)(void *state);
    // Whether `call` may happen in `state` with the answer it got; then `next` is the state after it.
    bool (*step)(const void *state, const void *call, void *next);
};

enum linear_verdict {
    LINEAR_YES,
    LINEAR_NO,
    LINEAR_UNDECIDED, // the search was given up after `budget` steps
};

struct linear_report {
    enum linear_verdict verdict;
    size_t longest; // how many calls the longest order that was found holds
    size_t
        stuck; // index of the call that returned before any order could place it; meaningless for LINEAR_YES
    uint64_t steps; // rule applications made
};

enum { LINEAR_BUDGET = 20 * 1000 * 1000 };

// Checks `count` calls in any order. At most `budget` rule applications are made, and half a gigabyte
// remembered, before it gives up.
struct linear_report linear_check(const struct linear_rule *rule, const struct linear_call *calls,
                                  size_t count, uint64_t budget);
