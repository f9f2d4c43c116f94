// Decides whether a recorded history of transactions, views and single calls on a few entries is strictly
// serializable: whether one order of whole calls explains every reply and keeps real time.
//
// A call is a list of steps on the state that it finds: what it looked at, and what it wrote. It is whole:
// its steps follow each other, nothing comes between, and what a refused call wrote is dropped. The order
// keeps real time: a call that returned before another was invoked stands before it. A call whose outcome was
// never learned may stand anywhere behind its invocation, or nowhere.
//
// How: positions grow in commit order within a bucket, so the writers of a bucket are numbered by them and
// the order of all is a walk that always takes the next writer of one bucket, or a call that is next in both.
// On that walk each call that writes nothing is placed in the first state that explains it, which is never
// wrong, as it changes nothing. Only where two buckets can go on, or a call of unknown outcome may have
// happened, the walk tries one way and comes back for the other, and never stands twice in one configuration.
// A call of unknown outcome whose value somebody saw is known to have happened, at the version that was seen:
// versions are taken as numbers of the same sequence as positions, and values that are put or patched in must
// differ from each other.
//
// Cost: calls x (calls + configurations tried for nothing). These lie in the few calls that are open at one
// time, so a true history of some hundred calls takes milliseconds; calls of unknown outcome that nobody saw
// each double the ways in the worst case, and the budget ends that.
#pragma once

#include "model/linear.h"

#include <stdio.h>

enum {
    TRANSACTION_KEYS = 6,
    TRANSACTION_BUCKETS = 2, // key k is in bucket k % 2
    TRANSACTION_STEPS = 24,
    TRANSACTION_PATCH_BITS = 20, // the low bits of a value, which a patch sets; a put sets all
};

enum transaction_step_kind {
    LOOK_VERSION, // the entry is live, of this version, and of this value if one was shown
    LOOK_ABSENT,
    LOOK_LIVE,
    LOOK_OTHER, // it is not live with this version; of version 0: it is not absent
    WRITE_PUT,
    WRITE_PATCH, // absent counts as 0 for both
    WRITE_ADD,
    WRITE_REMOVE,
};

struct transaction_step {
    enum transaction_step_kind kind;
    size_t key;
    uint64_t version; // that was seen, or that a write was given; 0 when a write was told none
    uint64_t value;   // that was seen, put, patched in or added
    bool has_value;   // of LOOK_VERSION
};

enum transaction_outcome {
    TRANSACTION_DONE,
    TRANSACTION_REFUSED, // its steps are what led to the refusal; nothing of them stays
    TRANSACTION_UNKNOWN,
};

struct transaction_call {
    enum transaction_outcome outcome;
    unsigned client;
    int64_t invoked; // one clock for all, any unit
    int64_t returned;
    uint64_t position; // of a call that is done and wrote
    size_t step_count;
    struct transaction_step steps[TRANSACTION_STEPS];
};

// Gives LINEAR_YES when there is such an order, all keys absent before it. Else it writes to `out` what
// stands against it; LINEAR_UNDECIDED when that is no more than `budget` configurations tried.
enum linear_verdict transactions_check(const struct transaction_call *calls, size_t count, uint64_t budget,
                                       FILE *out);
