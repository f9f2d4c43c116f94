// The options of the commands: from flags, else from the environment, else a default.
#pragma once

#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPTIONS_TEXTS = 64 };

// What a flag that may be repeated was given.
struct option_texts {
    const char *texts[OPTIONS_TEXTS];
    int count;
};

// Room for any value and any JSON request, as each worker has it at least.
enum { OPTIONS_LEAST_BODY_MEMORY = 64 << 20 };

struct options {
    const char *listen;
    const char *database; // NULL for the private PostgreSQL
    const char
        *listen_database; // the server behind the pooler that `database` leads to; NULL when there is none
    const char *data;
    const char *key_file; // NULL: nothing is sealed
    int workers;
    bool no_migrate;
    const char *grant_to; // the role that the service will have; NULL: nobody is granted anything
    bool declared_buckets_only;
    bool insecure;
    bool metrics;                // GET /metrics answers
    int64_t slow;                // microseconds; 0: nothing is slow
    const char *tls_certificate; // NULL for plain HTTP
    const char *tls_key;
    const char *tls_client_authorities; // NULL when clients need no certificate
    bool tokens_needed;                 // no option: the address is one that nobody without a token may use
    enum log_level log_level;
    int64_t drain; // durations in microseconds
    unsigned max_connections;
    unsigned max_connections_per_address; // 0: no limit
    unsigned max_waits;
    unsigned max_waits_per_token;
    size_t max_body_memory;   // bytes, at least 64 MiB
    const char *cors_origins; // a list with commas, or *; NULL: none
    bool no_ui;
    bool no_busy_poll;
    int64_t idle_timeout;
    int64_t header_timeout;
    int64_t body_timeout;
    int64_t database_timeout;
    int64_t max_lease_ttl;
    const char *name; // of a token; NULL when not given, and so below
    const char *prefix;
    const char *expires;
    struct option_texts grants;
};

// Where a session of one's own is to be had: of the database as given, NULL for the private PostgreSQL.
static inline const char *options_session_database(const struct options *options)
{
    return options->listen_database ? options->listen_database : options->database;
}

enum options_command {
    OPTIONS_SERVE = 1,
    OPTIONS_MIGRATE = 2,
    OPTIONS_TOKEN_CREATE = 4,
    OPTIONS_TOKEN_LIST = 8,
    OPTIONS_TOKEN_REVOKE = 16,
    OPTIONS_KEY_ROTATE = 32,
};

enum options_verdict { OPTIONS_OK, OPTIONS_HELP, OPTIONS_BAD };

// Reads `argv[first..]` and the environment for the command. With OPTIONS_BAD one line was written to
// standard error; with OPTIONS_HELP the help was written to standard output. Texts are views into argv and
// the environment.
enum options_verdict options_read(enum options_command command, int argc, char **argv, int first,
                                  struct options *options);
