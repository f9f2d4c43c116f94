// A worker's life: build its parts, run the loop, drain, take the parts down in the order that leaves nobody
// unanswered.
#include "worker.h"

#include "base/log.h"
#include "handlers/context.h"
#include "handlers/health.h"
#include "http/server.h"
#include "store/store.h"
#include "store/sweeper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { GRACE = 10 * 1000 * 1000 };

struct worker {
    struct context context; // first: what the HTTP server hands back is the worker
    const struct options *options;
    pthread_t thread;
    atomic_int stops; // how often the end was asked for
    atomic_bool ended;
    int stops_seen;
    struct sweeper *sweeper;
};

static void drained(void *user)
{
    struct worker *worker = user;
    loop_stop(worker->context.loop);
}

static void look_for_stop(struct worker *worker)
{
    int stops = atomic_load(&worker->stops);
    if (stops == worker->stops_seen)
        return;
    if (worker->stops_seen == 0)
        http_server_drain(worker->context.server, worker->options->drain, GRACE, drained, worker);
    if (stops > 1)
        http_server_hurry(worker->context.server);
    worker->stops_seen = stops;
}

static void turn_end(void *user)
{
    struct worker *worker = user;
    look_for_stop(worker);
    store_flush(worker->context.store);
}

static bool build(struct worker *worker, const struct router *router, const char *connection, int listener)
{
    const struct options *options = worker->options;
    struct context *context = &worker->context;
    context->loop = loop_new();
    if (!context->loop)
        return false;
    struct http_options http = {
        .listener = listener,
        .router = router,
        .context = context,
        .connections = options->max_connections / (unsigned)options->workers,
        .idle_timeout = options->idle_timeout,
        .header_timeout = options->header_timeout,
        .body_timeout = options->body_timeout,
        .value_limit = VALUE_LIMIT,
        .turn_end = turn_end,
    };
    context->server = http_server_new(context->loop, &http);
    if (!context->server)
        return false;
    context->declares = !options->declared_buckets_only;
    struct store_options store = {
        .connection = connection, .timeout = options->database_timeout, .queue_limit = 100000};
    context->store = store_new(context->loop, &store);
    health_start(context);
    worker->sweeper = sweeper_start(context->loop, context->store);
    return true;
}

static void *run(void *user)
{
    struct worker *worker = user;
    struct context *context = &worker->context;
    loop_run(context->loop);
    health_stop(context);
    sweeper_stop(worker->sweeper);
    store_free(context->store);
    sweeper_free(worker->sweeper);
    http_server_free(context->server);
    loop_free(context->loop);
    atomic_store(&worker->ended, true);
    return NULL;
}

struct worker *worker_start(const struct options *options, const struct router *router,
                            const char *connection, int listener)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return NULL;
    worker->options = options;
    int failed = build(worker, router, connection, listener)
                     ? pthread_create(&worker->thread, NULL, run, worker)
                     : errno;
    if (failed || !worker->context.store) {
        log_detail(LOG_ERROR, "worker_failed", "a worker cannot start: %s", strerror(failed));
        free(worker);
        return NULL;
    }
    return worker;
}

void worker_stop(struct worker *worker)
{
    atomic_fetch_add(&worker->stops, 1);
    if (!atomic_load(&worker->ended))
        loop_wake(worker->context.loop);
}

bool worker_ended(const struct worker *worker)
{
    return atomic_load(&worker->ended);
}

void worker_join(struct worker *worker)
{
    pthread_join(worker->thread, NULL);
    free(worker);
}
