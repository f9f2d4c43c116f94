// A server's processes are known by their working folder, which is the cluster: a process id in a file may
// long be somebody else's.
#include "store/embedded/leftovers.h"

#include "base/log.h"
#include "base/timestamp.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PID_FILE    FOLDER_CLUSTER "/postmaster.pid"
#define SOCKET_FILE FOLDER_SOCKET "/.s.PGSQL.5432"

enum {
    STATE_LINE = 7, // from 0: where the server writes whether it is ready
    MAX_PROCESSES = 1024,
    FAST_MS = 30000,  // how long a server that was told to stop may take
    QUIT_MS = 40000,  // how long processes that were told to quit may take
    LIMIT_MS = 50000, // after that even killing did not help
    POLL_MS = 5,
};

struct processes {
    size_t count;
    pid_t pids[MAX_PROCESSES];
};

// The pid file's text, NUL-terminated; false when there is none.
static bool read_pid_file(const struct folder *folder, char *text, size_t size)
{
    int fd = openat(folder->fd, PID_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, size - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return true;
}

enum server_state leftovers_state(const struct folder *folder, pid_t pid)
{
    char text[PATH_MAX + 256];
    if (!read_pid_file(folder, text, sizeof text) || strtol(text, NULL, 10) != pid)
        return SERVER_ABSENT;
    const char *line = text;
    for (int i = 0; i < STATE_LINE && line != NULL; i++) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return line != NULL && strncmp(line, "ready", 5) == 0 ? SERVER_READY : SERVER_STARTING;
}

static bool is_postgres(const char *pid)
{
    char path[64];
    char name[32] = "";
    snprintf(path, sizeof path, "/proc/%.16s/comm", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, name, sizeof name - 1);
    close(fd);
    return got > 0 && (strncmp(name, "postgres", 8) == 0 || strncmp(name, "postmaster", 10) == 0);
}

static bool works_in(const char *pid, const struct stat *cluster)
{
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%.16s/cwd", pid);
    return stat(path, &info) == 0 && info.st_dev == cluster->st_dev && info.st_ino == cluster->st_ino;
}

static void find_processes(const struct folder *folder, struct processes *found)
{
    struct stat cluster;
    DIR *listing = opendir("/proc");
    found->count = 0;
    if (listing != NULL && fstatat(folder->fd, FOLDER_CLUSTER, &cluster, AT_SYMLINK_NOFOLLOW) == 0) {
        for (struct dirent *entry; found->count < MAX_PROCESSES && (entry = readdir(listing)) != NULL;) {
            if (isdigit((unsigned char)entry->d_name[0]) && works_in(entry->d_name, &cluster) &&
                is_postgres(entry->d_name))
                found->pids[found->count++] = (pid_t)strtol(entry->d_name, NULL, 10);
        }
    }
    if (listing != NULL)
        closedir(listing);
}

static bool contains(const struct processes *processes, pid_t pid)
{
    for (size_t i = 0; i < processes->count; i++) {
        if (processes->pids[i] == pid)
            return true;
    }
    return false;
}

static void signal_all(const struct processes *processes, int signal)
{
    for (size_t i = 0; i < processes->count; i++)
        kill(processes->pids[i], signal);
}

// Each step is taken once, when its time has come: a server is told to stop, then all are told to quit, then
// killed. Backends without a server have nobody to wait for and quit at once; nothing is lost, the next
// server recovers.
static void push(const struct processes *processes, pid_t server, int64_t waited_ms, int *step)
{
    if (*step < 1 && contains(processes, server)) {
        *step = 1;
        kill(server, SIGINT);
    } else if (*step < 2 && (waited_ms >= FAST_MS || !contains(processes, server))) {
        *step = 2;
        signal_all(processes, SIGQUIT);
    } else if (*step < 3 && waited_ms >= QUIT_MS) {
        *step = 3;
        signal_all(processes, SIGKILL);
    }
}

static bool wait_for_processes(const struct folder *folder, pid_t server, struct refusal *refusal)
{
    struct processes processes;
    int64_t start = timestamp_monotonic();
    int step = 0;
    for (find_processes(folder, &processes); processes.count > 0; find_processes(folder, &processes)) {
        int64_t waited_ms = (timestamp_monotonic() - start) / 1000;
        if (waited_ms >= LIMIT_MS)
            return refuse(refusal,
                          "process %ld of an earlier PostgreSQL still works in %s/%s and does not end",
                          (long)processes.pids[0], folder->path, FOLDER_CLUSTER);
        if (step == 0)
            log_event(LOG_WARN, "private_postgres_left_behind", NULL);
        push(&processes, server, waited_ms, &step);
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
    }
    return true;
}

// PostgreSQL itself sees that a file is stale when its process is gone, and checks more than we do. It only
// stops at a file that power loss left empty and at a number that belongs to another process by now.
static bool blocks_start(pid_t pid)
{
    return pid <= 0 || kill(pid, 0) == 0 || errno == EPERM;
}

bool leftovers_clear(const struct folder *folder, struct refusal *refusal)
{
    char text[64];
    if (read_pid_file(folder, text, sizeof text)) {
        pid_t server = (pid_t)strtol(text, NULL, 10);
        if (!wait_for_processes(folder, server, refusal))
            return false;
        if (blocks_start(server))
            unlinkat(folder->fd, PID_FILE, 0);
    }
    unlinkat(folder->fd, SOCKET_FILE ".lock", 0); // the cluster's own lock is the one that counts
    return true;
}
