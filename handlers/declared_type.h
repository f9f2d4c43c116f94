// The type that the database names for a bucket: what values are checked for, and whether they are sealed.
#pragma once

#include "handlers/value_type.h"

enum { DECLARED_NAME_BYTES = 120 };

struct declared_type {
    char name[DECLARED_NAME_BYTES]; // as the database names it
    enum value_type type;           // of the values themselves
    bool encrypted;
    bool sealing;         // some entries of the encrypted bucket are not sealed yet, if the warrant is good
    struct bytes warrant; // in `name`
    int64_t most;         // bytes of a value; of an encrypted bucket only
};

// Reads `json`, or of an encrypted bucket `sealed:<most>:json`, or `sealing:<warrant>:<most>:json`. False
// when it is none of them.
bool declared_type_parse(struct bytes name, struct declared_type *declared);

// The name of the type of the values themselves in a name as above; empty for any and for what is none.
struct bytes declared_value_type(struct bytes name);
