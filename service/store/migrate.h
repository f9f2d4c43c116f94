// Brings the schema `holdfast` of a database to the version compiled into this binary.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Applies what is missing: numbered migrations once each, in order, each in a transaction of its own under
// one advisory lock (so that replicas starting together do it once), then the function files whenever their
// text changed. A table that is in use is waited for, in turns that let requests pass. Leaves alone what a
// later release has put there beside which this binary may serve, as that release's migrations say; refuses
// a database that is newer than that, or in which an applied migration's checksum differs from the compiled
// one. Blocks. `connection` is a libpq connection string. Gives the number of the database's last migration,
// which is above migrate_latest() when it is newer; 0 with one line for the user in `error`.
int migrate(const char *connection, char *error, size_t error_size);

// Lets `role`, which is there, do in the schema what a service does, and nothing else: read, write, call. To
// be repeated after each migration. False as migrate().
bool migrate_grant(const char *connection, const char *role, char *error, size_t error_size);

// The number of the last migration compiled into this binary.
int migrate_latest(void);
