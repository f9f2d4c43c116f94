// Waiting.
#include "client/wait.h"

#include <sodium.h>
#include <stdio.h>
#include <time.h>

void wait_header(struct connection *connection, int64_t wait)
{
    char text[32];
    if (wait <= 0)
        return;
    int64_t most = wait < WAIT_MOST ? wait : WAIT_MOST;
    snprintf(text, sizeof text, "wait=%lld", (long long)((most + 999999) / 1000000));
    connection_header(connection, "Prefer", text);
}

void wait_before_retry(int attempt)
{
    int shift = attempt < 6 ? attempt : 6;
    uint32_t most = 100u << shift; // milliseconds
    uint32_t pause = most > 5000 ? 5000 : most;
    pause = pause / 2 + randombytes_uniform(pause / 2);
    struct timespec time = {.tv_sec = pause / 1000, .tv_nsec = (long)(pause % 1000) * 1000000};
    nanosleep(&time, NULL);
}
