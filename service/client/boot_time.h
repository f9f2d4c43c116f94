// The clock that terms are measured by: it goes on while the machine sleeps, and nobody sets it.
#pragma once

#include <stdint.h>
#include <time.h>

// Microseconds; its zero means nothing.
static inline int64_t boot_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
