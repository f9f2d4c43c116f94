// Replies that were kept: the lines of headers, be they damaged, give headers that are kept in the same lines
// again.
#include "fake_request.h"
#include "json_values.h"

#include "handlers/kept_reply.h"

static bool is_whole(struct bytes lines)
{
    int count = 0;
    while (lines.size) {
        const uint8_t *end = memchr(lines.data, '\n', lines.size);
        if (!end || !memchr(lines.data, ':', (size_t)(end - lines.data)) || ++count == REPLY_HEADERS)
            return false;
        lines = bytes_make(end + 1, lines.size - (size_t)(end + 1 - lines.data));
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fake fake;
    struct request *request = fake_begin(&fake);
    struct bytes body = bytes_make(data, size);
    struct bytes lines = take_text(&body);
    kept_reply_send(request, 201, lines, body, size % 2);
    must(fake.replies == 1 && request->reply.status == 201 && bytes_equal(request->reply.body, body));
    must(request->reply_header_count <= REPLY_HEADERS);
    request->reply_header_count -= (int)(size % 2); // that of a replay, which is not kept
    struct bytes kept = kept_reply_headers(request);
    must(kept.size <= lines.size && memcmp(kept.data, lines.data, kept.size) == 0);
    must(!is_whole(lines) || kept.size == lines.size);
    fake_end(&fake);
    return 0;
}
