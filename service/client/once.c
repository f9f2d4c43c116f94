// `holdfast once`: of any number of callers one runs the command, and all get what it printed.
#include "client/answer.h"
#include "client/arguments.h"
#include "client/boot_time.h"
#include "client/exit_code.h"
#include "client/held_commands.h"
#include "client/hold.h"
#include "client/once_key.h"
#include "client/place.h"
#include "client/wait.h"

#include "base/duration.h"

#include <stdio.h>

enum { LARGEST_ANSWER = 8 << 20 };

struct call {
    const struct arguments *arguments;
    struct connection connection;
    struct place place;
    struct reply reply;
    const char *token; // of the run
    int64_t ttl;
    int64_t ends; // boot_time when the run ends unless it is renewed
    struct buffer answer;
};

static const char *target_of(struct call *call, const char *what)
{
    struct target target = {0};
    target_place(&target, "once", &call->place, NULL, what);
    if (call->token)
        target_query(&target, "token", bytes_of(call->token));
    target_text(&target);
    const char *text = (const char *)arena_copy(&call->connection.arena, buffer_view(&target.text)).data;
    buffer_free(&target.text);
    return text;
}

// --- what is kept -----------------------------------------------------------------------------------------

static int look(struct call *call)
{
    if (!connection_ask(&call->connection, "GET", target_of(call, NULL), NO_BODY, 0, &call->reply))
        return answer_missing(&call->connection, false);
    if (call->reply.status != 200)
        return answer_refused(call->arguments, &call->reply);
    return print_bytes(buffer_view(&call->reply.body)) ? EXIT_DONE : EXIT_FAILED;
}

static int forget(struct call *call)
{
    if (!connection_ask(&call->connection, "DELETE", target_of(call, NULL), NO_BODY, 0, &call->reply))
        return answer_missing(&call->connection, true);
    int code = answer_code(&call->reply);
    return code == EXIT_DONE ? EXIT_DONE : answer_refused(call->arguments, &call->reply);
}

// --- running ----------------------------------------------------------------------------------------------

static const char *run_body(struct call *call)
{
    return arena_printf(&call->connection.arena, "{\"ttl\":\"%s\"}", call->arguments->ttl);
}

// Begins the run's term at a time that is known.
static bool confirm(struct call *call)
{
    int64_t sent_at = boot_time();
    connection_header(&call->connection, "Content-Type", "application/json");
    if (!connection_ask(&call->connection, "PUT", target_of(call, "run"), bytes_of(run_body(call)), 0,
                        &call->reply) ||
        call->reply.status != 200)
        return false;
    call->ends = sent_at + call->ttl;
    return true;
}

// Sends what ends the run, as long as it lasts.
static int end_run(struct call *call, const char *method, const char *what, struct bytes body)
{
    char key[ONCE_KEY_BYTES];
    int failures = 0;
    once_key(key);
    for (;;) {
        connection_header(&call->connection, "Idempotency-Key", key);
        if (body.data)
            connection_header(&call->connection, "Content-Type",
                              call->arguments->content_type ? call->arguments->content_type
                                                            : "application/octet-stream");
        bool answered =
            connection_ask(&call->connection, method, target_of(call, what), body, 0, &call->reply);
        int code = answered ? answer_code(&call->reply) : EXIT_UNAVAILABLE;
        if (code == EXIT_UNAVAILABLE && boot_time() < call->ends) {
            wait_before_retry(++failures);
            continue;
        }
        if (!answered)
            return answer_missing(&call->connection, true);
        if (code != EXIT_DONE)
            answer_refused(call->arguments, &call->reply);
        return code == EXIT_REFUSED ? EXIT_LOST : code;
    }
}

static int run(struct call *call)
{
    struct hold hold = {
        .command = call->arguments->command,
        .what = "the run",
        .ttl = call->ttl,
        .ends = call->ends,
        .grace = call->arguments->grace,
        .renew_target = target_of(call, "run"),
        .renew_body = bytes_of(run_body(call)),
        .output = &call->answer,
        .most_output = LARGEST_ANSWER,
    };
    buffer_reserve(&call->answer, 1); // an empty answer is one, too
    int code = hold_run(&call->connection, &hold);
    call->ends = hold.ends;
    if (hold.lost)
        return code;
    if (code != EXIT_DONE) {
        end_run(call, "DELETE", "run", NO_BODY);
        return code;
    }
    code = end_run(call, "PUT", "answer", buffer_view(&call->answer));
    return code == EXIT_DONE && !print_bytes(buffer_view(&call->answer)) ? EXIT_FAILED : code;
}

static int refuse(struct call *call, bool answered)
{
    if (!answered)
        return answer_missing(&call->connection, true);
    if (call->reply.status != 202)
        return answer_refused(call->arguments, &call->reply);
    fputs("holdfast: another runs it\n", stderr);
    return EXIT_REFUSED;
}

// Asks until there is an answer, the run is ours, or the time is up.
static int ask(struct call *call)
{
    char key[ONCE_KEY_BYTES];
    int64_t until = boot_time() + call->arguments->wait;
    int failures = 0;
    once_key(key);
    for (;;) {
        int64_t left = until - boot_time(), wait = left < 0 ? 0 : left < WAIT_MOST ? left : WAIT_MOST;
        connection_header(&call->connection, "Idempotency-Key", key);
        wait_header(&call->connection, wait);
        bool answered =
            connection_ask(&call->connection, "POST", target_of(call, NULL), NO_BODY, wait, &call->reply);
        if (answered && call->reply.status == 200)
            return print_bytes(buffer_view(&call->reply.body)) ? EXIT_DONE : EXIT_FAILED;
        if (answered && call->reply.status == 201) {
            call->token = reply_member(&call->reply, &call->connection.arena, "token");
            if (call->token && confirm(call))
                return run(call);
            call->token = NULL; // it was lost meanwhile
        }
        bool away = !answered || answer_code(&call->reply) == EXIT_UNAVAILABLE;
        bool final = answered && !away && call->reply.status >= 400;
        if (final || boot_time() >= until)
            return refuse(call, answered);
        if (away)
            wait_before_retry(++failures);
        else
            once_key(key);
    }
}

int once_command(const struct arguments *arguments)
{
    struct call call = {.arguments = arguments};
    if (!duration_parse(bytes_of(arguments->ttl), &call.ttl)) {
        fputs("holdfast: bad value for --ttl: it takes DURATION\n", stderr);
        return EXIT_USAGE;
    }
    if (!place_begin(&call.connection, arguments, 0, &call.place))
        return EXIT_USAGE;
    int code = arguments->forget ? forget(&call) : arguments->command ? ask(&call) : look(&call);
    buffer_free(&call.answer);
    reply_free(&call.reply);
    connection_end(&call.connection);
    return code;
}
