// One small statement every quarter of a minute, whose answer is kept as counts.
#include "store/backlog.h"

#include "base/timestamp.h"

#include <stdlib.h>

enum { ASK_EVERY = 15 * 1000 * 1000 };

enum backlog_result { BACKLOG_LAG, BACKLOG_CLEARS, BACKLOG_LEASES };

struct backlog {
    struct operation operation; // first: the operation is the backlog
    struct loop *loop;
    struct store *store;
    struct counts *counts;
    bool asking;
    int64_t asked; // loop time; 0 for never
};

static const struct statement backlog_statement = {
    .name = "sweep_backlog",
    .sql = "select * from holdfast.sweep_backlog()",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
};

static void answered(struct operation *operation, const struct outcome *outcome)
{
    struct backlog *backlog = (struct backlog *)operation;
    backlog->asking = false;
    if (outcome->kind != OUTCOME_ROWS || outcome->rows != 1)
        return;
    count_set(&backlog->counts->backlog_lag, (uint64_t)outcome_number(outcome, 0, BACKLOG_LAG));
    count_set(&backlog->counts->backlog_clears, (uint64_t)outcome_number(outcome, 0, BACKLOG_CLEARS));
    count_set(&backlog->counts->leases_held, (uint64_t)outcome_number(outcome, 0, BACKLOG_LEASES));
    count_set(&backlog->counts->backlog_asked_at, (uint64_t)loop_now(backlog->loop));
}

struct backlog *backlog_new(struct loop *loop, struct store *store, struct counts *counts)
{
    struct backlog *backlog = calloc(1, sizeof *backlog);
    if (!backlog)
        abort();
    backlog->loop = loop;
    backlog->store = store;
    backlog->counts = counts;
    return backlog;
}

void backlog_look(struct backlog *backlog)
{
    int64_t now = loop_now(backlog->loop);
    if (backlog->asking || (backlog->asked && now - backlog->asked < ASK_EVERY))
        return;
    backlog->asking = true;
    backlog->asked = now;
    backlog->operation = (struct operation){.statement = &backlog_statement, .done = answered};
    store_submit(backlog->store, &backlog->operation);
}

void backlog_free(struct backlog *backlog)
{
    free(backlog);
}
