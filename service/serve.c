// Starting in the right order, watching over the workers and the private PostgreSQL, stopping on signals.
#include "serve.h"

#include "base/timestamp.h"
#include "handlers/context.h"
#include "listener.h"
#include "store/embedded.h"
#include "store/migrate.h"
#include "worker.h"

#include <errno.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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
    struct router *router;
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
    return true;
}

// Whether the server is there and takes no writes: a standby may become the primary yet.
static bool is_standby(const char *connection)
{
    bool standby = false;
    PGconn *pg = PQconnectdb(connection);
    PGresult *result = PQexec(pg, "show transaction_read_only");
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        standby = strcmp(PQgetvalue(result, 0, 0), "on") == 0;
    PQclear(result);
    PQfinish(pg);
    return standby;
}

// True when the schema is current, or cannot be looked at because the database is away or read-only: the
// service starts without it and tries again. False when the database is there and refuses.
static bool try_migrate(struct service *service)
{
    char error[1024];
    if (service->migrated || service->options.no_migrate)
        return true;
    if (migrate(service->connection, error, sizeof error)) {
        service->migrated = true;
        return true;
    }
    if (PQping(service->connection) == PQPING_OK && !is_standby(service->connection))
        return refuse(error);
    log_event(LOG_WARN, "database_away", "detail", error, NULL);
    return true;
}

static bool start_workers(struct service *service)
{
    int sockets[MOST_WORKERS];
    char address[80], error[512];
    bool loopback;
    int count = service->options.workers;
    if (!listeners_open(service->options.listen, count, sockets, address, &loopback, error, sizeof error))
        return refuse(error);
    if (!loopback && !service->options.insecure)
        return refuse(
            "without authentication only loopback addresses are listened on; --insecure allows others");
    for (int i = 0; i < count; i++) {
        service->workers[i] =
            worker_start(&service->options, service->router, service->connection, sockets[i]);
        if (!service->workers[i])
            return false;
        service->worker_count++;
    }
    printf("listening on http://%s\n", address);
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
        keep_database(service);
        if (++ticks % 10 == 0 && !stopping && !try_migrate(service)) {
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
    pthread_sigmask(SIG_BLOCK, signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int serve(const struct options *options)
{
    struct service *service = calloc(1, sizeof *service);
    if (!service)
        return 1;
    sigset_t signals;
    service->options = *options;
    block_signals(&signals);
    fit_connections(&service->options);
    service->router = router_new(routes);
    bool fine = open_database(service) && try_migrate(service) && start_workers(service);
    if (fine)
        fine = watch_over(service, &signals);
    else
        stop_workers(service);
    for (int i = 0; i < service->worker_count; i++)
        worker_join(service->workers[i]);
    embedded_stop(service->embedded);
    router_free(service->router);
    free(service);
    return fine ? 0 : 1;
}
