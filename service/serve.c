// Starting in the right order, watching over the workers and the private PostgreSQL, stopping on signals.
#include "serve.h"

#include "base/timestamp.h"
#include "handlers/context.h"
#include "listener.h"
#include "security/key_ring.h"
#include "security/tls.h"
#include "store/embedded.h"
#include "store/migrate.h"
#include "store/pooler.h"
#include "store/reach.h"
#include "worker.h"

#include <errno.h>
#include <libpq-fe.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_WORKERS = 256,
    OTHER_DESCRIPTORS = 60, // the loop, the database, the listener, files, and what accepting needs to say no
    DESCRIPTORS_A_WORKER = 16,
    RESTART_PAUSE = 1000 * 1000,
};

struct service {
    struct options options;
    struct embedded *embedded;
    const char *connection;
    const char *sessions; // the same database without a pooler
    bool pooler_checked;
    struct router *router;
    struct metrics *metrics;
    struct metrics_route *counted_routes; // as requests are counted by them
    struct key_ring *keys;                // NULL: nothing is sealed
    struct worker *workers[MOST_WORKERS];
    int worker_count;
    bool migrated;
    int64_t restart_at; // before it, a private server that died again is left alone
};

static bool refuse(const char *error)
{
    fprintf(stderr, "holdfast: %s\n", error);
    return false;
}

// As many connections as the limit of open files leaves room for.
static void fit_connections(struct options *options)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    rlim_t others = OTHER_DESCRIPTORS + DESCRIPTORS_A_WORKER * (rlim_t)options->workers;
    rlim_t room = limit.rlim_cur > others + 64 ? limit.rlim_cur - others : 64;
    if (room < options->max_connections)
        options->max_connections = (unsigned)room;
}

