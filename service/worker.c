// A worker's life: build its parts, run the loop, drain, take the parts down in the order that leaves nobody
// unanswered.
#include "worker.h"

#include "base/log.h"
#include "handlers/access.h"
#include "handlers/callers.h"
#include "handlers/context.h"
#include "handlers/entry_wait.h"
#include "handlers/health.h"
#include "handlers/idempotency.h"
#include "handlers/lease_wait.h"
#include "handlers/once_wait.h"
#include "handlers/resealer.h"
#include "handlers/sealed_write.h"
#include "http/server.h"
#include "processors.h"
#include "security/tls.h"
#include "store/store.h"
#include "store/sweeper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    GRACE = 10 * 1000 * 1000,
    QUEUE_LIMIT = 100000, // operations that may wait in one connection to the database
    FEW = 2,              // operations under way, by which the one and the other client is told from many
    CROWD_LASTS = 1000,   // microseconds after more were under way
};

// What a worker waits for. Each is awaited for so many microseconds without sleep, if it came within them the
// last time: a database near by reads, and a caller in a loop asks, within the tens; a commit waits for a
// disk.
enum awaited { AWAITED_REQUEST, AWAITED_READ, AWAITED_COMMIT, AWAITED };

static const int64_t poll_limits[AWAITED] = {100, 100, 400};

struct worker {
    struct context context; // first: what the HTTP server hands back is the worker
    struct health health;
    struct type_hint type_hints[TYPE_HINTS];
    uint64_t loses[LOSS_HINTS];
    const struct options *options;
    struct http_tls tls;
    pthread_t thread;
    atomic_int stops; // how often the end was asked for
    atomic_bool ended;
    int stops_seen;
    struct sweeper *sweeper;
    struct resealer *resealer;
    bool polls; // there is a processor to spare for it
    int64_t crowded;
    struct busy_poll awaited[AWAITED];
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
    if (worker->stops_seen == 0) {
        http_server_drain(worker->context.server, worker->options->drain, GRACE, drained, worker);
        entry_waits_drain(worker->context.entry_waits);
        lease_waits_drain(worker->context.lease_waits);
        once_waits_drain(worker->context.once_waits);
    }
    if (stops > 1)
        http_server_hurry(worker->context.server);
    worker->stops_seen = stops;
}

// While few clients ask, time is lost with sleeping and waking alone; while many do, there is always
// something to do, and the processor is theirs and the database's.
static void choose_how_to_wait(struct worker *worker)
{
    struct store_under_way under_way = store_under_way(worker->context.store);
    int64_t now = loop_now(worker->context.loop);
    if (under_way.operations > FEW)
        worker->crowded = now;
    enum awaited awaited = !under_way.operations ? AWAITED_REQUEST
                           : under_way.writes    ? AWAITED_COMMIT
                                                 : AWAITED_READ;
    bool few = now - worker->crowded > CROWD_LASTS;
    loop_busy_poll(worker->context.loop, few ? &worker->awaited[awaited] : NULL);
}

static void entry_changed(void *user, struct bytes bucket, struct bytes path)
{
    struct worker *worker = user;
    listen_changed(worker->context.listen, bucket, path, LISTEN_ENTRIES);
}

static void turn_end(void *user)
{
    struct worker *worker = user;
    look_for_stop(worker);
    listen_call(worker->context.listen);
    store_flush(worker->context.store);
    if (worker->polls)
        choose_how_to_wait(worker);
    http_server_observe(worker->context.server);
    store_observe(worker->context.store);
    listen_observe(worker->context.listen);
}

// A worker's part of a limit: none is left without.
static unsigned share(unsigned limit, int workers)
{
    return (limit + (unsigned)workers - 1) / (unsigned)workers;
}

// The same for bodies; one that is too small would refuse what must fit.
static size_t share_of_memory(const struct options *options)
{
    size_t part = options->max_body_memory / (unsigned)options->workers;
    return part > OPTIONS_LEAST_BODY_MEMORY ? part : OPTIONS_LEAST_BODY_MEMORY;
}

