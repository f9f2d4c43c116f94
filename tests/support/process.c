// fork and exec with a leash: a child is killed by the kernel when its parent goes.
#include "support/process.h"

#include "support/clock.h"
#include "support/failure.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_VARIABLES = 512, MOST_DESCENDANTS = 4096, HOLD_MS = 2000 };

static const struct passwd *account(void)
{
    const struct passwd *user = geteuid() == 0 ? getpwnam("postgres") : NULL;
    if (!user && geteuid() == 0)
        user = getpwnam("nobody");
    return user;
}

uid_t process_user(void)
{
    const struct passwd *user = account();
    return user ? user->pw_uid : geteuid();
}

gid_t process_group(void)
{
    const struct passwd *user = account();
    return user ? user->pw_gid : getegid();
}

// Whether `variable` (NAME=value) is given anew, so that ours does not stand before it.
static bool is_replaced(const char *variable, const char *const *given)
{
    size_t name = strcspn(variable, "=") + 1;
    for (; given && *given; given++)
        if (strncmp(variable, *given, name) == 0)
            return true;
    return false;
}

// Our environment without what would configure the service by accident, then the given variables.
static void build_environment(const char *const *given, char *out[MOST_VARIABLES])
{
    int count = 0;
    for (char **variable = environ; *variable && count < MOST_VARIABLES / 2; variable++)
        if (strncmp(*variable, "HOLDFAST_", 9) != 0 && strncmp(*variable, "PG", 2) != 0 &&
            !is_replaced(*variable, given))
            out[count++] = *variable;
    for (; given && *given && count < MOST_VARIABLES - 1; given++)
        out[count++] = (char *)(uintptr_t)*given;
    out[count] = NULL;
}

_Noreturn static void give_up(const char *what)
{
    dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
    _exit(127);
}

static void redirect(const struct process_options *options)
{
    if (options->output) {
        int fd = open(options->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd < 0 || dup2(fd, STDERR_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0)
            give_up(options->output);
    }
    if (options->stdout_fd > 0 && dup2(options->stdout_fd, STDOUT_FILENO) < 0)
        give_up("stdout");
}

_Noreturn static void become(const struct process_options *options, pid_t parent, uid_t user, gid_t group,
                             char *const *environment)
{
    redirect(options);
    if (options->directory && chdir(options->directory) != 0)
        give_up(options->directory);
    struct rlimit limit = {options->descriptors, options->descriptors};
    if (options->descriptors && setrlimit(RLIMIT_NOFILE, &limit) != 0)
        give_up("descriptors");
    if (options->unprivileged && geteuid() == 0 &&
        (setgroups(0, NULL) != 0 || setgid(group) != 0 || setuid(user) != 0))
        give_up("user");
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    // After the change of user, which resets it. SIGQUIT is PostgreSQL's immediate shutdown, and ends others
    // too.
    prctl(PR_SET_PDEATHSIG, options->unprivileged ? SIGQUIT : SIGKILL);
    if (getppid() != parent)
        _exit(127);
    execve(options->arguments[0], (char *const *)(uintptr_t)options->arguments, environment);
    give_up(options->arguments[0]);
}

pid_t process_start(const struct process_options *options)
{
    char *environment[MOST_VARIABLES];
    build_environment(options->environment, environment);
    pid_t parent = getpid();
    uid_t user = process_user();
    gid_t group = process_group();
    pid_t pid = fork();
    if (pid < 0)
        support_fail("fork: %s", strerror(errno));
    if (pid == 0)
        become(options, parent, user, group, environment);
    return pid;
}

// Whether the process is in one of the states (letters as in proc(5)), or is none.
static bool is_in_state(pid_t pid, const char *states)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return true;
    size_t size = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[size] = 0;
    const char *end = strrchr(line, ')');
    return !end || strchr(states, end[2]);
}

// Whether no process of this id runs any more; one that nobody has waited for counts as gone.
static bool is_gone(pid_t pid)
{
    return is_in_state(pid, "ZX");
}

int process_wait(pid_t pid, int limit_ms)
{
    int64_t until = clock_ms() + limit_ms;
    for (;;) {
        int status;
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (ended < 0 && is_gone(pid))
            return 0;
        if (clock_ms() >= until)
            return -1;
        clock_pause(5);
    }
}

int process_run(const struct process_options *options, int limit_ms)
{
    pid_t pid = process_start(options);
    int code = process_wait(pid, limit_ms);
    if (code < 0) {
        kill(pid, SIGKILL);
        process_wait(pid, 5000);
        support_fail("%s did not end within %d ms", options->arguments[0], limit_ms);
    }
    return code;
}

static pid_t parent_of(const char *pid)
{
    char path[300], line[512];
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    size_t size = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[size] = 0;
    const char *end = strrchr(line, ')');
    int parent = 0;
    return end && sscanf(end + 2, "%*c %d", &parent) == 1 ? parent : 0;
}

// Adds the children of `pid` that are not in the list yet, theirs too.
static size_t gather(pid_t pid, pid_t list[MOST_DESCENDANTS], size_t count)
{
    size_t first = count;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc)) != NULL;)
        if (isdigit((unsigned char)entry->d_name[0]) && parent_of(entry->d_name) == pid &&
            count < MOST_DESCENDANTS)
            list[count++] = (pid_t)atoi(entry->d_name);
    if (proc)
        closedir(proc);
    size_t end = count;
    for (size_t i = first; i < end; i++)
        count = gather(list[i], list, count);
    return count;
}

// Stops a process and returns when it stands, so that it makes no further children.
static void hold(pid_t pid)
{
    int64_t until = clock_ms() + HOLD_MS;
    kill(pid, SIGSTOP);
    while (!is_in_state(pid, "TtZX") && clock_ms() < until)
        clock_pause(1);
}

// Stops the process and all that descend from it, until there are no others; gives how many descend from it.
static size_t hold_tree(pid_t pid, pid_t list[MOST_DESCENDANTS])
{
    size_t count = 0, before;
    hold(pid);
    do {
        before = count;
        count = gather(pid, list, 0);
        for (size_t i = 0; i < count; i++)
            hold(list[i]);
    } while (count != before);
    return count;
}

void process_signal_tree(pid_t pid, int signal)
{
    pid_t *list = malloc(sizeof *list * MOST_DESCENDANTS);
    if (!list)
        support_fail("no memory for a list of processes");
    bool all = signal == SIGKILL || signal == SIGSTOP;
    size_t count = all ? hold_tree(pid, list) : gather(pid, list, 0);
    kill(pid, signal);
    for (size_t i = 0; i < count; i++)
        kill(list[i], signal);
    int64_t until = clock_ms() + 10000;
    for (size_t i = 0; signal == SIGKILL && i < count; i++)
        while (!is_gone(list[i]) && clock_ms() < until)
            clock_pause(2);
    free(list);
}

long process_cpu_ms(pid_t pid)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        support_fail("there is no process %d", (int)pid);
    size_t size = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[size] = 0;
    const char *end = strrchr(line, ')');
    long user = 0, system = 0;
    if (!end || sscanf(end + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system) != 2)
        support_fail("%s is not as expected", path);
    return (user + system) * 1000 / sysconf(_SC_CLK_TCK);
}

double process_resident_mib(pid_t pid)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        support_fail("there is no process %d", (int)pid);
    while (fgets(line, sizeof line, file) && sscanf(line, "VmRSS: %ld", &kib) != 1)
        ;
    fclose(file);
    return (double)kib / 1024;
}

unsigned process_descriptors(pid_t pid)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    if (!folder)
        support_fail("there is no process %d", (int)pid);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}
