// Listening sockets: one a worker, all on one port.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { LISTEN_HOST_BYTES = 256, LISTEN_PORT_BYTES = 6 };

// An address to listen on in its parts, texts with their NUL.
struct listen_address {
    char host[LISTEN_HOST_BYTES]; // without brackets
    char port[LISTEN_PORT_BYTES]; // 0 to 65535, without leading zeros
};

// Takes ADDRESS:PORT or [ADDRESS]:PORT apart; false when it is neither. Whether the address exists is not
// looked at.
bool listen_address_read(const char *listen, struct listen_address *address);

// Opens `count` listening sockets (SO_REUSEPORT) on ADDRESS:PORT or [ADDRESS]:PORT; port 0 picks a free one.
// `address` gets the form for a URL (room for 80 bytes), `loopback` whether only this machine can reach it.
// False with one line in `error`.
bool listeners_open(const char *listen, int count, int *sockets, char *address, bool *loopback, char *error,
                    size_t error_size);
