// Walking through the pages of a list.
#pragma once

#include "base/json_array.h"
#include "client/connection.h"

struct page {
    struct json_array items; // for json_array_next; views into the reply
    const char *cursor;      // in the arena; NULL when nothing follows
};

// Takes a page apart, whose array is the member `name`. False when the reply is no such page.
bool page_read(const struct reply *reply, const char *name, struct arena *arena, struct page *page);
