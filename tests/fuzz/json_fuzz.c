// The JSON check against jansson, and that any bytes written as a JSON string are one.
#include "fuzz.h"

#include "base/buffer.h"
#include "base/json_text.h"
#include "base/text.h"

#include <jansson.h>

// Whether jansson's refusal may be for a reason that is not the grammar's: its range of numbers, its keys
// without NUL, its wish for whole surrogate pairs.
static bool is_stricter(struct bytes text, const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
           memmem(text.data, text.size, "\\u", 2) != NULL;
}

static void check_against_jansson(struct bytes text)
{
    if (memchr(text.data, 0, text.size)) {
        must(json_check(text, JSON_MAX_DEPTH) != JSON_VALID); // jansson takes a zero byte for the end
        return;
    }
    json_error_t error;
    enum json_verdict verdict = json_check(text, JSON_MAX_DEPTH);
    json_t *read = json_loadb((const char *)text.data, text.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (read)
        must(verdict == JSON_VALID || (verdict == JSON_TOO_DEEP && text.size > JSON_MAX_DEPTH));
    else if (!is_stricter(text, &error))
        must(verdict != JSON_VALID);
    if (verdict == JSON_VALID)
        must(text_is_utf8(text));
    json_decref(read);
}

static void check_number(struct bytes text)
{
    if (json_is_finite_number(text))
        must(json_check(text, 0) == JSON_VALID);
    int64_t n;
    if (text_int64(text, &n))
        must(json_is_finite_number(text));
}

static void check_string(struct bytes text)
{
    struct buffer out = {0};
    buffer_add_json(&out, text);
    must(json_check(buffer_view(&out), 0) == JSON_VALID);
    if (text_is_utf8(text)) {
        json_t *read = json_loadb((const char *)out.data, out.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        must(read && bytes_equal(bytes_make(json_string_value(read), json_string_length(read)), text));
        json_decref(read);
    }
    buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes text = bytes_make(data, size);
    if (size > 0)
        check_against_jansson(text);
    check_number(text);
    check_string(text);
    return 0;
}
