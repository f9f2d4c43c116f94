// `holdfast lock`: a command that runs while it holds a lease, and no longer.
#include "client/answer.h"
#include "client/arguments.h"
#include "client/exit_code.h"
#include "client/held_commands.h"
#include "client/hold.h"
#include "client/lease_grant.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// What the command may know: which lease it has, as `put --fenced` and other stores want it.
static void tell_command(const struct place *place, const struct lease_grant *grant)
{
    struct target key = {0}, query = {.asked = true};
    struct arena arena = {0};
    target_segment(&key, place->key);
    for (int i = 0; i < place->owner_count; i++)
        target_query(&query, "fence_under", place->owners[i]);
    setenv("HOLDFAST_FENCE", grant->token, 1);
    setenv("HOLDFAST_FENCE_BUCKET", (const char *)arena_copy(&arena, place->bucket).data, 1);
    setenv("HOLDFAST_FENCE_KEY", target_text(&key) + 1, 1);
    setenv("HOLDFAST_FENCE_QUERY", target_text(&query), 1);
    setenv("HOLDFAST_HOLDER", grant->holder, 1);
    buffer_free(&key.text);
    buffer_free(&query.text);
    arena_free(&arena);
}

static int run(struct connection *connection, const struct arguments *arguments, const struct place *place,
               struct lease_grant *grant)
{
    struct target target = {0};
    struct reply reply = {0};
    tell_command(place, grant);
    target_place(&target, "buckets", place, "leases", NULL);
    struct hold hold = {
        .command = arguments->command,
        .what = "the lease",
        .ttl = grant->ttl,
        .ends = grant->ends,
        .grace = arguments->grace,
        .renew_target = target_text(&target),
        .renew_body = bytes_of(grant->renewal),
    };
    int code = hold_run(connection, &hold);
    grant->ends = hold.ends;
    if (!hold.lost)
        grant_release(connection, arguments, place, grant, true, &reply);
    buffer_free(&target.text);
    reply_free(&reply);
    return code;
}

int lock_command(const struct arguments *arguments)
{
    struct connection connection;
    struct place place;
    struct lease_grant grant = {0};
    struct reply reply = {0};
    char more[16];
    if (!arguments->command) {
        fputs("holdfast: lock takes -- and a command\n", stderr);
        return EXIT_USAGE;
    }
    if (!place_begin(&connection, arguments, 0, &place))
        return EXIT_USAGE;
    snprintf(more, sizeof more, ":%d", (int)getpid());
    lease_holder(arguments, more, grant.holder);
    int code = grant_acquire(&connection, arguments, &place, &grant, &reply);
    if (code == EXIT_DONE)
        code = run(&connection, arguments, &place, &grant);
    reply_free(&reply);
    connection_end(&connection);
    return code;
}
