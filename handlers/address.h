// Which entry a request means: the bucket and key of its path, the branch of its query.
#pragma once

#include "handlers/context.h"

enum { ADDRESS_NAME_BYTES = 128 };

struct address {
    struct bytes bucket; // or the name of what is no bucket: one namespace holds them all
    struct bytes path;   // branch and key, as stored
    struct bytes fork;   // what it is read and written through; data NULL: the main data
};

// Whether `name` may name a bucket or what else shares their namespace: 1 to 128 bytes of UTF-8 without
// control characters.
bool bucket_name_valid(struct bytes name);

// The same; replies `invalid` for the parameter when not.
bool name_check(struct request *request, const char *parameter, struct bytes name);

// The same for the parameter `bucket`.
bool bucket_name_check(struct request *request, struct bytes name);

// Reads the query's `under` as the prefix that everything in the branch and below begins with; empty for
// none. Replies `invalid` and gives false when it is wrong.
bool branch_read(struct request *request, struct bytes *branch);

// Reads parameters 0 (bucket) and 1 (key) and the query's `under` and `fork`. Replies `invalid` and gives
// false when one is wrong.
bool address_read(struct request *request, struct address *address);

// The same where parameter 0 is called `name`.
bool address_read_named(struct request *request, struct address *address);
