// The HTTP side of one worker: accepts connections, reads requests, calls handlers, watches deadlines,
// drains.
#pragma once

#include "http/problem.h"
#include "http/route.h"
#include "loop/loop.h"
#include "observe/counts.h"

struct http_server;

// How a server speaks TLS.
struct http_tls {
    void (*identity)(void);                 // a gnutls_certificate_retrieve_function2
    const char *client_authorities;         // PEM; NULL when clients need no certificate
    bool (*client_is_known)(void *session); // whether the client of a gnutls_session_t showed a good one
};

struct http_options {
    int listener; // a listening socket of this worker's own; the server closes it
    const struct router *router;
    void *context;         // given to every request
    unsigned connections;  // at most, beyond which requests get 503 and then connections are closed at once
    int64_t idle_timeout;  // microseconds
    struct counts *counts; // what the server counts; outlives it
    int64_t slow; // microseconds beyond which a request gets a line of its own in the log; 0: none does
    int64_t header_timeout;
    int64_t body_timeout;       // plus a second for every 16 KiB received
    size_t value_limit;         // bytes of the largest value
    size_t body_memory;         // bytes of all bodies together, beyond which requests with one get 503
    unsigned wait_limit;        // requests that wait
    unsigned caller_wait_limit; // of one caller
    unsigned address_limit;     // connections from one address; 0 for no limit
    const char *cors_origins;   // whose pages may use the service: a list with commas, or *; NULL for none
    const struct http_tls *tls; // NULL for plain HTTP
    // Decides about each request without fault: calls request_admitted, now or later, or replies.
    void (*admit)(struct request *request);
    // The same at once, before a long body is read: may only refuse, with a problem that it gives.
    bool (*turns_away)(struct request *request, struct problem *problem);
    // Given each write that has an Idempotency-Key, instead of its route's handler.
    void (*handle_keyed)(struct request *request);
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

// Calls `look` for each request that is parked, which may evict and answer it.
void http_server_visit_parked(struct http_server *server, void (*look)(struct request *request, void *user),
                              void *user);

// Tells the counts how things stand: connections, waits, memory of bodies.
void http_server_observe(const struct http_server *server);

bool http_server_draining(const struct http_server *server);

// After `done`.
void http_server_free(struct http_server *server);
