// Health: liveness never asks the database; readiness answers at once from what the last probe found, so that
// a frozen database cannot hold a probe of the platform up.
#include "handlers/health.h"

#include "base/timestamp.h"
#include "store/migrate.h"

#include <stdatomic.h>

enum {
    PROBE_EVERY = 500 * 1000,
    PROBE_EAGER = 20 * 1000,   // until all is well
    PROBE_FRESH = 1500 * 1000, // a good answer older than this is none
    MOST_WORKERS = 256,
};

// Until when each worker of the process is ready, as it last said itself: a client cannot choose the worker
// that its next connection meets.
static _Atomic int64_t ready_until[MOST_WORKERS];
static atomic_uint workers;

static const struct statement probe_statement = {
    .name = "probe",
    .sql = "select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off', "
           "holdfast.schema_serves($1, $2)",
    .columns = 2,
    .column = {COLUMN_INT4, COLUMN_TEXT},
    .form = STATEMENT_ALONE,
    .role = ROLE_WRITE,
    .only_reads = true,
};

static void probe_done(struct operation *operation, const struct outcome *outcome)
{
    struct health *health = operation->owner;
    health->probing = false;
    health->writable = outcome->kind == OUTCOME_ROWS && outcome->rows == 1 && outcome_number(outcome, 0, 0) &&
                       outcome_number(outcome, 0, 1);
    if (health->writable)
        health->answered = timestamp_monotonic();
}

// Ready means reads and lists too, which have connections of their own.
static bool worker_is_ready(const struct context *context)
{
    const struct health *health = context->health;
    return health->writable && timestamp_monotonic() - health->answered < PROBE_FRESH &&
           store_ready(context->store);
}

static void probe(struct health *health)
{
    health->probing = true;
    health->asked = timestamp_monotonic();
    health->binary[0] = value_number(migrate_latest());
    health->binary[1] = value_bytes(bytes_of(HOLDFAST_VERSION));
    health->probe = (struct operation){
        .statement = &probe_statement, .values = health->binary, .done = probe_done, .owner = health};
    store_submit(health->context->store, &health->probe);
}

static void look(struct timer *timer)
{
    struct health *health = (struct health *)timer;
    struct context *context = health->context;
    bool ready = worker_is_ready(context);
    int64_t now = timestamp_monotonic();
    atomic_store(&ready_until[health->place], ready ? health->answered + PROBE_FRESH : 0);
    if (!health->probing && (!health->writable || now - health->asked >= PROBE_EVERY))
        probe(health);
    loop_timer_set(context->loop, timer, now + (ready ? PROBE_EVERY : PROBE_EAGER));
}

void health_start(struct context *context)
{
    context->health->context = context;
    context->health->place = atomic_fetch_add(&workers, 1);
    context->health->timer.fire = look;
    loop_timer_set(context->loop, &context->health->timer, timestamp_monotonic());
}

void health_stop(struct context *context)
{
    loop_timer_clear(context->loop, &context->health->timer);
}

static bool all_are_ready(const struct context *context)
{
    int64_t now = timestamp_monotonic();
    for (unsigned i = 0; i < atomic_load(&workers); i++)
        if (i != context->health->place && atomic_load(&ready_until[i]) <= now)
            return false;
    return worker_is_ready(context);
}

bool health_is_ready(const struct context *context)
{
    return !http_server_draining(context->server) && all_are_ready(context);
}

void health_livez(struct request *request)
{
    reply_json(request, 200, bytes_of("{\"status\":\"ok\"}\n"));
}

void health_readyz(struct request *request)
{
    struct context *context = context_of(request);
    if (http_server_draining(context->server))
        reply_simple_problem(request, PROBLEM_UNAVAILABLE, "the service is shutting down");
    else if (!all_are_ready(context))
        reply_simple_problem(
            request, PROBLEM_UNAVAILABLE,
            "the database is away, cannot be written, or has not the schema of this release");
    else
        reply_json(request, 200, bytes_of("{\"status\":\"ready\"}\n"));
}
