// One request as handlers see it: what the client asked, already checked and decoded, and the memory it may
// use.
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/log.h"
#include "http/conditions.h"
#include "http/problem.h"
#include "http/route.h"
#include "http/trace.h"
#include "observe/account.h"

#include <jansson.h>

struct http_server;
struct MHD_Connection;
struct http_client;

enum {
    REQUEST_METADATA_BYTES = 2048,
    REQUEST_METADATA_COUNT = 16,
    REQUEST_CONTENT_TYPE_BYTES = 256,
    REQUEST_JSON_BYTES = 16 << 20,
    REQUEST_JSON_DEPTH = 64,
    REQUEST_JSON_VALUES = 200 * 1000, // values and members, all levels together
    REQUEST_ARGUMENTS = 128,          // query parameters
    REPLY_HEADERS = 40,
    REQUEST_KEY_BYTES = 255,
    REQUEST_SESSION_BYTES = 128, // of a stream, and of a session
    REQUEST_MEMORY = 3072,       // what a request without a body needs
};

// The request headers that mean something here. A header that may come once is refused when it comes twice.
enum header {
    HEADER_CORS_HEADERS,
    HEADER_CORS_METHOD,
    HEADER_AUTHORIZATION,
    HEADER_CONTENT_ENCODING,
    HEADER_CONTENT_LENGTH,
    HEADER_CONTENT_TYPE,
    HEADER_EXPECT,
    HEADER_HOST,
    HEADER_IDEMPOTENCY_KEY,
    HEADER_IF_MATCH, // lists: several are one
    HEADER_IF_NONE_MATCH,
    HEADER_ORIGIN,
    HEADER_PREFER,
    HEADER_SESSION,
    HEADER_TRACEPARENT,
    HEADER_TRANSFER_ENCODING,
    HEADER_REQUEST_ID,
    HEADER_COUNT,
};

struct argument {
    struct bytes name;
    struct bytes value;
};

struct reply_header {
    const char *name;
    const char *value;
};

// Memory of a body that somebody else owns.
struct held_body {
    void *owner;
    void (*release)(void *owner); // NULL: the body is the request's own
};

// What a handler answered; its headers are the request's.
struct reply {
    int status;
    struct bytes body;
    struct held_body held;
};

enum request_phase {
    PHASE_HEADERS, // the first call is to come
    PHASE_BODY,    // the body comes in
    PHASE_WORKING, // the handler has it, and its reply is to come
    PHASE_REPLIED,
};

struct request {
    struct arena arena;
    void *context; // what the server was given for its handlers
    const struct route *route;
    struct bytes method;
    struct bytes parameters[ROUTE_PARAMETERS]; // of the route's template, decoded, in order
    struct bytes headers[HEADER_COUNT];        // trimmed; data NULL when absent
    struct argument *arguments;                // of the query, decoded
    int argument_count;
    struct argument *metadata; // Holdfast-Meta-*: name after the prefix in lower case, value
    int metadata_count;
    struct conditions conditions;
    struct bytes body;
    bool keyed; // a write with a good Idempotency-Key
    bool
        effectless; // its reply, though good, tells that nothing was changed: another attempt may fare better
    bool linked;    // a write of entries with a good Holdfast-Session
    const char *id; // Holdfast-Request-Id
    int64_t started; // loop time of its headers …
    int64_t worked;  // … and of its whole body; 0 before
    struct account account;
    struct trace *trace; // NULL when it belongs to none that we know of
    void *caller;        // who asks, held by whoever decided that; NULL for nobody in particular
    void (*forget_caller)(void *caller);
    unsigned *caller_waits; // how many of the caller's requests wait here; NULL when nobody counts
    bool waits;             // counted as one that waits, until it is freed

    // When set, whoever set it gets the reply instead of the client: it lies in `reply`, to be sent with
    // reply_release or given up with reply_discard.
    void (*intercept)(struct request *request);
    void *interceptor;
    struct reply reply;

    // The server's own, from here on.
    struct request *next_spare;
    struct http_server *server;
    struct http_client *client;
    struct MHD_Connection *connection;
    enum request_phase phase;
    bool lingering;              // works while libmicrohttpd still looks at its connection
    bool suspended;              // works while libmicrohttpd has put its connection aside
    bool gone;                   // the client left while it worked: the reply will only free it
    bool watched;                // its socket is watched while it is parked
    void (*parked)(void *owner); // what to call when the client leaves; NULL when it is not parked
    void *parked_by;
    bool announced; // the body's length is known
    size_t body_limit;
    size_t body_capacity;
    size_t discarded;
    size_t held; // of the server's memory for bodies
    uint8_t *body_data;
    json_t *json;
    int refusal_status; // a problem decided before the body was read; 0 for none
    struct problem refusal;
    bool close_after;
    int reply_header_count;
    int status;
    size_t reply_bytes;
    struct reply_header reply_headers[REPLY_HEADERS];  // from here on nothing is cleared for a new request
    _Alignas(16) uint8_t first_memory[REQUEST_MEMORY]; // the arena begins here
};

// The value of a query parameter that may come once; `given` false when it is absent.
struct bytes request_argument(const struct request *request, const char *name, bool *given);

// All values of a repeatable query parameter, in order, into `values` (room for `room`). Gives how many there
// are, which may be more than `room`.
size_t request_arguments(const struct request *request, const char *name, struct bytes *values, size_t room);

// Whether the header came.
static inline bool request_has(const struct request *request, enum header header)
{
    return request->headers[header].data != NULL;
}

// Whether `name` may name a stream or a session: 1 to 128 visible ASCII characters without a slash.
bool session_name_valid(struct bytes name);

// The body as a JSON object (at most 16 MiB, 64 levels, no member twice, NUL allowed in strings). On failure
// replies with the problem and gives NULL. The object belongs to the request. An empty body is an empty
// object when `empty_allowed`.
json_t *request_json(struct request *request, bool empty_allowed);

// Replies `invalid` and gives false when the object has a member that is not in `names` (ended by NULL).
bool request_json_members(struct request *request, json_t *object, const char *const *names);

// To be called before a request begins to wait for what others do. Replies `unavailable` and gives false when
// as many wait already as the service, or this caller, may have.
bool request_begin_wait(struct request *request);

// Lets the request wait for something that may take long: its connection is put aside and its socket watched.
// When the client leaves meanwhile, `gone(owner)` is called, once, and the request is freed after it. Nothing
// that is under way, no operation of the store, may refer to the request while it is parked. False when the
// client has left already: the request is freed then, and `gone` will not be called.
bool request_park(struct request *request, void (*gone)(void *owner), void *owner);

// Ends that, before the request's work goes on; a reply does it by itself. Allowed when it is not parked.
void request_unpark(struct request *request);

// Ends the wait of a parked request as when its client had left, but for the reply, which the caller has to
// give.
void request_evict(struct request *request);

// Whether the client has left, or ended its side of the connection: asks the kernel, for those who would give
// a parked request something that cannot be given twice.
bool request_client_left(const struct request *request);

// Runs the handler of a request that may go on (http_options.admit); of one whose client left meanwhile
// nothing is done, and it is freed.
void request_admitted(struct request *request);
