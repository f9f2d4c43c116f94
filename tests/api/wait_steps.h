// Steps of tests about GETs that wait.
#pragma once

#include "api.h"

#include "support/raw.h"

enum { WAIT_PATIENCE = 20 * 1000 }; // a thousand waits through a pooler on a busy machine take some

// Asks for `path` on a connection of its own with the header lines (each with CR LF behind it).
struct raw *wait_begin(const struct service *service, const char *path, const char *headers);

// The header that names the reply's version as the one the client has, with `Prefer: wait`.
const char *wait_headers(const struct answer *answer, int seconds);

// The reply, which comes within WAIT_PATIENCE; the connection is closed when the test ends.
struct answer *wait_end(struct raw *raw);

// Waits until the database says that so many buckets are waited on by some session.
void wait_until_covered(PGconn *connection, int64_t buckets);

// Which sessions of pg_stat_activity are those that listen for the service.
#define IS_LISTENER "datname = current_database() and application_name = 'holdfast listen'"
