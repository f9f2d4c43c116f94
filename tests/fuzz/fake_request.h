// What the targets for whole requests share: a request without a connection, whose reply is caught.
#pragma once

#include "fuzz.h"

#include "handlers/context.h"
#include "http/internal.h"

// A request with what stands around it. Zero-initialised, then set up by fake_begin.
struct fake {
    struct counts counts;
    struct http_server server;
    struct http_client client;
    struct context context;
    struct type_hint hints[TYPE_HINTS];
    uint64_t loses[LOSS_HINTS];
    struct request request;
    int replies;
};

static inline void fake_replied(struct request *request)
{
    struct fake *fake = request->interceptor;
    fake->replies++;
}

static inline struct request *fake_begin(struct fake *fake)
{
    struct request *request = &fake->request;
    fake->server = (struct http_server){.draining = true, .id_prefix = "fuzzfuzz"};
    fake->server.options.body_memory = 64 << 20;
    fake->server.options.value_limit = VALUE_LIMIT;
    fake->server.options.counts = &fake->counts;
    fake->client = (struct http_client){.request = request};
    fake->context = (struct context){
        .server = &fake->server,
        .counts = &fake->counts,
        .type_hints = fake->hints,
        .loses = fake->loses,
        .declares = true,
        .console = true,
        .max_lease_ttl = INT64_C(86400000000),
    };
    fake->replies = 0;
    memset(request, 0, offsetof(struct request, reply_headers));
    arena_begin(&request->arena, request->first_memory, sizeof request->first_memory);
    request->server = &fake->server;
    request->client = &fake->client;
    request->context = &fake->context;
    request->method = bytes_of("GET");
    request->intercept = fake_replied;
    request->interceptor = fake;
    return request;
}

static inline void fake_end(struct fake *fake)
{
    struct request *request = &fake->request;
    reply_discard(request);
    json_decref(request->json);
    if (request->caller)
        request->forget_caller(request->caller);
    arena_free(&request->arena);
}

// The value of a header of the reply, NULL when it has none.
static inline const char *fake_header(const struct fake *fake, const char *name)
{
    for (int i = 0; i < fake->request.reply_header_count; i++)
        if (strcmp(fake->request.reply_headers[i].name, name) == 0)
            return fake->request.reply_headers[i].value;
    return NULL;
}
