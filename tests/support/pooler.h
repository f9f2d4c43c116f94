// PgBouncer before a test's PostgreSQL, so that every suite can be run through a pooler.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct pooler;
struct database;

// Whether the environment's HOLDFAST_TEST_POOLER says yes.
bool pooler_is_wanted(void);

// Starts one for the server that listens in `sockets`, with its own socket and files in `folder`/pooler; each
// transaction of a client gets another connection of its few. `settings` are further lines of pgbouncer.ini,
// or NULL. Fails the test when it does not start.
struct pooler *pooler_start(const char *folder, const char *sockets, const char *settings);

// Ends it. NULL is fine.
void pooler_stop(struct pooler *pooler);

// The address of a database through the pooler below `folder`, to be freed.
char *pooler_address(const char *folder, const char *database);

// The address of the same database through the pooler that pooler_is_wanted() asked for, to be freed; NULL
// when there is none before it.
char *pooler_url(const char *url);

// Cuts all connections that the pooler before this database has of clients of that database, and gives how
// many of them had an application's name with this beginning.
int pooler_cut(const struct database *database, const char *name);
