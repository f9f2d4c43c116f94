// Matching raw paths against templates, segment by segment, before anything is decoded.
#include "http/route.h"

#include <stdio.h>
#include <stdlib.h>

struct pattern {
    const struct route *route;
    struct bytes segments[ROUTE_SEGMENTS]; // data NULL stands for a parameter
    int count;
};

struct router {
    int count;
    struct pattern patterns[];
};

static int split(struct bytes path, struct bytes *segments)
{
    int count = 0;
    size_t start = 1;
    if (!path.size || path.data[0] != '/')
        return -1;
    for (size_t i = 1; i <= path.size; i++) {
        if (i < path.size && path.data[i] != '/')
            continue;
        if (count == ROUTE_SEGMENTS)
            return -1;
        segments[count++] = bytes_make(path.data + start, i - start);
        start = i + 1;
    }
    return count;
}

struct router *router_new(const struct route *routes)
{
    int count = 0;
    while (routes[count].method)
        count++;
    struct router *router = calloc(1, sizeof *router + sizeof(struct pattern) * (size_t)count);
    if (!router)
        abort();
    router->count = count;
    for (int i = 0; i < count; i++) {
        struct pattern *pattern = &router->patterns[i];
        pattern->route = &routes[i];
        pattern->count = split(bytes_of(routes[i].template), pattern->segments);
        for (int s = 0; s < pattern->count; s++)
            if (pattern->segments[s].size && pattern->segments[s].data[0] == '{')
                pattern->segments[s] = (struct bytes){0};
    }
    return router;
}

void router_free(struct router *router)
{
    free(router);
}

int router_place(const struct router *router, const struct route *route)
{
    return (int)(route - router->patterns[0].route);
}

static bool pattern_matches(const struct pattern *pattern, const struct bytes *segments, int count)
{
    if (pattern->count != count)
        return false;
    for (int i = 0; i < count; i++)
        if (pattern->segments[i].data && !bytes_equal(pattern->segments[i], segments[i]))
            return false;
    return true;
}

// HEAD is answered wherever GET is: the reply leaves its body out.
static bool answers(const struct route *route, struct bytes method)
{
    return bytes_is(method, route->method) || (bytes_is(method, "HEAD") && strcmp(route->method, "GET") == 0);
}

static void allow_add(char *allow, const char *method)
{
    size_t used = strlen(allow);
    snprintf(allow + used, 128 - used, "%s%s", used ? ", " : "", method);
}

enum route_verdict router_match(const struct router *router, struct bytes method, struct bytes path,
                                const struct route **route, struct bytes *parameters, char *allow)
{
    struct bytes segments[ROUTE_SEGMENTS];
    int count = split(path, segments);
    allow[0] = 0;
    for (int i = 0; count > 0 && i < router->count; i++) {
        const struct pattern *pattern = &router->patterns[i];
        if (!pattern_matches(pattern, segments, count))
            continue;
        if (!answers(pattern->route, method)) {
            allow_add(allow, pattern->route->method);
            if (strcmp(pattern->route->method, "GET") == 0)
                allow_add(allow, "HEAD");
            continue;
        }
        int parameter = 0;
        for (int s = 0; s < count && parameter < ROUTE_PARAMETERS; s++)
            if (!pattern->segments[s].data)
                parameters[parameter++] = segments[s];
        *route = pattern->route;
        return ROUTE_FOUND;
    }
    return allow[0] ? ROUTE_OTHER_METHOD : ROUTE_UNKNOWN;
}

bool route_writes(const struct route *route)
{
    struct bytes method = bytes_of(route->method);
    return !bytes_is(method, "GET") && !bytes_is(method, "HEAD") && !(route->flags & ROUTE_READS);
}
