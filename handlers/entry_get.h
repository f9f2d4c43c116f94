// GET and HEAD of one entry: at once, after a change, or from a view that includes a position.
#pragma once

#include "handlers/entry_call.h"

void entry_get(struct request *request);

// What a read found, without the value.
struct found {
    enum get_status status;
    int64_t version;
    struct value expires_at; // microseconds since 1970
    size_t size;
};

// `call` is the read; one that renewed an idle term tells the renewed expiry.
struct found found_read(const struct get_call *call, const struct outcome *outcome);

// Whether it is live and one of the versions that the request names in If-None-Match.
bool found_unchanged(struct request *request, const struct found *found);

// Whether the reply has the value, or would for GET: live, and no condition says otherwise.
bool found_is_news(struct request *request, const struct found *found);

// The one version the client has already, when it names exactly one: its value need not be sent to us either.
struct value known_version(const struct request *request);

// Replies with what `call` found: 200, 304, 404, 409, 412, or 500 when it does not open. `outcome` is the
// read that found it, with the value where found_is_news; for 304 and 404 it may be NULL.
void reply_found(struct request *request, const struct get_call *call, const struct found *found,
                 const struct outcome *outcome);

enum { PREFERRED_WAIT_MOST = 300 }; // seconds

// The seconds of `Prefer: wait`, cut at the most; -1 when the client names none that can be read.
int preferred_wait(const struct request *request);

// Adds `Preference-Applied: wait=N`.
void reply_wait_applied(struct request *request, int seconds);
