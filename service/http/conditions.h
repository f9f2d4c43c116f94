// The preconditions of RFC 9110 section 13 that this service knows: If-Match and If-None-Match.
#pragma once

#include "base/arena.h"
#include "base/bytes.h"

struct condition {
    bool given;
    bool any;           // `*`
    struct bytes *tags; // opaque tags without quotes that may match under the header's comparison
    int count;
};

struct conditions {
    struct condition if_match;      // strong comparison: weak tags are left out, they never match
    struct condition if_none_match; // weak comparison: the mark of weakness is dropped
};

// Reads one header's value (several headers joined by commas) into `condition`; tags are views into `text`,
// their list is in the arena. False when it is neither `*` nor a list of entity tags.
bool condition_parse(struct arena *arena, struct bytes text, bool strong, struct condition *condition);

// Whether the opaque tag is in the list, or the list is `*`.
bool condition_matches(const struct condition *condition, struct bytes tag);
