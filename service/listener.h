// Listening sockets: one a worker, all on one port.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Opens `count` listening sockets (SO_REUSEPORT) on ADDRESS:PORT or [ADDRESS]:PORT; port 0 picks a free one.
// `address` gets the form for a URL (room for 80 bytes), `loopback` whether only this machine can reach it.
// False with one line in `error`.
bool listeners_open(const char *listen, int count, int *sockets, char *address, bool *loopback, char *error,
                    size_t error_size);
