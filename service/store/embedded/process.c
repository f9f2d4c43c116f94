// Between fork and exec only calls that are safe there are made, since the service may have threads by then.
#include "store/embedded/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// What a child that could not become the program tells its parent.
struct report {
    int step; // index into step_names
    int error;
};

enum { ENVIRONMENT = 7 }; // variables that a program gets, and the NULL behind them

enum step { STEP_DESCRIPTORS, STEP_SESSION, STEP_ACCOUNT, STEP_PARENT, STEP_EXEC };

static const char *const step_names[] = {"arrange the descriptors of", "start a session for",
                                         "give up root's privileges for", "tie to the service", "run"};

static void account_name(struct account *account)
{
    const struct passwd *user = getpwuid(account->uid);
    if (user != NULL)
        snprintf(account->name, sizeof account->name, "%s", user->pw_name);
    else
        snprintf(account->name, sizeof account->name, "%u", (unsigned)account->uid);
}

void account_take(struct account *account, uid_t uid, gid_t gid)
{
    account->uid = uid;
    account->gid = gid;
    account_name(account);
}

bool account_choose(struct account *account, struct refusal *refusal)
{
    *account = (struct account){.uid = geteuid(), .gid = getegid(), .switches = geteuid() == 0};
    if (account->switches) {
        const struct passwd *user = getpwnam("postgres");
        if (user == NULL)
            user = getpwnam("nobody");
        if (user == NULL || user->pw_uid == 0)
            return refuse(refusal,
                          "PostgreSQL does not run as root, and there is no user postgres or nobody");
        account->uid = user->pw_uid;
        account->gid = user->pw_gid;
    }
    account_name(account);
    return true;
}

// Gives up root for good: without saved ids and without root's groups.
static bool become(const struct account *account)
{
    if (!account->switches)
        return true;
    return setgroups(1, &account->gid) == 0 && setresgid(account->gid, account->gid, account->gid) == 0 &&
           setresuid(account->uid, account->uid, account->uid) == 0;
}

bool account_can_enter(const struct account *account, const char *path)
{
    pid_t child = fork();
    if (child == 0)
        _exit(become(account) && access(path, X_OK) == 0 ? 0 : 1);
    int status = 1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool arrange_descriptors(const struct program *program)
{
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(program->output, 1) < 0 || dup2(program->output, 2) < 0)
        return false;
    // All the service has open closes itself when a program starts; this is for what a library may have
    // missed, and for kernels that know the call.
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    return program->keep < 0 || fcntl(program->keep, F_SETFD, 0) == 0;
}

static void reset_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (int signal = 1; signal < NSIG; signal++)
        sigaction(signal, &plain, NULL); // fails for those that cannot be changed, rightly
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

// The kernel forgets the request when the user changes, so it comes after; a parent that died before it is
// noticed by the parent's id.
static bool tie_to_parent(const struct program *program, pid_t parent)
{
    if (program->signal_on_our_end == 0)
        return true;
    return prctl(PR_SET_PDEATHSIG, program->signal_on_our_end) == 0 && getppid() == parent;
}

static enum step become_program(const struct program *program, const char *const *environment, pid_t parent)
{
    reset_signals();
    umask(S_IRWXG | S_IRWXO);
    if (setsid() < 0)
        return STEP_SESSION;
    if (!arrange_descriptors(program))
        return STEP_DESCRIPTORS;
    if (!become(program->account))
        return STEP_ACCOUNT;
    if (!tie_to_parent(program, parent))
        return STEP_PARENT;
    execve(program->arguments[0], (char *const *)program->arguments, (char *const *)environment);
    return STEP_EXEC;
}

// Waits until the program runs or has said why not. True when it runs.
static bool hear_report(int fd, struct report *report)
{
    ssize_t got;
    do
        got = read(fd, report, sizeof *report);
    while (got < 0 && errno == EINTR);
    return got == 0;
}

static pid_t reap(pid_t child, int *status)
{
    pid_t gone;
    do
        gone = waitpid(child, status, 0);
    while (gone < 0 && errno == EINTR);
    return gone;
}

// Nothing of the service's environment but what finds programs and libraries: PGOPTIONS and its kin would
// change what the programs do. The texts are written into `path` and `libraries`.
static void make_environment(const char *environment[ENVIRONMENT], char *path, char *libraries, size_t size)
{
    const char *given = getenv("PATH");
    snprintf(path, size, "PATH=%s", given != NULL ? given : "/usr/local/bin:/usr/bin:/bin");
    environment[0] = path;
    environment[1] = "LC_ALL=C";
    environment[2] = "TZ=UTC";
    // A backend frees what a call of many rows needed when it ends; without these the C library would give
    // that memory back to the kernel and fault it in again, page by page, in every call.
    environment[3] = "MALLOC_TRIM_THRESHOLD_=16777216";
    environment[4] = "MALLOC_TOP_PAD_=1048576";
    given = getenv("LD_LIBRARY_PATH");
    if (given != NULL)
        snprintf(libraries, size, "LD_LIBRARY_PATH=%s", given);
    environment[5] = given != NULL ? libraries : NULL;
    environment[6] = NULL;
}

pid_t program_start(const struct program *program, struct refusal *refusal)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        refuse(refusal, "cannot run %s: %s", program->arguments[0], strerror(errno));
        return -1;
    }
    char path[8192];
    char libraries[8192];
    const char *environment[ENVIRONMENT];
    make_environment(environment, path, libraries, sizeof path);
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        struct report report = {.step = (int)become_program(program, environment, parent), .error = errno};
        _exit(write(ends[1], &report, sizeof report) == sizeof report ? 127 : 126);
    }
    struct report report = {.step = STEP_EXEC, .error = errno};
    close(ends[1]);
    bool runs = child > 0 && hear_report(ends[0], &report);
    close(ends[0]);
    if (runs)
        return child;
    if (child > 0)
        reap(child, &(int){0});
    refuse(refusal, "cannot %s %s: %s", step_names[report.step], program->arguments[0],
           strerror(report.error));
    return -1;
}

// Reads to the end and keeps the last bytes.
static void drain(int fd, char *output, size_t size)
{
    size_t kept = 0;
    for (;;) {
        if (kept == size - 1) { // make room by half, so that moving stays cheap
            memmove(output, output + kept / 2, kept - kept / 2);
            kept -= kept / 2;
        }
        ssize_t got = read(fd, output + kept, size - 1 - kept);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        kept += (size_t)got;
    }
    output[kept] = '\0';
}

int program_run(const struct program *program, char *output, size_t size, struct refusal *refusal)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        refuse(refusal, "cannot run %s: %s", program->arguments[0], strerror(errno));
        return -1;
    }
    struct program piped = *program;
    piped.output = ends[1];
    piped.signal_on_our_end = SIGKILL;
    pid_t child = program_start(&piped, refusal);
    close(ends[1]);
    if (child > 0)
        drain(ends[0], output, size);
    close(ends[0]);
    int status;
    if (child < 0 || reap(child, &status) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
