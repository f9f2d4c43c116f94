// The key's id, and a keyed hash of what is allowed.
#include "security/warrant.h"

#include <sodium.h>

enum { HASH_BYTES = 16 };

static void hash(const struct key *key, enum warrant warrant, struct bytes name, uint8_t out[HASH_BYTES])
{
    static const char use[] = "holdfast warrant";
    const uint8_t what = (uint8_t)warrant;
    crypto_generichash_state state;
    crypto_generichash_init(&state, key->secret, KEY_SECRET_BYTES, HASH_BYTES);
    crypto_generichash_update(&state, (const unsigned char *)use, sizeof use);
    crypto_generichash_update(&state, &what, 1);
    crypto_generichash_update(&state, name.data, name.size);
    crypto_generichash_final(&state, out, HASH_BYTES);
}

static void write_with(const struct key *key, enum warrant warrant, struct bytes name,
                       char text[WARRANT_TEXT + 1])
{
    uint8_t bytes[HASH_BYTES];
    hash(key, warrant, name, bytes);
    key_id_format(key->id, text);
    sodium_bin2hex(text + KEY_ID_TEXT, 2 * HASH_BYTES + 1, bytes, HASH_BYTES);
}

struct bytes warrant_give(struct arena *arena, const struct keys *keys, enum warrant warrant,
                          struct bytes name)
{
    char *text = arena_alloc(arena, WARRANT_TEXT + 1);
    write_with(keys_current(keys), warrant, name, text);
    return bytes_make(text, WARRANT_TEXT);
}

bool warrant_holds(const struct keys *keys, enum warrant warrant, struct bytes name, struct bytes text)
{
    char right[WARRANT_TEXT + 1];
    bool holds = false;
    if (text.size != WARRANT_TEXT)
        return false;
    for (int i = 0; i < keys->count; i++) {
        write_with(&keys->key[i], warrant, name, right);
        holds = holds || sodium_memcmp(right, text.data, WARRANT_TEXT) == 0;
    }
    sodium_memzero(right, sizeof right);
    return holds;
}
