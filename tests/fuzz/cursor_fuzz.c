// Cursors: one is read back by its own list alone, and what is accepted is the one text that would be made
// again.
#include "json_values.h"

#include "handlers/cursor.h"

#include <sodium.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct bytes rest = bytes_make(data, size), position;
    struct bytes scope = take_text(&rest);
    must(sodium_init() >= 0);
    if (cursor_read(&arena, scope, rest, &position))
        must(bytes_equal(bytes_of(cursor_make(&arena, scope, position)), rest));

    const char *made = cursor_make(&arena, scope, rest);
    must(strspn(made, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == strlen(made));
    must(cursor_read(&arena, scope, bytes_of(made), &position) && bytes_equal(position, rest));
    must(!cursor_read(&arena, bytes_make(data, size), bytes_of(made), &position) || scope.size == size);

    uint8_t *changed = arena_alloc(&arena, strlen(made) + 1);
    strcpy((char *)changed, made);
    size_t at = size % strlen(made);
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    must(!cursor_read(&arena, scope, bytes_of((char *)changed), &position));
    arena_free(&arena);
    return 0;
}
