// How a database can be reached: what its address says of servers, and what the server says to who knocks.
#pragma once

#include <stdbool.h>

// Whether the libpq connection string names several servers, of which one at a time takes writes.
bool reach_is_choice(const char *connection);

enum reach {
    REACH_OPEN,    // there, and it takes writes
    REACH_PASSES,  // away, starting, full or read-only: later it may be open
    REACH_REFUSES, // there, and it does not let us in
};

// Connects to find out, and blocks meanwhile: at most some seconds for each server.
enum reach reach_try(const char *connection);
