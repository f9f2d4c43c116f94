// Whether a text is one JSON value, or one number, and nothing else.
#include "base/json_text.h"

#include "base/json_number.h"
#include "base/json_scan.h"

#include <math.h>

enum json_verdict json_check(struct bytes text, unsigned depth)
{
    struct json_scan scan = json_scan_begin(text);
    enum json_verdict verdict = json_scan_value(&scan, depth);
    if (verdict != JSON_VALID)
        return verdict;
    json_scan_space(&scan);
    return json_scan_at_end(&scan) ? JSON_VALID : JSON_MALFORMED;
}

size_t json_count_values(struct bytes text)
{
    size_t count = 1;
    bool quoted = false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (quoted && byte == '\\')
            i++;
        else if (byte == '"')
            quoted = !quoted;
        else if (!quoted)
            count += byte == ',' || byte == '[' || byte == '{';
    }
    return count;
}

bool json_is_finite_number(struct bytes text)
{
    struct json_scan scan = json_scan_begin(text);
    return json_scan_number(&scan) && json_scan_at_end(&scan) && isfinite(json_number_as_double(text));
}
