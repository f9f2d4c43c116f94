// Notifications that anybody with the right to notify may send: they wake whom they name by topic and hash,
// and nobody else.
#include "fuzz.h"

#include "base/arena.h"
#include "observe/counts.h"
#include "store/interests.h"

#include <sodium.h>

enum { INTERESTS = 4 };

static void woken(struct interest *interest)
{
    interest->told = true;
}

static void hash_text(struct bytes text, char out[9])
{
    uint8_t digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(digest, text.data, text.size);
    sodium_bin2hex(out, 9, digest, 4);
}

// Whether the notification names it: eight digits of the bucket, a colon, the topic, then a star or digits of
// paths.
static bool is_named(const struct interest *interest, const char *notification)
{
    char bucket[9], path[9];
    hash_text(interest->bucket, bucket);
    hash_text(interest->path, path);
    if (strlen(notification) < 11 || strncmp(notification, bucket, 8) != 0 || notification[8] != ':')
        return false;
    char topic = notification[9];
    const char *paths = notification + 10;
    if (*paths == '*')
        return topic == '*' || topic == (char)interest->topic;
    for (; strspn(paths, "0123456789abcdef") >= 8; paths += 8)
        if (topic == (char)interest->topic && strncmp(paths, path, 8) == 0)
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct counts counts;
    struct arena arena = {0};
    struct interests all = {.counts = &counts};
    struct interest interests[INTERESTS] = {
        {.bucket = bytes_of("b"), .path = bytes_of("\1k"), .topic = LISTEN_ENTRIES},
        {.bucket = bytes_of("b"), .path = bytes_of("\1k"), .topic = LISTEN_LEASES},
        {.bucket = bytes_of("b"), .path = bytes_of("\1l"), .topic = LISTEN_ENTRIES},
        {.bucket = bytes_of("c"), .path = bytes_of("\1k"), .topic = LISTEN_ENTRIES},
    };
    const char *notification = (const char *)arena_copy(&arena, bytes_make(data, size)).data;
    for (int i = 0; i < INTERESTS; i++) {
        interests[i].registered = interests[i].woken = woken;
        interests_add(&all, &interests[i]);
    }
    interests_mark_told(&all, notification);
    for (int i = 0; i < INTERESTS; i++)
        must(interests[i].due == is_named(&interests[i], notification));
    interests_call_due(&all);
    must(!all.due);
    for (int i = 0; i < INTERESTS; i++)
        interests_remove(&all, &interests[i]);
    interests_free(&all);
    arena_free(&arena);
    return 0;
}
