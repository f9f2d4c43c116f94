// The program as a client, run as its users run it: with arguments, an environment and standard input.
#pragma once

#include "api.h"

#include <sys/types.h>

// What a run came to. It is valid until the next run.
struct client_end {
    int code;
    struct bytes out; // a NUL follows it in memory
    const char *err;
};

// Runs `holdfast ARGUMENT…` (a NULL ends them) against the suite's service with this standard input, and
// waits for its end; the test fails when that takes 30 s.
const struct client_end *client_run(struct bytes input, const char *const *arguments);

#define CLIENT(...)            client_run(NO_BODY, (const char *const[]){__VA_ARGS__, NULL})
#define CLIENT_FED(input, ...) client_run(input, (const char *const[]){__VA_ARGS__, NULL})

// Runs `script` by the shell, in which `holdfast` is the program and HOLDFAST_URL is `url`, in the folder
// `folder`, with what it prints in the file `log` there.
pid_t client_start_script(const char *script, const char *folder, const char *url);

// The folder in which client_run works, of this test.
const char *client_folder(void);

// Checks of a run that show all of it when they fail.
#define ck_code(end_, expected)                                                                              \
    do {                                                                                                     \
        const struct client_end *code_of_ = (end_);                                                          \
        if (code_of_->code != (expected))                                                                    \
            ck_abort_msg("%s ended with %d, not %d: %s | %s", #end_, code_of_->code, (int)(expected),        \
                         (const char *)code_of_->out.data, code_of_->err);                                   \
    } while (0)

#define ck_out(end_, expected)                                                                               \
    do {                                                                                                     \
        const struct client_end *out_of_ = (end_);                                                           \
        if (out_of_->code != 0 || !bytes_equal(out_of_->out, (expected)))                                    \
            ck_abort_msg("%s gave %d: %s | %s", #end_, out_of_->code, (const char *)out_of_->out.data,       \
                         out_of_->err);                                                                      \
    } while (0)

// A part of what it printed.
#define ck_says(end_, part)                                                                                  \
    do {                                                                                                     \
        const struct client_end *said_ = (end_);                                                             \
        if (!strstr((const char *)said_->out.data, part) && !strstr(said_->err, part))                       \
            ck_abort_msg("%s does not say %s: %s | %s", #end_, part, (const char *)said_->out.data,          \
                         said_->err);                                                                        \
    } while (0)
