// `holdfast delete`: one entry.
#include "client/arguments.h"
#include "client/entry_commands.h"
#include "client/exit_code.h"
#include "client/place.h"
#include "client/write.h"

int delete_command(const struct arguments *arguments)
{
    struct connection connection;
    struct place place;
    struct target target = {0};
    struct reply reply = {0};
    if (!place_begin(&connection, arguments, 0, &place))
        return EXIT_USAGE;
    target_place(&target, "buckets", &place, "entries", NULL);
    if (!write_conditions(&connection, arguments, &target)) {
        buffer_free(&target.text);
        return connection_misused(&connection);
    }
    int code = write_send(&connection, arguments, "DELETE", target_text(&target), NO_BODY, &reply);
    reply_free(&reply);
    buffer_free(&target.text);
    connection_end(&connection);
    return code;
}
