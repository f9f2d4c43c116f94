// A private PostgreSQL for tests: started quickly, treated badly, gone with the test.
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct postgres;

struct postgres_options {
    bool durable;                   // fsync on; off it is faster, and a killed server still loses nothing
    const char *settings;           // further lines of postgresql.conf, or NULL
    const char *const *environment; // NAME=value, or NULL; a NULL ends them; must stay as long as the server
};

// A server of its own (a data folder copied from one that is initialised and migrated once a process),
// started, on a unix socket only; root runs it as an unprivileged user. Fails the test when it does not start
// within 30 s. `options` may be NULL. It dies with this process.
struct postgres *postgres_new(const struct postgres_options *options);

// Stops it and removes its data. NULL is fine.
void postgres_free(struct postgres *postgres);

// Stops with PostgreSQL's fast shutdown; starts again on the same data and waits until it accepts.
void postgres_stop(struct postgres *postgres);
void postgres_start(struct postgres *postgres);

// For a server that may have given up, as one does whose disk fails while it recovers: starts it again when
// it has, as whatever supervises it would, and waits until it accepts.
void postgres_revive(struct postgres *postgres);

// kill -9 of the server and all its backends; returns when all are gone. postgres_start recovers.
void postgres_kill(struct postgres *postgres);

// Stops every process of the server where it is, and lets them go on.
void postgres_freeze(struct postgres *postgres);
void postgres_thaw(struct postgres *postgres);

pid_t postgres_pid(const struct postgres *postgres);
const char *postgres_socket_folder(const struct postgres *postgres); // for libpq's `host`
const char *postgres_log(const struct postgres *postgres);           // path of the server's log
const char *postgres_programs(const struct postgres *postgres);      // folder of psql, pg_dump and so on

// A database of a server. The struct may be copied freely.
struct database {
    char name[64];
    char url[400]; // for --database and for libpq
};

enum database_content {
    DATABASE_EMPTY,
    DATABASE_MIGRATED, // copied from one that `holdfast migrate` made, once a server
};

// Creates a database with a name of its own. Call it first in the process that made the server; its forked
// children may call it too.
struct database database_new(struct postgres *postgres, enum database_content content);

// Drops it, and every connection to it.
void database_drop(struct postgres *postgres, const struct database *database);

// A connection, to be closed with PQfinish; fails the test when there is none.
PGconn *database_connect(const struct database *database);

// Runs statements (as printf); the test fails when they do. sql_number and sql_text give the first column of
// the first row: 0 and NULL when there is none or it is null. The text is to be freed.
void sql_run(PGconn *connection, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t sql_number(PGconn *connection, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *sql_text(PGconn *connection, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The database's clock, by redefining holdfast.now(): so many microseconds from the true time (0: the true
// time again), or standing still at `us` microseconds since 1970.
void database_shift_clock(const struct database *database, int64_t us);
void database_stop_clock(const struct database *database, int64_t us);
