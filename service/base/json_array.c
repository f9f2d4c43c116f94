// One pass over the array, one element a step.
#include "base/json_array.h"

bool json_array_begin(struct json_array *array, struct bytes text)
{
    *array = (struct json_array){.scan = json_scan_begin(text)};
    return json_scan_accept(&array->scan, '[');
}

bool json_array_next(struct json_array *array, struct bytes *element)
{
    struct json_scan *scan = &array->scan;
    json_scan_space(scan);
    if (array->begun && !json_scan_accept(scan, ','))
        return false;
    json_scan_space(scan);
    const uint8_t *start = scan->at;
    if (json_scan_value(scan, JSON_MAX_DEPTH) != JSON_VALID)
        return false;
    array->begun = true;
    *element = bytes_make(start, (size_t)(scan->at - start));
    return true;
}
