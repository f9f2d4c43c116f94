// The entry's own headers, metadata between headers and its stored form, and the value as a body.
#include "handlers/entry_reply.h"

#include "base/timestamp.h"

void reply_expires_at(struct request *request, int64_t us)
{
    char *text = arena_alloc(&request->arena, TIMESTAMP_SIZE);
    timestamp_format(us, text);
    reply_header(request, "Holdfast-Expires-At", text);
}

// Whoever may write decides what type a value has: a browser that is led to it shall not take it for a page
// of the service's own, nor guess that it is one.
static void guard_browsers(struct request *request, struct bytes stored)
{
    if (!stored.size || bytes_is(stored, "application/json"))
        return;
    reply_header(request, "X-Content-Type-Options", "nosniff");
    reply_header(request, "Content-Security-Policy", "sandbox; default-src 'none'");
}

void reply_content_type(struct request *request, struct bytes stored)
{
    reply_header(request, "Content-Type",
                 stored.size ? (const char *)arena_copy(&request->arena, stored).data
                             : "application/octet-stream");
    guard_browsers(request, stored);
}

enum { COPIED_VALUE = 16 << 10 };

static void release_result(void *owner)
{
    held_release(owner);
}

void reply_value(struct request *request, int status, struct bytes value, const struct outcome *outcome)
{
    if (value.size <= COPIED_VALUE)
        reply_send(request, status, arena_copy(&request->arena, value));
    else
        reply_held(request, status, value, (struct held_body){outcome_hold(outcome), release_result});
}

struct value metadata_encode(struct request *request)
{
    if (!request->metadata_count)
        return value_null();
    struct buffer lines = {0};
    for (int i = 0; i < request->metadata_count; i++) {
        buffer_add_bytes(&lines, request->metadata[i].name);
        buffer_add_char(&lines, ':');
        buffer_add_bytes(&lines, request->metadata[i].value);
        buffer_add_char(&lines, '\n');
    }
    struct value value = value_bytes(arena_copy(&request->arena, buffer_view(&lines)));
    buffer_free(&lines);
    return value;
}

void reply_metadata(struct request *request, struct bytes stored)
{
    size_t at = 0;
    while (at < stored.size) {
        const uint8_t *line = stored.data + at;
        const uint8_t *end = memchr(line, '\n', stored.size - at);
        const uint8_t *colon = memchr(line, ':', stored.size - at);
        if (!end || !colon || colon > end)
            return;
        reply_header(
            request,
            arena_printf(&request->arena, "Holdfast-Meta-%.*s", (int)(colon - line), (const char *)line),
            arena_printf(&request->arena, "%.*s", (int)(end - colon - 1), (const char *)colon + 1));
        at += (size_t)(end - line) + 1;
    }
}
