// The arena's blocks: small ones are chained and filled, a large request gets a block of its own.
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_SIZE = 4096, ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *older;
    size_t size;
};

_Static_assert(sizeof(struct arena_block) % ALIGNMENT == 0, "what follows a block's head must stay aligned");

static struct arena_block *block_new(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX - sizeof(struct arena_block))
        return NULL;
    struct arena_block *block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    block->older = arena->blocks;
    block->size = size;
    arena->blocks = block;
    return block;
}

void *arena_try_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT)
        return NULL;
    size += size == 0; // an empty arena has no place to point to
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (size <= arena->left) {
        void *p = arena->next;
        arena->next += size;
        arena->left -= size;
        return p;
    }
    if (size > BLOCK_SIZE / 4) {
        struct arena_block *block = block_new(arena, size);
        return block ? (void *)(block + 1) : NULL;
    }
    struct arena_block *block = block_new(arena, BLOCK_SIZE - sizeof(struct arena_block));
    if (!block)
        return NULL;
    arena->next = (uint8_t *)(block + 1) + size;
    arena->left = block->size - size;
    return block + 1;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    void *p = arena_try_alloc(arena, size);
    if (!p) {
        fputs("holdfast: out of memory\n", stderr);
        abort();
    }
    return p;
}

void *arena_zalloc(struct arena *arena, size_t size)
{
    return memset(arena_alloc(arena, size), 0, size);
}

struct bytes arena_copy(struct arena *arena, struct bytes b)
{
    uint8_t *p = arena_alloc(arena, b.size + 1);
    if (b.size)
        memcpy(p, b.data, b.size);
    p[b.size] = 0;
    return (struct bytes){p, b.size};
}

char *arena_vprintf(struct arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    if (size < 0)
        abort();
    char *p = arena_alloc(arena, (size_t)size + 1);
    vsnprintf(p, (size_t)size + 1, format, again);
    va_end(again);
    return p;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *p = arena_vprintf(arena, format, args);
    va_end(args);
    return p;
}

struct bytes arena_decimal(struct arena *arena, char before, int64_t n, char after)
{
    enum { ROOM = 24 }; // a sign, 19 digits, two marks, a NUL
    char *end = (char *)arena_alloc(arena, ROOM) + ROOM - 1;
    char *at = end;
    *at = 0;
    if (after)
        *--at = after;
    uint64_t magnitude = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    do {
        *--at = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude);
    if (n < 0)
        *--at = '-';
    if (before)
        *--at = before;
    return bytes_make(at, (size_t)(end - at));
}

void arena_free(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *older = arena->blocks->older;
        free(arena->blocks);
        arena->blocks = older;
    }
    *arena = (struct arena){0};
}
