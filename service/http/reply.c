// Building libmicrohttpd's response from what the handler gathered.
#include "http/reply.h"

#include "http/cors.h"
#include "http/internal.h"

#include <stdio.h>
#include <stdlib.h>

void reply_header(struct request *request, const char *name, const char *value)
{
    if (request->reply_header_count == REPLY_HEADERS)
        abort(); // metadata is bounded before it is stored
    request->reply_headers[request->reply_header_count++] = (struct reply_header){name, value};
}

void reply_etag(struct request *request, int64_t version)
{
    reply_header(request, "ETag", (const char *)arena_decimal(&request->arena, '"', version, '"').data);
}

static void add_trace(const struct trace *trace, struct MHD_Response *response)
{
    char traceparent[TRACEPARENT + 1];
    trace_write(trace, traceparent);
    MHD_add_response_header(response, "traceparent", traceparent);
}

static void add_headers(struct request *request, struct MHD_Response *response)
{
    if (request->server->options.cors_origins)
        cors_allow(request, request->server->options.cors_origins);
    MHD_add_response_header(response, "Holdfast-Request-Id", request->id);
    if (request->trace)
        add_trace(request->trace, response);
    for (int i = 0; i < request->reply_header_count; i++)
        MHD_add_response_header(response, request->reply_headers[i].name, request->reply_headers[i].value);
    if (request->close_after || request->server->draining || request->client->surplus ||
        request->client->crowded)
        MHD_add_response_header(response, "Connection", "close");
}

static void queue(struct request *request, int status, struct MHD_Response *response, size_t bytes)
{
    if (!response)
        abort();
    if (request->gone) { // and its connection with it
        MHD_destroy_response(response);
        request_depart(request);
        return;
    }
    add_headers(request, response);
    request->status = status;
    request->reply_bytes = bytes;
    request->phase = PHASE_REPLIED;
    request_unpark(request);
    MHD_queue_response(request->connection, (unsigned)status, response);
    MHD_destroy_response(response);
    if (request->suspended || request->lingering)
        request_resume(request);
}

static void release_held(void *user)
{
    struct held_body *held = user;
    held->release(held->owner);
    free(held);
}

static struct MHD_Response *response_of(const struct reply *reply)
{
    void *body = reply->body.size ? (void *)(uintptr_t)reply->body.data : (void *)(uintptr_t) "";
    if (!reply->held.release)
        return MHD_create_response_from_buffer(reply->body.size, body, MHD_RESPMEM_PERSISTENT);
    struct held_body *kept = malloc(sizeof *kept);
    if (!kept)
        abort();
    *kept = reply->held;
    return MHD_create_response_from_buffer_with_free_callback_cls(reply->body.size, body, release_held, kept);
}

static void answer(struct request *request, struct reply reply)
{
    if (request->intercept) {
        request->reply = reply;
        request->intercept(request);
        return;
    }
    queue(request, reply.status, response_of(&reply), reply.body.size);
}

void reply_release(struct request *request)
{
    struct reply reply = request->reply;
    request->reply = (struct reply){0};
    queue(request, reply.status, response_of(&reply), reply.body.size);
}

void reply_discard(struct request *request)
{
    if (request->reply.held.release)
        request->reply.held.release(request->reply.held.owner);
    request->reply = (struct reply){0};
    request->reply_header_count = 0;
}

void reply_send(struct request *request, int status, struct bytes body)
{
    if (bytes_is(request->method, "HEAD")) {
        reply_without_body(request, status, body.size);
        return;
    }
    answer(request, (struct reply){.status = status, .body = body});
}

void reply_empty(struct request *request, int status)
{
    answer(request, (struct reply){.status = status});
}

static ssize_t never_read(void *user, uint64_t position, char *out, size_t size)
{
    (void)user;
    (void)position;
    (void)out;
    (void)size;
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

// Only GET and HEAD are answered so, which nobody intercepts.
void reply_without_body(struct request *request, int status, size_t length)
{
    queue(request, status, MHD_create_response_from_callback(length, 1024, never_read, NULL, NULL), 0);
}

void reply_held(struct request *request, int status, struct bytes body, struct held_body held)
{
    answer(request, (struct reply){.status = status, .body = body, .held = held});
}

void reply_json(struct request *request, int status, struct bytes json)
{
    reply_header(request, "Content-Type", "application/json");
    reply_send(request, status, json);
}

void reply_json_buffer(struct request *request, int status, struct buffer *json)
{
    struct held_body held = {json->data, free};
    struct bytes body = buffer_view(json);
    *json = (struct buffer){0};
    reply_header(request, "Content-Type", "application/json");
    if (bytes_is(request->method, "HEAD")) {
        free(held.owner);
        reply_without_body(request, status, body.size);
        return;
    }
    reply_held(request, status, body, held);
}

void reply_problem(struct request *request, const struct problem *problem)
{
    struct buffer document = {0};
    problem_write(&document, problem);
    struct bytes body = arena_copy(&request->arena, buffer_view(&document));
    buffer_free(&document);
    reply_header(request, "Content-Type", "application/problem+json");
    if (problem->retry_after)
        reply_header(request, "Retry-After", arena_printf(&request->arena, "%d", problem->retry_after));
    if (problem->allow)
        reply_header(request, "Allow", problem->allow);
    if (problem->kind == PROBLEM_UNAUTHORIZED)
        reply_header(request, "WWW-Authenticate", "Bearer");
    reply_send(request, problem_status(problem->kind), body);
}

void reply_invalid(struct request *request, const char *parameter, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct problem problem = {.kind = PROBLEM_INVALID,
                              .detail = arena_vprintf(&request->arena, format, args)};
    va_end(args);
    if (parameter)
        problem.parameter = bytes_of(parameter);
    reply_problem(request, &problem);
}

void reply_simple_problem(struct request *request, enum problem_kind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct problem problem = {.kind = kind, .detail = arena_vprintf(&request->arena, format, args)};
    va_end(args);
    if (kind == PROBLEM_UNAVAILABLE || kind == PROBLEM_STALE || kind == PROBLEM_OUTCOME_UNKNOWN)
        problem.retry_after = 1;
    reply_problem(request, &problem);
}

void reply_over_limit(struct request *request, enum problem_kind kind, const char *parameter, int64_t limit,
                      const char *detail)
{
    struct problem problem = {
        .kind = kind, .detail = detail, .parameter = bytes_of(parameter), .limit = limit};
    reply_problem(request, &problem);
}

void reply_too_deep(struct request *request, int limit)
{
    reply_over_limit(request, PROBLEM_UNPROCESSABLE, "body", limit,
                     arena_printf(&request->arena, "the JSON is nested more than %d levels", limit));
}
