// A view of bytes that somebody else owns, so that names, keys and values may hold any byte, NUL too.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    const uint8_t *data;
    size_t size;
};

// A view of the text `s` without its NUL. `s` stays the caller's.
static inline struct bytes bytes_of(const char *s)
{
    return (struct bytes){(const uint8_t *)s, strlen(s)};
}

static inline struct bytes bytes_make(const void *data, size_t size)
{
    return (struct bytes){data, size};
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

// Whether `a` is exactly the text `s`.
static inline bool bytes_is(struct bytes a, const char *s)
{
    return bytes_equal(a, bytes_of(s));
}

// A 64-bit FNV-1a hash of `b`, started from `seed`; for tables of our own, never for anything a stranger must
// not guess.
static inline uint64_t bytes_hash(struct bytes b, uint64_t seed)
{
    uint64_t h = seed ^ 0xcbf29ce484222325u;
    for (size_t i = 0; i < b.size; i++)
        h = (h ^ b.data[i]) * 0x100000001b3u;
    return h;
}
