// Percent decoding: what decodes is never longer, and written out again with every byte escaped it decodes
// the same.
#include "fuzz.h"

#include "base/buffer.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct bytes decoded;
    if (text_percent_decode(&arena, bytes_make(data, size), &decoded)) {
        must(decoded.size <= size);
        struct buffer escaped = {0};
        for (size_t i = 0; i < decoded.size; i++)
            buffer_printf(&escaped, i % 2 ? "%%%02X" : "%%%02x", decoded.data[i]);
        struct bytes again;
        must(text_percent_decode(&arena, buffer_view(&escaped), &again));
        must(bytes_equal(again, decoded));
        buffer_free(&escaped);
    } else {
        must(memchr(data, '%', size));
    }
    arena_free(&arena);
    return 0;
}
