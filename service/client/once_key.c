// 128 random bits.
#include "client/once_key.h"

#include <sodium.h>

void once_key(char key[ONCE_KEY_BYTES])
{
    unsigned char random[16];
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(key, ONCE_KEY_BYTES, random, sizeof random);
}
