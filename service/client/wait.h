// How long a request may wait at the service, and how long the client waits between attempts.
#pragma once

#include "client/connection.h"

// What one request may wait, in microseconds; who waits longer asks again.
#define WAIT_MOST INT64_C(300000000)

// Adds `Prefer: wait=…` for so many microseconds, rounded up to a second; nothing for 0.
void wait_header(struct connection *connection, int64_t wait);

// Sleeps before attempt `attempt` (from 1) of something that failed: longer each time, at most five seconds,
// and never the same for two who failed together.
void wait_before_retry(int attempt);
