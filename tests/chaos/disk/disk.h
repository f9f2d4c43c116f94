// What the control file holds, between a test and the library that is loaded into its PostgreSQL.
#pragma once

#include <stdatomic.h>

#define DISK_CONTROL "HOLDFAST_DISK_CONTROL" // environment: its path

enum disk {
    DISK_GOOD,
    DISK_FULL,        // what makes a file longer fails with ENOSPC
    DISK_FSYNC_FAILS, // EIO
    DISK_NOT_WATCHED, // the library has not been loaded yet: it makes the word DISK_GOOD
};

struct disk_control {
    atomic_int disk;
    atomic_ulong failed; // calls that failed so
};
