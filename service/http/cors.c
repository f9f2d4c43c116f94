// Cross-origin requests: which pages' scripts may use the service, as browsers ask it.
#include "http/cors.h"

#include "http/internal.h"
#include "http/reply.h"

#include <ctype.h>

// The reply's own headers that scripts may read.
static const char exposed[] =
    "ETag, Location, Retry-After, Preference-Applied, RateLimit, RateLimit-Policy, WWW-Authenticate, "
    "Holdfast-Position, "
    "Holdfast-Version, Holdfast-Expires-At, Holdfast-Replayed, Holdfast-Once, Holdfast-Request-Id, "
    "traceparent";

static bool is_listed(struct bytes origin, const char *origins)
{
    for (const char *at = origins; *at;) {
        size_t size = strcspn(at, ",");
        if (bytes_equal(origin, bytes_make(at, size)))
            return true;
        at += size + (at[size] == ',');
    }
    return false;
}

// What Access-Control-Allow-Origin has for this request; NULL when its page is not let in.
static const char *allowed_origin(const struct request *request, const char *origins)
{
    struct bytes origin = request->headers[HEADER_ORIGIN];
    if (!origins || !origin.data)
        return NULL;
    if (!strcmp(origins, "*"))
        return "*";
    return is_listed(origin, origins) ? (const char *)origin.data : NULL;
}

void cors_allow(struct request *request, const char *origins)
{
    const char *origin = allowed_origin(request, origins);
    if (origins && strcmp(origins, "*") != 0)
        reply_header(request, "Vary", "Origin");
    if (!origin)
        return;
    reply_header(request, "Access-Control-Allow-Origin", origin);
    reply_header(request, "Access-Control-Expose-Headers", exposed);
}

bool cors_is_foreign(const struct request *request)
{
    struct bytes origin = request->headers[HEADER_ORIGIN], host = request->headers[HEADER_HOST];
    if (!origin.data || allowed_origin(request, request->server->options.cors_origins))
        return false;
    const uint8_t *slashes = origin.size > 2 ? memmem(origin.data, origin.size, "://", 3) : NULL;
    if (!slashes)
        return true;
    size_t skipped = (size_t)(slashes + 3 - origin.data);
    return !bytes_equal(bytes_make(origin.data + skipped, origin.size - skipped), host);
}

static bool ends_in(struct bytes text, const char *ending)
{
    size_t size = strlen(ending);
    return text.size >= size && memcmp(text.data + text.size - size, ending, size) == 0;
}

static struct bytes without_port(struct bytes host)
{
    const uint8_t *colon = host.size ? memrchr(host.data, ':', host.size) : NULL;
    return colon ? bytes_make(host.data, (size_t)(colon - host.data)) : host;
}

bool cors_names_public_host(const struct request *request)
{
    struct bytes host = without_port(request->headers[HEADER_HOST]);
    bool dotted = host.size && memchr(host.data, '.', host.size);
    if (!dotted || host.data[0] == '[' || ends_in(host, ".localhost"))
        return false;
    for (size_t i = 0; i < host.size; i++)
        if (host.data[i] != '.' && !isdigit(host.data[i]))
            return true;
    return false;
}

bool cors_is_preflight(const struct request *request, const char *origins)
{
    return origins && bytes_is(request->method, "OPTIONS") && request_has(request, HEADER_ORIGIN) &&
           request_has(request, HEADER_CORS_METHOD);
}

// Names of headers with commas between, and nothing else that a reply could be made to say.
static bool is_name_list(struct bytes names)
{
    for (size_t i = 0; i < names.size; i++)
        if (!isalnum(names.data[i]) && !memchr("-_, ", names.data[i], 4))
            return false;
    return names.size > 0;
}

void cors_reply_preflight(struct request *request, const char *origins, const char *allow)
{
    if (!allowed_origin(request, origins)) {
        reply_simple_problem(request, PROBLEM_FORBIDDEN, "pages of this origin may not use the service");
        return;
    }
    struct bytes names = request->headers[HEADER_CORS_HEADERS];
    reply_header(request, "Access-Control-Allow-Methods", allow);
    if (is_name_list(names))
        reply_header(request, "Access-Control-Allow-Headers", (const char *)names.data);
    reply_header(request, "Access-Control-Max-Age", "600");
    reply_empty(request, 204);
}
