// The growing buffer: it doubles, so that building a reply of n bytes copies at most n more.
#include "base/buffer.h"

#include "base/scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { SMALLEST = 256 };

_Noreturn static void out_of_memory(void)
{
    fputs("holdfast: out of memory\n", stderr);
    abort();
}

void buffer_reserve(struct buffer *buffer, size_t size)
{
    if (size <= buffer->capacity - buffer->size)
        return;
    if (size > SIZE_MAX / 2 - buffer->size)
        out_of_memory();
    size_t capacity = buffer->capacity ? buffer->capacity : SMALLEST;
    while (capacity < buffer->size + size)
        capacity *= 2;
    uint8_t *data = realloc(buffer->data, capacity);
    if (!data)
        out_of_memory();
    buffer->data = data;
    buffer->capacity = capacity;
}

void buffer_add_int64(struct buffer *buffer, int64_t n)
{
    char digits[20]; // -9223372036854775808
    char *p = digits + sizeof digits;
    uint64_t magnitude = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    do {
        *--p = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude);
    if (n < 0)
        *--p = '-';
    buffer_add(buffer, p, (size_t)(digits + sizeof digits - p));
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size < 0)
        abort();
    buffer_reserve(buffer, (size_t)size + 1); // vsnprintf writes a NUL that does not count
    va_start(args, format);
    vsnprintf((char *)buffer->data + buffer->size, (size_t)size + 1, format, args);
    va_end(args);
    buffer->size += (size_t)size;
}

static void add_escaped(struct buffer *buffer, uint8_t c)
{
    static const char digits[] = "0123456789abcdef";
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
    };
    if (c >= 0x80) {
        buffer_add(buffer, "\xef\xbf\xbd", 3);
    } else if (c >= 0x20 || letters[c]) {
        uint8_t *p = buffer_grow(buffer, 2);
        p[0] = '\\';
        p[1] = c >= 0x20 ? c : (uint8_t)letters[c];
    } else {
        uint8_t *p = buffer_grow(buffer, 6);
        memcpy(p, "\\u00", 4);
        p[4] = (uint8_t)digits[c >> 4];
        p[5] = (uint8_t)digits[c & 15];
    }
}

// How many bytes at `p`, at most `size`, a JSON string takes as they are.
static size_t copyable(const uint8_t *p, size_t size)
{
    size_t i = 0;
    for (;;) {
        i += scan_json_plain(p + i, size - i);
        if (i == size || p[i] < 0x80)
            return i;
        size_t length = scan_utf8(p + i, size - i);
        if (length == 0)
            return i;
        i += length;
    }
}

void buffer_add_json(struct buffer *buffer, struct bytes text)
{
    buffer_reserve(buffer, text.size < SIZE_MAX - 2 ? text.size + 2 : text.size);
    buffer_add_char(buffer, '"');
    size_t i = 0;
    while (i < text.size) {
        size_t run = copyable(text.data + i, text.size - i);
        buffer_add(buffer, text.data + i, run);
        i += run;
        if (i < text.size)
            add_escaped(buffer, text.data[i++]);
    }
    buffer_add_char(buffer, '"');
}

void buffer_free(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){0};
}
