// Warrants: the service's own word, kept in the database, that all of a bucket is to be sealed or opened. Who
// can only write to the database cannot give one.
#pragma once

#include "base/arena.h"
#include "security/keys.h"

enum warrant {
    WARRANT_SEAL = 's',
    WARRANT_OPEN = 'o',
};

enum { WARRANT_TEXT = KEY_ID_TEXT + 32 }; // bytes

// Gives one for the bucket of this name under the current key, in the arena: letters and digits.
struct bytes warrant_give(struct arena *arena, const struct keys *keys, enum warrant warrant,
                          struct bytes name);

// Whether the text is one for it, given under a key that is among them.
bool warrant_holds(const struct keys *keys, enum warrant warrant, struct bytes name, struct bytes text);
