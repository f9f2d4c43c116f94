// The types a bucket may have, and which bodies they accept.
#pragma once

#include "base/bytes.h"

enum value_type {
    TYPE_ANY,
    TYPE_JSON,
    TYPE_TEXT,
    TYPE_BYTES,
    TYPE_INT,
    TYPE_FLOAT,
    TYPE_BOOL,
    TYPE_NONE,
    TYPE_COUNT
};

const char *value_type_name(enum value_type type);

// False when no type has this name.
bool value_type_parse(struct bytes name, enum value_type *type);

// Whether the type accepts these bytes.
bool value_type_accepts(enum value_type type, struct bytes value);

// What the type wants, for a problem's detail.
const char *value_type_wants(enum value_type type);
