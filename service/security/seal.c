// XChaCha20-Poly1305: its nonce is long enough to be random, and the place is its associated data.
// Sealed bytes are a format number, the key's id, the nonce, and the ciphertext with its tag.
#include "security/seal.h"

#include <endian.h>
#include <sodium.h>

enum { FORMAT = 1, PLACE_BYTES = 8192 };

struct encoded {
    size_t size;
    uint8_t bytes[PLACE_BYTES];
};

static bool add(struct encoded *encoded, struct bytes part)
{
    uint32_t size = htobe32((uint32_t)part.size);
    if (part.size > PLACE_BYTES || sizeof size + part.size > PLACE_BYTES - encoded->size)
        return false;
    memcpy(encoded->bytes + encoded->size, &size, sizeof size);
    encoded->size += sizeof size;
    if (part.size)
        memcpy(encoded->bytes + encoded->size, part.data, part.size);
    encoded->size += part.size;
    return true;
}

// Every part with its size before it: no two places look alike.
static bool encode(const struct seal_place *place, struct encoded *encoded)
{
    uint64_t version = htobe64((uint64_t)place->version);
    encoded->size = 0;
    encoded->bytes[encoded->size++] = FORMAT;
    encoded->bytes[encoded->size++] = (uint8_t)place->purpose;
    return add(encoded, bytes_make(&version, sizeof version)) && add(encoded, place->name) &&
           add(encoded, place->fork) && add(encoded, place->content_type) && add(encoded, place->path);
}

bool seal(const struct key *key, const struct seal_place *place, struct bytes plain, uint8_t *out)
{
    struct encoded encoded;
    if (!encode(place, &encoded))
        return false;
    uint8_t *id = out + 1, *nonce = id + KEY_ID_BYTES, *ciphertext = nonce + SEAL_NONCE_BYTES;
    out[0] = FORMAT;
    memcpy(id, key->id, KEY_ID_BYTES);
    randombytes_buf(nonce, SEAL_NONCE_BYTES);
    crypto_aead_xchacha20poly1305_ietf_encrypt(ciphertext, NULL, plain.data, plain.size, encoded.bytes,
                                               encoded.size, NULL, nonce, key->secret);
    return true;
}

enum seal_verdict seal_open(const struct keys *keys, const struct seal_place *place, struct bytes sealed,
                            uint8_t *out)
{
    struct encoded encoded;
    if (sealed.size < SEAL_OVERHEAD || sealed.data[0] != FORMAT || !encode(place, &encoded))
        return SEAL_BROKEN;
    const uint8_t *id = sealed.data + 1, *nonce = id + KEY_ID_BYTES, *ciphertext = nonce + SEAL_NONCE_BYTES;
    const struct key *key = keys_find(keys, id);
    if (!key)
        return SEAL_NO_KEY;
    size_t size = sealed.size - (size_t)(ciphertext - sealed.data);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(out, NULL, NULL, ciphertext, size, encoded.bytes,
                                                   encoded.size, nonce, key->secret) != 0)
        return SEAL_BROKEN;
    return SEAL_OPENED;
}
