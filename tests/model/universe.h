// The buckets, branches, keys and values that random operations are about: few enough to meet again and
// again, odd enough to find any layer that does not take names and values as plain bytes.
#pragma once

#include "base/bytes.h"
#include "support/random.h"

enum {
    UNIVERSE_BUCKETS = 7,
    UNIVERSE_ADDRESSES = 44,
    UNIVERSE_OWNERS = 3,
    UNIVERSE_URL = 8192, // room for the longest path and query that universe_url writes
};

// A bucket's name, and the configuration it gets whenever it is declared by name.
struct universe_bucket {
    const char *name;
    const char *type;
};

struct address {
    struct bytes owners[UNIVERSE_OWNERS]; // outermost first
    size_t owner_count;
    struct bytes key;
};

struct universe {
    struct address addresses[UNIVERSE_ADDRESSES];
    unsigned char *drawn; // the bytes of drawn keys
};

extern const struct universe_bucket universe_buckets[UNIVERSE_BUCKETS];

// The fixed addresses, the rest drawn; universe_free frees what it holds.
void universe_draw(struct universe *universe, struct random *random);
void universe_free(struct universe *universe);

// Writes path and query of an entry into `url`, spelled in one of the ways that mean the same (which bytes
// are percent-encoded, the case of hexadecimal digits, a space as + or %20 in the query). `query` is NULL or
// further parameters in front of the branch.
void universe_url(char url[UNIVERSE_URL], size_t bucket, const struct address *address, const char *query,
                  struct random *random);

// The path of a bucket.
void universe_bucket_url(char url[UNIVERSE_URL], size_t bucket);

// Draws a value. `for_type` is the type of a bucket: most values are of it, some are not; `*fits` says which.
// The bytes are malloc'ed, the caller's.
struct bytes universe_value(const char *for_type, bool *fits, struct random *random);

// A content type and a value of the header Holdfast-Meta-Note; NULL for none.
const char *universe_content_type(struct random *random);
const char *universe_note(struct random *random);
