// Starting other programs and seeing them end, so that none outlives its test.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct process_options {
    const char *const *arguments;   // the program's path first; a NULL ends them
    const char *const *environment; // NAME=value added to ours, or NULL; a NULL ends them
    const char *output;             // file for stdout and stderr, appended to; NULL leaves them as they are
    int stdout_fd;                  // for stdout instead, or -1
    bool unprivileged;              // as another user, when we are root
    unsigned descriptors;           // limit of open files, 0 for ours
    const char *directory;          // to run in, or NULL
};

// Starts it and gives its id. It dies with the process that started it.
pid_t process_start(const struct process_options *options);

// Waits until the child `pid` ended: its exit code, 128 + n when signal n ended it, -1 when `limit_ms`
// passed.
int process_wait(pid_t pid, int limit_ms);

// Starts it and waits for its end, at most `limit_ms`; ends the test when that passed. Gives what
// process_wait gives.
int process_run(const struct process_options *options, int limit_ms);

// Sends `signal` to the process and to all that descend from it, the parent first. SIGKILL and SIGSTOP miss
// none that was being made; after SIGKILL all are gone.
void process_signal_tree(pid_t pid, int signal);

// The account that unprivileged processes run as; ours unless we are root.
uid_t process_user(void);
gid_t process_group(void);

// Its resident memory, and how many descriptors it has open.
double process_resident_mib(pid_t pid);
unsigned process_descriptors(pid_t pid);

// The processor time that `pid` used, in milliseconds.
long process_cpu_ms(pid_t pid);
