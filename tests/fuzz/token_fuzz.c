// The header Authorization: what is taken for a token has the form of one, and anything else is turned down.
#include "fuzz.h"

#include "security/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct token_shown shown;
    if (!token_shown_read(bytes_make(data, size), &shown))
        return 0;
    must(size >= TOKEN_TEXT + sizeof "Bearer");
    must(strlen(shown.id) == TOKEN_ID);
    must(strspn(shown.id, "0123456789abcdef") == TOKEN_ID);
    must(memcmp(data + size - TOKEN_TEXT, "hf_", 3) == 0 || data[size - 1] <= ' ');
    token_shown_forget(&shown);
    return 0;
}