struct metrics_limits worker_limits(const struct options *options)
{
    unsigned workers = (unsigned)options->workers;
    return (struct metrics_limits){
        .connections = options->max_connections / workers * workers,
        .waits = (uint64_t)share(options->max_waits, options->workers) * workers,
        .body_bytes = share_of_memory(options) * workers,
        .database_queue = (uint64_t)QUEUE_LIMIT * workers,
    };
}

static bool build(struct worker *worker, const struct worker_parts *parts)
{
    const struct options *options = worker->options;
    struct context *context = &worker->context;
    context->loop = loop_new();
    if (!context->loop)
        return false;
    worker->tls = (struct http_tls){tls_identity(), tls_authorities(), tls_client_is_known};
    context->counts = metrics_of_worker(parts->metrics, parts->place);
    context->metrics = options->metrics ? parts->metrics : NULL;
    struct http_options http = {
        .listener = parts->listener,
        .router = parts->router,
        .context = context,
        .connections = options->max_connections / (unsigned)options->workers,
        .idle_timeout = options->idle_timeout,
        .header_timeout = options->header_timeout,
        .body_timeout = options->body_timeout,
        .value_limit = VALUE_LIMIT,
        .body_memory = share_of_memory(options),
        .wait_limit = share(options->max_waits, options->workers),
        .caller_wait_limit = share(options->max_waits_per_token, options->workers),
        .address_limit = options->max_connections_per_address,
        .cors_origins = options->cors_origins,
        .tls = options->tls_certificate ? &worker->tls : NULL,
        .admit = access_admit,
        .turns_away = access_turns_away,
        .handle_keyed = idempotency_run,
        .turn_end = turn_end,
        .counts = context->counts,
        .slow = options->slow,
    };
    context->server = http_server_new(context->loop, &http);
    if (!context->server)
        return false;
    context->health = &worker->health;
    context->type_hints = worker->type_hints;
    context->insecure = options->insecure;
    context->declares = !options->declared_buckets_only;
    context->console = !options->no_ui;
    context->max_lease_ttl = options->max_lease_ttl;
    context->loses = worker->loses;
    struct store_options store = {
        .connection = parts->connection,
        .timeout = options->database_timeout,
        .queue_limit = QUEUE_LIMIT,
        .counts = context->counts,
        .slow = options->slow,
        .worker = parts->place,
        .changed = entry_changed,
        .user = worker,
        .pooled = options->listen_database != NULL,
    };
    context->store = store_new(context->loop, &store);
    context->listen = listen_new(context->loop, parts->sessions, context->counts);
    context->callers = callers_new(context, worker->options->tokens_needed);
    context->keys = parts->keys;
    context->sealed_writes = sealed_writes_new(context);
    context->entry_waits = entry_waits_new(context);
    context->lease_waits = lease_waits_new(context);
    context->once_waits = once_waits_new(context);
    health_start(context);
    worker->sweeper = sweeper_start(context->loop, context->store, context->counts, options->metrics);
    worker->resealer = resealer_start(context);
    return true;
}

static void *run(void *user)
{
    struct worker *worker = user;
    struct context *context = &worker->context;
    loop_run(context->loop);
    health_stop(context);
    sweeper_stop(worker->sweeper);
    callers_stop(context->callers);
    resealer_stop(worker->resealer);
    store_free(context->store);
    sealed_writes_free(context->sealed_writes);
    entry_waits_free(context->entry_waits);
    lease_waits_free(context->lease_waits);
    once_waits_free(context->once_waits);
    listen_free(context->listen);
    callers_free(context->callers);
    sweeper_free(worker->sweeper);
    resealer_free(worker->resealer);
    http_server_free(context->server);
    loop_free(context->loop);
    atomic_store(&worker->ended, true);
    return NULL;
}

struct worker *worker_start(const struct options *options, const struct worker_parts *parts)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return NULL;
    worker->options = options;
    // Not the last processor: the database and the clients may need it.
    worker->polls = !options->no_busy_poll && processors_usable() > (unsigned)options->workers;
    for (int i = 0; i < AWAITED; i++)
        worker->awaited[i].limit = poll_limits[i];
    int failed = build(worker, parts) ? pthread_create(&worker->thread, NULL, run, worker) : errno;
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
