// Replies as values: how one is kept in the database and given again.
#pragma once

#include "http/reply.h"
#include "store/store.h"

// Whether the request's reply is kept: it had an effect. 202 says that nothing is decided yet.
static inline bool kept_reply_wanted(const struct request *request)
{
    int status = request->reply.status;
    return !request->effectless && status >= 200 && status < 300 && status != 202;
}

// The headers that the handler set, in the request's arena.
struct bytes kept_reply_headers(struct request *request);

// Replies with what was kept; with Holdfast-Replayed when `replayed`. The body is in the request's arena.
void kept_reply_send(struct request *request, int status, struct bytes headers, struct bytes body,
                     bool replayed);

enum { ASK_SCOPE, ASK_KEY, ASK_COLUMNS };

enum asked_result { ASKED_ORDINAL, ASKED_KEPT };

// Whether replies are kept under keys, without taking the keys.
extern const struct statement are_replies_kept;
