// What a request's operations tell about it, wherever they are: which request it is, and where its time went.
#pragma once

#include <stdint.h>

// Lives as long as the request's operations; written by the request's own thread alone.
struct account {
    const char *request_id;
    int64_t queued;   // microseconds that its operations waited for a connection, all together
    int64_t database; // and were with the database
    int64_t answered; // loop time of the database's last answer; 0 for none
};
