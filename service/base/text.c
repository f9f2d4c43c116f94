// The parsers of small texts from outside; each reads every byte once and none reads past the size it was
// given.
#include "base/text.h"

#include "base/scan.h"

bool text_is_utf8(struct bytes b)
{
    size_t i = 0;
    while (i < b.size) {
        i += scan_ascii(b.data + i, b.size - i);
        if (i == b.size)
            return true;
        size_t length = scan_utf8(b.data + i, b.size - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
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

// Base64 is our own since libsodium's, made for secrets, takes the same time for every byte: a request full
// of values would stop its worker for a tenth of a second.
static const char base64_digits[64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode_group(const uint8_t in[3], uint8_t out[4])
{
    out[0] = (uint8_t)base64_digits[in[0] >> 2];
    out[1] = (uint8_t)base64_digits[(in[0] & 3) << 4 | in[1] >> 4];
    out[2] = (uint8_t)base64_digits[(in[1] & 15) << 2 | in[2] >> 6];
    out[3] = (uint8_t)base64_digits[in[2] & 63];
}

struct bytes text_base64_encode(struct arena *arena, struct bytes raw)
{
    size_t groups = raw.size / 3;
    size_t rest = raw.size % 3;
    size_t size = (groups + (rest > 0)) * 4;
    uint8_t *out = arena_alloc(arena, size);
    for (size_t i = 0; i < groups; i++)
        encode_group(raw.data + i * 3, out + i * 4);
    if (rest > 0) {
        uint8_t last[3] = {0};
        memcpy(last, raw.data + groups * 3, rest);
        encode_group(last, out + groups * 4);
        memset(out + size - (3 - rest), '=', 3 - rest);
    }
    return bytes_make(out, size);
}

// The value of each digit plus one, so that zero means that it is none.
static const uint8_t base64_values[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

// Decodes four digits. Gives the 24 bits, or a negative number when one is no digit.
static int32_t decode_group(const uint8_t in[4])
{
    int32_t a = base64_values[in[0]] - 1;
    int32_t b = base64_values[in[1]] - 1;
    int32_t c = base64_values[in[2]] - 1;
    int32_t d = base64_values[in[3]] - 1;
    return (a | b | c | d) < 0 ? -1 : a << 18 | b << 12 | c << 6 | d;
}

static void put_group(uint8_t *out, int32_t bits, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)(bits >> (16 - 8 * i));
}

bool text_base64_decode(struct arena *arena, struct bytes text, struct bytes *raw)
{
    if (text.size % 4 != 0)
        return false;
    if (text.size == 0) {
        *raw = bytes_make("", 0);
        return true;
    }
    uint8_t last[4];
    memcpy(last, text.data + text.size - 4, 4);
    size_t padding = last[3] != '=' ? 0 : last[2] != '=' ? 1 : 2;
    memset(last + 4 - padding, 'A', padding); // the digit of no bits
    int32_t last_bits = decode_group(last);
    if (last_bits < 0 || (last_bits & ((1 << (8 * padding)) - 1)) != 0)
        return false;
    size_t groups = text.size / 4 - 1;
    uint8_t *out = arena_alloc(arena, groups * 3 + 3);
    for (size_t i = 0; i < groups; i++) {
        int32_t bits = decode_group(text.data + i * 4);
        if (bits < 0)
            return false;
        put_group(out + i * 3, bits, 3);
    }
    put_group(out + groups * 3, last_bits, 3 - padding);
    *raw = bytes_make(out, groups * 3 + 3 - padding);
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
