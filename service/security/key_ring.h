// The keys that all workers share, read anew from their files while they are in use.
#pragma once

#include "security/keys.h"

struct key_ring;

// Reads the keys at `path`, which must outlive the ring. NULL with a line in `error` when they are not good.
struct key_ring *key_ring_open(const char *path, char *error, size_t size);

// When nobody uses it any more; NULL is nothing.
void key_ring_close(struct key_ring *ring);

// The keys as last read, good until the ring is closed. Any thread.
const struct keys *key_ring_keys(const struct key_ring *ring);

// Reads them anew; those before stay in use, with a warning in the log, when they are not good. Any thread.
void key_ring_reload(struct key_ring *ring);

// Somebody met a key that is not among them: reads anew, at most once a second. Gives whether it did. Any
// thread.
bool key_ring_missed(struct key_ring *ring);
