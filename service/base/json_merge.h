// A JSON merge patch (RFC 7396) on text, so that whatever a patch does not name keeps every byte.
#pragma once

#include "base/buffer.h"

enum json_merge_verdict {
    JSON_MERGED,
    JSON_MERGE_INVALID_TARGET, // the target is not one JSON text
    JSON_MERGE_INVALID_PATCH,  // the patch is not one JSON text
    JSON_MERGE_DUPLICATE,      // an object anywhere in the target or the patch has two members of one name
    JSON_MERGE_TOO_DEEP,       // the target or the patch nests more than JSON_STORED_DEPTH arrays and objects
    JSON_MERGE_TOO_LARGE,      // the result has more than `most` bytes
};

// Adds `target` with `patch` applied to the end of `out`, at most `most` bytes; with any verdict but
// JSON_MERGED `out` is left as it was. Both texts are meant to have passed json_check, which knows the
// grammar and UTF-8; of texts that have not, some are found out and none does harm. A target whose data is
// NULL is absent and counts as no object, as the RFC has it for what is not there.
//
// Members keep the target's order; a replaced one stays where it was, new ones follow in the patch's order.
// Members that the patch does not name keep their text, numbers and escapes as they were written; so do
// values that come from the patch, but for the nulls in objects, which the RFC removes. White space between
// members may go. Names are the same when their decoded characters are ("a" and "\u0061"); an escaped half
// of a surrogate pair is a character like any other.
//
// Takes time in proportion to the two sizes, whatever the names are. Recursion ends at JSON_STORED_DEPTH.
enum json_merge_verdict json_merge_patch(struct bytes target, struct bytes patch, size_t most,
                                         struct buffer *out);
