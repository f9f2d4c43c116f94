// The folder of a private PostgreSQL: made, owned, locked, and reachable by the server under a name that fits
// a socket.
#pragma once

#include "store/embedded/process.h"

#include <limits.h>

#define FOLDER_CLUSTER "postgres"
#define FOLDER_SOCKET  "socket"

struct folder {
    char path[PATH_MAX]; // absolute, for messages and for this process
    char base[128]; // what the server and libpq call it, without characters that their settings would take
                    // apart
    int fd;         // open as long as the service runs
    int lock;
};

// Makes the folder when it is missing, hands it to the account (for root: the owner of a cluster that is
// already there becomes the account) and locks it for the life of this process. False with a line when it is
// in use by another service, when it holds something else, or when it cannot be used. On failure nothing
// stays open.
bool folder_open(struct folder *folder, const char *data, struct account *account, struct refusal *refusal);

// Gives the lock back.
void folder_close(struct folder *folder);

// Makes the socket's folder when it is missing, and sees that only the account enters it.
bool folder_make_socket(const struct folder *folder, const struct account *account, struct refusal *refusal);

// Opens the server's log for appending; a large one is put aside first as postgres.log.1. -1 with a line.
int folder_open_log(const struct folder *folder, const struct account *account, struct refusal *refusal);
