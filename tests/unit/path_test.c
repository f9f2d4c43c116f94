// The path codec, by properties over random names with any bytes: round trip, order, branches as contiguous
// ranges.
#include "unit.h"

#include "base/path.h"

enum { MOST_OWNERS = 5, LONGEST_NAME = 6 };

// A key under a branch, with the memory its names lie in.
struct place {
    struct bytes owners[PATH_MAX_OWNERS];
    size_t count;
    struct bytes key;
    uint8_t memory[(MOST_OWNERS + 1) * LONGEST_NAME];
};

// Mostly the bytes that mean something in the stored form, so that random names meet each other and its
// marks.
static struct bytes random_name(struct random *random, uint8_t *memory)
{
    static const uint8_t marks[] = {0x00, 0x01, 0x02, 0xff, 'a', 'b'};
    size_t size = 1 + random_below(random, random_below(random, 3) ? 2 : LONGEST_NAME);
    for (size_t i = 0; i < size; i++)
        memory[i] = random_below(random, 8) ? marks[random_below(random, sizeof marks)]
                                            : (uint8_t)random_next(random);
    return bytes_make(memory, size);
}

static void random_place(struct random *random, struct place *place)
{
    uint8_t *memory = place->memory;
    place->count = random_below(random, MOST_OWNERS + 1);
    for (size_t i = 0; i < place->count; i++, memory += LONGEST_NAME)
        place->owners[i] = random_name(random, memory);
    place->key = random_name(random, memory);
}

// Takes over some of the outer owners of `from`, so that two places share a branch often enough.
static void move_near(struct random *random, struct place *place, const struct place *from)
{
    size_t shared = random_below(random, (place->count < from->count ? place->count : from->count) + 1);
    for (size_t i = 0; i < shared; i++)
        place->owners[i] = from->owners[i];
    if (random_below(random, 8) == 0)
        place->key = from->key;
}

static struct bytes encoded(struct arena *arena, const struct place *place)
{
    struct bytes path;
    ck_assert_int_eq(path_encode(arena, place->owners, place->count, place->key, &path), PATH_OK);
    return path;
}

static int order_of(struct bytes a, struct bytes b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = memcmp(a.data, b.data, shorter);
    if (order == 0)
        order = (a.size > b.size) - (a.size < b.size);
    return (order > 0) - (order < 0);
}

// The order that the stored form promises: owner by owner, a branch's own keys before the branches below it.
static int order_of_places(const struct place *a, const struct place *b)
{
    for (size_t i = 0;; i++) {
        if (i == a->count && i == b->count)
            return order_of(a->key, b->key);
        if (i == a->count || i == b->count)
            return i == a->count ? -1 : 1;
        int order = order_of(a->owners[i], b->owners[i]);
        if (order != 0)
            return order;
    }
}

static bool is_below(const struct place *place, const struct bytes *owners, size_t count)
{
    if (place->count < count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!bytes_equal(place->owners[i], owners[i]))
            return false;
    return true;
}

START_TEST(path_form_is_the_documented_one)
{
    struct arena arena = {0};
    struct bytes owners[] = {B("t"), B("a\0b")};
    struct bytes path;
    ck_assert_int_eq(path_encode(&arena, NULL, 0, B("k\0\xff"), &path), PATH_OK);
    assert_bytes_eq(path, B("\x01k\0\xff"));
    ck_assert_int_eq(path_encode(&arena, owners, 2, B("k"), &path), PATH_OK);
    assert_bytes_eq(path, B("\x02t\0\x01\x02"
                            "a\0\xff"
                            "b\0\x01\x01k"));
    ck_assert_int_eq(path_encode_branch(&arena, owners, 2, &path), PATH_OK);
    assert_bytes_eq(path, B("\x02t\0\x01\x02"
                            "a\0\xff"
                            "b\0\x01"));
    ck_assert_int_eq(path_encode_branch(&arena, NULL, 0, &path), PATH_OK);
    ck_assert_uint_eq(path.size, 0);
    arena_free(&arena);
}
END_TEST

