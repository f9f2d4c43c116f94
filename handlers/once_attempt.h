// Asking for a run: either it is granted, or the kept answer comes whole, or another runs.
#pragma once

#include "handlers/address.h"

// What the functions of once answer; each of them a part of these.
enum once_status {
    ONCE_DONE, // for an attempt: the run is granted
    ONCE_KEPT,
    ONCE_RUNNING,
    ONCE_NO_NAME,
    ONCE_OTHER_KIND,
    ONCE_NOT_KEPT = 8,
    ONCE_LOST = 15,
};

// The row of an attempt and of a read of the kept answer.
enum once_result {
    ONCE_ORDINAL,
    ONCE_STATUS,
    ONCE_KIND,
    ONCE_EXPIRES_AT, // of the run or the answer
    ONCE_NOW,        // the database's time when it was so
    ONCE_CONTENT_TYPE,
    ONCE_SIZE,
    ONCE_VALUE,
    ONCE_TOKEN, // of the run, or of the one whose answer it is
};

enum once_read_column { ONCE_READ_PATH, ONCE_READ_WANTED, ONCE_READ_COLUMNS };

// Reads of kept answers: columns as above, rows the same. A value that is larger than LARGE_VALUE
// comes only with the second, which travels alone.
extern const struct statement get_answers;
extern const struct statement get_large_answer;

// The object, and what `address` points to, are the caller's and must stay until `done`, which comes once.
struct once_attempt {
    struct operation operation; // first: the operation is the attempt
    struct value values[ONCE_READ_COLUMNS];
    struct context *context;
    struct address address;
    // The row has one of the statuses ONCE_DONE, ONCE_KEPT (with its value), ONCE_RUNNING, ONCE_NO_NAME and
    // ONCE_OTHER_KIND.
    void (*done)(struct once_attempt *attempt, const struct outcome *outcome);
    void *owner;
};

// Submits an attempt whose context, address, done and owner are set.
void once_attempt_submit(struct once_attempt *attempt);

// Ends a granted run that nobody is there to do, so that another gets it at once. What fails is left to the
// run's own end.
void once_hand_back(struct context *context, const struct address *address, int64_t token);
