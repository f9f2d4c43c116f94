// One small step after the other: a pause between full ones leaves the database to those who wait for it.
#include "store/sweeper.h"

#include "base/timestamp.h"
#include "store/backlog.h"

#include <stdlib.h>

enum {
    STEP_ROWS = 1000,
    PAUSE_BUSY = 25 * 1000,
    PAUSE_IDLE = 1000 * 1000,
};

struct sweeper {
    struct operation operation; // first: the operation is the sweeper
    struct timer timer;
    struct loop *loop;
    struct store *store;
    struct counts *counts;
    struct backlog *backlog; // NULL: nobody wants to know
    struct value values[1];
    bool stopped;
};

static const struct statement sweep_statement = {
    .name = "sweep",
    .sql = "select holdfast.sweep($1)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN, // may be sent again: what is freed stays freed
    .columns = 1,
    .column = {COLUMN_INT4},
};

static void count_step(struct sweeper *sweeper, int64_t rows)
{
    count_add(&sweeper->counts->sweeps, 1);
    count_add(&sweeper->counts->swept, (uint64_t)rows);
    if (sweeper->backlog)
        backlog_look(sweeper->backlog);
}

static void step_done(struct operation *operation, const struct outcome *outcome)
{
    struct sweeper *sweeper = (struct sweeper *)operation;
    if (sweeper->stopped)
        return;
    int64_t rows = outcome->kind == OUTCOME_ROWS ? outcome_number(outcome, 0, 0) : -1;
    bool busy = rows > 0;
    if (rows >= 0) // else somebody else sweeps
        count_step(sweeper, rows);
    loop_timer_set(sweeper->loop, &sweeper->timer, timestamp_monotonic() + (busy ? PAUSE_BUSY : PAUSE_IDLE));
}

static void step(struct timer *timer)
{
    struct sweeper *sweeper = (struct sweeper *)((char *)timer - offsetof(struct sweeper, timer));
    sweeper->operation = (struct operation){
        .statement = &sweep_statement, .values = sweeper->values, .done = step_done, .owner = sweeper};
    store_submit(sweeper->store, &sweeper->operation);
}

struct sweeper *sweeper_start(struct loop *loop, struct store *store, struct counts *counts, bool asks)
{
    struct sweeper *sweeper = calloc(1, sizeof *sweeper);
    if (!sweeper)
        abort();
    sweeper->loop = loop;
    sweeper->store = store;
    sweeper->counts = counts;
    sweeper->backlog = asks ? backlog_new(loop, store, counts) : NULL;
    sweeper->timer.fire = step;
    sweeper->values[0] = value_number(STEP_ROWS);
    loop_timer_set(loop, &sweeper->timer, timestamp_monotonic() + PAUSE_IDLE);
    return sweeper;
}

void sweeper_stop(struct sweeper *sweeper)
{
    sweeper->stopped = true;
    loop_timer_clear(sweeper->loop, &sweeper->timer);
}

void sweeper_free(struct sweeper *sweeper)
{
    backlog_free(sweeper->backlog);
    free(sweeper);
}
