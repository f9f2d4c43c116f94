// Sealed bytes and keys from hostile hands: nothing opens but what was sealed for this very place.
#include "fuzz.h"

#include "security/seal.h"

#include <sodium.h>
#include <stdlib.h>

static struct keys *one_key(void)
{
    static struct keys *keys;
    if (keys)
        return keys;
    must(sodium_init() >= 0);
    keys = keys_new();
    keys->count = 1;
    memset(keys->key[0].id, 'k', sizeof keys->key[0].id);
    memset(keys->key[0].secret, 's', sizeof keys->key[0].secret);
    return keys;
}

// The input's first byte says how much of it is the path, the rest is what somebody left in the row.
static void open_hostile(struct bytes input)
{
    if (!input.size)
        return;
    size_t path = input.data[0] < input.size - 1 ? input.data[0] : input.size - 1;
    struct seal_place place = {.purpose = SEAL_VALUE, .path = bytes_make(input.data + 1, path), .version = 1};
    struct bytes sealed = bytes_make(input.data + 1 + path, input.size - 1 - path);
    uint8_t *out = malloc(sealed.size + 1);
    must(out && seal_open(one_key(), &place, sealed, out) != SEAL_OPENED);
    free(out);
}

static void seal_and_open(struct bytes input)
{
    struct seal_place place = {.purpose = SEAL_VALUE, .path = input, .content_type = input, .version = 1};
    uint8_t *sealed = malloc(input.size + SEAL_OVERHEAD), *out = malloc(input.size + SEAL_OVERHEAD);
    must(sealed && out);
    if (seal(keys_current(one_key()), &place, input, sealed)) {
        must(seal_open(one_key(), &place, bytes_make(sealed, input.size + SEAL_OVERHEAD), out) ==
             SEAL_OPENED);
        must(bytes_equal(bytes_make(out, input.size), input));
        place.version = 2;
        must(seal_open(one_key(), &place, bytes_make(sealed, input.size + SEAL_OVERHEAD), out) ==
             SEAL_BROKEN);
    }
    free(sealed);
    free(out);
}

static void read_key(struct bytes input)
{
    struct key key, again;
    char text[KEY_TEXT_BYTES];
    if (!key_parse(input, &key))
        return;
    key_format(&key, text);
    must(key_parse(bytes_of(text), &again) && memcmp(&key, &again, sizeof key) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = bytes_make(data, size);
    open_hostile(input);
    seal_and_open(input);
    read_key(input);
    return 0;
}
