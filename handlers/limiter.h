// What the handlers of counters, rate limits, gates and quotas share: their statuses, and what is done to
// their names and keys whatever the kind.
#pragma once

#include "handlers/address.h"
#include "handlers/configuration.h"

// As the functions of migrations/functions/ answer.
enum limiter_status {
    LIMITER_DONE = 0,
    LIMITER_CHANGED = 1,    // declared before
    LIMITER_NAME_TAKEN = 2, // by another kind, when declaring
    LIMITER_UNDECLARED = 3,
    LIMITER_OTHER_KIND = 4,
    LIMITER_OVERFLOW = 11,
    LIMITER_LOSS_TOO_SHORT = 12,
    LIMITER_BEYOND = 16, // more than could ever pass at once
    LIMITER_REFUSED = 17,
};

enum limiter { LIMITER_COUNTER, LIMITER_RATE_LIMIT, LIMITER_RATE_GATE, LIMITER_QUOTA };

// The columns of the functions that declare a kind.
enum declared_result {
    DECLARED_STATUS,
    DECLARED_CREATED_AT,
    DECLARED_ACTUAL,
    DECLARED_POSITION,
    DECLARED_SHORTEST, // only where a lose_at_most was asked for
};

// Replies to a declaration: 201 or 200 with the configuration, or the refusal.
void reply_declared(struct request *request, const struct outcome *outcome,
                    const struct configuration *configuration);

// Replies when the status says that the name is not declared or of another kind, which `kind` names; else
// gives false.
bool limiter_name_refused(struct request *request, enum limiter_status status, struct bytes kind);

// A count in a JSON member: a whole number from 1, which it is too when absent. Replies `invalid` and gives
// false when it is something else.
bool limiter_count_member(struct request *request, json_t *object, const char *member, int64_t *count);

// DELETE of a key: as if it had never been used.
void limiter_reset(struct request *request, enum limiter limiter);

// DELETE of a name: with `under` clears that branch and those below, else drops it.
void limiter_delete(struct request *request, enum limiter limiter);

// Which of two statements a call on the name goes to, `durable` or `losing`: a guess by what was last heard
// of the name, so that calls on names that may lose changes travel with their like. The database decides.
const struct statement *limiter_statement(struct context *context, struct bytes name,
                                          const struct statement *durable, const struct statement *losing);
void limiter_heard(struct context *context, struct bytes name, bool loses);
