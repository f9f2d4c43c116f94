// Compares JSON by what it says, for a compare-and-set that must not fail on a space or a member's place.
#pragma once

#include "base/bytes.h"

// Whether two JSON texts have the same value. Objects compare without regard to the order of their members
// (of two members of one name the last counts), arrays in order, strings by their decoded characters.
//
// Numbers compare as RFC 8785 understands them, as IEEE 754 doubles: 1, 1.0 and 1e0 are equal, -0 equals 0.
// Two exceptions keep different numbers apart that a double cannot tell from each other: two integers written
// without fraction and exponent are equal only when their digits are (9007199254740993 is not
// 9007199254740992), and numbers too large for a double (1e400) are equal only when they are written alike.
//
// Both texts are meant to have passed json_check; texts that are no JSON, or nest more than
// JSON_STORED_DEPTH arrays and objects, equal only themselves, byte for byte. Takes time in proportion to
// the two sizes. (The name json_equal is jansson's.)
bool json_text_equal(struct bytes a, struct bytes b);
