// What one lease may answer when calls come one after the other and no time passes: the sequential rule that
// concurrent histories are held against, and the shape of a recorded call.
#pragma once

#include "model/linear.h"

enum lease_kind { LEASE_ACQUIRE, LEASE_RENEW, LEASE_RELEASE, LEASE_GET, LEASE_WRITE, LEASE_KINDS };

enum lease_answer {
    LEASE_DONE,    // granted, renewed, released, shown, written under it
    LEASE_REFUSED, // held by somebody, lost, nobody's
    LEASE_ANSWERS,
};

struct lease_call {
    enum lease_kind kind;
    enum lease_answer answer;
    uint64_t token;  // given by an acquire, shown by the others
    unsigned holder; // who asks, or whom GET shows
    int64_t invoked; // nanoseconds, monotonic
    int64_t returned;
};

extern const struct linear_rule lease_rule;
