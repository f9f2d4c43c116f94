// The private PostgreSQL's life: it begins when the service starts and ends when the service ends, however
// that happens.
#include "store/embedded.h"

#include "base/log.h"
#include "base/timestamp.h"
#include "store/embedded/cluster.h"
#include "store/embedded/leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000)

enum {
    START_S = 60,  // for a server to say that it starts; recovery may then take as long as it needs
    REPORT_S = 10, // how often the log tells that it still starts
    FAST_STOP_S = 30,
    HARD_STOP_S = 10,
};

struct embedded {
    struct account account;
    struct folder folder;
    struct programs programs;
    pid_t server; // 0 when there is none to wait for
    int log;
    off_t log_start; // where this start's lines begin
    char connection[256];
};

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

// The server is a child, so it is there until it was waited for.
static bool reap_server(struct embedded *e)
{
    if (e->server > 0 && waitpid(e->server, NULL, WNOHANG) != 0)
        e->server = 0;
    return e->server == 0;
}

static bool wait_for_end(struct embedded *e, int64_t seconds)
{
    int64_t limit = timestamp_monotonic() + seconds * SECOND;
    while (!reap_server(e)) {
        if (timestamp_monotonic() >= limit)
            return false;
        sleep_ms(2);
    }
    return true;
}

// A fast shutdown lets running transactions go and writes everything down. The harder ways lose nothing
// either, the next start recovers.
static void stop_server(struct embedded *e)
{
    static const struct {
        int signal;
        int seconds;
    } steps[] = {{SIGINT, FAST_STOP_S}, {SIGQUIT, HARD_STOP_S}, {SIGKILL, HARD_STOP_S}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !reap_server(e); i++) {
        if (i > 0)
            log_event(LOG_WARN, "private_postgres_stops_slowly", NULL);
        kill(e->server, steps[i].signal);
        wait_for_end(e, steps[i].seconds);
    }
}

// What the server wrote since this start: its last lines say why it stopped.
static void read_log(const struct embedded *e, char *text, size_t size)
{
    off_t end = lseek(e->log, 0, SEEK_END);
    off_t start = end - (off_t)size + 1 > e->log_start ? end - (off_t)size + 1 : e->log_start;
    ssize_t got = pread(e->log, text, size - 1, start);
    text[got > 0 ? got : 0] = '\0';
    refusal_flatten(text, ';');
}

static bool refuse_ended(const struct embedded *e, struct refusal *refusal)
{
    char text[800];
    read_log(e, text, sizeof text);
    return refuse(refusal, "the private PostgreSQL in %s ended while starting: %s", e->folder.path,
                  text[0] != '\0' ? text : "it gave no reason");
}

