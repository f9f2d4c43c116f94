// A page is taken apart as text, so that its items stay as the service wrote them.
#include "client/pages.h"

#include "base/json_member.h"
#include "base/json_text.h"

bool page_read(const struct reply *reply, const char *name, struct arena *arena, struct page *page)
{
    struct bytes body = buffer_view(&reply->body), items, cursor, text;
    while (body.size && body.data[body.size - 1] == '\n')
        body.size--;
    *page = (struct page){0};
    // A value of the deepest kind that is stored lies three levels down.
    if (json_check(body, JSON_STORED_DEPTH + 3) != JSON_VALID || !json_member(body, name, &items) ||
        !json_member(body, "cursor", &cursor) || !json_array_begin(&page->items, items))
        return false;
    if (bytes_is(cursor, "null"))
        return true;
    if (!json_string_decode(arena, cursor, &text))
        return false;
    page->cursor = (const char *)arena_copy(arena, text).data;
    return true;
}
