// The keys that values are sealed with: what one looks like as text, and a set of them in locked memory.
#pragma once

#include "base/bytes.h"

enum {
    KEY_ID_BYTES = 8,
    KEY_ID_TEXT = 2 * KEY_ID_BYTES, // in hexadecimal, without an end
    KEY_SECRET_BYTES = 32,
    KEYS_MOST = 64,
    KEY_TEXT_BYTES = 120, // room for a key as text, with its end
};

struct key {
    uint8_t id[KEY_ID_BYTES]; // made from the secret: a damaged key does not fit its id
    uint8_t secret[KEY_SECRET_BYTES];
};

// A set of keys, in memory that is locked, guarded, and left out of core files.
struct keys {
    int count;
    int current; // which of them seals; the others only open
    struct key key[KEYS_MOST];
};

// An empty set; ends the process when there is no memory. Free with keys_free.
struct keys *keys_new(void);

// Wipes and frees; NULL is nothing.
void keys_free(struct keys *keys);

// The key of the id (KEY_ID_BYTES bytes), NULL when it is not among them.
const struct key *keys_find(const struct keys *keys, const uint8_t *id);

static inline const struct key *keys_current(const struct keys *keys)
{
    return &keys->key[keys->current];
}

// Makes a new random key.
void key_random(struct key *key);

// Reads a key as key_format writes it, white space after it allowed. False when it is none or is damaged;
// `key` is wiped then.
bool key_parse(struct bytes text, struct key *key);

// Writes the key as a line of text into `text`; the caller wipes it.
void key_format(const struct key *key, char text[KEY_TEXT_BYTES]);

// Writes the id in hexadecimal with its end.
void key_id_format(const uint8_t *id, char text[KEY_ID_TEXT + 1]);
