// `holdfast watch`: each value that an entry gets, as it gets it.
#include "client/answer.h"
#include "client/arguments.h"
#include "client/entry_commands.h"
#include "client/entry_show.h"
#include "client/exit_code.h"
#include "client/wait.h"

#include "base/timestamp.h"

#include <stdio.h>

struct watching {
    const struct arguments *arguments;
    struct connection connection;
    struct place place;
    struct target target;
    struct reply reply;
    char version[64]; // that was shown last; empty while there is none
    bool seen;        // something was shown, a removal too
    int64_t shown;
    int failures;
};

static void show_removal(struct watching *watching)
{
    if (!watching->arguments->json) {
        fputs("holdfast: the entry is gone\n", stderr);
        return;
    }
    struct buffer json = {0};
    buffer_add_text(&json, "{\"bucket\":");
    buffer_add_json(&json, watching->place.bucket);
    buffer_add_char(&json, ',');
    entry_show_place(&json, &watching->place);
    buffer_add_text(&json, ",\"version\":null}\n");
    print_bytes(buffer_view(&json));
    buffer_free(&json);
}

static bool show_value(struct watching *watching)
{
    struct buffer line = {0};
    if (watching->arguments->json) {
        entry_show(&line, &watching->place, &watching->reply);
    } else {
        buffer_add_bytes(&line, buffer_view(&watching->reply.body));
        buffer_add_char(&line, '\n');
    }
    bool printed = print_bytes(buffer_view(&line));
    buffer_free(&line);
    return printed;
}

static bool present(struct watching *watching)
{
    struct bytes version = reply_version(&watching->reply);
    snprintf(watching->version, sizeof watching->version, "%.*s", (int)version.size,
             (const char *)version.data);
    watching->seen = true;
    watching->shown++;
    return show_value(watching);
}

static void absent(struct watching *watching)
{
    if (watching->version[0]) {
        show_removal(watching);
        watching->shown++;
    }
    watching->version[0] = 0;
    watching->seen = true;
}

// Asks for what is not the version that was shown. The first look, at something that may be absent, waits for
// nothing.
static bool ask(struct watching *watching, int64_t wait)
{
    struct connection *connection = &watching->connection;
    if (watching->seen)
        wait_header(connection, wait);
    char tag[72];
    snprintf(tag, sizeof tag, "\"%s\"", watching->version);
    if (watching->version[0])
        connection_header(connection, "If-None-Match", tag);
    return connection_ask(connection, "GET", target_text(&watching->target), NO_BODY, wait, &watching->reply);
}

// One look. Gives EXIT_DONE to go on.
static int look(struct watching *watching, int64_t wait)
{
    bool answered = ask(watching, wait);
    int status = watching->reply.status;
    // A service that is away comes back, and nothing is missed: the next look compares versions.
    if (!answered || answer_code(&watching->reply) == EXIT_UNAVAILABLE) {
        if (watching->failures == 0)
            fprintf(stderr, "holdfast: %s; trying again\n",
                    answered ? "the service is unavailable" : watching->connection.error);
        wait_before_retry(++watching->failures);
        return EXIT_DONE;
    }
    watching->failures = 0;
    if (status == 200)
        return present(watching) ? EXIT_DONE : EXIT_FAILED;
    if (status == 404)
        absent(watching);
    else if (status != 304)
        return answer_refused(watching->arguments, &watching->reply);
    return EXIT_DONE;
}

static int follow(struct watching *watching)
{
    const struct arguments *arguments = watching->arguments;
    int64_t end = arguments->wait ? timestamp_monotonic() + arguments->wait : INT64_MAX;
    for (;;) {
        int64_t left = end - timestamp_monotonic();
        if (left <= 0)
            return EXIT_REFUSED;
        int code = look(watching, left < WAIT_MOST ? left : WAIT_MOST);
        if (code != EXIT_DONE)
            return code;
        if (arguments->count && watching->shown >= arguments->count)
            return EXIT_DONE;
    }
}

int watch_command(const struct arguments *arguments)
{
    struct watching watching = {.arguments = arguments};
    if (!place_begin(&watching.connection, arguments, 0, &watching.place))
        return EXIT_USAGE;
    target_place(&watching.target, "buckets", &watching.place, "entries", NULL);
    if (arguments->fork)
        target_query(&watching.target, "fork", bytes_of(arguments->fork));
    int code = follow(&watching);
    reply_free(&watching.reply);
    buffer_free(&watching.target.text);
    connection_end(&watching.connection);
    return code;
}
