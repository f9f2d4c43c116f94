// Members and strings taken out of any text: what jansson finds there.
#include "json_values.h"

#include "base/json_member.h"
#include "base/json_text.h"
#include "base/text.h"

static void check_member(struct bytes object, const char *name)
{
    struct bytes value;
    bool found = json_member(object, name, &value);
    if (found)
        must(value.data > object.data && value.data + value.size <= object.data + object.size &&
             json_check(value, JSON_MAX_DEPTH) == JSON_VALID);
    json_t *whole = understood(object, 0);
    if (whole) {
        json_t *expected = json_object_get(whole, name);
        json_t *got = found ? understood(value, 0) : NULL;
        must(found == (expected != NULL));
        must(!found || json_equal(got, expected));
        json_decref(got);
        json_decref(whole);
    }
}

static void check_string(struct bytes text)
{
    struct arena arena = {0};
    struct bytes decoded;
    if (json_string_decode(&arena, text, &decoded)) {
        must(json_check(text, 0) == JSON_VALID && text_is_utf8(decoded) && decoded.size <= text.size - 2);
        json_t *expected = understood(text, 0);
        must(expected &&
             bytes_equal(decoded, bytes_make(json_string_value(expected), json_string_length(expected))));
        json_decref(expected);
    } else {
        json_t *other = understood(text, 0);
        must(!json_is_string(other) || text.data[0] != '"' || text.data[text.size - 1] != '"');
        json_decref(other);
    }
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes object = bytes_make(data, size);
    struct bytes name = take_text(&object);
    struct arena arena = {0};
    if (text_is_utf8(name)) // jansson finds other names too
        check_member(object, (const char *)arena_copy(&arena, name).data);
    check_string(object);
    arena_free(&arena);
    return 0;
}