START_TEST(path_reads_back_names_of_any_bytes)
{
    struct random random = random_seeded(13, 0);
    for (int round = 0; round < 20000; round++) {
        struct arena arena = {0};
        struct place place;
        random_place(&random, &place);
        struct bytes path = exact_copy(encoded(&arena, &place));
        struct bytes owners[PATH_MAX_OWNERS];
        size_t count = 0;
        struct bytes key;
        ck_assert(path_decode(&arena, path, owners, &count, &key));
        exact_free(path); // what was decoded is the arena's
        ck_assert_uint_eq(count, place.count);
        for (size_t i = 0; i < count; i++)
            assert_bytes_eq(owners[i], place.owners[i]);
        assert_bytes_eq(key, place.key);
        arena_free(&arena);
    }
}
END_TEST

START_TEST(path_keeps_the_order_of_owners_and_keys)
{
    struct random random = random_seeded(14, 0);
    int equal = 0;
    for (int round = 0; round < 30000; round++) {
        struct arena arena = {0};
        struct place a;
        struct place b;
        random_place(&random, &a);
        random_place(&random, &b);
        move_near(&random, &b, &a);
        int expected = order_of_places(&a, &b);
        ck_assert_int_eq(order_of(encoded(&arena, &a), encoded(&arena, &b)), expected);
        equal += expected == 0;
        arena_free(&arena);
    }
    ck_assert_int_gt(equal, 100);
}
END_TEST

START_TEST(path_branch_is_exactly_its_own_range)
{
    struct random random = random_seeded(15, 0);
    int inside = 0;
    for (int round = 0; round < 30000; round++) {
        struct arena arena = {0};
        struct place a;
        struct place b;
        random_place(&random, &a);
        random_place(&random, &b);
        move_near(&random, &b, &a);
        if (a.count == 0)
            continue;
        struct bytes prefix;
        struct bytes end;
        ck_assert_int_eq(path_encode_branch(&arena, a.owners, a.count, &prefix), PATH_OK);
        ck_assert(path_successor(&arena, prefix, &end));
        struct bytes path = encoded(&arena, &b);
        bool below = is_below(&b, a.owners, a.count);
        bool has_prefix = path.size >= prefix.size && memcmp(path.data, prefix.data, prefix.size) == 0;
        ck_assert_int_eq(has_prefix, below);
        ck_assert_int_eq(order_of(path, prefix) >= 0 && order_of(path, end) < 0, below);
        inside += below;
        arena_free(&arena);
    }
    ck_assert_int_gt(inside, 1000);
}
END_TEST

// A path has one form: what decodes encodes to the same bytes.
START_TEST(path_decode_accepts_only_what_encode_makes)
{
    static const uint8_t marks[] = {0x00, 0x01, 0x02, 0xff, 'a'};
    struct random random = random_seeded(16, 0);
    int decoded = 0;
    for (int round = 0; round < 60000; round++) {
        struct arena arena = {0};
        uint8_t raw[12];
        size_t size = random_below(&random, sizeof raw + 1);
        for (size_t i = 0; i < size; i++)
            raw[i] = marks[random_below(&random, sizeof marks)];
        struct bytes path = exact_copy(bytes_make(raw, size));
        struct bytes owners[PATH_MAX_OWNERS];
        size_t count = 0;
        struct bytes key;
        if (path_decode(&arena, path, owners, &count, &key)) {
            struct bytes again;
            ck_assert_int_eq(path_encode(&arena, owners, count, key, &again), PATH_OK);
            assert_bytes_eq(again, path);
            decoded++;
        }
        exact_free(path);
        arena_free(&arena);
    }
    ck_assert_int_gt(decoded, 1000);
}
END_TEST

