// The stored form of a key and its branch: one string of bytes in which a branch is one contiguous range.
//
// For owners o1..on (outermost first) and key k the path is
//
//     0x02 esc(o1) 0x00 0x01   …   0x02 esc(on) 0x00 0x01   0x01 k
//
// where esc writes a zero byte as 0x00 0xff. An owner can therefore never look like the start of another,
// everything below a branch begins with the branch's own prefix, the branch's own keys (0x01) lie before the
// branches below it (0x02), and keys keep their byte order since they are stored as they are.
#pragma once

#include "base/arena.h"
#include "base/bytes.h"

enum {
    PATH_MAX_STORED = 1024,               // key and encoded owners together, without the key's mark
    PATH_MAX_BYTES = PATH_MAX_STORED + 1, // the whole path
    PATH_MAX_OWNERS = 64,
};

enum path_verdict {
    PATH_OK,
    PATH_EMPTY,    // an owner or the key has no bytes
    PATH_TOO_LONG, // more than PATH_MAX_STORED, or more than PATH_MAX_OWNERS owners
};

// Encodes into the arena.
enum path_verdict path_encode(struct arena *arena, const struct bytes *owners, size_t count, struct bytes key,
                              struct bytes *path);

// The prefix shared by everything in the branch and below it; empty for no owners.
enum path_verdict path_encode_branch(struct arena *arena, const struct bytes *owners, size_t count,
                                     struct bytes *prefix);

// Takes a path apart into the arena. Owners go to `owners` (room for PATH_MAX_OWNERS). False when `path` was
// not made by path_encode.
bool path_decode(struct arena *arena, struct bytes path, struct bytes *owners, size_t *count,
                 struct bytes *key);

// The smallest byte string that is larger than everything beginning with `prefix`; false when there is none
// (the prefix is empty or all 0xff).
bool path_successor(struct arena *arena, struct bytes prefix, struct bytes *successor);
