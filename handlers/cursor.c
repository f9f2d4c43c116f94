// A cursor is base64 of a checksum over scope and position, then the position. It hides nothing and grants
// nothing: the checksum only makes sure that a cursor of another list, or a mangled one, is an error and not
// a wrong page.
#include "handlers/cursor.h"

#include "base/text.h"

#include <sodium.h>

enum { CHECKSUM = 16 };

static void checksum(struct bytes scope, struct bytes position, uint8_t out[CHECKSUM])
{
    crypto_generichash_state state;
    uint64_t size = scope.size;
    crypto_generichash_init(&state, NULL, 0, CHECKSUM);
    crypto_generichash_update(&state, (const uint8_t *)&size, sizeof size);
    crypto_generichash_update(&state, scope.data, scope.size);
    crypto_generichash_update(&state, position.data, position.size);
    crypto_generichash_final(&state, out, CHECKSUM);
}

// The alphabet of RFC 4648 section 5, so that a cursor needs no percent encoding; `=` is left off.
static void to_url(uint8_t *text, size_t *size)
{
    while (*size && text[*size - 1] == '=')
        --*size;
    for (size_t i = 0; i < *size; i++)
        text[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
    text[*size] = 0;
}

const char *cursor_make(struct arena *arena, struct bytes scope, struct bytes position)
{
    uint8_t *raw = arena_alloc(arena, CHECKSUM + position.size);
    checksum(scope, position, raw);
    if (position.size)
        memcpy(raw + CHECKSUM, position.data, position.size);
    struct bytes encoded =
        arena_copy(arena, text_base64_encode(arena, bytes_make(raw, CHECKSUM + position.size)));
    size_t size = encoded.size;
    to_url((uint8_t *)(uintptr_t)encoded.data, &size);
    return (const char *)encoded.data;
}

bool cursor_read(struct arena *arena, struct bytes scope, struct bytes cursor, struct bytes *position)
{
    size_t padded = (cursor.size + 3) / 4 * 4;
    uint8_t *text = arena_alloc(arena, padded + 1);
    for (size_t i = 0; i < padded; i++) {
        uint8_t c = i < cursor.size ? cursor.data[i] : '=';
        if (i < cursor.size && (c == '+' || c == '/' || c == '='))
            return false;
        text[i] = c == '-' ? '+' : c == '_' ? '/' : c;
    }
    struct bytes raw;
    if (!text_base64_decode(arena, bytes_make(text, padded), &raw) || raw.size < CHECKSUM)
        return false;
    *position = bytes_make(raw.data + CHECKSUM, raw.size - CHECKSUM);
    uint8_t expected[CHECKSUM];
    checksum(scope, *position, expected);
    return sodium_memcmp(expected, raw.data, CHECKSUM) == 0;
}