// The service may hold signals back to read them in its loop, which does not run yet.
static bool asked_to_stop(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

static void report_start(const struct embedded *e, int64_t waited, int64_t *reported)
{
    if (waited - *reported < REPORT_S * SECOND)
        return;
    *reported = waited;
    log_detail(LOG_INFO, "private_postgres_starting",
               "for %d s now; recovery can take a while, %s/postgres.log has more", (int)(waited / SECOND),
               e->folder.path);
}

static bool wait_until_ready(struct embedded *e, struct refusal *refusal)
{
    int64_t start = timestamp_monotonic();
    int64_t reported = 0;
    for (;;) {
        int64_t waited = timestamp_monotonic() - start;
        enum server_state state = leftovers_state(&e->folder, e->server);
        if (state == SERVER_READY)
            return true;
        if (reap_server(e))
            return refuse_ended(e, refusal);
        if (asked_to_stop())
            return refuse(refusal, "asked to stop while the private PostgreSQL was starting");
        if (state == SERVER_ABSENT && waited > START_S * SECOND)
            return refuse(refusal, "the private PostgreSQL in %s did not begin to start in %d s",
                          e->folder.path, START_S);
        report_start(e, waited, &reported);
        sleep_ms(waited < SECOND ? 2 : 20);
    }
}

static bool launch(struct embedded *e, struct refusal *refusal)
{
    char path[PATH_MAX + 16];
    char cluster[sizeof e->folder.base + 16];
    char sockets[sizeof e->folder.base + 48];
    snprintf(path, sizeof path, "%s/postgres", e->programs.folder);
    snprintf(cluster, sizeof cluster, "%s/" FOLDER_CLUSTER, e->folder.base);
    snprintf(sockets, sizeof sockets, "unix_socket_directories=%s/" FOLDER_SOCKET, e->folder.base);
    const char *arguments[] = {path,
                               "-D",
                               cluster,
                               "-c",
                               "listen_addresses=",
                               "-c",
                               sockets,
                               "-c",
                               "unix_socket_permissions=0700",
                               "-c",
                               "port=5432",
                               "-c",
                               "logging_collector=off",
                               "-c",
                               "log_destination=stderr",
                               "-c",
                               "cluster_name=holdfast",
                               NULL};
    struct program program = {.arguments = arguments,
                              .account = &e->account,
                              .keep = e->folder.fd,
                              .output = e->log,
                              .signal_on_our_end = SIGINT};
    e->log_start = lseek(e->log, 0, SEEK_END);
    e->server = program_start(&program, refusal);
    if (e->server < 0)
        e->server = 0;
    return e->server > 0;
}

static bool open_log(struct embedded *e, struct refusal *refusal)
{
    if (e->log >= 0)
        close(e->log);
    e->log = folder_open_log(&e->folder, &e->account, refusal);
    return e->log >= 0;
}

static bool start_server(struct embedded *e, struct refusal *refusal)
{
    if (!folder_make_socket(&e->folder, &e->account, refusal) || !open_log(e, refusal) ||
        !leftovers_clear(&e->folder, refusal) || !launch(e, refusal))
        return false;
    if (wait_until_ready(e, refusal))
        return true;
    stop_server(e);
    return false;
}

static bool prepare_cluster(struct embedded *e, struct refusal *refusal)
{
    int major;
    if (!cluster_version(&e->folder, &major, refusal) ||
        !programs_find(major, &e->account, &e->programs, refusal))
        return false;
    if (major == 0 && !cluster_initialise(&e->folder, &e->account, &e->programs, refusal))
        return false;
    return cluster_configure(&e->folder, &e->account, &e->programs, refusal);
}

static bool create_database(PGconn *connection, struct refusal *refusal)
{
    PGresult *found = PQexec(connection, "select from pg_database where datname = 'holdfast'");
    bool there = PQntuples(found) == 1;
    PQclear(found);
    if (there)
        return true;
    PGresult *created = PQexec(connection, "create database holdfast");
    bool ok = PQresultStatus(created) == PGRES_COMMAND_OK ||
              refuse(refusal, "cannot create the database in the private PostgreSQL: %s",
                     PQerrorMessage(connection));
    PQclear(created);
    return ok;
}

static bool prepare_database(struct embedded *e, struct refusal *refusal)
{
    char text[256];
    snprintf(text, sizeof text, "host=%s/" FOLDER_SOCKET " port=5432 user=holdfast dbname=postgres",
             e->folder.base);
    PGconn *connection = PQconnectdb(text);
    bool ok = PQstatus(connection) == CONNECTION_OK
                  ? create_database(connection, refusal)
                  : refuse(refusal, "cannot reach the private PostgreSQL: %s", PQerrorMessage(connection));
    PQfinish(connection);
    snprintf(e->connection, sizeof e->connection,
             "host=%s/" FOLDER_SOCKET " port=5432 user=holdfast dbname=holdfast", e->folder.base);
    return ok;
}

struct embedded *embedded_start(const char *data, char *error, size_t error_size)
{
    struct refusal refusal = {error, error_size};
    struct embedded *e = calloc(1, sizeof *e);
    if (e == NULL) {
        refuse(&refusal, "no memory");
        return NULL;
    }
    e->log = -1;
    if (account_choose(&e->account, &refusal) && folder_open(&e->folder, data, &e->account, &refusal)) {
        if (prepare_cluster(e, &refusal) && start_server(e, &refusal) && prepare_database(e, &refusal))
            return e;
        embedded_stop(e);
        return NULL;
    }
    free(e);
    return NULL;
}

bool embedded_exists(const char *data)
{
    int fd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool there = faccessat(fd, FOLDER_CLUSTER, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    close(fd);
    return there;
}

bool embedded_visit(const char *data, char *connection, size_t size)
{
    // An open descriptor is a short name without characters that a connection string would take apart.
    int fd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    snprintf(connection, size,
             "host=/proc/self/fd/%d/" FOLDER_SOCKET " port=5432 user=holdfast dbname=holdfast", fd);
    return true;
}

const char *embedded_connection(const struct embedded *embedded)
{
    return embedded->connection;
}

bool embedded_running(struct embedded *embedded)
{
    return !reap_server(embedded);
}

bool embedded_restart(struct embedded *embedded, char *error, size_t error_size)
{
    struct refusal refusal = {error, error_size};
    return !reap_server(embedded) || start_server(embedded, &refusal);
}

void embedded_stop(struct embedded *embedded)
{
    if (embedded == NULL)
        return;
    stop_server(embedded);
    if (embedded->log >= 0)
        close(embedded->log);
    folder_close(&embedded->folder);
    free(embedded);
}
