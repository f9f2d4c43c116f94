// Sets that were replaced stay until the ring is closed, so that nobody has to say when done with one.
#include "security/key_ring.h"

#include "base/log.h"
#include "base/timestamp.h"
#include "security/key_files.h"

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SETS_MOST = 1000, READ_EVERY = 1000 * 1000 };

struct key_ring {
    const char *path;
    pthread_mutex_t lock; // of who reads anew
    int64_t missed_at;
    int count;
    struct keys *sets[SETS_MOST];
    _Atomic(const struct keys *) now;
};

struct key_ring *key_ring_open(const char *path, char *error, size_t size)
{
    struct keys *keys = key_files_read(path, error, size);
    if (!keys)
        return NULL;
    struct key_ring *ring = calloc(1, sizeof *ring);
    if (!ring)
        abort();
    ring->path = path;
    pthread_mutex_init(&ring->lock, NULL);
    ring->sets[ring->count++] = keys;
    atomic_store(&ring->now, keys);
    return ring;
}

void key_ring_close(struct key_ring *ring)
{
    if (!ring)
        return;
    for (int i = 0; i < ring->count; i++)
        keys_free(ring->sets[i]);
    pthread_mutex_destroy(&ring->lock);
    free(ring);
}

const struct keys *key_ring_keys(const struct key_ring *ring)
{
    return atomic_load(&ring->now);
}

static bool same(const struct keys *a, const struct keys *b)
{
    return a->count == b->count && a->current == b->current &&
           sodium_memcmp(a->key, b->key, sizeof a->key) == 0;
}

static void read_anew(struct key_ring *ring)
{
    char error[512];
    struct keys *keys = key_files_read(ring->path, error, sizeof error);
    if (!keys) {
        log_event(LOG_WARN, "keys_not_read", "detail", error, NULL);
    } else if (same(keys, key_ring_keys(ring)) || ring->count == SETS_MOST) {
        keys_free(keys);
    } else {
        char id[KEY_ID_TEXT + 1];
        key_id_format(keys_current(keys)->id, id);
        log_event(LOG_INFO, "keys_read", "current", id, NULL);
        ring->sets[ring->count++] = keys;
        atomic_store(&ring->now, keys);
    }
}

void key_ring_reload(struct key_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    read_anew(ring);
    pthread_mutex_unlock(&ring->lock);
}

bool key_ring_missed(struct key_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    int64_t now = timestamp_monotonic();
    bool due = now >= ring->missed_at + READ_EVERY;
    if (due) {
        ring->missed_at = now;
        read_anew(ring);
    }
    pthread_mutex_unlock(&ring->lock);
    return due;
}
