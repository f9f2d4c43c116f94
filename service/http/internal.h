// What the files of this room share and nobody else sees: clients, the server's state, the steps of a
// request.
#pragma once

#include "base/timestamp.h"
#include "http/request.h"
#include "http/server.h"

#include <microhttpd.h>

enum {
    HTTP_POOL = 20 << 10,    // a connection's memory for request and reply headers and pieces of the body
    HTTP_SECTION = 12 << 10, // a header section that always fits
    HTTP_LINE_OVERHEAD = 64,
    HTTP_REPLY_ROOM = 3584, // metadata, content type and the headers of our own
    HTTP_SURPLUS = 64,      // connections beyond the limit that are let in to be told so
    HTTP_CROWD = 16,        // the same beyond the limit of one address
    HTTP_SPARES = 512,
};

// A request's target as it came: its size, and how many query parameters it has.
struct http_target {
    size_t size;
    size_t arguments;
    bool spaced; // has a space
    bool cut;    // its query was taken away, since the library's memory would not hold it
};

// One connection. `since` is when it began to do what it is doing now.
struct http_client {
    struct http_client *next;
    struct http_client **link; // what points here
    struct request *request;   // under way, or NULL between requests
    int fd;
    int64_t since;
    struct http_target target; // of the request that is being received
    bool served;               // it had an answer already: between requests it may be idle
    uint64_t address;          // counted for the limit of one address
    bool crowded;              // beyond that limit: only health is answered
    bool surplus;              // beyond the limit of connections: only health is answered
    bool known;                // it showed the certificate that was asked for
    bool cut;                  // its socket was shut down by a deadline
    struct watch left;         // while its request is parked
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
    size_t look_from; // the place in `clients` from which the next sweep looks for those that are gone
    bool listening;
    bool again;         // something was resumed or closed: libmicrohttpd must run once more
    int replies;        // runs that replies queued from continuations still need: one to build, one to send
    unsigned waits;     // requests that wait for what others do
    size_t held;        // bytes of bodies, and of what was made of them, in memory
    unsigned lingering; // requests at work whose connections are not suspended
    bool draining;
    bool accepting_over;
    int64_t accept_until;
    int64_t grace;
    int64_t give_up_at;
    int64_t heard; // when the last request came
    int64_t quiet; // how long ago that must be before idle connections are cut
    void (*done)(void *user);
    void *done_user;
    char id_prefix[9];
    uint64_t id_next;
    uint64_t span_next; // begins at random
    struct buffer log;
    int64_t log_turn; // the turn whose time log_time is
    char log_time[TIMESTAMP_SIZE];
    struct request *departed; // replied to nobody, to be freed when this turn ends
    struct request *spare;    // freed requests, to be used again
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

// Takes so many bytes of the memory that the server has for bodies, until the request is freed. False when
// there is not as much left.
bool request_hold(struct request *request, size_t bytes);

// Logs and counts a request that is over.
void request_report(struct http_server *server, const struct request *request);

void request_refuse(struct request *request, const struct problem *problem);

// Watches the socket of a parked request whose connection libmicrohttpd has put aside.
void request_watch_client(struct request *request);

// Puts the connection of a request whose reply was queued or given up back to work.
void request_resume(struct request *request);

// Frees the request when the turn ends: until then the handler that replied may still look at it.
void request_depart(struct request *request);

// Frees the request.
void request_free(struct request *request);
