// The private PostgreSQL: what it is like, and that its folder survives whatever ends the service or the
// server.
#include "api.h"

#include "support/clock.h"
#include "support/process.h"
#include "support/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 60 * 1000 };

// One data folder for the suite, which the first test initialises: every test leaves it in a state to start
// from.
static char *data;

static const char *const write_headers[] = {NULL};

static struct service *start_on(const char *folder)
{
    return service_start(&(struct service_options){.data = folder});
}

static char *path_in(const char *folder, const char *name)
{
    return scratch_printf("%s/%s", folder, name);
}

// Puts a value under a key and gives whether the service says that it is kept.
static void put(const struct service *service, const char *key)
{
    struct http_client *client = http_client_new(service_url(service));
    const char *target = http_text(client, "/v1/buckets/kept/entries/%s", key);
    struct answer *answer = http_send(client, "PUT", target, BODY("kept"), write_headers);
    ck_reply(answer, answer->status == 201 || answer->status == 204);
    http_client_free(client);
}

static void check_kept(const struct service *service, const char *key)
{
    struct http_client *client = http_client_new(service_url(service));
    const char *target = http_text(client, "/v1/buckets/kept/entries/%s", key);
    ck_body(http(client, "GET", target, NO_BODY), BODY("kept"));
    http_client_free(client);
}

static PGconn *connect_below(const char *folder)
{
    char *text = scratch_printf("host=%s/socket user=holdfast dbname=holdfast", folder);
    PGconn *connection = PQconnectdb(text);
    if (PQstatus(connection) != CONNECTION_OK)
        ck_abort_msg("%s", PQerrorMessage(connection));
    free(text);
    return connection;
}

// The server's process id by its own file; 0 when there is none.
static pid_t server_of(const char *folder)
{
    char *path = path_in(folder, "postgres/postmaster.pid");
    char *text = scratch_read(path, NULL);
    pid_t pid = (pid_t)atoi(text);
    free(text);
    free(path);
    return pid;
}

static void check_setting(PGconn *connection, const char *name, const char *expected)
{
    char *value = sql_text(connection, "select setting from pg_settings where name = '%s'", name);
    if (!value || strcmp(value, expected) != 0)
        ck_abort_msg("%s is %s, not %s", name, value ? value : "absent", expected);
    free(value);
}

static mode_t mode_of(const char *folder, const char *name)
{
    struct stat info;
    char *path = path_in(folder, name);
    ck_assert_msg(lstat(path, &info) == 0, "%s: %s", path, strerror(errno));
    free(path);
    return info.st_mode & 07777;
}