// Who seals values does not want them in a file when the process crashes.
static void leave_no_core(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static bool open_keys(struct service *service)
{
    char error[1024];
    if (!service->options.key_file)
        return true;
    leave_no_core();
    service->keys = key_ring_open(service->options.key_file, error, sizeof error);
    return service->keys || refuse(error);
}

static bool open_database(struct service *service)
{
    char error[1024];
    service->connection = service->options.database;
    if (!service->connection) {
        service->embedded = embedded_start(service->options.data, error, sizeof error);
        if (!service->embedded)
            return refuse(error);
        service->connection = embedded_connection(service->embedded);
    }
    service->sessions = options_session_database(&service->options);
    if (!service->sessions)
        service->sessions = service->connection;
    return true;
}

// True when the schema is current, or cannot be looked at because the database is away, full or read-only:
// the service starts without it and tries again. False when the database is there and refuses.
static bool try_migrate(struct service *service)
{
    char error[1024];
    if (service->migrated || service->options.no_migrate)
        return true;
    if (migrate(service->sessions, error, sizeof error)) {
        service->migrated = true;
        return true;
    }
    if (reach_try(service->sessions) != REACH_PASSES)
        return refuse(error);
    log_event(LOG_WARN, "database_away", "detail", error, NULL);
    return true;
}

// Waits would be told nothing of what is written elsewhere. True while it cannot be found out, too.
static bool check_pooler(struct service *service)
{
    if (!service->options.listen_database || service->pooler_checked)
        return true;
    enum pooler_leads leads = pooler_check(service->connection, service->sessions);
    service->pooler_checked = leads == POOLER_LEADS_THERE;
    return leads != POOLER_LEADS_ELSEWHERE || refuse("--database and --listen-database are two databases");
}

static struct tls_files tls_files(const struct options *options)
{
    return (struct tls_files){options->tls_certificate, options->tls_key, options->tls_client_authorities};
}

static bool open_tls(const struct options *options)
{
    char error[512];
    struct tls_files files = tls_files(options);
    if (!files.certificate && !files.key && !files.client_authorities)
        return true;
    if (!files.certificate || !files.key)
        return refuse("TLS takes both --tls-cert and --tls-key");
    return tls_load(&files, error, sizeof error) || refuse(error);
}

// What lies in files is read again; what cannot be read leaves in use what was.
static void reload(const struct service *service)
{
    char error[512];
    struct tls_files files = tls_files(&service->options);
    if (service->keys)
        key_ring_reload(service->keys);
    if (files.certificate && !tls_load(&files, error, sizeof error))
        log_event(LOG_ERROR, "reload_failed", "detail", error, NULL);
    else
        log_event(LOG_INFO, "reloaded", NULL);
}

// Whether the database is there and never had a token. When it cannot be asked, the workers let nobody in
// before they know better.
static bool lacks_tokens(const char *connection)
{
    PGconn *pg = PQconnectdb(connection);
    PGresult *result = PQexec(pg, "select from holdfast.token_state");
    bool lacks = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 0;
    PQclear(result);
    PQfinish(pg);
    return lacks;
}

static void begin_counting(struct service *service)
{
    size_t count = 0;
    while (routes[count].method)
        count++;
    service->counted_routes = calloc(count, sizeof *service->counted_routes);
    if (!service->counted_routes)
        abort();
    for (size_t i = 0; i < count; i++)
        service->counted_routes[i] = (struct metrics_route){routes[i].method, routes[i].template};
    struct metrics_limits limits = worker_limits(&service->options);
    service->metrics = metrics_new(service->options.workers, service->counted_routes, count, &limits);
}

static bool start_workers(struct service *service)
{
    int sockets[MOST_WORKERS];
    char address[80], error[512];
    bool loopback;
    int count = service->options.workers;
    if (!listeners_open(service->options.listen, count, sockets, address, &loopback, error, sizeof error))
        return refuse(error);
    service->options.tokens_needed = !loopback && !service->options.insecure;
    if (service->options.tokens_needed && lacks_tokens(service->sessions))
        return refuse(
            "beyond loopback a token is needed: make one with holdfast token create, or allow everybody "
            "with --insecure");
    for (int i = 0; i < count; i++) {
        struct worker_parts parts = {
            sockets[i],      i, service->router, service->connection, service->sessions, service->keys,
            service->metrics};
        service->workers[i] = worker_start(&service->options, &parts);
        if (!service->workers[i])
            return false;
        service->worker_count++;
    }
    printf("listening on %s://%s\n", service->options.tls_certificate ? "https" : "http", address);
    fflush(stdout);
    return true;
}

static bool workers_ended(const struct service *service)
{
    for (int i = 0; i < service->worker_count; i++)
        if (!worker_ended(service->workers[i]))
            return false;
    return true;
}

static void stop_workers(struct service *service)
{
    for (int i = 0; i < service->worker_count; i++)
        worker_stop(service->workers[i]);
}

static void keep_database(struct service *service)
{
    char error[1024];
    if (!service->embedded || embedded_running(service->embedded))
        return;
    if (timestamp_monotonic() < service->restart_at)
        return;
    log_event(LOG_ERROR, "private_database_died", NULL);
    service->restart_at = timestamp_monotonic() + RESTART_PAUSE;
    if (!embedded_restart(service->embedded, error, sizeof error))
        log_event(LOG_ERROR, "private_database_lost", "detail", error, NULL);
}

// The first process of a container inherits the processes that others leave behind, and nobody else waits for
// them.
static void reap_adopted(void)
{
    if (getpid() != 1)
        return;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

// The main thread's work while workers serve. Gives false when the database turns out to refuse us.
static bool watch_over(struct service *service, const sigset_t *signals)
{
    const struct timespec tick = {.tv_nsec = 100 * 1000 * 1000};
    int ticks = 0;
    bool stopping = false;
    bool fine = true;
    while (!workers_ended(service)) {
        int signal = sigtimedwait(signals, NULL, &tick);
        if (signal == SIGTERM || signal == SIGINT) {
            log_event(LOG_INFO, stopping ? "stopping_fast" : "stopping", NULL);
            stopping = true;
            stop_workers(service);
            continue;
        }
        if (signal == SIGHUP)
            reload(service);
        reap_adopted();
        keep_database(service);
        if (++ticks % 10 == 0 && !stopping && !(try_migrate(service) && check_pooler(service))) {
            fine = false;
            stopping = true;
            stop_workers(service);
        }
    }
    return fine;
}

static void block_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

// What one reply gives back the next one wants again: without this the allocator returns it to the kernel and
// fetches it anew, page by page, for every list. A value of megabytes still goes back at once.
static void keep_memory(void)
{
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

int serve(const struct options *options)
{
    struct service *service = calloc(1, sizeof *service);
    if (!service)
        return 1;
    sigset_t signals;
    keep_memory();
    service->options = *options;
    block_signals(&signals);
    fit_connections(&service->options);
    service->router = router_new(routes);
    begin_counting(service);
    bool fine = open_tls(&service->options) && open_keys(service) && open_database(service) &&
                try_migrate(service) && check_pooler(service) && start_workers(service);
    if (fine)
        fine = watch_over(service, &signals);
    else
        stop_workers(service);
    for (int i = 0; i < service->worker_count; i++)
        worker_join(service->workers[i]);
    embedded_stop(service->embedded);
    tls_unload();
    key_ring_close(service->keys);
    router_free(service->router);
    metrics_free(service->metrics);
    free(service->counted_routes);
    free(service);
    return fine ? 0 : 1;
}
