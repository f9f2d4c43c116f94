// Memory that lives as long as one request, given out by moving a pointer and given back all at once.
#pragma once

#include "base/bytes.h"

#include <stdarg.h>

struct arena_block;

// Zero-initialised it is a valid, empty arena.
struct arena {
    struct arena_block *blocks; // newest first
    uint8_t *next;
    size_t left;
};

// Makes it give out `memory` first, which stays the caller's and must outlive it. For an empty arena.
static inline void arena_begin(struct arena *arena, void *memory, size_t size)
{
    arena->next = memory;
    arena->left = size;
}

// `size` bytes, aligned for any type, not zeroed. Owned by the arena. Memory running out ends the process: a
// service that cannot get a few hundred bytes can answer nobody.
void *arena_alloc(struct arena *arena, size_t size);

// The same, zeroed.
void *arena_zalloc(struct arena *arena, size_t size);

// `size` bytes for something a client chose the size of (a body), or NULL when there is no memory.
void *arena_try_alloc(struct arena *arena, size_t size);

// A copy of `b` with a NUL behind it (not counted in the size).
struct bytes arena_copy(struct arena *arena, struct bytes b);

// printf into the arena; NUL-terminated.
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

// `n` in decimal, NUL-terminated, between `before` and `after` (\0 for nothing): what the hot path would use
// printf for.
struct bytes arena_decimal(struct arena *arena, char before, int64_t n, char after);

// Gives everything back. The arena is empty and usable again.
void arena_free(struct arena *arena);
