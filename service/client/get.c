// `holdfast get`: a value, byte for byte.
#include "client/answer.h"
#include "client/arguments.h"
#include "client/entry_commands.h"
#include "client/entry_show.h"
#include "client/exit_code.h"
#include "client/wait.h"

static int show(const struct arguments *arguments, const struct place *place, const struct reply *reply)
{
    if (reply->status != 200)
        return answer_refused(arguments, reply);
    if (!arguments->json)
        return print_bytes(buffer_view(&reply->body)) ? EXIT_DONE : EXIT_FAILED;
    struct buffer json = {0};
    entry_show(&json, place, reply);
    bool printed = print_bytes(buffer_view(&json));
    buffer_free(&json);
    return printed ? EXIT_DONE : EXIT_FAILED;
}

int get_command(const struct arguments *arguments)
{
    struct connection connection;
    struct place place;
    struct target target = {0};
    struct reply reply = {0};
    if (!place_begin(&connection, arguments, 0, &place))
        return EXIT_USAGE;
    target_place(&target, "buckets", &place, "entries", NULL);
    if (arguments->fork)
        target_query(&target, "fork", bytes_of(arguments->fork));
    wait_header(&connection, arguments->wait);
    int code = connection_ask(&connection, "GET", target_text(&target), NO_BODY, arguments->wait, &reply)
                   ? show(arguments, &place, &reply)
                   : answer_missing(&connection, false);
    reply_free(&reply);
    buffer_free(&target.text);
    connection_end(&connection);
    return code;
}
