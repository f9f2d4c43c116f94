// A cluster is made beside its place and moved there when it is complete, so that no half of one is ever
// started.
#include "store/embedded/cluster.h"

#include "base/buffer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_CLUSTER FOLDER_CLUSTER ".new." // and a process id
#define SETTINGS    "holdfast.conf"

#define MEBIBYTE (INT64_C(1024) * 1024)

static const char include_settings[] =
    "\n# Written anew at each start of the service. `alter system` overrides it.\n"
    "include_if_exists = '" SETTINGS "'\n";

bool cluster_version(const struct folder *folder, int *major, struct refusal *refusal)
{
    char text[16] = "";
    struct stat info;
    *major = 0;
    if (fstatat(folder->fd, FOLDER_CLUSTER, &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return true;
    int fd = openat(folder->fd, FOLDER_CLUSTER "/PG_VERSION", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t got = read(fd, text, sizeof text - 1);
        close(fd);
        *major = got > 0 ? (int)strtol(text, NULL, 10) : 0;
    }
    if (*major <= 0)
        return refuse(refusal, "%s/%s is there but is not a PostgreSQL cluster (no readable PG_VERSION)",
                      folder->path, FOLDER_CLUSTER);
    return true;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

static void remove_tree(const struct folder *folder, const char *name)
{
    char path[PATH_MAX + NAME_MAX + 2];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

// What interrupted starts left. What cannot be removed now, since a program still writes there, is left for a
// later start: each process has a name of its own for what it makes.
static void remove_unfinished(const struct folder *folder)
{
    int copy = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = copy < 0 ? NULL : fdopendir(copy);
    if (listing == NULL) {
        if (copy >= 0)
            close(copy);
        return;
    }
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (strncmp(entry->d_name, NEW_CLUSTER, strlen(NEW_CLUSTER)) == 0)
            remove_tree(folder, entry->d_name);
    }
    closedir(listing);
}

static bool run_initdb(const struct folder *folder, const struct account *account,
                       const struct programs *programs, const char *name, struct refusal *refusal)
{
    char path[PATH_MAX + 16];
    char target[sizeof folder->base + 64];
    char output[1024];
    snprintf(path, sizeof path, "%s/initdb", programs->folder);
    snprintf(target, sizeof target, "--pgdata=%s/%s", folder->base, name);
    const char *arguments[] = {path,
                               target,
                               "--username=holdfast",
                               "--auth-local=trust", // the socket's folder lets nobody else in
                               "--auth-host=reject",
                               "--encoding=UTF8",
                               "--locale=C",
                               "--data-checksums",
                               "--no-instructions",
                               NULL};
    struct program program = {.arguments = arguments, .account = account, .keep = folder->fd};
    int status = program_run(&program, output, sizeof output, refusal);
    if (status < 0)
        return false;
    if (status == 0)
        return true;
    refusal_flatten(output, ';');
    return refuse(refusal, "initdb failed in %s: %s", folder->path, output);
}

// Writes all of it and sees it to the disk. Closes `fd`, which may be -1.
static bool write_and_close(int fd, const void *data, size_t size)
{
    bool ok = fd >= 0 && write(fd, data, size) == (ssize_t)size && fsync(fd) == 0;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    return ok;
}

static bool put_in_place(const struct folder *folder, const char *name, struct refusal *refusal)
{
    char settings[64];
    snprintf(settings, sizeof settings, "%s/postgresql.conf", name);
    int fd = openat(folder->fd, settings, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    if (write_and_close(fd, include_settings, sizeof include_settings - 1) &&
        renameat(folder->fd, name, folder->fd, FOLDER_CLUSTER) == 0 && fsync(folder->fd) == 0)
        return true;
    return refuse(refusal, "cannot complete the new cluster in %s: %s", folder->path, strerror(errno));
}

bool cluster_initialise(const struct folder *folder, const struct account *account,
                        const struct programs *programs, struct refusal *refusal)
{
    char name[32];
    snprintf(name, sizeof name, NEW_CLUSTER "%ld", (long)getpid());
    remove_unfinished(folder);
    return run_initdb(folder, account, programs, name, refusal) && put_in_place(folder, name, refusal);
}

// A limit that a control group sets, in bytes; INT64_MAX when the file is not there or says `max`.
static int64_t limit_in(const char *path)
{
    char text[32] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return INT64_MAX;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    long long limit = got > 0 ? strtoll(text, NULL, 10) : 0;
    return limit > 0 ? limit : INT64_MAX;
}

// The memory this machine or container has, in bytes.
static int64_t memory_size(void)
{
    int64_t size = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t limits[] = {limit_in("/sys/fs/cgroup/memory.max"),
                        limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes")};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        size = limits[i] < size ? limits[i] : size;
    return size;
}

static int64_t clamp(int64_t n, int64_t low, int64_t high)
{
    return n < low ? low : n > high ? high : n;
}

static bool ask_about_lz4(const struct folder *folder, const struct account *account,
                          const struct programs *programs)
{
    char path[PATH_MAX + 16];
    char cluster[sizeof folder->base + sizeof FOLDER_CLUSTER + 1];
    char output[256];
    struct refusal unheard = {(char[256]){0}, 256};
    snprintf(path, sizeof path, "%s/postgres", programs->folder);
    snprintf(cluster, sizeof cluster, "%s/%s", folder->base, FOLDER_CLUSTER);
    const char *arguments[] = {
        path, "-D", cluster, "-c", "default_toast_compression=lz4", "-C", "default_toast_compression", NULL};
    struct program program = {.arguments = arguments, .account = account, .keep = folder->fd};
    return program_run(&program, output, sizeof output, &unheard) == 0;
}

// The first line of the settings: for which program they were made, up to its answer about lz4.
static void make_stamp(const struct programs *programs, char *stamp, size_t size)
{
    char path[PATH_MAX + 16];
    struct stat info = {0};
    snprintf(path, sizeof path, "%s/postgres", programs->folder);
    stat(path, &info);
    snprintf(stamp, size, "# For %s of %lld.%09ld; lz4: ", path, (long long)info.st_mtim.tv_sec,
             info.st_mtim.tv_nsec);
}

// lz4 is a choice of whoever built the server, so the server is asked; once, since that takes as long as a
// tenth of a start. The answer is read back from the settings while the program is the same.
static bool knows_lz4(const struct folder *folder, const struct account *account,
                      const struct programs *programs, const char *stamp)
{
    char text[PATH_MAX + 128] = "";
    int fd = openat(folder->fd, FOLDER_CLUSTER "/" SETTINGS, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    size_t size = strlen(stamp);
    if (got > (ssize_t)size && strncmp(text, stamp, size) == 0)
        return text[size] == 'y';
    return ask_about_lz4(folder, account, programs);
}

static void add_settings(struct buffer *text, const char *stamp, int major, bool lz4)
{
    int64_t memory = memory_size() / MEBIBYTE;
    buffer_printf(text, "%s%s\n", stamp, lz4 ? "yes" : "no");
    buffer_printf(text, "shared_buffers = %dMB\n", (int)clamp(memory / 4, 128, 8192));
    buffer_printf(text, "effective_cache_size = %dMB\n", (int)clamp(memory / 2, 128, INT32_MAX));
    buffer_printf(text, "default_toast_compression = %s\n", lz4 ? "lz4" : "pglz");
    buffer_printf(text, "wal_compression = %s\n", lz4 && major >= 15 ? "lz4" : "on");
    buffer_add_text(text, "huge_pages = try\n"
                          "max_connections = 200\n"
                          "max_locks_per_transaction = 128\n"
                          "fsync = on\n"
                          "synchronous_commit = on\n"
                          "checkpoint_timeout = 15min\n"
                          "checkpoint_completion_target = 0.9\n"
                          "min_wal_size = 256MB\n"
                          "max_wal_size = 4GB\n"
                          "random_page_cost = 1.1\n"
                          "jit = off\n"
                          "timezone = 'UTC'\n"
                          "log_timezone = 'UTC'\n");
    buffer_add_text(text, "\n# Rows change often: clean up early and quickly.\n"
                          "autovacuum_naptime = 15s\n"
                          "autovacuum_vacuum_scale_factor = 0.05\n"
                          "autovacuum_analyze_scale_factor = 0.05\n"
                          "autovacuum_vacuum_insert_scale_factor = 0.1\n"
                          "autovacuum_vacuum_cost_limit = 1000\n");
    buffer_add_text(
        text,
        "\n# What users store never reaches the log: a statement's error may quote it, and is told to its\n"
        "# client alone, so this keeps what the server says about itself (log, fatal, panic).\n"
        "log_line_prefix = '%m [%p] '\n"
        "log_min_messages = log\n"
        "log_min_error_statement = panic\n"
        "log_error_verbosity = terse\n"
        "log_statement = none\n"
        "log_min_duration_statement = -1\n"
        "log_parameter_max_length = 0\n"
        "log_parameter_max_length_on_error = 0\n"
        "log_checkpoints = off\n");
}

static bool replace_settings(const struct folder *folder, const struct account *account, struct bytes text)
{
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(folder->fd, FOLDER_CLUSTER "/" SETTINGS ".new", flags, 0600);
    if (fd >= 0 && account->switches && fchown(fd, account->uid, account->gid) != 0) {
        close(fd);
        return false;
    }
    return write_and_close(fd, text.data, text.size) &&
           renameat(folder->fd, FOLDER_CLUSTER "/" SETTINGS ".new", folder->fd,
                    FOLDER_CLUSTER "/" SETTINGS) == 0;
}

bool cluster_configure(const struct folder *folder, const struct account *account,
                       const struct programs *programs, struct refusal *refusal)
{
    struct buffer text = {0};
    char stamp[PATH_MAX + 96];
    make_stamp(programs, stamp, sizeof stamp);
    add_settings(&text, stamp, programs->major, knows_lz4(folder, account, programs, stamp));
    bool ok = replace_settings(folder, account, buffer_view(&text));
    buffer_free(&text);
    return ok || refuse(refusal, "cannot write %s/%s/%s: %s", folder->path, FOLDER_CLUSTER, SETTINGS,
                        strerror(errno));
}
