// Takes the elements out of a JSON array as they are written.
#pragma once

#include "base/json_scan.h"

struct json_array {
    struct json_scan scan;
    bool begun;
};

// Begins with `array`, a text that has passed json_check, without white space around it. False when it is no
// array.
bool json_array_begin(struct json_array *array, struct bytes text);

// The next element, a view without white space around it; false when there is none.
bool json_array_next(struct json_array *array, struct bytes *element);
