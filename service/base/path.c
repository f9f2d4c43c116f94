// The path codec: escaping by length first, so that the arena is asked once and nothing too long is ever
// built.
#include "base/path.h"

enum {
    OWNER_MARK = 0x02,
    KEY_MARK = 0x01,
    ESCAPE = 0x00,
    ESCAPED_ZERO = 0xff, // after ESCAPE: a zero byte of the owner
    OWNER_END = 0x01,    // after ESCAPE: the owner's end
    OWNER_FRAME = 3,     // the mark and the two bytes of the end
};

static size_t zeros_in(struct bytes b)
{
    size_t zeros = 0;
    for (size_t i = 0; i < b.size; i++)
        zeros += b.data[i] == 0;
    return zeros;
}

// The stored size of all owners, refused as soon as it is too much.
static enum path_verdict owners_size(const struct bytes *owners, size_t count, size_t *size)
{
    if (count > PATH_MAX_OWNERS)
        return PATH_TOO_LONG;
    *size = 0;
    for (size_t i = 0; i < count; i++) {
        if (owners[i].size == 0)
            return PATH_EMPTY;
        if (owners[i].size > PATH_MAX_STORED)
            return PATH_TOO_LONG;
        *size += OWNER_FRAME + owners[i].size + zeros_in(owners[i]);
        if (*size > PATH_MAX_STORED)
            return PATH_TOO_LONG;
    }
    return PATH_OK;
}

static uint8_t *put_owner(uint8_t *p, struct bytes owner)
{
    *p++ = OWNER_MARK;
    for (size_t i = 0; i < owner.size; i++) {
        *p++ = owner.data[i];
        if (owner.data[i] == 0)
            *p++ = ESCAPED_ZERO;
    }
    *p++ = ESCAPE;
    *p++ = OWNER_END;
    return p;
}

static uint8_t *put_owners(uint8_t *p, const struct bytes *owners, size_t count)
{
    for (size_t i = 0; i < count; i++)
        p = put_owner(p, owners[i]);
    return p;
}

enum path_verdict path_encode(struct arena *arena, const struct bytes *owners, size_t count, struct bytes key,
                              struct bytes *path)
{
    size_t size = 0;
    enum path_verdict verdict = owners_size(owners, count, &size);
    if (verdict != PATH_OK)
        return verdict;
    if (key.size == 0)
        return PATH_EMPTY;
    if (key.size > PATH_MAX_STORED - size)
        return PATH_TOO_LONG;
    size += 1 + key.size;
    uint8_t *data = arena_alloc(arena, size);
    uint8_t *p = put_owners(data, owners, count);
    *p++ = KEY_MARK;
    memcpy(p, key.data, key.size);
    *path = bytes_make(data, size);
    return PATH_OK;
}

enum path_verdict path_encode_branch(struct arena *arena, const struct bytes *owners, size_t count,
                                     struct bytes *prefix)
{
    size_t size = 0;
    enum path_verdict verdict = owners_size(owners, count, &size);
    if (verdict != PATH_OK)
        return verdict;
    uint8_t *data = arena_alloc(arena, size);
    put_owners(data, owners, count);
    *prefix = bytes_make(data, size);
    return PATH_OK;
}

// Reads one owner behind its mark at `*at` into `out`, which has room for all that is left, and moves `*at`
// behind its end. False when it does not end, holds an unknown escape or is empty.
static bool take_owner(struct bytes path, size_t *at, uint8_t *out, struct bytes *owner)
{
    size_t size = 0;
    size_t i = *at;
    for (; i < path.size; i++) {
        if (path.data[i] != ESCAPE) {
            out[size++] = path.data[i];
            continue;
        }
        if (++i == path.size)
            return false;
        if (path.data[i] == OWNER_END) {
            *at = i + 1;
            *owner = bytes_make(out, size);
            return size > 0;
        }
        if (path.data[i] != ESCAPED_ZERO)
            return false;
        out[size++] = 0;
    }
    return false;
}

bool path_decode(struct arena *arena, struct bytes path, struct bytes *owners, size_t *count,
                 struct bytes *key)
{
    if (path.size > PATH_MAX_BYTES)
        return false;
    uint8_t *out = arena_alloc(arena, path.size);
    size_t taken = 0;
    size_t at = 0;
    while (at < path.size && path.data[at] == OWNER_MARK) {
        at++;
        if (taken == PATH_MAX_OWNERS || !take_owner(path, &at, out, &owners[taken]))
            return false;
        out += owners[taken++].size;
    }
    if (path.size - at < 2 || path.data[at] != KEY_MARK)
        return false;
    memcpy(out, path.data + at + 1, path.size - at - 1);
    *count = taken;
    *key = bytes_make(out, path.size - at - 1);
    return true;
}

bool path_successor(struct arena *arena, struct bytes prefix, struct bytes *successor)
{
    size_t size = prefix.size;
    while (size && prefix.data[size - 1] == 0xff)
        size--;
    if (size == 0)
        return false;
    uint8_t *data = arena_alloc(arena, size);
    memcpy(data, prefix.data, size);
    data[size - 1]++;
    *successor = bytes_make(data, size);
    return true;
}
