// Cursors of lists: where the next page begins, bound to the list they came from.
#pragma once

#include "base/arena.h"
#include "base/bytes.h"

// Makes the opaque text for `position` in the list that `scope` describes (its bucket, bounds, prefix …). In
// the arena.
const char *cursor_make(struct arena *arena, struct bytes scope, struct bytes position);

// Reads a cursor back; false when it was not made for this scope, or not by cursor_make.
bool cursor_read(struct arena *arena, struct bytes scope, struct bytes cursor, struct bytes *position);
