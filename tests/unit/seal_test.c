// Sealing and keys: what opens, and everything that does not.
#include "unit.h"

#include "base/buffer.h"
#include "security/seal.h"

#include <sodium.h>

static struct keys *two_keys(void)
{
    ck_assert_int_ge(sodium_init(), 0);
    struct keys *keys = keys_new();
    key_random(&keys->key[0]);
    key_random(&keys->key[1]);
    keys->count = 2;
    keys->current = 1;
    return keys;
}

static struct seal_place place(void)
{
    return (struct seal_place){SEAL_VALUE,       bytes_of("bucket"), bytes_of(""),
                               bytes_of("path"), bytes_of("a/b"),    7};
}

START_TEST(sealed_bytes_open)
{
    struct keys *keys = two_keys();
    struct seal_place here = place();
    uint8_t sealed[SEAL_OVERHEAD + 5], again[SEAL_OVERHEAD + 5], opened[SEAL_OVERHEAD + 5];
    for (size_t size = 0; size <= 5; size++) {
        for (int k = 0; k < 2; k++) {
            ck_assert(seal(&keys->key[k], &here, bytes_make("hello", size), sealed));
            ck_assert(seal(&keys->key[k], &here, bytes_make("hello", size), again));
            ck_assert(memcmp(sealed, again, size + SEAL_OVERHEAD) != 0);
            ck_assert_int_eq(seal_open(keys, &here, bytes_make(sealed, size + SEAL_OVERHEAD), opened),
                             SEAL_OPENED);
            ck_assert(!size || memcmp(opened, "hello", size) == 0);
        }
    }
    keys_free(keys);
}
END_TEST

START_TEST(sealed_bytes_open_nowhere_else)
{
    struct keys *keys = two_keys();
    uint8_t sealed[SEAL_OVERHEAD + 5], opened[SEAL_OVERHEAD + 5];
    struct seal_place here = place(),
                      other[] = {place(), place(), place(), place(), place(), place(), place()};
    other[0].purpose = SEAL_METADATA;
    other[1].name = bytes_of("bucketp"); // its parts may not run into each other
    other[1].path = bytes_of("ath");
    other[2].fork = bytes_of("fork");
    other[3].path = bytes_of("pathx");
    other[4].content_type = bytes_of("a/c");
    other[5].version = 8;
    other[6].name = bytes_of("");
    ck_assert(seal(keys_current(keys), &here, bytes_of("hello"), sealed));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        ck_assert_int_eq(seal_open(keys, &other[i], bytes_make(sealed, sizeof sealed), opened), SEAL_BROKEN);
    char huge[9000] = {0};
    other[0].path = bytes_make(huge, sizeof huge);
    ck_assert(!seal(keys_current(keys), &other[0], bytes_of("hello"), opened));
    ck_assert_int_eq(seal_open(keys, &other[0], bytes_make(sealed, sizeof sealed), opened), SEAL_BROKEN);
    keys_free(keys);
}
END_TEST

START_TEST(altered_bytes_do_not_open)
{
    struct keys *keys = two_keys();
    struct seal_place here = place();
    uint8_t sealed[SEAL_OVERHEAD + 5], opened[SEAL_OVERHEAD + 5];
    ck_assert(seal(keys_current(keys), &here, bytes_of("hello"), sealed));
    for (size_t bit = 0; bit < 8 * sizeof sealed; bit++) {
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        bool in_id = bit / 8 >= 1 && bit / 8 < 1 + KEY_ID_BYTES;
        ck_assert_int_eq(seal_open(keys, &here, bytes_make(sealed, sizeof sealed), opened),
                         in_id ? SEAL_NO_KEY : SEAL_BROKEN);
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t size = 0; size < sizeof sealed; size++)
        ck_assert_int_eq(seal_open(keys, &here, bytes_make(sealed, size), opened), SEAL_BROKEN);
    keys->count = 1; // the current one is lost
    ck_assert_int_eq(seal_open(keys, &here, bytes_make(sealed, sizeof sealed), opened), SEAL_NO_KEY);
    keys_free(keys);
}
END_TEST

START_TEST(keys_come_back_from_text)
{
    struct keys *keys = two_keys();
    struct key read;
    char text[KEY_TEXT_BYTES], id[KEY_ID_TEXT + 1];
    key_format(&keys->key[0], text);
    ck_assert(key_parse(bytes_of(text), &read));
    ck_assert(memcmp(&read, &keys->key[0], sizeof read) == 0);
    ck_assert(key_parse(bytes_make(text, strlen(text) - 1), &read));
    key_id_format(read.id, id);
    ck_assert(strstr(text, id) != NULL);
    ck_assert_ptr_eq(keys_find(keys, keys->key[1].id), &keys->key[1]);
    for (size_t i = 0; i < strlen(text) - 1; i++) { // any damage is seen
        char was = text[i];
        text[i] = was == '0' ? '1' : '0';
        ck_assert(!key_parse(bytes_of(text), &read));
        ck_assert(sodium_is_zero((const uint8_t *)&read, sizeof read));
        text[i] = was;
    }
    ck_assert(!key_parse(bytes_of(""), &read));
    ck_assert(!key_parse(bytes_of("\n"), &read));
    keys_free(keys);
}
END_TEST

Suite *seal_suite(void)
{
    const TTest *const tests[] = {
        sealed_bytes_open,
        sealed_bytes_open_nowhere_else,
        altered_bytes_do_not_open,
        keys_come_back_from_text,
        NULL,
    };
    return suite_of("seal", tests);
}
