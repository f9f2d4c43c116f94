// The operations that wait in a connection's lanes, and how they are given up.
#pragma once

#include "store/connection.h"

// Ends all of them as unavailable. `detail` as in struct outcome.
void waiting_drop(struct connection *connection, const char *detail);

// Those that were submitted before `oldest` (loop time), the others stay in their order.
void waiting_drop_older(struct connection *connection, int64_t oldest, const char *detail);
