// The HTTP side of one worker: accepts connections, reads requests, calls handlers, watches deadlines,
// drains.
#pragma once

#include "http/route.h"
#include "loop/loop.h"

struct http_server;

struct http_options {
    int listener; // a listening socket of this worker's own; the server closes it
    const struct router *router;
    void *context;        // given to every request
    unsigned connections; // at most, beyond which requests get 503 and then connections are closed at once
    int64_t idle_timeout; // microseconds
    int64_t header_timeout;
    int64_t body_timeout; // plus a second for every 16 KiB received
    size_t value_limit;   // bytes of the largest value
    // Called after libmicrohttpd ran, before the loop waits: send what was gathered.
    void (*turn_end)(void *context);
};

// NULL when libmicrohttpd refuses.
struct http_server *http_server_new(struct loop *loop, const struct http_options *options);

// Begins to stop: `draining` is true from now on, replies close their connections; after `drain` microseconds
// nothing more is accepted and idle connections are closed; `grace` microseconds later at most, whatever is
// left is cut. `done` is called when no connection is left.
void http_server_drain(struct http_server *server, int64_t drain, int64_t grace, void (*done)(void *user),
                       void *user);

// Ends the waiting of a drain at once.
void http_server_hurry(struct http_server *server);

bool http_server_draining(const struct http_server *server);

// After `done`.
void http_server_free(struct http_server *server);
