// Sets and increments members of a JSON object on text, so that the others keep every byte.
#pragma once

#include "base/buffer.h"

enum json_upsert_verdict {
    JSON_UPSERT_DONE,
    JSON_UPSERT_INVALID,    // `set` or `increment` is not one JSON object, or it nests too deep
    JSON_UPSERT_NOT_OBJECT, // the target is not one JSON object
    JSON_UPSERT_DUPLICATE,  // one of the three names a member twice, or `set` and `increment` name the same
    JSON_UPSERT_NOT_NUMBER, // `increment` names a member that is there and not a number
    JSON_UPSERT_BAD_INCREMENT, // a member of `increment` is not a number
    JSON_UPSERT_OVERFLOW,      // a sum is out of the range of its kind
    JSON_UPSERT_TOO_LARGE,     // the result has more than `most` bytes
};

// Adds the object `target`, with the members of `set` put in and those of `increment` added to, to the end of
// `out`, at most `most` bytes; with any verdict but JSON_UPSERT_DONE `out` is left as it was. All are texts
// of JSON objects that have passed json_check; `set` and `increment` may be absent (data NULL).
//
// Only members at the top are looked at: a member of `set` replaces the whole value, and its null is stored.
// A member that `increment` names and the target has not counts as 0. Two integers written without fraction
// and exponent are added exactly, and the sum and both of them must be within 64 bits; other numbers are
// added as doubles, and the sum, which must be finite, is written as RFC 8785 writes numbers: the shortest
// form that reads back as the same double.
//
// Members keep the target's order; new ones follow, first those of `set`, then those of `increment`. Takes
// time in proportion to the sizes.
enum json_upsert_verdict json_upsert_update(struct bytes target, struct bytes set, struct bytes increment,
                                            size_t most, struct buffer *out);
