// One PgBouncer a server, found again by where its socket lies: beside the server's.
#include "support/pooler.h"

#include "support/clock.h"
#include "support/failure.h"
#include "support/postgres.h"
#include "support/process.h"
#include "support/scratch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PORT   "6432"
#define FOLDER "/pooler" // beside the server's folder of sockets

enum { START_MS = 10 * 1000 };

struct pooler {
    pid_t pid;
};

bool pooler_is_wanted(void)
{
    const char *wanted = getenv("HOLDFAST_TEST_POOLER");
    return wanted && strcmp(wanted, "yes") == 0;
}

// Where Debian has it, or what the environment's HOLDFAST_PGBOUNCER says.
static const char *program(void)
{
    const char *given = getenv("HOLDFAST_PGBOUNCER");
    return given && *given ? given : "/usr/sbin/pgbouncer";
}

static char *write_file(const char *folder, const char *name, const char *text)
{
    char *path = scratch_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0 ||
        chown(path, process_user(), process_group()) != 0)
        support_fail("%s: %s", path, strerror(errno));
    return path;
}

// Few sessions, lent in turn: what a transaction leaves in one is met by another client at once.
static char *write_settings(const char *folder, const char *sockets, const char *more)
{
    char *users = write_file(folder, "users", "\"postgres\" \"\"\n");
    char *text = scratch_printf("[databases]\n"
                                "* = host=%s\n"
                                "[pgbouncer]\n"
                                "unix_socket_dir = %s\n"
                                "listen_port = " PORT "\n"
                                "auth_type = trust\n"
                                "auth_file = %s\n"
                                "admin_users = postgres\n"
                                "pool_mode = transaction\n"
                                "default_pool_size = 8\n"
                                "server_round_robin = 1\n"
                                "server_idle_timeout = 10\n"
                                "server_login_retry = 0.1\n"
                                "query_wait_timeout = 2\n"
                                "max_client_conn = 2000\n%s",
                                sockets, folder, users, more ? more : "");
    char *settings = write_file(folder, "settings", text);
    free(text);
    free(users);
    return settings;
}

static bool accepts(void *user)
{
    return access(user, F_OK) == 0;
}

struct pooler *pooler_start(const char *folder, const char *sockets, const char *more)
{
    char *own = scratch_printf("%s" FOLDER, folder);
    char *log = scratch_printf("%s/log", own);
    char *socket = scratch_printf("%s/.s.PGSQL." PORT, own);
    if (mkdir(own, 0700) != 0 || chown(own, process_user(), process_group()) != 0)
        support_fail("%s: %s", own, strerror(errno));
    char *settings = write_settings(own, sockets, more);
    struct pooler *pooler = calloc(1, sizeof *pooler);
    if (!pooler)
        support_fail("no memory");
    pooler->pid =
        process_start(&(struct process_options){.arguments = (const char *const[]){program(), settings, NULL},
                                                .output = log,
                                                .stdout_fd = -1,
                                                .unprivileged = true,
                                                .directory = "/"});
    if (!clock_wait(accepts, socket, START_MS)) {
        char *text = scratch_read(log, NULL);
        support_fail("PgBouncer does not start: %s", text);
    }
    free(settings);
    free(socket);
    free(log);
    free(own);
    return pooler;
}

void pooler_stop(struct pooler *pooler)
{
    if (!pooler)
        return;
    kill(pooler->pid, SIGTERM);
    process_wait(pooler->pid, START_MS);
    free(pooler);
}

char *pooler_address(const char *folder, const char *database)
{
    return scratch_printf("postgresql:///%s?host=%s" FOLDER "&port=" PORT "&user=postgres", database, folder);
}

char *pooler_url(const char *url)
{
    static const char host[] = "?host=";
    const char *start = strstr(url, host);
    const char *sockets = start ? start + strlen(host) : "";
    const char *end = strchr(sockets, '&');
    const char *slash = end ? memrchr(sockets, '/', (size_t)(end - sockets)) : NULL;
    if (!pooler_is_wanted() || !slash || strstr(url, "port=") || !strstr(url, "user=postgres"))
        return NULL;
    char *socket = scratch_printf("%.*s" FOLDER "/.s.PGSQL." PORT, (int)(slash - sockets), sockets);
    char *pooled = NULL;
    if (access(socket, F_OK) == 0)
        pooled = scratch_printf("%.*s" FOLDER "&port=" PORT "%s", (int)(slash - url), url, end);
    free(socket);
    return pooled;
}

// Of those that PgBouncer tells of.
static int clients_named(PGconn *console, const struct database *database, const char *name)
{
    int count = 0;
    PGresult *clients = PQexec(console, "show clients");
    int databases = PQfnumber(clients, "database"), names = PQfnumber(clients, "application_name");
    if (databases < 0 || names < 0)
        support_fail("PgBouncer does not tell of its clients: %s", PQerrorMessage(console));
    for (int i = 0; i < PQntuples(clients); i++)
        count += strcmp(PQgetvalue(clients, i, databases), database->name) == 0 &&
                 strncmp(PQgetvalue(clients, i, names), name, strlen(name)) == 0;
    PQclear(clients);
    return count;
}

int pooler_cut(const struct database *database, const char *name)
{
    char *pooled = pooler_url(database->url);
    PGconn *console = PQconnectdbParams((const char *const[]){"dbname", "dbname", NULL},
                                        (const char *const[]){pooled, "pgbouncer", NULL}, 1);
    if (!pooled || PQstatus(console) != CONNECTION_OK)
        support_fail("PgBouncer's console does not answer: %s", PQerrorMessage(console));
    int count = clients_named(console, database, name);
    sql_run(console, "kill %s", database->name);
    sql_run(console, "resume %s", database->name);
    PQfinish(console);
    free(pooled);
    return count;
}
