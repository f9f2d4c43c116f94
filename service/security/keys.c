// A key's text is one line, `holdfast-key:1:<id>:<secret>`, so that whoever finds it knows what it is.
#include "security/keys.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

static const char opening[] = "holdfast-key:1:";

struct keys *keys_new(void)
{
    struct keys *keys = sodium_malloc(sizeof *keys);
    if (!keys)
        abort();
    sodium_memzero(keys, sizeof *keys);
    return keys;
}

void keys_free(struct keys *keys)
{
    sodium_free(keys);
}

const struct key *keys_find(const struct keys *keys, const uint8_t *id)
{
    for (int i = 0; i < keys->count; i++)
        if (memcmp(keys->key[i].id, id, KEY_ID_BYTES) == 0)
            return &keys->key[i];
    return NULL;
}

static void make_id(const uint8_t *secret, uint8_t *id)
{
    static const char purpose[] = "holdfast key id";
    uint8_t digest[crypto_generichash_BYTES];
    crypto_generichash(digest, sizeof digest, (const uint8_t *)purpose, sizeof purpose - 1, secret,
                       KEY_SECRET_BYTES);
    memcpy(id, digest, KEY_ID_BYTES);
    sodium_memzero(digest, sizeof digest);
}

void key_random(struct key *key)
{
    randombytes_buf(key->secret, sizeof key->secret);
    make_id(key->secret, key->id);
}

static bool read_hex(struct bytes text, uint8_t *out, size_t size)
{
    size_t read;
    const char *end;
    return text.size == 2 * size &&
           sodium_hex2bin(out, size, (const char *)text.data, text.size, NULL, &read, &end) == 0 &&
           read == size && end == (const char *)text.data + text.size;
}

bool key_parse(struct bytes text, struct key *key)
{
    const size_t opens = sizeof opening - 1;
    uint8_t id[KEY_ID_BYTES];
    while (text.size && strchr(" \t\r\n", text.data[text.size - 1]) && text.data[text.size - 1])
        text.size--;
    bool fits = text.size == opens + KEY_ID_TEXT + 1 + 2 * KEY_SECRET_BYTES &&
                memcmp(text.data, opening, opens) == 0 && text.data[opens + KEY_ID_TEXT] == ':' &&
                read_hex(bytes_make(text.data + opens, KEY_ID_TEXT), key->id, KEY_ID_BYTES) &&
                read_hex(bytes_make(text.data + opens + KEY_ID_TEXT + 1, 2 * KEY_SECRET_BYTES), key->secret,
                         KEY_SECRET_BYTES);
    if (fits) {
        make_id(key->secret, id);
        fits = memcmp(id, key->id, KEY_ID_BYTES) == 0;
    }
    if (!fits)
        sodium_memzero(key, sizeof *key);
    return fits;
}

void key_id_format(const uint8_t *id, char text[KEY_ID_TEXT + 1])
{
    sodium_bin2hex(text, KEY_ID_TEXT + 1, id, KEY_ID_BYTES);
}

void key_format(const struct key *key, char text[KEY_TEXT_BYTES])
{
    char id[KEY_ID_TEXT + 1];
    char secret[2 * KEY_SECRET_BYTES + 1];
    key_id_format(key->id, id);
    sodium_bin2hex(secret, sizeof secret, key->secret, sizeof key->secret);
    snprintf(text, KEY_TEXT_BYTES, "%s%s:%s\n", opening, id, secret);
    sodium_memzero(secret, sizeof secret);
}
