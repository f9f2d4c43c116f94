// Tables by name and by hash of a path; who is due is called from one list, so that a call may change
// anything.
#include "store/interests.h"

#include <sodium.h>
#include <stdlib.h>
#include <utlist.h>

// The first four bytes of the SHA-256, as in holdfast.notify_waiters().
static uint32_t told_hash(struct bytes text)
{
    uint8_t digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(digest, text.data, text.size);
    return (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 | digest[3];
}

// --- tables
// -----------------------------------------------------------------------------------------------------------

static struct waited_bucket *bucket_of(struct interests *all, struct bytes name)
{
    struct waited_bucket *bucket;
    HASH_FIND(hh, all->buckets, name.data, name.size, bucket);
    if (bucket)
        return bucket;
    bucket = calloc(1, sizeof *bucket + name.size);
    if (!bucket)
        abort();
    memcpy(bucket + 1, name.data, name.size);
    bucket->name = bytes_make(bucket + 1, name.size);
    bucket->hash = told_hash(name);
    HASH_ADD_KEYPTR(hh, all->buckets, bucket->name.data, bucket->name.size, bucket);
    return bucket;
}

static struct interest_slot *slot_of(struct interests *all, uint32_t bucket, const struct interest *interest)
{
    struct slot_key key = {bucket, told_hash(interest->path), (uint32_t)interest->topic};
    struct interest_slot *slot;
    HASH_FIND(hh, all->slots, &key, sizeof key, slot);
    if (slot)
        return slot;
    slot = calloc(1, sizeof *slot);
    if (!slot)
        abort();
    slot->key = key;
    HASH_ADD(hh, all->slots, key, sizeof slot->key, slot);
    return slot;
}

void interests_add(struct interests *all, struct interest *interest)
{
    interest->in = bucket_of(all, interest->bucket);
    interest->slot = slot_of(all, interest->in->hash, interest);
    DL_APPEND2(interest->in->interests, interest, prev_in_bucket, next_in_bucket);
    DL_APPEND2(interest->slot->interests, interest, prev_in_slot, next_in_slot);
}

static void unmark(struct interests *all, struct interest *interest)
{
    if (interest->due)
        DL_DELETE2(all->due, interest, prev_due, next_due);
    interest->due = false;
}

struct waited_bucket *interests_remove(struct interests *all, struct interest *interest)
{
    struct interest_slot *slot = interest->slot;
    unmark(all, interest);
    DL_DELETE2(interest->in->interests, interest, prev_in_bucket, next_in_bucket);
    DL_DELETE2(slot->interests, interest, prev_in_slot, next_in_slot);
    if (!slot->interests) {
        HASH_DEL(all->slots, slot);
        free(slot);
    }
    return interest->in;
}

void interests_forget_bucket(struct interests *all, struct waited_bucket *bucket)
{
    HASH_DEL(all->buckets, bucket);
    free(bucket);
}

void interests_free(struct interests *all)
{
    struct waited_bucket *bucket, *next_bucket;
    HASH_ITER(hh, all->buckets, bucket, next_bucket)
    interests_forget_bucket(all, bucket);
    struct interest_slot *slot, *next_slot;
    HASH_ITER(hh, all->slots, slot, next_slot)
    {
        HASH_DEL(all->slots, slot);
        free(slot);
    }
}

// --- calling
// ----------------------------------------------------------------------------------------------------------

void interests_mark(struct interests *all, struct interest *interest)
{
    if (!interest->due)
        DL_APPEND2(all->due, interest, prev_due, next_due);
    interest->due = true;
}

void interests_mark_bucket(struct interests *all, struct waited_bucket *bucket)
{
    struct interest *interest;
    DL_FOREACH2(bucket->interests, interest, next_in_bucket)
    interests_mark(all, interest);
}

static bool read_hash(const char *text, uint32_t *hash)
{
    *hash = 0;
    for (int i = 0; i < 8; i++) {
        char c = text[i];
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint32_t)(c - 'a' + 10);
        else
            return false;
        *hash = *hash << 4 | digit;
    }
    return true;
}

static void mark_slot(struct interests *all, uint32_t bucket, char topic, uint32_t path)
{
    struct slot_key key = {bucket, path, (uint32_t)topic};
    struct interest_slot *slot;
    HASH_FIND(hh, all->slots, &key, sizeof key, slot);
    struct interest *interest;
    if (slot)
        DL_FOREACH2(slot->interests, interest, next_in_slot)
    interests_mark(all, interest);
}

// All of a bucket's, or all of one topic. Names that share a hash are woken together.
static void mark_all_paths(struct interests *all, uint32_t hash, char topic)
{
    struct waited_bucket *bucket, *next;
    struct interest *interest;
    HASH_ITER(hh, all->buckets, bucket, next)
    if (bucket->hash == hash)
        DL_FOREACH2(bucket->interests, interest, next_in_bucket)
    if (topic == '*' || interest->topic == (enum listen_topic)topic)
        interests_mark(all, interest);
}

void interests_mark_told(struct interests *all, const char *notification)
{
    uint32_t bucket, path;
    if (!read_hash(notification, &bucket) || notification[8] != ':' || !notification[9])
        return;
    char topic = notification[9];
    const char *paths = notification + 10;
    if (*paths == '*') {
        mark_all_paths(all, bucket, topic);
        return;
    }
    for (; read_hash(paths, &path); paths += 8)
        mark_slot(all, bucket, topic, path);
}

void interests_mark_path(struct interests *all, struct bytes bucket, struct bytes path,
                         enum listen_topic topic)
{
    struct waited_bucket *waited = NULL;
    if (all->buckets)
        HASH_FIND(hh, all->buckets, bucket.data, bucket.size, waited);
    if (waited && waited->interests)
        mark_slot(all, waited->hash, (char)topic, told_hash(path));
}

void interests_call_due(struct interests *all)
{
    while (all->due) {
        struct interest *interest = all->due;
        unmark(all, interest);
        bool first = !interest->told;
        interest->told = true;
        if (first) {
            interest->registered(interest);
        } else {
            count_add(&all->counts->wake_ups[counted_topic((char)interest->topic)], 1);
            interest->woken(interest);
        }
    }
}