START_TEST(path_decode_refuses_foreign_bytes)
{
    static const struct {
        const char *text;
        size_t size;
    } bad[] = {{"", 0},
               {"\x01", 1},
               {"k", 1},
               {"\x03k", 2},
               {"\x02", 1},
               {"\x02t", 2},
               {"\x02t\0", 3},
               {"\x02t\0\x01", 4},
               {"\x02t\0\x01\x01", 5},
               {"\x02\0\x01\x01k", 5},
               {"\x02t\0\x02\x01k", 6},
               {"\x02t\0\0\x01k", 6},
               {"\x02t\0\x01k", 5}};
    struct arena arena = {0};
    struct bytes owners[PATH_MAX_OWNERS];
    size_t count = 0;
    struct bytes key;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bytes path = exact_copy(bytes_make(bad[i].text, bad[i].size));
        ck_assert_msg(!path_decode(&arena, path, owners, &count, &key), "case %zu", i);
        exact_free(path);
    }
    uint8_t long_path[PATH_MAX_BYTES + 1];
    memset(long_path, 'k', sizeof long_path);
    long_path[0] = 0x01;
    ck_assert(path_decode(&arena, bytes_make(long_path, PATH_MAX_BYTES), owners, &count, &key));
    ck_assert(!path_decode(&arena, bytes_make(long_path, PATH_MAX_BYTES + 1), owners, &count, &key));
    arena_free(&arena);
}
END_TEST

START_TEST(path_takes_1024_stored_bytes_and_not_1025)
{
    struct arena arena = {0};
    static uint8_t zeros[2000];
    static uint8_t text[2000];
    memset(text, 'x', sizeof text);
    struct bytes path;
    ck_assert_int_eq(path_encode(&arena, NULL, 0, bytes_make(text, 1024), &path), PATH_OK);
    ck_assert_uint_eq(path.size, PATH_MAX_BYTES);
    ck_assert_int_eq(path_encode(&arena, NULL, 0, bytes_make(text, 1025), &path), PATH_TOO_LONG);
    ck_assert_int_eq(path_encode(&arena, NULL, 0, bytes_make(zeros, 1024), &path), PATH_OK);
    // An owner of 20 bytes is stored in 23, an owner of 20 zero bytes in 43.
    struct bytes owner = bytes_make(text, 20);
    ck_assert_int_eq(path_encode(&arena, &owner, 1, bytes_make(text, 1001), &path), PATH_OK);
    ck_assert_int_eq(path_encode(&arena, &owner, 1, bytes_make(text, 1002), &path), PATH_TOO_LONG);
    owner = bytes_make(zeros, 20);
    ck_assert_int_eq(path_encode(&arena, &owner, 1, bytes_make(text, 981), &path), PATH_OK);
    ck_assert_int_eq(path_encode(&arena, &owner, 1, bytes_make(text, 982), &path), PATH_TOO_LONG);
    owner = bytes_make(text, 1021);
    ck_assert_int_eq(path_encode_branch(&arena, &owner, 1, &path), PATH_OK);
    ck_assert_int_eq(path_encode(&arena, &owner, 1, B("k"), &path), PATH_TOO_LONG);
    owner = bytes_make(text, 1022);
    ck_assert_int_eq(path_encode_branch(&arena, &owner, 1, &path), PATH_TOO_LONG);
    owner = bytes_make(text, SIZE_MAX);
    ck_assert_int_eq(path_encode(&arena, &owner, 1, B("k"), &path), PATH_TOO_LONG);
    ck_assert_int_eq(path_encode(&arena, NULL, 0, bytes_make(text, SIZE_MAX), &path), PATH_TOO_LONG);
    arena_free(&arena);
}
END_TEST

