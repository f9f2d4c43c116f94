// Durations and rates as API.md writes them (`15m`, `100/s`, `5/10s`), in whole microseconds.
#pragma once

#include "base/bytes.h"

#define DURATION_MAX_US (INT64_C(3650) * 86400 * 1000000)

// `<integer><unit>`, unit ms s m h d; above 0 and at most 3650d. Leading zeros, signs, fractions, spaces are
// refused. False when malformed or out of range; `*us` is then untouched.
bool duration_parse(struct bytes text, int64_t *us);

// Writes `us` (above 0, whole milliseconds) with the largest unit that divides it, NUL-terminated: `1d`,
// `90s`, `1500ms`.
void duration_format(int64_t us, char out[24]);

// `<count>/<duration or bare unit>`: count 1 to 9223372036854775807, `100/s` is `100/1s`. False when
// malformed;
// `*count` and `*per_us` are then untouched.
bool rate_parse(struct bytes text, int64_t *count, int64_t *per_us);

// Writes the rate of `count` (above 0) in `per_us` (as duration_format takes it), NUL-terminated: `100/s`,
// `5/10s`.
void rate_format(int64_t count, int64_t per_us, char out[48]);
