// What the word in the control file says, between a test and the library that is loaded into its PostgreSQL.
#pragma once

#define DISK_CONTROL "HOLDFAST_DISK_CONTROL" // environment: the file that holds the word

enum disk {
    DISK_GOOD,
    DISK_FULL,        // what makes a file longer fails with ENOSPC
    DISK_FSYNC_FAILS, // EIO
    DISK_NOT_WATCHED, // the library has not been loaded yet: it makes the word DISK_GOOD
};
