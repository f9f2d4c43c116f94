// How much was checked and which faults there were, in words and as one line that many runs can be added up
// from.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum total {
    TOTAL_REQUESTS,
    TOTAL_NOT_SENT,    // no connection
    TOTAL_NO_ANSWER,   // the connection broke
    TOTAL_UNAVAILABLE, // 503: nothing was done
    TOTAL_UNKNOWN,     // 503 outcome_unknown
    TOTAL_WRITES,
    TOTAL_READS,
    TOTAL_VERSIONS,
    TOTAL_DOUBTS,
    TOTAL_SUMS,
    TOTAL_ONCE,
    TOTAL_QUOTA_USES,
    TOTAL_RATE_USES,
    TOTAL_COUNTED,
    TOTAL_TRANSFERS,
    TOTAL_VIEWS,
    TOTAL_WAITS,
    TOTAL_FORKS,
    TOTAL_FORK_LOOKS,
    TOTAL_GRANTS,
    TOTAL_FENCED,
    TOTAL_SNAPSHOTS,
    TOTAL_CHANGES_IN_ORDER,
    TOTAL_EXPIRIES,
    TOTAL_HISTORIES,
    TOTAL_CALLS,
    TOTAL_ITEMS,
    TOTAL_MOVES,
    TOTAL_DOCUMENT,
    TOTAL_SWAPS,
    TOTAL_PROMOTED,
    TOTAL_DISCARDED,
    TOTAL_PASSES,
    TOTAL_LINKED,
    TOTAL_LARGE_VALUES,
    TOTAL_STOPPED,
    TOTAL_KILLED,
    TOTAL_PACKETS,
    TOTAL_DISK_FULL,
    TOTAL_FSYNC_FAILED,
    TOTAL_LEVELS,
    TOTALS,
};

// From any thread.
void totals_add(enum total total, size_t count);

// `name` must stay.
void totals_add_fault(const char *name);

// Prints all that is not zero, then the line: `totals seed=… replicas=… faults.NAME=… checks.NAME=…`.
void totals_print(uint64_t seed, size_t replicas);
