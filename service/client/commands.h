// The client's commands: what each is called, says of itself and runs.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arguments;

// A bit each: a flag's row says to whom it belongs.
enum {
    COMMAND_GET = 1 << 0,
    COMMAND_PUT = 1 << 1,
    COMMAND_DELETE = 1 << 2,
    COMMAND_LIST = 1 << 3,
    COMMAND_WATCH = 1 << 4,
    COMMAND_LEASE = 1 << 5,
    COMMAND_ONCE = 1 << 6,
    COMMAND_LOCK = 1 << 7,
    COMMAND_DUMP = 1 << 8,
    COMMAND_LOAD = 1 << 9,
    COMMAND_BENCH = 1 << 10,
    COMMAND_COMPLETION = 1 << 11,
};

struct command {
    const char *name;
    unsigned bit;
    const char *synopsis; // what follows the name
    const char *summary;  // for the list of commands
    const char *help;     // what it does and examples, whole lines
    int least;            // of what stands alone
    int most;
    bool runs; // takes a command behind `--`
    // Gives the exit code; `arguments` lives as long as the process.
    int (*run)(const struct arguments *arguments);
};

// NULL when the client has no such command.
const struct command *command_find(const char *name);

// The commands one by one from 0; NULL when there is no such number.
const struct command *command_at(size_t number);

// Runs the command with the arguments of main. Gives the exit code.
int command_run(const struct command *command, int argc, char **argv);

// What `holdfast COMMAND --help` says of exit codes and the environment.
extern const char command_codes[];
