// How a database can be reached: what its address says of servers, and what the server says to who knocks.
#pragma once

#include <stdbool.h>

// Whether the text can be the address of a database: a URI or key=value pairs that libpq reads, with hosts
// and ports that can be some. Its own words about a text that it does not read may quote a password.
bool reach_reads(const char *connection);

// Whether the libpq connection string names several servers, of which one at a time takes writes.
bool reach_is_choice(const char *connection);

enum reach {
    REACH_OPEN,    // there, and it takes writes
    REACH_PASSES,  // away, starting, full or read-only: later it may be open
    REACH_REFUSES, // there, and it does not let us in
};

// Connects to find out, and blocks meanwhile: at most some seconds for each server.
enum reach reach_try(const char *connection);
