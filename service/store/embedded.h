// The private PostgreSQL: found on this machine, initialised in a folder, started and stopped with the
// service.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct embedded;

// Starts (and on first use initialises) a private server whose cluster lives under `data` (created 0700 when
// missing). Blocks until it accepts connections. On success gives an object that embedded_stop frees. On
// failure gives NULL and writes one line for the user to `error`. Call it, and embedded_restart, from a
// thread that lives as long as the process: when that thread ends, the kernel tells the server to stop.
struct embedded *embedded_start(const char *data, char *error, size_t error_size);

// Whether there is a cluster under `data`; false too when that cannot be seen.
bool embedded_exists(const char *data);

// Writes the libpq connection string of the server that another process runs on `data`, if one does. The
// folder stays open until this process ends: it is for commands. False when there is no such folder.
bool embedded_visit(const char *data, char *connection, size_t size);

// The libpq connection string of the running server (unix socket, its own database `holdfast`). Owned by
// `embedded`.
const char *embedded_connection(const struct embedded *embedded);

// Whether the server process still runs. Never blocks. `true` again after embedded_restart.
bool embedded_running(struct embedded *embedded);

// Starts the server again after it died (it recovers by itself). Blocks. False with a line in `error` when it
// fails.
bool embedded_restart(struct embedded *embedded, char *error, size_t error_size);

// Stops the server (fast shutdown, waits; immediate after 30 s) and frees the object. NULL is allowed.
void embedded_stop(struct embedded *embedded);
