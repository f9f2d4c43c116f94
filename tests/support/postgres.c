// A cluster: initialised once a process, copied, started by the server's own program so that we are its
// parent.
#include "support/postgres.h"

#include "support/clock.h"
#include "support/failure.h"
#include "support/pooler.h"
#include "support/process.h"
#include "support/scratch.h"
#include "support/standby.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { START_MS = 60 * 1000, LOG_SHOWN = 2000 };

struct postgres {
    char *programs;
    char *folder; // of everything below
    char *data;
    char *sockets;
    char *log;
    const char *const *environment;
    struct pooler *pooler; // NULL when tests go without one
};

static const char settings[] = "listen_addresses = ''\n"
                               "max_connections = 300\n"
                               "shared_buffers = 64MB\n"
                               "max_wal_size = 256MB\n"
                               "log_line_prefix = '%m [%p] %d '\n"
                               "log_lock_waits = on\n"
                               "log_timezone = 'UTC'\n"
                               "timezone = 'UTC'\n";

static int newest_first(const void *a, const void *b)
{
    return strverscmp(*(char *const *)b, *(char *const *)a);
}

// The newest that is installed, or those in the folder that the environment's HOLDFAST_TEST_POSTGRES names.
static char *find_programs(void)
{
    glob_t found;
    const char *wanted = getenv("HOLDFAST_TEST_POSTGRES");
    if (wanted && *wanted)
        return scratch_printf("%s", wanted);
    if (glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) != 0)
        support_fail("there is no PostgreSQL server below /usr/lib/postgresql");
    qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, newest_first);
    char *programs =
        scratch_printf("%.*s", (int)(strlen(found.gl_pathv[0]) - strlen("/initdb")), found.gl_pathv[0]);
    globfree(&found);
    return programs;
}

static void make_owned(const char *path)
{
    if (mkdir(path, 0700) != 0 || chown(path, process_user(), process_group()) != 0)
        support_fail("%s: %s", path, strerror(errno));
}

static void run_or_fail(const char *const *arguments, const char *log)
{
    struct process_options options = {
        .arguments = arguments, .output = log, .unprivileged = true, .directory = "/", .stdout_fd = -1};
    int code = process_run(&options, START_MS);
    if (code == 0)
        return;
    char *text = scratch_read(log, NULL);
    support_fail("%s ended with %d: %s", arguments[0], code, text);
}

static void write_settings(const struct postgres *postgres, const struct postgres_options *options)
{
    char *path = scratch_printf("%s/postgresql.auto.conf", postgres->data);
    FILE *file = fopen(path, "w");
    if (!file)
        support_fail("%s: %s", path, strerror(errno));
    fputs(settings, file);
    fprintf(file, "unix_socket_directories = '%s'\n", postgres->sockets);
    if (!options || !options->durable)
        fputs("fsync = off\nfull_page_writes = off\n", file);
    if (options && options->settings)
        fputs(options->settings, file);
    fclose(file);
    if (chown(path, process_user(), process_group()) != 0)
        support_fail("%s: %s", path, strerror(errno));
    free(path);
}

static void make_paths(struct postgres *postgres, const char *purpose)
{
    postgres->programs = find_programs();
    postgres->folder = scratch_folder(purpose);
    postgres->data = scratch_printf("%s/data", postgres->folder);
    postgres->sockets = scratch_printf("%s/s", postgres->folder);
    postgres->log = scratch_printf("%s/log", postgres->folder);
    make_owned(postgres->sockets);
    make_owned(postgres->data);
}

// The data folder that others are copied from, with a migrated database in it; made by the first call.
static const char *initialised(void)
{
    static struct postgres made;
    if (made.data)
        return made.data;
    make_paths(&made, "first");
    char *initdb = scratch_printf("%s/initdb", made.programs);
    run_or_fail((const char *const[]){initdb, "-D", made.data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                                      "--locale=C", "--wal-segsize=4", "--no-sync", NULL},
                made.log);
    free(initdb);
    write_settings(&made, NULL);
    postgres_start(&made);
    struct database copied = database_new(&made, DATABASE_MIGRATED);
    database_drop(&made, &copied);
    postgres_stop(&made);
    return made.data;
}

struct postgres *postgres_new(const struct postgres_options *options)
{
    struct postgres *postgres = calloc(1, sizeof *postgres);
    if (!postgres)
        support_fail("no memory");
    const char *from = initialised();
    make_paths(postgres, "pg");
    char *contents = scratch_printf("%s/.", from);
    run_or_fail((const char *const[]){"/bin/cp", "-a", contents, postgres->data, NULL}, postgres->log);
    free(contents);
    write_settings(postgres, options);
    postgres->environment = options ? options->environment : NULL;
    postgres_start(postgres);
    if (pooler_is_wanted())
        postgres->pooler = pooler_start(postgres->folder, postgres->sockets, NULL);
    return postgres;
}

static char *own_address(const struct postgres *postgres)
{
    return scratch_printf("host=%s user=postgres dbname=postgres connect_timeout=2", postgres->sockets);
}

