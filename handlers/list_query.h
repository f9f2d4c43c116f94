// What all lists share in their query: `limit` and `cursor`.
#pragma once

#include "handlers/context.h"

enum { LIST_DEFAULT = 100, LIST_MOST = 1000 };

struct list_query {
    int64_t limit;
    bool resumed;
    struct bytes position; // from the cursor, when resumed
};

// Replies `invalid` and gives false when one is malformed or the cursor is not of this scope.
bool list_query_read(struct request *request, struct bytes scope, struct list_query *list);
