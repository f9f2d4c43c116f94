// Time for waiting on conditions: a test polls what it waits for, with a limit, and never sleeps a fixed
// time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Milliseconds of a clock that only moves forward.
int64_t clock_ms(void);

// Nanoseconds of the same clock.
int64_t clock_ns(void);

// Microseconds since 1970 by this machine's clock, and those that a time as the service writes it stands for;
// 0 when it is none.
int64_t clock_real_us(void);
int64_t clock_parse_us(const char *text);

// Lets `ms` milliseconds pass between two looks at a condition.
void clock_pause(int ms);

// Looks at `holds(user)` every 10 ms until it is true; false when `limit_ms` have passed and it never was.
bool clock_wait(bool (*holds)(void *user), void *user, int limit_ms);