struct postgres *postgres_standby_new(struct postgres *primary)
{
    struct postgres *standby = calloc(1, sizeof *standby);
    if (!standby)
        support_fail("no memory");
    make_paths(standby, "standby");
    char *contents = scratch_printf("%s/.", primary->data);
    char *signal = scratch_printf("%s/standby.signal", standby->data);
    char *settings_line =
        scratch_printf("primary_conninfo = 'host=%s user=postgres application_name=standby'\n"
                       "wal_retrieve_retry_interval = 100ms\n",
                       primary->sockets);
    postgres_stop(primary);
    run_or_fail((const char *const[]){"/bin/cp", "-a", contents, standby->data, NULL}, standby->log);
    run_or_fail((const char *const[]){"/bin/touch", signal, NULL}, standby->log);
    write_settings(standby, &(struct postgres_options){.settings = settings_line});
    postgres_start(primary);
    postgres_start(standby);
    free(settings_line);
    free(signal);
    free(contents);
    return standby;
}

void postgres_promote(struct postgres *standby)
{
    char *address = own_address(standby);
    PGconn *connection = PQconnectdb(address);
    sql_run(connection, "select pg_promote(true, 30)");
    PQfinish(connection);
    free(address);
}

void postgres_free(struct postgres *postgres)
{
    if (!postgres)
        return;
    pooler_stop(postgres->pooler);
    postgres_stop(postgres);
    scratch_remove(postgres->folder);
    free(postgres->programs);
    free(postgres->folder);
    free(postgres->data);
    free(postgres->sockets);
    free(postgres->log);
    free(postgres);
}

// The server's id by its lock file, 0 when it does not run: right in a forked child and after a restart too.
static pid_t running(const struct postgres *postgres)
{
    char *path = scratch_printf("%s/postmaster.pid", postgres->data);
    char *text = scratch_read(path, NULL);
    pid_t pid = (pid_t)atoi(text);
    free(text);
    free(path);
    return pid;
}

pid_t postgres_pid(const struct postgres *postgres)
{
    pid_t pid = running(postgres);
    if (pid <= 0)
        support_fail("PostgreSQL does not run");
    return pid;
}

static bool accepts(const struct postgres *postgres)
{
    char *address = own_address(postgres);
    PGPing answer = PQping(address);
    free(address);
    return answer == PQPING_OK;
}

static pid_t start_process(const struct postgres *postgres)
{
    char *program = scratch_printf("%s/postgres", postgres->programs);
    struct process_options options = {
        .arguments = (const char *const[]){program, "-D", postgres->data, NULL},
        .environment = postgres->environment,
        .output = postgres->log,
        .stdout_fd = -1,
        .unprivileged = true,
        .directory = "/",
    };
    pid_t pid = process_start(&options);
    free(program);
    return pid;
}

static void fail_with_log(const struct postgres *postgres, const char *what)
{
    char *log = scratch_read(postgres->log, NULL);
    size_t size = strlen(log), shown = size < LOG_SHOWN ? size : LOG_SHOWN;
    support_fail("%s: %s", what, log + size - shown);
}

void postgres_start(struct postgres *postgres)
{
    int64_t until = clock_ms() + START_MS;
    pid_t pid = start_process(postgres);
    while (!accepts(postgres)) {
        if (process_wait(pid, 0) != -1)
            fail_with_log(postgres, "PostgreSQL does not start");
        if (clock_ms() >= until)
            fail_with_log(postgres, "PostgreSQL starts too slowly");
        clock_pause(10);
    }
    if (process_wait(pid, 0) != -1)
        fail_with_log(postgres, "PostgreSQL runs already");
}

void postgres_revive(struct postgres *postgres)
{
    int64_t until = clock_ms() + START_MS;
    while (!accepts(postgres)) {
        pid_t pid = running(postgres);
        // One that ended takes its lock file away, unless it was killed; then we are its parent.
        if (pid <= 0 || process_wait(pid, 0) != -1)
            postgres_start(postgres);
        else if (clock_ms() >= until)
            support_fail("PostgreSQL does not recover");
        else
            clock_pause(10);
    }
}

void postgres_stop(struct postgres *postgres)
{
    pid_t pid = running(postgres);
    if (pid <= 0)
        return;
    kill(pid, SIGINT);
    if (process_wait(pid, START_MS) == -1)
        support_fail("PostgreSQL does not stop");
}

void postgres_kill(struct postgres *postgres)
{
    pid_t pid = postgres_pid(postgres);
    process_signal_tree(pid, SIGKILL);
    process_wait(pid, START_MS);
    char *lock = scratch_printf("%s/postmaster.pid", postgres->data);
    unlink(lock); // its id could belong to somebody else by the next look
    free(lock);
}

void postgres_freeze(struct postgres *postgres)
{
    pid_t pid = postgres_pid(postgres);
    process_signal_tree(pid, SIGSTOP);
}

void postgres_thaw(struct postgres *postgres)
{
    process_signal_tree(postgres_pid(postgres), SIGCONT);
}

const char *postgres_socket_folder(const struct postgres *postgres)
{
    return postgres->sockets;
}

const char *postgres_log(const struct postgres *postgres)
{
    return postgres->log;
}

const char *postgres_programs(const struct postgres *postgres)
{
    return postgres->programs;
}
