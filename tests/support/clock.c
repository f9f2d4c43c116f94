// Polling with a limit.
#include "support/clock.h"

#include <time.h>

int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
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
