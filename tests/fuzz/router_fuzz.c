// Paths against the table of routes: the template that is found, with its parameters put in, is the path
// again.
#include "json_values.h"

#include "base/buffer.h"
#include "handlers/context.h"

static void check_found(const struct route *route, const struct bytes *parameters, struct bytes method,
                        struct bytes path)
{
    struct buffer again = {0};
    int parameter = 0;
    must(bytes_is(method, route->method) || (bytes_is(method, "HEAD") && strcmp(route->method, "GET") == 0));
    for (const char *at = route->template; *at;) {
        if (*at != '{') {
            buffer_add_char(&again, *at++);
            continue;
        }
        must(!parameters[parameter].size ||
             !memchr(parameters[parameter].data, '/', parameters[parameter].size));
        buffer_add_bytes(&again, parameters[parameter++]);
        at = strchr(at, '}') + 1;
    }
    must(bytes_equal(buffer_view(&again), path));
    buffer_free(&again);
}

// Each method that the path is said to have is one that it has.
static void check_allowed(const struct router *router, const char *allow, struct bytes path)
{
    must(strlen(allow) < 127);
    while (*allow) {
        size_t size = strcspn(allow, ",");
        struct bytes parameters[ROUTE_PARAMETERS];
        const struct route *route;
        char other[128];
        must(router_match(router, bytes_make(allow, size), path, &route, parameters, other) == ROUTE_FOUND);
        allow += size;
        allow += strspn(allow, ", ");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct router *router;
    struct bytes path = bytes_make(data, size), parameters[ROUTE_PARAMETERS] = {{0}};
    struct bytes method = take_text(&path);
    const struct route *route = NULL;
    char allow[128];
    if (!router)
        router = router_new(routes);
    switch (router_match(router, method, path, &route, parameters, allow)) {
    case ROUTE_FOUND:
        check_found(route, parameters, method, path);
        must(route == &routes[router_place(router, route)]);
        break;
    case ROUTE_OTHER_METHOD:
        must(*allow);
        check_allowed(router, allow, path);
        break;
    case ROUTE_UNKNOWN:
        must(!*allow);
        break;
    }
    return 0;
}
