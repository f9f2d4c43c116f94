// Preferences: what is found lies in the header, the first of one name counts, and what others want changes
// nothing.
#include "fuzz.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "http/prefer.h"

// The preference `name` in the header between `before` and `after`; its text is in the arena.
static bool find_in(struct arena *arena, const char *before, struct bytes header, const char *after,
                    const char *name, struct bytes *value)
{
    struct buffer text = {0};
    buffer_add_text(&text, before);
    buffer_add_bytes(&text, header);
    buffer_add_text(&text, after);
    struct bytes copy = arena_copy(arena, buffer_view(&text));
    buffer_free(&text);
    return prefer_find(copy, name, value);
}

static void check(struct arena *arena, struct bytes header, const char *name)
{
    struct bytes value = {0}, again = {0};
    bool found = prefer_find(header, name, &value);
    must(find_in(arena, "x=\"a\\\",b\"; y, ", header, "", name, &again) == found);
    must(!found || bytes_equal(value, again));
    bool quotes = header.size && memchr(header.data, '"', header.size);
    if (found && value.size)
        must(value.data > header.data && value.data + value.size <= header.data + header.size);
    if (found && value.size && !quotes)
        must(!memchr(value.data, ',', value.size) && !memchr(value.data, ';', value.size));
    if (!found && !quotes)
        must(find_in(arena, "", header, ", wait=7, return=8", name, &again) && again.size == 1);
    must(find_in(arena, "return=1, wait=1,", header, "", name, &again) && bytes_is(again, "1"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    check(&arena, bytes_make(data, size), "wait");
    check(&arena, bytes_make(data, size), "return");
    arena_free(&arena);
    return 0;
}
