// RFC 3339 times in UTC with microseconds, as microseconds since 1970.
#pragma once

#include "base/bytes.h"

enum { TIMESTAMP_SIZE = 32 };

// Writes `2026-01-31T23:59:59.123456Z`, always six digits, NUL-terminated. A time outside the
// years 0001 to 9999 is written as the nearest within.
void timestamp_format(int64_t us, char out[TIMESTAMP_SIZE]);

// Reads any RFC 3339 date-time (`T`/`t`, `Z`/`z` or a numeric offset, 0 to 9 fraction digits, rounded down to
// a microsecond). Days and months are checked against the calendar; second 60 is refused, and so are times
// outside the years 0001 to 9999 in UTC. False when malformed; `*us` is then untouched.
bool timestamp_parse(struct bytes text, int64_t *us);

// Now by this process's clock: for logs and request timing only, never for a decision about stored data.
int64_t timestamp_now(void);

// A clock that only goes forward, in microseconds; its zero means nothing.
int64_t timestamp_monotonic(void);
