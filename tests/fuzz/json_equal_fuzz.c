// Comparing JSON: the same from both sides, and never equal where a slow comparison of jansson's values,
// which knows doubles only, sees a difference.
#include "json_values.h"

#include "../support/json_oracle.h"
#include "base/json_equal.h"
#include "base/json_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes b = bytes_make(data, size);
    struct bytes a = take_text(&b);
    bool equal = json_text_equal(a, b);
    must(json_text_equal(b, a) == equal);
    must(json_text_equal(a, a) && json_text_equal(b, b));
    if (equal && !bytes_equal(a, b)) {
        must(json_check(a, JSON_STORED_DEPTH) == JSON_VALID);
        must(json_check(b, JSON_STORED_DEPTH) == JSON_VALID);
    }
    json_t *values[2] = {understood(a, 0), understood(b, 0)};
    bool comparable = values[0] && values[1] && json_check(a, JSON_STORED_DEPTH) == JSON_VALID &&
                      json_check(b, JSON_STORED_DEPTH) == JSON_VALID;
    if (comparable && equal)
        must(slowly_equal(values[0], values[1]));
    json_decref(values[0]);
    json_decref(values[1]);
    return 0;
}
