// What one key of once may answer when calls come one after the other, with the moves of the clock among
// them: the sequential rule that concurrent histories are held against, and the shape of a recorded call.
#pragma once

#include "model/linear.h"

enum once_kind {
    ONCE_BEGIN,
    ONCE_ANSWER, // a run's end with an answer
    ONCE_RENEW,
    ONCE_FAIL, // a run's end without one
    ONCE_GET,
    ONCE_FORGET,
    ONCE_KINDS,
    ONCE_RUNS_END = ONCE_KINDS, // the clock moves past every run_ttl
    ONCE_ANSWERS_END,           // and past every ttl
};

enum once_answer {
    ONCE_GRANTED, // the run; also: kept as the answer, renewed, failed, forgotten
    ONCE_KEPT,    // the kept answer is shown
    ONCE_RUNNING, // another runs it
    ONCE_REFUSED, // the run is not the caller's; no answer is kept
    ONCE_ANSWERS,
};

struct once_call {
    enum once_kind kind;
    enum once_answer answer;
    uint64_t token;  // given to a runner, shown by what ends or renews a run
    uint64_t kept;   // which answer was given or is shown; above 0, each given once
    int64_t invoked; // nanoseconds, monotonic
    int64_t returned;
};

extern const struct linear_rule once_rule;
