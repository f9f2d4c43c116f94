// What an add makes of a value that only this side can read.
#pragma once

#include "base/buffer.h"
#include "handlers/entry_call.h"

// Adds the summand (an integer, NULL when it is none, and the same as a double) to the value of an entry in a
// bucket of this type, by the rules of holdfast.add_entries(); an absent one counts as 0. Puts the sum into
// `out` and gives WRITE_NEW, or WRITE_OTHER_TYPE or WRITE_OVERFLOW.
enum write_status sum_make(enum value_type type, bool live, struct bytes value, const struct value *integer,
                           const struct value *real, struct buffer *out);
