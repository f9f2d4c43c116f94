// The options of `serve` and `migrate`: from flags, else from the environment, else a default.
#pragma once

#include "base/log.h"

#include <stdbool.h>
#include <stdint.h>

struct options {
    const char *listen;
    const char *database; // NULL for the private PostgreSQL
    const char *data;
    int workers;
    bool no_migrate;
    bool declared_buckets_only;
    bool insecure;
    enum log_level log_level;
    int64_t drain; // durations in microseconds
    unsigned max_connections;
    int64_t idle_timeout;
    int64_t header_timeout;
    int64_t body_timeout;
    int64_t database_timeout;
};

enum options_command { OPTIONS_SERVE = 1, OPTIONS_MIGRATE = 2 };

enum options_verdict { OPTIONS_OK, OPTIONS_HELP, OPTIONS_BAD };

// Reads `argv[2..]` and the environment for the command. With OPTIONS_BAD one line was written to standard
// error; with OPTIONS_HELP the help was written to standard output. Texts are views into argv and the
// environment.
enum options_verdict options_read(enum options_command command, int argc, char **argv,
                                  struct options *options);
