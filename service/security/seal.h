// Sealing: bytes that open only with their key, unaltered, and where they were sealed for.
#pragma once

#include "security/keys.h"

enum {
    SEAL_NONCE_BYTES = 24,
    SEAL_TAG_BYTES = 16,
    SEAL_OVERHEAD = 1 + KEY_ID_BYTES + SEAL_NONCE_BYTES + SEAL_TAG_BYTES, // beside what is sealed
};

enum seal_purpose {
    SEAL_VALUE = 'v',
    SEAL_DESCRIBED_VALUE = 'd', // one with metadata beside it
    SEAL_METADATA = 'm',
    SEAL_ANSWER = 'a',
    SEAL_REPLY = 'r',
};

// What sealed bytes are bound to. A copy put at any other place does not open.
struct seal_place {
    enum seal_purpose purpose;
    struct bytes name;         // of the bucket
    struct bytes fork;         // that wrote them; empty: the main data
    struct bytes path;         // branch and key, as stored
    struct bytes content_type; // stored beside them unsealed
    int64_t version;           // never used twice
};

// Seals with the key into `out`, which has room for `plain.size + SEAL_OVERHEAD` bytes. False when the place
// is too long to be one.
bool seal(const struct key *key, const struct seal_place *place, struct bytes plain, uint8_t *out);

enum seal_verdict {
    SEAL_OPENED,
    SEAL_NO_KEY, // sealed with a key that is not among them
    SEAL_BROKEN, // altered, sealed elsewhere, or no sealed bytes at all
};

// Opens into `out`, which has room for `sealed.size` bytes; sealed.size - SEAL_OVERHEAD of them are what was
// sealed.
enum seal_verdict seal_open(const struct keys *keys, const struct seal_place *place, struct bytes sealed,
                            uint8_t *out);
