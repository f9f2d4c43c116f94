// A write whose reply is lost is repeated only under a key that makes it once.
#include "client/write.h"

#include "base/text.h"
#include "client/answer.h"
#include "client/arguments.h"
#include "client/exit_code.h"

#include <stdio.h>
#include <stdlib.h>

static bool add_version(struct connection *connection, const char *version)
{
    // An ETag, as it is in a header, is as good as what put prints.
    if (!strcmp(version, "*") || version[0] == '"')
        return connection_header(connection, "If-Match", version);
    return connection_header(connection, "If-Match", arena_printf(&connection->arena, "\"%s\"", version));
}

// Of the command that `holdfast lock` runs: the environment says which lease it has.
static bool add_fence(struct connection *connection, struct target *target)
{
    const char *token = getenv("HOLDFAST_FENCE"), *bucket = getenv("HOLDFAST_FENCE_BUCKET");
    const char *key = getenv("HOLDFAST_FENCE_KEY"), *query = getenv("HOLDFAST_FENCE_QUERY");
    struct bytes raw;
    if (!token || !bucket || !key || !query ||
        !text_percent_decode(&connection->arena, bytes_of(key), &raw)) {
        fputs("holdfast: --fenced is for commands that holdfast lock runs\n", stderr);
        return false;
    }
    target_query(target, "fence_bucket", bytes_of(bucket));
    target_query(target, "fence_key", raw);
    target_query(target, "fence_token", bytes_of(token));
    buffer_add_text(&target->text, query); // the lease's owners, encoded
    return true;
}

bool write_conditions(struct connection *connection, const struct arguments *arguments, struct target *target)
{
    if (arguments->fork)
        target_query(target, "fork", bytes_of(arguments->fork));
    if (arguments->fenced && !add_fence(connection, target))
        return false;
    if (arguments->if_match && !add_version(connection, arguments->if_match))
        return false;
    if (arguments->if_absent && !connection_header(connection, "If-None-Match", "*"))
        return false;
    return !arguments->idempotency_key ||
           connection_header(connection, "Idempotency-Key", arguments->idempotency_key);
}

int write_send(struct connection *connection, const struct arguments *arguments, const char *method,
               const char *target, struct bytes body, struct reply *reply)
{
    bool answered = arguments->idempotency_key ? connection_ask(connection, method, target, body, 0, reply)
                                               : connection_send(connection, method, target, body, 0, reply);
    if (!answered)
        return answer_missing(connection, true);
    return answer_code(reply) == EXIT_DONE ? EXIT_DONE : answer_refused(arguments, reply);
}
