// Compares JSON by what it says, for a compare-and-set that must not fail on a space or a member's place.
#pragma once

#include "base/bytes.h"

// Whether two JSON texts have the same value. Objects compare without regard to the order of their members
// (of two members of one name the last counts), arrays in order, strings by their decoded characters.
//
// Numbers compare by their value, exactly: 1, 1.0 and 10e-1 are equal, -0 equals 0, and 9007199254740993.0 is
// not 9007199254740992. Between numbers as RFC 8785 writes them, the shortest text of an IEEE 754 double,
// that is equality of doubles; numbers that no double can tell apart are different all the same, so that
// nothing is ever taken for what it is not. An exponent of more than 18 digits equals only itself, as it is
// written.
//
// Both texts are meant to have passed json_check; texts that are no JSON, or nest more than
// JSON_STORED_DEPTH arrays and objects, equal only themselves, byte for byte. Takes time in proportion to
// the two sizes. (The name json_equal is jansson's.)
bool json_text_equal(struct bytes a, struct bytes b);
