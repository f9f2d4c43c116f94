// Where on the service something lies: BUCKET/KEY of the command line as a path and query.
#pragma once

#include "base/buffer.h"
#include "client/connection.h"

struct arena;
struct arguments;

// The bytes of bucket, key and owners, views into the arguments or an arena.
struct place {
    struct bytes bucket;
    struct bytes key;
    struct bytes owners[64];
    int owner_count;
};

// Reads what stands alone at `number`: BUCKET/KEY, or KEY when --bucket is given. The first slash ends the
// bucket's name. False, with a line on standard error, when a part is missing.
bool place_read(const struct arguments *arguments, int number, struct arena *arena, struct place *place);

// Begins a connection and reads the place, as nearly every command does first. False when one of them failed:
// then nothing is left of the connection.
bool place_begin(struct connection *connection, const struct arguments *arguments, int number,
                 struct place *place);

// A path and query that grows, in memory of the buffer. target_text ends it with a NUL.
struct target {
    struct buffer text;
    bool asked; // has a query
};

// Begins anew with `path`, as it goes on the wire.
void target_begin(struct target *target, const char *path);
void target_segment(struct target *target, struct bytes name); // adds a slash and the name, percent-encoded
void target_query(struct target *target, const char *name, struct bytes value);
const char *target_text(struct target *target);

// /v1/KIND/BUCKET, then /WHAT, the key and /CALL as far as they are given (NULL, or an empty key, when not),
// and the owners: /v1/buckets/b/entries/k/take?under=o.
void target_place(struct target *target, const char *kind, const struct place *place, const char *what,
                  const char *call);
