// Open addressing; a key that is written stands as its writer.
#include "store/item_keys.h"

static const struct item **find(struct item_keys *keys, const struct item *item)
{
    for (uint64_t i = item->key_hash;; i++) {
        const struct item **slot = &keys->slots[i % ITEM_KEY_SLOTS];
        if (!*slot || ((*slot)->key_hash == item->key_hash && bytes_equal((*slot)->key, item->key) &&
                       bytes_equal((*slot)->bucket, item->bucket)))
            return slot;
    }
}

static bool clashes(struct item_keys *keys, const struct operation *operation)
{
    for (unsigned i = 0; i < operation->item_count; i++) {
        const struct item *there = *find(keys, &operation->items[i]);
        if (there && (there->writes || operation->items[i].writes))
            return true;
    }
    return false;
}

bool item_keys_admit(struct item_keys *keys, struct operation *operation)
{
    for (unsigned i = 0; i < operation->item_count; i++) {
        struct item *item = &operation->items[i];
        item->key_hash = bytes_hash(item->key, bytes_hash(item->bucket, 0));
    }
    if (clashes(keys, operation))
        return false;
    for (unsigned i = 0; i < operation->item_count; i++) {
        const struct item **slot = find(keys, &operation->items[i]);
        if (!*slot || operation->items[i].writes)
            *slot = &operation->items[i];
    }
    return true;
}
