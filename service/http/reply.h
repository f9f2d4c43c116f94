// Answering a request: headers are gathered, then one call sends the reply, from the handler or from a
// continuation.
#pragma once

#include "base/buffer.h"
#include "http/request.h"

// Adds a header. Name and value must live as long as the request (literals, its arena).
void reply_header(struct request *request, const char *name, const char *value);

// The same with a value in quotes, `"v"`.
void reply_etag(struct request *request, int64_t version);

// Sends the reply; exactly one of these ends a request. `body` must live as long as the request.
void reply_send(struct request *request, int status, struct bytes body);

// Without a body: 201, 202, 204.
void reply_empty(struct request *request, int status);

// As for HEAD and 304: only headers, and the true length of the body that a GET would have.
void reply_without_body(struct request *request, int status, size_t length);

// A body whose memory somebody else owns: `held.release` is called with `held.owner` when it is sent or given
// up.
void reply_held(struct request *request, int status, struct bytes body, struct held_body held);

// For an interceptor (request.h): sends the reply it got, with the headers there are now.
void reply_release(struct request *request);

// For an interceptor: forgets the reply it got and its headers, as if the handler had not answered yet.
void reply_discard(struct request *request);

// A JSON document.
void reply_json(struct request *request, int status, struct bytes json);

// A JSON document in a buffer, whose memory passes to the reply; the buffer is empty afterwards.
void reply_json_buffer(struct request *request, int status, struct buffer *json);

void reply_problem(struct request *request, const struct problem *problem);

// The common problems in one line each; `format` makes the detail.
void reply_invalid(struct request *request, const char *parameter, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void reply_simple_problem(struct request *request, enum problem_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// A part of the request that is over its limit: the problem tells which, and the limit.
void reply_over_limit(struct request *request, enum problem_kind kind, const char *parameter, int64_t limit,
                      const char *detail);

// JSON in the body that nests more than `limit` arrays and objects.
void reply_too_deep(struct request *request, int limit);
