// One pass over the header lines, looking at nothing but the framing.
#include "reply.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { STATUS_LINE_LEAST = 12 }; // "HTTP/1.1 200"

static enum reply_state broken(struct reply *reply, const char *fault)
{
    reply->fault = fault;
    return REPLY_BROKEN;
}

// Reads "HTTP/1.1 NNN", which `line` is at least as long as. Gives 0 for anything else.
static int status_read(const char *line)
{
    const char *digits = line + 9;
    if (memcmp(line, "HTTP/1.1 ", 9) != 0)
        return 0;
    for (int i = 0; i < 3; i++) {
        if (!isdigit((unsigned char)digits[i]))
            return 0;
    }
    return (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0');
}

// Reads a decimal number with nothing around it but blanks before. False for anything else, and above 2^30.
static bool length_read(const char *at, const char *end, size_t *length)
{
    size_t number = 0;
    while (at < end && *at == ' ')
        at++;
    if (at == end)
        return false;
    for (; at < end; at++) {
        if (!isdigit((unsigned char)*at) || number > (1u << 30) / 10)
            return false;
        number = number * 10 + (size_t)(*at - '0');
    }
    *length = number;
    return true;
}

static bool named(const char *line, const char *end, const char *name, size_t name_size)
{
    return (size_t)(end - line) >= name_size && strncasecmp(line, name, name_size) == 0;
}

enum reply_state reply_read(struct reply *reply, const char *bytes, size_t size)
{
    static const char LENGTH[] = "content-length:", CHUNKS[] = "transfer-encoding:";
    bool length_seen = false;
    *reply = (struct reply){0};
    const char *end = memmem(bytes, size, "\r\n\r\n", 4);
    if (!end)
        return REPLY_PARTIAL;
    const char *line = memchr(bytes, '\r', (size_t)(end - bytes) + 1);
    if (line - bytes < STATUS_LINE_LEAST || (reply->status = status_read(bytes)) < 200)
        return broken(reply, "not an HTTP/1.1 reply with a final status");
    while (line < end) {
        line += 2;
        const char *line_end = memchr(line, '\r', (size_t)(end - line) + 1);
        if (named(line, line_end, CHUNKS, sizeof CHUNKS - 1))
            return broken(reply, "a reply in chunks");
        if (named(line, line_end, LENGTH, sizeof LENGTH - 1)) {
            if (length_seen || !length_read(line + sizeof LENGTH - 1, line_end, &reply->body_size))
                return broken(reply, "a doubtful Content-Length");
            length_seen = true;
        }
        line = line_end;
    }
    bool bodiless = reply->status == 204 || reply->status == 304;
    if (!length_seen && !bodiless)
        return broken(reply, "no Content-Length");
    if (bodiless)
        reply->body_size = 0;
    reply->body = end + 4;
    reply->size = (size_t)(reply->body - bytes) + reply->body_size;
    return reply->size <= size ? REPLY_WHOLE : REPLY_PARTIAL;
}
