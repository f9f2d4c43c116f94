// Base64 both ways: a text that decodes is the only one for its bytes, and any bytes come back.
#include "fuzz.h"

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct bytes input = bytes_make(data, size);
    struct bytes raw;
    if (text_base64_decode(&arena, input, &raw))
        must(bytes_equal(text_base64_encode(&arena, raw), input));
    struct bytes text = text_base64_encode(&arena, input);
    must(text_base64_decode(&arena, text, &raw) && bytes_equal(raw, input));
    arena_free(&arena);
    return 0;
}
