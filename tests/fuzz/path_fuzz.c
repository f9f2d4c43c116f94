// The path codec both ways: what decodes has that one form, and what encodes is read back and lies in its
// branch.
#include "fuzz.h"

#include "base/path.h"

static void check_decode(struct arena *arena, struct bytes path)
{
    struct bytes owners[PATH_MAX_OWNERS];
    size_t count = 0;
    struct bytes key;
    if (!path_decode(arena, path, owners, &count, &key))
        return;
    struct bytes again;
    must(path_encode(arena, owners, count, key, &again) == PATH_OK);
    must(bytes_equal(again, path));
}

// Cuts a name off the front: a byte that says its length, then its bytes.
static struct bytes take_name(struct bytes *input)
{
    size_t size = input->data[0];
    if (size > input->size - 1)
        size = input->size - 1;
    struct bytes name = bytes_make(input->data + 1, size);
    *input = bytes_make(input->data + 1 + size, input->size - 1 - size);
    return name;
}

static void check_branch(struct arena *arena, const struct bytes *owners, size_t count, struct bytes path)
{
    struct bytes prefix;
    struct bytes end;
    must(path_encode_branch(arena, owners, count, &prefix) == PATH_OK);
    must(prefix.size < path.size && memcmp(prefix.data, path.data, prefix.size) == 0);
    if (count == 0)
        return;
    must(path_successor(arena, prefix, &end));
    must(end.size <= prefix.size && memcmp(path.data, end.data, end.size) < 0);
}

static void check_encode(struct arena *arena, struct bytes input)
{
    struct bytes owners[PATH_MAX_OWNERS + 2];
    size_t count = 0;
    while (input.size > 0 && count < PATH_MAX_OWNERS + 2)
        owners[count++] = take_name(&input);
    if (count == 0)
        return;
    struct bytes key = owners[--count];
    struct bytes path;
    if (path_encode(arena, owners, count, key, &path) != PATH_OK)
        return;
    must(path.size <= PATH_MAX_BYTES);
    struct bytes back[PATH_MAX_OWNERS];
    size_t back_count = 0;
    struct bytes back_key;
    must(path_decode(arena, path, back, &back_count, &back_key));
    must(back_count == count && bytes_equal(back_key, key));
    for (size_t i = 0; i < count; i++)
        must(bytes_equal(back[i], owners[i]));
    check_branch(arena, owners, count, path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    check_decode(&arena, bytes_make(data, size));
    check_encode(&arena, bytes_make(data, size));
    arena_free(&arena);
    return 0;
}
