// Which PostgreSQL of those installed on this machine serves the data.
#pragma once

#include "store/embedded/process.h"

#include <limits.h>

enum { OLDEST_POSTGRES = 14 };

struct programs {
    char folder[PATH_MAX]; // holds `postgres` and `initdb`
    int major;
};

// Looks where `pg_config --bindir` says, in PATH, then in /usr/lib/postgresql/*/bin from the newest. `major`
// is the version that wrote the data, which alone can serve it, or 0 for new data, which any from
// OLDEST_POSTGRES can. `account` runs what has to be run. False with a line when there is none.
bool programs_find(int major, const struct account *account, struct programs *programs,
                   struct refusal *refusal);
