// Which keys the operations of one call have, so that none of them writes what another reads or writes.
#pragma once

#include "store/store.h"

enum { ITEM_KEY_SLOTS = 512 }; // twice the items that share a call, so that probes stay short

// Zero-initialised it is empty. For at most half as many items as slots.
struct item_keys {
    const struct item *slots[ITEM_KEY_SLOTS];
};

// Adds the keys of the operation's items, and gives true; or gives false, with nothing added, when one of
// them is there already and either side writes it.
bool item_keys_admit(struct item_keys *keys, struct operation *operation);
