// Cross-origin requests: which pages' scripts may use the service, as browsers ask it.
#pragma once

#include "http/request.h"

// Adds what tells a browser that the page may see the reply, when its origin is one of `origins` (a list with
// commas, or *; NULL for none). The texts belong to the request.
void cors_allow(struct request *request, const char *origins);

// Whether a page of another origin makes the request, one that is not let in: where no token is asked for,
// its browser would do as if it were the user.
bool cors_is_foreign(const struct request *request);

// Whether the request names the service as a host that anybody may have: a name with a dot, not below
// localhost. A page reaches a service on loopback by having such a name of its own lead there.
bool cors_names_public_host(const struct request *request);

// Whether the request asks beforehand for a call by such a page. It is answered without any other look at it:
// a browser sends no token with it.
bool cors_is_preflight(const struct request *request, const char *origins);

// Answers it: 204 with the methods (`allow`, a list) of the path, or 403 when the origin is none of
// `origins`.
void cors_reply_preflight(struct request *request, const char *origins, const char *allow);
