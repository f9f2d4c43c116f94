// What a service that was killed may have left behind: a server that still runs, its backends, files that
// name them.
#pragma once

#include "store/embedded/folder.h"

enum server_state {
    SERVER_ABSENT, // no server has written its state yet
    SERVER_STARTING,
    SERVER_READY,
};

// What the server with process id `pid` says about itself in the cluster.
enum server_state leftovers_state(const struct folder *folder, pid_t pid);

// Waits until no process of an earlier server of this cluster is left, stopping those that run on (the lock
// of the folder says that their service is gone), and removes files that would keep a new server from
// starting. False with a line when a process does not end.
bool leftovers_clear(const struct folder *folder, struct refusal *refusal);
