// A fresh Idempotency-Key, so that what is sent again is done once.
#pragma once

enum { ONCE_KEY_BYTES = 33 };

// Random hexadecimal digits, with a NUL.
void once_key(char key[ONCE_KEY_BYTES]);