static uid_t owner_of(pid_t pid)
{
    struct stat info;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    ck_assert_int_eq(stat(path, &info), 0);
    return info.st_uid;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

// Runs `holdfast serve` on a folder that it must refuse; gives all it wrote.
static char *refusal_on(const char *folder)
{
    char *scratch = scratch_folder("refusal");
    char *log = path_in(scratch, "log");
    const char *const arguments[] = {service_binary(), "serve", "--listen", "127.0.0.1:0",
                                     "--data",         folder,  NULL};
    int code = process_run(&(struct process_options){.arguments = arguments, .output = log, .stdout_fd = -1},
                           PATIENCE_MS);
    char *text = scratch_read(log, NULL);
    ck_assert_msg(code == 1, "the exit code is %d: %s", code, text);
    ck_assert_msg(strchr(text, '\n') == text + strlen(text) - 1, "not one line: %s", text);
    free(log);
    free(scratch);
    return text;
}

static void check_refused(const char *folder, const char *why, const char *and_why)
{
    char *text = refusal_on(folder);
    ck_assert_msg(strstr(text, why) && strstr(text, and_why), "says not \"%s\" and \"%s\": %s", why, and_why,
                  text);
    free(text);
}

START_TEST(private_server_is_private_and_safe)
{
    struct service *service = start_on(data);
    PGconn *connection = connect_below(data);
    check_setting(connection, "data_checksums", "on");
    check_setting(connection, "server_encoding", "UTF8");
    check_setting(connection, "listen_addresses", "");
    check_setting(connection, "unix_socket_permissions", "0700");
    check_setting(connection, "fsync", "on");
    check_setting(connection, "synchronous_commit", "on");
    check_setting(connection, "full_page_writes", "on");
    check_setting(connection, "jit", "off");
    ck_assert_int_eq(sql_number(connection, "select count(*) from pg_database where datcollate <> 'C'"), 0);
    PQfinish(connection);
    ck_assert_int_eq(mode_of(data, ""), 0700);
    ck_assert_int_eq(mode_of(data, "postgres"), 0700);
    ck_assert_int_eq(mode_of(data, "socket"), 0700);
    ck_assert_int_eq(mode_of(data, "socket/.s.PGSQL.5432"), 0700);
    ck_assert_int_eq(mode_of(data, "postgres.log") & 077, 0);
    ck_assert_uint_ne(owner_of(server_of(data)), 0);
    service_end(service);
}
END_TEST

START_TEST(private_server_ends_with_the_service)
{
    struct service *service = start_on(data);
    pid_t server = server_of(data);
    ck_assert_int_gt(server, 0);
    put(service, "ended");
    service_end(service);
    ck_assert_int_eq(kill(server, 0), -1);
    ck_assert_int_eq(server_of(data), 0);
    service = start_on(data);
    check_kept(service, "ended");
    service_end(service);
}
END_TEST

static bool server_is_gone(void *folder)
{
    return server_of(folder) == 0;
}

START_TEST(server_of_a_killed_service_stops_by_itself)
{
    struct service *service = start_on(data);
    put(service, "killed");
    service_kill(service);
    ck_assert(clock_wait(server_is_gone, data, PATIENCE_MS));
    service = start_on(data);
    check_kept(service, "killed");
    service_end(service);
}
END_TEST

START_TEST(killed_service_is_followed_at_once)
{
    struct service *service = start_on(data);
    for (int round = 0; round < 3; round++) {
        put(service, "followed");
        service_kill(service);
        service = start_on(data);
        check_kept(service, "followed");
    }
    service_end(service);
}
END_TEST

// Power loss, as far as processes can show it: with the server's backends, and with backends that are left
// for a moment.
START_TEST(service_and_server_killed_together)
{
    struct service *service = start_on(data);
    for (int backends_too = 0; backends_too < 2; backends_too++) {
        pid_t server = server_of(data);
        put(service, "both");
        kill(service_pid(service), SIGSTOP);
        if (backends_too)
            process_signal_tree(server, SIGKILL);
        else
            kill(server, SIGKILL);
        service_kill(service);
        ck_assert_int_eq(server_of(data), server);
        service = start_on(data);
        check_kept(service, "both");
    }
    service_end(service);
}
END_TEST

// A server that was frozen when its service died still holds the folder when the next one starts.
START_TEST(frozen_server_left_behind_is_waited_for)
{
    struct service *service = start_on(data);
    pid_t server = server_of(data);
    put(service, "frozen");
    kill(server, SIGSTOP);
    service_kill(service);
    const char *const arguments[] = {service_binary(), "serve", "--listen", "127.0.0.1:0",
                                     "--data",         data,    NULL};
    char *folder = scratch_folder("frozen");
    char *log = path_in(folder, "log");
    pid_t next =
        process_start(&(struct process_options){.arguments = arguments, .output = log, .stdout_fd = -1});
    int64_t until = clock_ms() + PATIENCE_MS;
    for (bool waits = false; !waits && clock_ms() < until; clock_pause(5)) {
        char *text = scratch_read(log, NULL);
        waits = strstr(text, "private_postgres_left_behind") != NULL;
        free(text);
    }
    ck_assert_int_eq(server_of(data), server);
    kill(server, SIGCONT);
    for (bool listens = false; !listens && clock_ms() < until; clock_pause(5)) {
        char *text = scratch_read(log, NULL);
        listens = strstr(text, "listening on ") != NULL;
        free(text);
    }
    ck_assert_int_ne(server_of(data), server);
    kill(next, SIGTERM);
    ck_assert_int_eq(process_wait(next, PATIENCE_MS), 0);
    service = start_on(data);
    check_kept(service, "frozen");
    service_end(service);
    free(log);
    free(folder);
}
END_TEST

static void check_starts_beside_lock(const char *text)
{
    char *cluster_lock = path_in(data, "postgres/postmaster.pid");
    char *socket_lock = path_in(data, "socket/.s.PGSQL.5432.lock");
    write_file(cluster_lock, text);
    write_file(socket_lock, text);
    struct service *service = start_on(data);
    put(service, "lock");
    service_end(service);
    free(cluster_lock);
    free(socket_lock);
}

START_TEST(stale_lock_of_any_kind_is_no_obstacle)
{
    service_end(start_on(data));
    char *ours = scratch_printf("%d\n%s/postgres\n", (int)getpid(), data); // lives, and is no server
    check_starts_beside_lock(ours);
    check_starts_beside_lock("1\n");
    check_starts_beside_lock("");
    check_starts_beside_lock("not a number\n");
    free(ours);
}
END_TEST

START_TEST(second_service_on_the_folder_is_refused)
{
    struct service *service = start_on(data);
    char *holder = scratch_printf("process %d", (int)service_pid(service));
    check_refused(data, data, holder);
    put(service, "second");
    free(holder);
    service_end(service);
}
END_TEST

START_TEST(data_of_another_version_is_refused_untouched)
{
    service_end(start_on(data));
    char *path = path_in(data, "postgres/PG_VERSION");
    char *version = scratch_read(path, NULL);
    write_file(path, "9.6\n");
    struct stat before, after;
    char *control = path_in(data, "postgres/global/pg_control");
    ck_assert_int_eq(stat(control, &before), 0);
    check_refused(data, "written by PostgreSQL 9", "installed");
    ck_assert_int_eq(stat(control, &after), 0);
    ck_assert_int_eq(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
    ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    char *now = scratch_read(path, NULL);
    ck_assert_pstr_eq(now, "9.6\n");
    write_file(path, version);
    service_end(start_on(data));
    free(now);
    free(control);
    free(version);
    free(path);
}
END_TEST

START_TEST(folder_with_other_files_is_refused_untouched)
{
    char *folder = scratch_folder("foreign");
    char *file = path_in(folder, "letters");
    write_file(file, "dear");
    ck_assert_int_eq(chmod(folder, 0755), 0);
    check_refused(folder, folder, "not holdfast's");
    ck_assert_int_eq(mode_of(folder, ""), 0755);
    check_refused(file, file, "Not a directory");
    free(file);
    free(folder);
}
END_TEST

START_TEST(cluster_without_version_is_refused)
{
    char *folder = scratch_folder("odd");
    char *cluster = path_in(folder, "postgres");
    char *lock = path_in(folder, "holdfast.lock");
    write_file(lock, "");
    ck_assert_int_eq(mkdir(cluster, 0700), 0);
    check_refused(folder, cluster, "PG_VERSION");
    free(lock);
    free(cluster);
    free(folder);
}
END_TEST

// Whether the folder has an entry whose name begins so.
static bool has_entry(const char *folder, const char *start)
{
    DIR *listing = opendir(folder);
    bool found = false;
    for (struct dirent *entry; listing && !found && (entry = readdir(listing)) != NULL;)
        found = strncmp(entry->d_name, start, strlen(start)) == 0;
    if (listing)
        closedir(listing);
    return found;
}

static bool is_initialising(void *folder)
{
    return has_entry(folder, "postgres.new.");
}

START_TEST(interrupted_initialisation_is_begun_again)
{
    char *parent = scratch_folder("interrupted");
    char *folder = path_in(parent, "data");
    char *cluster = path_in(folder, "postgres");
    const char *const arguments[] = {service_binary(), "serve", "--listen", "127.0.0.1:0",
                                     "--data",         folder,  NULL};
    char *log = path_in(parent, "log");
    pid_t first =
        process_start(&(struct process_options){.arguments = arguments, .output = log, .stdout_fd = -1});
    ck_assert(clock_wait(is_initialising, folder, PATIENCE_MS));
    kill(first, SIGKILL);
    process_wait(first, PATIENCE_MS);
    ck_assert_int_eq(access(cluster, F_OK), -1);
    struct service *service = start_on(folder);
    put(service, "again");
    service_end(service);
    service_end(start_on(folder));
    free(log);
    free(cluster);
    free(folder);
    free(parent);
}
END_TEST

// Names that settings, connection strings and sockets would trip over, below a folder that only we may enter.
START_TEST(data_may_lie_anywhere)
{
    char *parent = scratch_folder("odd");
    char *locked = path_in(parent, "locked");
    char *folder = scratch_printf("%s/it's, \"quoted\" \\ %%s and long %0120d/data", locked, 0);
    ck_assert_int_eq(mkdir(locked, 0700), 0);
    struct service *service = start_on(folder);
    put(service, "odd");
    service_kill(service);
    service = start_on(folder);
    check_kept(service, "odd");
    check_refused(folder, folder, "in use by another holdfast");
    service_end(service);
    free(folder);
    free(locked);
    free(parent);
}
END_TEST

// Each connection of the service comes back in its own time; until then it answers 503, which is no loss.
static bool answers_again(void *service)
{
    struct http_client *client = http_client_new(service_url(service));
    bool read = http(client, "GET", "/v1/buckets/kept/entries/back", NO_BODY)->status == 200;
    bool written = http(client, "PUT", "/v1/buckets/kept/entries/again", BODY("kept"))->status < 300;
    http_client_free(client);
    return read && written;
}

START_TEST(killed_server_comes_back_under_the_service)
{
    struct service *service = start_on(data);
    put(service, "back");
    pid_t server = server_of(data);
    kill(server, SIGKILL);
    int64_t until = clock_ms() + PATIENCE_MS;
    while (server_of(data) == server && clock_ms() < until)
        clock_pause(5);
    ck_assert_int_ne(server_of(data), server);
    ck_assert(clock_wait(answers_again, service, PATIENCE_MS));
    check_kept(service, "back");
    check_kept(service, "again");
    service_end(service);
}
END_TEST

START_TEST(stored_values_stay_out_of_the_servers_log)
{
    struct service *service = start_on(data);
    PGconn *connection = connect_below(data);
    const char *const parameters[] = {"hushhush"};
    PQclear(PQexec(connection, "select 'hushhush'::integer"));
    PGresult *result = PQexecParams(connection, "select $1::integer", 1, NULL, parameters, NULL, NULL, 0);
    ck_assert_int_eq(PQresultStatus(result), PGRES_FATAL_ERROR);
    PQclear(result);
    PQclear(PQexec(connection, "create temporary table t (v text primary key)"));
    PQclear(PQexec(connection, "insert into t values ('hushhush'), ('hushhush')"));
    PQfinish(connection);
    service_end(service);
    char *path = path_in(data, "postgres.log");
    char *log = scratch_read(path, NULL);
    ck_assert(strstr(log, "database system is shut down") != NULL);
    ck_assert(strstr(log, "hushhush") == NULL);
    free(log);
    free(path);
}
END_TEST

Suite *embedded_suite(void)
{
    const TTest *const tests[] = {
        private_server_is_private_and_safe,
        private_server_ends_with_the_service,
        server_of_a_killed_service_stops_by_itself,
        killed_service_is_followed_at_once,
        service_and_server_killed_together,
        frozen_server_left_behind_is_waited_for,
        stale_lock_of_any_kind_is_no_obstacle,
        second_service_on_the_folder_is_refused,
        data_of_another_version_is_refused_untouched,
        folder_with_other_files_is_refused_untouched,
        cluster_without_version_is_refused,
        interrupted_initialisation_is_begun_again,
        data_may_lie_anywhere,
        killed_server_comes_back_under_the_service,
        stored_values_stay_out_of_the_servers_log,
        NULL,
    };
    char *folder = scratch_folder("embedded");
    data = path_in(folder, "data");
    free(folder);
    return api_suite_bare("embedded", tests);
}
