// Which entry a request means: the bucket and key of its path, the branch of its query.
#pragma once

#include "handlers/context.h"

struct address {
    struct bytes bucket;
    struct bytes path; // branch and key, as stored
};

// Whether `name` may name a bucket: 1 to 128 bytes of UTF-8 without control characters. Replies `invalid`
// when not.
bool bucket_name_check(struct request *request, struct bytes name);

// Reads parameters 0 (bucket) and 1 (key) and the query's `under`. Replies `invalid` and gives false when one
// is wrong.
bool address_read(struct request *request, struct address *address);
