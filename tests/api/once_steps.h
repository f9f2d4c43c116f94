// Steps that the suites about once share.
#pragma once

#include "entry_steps.h"

#include "support/raw.h"

enum { ONCE_PATIENCE = 15 * 1000 };

// Calls on the key at `path`; `token` as it stands in the query.
#define BEGIN(path)                    begin_on(api.client, path)
#define ANSWER(path, token, body, ...) PUT(below(path, "answer", token), body __VA_OPT__(, ) __VA_ARGS__)
#define RENEW_RUN(path, token, body)   PUT(below(path, "run", token), body)
#define FAIL(path, token)              DELETE(below(path, "run", token))

// The path of a key; `key` as it goes on the wire.
const char *once_path(const char *name, const char *key);

// The path's `what`, which is `answer` or `run`, with the token (NULL: none) in the query. `path` may have a
// query.
const char *below(const char *path, const char *what, const char *token);

struct answer *begin_on(struct http_client *client, const char *path);

// The token of a 201; the test fails when it is none.
const char *run_token(const struct answer *answer);

// A run that was begun with success: its token.
const char *begun(const char *path);

// When the run ends, in microseconds since 1970.
int64_t run_end_of(const struct answer *answer);

// 200 with exactly this answer, marked as kept.
void expect_kept(const struct answer *answer, struct bytes body);

// 202 with nothing but when the run ends.
void expect_running(const struct answer *answer);

// Asks for a run, on a connection of its own, and waits so many seconds.
struct raw *begin_waiting(const struct service *service, const char *path, int seconds);

// The reply, which comes within ONCE_PATIENCE; the connection is closed when the test ends.
struct answer *waited(struct raw *raw);

// How many rows the table has of a name.
int64_t once_rows(PGconn *connection, const char *table, const char *name);

// Waits until so many sessions of the service are sure to be told of changes.
void wait_until_told(PGconn *connection, int64_t sessions);
