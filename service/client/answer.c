// Problems are told by their kind and detail, as the service words them.
#include "client/answer.h"

#include "base/buffer.h"
#include "base/json_member.h"
#include "base/json_text.h"
#include "base/text.h"
#include "client/arguments.h"
#include "client/exit_code.h"

#include <errno.h>
#include <stdio.h>

int answer_code(const struct reply *reply)
{
    switch (reply->status) {
    case 404:
        return EXIT_ABSENT;
    case 409:
        return reply_is_problem(reply, "lease_held") || reply_is_problem(reply, "lease_lost") ? EXIT_REFUSED
                                                                                              : EXIT_CONFLICT;
    case 412:
    case 428:
        return EXIT_CONFLICT;
    case 429:
        return EXIT_REFUSED;
    case 502:
    case 503:
    case 504:
        return EXIT_UNAVAILABLE;
    default:
        return (reply->status >= 200 && reply->status < 300) || reply->status == 304 ? EXIT_DONE
                                                                                     : EXIT_FAILED;
    }
}

static struct bytes body_object(const struct reply *reply)
{
    struct bytes body = buffer_view(&reply->body);
    while (body.size && strchr(" \r\n\t", body.data[body.size - 1]))
        body.size--;
    bool valid = body.size && body.data[0] == '{' && json_check(body, JSON_STORED_DEPTH) == JSON_VALID;
    return valid ? body : NO_BODY;
}

const char *reply_member(const struct reply *reply, struct arena *arena, const char *name)
{
    struct bytes value, text;
    if (!json_member(body_object(reply), name, &value) || !json_string_decode(arena, value, &text))
        return NULL;
    return (const char *)arena_copy(arena, text).data;
}

bool reply_is_problem(const struct reply *reply, const char *kind)
{
    struct arena arena = {0};
    const char *actual = reply->status >= 400 ? reply_member(reply, &arena, "kind") : NULL;
    bool is = actual && !strcmp(actual, kind);
    arena_free(&arena);
    return is;
}

static bool is_c1_control(const char *text)
{
    return (uint8_t)text[0] == 0xc2 && (uint8_t)text[1] >= 0x80 && (uint8_t)text[1] <= 0x9f;
}

// What a stranger sent may hold what a terminal obeys, be it in one byte or, as U+0080 to U+009F, in two.
static void add_visible(struct buffer *line, const char *text)
{
    for (; *text; text++) {
        bool wide = is_c1_control(text);
        buffer_add_char(line, wide || (uint8_t)*text < 0x20 || *text == 0x7f ? '?' : *text);
        text += wide;
    }
}

// In one piece, since other processes may write to the same place.
static void print_line(struct buffer *line)
{
    buffer_add_char(line, '\n');
    fwrite(line->data, 1, line->size, stderr);
    buffer_free(line);
}

void answer_describe(const struct arguments *arguments, const struct reply *reply, struct buffer *line)
{
    struct arena arena = {0};
    struct bytes problem = body_object(reply);
    const char *kind = reply_member(reply, &arena, "kind"), *detail = reply_member(reply, &arena, "detail");
    if (arguments->json && problem.data) {
        buffer_add_bytes(line, problem);
    } else {
        buffer_printf(line, "holdfast: %d ", reply->status);
        add_visible(line, kind ? kind : reply->status == 404 ? "not_found" : "the service refused");
        if (detail) {
            buffer_add_text(line, ": ");
            add_visible(line, detail);
        }
    }
    arena_free(&arena);
}

int answer_refused(const struct arguments *arguments, const struct reply *reply)
{
    struct buffer line = {0};
    answer_describe(arguments, reply, &line);
    print_line(&line);
    return answer_code(reply);
}

int answer_missing(const struct connection *connection, bool writes)
{
    fprintf(stderr, "holdfast: no answer: %s%s\n", connection->error,
            writes && !connection->unsent ? "; the write may have been done" : "");
    return EXIT_UNAVAILABLE;
}

static bool told; // that standard output fails, which is said once

static bool output_failed(void)
{
    if (!told)
        fprintf(stderr, "holdfast: standard output: %s\n", strerror(errno));
    told = true;
    return false;
}

bool print_bytes(struct bytes bytes)
{
    if (fwrite(bytes.data ? bytes.data : (const uint8_t *)"", 1, bytes.size, stdout) == bytes.size &&
        fflush(stdout) == 0)
        return true;
    return output_failed();
}

bool print_end(void)
{
    return (fflush(stdout) == 0 && !ferror(stdout)) || output_failed();
}
