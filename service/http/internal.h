// What the files of this room share and nobody else sees: clients, the server's state, the steps of a
// request.
#pragma once

#include "base/timestamp.h"
#include "http/request.h"
#include "http/server.h"

#include <microhttpd.h>

enum {
    HTTP_POOL = 20 << 10, // a connection's memory for request and reply headers and pieces of the body
    HTTP_LINE_OVERHEAD = 64,
    HTTP_REPLY_ROOM = 3584, // metadata, content type and the headers of our own
    HTTP_SURPLUS = 64,      // connections beyond the limit that are let in to be told so
    HTTP_SPARES = 512,
};

// One connection. `since` is when it began to do what it is doing now.
struct http_client {
    struct http_client *next;
    struct http_client **link; // what points here
    struct request *request;   // under way, or NULL between requests
    int fd;
    int64_t since;
    bool served;  // it had an answer already: between requests it may be idle
    bool surplus; // beyond the limit of connections: only health is answered
    bool cut;     // its socket was shut down by a deadline
};

struct http_server {
    struct watch daemon_watch; // first: the watch is the server
    struct watch listen_watch;
    struct timer sweep;
    struct timer accept_again;
    struct loop *loop;
    struct http_options options;
    struct MHD_Daemon *daemon;
    struct http_client *clients;
    unsigned client_count;
    bool listening;
    bool again;         // something was resumed or closed: libmicrohttpd must run once more
    int replies;        // runs that replies queued from continuations still need: one to build, one to send
    unsigned lingering; // requests at work whose connections are not suspended
    bool draining;
    bool accepting_over;
    int64_t accept_until;
    int64_t grace;
    int64_t give_up_at;
    void (*done)(void *user);
    void *done_user;
    char id_prefix[9];
    uint64_t id_next;
    struct buffer log;
    int64_t log_turn; // the turn whose time log_time is
    char log_time[TIMESTAMP_SIZE];
    struct request *spare; // freed requests, to be used again
    unsigned spares;
};

// Reads the request line and headers of a new request into `request`. On a fault a refusal is set (and
// close_after where the framing cannot be trusted).
void request_open(struct request *request, const char *method, const char *url, const char *version);

// Takes a piece of the body. False when the connection must be closed without an answer.
bool request_take_body(struct request *request, const char *data, size_t size);

// Whether to answer before the body: the refusal is known and the client waits for our word, or the rest is
// too long to be read away.
bool request_refuse_now(const struct request *request);

void request_refuse(struct request *request, const struct problem *problem);

// Puts the connection of a request whose reply was queued or given up back to work.
void request_resume(struct request *request);

// Frees the request.
void request_free(struct request *request);
