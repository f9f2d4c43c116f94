// A write's preconditions in the form the SQL functions take.
#pragma once

#include "handlers/fence.h"

enum {
    CONDITION_EXISTS = 1,
    CONDITION_ABSENT = 2,
    CONDITION_IF_VERSION = 4,
    CONDITION_UNLESS_VERSION = 8,
};

struct precondition {
    struct value flags;       // smallint
    struct value if_versions; // text of a bigint[]
    struct value unless_versions;
    struct fence fence; // what must hold of a lease; precondition_read leaves it out
};

// From the request's If-Match and If-None-Match. A tag that is no version of ours matches nothing.
void precondition_read(struct request *request, struct precondition *precondition);

// Whether there is any.
static inline bool precondition_given(const struct precondition *precondition)
{
    return precondition->flags.number != 0;
}

// The version that an entity tag without quotes names; false when it names none.
bool version_parse(struct bytes tag, int64_t *version);
