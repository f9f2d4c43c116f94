// Walking through the members of a JSON object as they are written.
#pragma once

#include "base/json_scan.h"

struct members {
    struct json_scan scan;
    bool begun;
};

// Begins with the text of an object that has passed json_check, without white space around it. False when it
// is none.
bool members_begin(struct members *members, struct bytes object);

// The next member: its name as it stands between the quotes, and its value; false when there is none.
bool members_next(struct members *members, struct bytes *name, struct bytes *value);
