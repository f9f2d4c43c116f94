// Steps that the suites about transactions share.
#pragma once

#include "entry_steps.h"

// Runs a transaction of `checks` and `operations`, each what stands between the brackets; NULL leaves the
// list out.
struct answer *transact(const char *checks, const char *operations);

// Member `member` of result `i` as a text; NULL when it is none.
const char *result_text(const struct answer *answer, size_t i, const char *member);

// A problem that names the item `index` of the list `in`.
#define ck_item_problem(reply_, expected, kind, in_, index_)                                                 \
    do {                                                                                                     \
        const struct answer *item_of_ = (reply_);                                                            \
        ck_problem(item_of_, expected, kind);                                                                \
        const char *in_of_ = answer_text(item_of_, "in");                                                    \
        ck_reply(item_of_, in_of_ &&strcmp(in_of_, in_) == 0);                                               \
        ck_reply(item_of_, json_integer_value(json_object_get(item_of_->json, "index")) == (index_));        \
    } while (0)

// `{"bucket":…,"key":…` of an item, without its end.
const char *item_at(const char *bucket, const char *key);
