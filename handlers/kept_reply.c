// Headers are kept as lines of name, colon, value: no value has a line end, the HTTP library would not have
// sent it.
#include "handlers/kept_reply.h"

#include "base/buffer.h"

const struct statement are_replies_kept = {
    .name = "are_replies_kept",
    .sql = "select * from holdfast.are_replies_kept($1, $2, $3, $4, $5)",
    .form = STATEMENT_SHARED,
    .role = ROLE_READ,
    .keys = KEYS_ANY,
    .columns = ASK_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_TEXT},
};

struct bytes kept_reply_headers(struct request *request)
{
    struct buffer lines = {0};
    for (int i = 0; i < request->reply_header_count; i++) {
        buffer_add_text(&lines, request->reply_headers[i].name);
        buffer_add_char(&lines, ':');
        buffer_add_text(&lines, request->reply_headers[i].value);
        buffer_add_char(&lines, '\n');
    }
    struct bytes headers = arena_copy(&request->arena, buffer_view(&lines));
    buffer_free(&lines);
    return headers;
}

static const char *text_of(struct request *request, const uint8_t *start, const uint8_t *end)
{
    return (const char *)arena_copy(&request->arena, bytes_make(start, (size_t)(end - start))).data;
}

static void add_headers(struct request *request, struct bytes lines)
{
    const uint8_t *at = lines.data;
    const uint8_t *beyond = lines.data + lines.size;
    while (at < beyond && request->reply_header_count < REPLY_HEADERS - 1) {
        const uint8_t *end = memchr(at, '\n', (size_t)(beyond - at));
        const uint8_t *colon = memchr(at, ':', (size_t)(beyond - at));
        if (!end || !colon || colon > end)
            return;
        reply_header(request, text_of(request, at, colon), text_of(request, colon + 1, end));
        at = end + 1;
    }
}

void kept_reply_send(struct request *request, int status, struct bytes headers, struct bytes body,
                     bool replayed)
{
    add_headers(request, headers);
    if (replayed)
        reply_header(request, "Holdfast-Replayed", "true");
    reply_send(request, status, body);
}
