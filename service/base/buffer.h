// A byte buffer that grows, for what is assembled before it is sent: parameters, log lines, JSON replies.
#pragma once

#include "base/bytes.h"

#include <endian.h>

// Zero-initialised it is a valid, empty buffer. `data` is owned by the buffer.
struct buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
};

// Room for `size` more bytes, not yet written. Memory running out ends the process.
void buffer_reserve(struct buffer *buffer, size_t size);

// Room for `size` more bytes at the end; gives where they go. The caller fills them: they count as written.
// Memory running out ends the process.
static inline uint8_t *buffer_grow(struct buffer *buffer, size_t size)
{
    if (size > buffer->capacity - buffer->size)
        buffer_reserve(buffer, size);
    uint8_t *p = buffer->data + buffer->size;
    buffer->size += size;
    return p;
}

static inline void buffer_add(struct buffer *buffer, const void *data, size_t size)
{
    if (size)
        memcpy(buffer_grow(buffer, size), data, size);
}

static inline void buffer_add_bytes(struct buffer *buffer, struct bytes b)
{
    buffer_add(buffer, b.data, b.size);
}

static inline void buffer_add_text(struct buffer *buffer, const char *text)
{
    buffer_add(buffer, text, strlen(text));
}

static inline void buffer_add_char(struct buffer *buffer, char c)
{
    *buffer_grow(buffer, 1) = (uint8_t)c;
}

void buffer_add_int64(struct buffer *buffer, int64_t n);
void buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Adds `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void buffer_add_json(struct buffer *buffer, struct bytes text);

// Network byte order, as PostgreSQL's binary format wants it.
static inline void buffer_add_u16(struct buffer *buffer, uint16_t n)
{
    n = htobe16(n);
    memcpy(buffer_grow(buffer, sizeof n), &n, sizeof n);
}

static inline void buffer_add_u32(struct buffer *buffer, uint32_t n)
{
    n = htobe32(n);
    memcpy(buffer_grow(buffer, sizeof n), &n, sizeof n);
}

static inline void buffer_add_u64(struct buffer *buffer, uint64_t n)
{
    n = htobe64(n);
    memcpy(buffer_grow(buffer, sizeof n), &n, sizeof n);
}

// Empties it and keeps the memory.
static inline void buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
}

static inline struct bytes buffer_view(const struct buffer *buffer)
{
    return (struct bytes){buffer->data, buffer->size};
}

// Gives the memory back; the buffer is empty and usable again.
void buffer_free(struct buffer *buffer);
