// The real binary, started as its users start it, and its end.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct service;

struct service_options {
    const char *database;           // --database; NULL: the service's own private PostgreSQL in `data`
    const char *data;               // --data, when `database` is NULL
    const char *listen;             // --listen; NULL: 127.0.0.1:0
    const char *const *flags;       // further arguments, or NULL; a NULL ends them
    const char *const *environment; // NAME=value, or NULL; a NULL ends them
    bool unready;                   // return at the `listening on` line, not only when /readyz is 200
    unsigned descriptors;           // limit of open files, 0 for ours
};

// The binary's path: the environment's HOLDFAST_BIN, else the one of this build.
const char *service_binary(void);

// Starts `holdfast serve` and waits until it listens and is ready; fails the test with its log when that
// takes over 30 s. Start a second one on the same database for a replica. It dies with this process.
struct service *service_start(const struct service_options *options);

// Waits until /readyz is 200, of a service without TLS; false after `limit_ms`.
bool service_wait_ready(const struct service *service, int limit_ms);

// SIGTERM, then the exit code: 128 + n when signal n ended it, -1 when it did not end within `limit_ms` (it
// is killed then). Frees the service but not its log.
int service_stop(struct service *service, int limit_ms);

// The same for a service that must end well: fails the test, with the log's end, unless the exit code is 0
// within 30 s. NULL is fine.
void service_end(struct service *service);

// kill -9, waits until it is gone, frees.
void service_kill(struct service *service);

// Waits for a service that ends by itself, or was sent a signal by the test; as service_stop, without
// SIGTERM.
int service_wait(struct service *service, int limit_ms);

pid_t service_pid(const struct service *service);
uint16_t service_port(const struct service *service);
const char *service_url(const struct service *service); // http://127.0.0.1:PORT, or https
const char *service_log(const struct service *service); // path of the file that has its stderr
