// One pass, a member a step.
#include "client/members.h"

bool members_begin(struct members *members, struct bytes object)
{
    *members = (struct members){.scan = json_scan_begin(object)};
    return json_scan_accept(&members->scan, '{');
}

bool members_next(struct members *members, struct bytes *name, struct bytes *value)
{
    struct json_scan *scan = &members->scan;
    json_scan_space(scan);
    if (members->begun && !json_scan_accept(scan, ','))
        return false;
    if (!json_scan_name(scan, name))
        return false;
    const uint8_t *start = scan->at;
    if (json_scan_value(scan, JSON_MAX_DEPTH) != JSON_VALID)
        return false;
    members->begun = true;
    *value = bytes_make(start, (size_t)(scan->at - start));
    return true;
}
