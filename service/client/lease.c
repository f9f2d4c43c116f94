// `holdfast lease`: one step of a lease's life at a time, for scripts that keep the token themselves.
#include "client/answer.h"
#include "client/arguments.h"
#include "client/exit_code.h"
#include "client/held_commands.h"
#include "client/lease_grant.h"

#include <stdio.h>

struct call {
    const struct arguments *arguments;
    struct connection connection;
    struct place place;
    struct lease_grant grant;
    struct reply reply;
};

static bool print_answer(const struct call *call, const char *text)
{
    if (call->arguments->json)
        return print_bytes(buffer_view(&call->reply.body));
    if (text)
        puts(text);
    return print_end();
}

static int acquire(struct call *call)
{
    int code = grant_acquire(&call->connection, call->arguments, &call->place, &call->grant, &call->reply);
    if (code != EXIT_DONE || print_answer(call, call->grant.token))
        return code;
    // Nobody has the token, so nobody could give the lease back.
    grant_release(&call->connection, call->arguments, &call->place, &call->grant, true, &call->reply);
    return EXIT_FAILED;
}

static const char *renewal_of(struct call *call)
{
    struct buffer json = {0};
    buffer_add_text(&json, "{\"holder\":");
    buffer_add_json(&json, bytes_of(call->grant.holder));
    buffer_add_text(&json, ",\"token\":");
    buffer_add_json(&json, bytes_of(call->grant.token));
    buffer_add_text(&json, ",\"ttl\":");
    buffer_add_json(&json, bytes_of(call->arguments->ttl));
    buffer_add_char(&json, '}');
    const char *text = (const char *)arena_copy(&call->connection.arena, buffer_view(&json)).data;
    buffer_free(&json);
    return text;
}

// One request whose answer is printed as it is.
static int ask(struct call *call, const char *method, struct bytes body)
{
    struct target target = {0};
    target_place(&target, "buckets", &call->place, "leases", NULL);
    if (body.data)
        connection_header(&call->connection, "Content-Type", "application/json");
    bool answered = connection_ask(&call->connection, method, target_text(&target), body, 0, &call->reply);
    buffer_free(&target.text);
    if (!answered)
        return answer_missing(&call->connection, body.data != NULL);
    return call->reply.status == 200 ? EXIT_DONE : answer_refused(call->arguments, &call->reply);
}

static int renew(struct call *call)
{
    int code = ask(call, "PUT", bytes_of(renewal_of(call)));
    return code == EXIT_DONE && !print_answer(call, NULL) ? EXIT_FAILED : code;
}

static int release(struct call *call)
{
    int code =
        grant_release(&call->connection, call->arguments, &call->place, &call->grant, false, &call->reply);
    return code == EXIT_DONE && !print_answer(call, NULL) ? EXIT_FAILED : code;
}

static int show(struct call *call)
{
    int code = ask(call, "GET", NO_BODY);
    return code == EXIT_DONE &&
                   !print_answer(call, reply_member(&call->reply, &call->connection.arena, "holder"))
               ? EXIT_FAILED
               : code;
}

int lease_command(const struct arguments *arguments)
{
    static const struct {
        const char *name;
        int (*run)(struct call *call);
        bool needs_token;
    } steps[] = {{"acquire", acquire, false},
                 {"renew", renew, true},
                 {"release", release, true},
                 {"show", show, false}};
    struct call call = {.arguments = arguments};
    int code = EXIT_USAGE;
    if (!place_begin(&call.connection, arguments, 1, &call.place))
        return EXIT_USAGE;
    lease_holder(arguments, "", call.grant.holder);
    snprintf(call.grant.token, sizeof call.grant.token, "%s", arguments->token ? arguments->token : "");
    size_t step = 0;
    while (step < 4 && strcmp(steps[step].name, arguments->alone[0]) != 0)
        step++;
    if (step == 4)
        fputs("holdfast: lease takes acquire, renew, release or show, then BUCKET/KEY\n", stderr);
    else if (steps[step].needs_token && !arguments->token)
        fprintf(stderr, "holdfast: lease %s takes --token\n", steps[step].name);
    else
        code = steps[step].run(&call);
    reply_free(&call.reply);
    connection_end(&call.connection);
    return code;
}
