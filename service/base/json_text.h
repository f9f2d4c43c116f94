// Checks JSON text without turning it into anything else, so that stored JSON keeps every bit.
#pragma once

#include "base/bytes.h"

enum {
    JSON_MAX_DEPTH = 1024,
    JSON_STORED_DEPTH = 512, // of a value that is stored
};

enum json_verdict {
    JSON_VALID,
    JSON_MALFORMED, // not RFC 8259, or not UTF-8
    JSON_TOO_DEEP,  // arrays and objects nested more than `depth`
};

// Whether `text` is exactly one JSON text (RFC 8259, UTF-8, any type at the top, white space around it
// allowed) of at most `depth` (at most JSON_MAX_DEPTH) nested arrays and objects. Lone surrogates written as
// escapes are valid by the grammar. Duplicate members are valid. Runs in one pass, without recursion, without
// memory of its own.
enum json_verdict json_check(struct bytes text, unsigned depth);

// How many values and members valid JSON has, all levels together, or a few more: what a tree of it would
// cost.
size_t json_count_values(struct bytes text);

// Whether `text` is exactly one JSON number, with nothing around it, that a double holds as a finite value.
// One too small for a double is held as zero.
bool json_is_finite_number(struct bytes text);
