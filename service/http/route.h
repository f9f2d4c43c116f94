// The table that says which handler answers which method and path, and what such a request may carry.
#pragma once

#include "base/bytes.h"

enum { ROUTE_PARAMETERS = 4, ROUTE_SEGMENTS = 10, ROUTE_QUERY = 16 };

struct request;

enum body_policy {
    BODY_NONE,  // none is expected; one that comes is read and ignored
    BODY_VALUE, // any bytes, up to the largest value
    BODY_JSON,  // a JSON document, up to 16 MiB
};

enum route_flags {
    ROUTE_CONDITIONS = 1, // honours If-Match and If-None-Match; others answer 400 to them
    ROUTE_HEALTH = 2,     // answered also when connections run out or the service drains
    ROUTE_METADATA = 4,   // takes Holdfast-Meta-* headers
    ROUTE_READS = 8,      // changes nothing, though its method is one of those that do
    ROUTE_LINKS = 16,     // writes entries, which Holdfast-Session links to a session
};

// What a caller must be granted for the route; the words are of those who decide it (handlers/access.h). One
// that is left out lets nobody in.
struct route_rule {
    unsigned char need;
    unsigned char kind;
    unsigned char about;
};

struct route {
    const char *method;   // GET answers HEAD too
    const char *template; // `/v1/buckets/{bucket}/entries/{key}`: a segment in braces takes any one segment
    struct route_rule rule;
    void (*handle)(struct request *request);
    enum body_policy body;
    unsigned flags;
    // The query parameters it takes, ended by NULL; one that may be repeated begins with `*`.
    const char *query[ROUTE_QUERY];
};

// Whether a call of the route changes something, so that an Idempotency-Key has a meaning for it.
bool route_writes(const struct route *route);

struct router;

// Prepares the table for matching. `routes` must stay; ended by a row without method. Never fails.
struct router *router_new(const struct route *routes);
void router_free(struct router *router);

// The place of a route that it found in the table it was made of.
int router_place(const struct router *router, const struct route *route);

enum route_verdict { ROUTE_FOUND, ROUTE_UNKNOWN, ROUTE_OTHER_METHOD };

// Finds the route of a raw path (no query, not decoded) and the raw segments that stand for its parameters.
// With ROUTE_OTHER_METHOD `allow` (room for 128 bytes) lists the methods that the path has.
enum route_verdict router_match(const struct router *router, struct bytes method, struct bytes path,
                                const struct route **route, struct bytes *parameters, char *allow);
