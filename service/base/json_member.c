// Looks at the members of one object in their order; there is no index, since one look is all.
#include "base/json_member.h"

#include "base/json_scan.h"

#include <string.h>

static bool is_named(struct bytes raw, struct bytes name)
{
    if (raw.size == 0 || !memchr(raw.data, '\\', raw.size))
        return bytes_equal(raw, name);
    struct arena arena = {0};
    bool same = bytes_equal(json_scan_decode(&arena, raw, NULL), name);
    arena_free(&arena);
    return same;
}

bool json_member(struct bytes object, const char *name, struct bytes *value)
{
    struct json_scan scan = json_scan_begin(object);
    struct bytes wanted = bytes_of(name);
    struct bytes found = {0};
    json_scan_space(&scan);
    if (!json_scan_accept(&scan, '{'))
        return false;
    struct bytes raw;
    while (json_scan_name(&scan, &raw)) {
        const uint8_t *start = scan.at;
        if (json_scan_value(&scan, JSON_MAX_DEPTH) != JSON_VALID)
            return false;
        if (is_named(raw, wanted))
            found = bytes_make(start, (size_t)(scan.at - start));
        json_scan_space(&scan);
        if (!json_scan_accept(&scan, ','))
            break;
    }
    if (found.data)
        *value = found;
    return found.data != NULL;
}

bool json_string_decode(struct arena *arena, struct bytes text, struct bytes *decoded)
{
    struct json_scan scan = json_scan_begin(text);
    if (!json_scan_accept(&scan, '"') || !json_scan_string(&scan) || !json_scan_at_end(&scan))
        return false;
    bool halves;
    *decoded = json_scan_decode(arena, bytes_make(text.data + 1, text.size - 2), &halves);
    return !halves;
}
