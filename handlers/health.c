// Health: liveness never asks the database; readiness answers at once from what the last probe found, so that
// a frozen database cannot hold a probe of the platform up.
#include "handlers/health.h"

#include "base/timestamp.h"
#include "store/migrate.h"

enum {
    PROBE_EVERY = 500 * 1000,
    PROBE_EAGER = 20 * 1000,   // until the first good answer
    PROBE_FRESH = 1500 * 1000, // a good answer older than this is none
};

static const struct statement probe_statement = {
    .name = "probe",
    .sql = "select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off', "
           "holdfast.schema_version()",
    .form = STATEMENT_ALONE,
    .role = ROLE_WRITE,
};

static struct context *from_timer(struct timer *timer)
{
    return (struct context *)((char *)timer - offsetof(struct context, health.timer));
}

static void probe_done(struct operation *operation, const struct outcome *outcome)
{
    struct context *context = operation->owner;
    struct health *health = &context->health;
    health->probing = false;
    health->writable = outcome->kind == OUTCOME_ROWS && outcome->rows == 1 && outcome_number(outcome, 0, 0) &&
                       outcome_number(outcome, 0, 1) >= migrate_latest();
    if (health->writable)
        health->answered = timestamp_monotonic();
}

static void probe(struct timer *timer)
{
    struct context *context = from_timer(timer);
    struct health *health = &context->health;
    if (!health->probing) {
        health->probing = true;
        health->probe = (struct operation){
            .statement = &probe_statement, .values = health->none, .done = probe_done, .owner = context};
        store_submit(context->store, &health->probe);
    }
    loop_timer_set(context->loop, timer,
                   timestamp_monotonic() + (health->writable ? PROBE_EVERY : PROBE_EAGER));
}

void health_start(struct context *context)
{
    context->health.timer.fire = probe;
    loop_timer_set(context->loop, &context->health.timer, timestamp_monotonic());
}

void health_stop(struct context *context)
{
    loop_timer_clear(context->loop, &context->health.timer);
}

// Ready means reads and lists too, which have connections of their own.
static bool ready(const struct context *context)
{
    const struct health *health = &context->health;
    return health->writable && timestamp_monotonic() - health->answered < PROBE_FRESH &&
           store_ready(context->store);
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
    else if (!ready(context))
        reply_simple_problem(request, PROBLEM_UNAVAILABLE,
                             "the database is away, cannot be written, or lacks migrations");
    else
        reply_json(request, 200, bytes_of("{\"status\":\"ready\"}\n"));
}
