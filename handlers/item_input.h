// Reading the items of a JSON request that is about many entries: each an object that says where, and more.
// What is stored of it is taken as it is written.
#pragma once

#include "base/json_index.h"
#include "handlers/access.h"
#include "handlers/address.h"
#include "handlers/expiry.h"

enum { ITEMS_MOST = 1000 };

// Which item of a request is meant: problems name it by `in` and `index`.
struct item_place {
    const char *list; // the member that has it, "operations"
    size_t index;     // from 0
};

// An open item. Zero-initialised by item_open.
struct item_input {
    struct request *request;
    struct item_place place;
    struct json_index index;
};

// Splits the array `list` of the request's body, which text_request has accepted, into the texts of its
// elements, in the arena; an absent one has none. Replies and gives false when it is no array, or together
// with `others` there are more than ITEMS_MOST.
bool items_split(struct request *request, const char *list, size_t others, struct bytes **items,
                 size_t *count);

// Opens an item that must be an object with members among `names` (a NULL ends them). It is to be closed,
// whatever comes. This and all that follow reply `invalid` and give false when something is wrong.
bool item_open(struct item_input *item, struct request *request, struct item_place place, struct bytes text,
               const char *const *names);
void item_close(struct item_input *item);

// The text of a member as it is written; false, without a reply, when it is absent.
bool item_member(const struct item_input *item, const char *name, struct bytes *written);

// The entry that `bucket`, `key` or `key_base64`, and `under` mean; replies `forbidden` when the caller may
// not do the action to it.
bool item_address(struct item_input *item, enum grant_action action, struct address *address);

// A string. `given` false when it is absent or null.
bool item_string(struct item_input *item, const char *name, struct bytes *text, bool *given);

// true or false; false when absent.
bool item_flag(struct item_input *item, const char *name, bool *set);

// `ttl`, `expires_at` and `persist`, of which one may be given.
bool item_expiry(struct item_input *item, struct expiry *expiry);

// Bytes in base64, in the arena.
bool item_base64(struct item_input *item, const char *name, struct bytes *bytes);

// 400 about a member of the item. Always false.
bool item_invalid(const struct item_input *item, const char *member, const char *detail);

// Replies with a problem that names the item. `extra` (NULL for none) are further members.
void reply_item_problem(struct request *request, struct item_place place, struct problem problem);
void reply_item_kind_mismatch(struct request *request, struct item_place place, struct bytes name,
                              struct bytes actual_kind);
