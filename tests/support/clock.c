// Polling with a limit.
#include "support/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

int64_t clock_ms(void)
{
    return clock_ns() / 1000000;
}

int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_real_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_parse_us(const char *text)
{
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S.", &tm);
    if (!rest || strlen(rest) != 7 || rest[6] != 'Z')
        return 0;
    return (int64_t)timegm(&tm) * 1000000 + strtol(rest, NULL, 10);
}

void clock_pause(int ms)
{
    struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

bool clock_wait(bool (*holds)(void *user), void *user, int limit_ms)
{
    int64_t until = clock_ms() + limit_ms;
    while (!holds(user)) {
        if (clock_ms() >= until)
            return false;
        clock_pause(10);
    }
    return true;
}
