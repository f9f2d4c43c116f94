// A network of the test's own that loses packets when it is told to, and nobody else's.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Moves this process, and what it starts, into a network of its own; to be called while it has one thread.
// False, after a line that says why, when that may not be done here: the process stays where it was, or
// nothing can be lost in the new one.
bool network_enter(void);

enum network_packets {
    NETWORK_TO_DATABASE, // and from there
    NETWORK_OF_CLIENTS,  // all others
};

// Loses so many percent of TCP's packets until network_mend. `ports`: those that the database is reached at.
void network_lose(enum network_packets which, unsigned percent, const uint16_t *ports, size_t count);

// Loses none any more. Gives how many were lost.
size_t network_mend(void);
