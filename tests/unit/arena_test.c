// The arena: what it gives is aligned, apart from everything else it gave, and gone only when the arena is.
#include "unit.h"

START_TEST(arena_allocations_are_aligned_and_apart)
{
    struct arena arena = {0};
    struct random random = random_seeded(1, 0);
    uint8_t *given[2000];
    size_t sizes[2000];
    for (size_t i = 0; i < 2000; i++) {
        sizes[i] = i % 50 == 0 ? random_below(&random, 20000) : random_below(&random, 200);
        given[i] = arena_alloc(&arena, sizes[i]);
        ck_assert_uint_eq((uintptr_t)given[i] % 16, 0);
        memset(given[i], (int)(i & 0xff), sizes[i]);
    }
    for (size_t i = 0; i < 2000; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            if (given[i][k] != (i & 0xff))
                ck_abort_msg("byte %zu of allocation %zu was overwritten", k, i);
    arena_free(&arena);
    ck_assert_ptr_null(arena.blocks);
}
END_TEST

START_TEST(arena_zalloc_clears_memory_that_was_used_before)
{
    struct arena arena = {0};
    for (int round = 0; round < 10; round++) {
        uint8_t *p = arena_zalloc(&arena, 500);
        for (size_t i = 0; i < 500; i++)
            ck_assert_uint_eq(p[i], 0);
        memset(p, 0xff, 500);
        arena_free(&arena);
    }
}
END_TEST

START_TEST(arena_try_alloc_refuses_an_impossible_size)
{
    struct arena arena = {0};
    ck_assert_ptr_null(arena_try_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(arena_try_alloc(&arena, SIZE_MAX - 15));
    ck_assert_ptr_null(arena_try_alloc(&arena, SIZE_MAX - 16));
    ck_assert_ptr_nonnull(arena_try_alloc(&arena, 1));
    arena_free(&arena);
}
END_TEST

START_TEST(arena_gives_a_place_for_no_bytes)
{
    struct arena arena = {0};
    ck_assert_ptr_nonnull(arena_alloc(&arena, 0));
    ck_assert_ptr_nonnull(arena_zalloc(&arena, 0));
    arena_free(&arena);
    ck_assert_ptr_nonnull(arena_try_alloc(&arena, 0));
    arena_free(&arena);
}
END_TEST

START_TEST(arena_copy_keeps_every_byte_and_adds_a_nul)
{
    struct arena arena = {0};
    struct bytes copy = arena_copy(&arena, B("a\0b"));
    assert_bytes_eq(copy, B("a\0b"));
    ck_assert_uint_eq(copy.data[3], 0);
    struct bytes empty = arena_copy(&arena, bytes_make(NULL, 0));
    ck_assert_uint_eq(empty.size, 0);
    ck_assert_uint_eq(empty.data[0], 0);
    arena_free(&arena);
}
END_TEST

START_TEST(arena_printf_formats_long_text)
{
    struct arena arena = {0};
    char *text = arena_printf(&arena, "%s-%05000d", "start", 7);
    ck_assert_uint_eq(strlen(text), 6 + 5000);
    ck_assert_int_eq(text[5005], '7');
    arena_free(&arena);
}
END_TEST

Suite *arena_suite(void)
{
    const TTest *tests[] = {
        arena_allocations_are_aligned_and_apart,
        arena_zalloc_clears_memory_that_was_used_before,
        arena_try_alloc_refuses_an_impossible_size,
        arena_gives_a_place_for_no_bytes,
        arena_copy_keeps_every_byte_and_adds_a_nul,
        arena_printf_formats_long_text,
        NULL,
    };
    return suite_of("arena", tests);
}