START_TEST(path_takes_64_owners_and_no_empty_name)
{
    struct arena arena = {0};
    struct bytes owners[PATH_MAX_OWNERS + 1];
    for (size_t i = 0; i <= PATH_MAX_OWNERS; i++)
        owners[i] = B("o");
    struct bytes path;
    ck_assert_int_eq(path_encode(&arena, owners, PATH_MAX_OWNERS, B("k"), &path), PATH_OK);
    struct bytes back[PATH_MAX_OWNERS];
    size_t count = 0;
    struct bytes key;
    ck_assert(path_decode(&arena, path, back, &count, &key));
    ck_assert_uint_eq(count, PATH_MAX_OWNERS);
    ck_assert_int_eq(path_encode(&arena, owners, PATH_MAX_OWNERS + 1, B("k"), &path), PATH_TOO_LONG);
    ck_assert_int_eq(path_encode_branch(&arena, owners, PATH_MAX_OWNERS + 1, &path), PATH_TOO_LONG);
    ck_assert_int_eq(path_encode(&arena, owners, 1, B(""), &path), PATH_EMPTY);
    owners[1] = B("");
    ck_assert_int_eq(path_encode(&arena, owners, 3, B("k"), &path), PATH_EMPTY);
    ck_assert_int_eq(path_encode_branch(&arena, owners, 2, &path), PATH_EMPTY);
    arena_free(&arena);
}
END_TEST

START_TEST(path_decode_refuses_more_than_64_owners)
{
    struct arena arena = {0};
    uint8_t raw[4 * (PATH_MAX_OWNERS + 1) + 2];
    for (size_t i = 0; i <= PATH_MAX_OWNERS; i++)
        memcpy(raw + 4 * i, "\x02o\0\x01", 4);
    memcpy(raw + sizeof raw - 2, "\x01k", 2);
    struct bytes owners[PATH_MAX_OWNERS];
    size_t count = 0;
    struct bytes key;
    ck_assert(!path_decode(&arena, bytes_make(raw, sizeof raw), owners, &count, &key));
    ck_assert(path_decode(&arena, bytes_make(raw + 4, sizeof raw - 4), owners, &count, &key));
    arena_free(&arena);
}
END_TEST

START_TEST(path_successor_is_the_end_of_a_prefix)
{
    struct arena arena = {0};
    struct bytes end;
    ck_assert(path_successor(&arena, B("a"), &end));
    assert_bytes_eq(end, B("b"));
    ck_assert(path_successor(&arena, B("a\xff\xff"), &end));
    assert_bytes_eq(end, B("b"));
    ck_assert(path_successor(&arena, B("a\0"), &end));
    assert_bytes_eq(end, B("a\1"));
    ck_assert(!path_successor(&arena, B(""), &end));
    ck_assert(!path_successor(&arena, B("\xff"), &end));
    ck_assert(!path_successor(&arena, B("\xff\xff\xff"), &end));
    struct random random = random_seeded(17, 0);
    for (int round = 0; round < 30000; round++) {
        static const uint8_t marks[] = {0x00, 0x01, 0xfe, 0xff};
        uint8_t memory[2][5];
        struct bytes names[2];
        for (int i = 0; i < 2; i++) {
            names[i] = bytes_make(memory[i], random_below(&random, 6));
            for (size_t k = 0; k < names[i].size; k++)
                memory[i][k] = marks[random_below(&random, sizeof marks)];
        }
        bool has_prefix = names[1].size >= names[0].size && memcmp(memory[1], memory[0], names[0].size) == 0;
        bool bounded = path_successor(&arena, names[0], &end);
        bool in_range = order_of(names[1], names[0]) >= 0 && (!bounded || order_of(names[1], end) < 0);
        ck_assert_int_eq(in_range, has_prefix);
    }
    arena_free(&arena);
}
END_TEST

Suite *path_suite(void)
{
    const TTest *tests[] = {
        path_form_is_the_documented_one,
        path_reads_back_names_of_any_bytes,
        path_keeps_the_order_of_owners_and_keys,
        path_branch_is_exactly_its_own_range,
        path_decode_accepts_only_what_encode_makes,
        path_decode_refuses_foreign_bytes,
        path_takes_1024_stored_bytes_and_not_1025,
        path_takes_64_owners_and_no_empty_name,
        path_decode_refuses_more_than_64_owners,
        path_successor_is_the_end_of_a_prefix,
        NULL,
    };
    return suite_of("path", tests);
}
