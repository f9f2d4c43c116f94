// One request as handlers see it: what the client asked, already checked and decoded, and the memory it may
// use.
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/log.h"
#include "http/conditions.h"
#include "http/problem.h"
#include "http/route.h"

#include <jansson.h>

struct http_server;
struct MHD_Connection;
struct http_client;

enum {
    REQUEST_METADATA_BYTES = 2048,
    REQUEST_JSON_BYTES = 16 << 20,
    REQUEST_JSON_DEPTH = 64,
    REPLY_HEADERS = 40,
    REQUEST_MEMORY = 3072, // what a request without a body needs
};

// The request headers that mean something here. A header that may come once is refused when it comes twice.
enum header {
    HEADER_AUTHORIZATION,
    HEADER_CONTENT_ENCODING,
    HEADER_CONTENT_LENGTH,
    HEADER_CONTENT_TYPE,
    HEADER_EXPECT,
    HEADER_HOST,
    HEADER_IDEMPOTENCY_KEY,
    HEADER_IF_MATCH, // lists: several are one
    HEADER_IF_NONE_MATCH,
    HEADER_PREFER,
    HEADER_SESSION,
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
    const char *id; // Holdfast-Request-Id
    int64_t started;

    // The server's own, from here on.
    struct request *next_spare;
    struct http_server *server;
    struct http_client *client;
    struct MHD_Connection *connection;
    enum request_phase phase;
    bool lingering; // works while libmicrohttpd still looks at its connection
    bool suspended; // works while libmicrohttpd has put its connection aside
    bool gone;      // the client left while it worked: the reply will only free it
    bool announced; // the body's length is known
    size_t body_limit;
    size_t body_capacity;
    size_t discarded;
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

// The body as a JSON object (at most 16 MiB, 64 levels, no member twice, NUL allowed in strings). On failure
// replies with the problem and gives NULL. The object belongs to the request. An empty body is an empty
// object when `empty_allowed`.
json_t *request_json(struct request *request, bool empty_allowed);

// Replies `invalid` and gives false when the object has a member that is not in `names` (ended by NULL).
bool request_json_members(struct request *request, json_t *object, const char *const *names);
