// `holdfast put`: a value from the command line, a file or standard input.
#include "client/answer.h"
#include "client/arguments.h"
#include "client/entry_commands.h"
#include "client/exit_code.h"
#include "client/place.h"
#include "client/write.h"

#include <errno.h>
#include <stdio.h>

enum { LARGEST_VALUE = 8 << 20 };

// All of a stream, as long as the service would take it.
static bool read_stream(FILE *stream, const char *name, struct buffer *value)
{
    while (value->size <= LARGEST_VALUE) {
        size_t room = 64 * 1024;
        buffer_reserve(value, room);
        size_t got = fread(value->data + value->size, 1, room, stream);
        value->size += got;
        if (got == 0)
            break;
    }
    if (ferror(stream))
        fprintf(stderr, "holdfast: %s: %s\n", name, strerror(errno));
    else if (value->size > LARGEST_VALUE)
        fputs("holdfast: a value has at most 8 MiB\n", stderr);
    return !ferror(stream) && value->size <= LARGEST_VALUE;
}

static bool read_file(const char *name, struct buffer *value)
{
    FILE *file = fopen(name, "rb");
    if (!file) {
        fprintf(stderr, "holdfast: %s: %s\n", name, strerror(errno));
        return false;
    }
    bool whole = read_stream(file, name, value);
    fclose(file);
    return whole;
}

static bool read_value(const struct arguments *arguments, struct buffer *value)
{
    buffer_reserve(value, 1); // an empty value is a value: it has memory
    if (arguments->file && strcmp(arguments->file, "-") != 0)
        return read_file(arguments->file, value);
    if (arguments->alone_count < 2)
        return read_stream(stdin, "standard input", value);
    buffer_add_text(value, arguments->alone[1]);
    return true;
}

static bool add_metadata(struct connection *connection, const struct arguments *arguments)
{
    for (int i = 0; i < arguments->metadata.count; i++) {
        const char *text = arguments->metadata.texts[i], *equals = strchr(text, '=');
        if (!equals || equals == text || !equals[1]) {
            fputs("holdfast: --meta takes NAME=VALUE\n", stderr);
            return false;
        }
        const char *name = arena_printf(&connection->arena, "Holdfast-Meta-%.*s", (int)(equals - text), text);
        if (!connection_header(connection, name, equals + 1))
            return false;
    }
    return true;
}

static void add_expiry(struct target *target, const struct arguments *arguments)
{
    if (arguments->ttl)
        target_query(target, "ttl", bytes_of(arguments->ttl));
    if (arguments->expires_at)
        target_query(target, "expires_at", bytes_of(arguments->expires_at));
    if (arguments->persist)
        target_query(target, "persist", bytes_of("true"));
}

static bool print_written(const struct arguments *arguments, const struct reply *reply)
{
    struct bytes version = reply_version(reply), position, expires;
    struct buffer line = {0};
    if (!arguments->json) {
        buffer_add_bytes(&line, version);
        buffer_add_char(&line, '\n');
    } else {
        buffer_printf(&line, "{\"created\":%s,\"version\":", reply->status == 201 ? "true" : "false");
        buffer_add_json(&line, version);
        buffer_add_text(&line, ",\"position\":");
        buffer_add_json(&line, reply_field(reply, "holdfast-position", &position) ? position : NO_BODY);
        buffer_add_text(&line, ",\"expires_at\":");
        if (reply_field(reply, "holdfast-expires-at", &expires))
            buffer_add_json(&line, expires);
        else
            buffer_add_text(&line, "null");
        buffer_add_text(&line, "}\n");
    }
    bool printed = print_bytes(buffer_view(&line));
    buffer_free(&line);
    return printed;
}

static int send_value(struct connection *connection, const struct arguments *arguments, struct target *target,
                      struct bytes value)
{
    struct reply reply = {0};
    int code = write_send(connection, arguments, "PUT", target_text(target), value, &reply);
    if (code == EXIT_DONE && !print_written(arguments, &reply))
        code = EXIT_FAILED;
    reply_free(&reply);
    return code;
}

int put_command(const struct arguments *arguments)
{
    struct connection connection;
    struct place place;
    struct target target = {0};
    struct buffer value = {0};
    if (arguments->file && arguments->alone_count > 1) {
        fputs("holdfast: a value and --file are one too many\n", stderr);
        return EXIT_USAGE;
    }
    if (!place_begin(&connection, arguments, 0, &place))
        return EXIT_USAGE;
    target_place(&target, "buckets", &place, "entries", NULL);
    add_expiry(&target, arguments);
    if (!write_conditions(&connection, arguments, &target) || !add_metadata(&connection, arguments) ||
        (arguments->content_type &&
         !connection_header(&connection, "Content-Type", arguments->content_type))) {
        buffer_free(&target.text);
        return connection_misused(&connection);
    }
    int code = read_value(arguments, &value)
                   ? send_value(&connection, arguments, &target, buffer_view(&value))
                   : EXIT_FAILED;
    buffer_free(&value);
    buffer_free(&target.text);
    connection_end(&connection);
    return code;
}
