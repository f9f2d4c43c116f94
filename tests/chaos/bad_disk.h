// A disk of a test's PostgreSQL that gets full, or no longer keeps what it was given, and recovers.
#pragma once

#include "chaos/disk/disk.h"
#include "support/postgres.h"

struct bad_disk;

// Made before the server that is to have it (bad_disk_environment); good at first.
struct bad_disk *bad_disk_new(void);
void bad_disk_free(struct bad_disk *disk);

// What the server must be started with (struct postgres_options).
const char *const *bad_disk_environment(const struct bad_disk *disk);

// The test fails when the server does not have the disk.
void bad_disk_turn(struct bad_disk *disk, enum disk to);

// How many calls of the server have failed so far.
unsigned long bad_disk_failures(const struct bad_disk *disk);
