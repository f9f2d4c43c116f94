// Steps of the suites about encrypted buckets: keys in a folder, and looks at what the database holds.
#pragma once

#include "entry_steps.h"
#include "support/scratch.h"

#define SECRET "s3cret-plaintext-marker" // occurs in every value whose plain text is looked for

// The flags of a service with a folder of keys, made at the first call; ended by NULL.
const char *const *sealed_flags(void);

// The folder that sealed_flags names.
const char *sealed_folder(void);

// Makes a key with `holdfast key create` in the new file `path`; fails the test when that does not end well.
void make_key(const char *path);

// A declared encrypted bucket of the type.
const char *sealed_bucket(const char *type);

// Whether the text is anywhere in the tables of the database, in rows live or not.
bool database_contains(PGconn *connection, const char *text);

// Waits until no resealing is left to do.
void wait_until_resealed(PGconn *connection);
