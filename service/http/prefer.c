// Prefer is read leniently, as its standard asks: what cannot be read is as if it were not there.
#include "http/prefer.h"

#include "base/text.h"

// Where the element or parameter that begins at `at` ends: at `,`, or also at `;`. What is in quotes does not
// count.
static size_t part_end(struct bytes text, size_t at, bool semicolons)
{
    bool quoted = false;
    for (; at < text.size; at++) {
        uint8_t c = text.data[at];
        if (quoted && c == '\\')
            at++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == ',' || (semicolons && c == ';')))
            return at;
    }
    return text.size;
}

static struct bytes slice(struct bytes text, size_t start, size_t end)
{
    return text_trim(bytes_make(text.data + start, end - start));
}

static struct bytes without_quotes(struct bytes value)
{
    if (value.size >= 2 && value.data[0] == '"' && value.data[value.size - 1] == '"')
        return bytes_make(value.data + 1, value.size - 2);
    return value;
}

bool prefer_find(struct bytes prefer, const char *name, struct bytes *value)
{
    for (size_t at = 0; at < prefer.size;) {
        size_t end = part_end(prefer, at, false);
        size_t name_end = part_end(prefer, at, true);
        const uint8_t *equals = memchr(prefer.data + at, '=', name_end - at);
        size_t split = equals ? (size_t)(equals - prefer.data) : name_end;
        if (text_equals_lower(slice(prefer, at, split), name)) {
            *value =
                split < name_end ? without_quotes(slice(prefer, split + 1, name_end)) : (struct bytes){0};
            return true;
        }
        at = end + 1;
    }
    return false;
}
