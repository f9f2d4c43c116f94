// The parsers of small texts from outside; each reads every byte once and none reads past the size it was
// given.
#include "base/text.h"

#include "base/scan.h"

#include <sodium.h>

bool text_is_utf8(struct bytes b)
{
    size_t i = 0;
    for (;;) {
        i += scan_ascii(b.data + i, b.size - i);
        if (i == b.size)
            return true;
        size_t length = scan_utf8(b.data + i, b.size - i);
        if (length == 0)
            return false;
        i += length;
    }
}

bool text_has_control(struct bytes b)
{
    for (size_t i = 0; i < b.size; i++) {
        uint8_t c = b.data[i];
        if (c < 0x20 || c == 0x7f)
            return true;
        if (c == 0xc2 && i + 1 < b.size && b.data[i + 1] >= 0x80 && b.data[i + 1] <= 0x9f)
            return true;
    }
    return false;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Decodes into `out`, which has room for all of `raw`. Gives the number of bytes written, or SIZE_MAX when
// malformed.
static size_t percent_decode(struct bytes raw, uint8_t *out)
{
    size_t size = 0;
    for (size_t i = 0; i < raw.size; i++) {
        if (raw.data[i] != '%') {
            out[size++] = raw.data[i];
            continue;
        }
        if (raw.size - i < 3)
            return SIZE_MAX;
        int high = hex_digit(raw.data[i + 1]);
        int low = hex_digit(raw.data[i + 2]);
        if (high < 0 || low < 0)
            return SIZE_MAX;
        out[size++] = (uint8_t)(high << 4 | low);
        i += 2;
    }
    return size;
}

bool text_percent_decode(struct arena *arena, struct bytes raw, struct bytes *decoded)
{
    if (raw.size == 0 || !memchr(raw.data, '%', raw.size)) {
        *decoded = raw;
        return true;
    }
    uint8_t *out = arena_alloc(arena, raw.size);
    size_t size = percent_decode(raw, out);
    if (size == SIZE_MAX)
        return false;
    *decoded = bytes_make(out, size);
    return true;
}

struct bytes text_base64_encode(struct arena *arena, struct bytes raw)
{
    if (raw.size > SIZE_MAX / 2)
        return (struct bytes){0};
    size_t room = sodium_base64_ENCODED_LEN(raw.size, sodium_base64_VARIANT_ORIGINAL);
    char *out = arena_alloc(arena, room);
    sodium_bin2base64(out, room, raw.data, raw.size, sodium_base64_VARIANT_ORIGINAL);
    return bytes_make(out, room - 1);
}

bool text_base64_decode(struct arena *arena, struct bytes text, struct bytes *raw)
{
    size_t room = text.size / 4 * 3 + 3;
    uint8_t *out = arena_alloc(arena, room);
    size_t size = 0;
    if (sodium_base642bin(out, room, (const char *)text.data, text.size, NULL, &size, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        return false;
    *raw = bytes_make(out, size);
    return true;
}

bool text_int64(struct bytes text, int64_t *n)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    size_t i = negative ? 1 : 0;
    if (i == text.size || text.size > 20)
        return false;
    if (text.data[i] == '0' && (negative || text.size > 1))
        return false;
    int64_t sum = 0;
    for (; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c < '0' || c > '9')
            return false;
        // Counted downwards, since the lowest number has no positive twin.
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_sub_overflow(sum, c - '0', &sum))
            return false;
    }
    if (!negative && sum == INT64_MIN)
        return false;
    *n = negative ? sum : -sum;
    return true;
}

bool text_equals_lower(struct bytes text, const char *lower)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c >= 'A' && c <= 'Z')
            c |= 0x20;
        if (lower[i] == 0 || c != (uint8_t)lower[i])
            return false;
    }
    return lower[text.size] == 0;
}

static bool is_token_char(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

bool text_is_token(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!is_token_char(text.data[i]))
            return false;
    return text.size > 0;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

struct bytes text_trim(struct bytes b)
{
    while (b.size && is_blank(b.data[0])) {
        b.data++;
        b.size--;
    }
    while (b.size && is_blank(b.data[b.size - 1]))
        b.size--;
    return b;
}
