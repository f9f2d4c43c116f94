// Programs of PostgreSQL are run without a shell, as a user without privileges, and never outlive the
// service.
#pragma once

#include "store/refusal.h"

#include <sys/types.h>

// Who owns the data and runs the server.
struct account {
    uid_t uid;
    gid_t gid;
    bool switches; // the service is root: programs become this user before they run
    char name[64]; // for messages
};

// The account of new data: the caller's own, or for root `postgres`, else `nobody`. False with a line when
// root finds neither.
bool account_choose(struct account *account, struct refusal *refusal);

// Takes the owner of existing data as the account; for root only.
void account_take(struct account *account, uid_t uid, gid_t gid);

// Whether the account may pass through every folder above `path` and enter it.
bool account_can_enter(const struct account *account, const char *path);

struct program {
    const char *const *arguments; // the first is the program's path; ended by NULL
    const struct account *account;
    int keep;              // a descriptor that stays open in the program beside 0, 1 and 2; -1 for none
    int output;            // where its standard output and error go
    int signal_on_our_end; // sent to it by the kernel when the thread that started it ends; 0 for none
};

// Starts it in a session of its own, so that a terminal's Ctrl-C reaches only the service. Gives the process
// id, or -1 with a line.
pid_t program_start(const struct program *program, struct refusal *refusal);

// Runs it to its end, or to the end of this process; `program->output` and `program->signal_on_our_end` are
// not used. Gives its exit status (128 + signal when killed) and its output in `output`, NUL-terminated, the
// end of it when there is more than `size` - 1 bytes. -1 with a line when it cannot be run.
int program_run(const struct program *program, char *output, size_t size, struct refusal *refusal);
