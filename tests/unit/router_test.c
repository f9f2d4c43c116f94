// Matching paths against templates before anything is decoded.
#include "unit.h"

#include "http/route.h"

static void no_handler(struct request *request)
{
    (void)request;
}

static const struct route table[] = {
    {"GET", "/v1/b/{bucket}/e/{key}", {0}, no_handler, BODY_NONE, 0, {0}},
    {"PUT", "/v1/b/{bucket}/e/{key}", {0}, no_handler, BODY_NONE, 0, {0}},
    {"DELETE", "/v1/b/{bucket}/e/{key}/expiry", {0}, no_handler, BODY_NONE, 0, {0}},
    {"GET", "/v1/b/{bucket}/e", {0}, no_handler, BODY_NONE, 0, {0}},
    {0},
};

static enum route_verdict match(const struct router *router, const char *method, const char *path,
                                const struct route **route, struct bytes *parameters, char *allow)
{
    return router_match(router, bytes_of(method), bytes_of(path), route, parameters, allow);
}

START_TEST(router_gives_raw_parameters)
{
    struct router *router = router_new(table);
    const struct route *route = NULL;
    struct bytes parameters[ROUTE_PARAMETERS];
    char allow[128];
    ck_assert_int_eq(match(router, "PUT", "/v1/b/a%2Fb/e/x+y", &route, parameters, allow), ROUTE_FOUND);
    ck_assert_ptr_eq(route, &table[1]);
    assert_bytes_eq(parameters[0], B("a%2Fb"));
    assert_bytes_eq(parameters[1], B("x+y"));
    router_free(router);
}
END_TEST

START_TEST(router_keeps_empty_segments_apart)
{
    struct router *router = router_new(table);
    const struct route *route = NULL;
    struct bytes parameters[ROUTE_PARAMETERS];
    char allow[128];
    ck_assert_int_eq(match(router, "GET", "/v1/b/x/e/", &route, parameters, allow), ROUTE_FOUND);
    ck_assert_uint_eq(parameters[1].size, 0);
    ck_assert_int_eq(match(router, "GET", "/v1/b/x/e", &route, parameters, allow), ROUTE_FOUND);
    ck_assert_ptr_eq(route, &table[3]);
    ck_assert_int_eq(match(router, "GET", "/v1/b/x/e/k/", &route, parameters, allow), ROUTE_UNKNOWN);
    ck_assert_int_eq(match(router, "GET", "//v1/b/x/e", &route, parameters, allow), ROUTE_UNKNOWN);
    router_free(router);
}
END_TEST

START_TEST(router_names_the_methods_of_a_path)
{
    struct router *router = router_new(table);
    const struct route *route = NULL;
    struct bytes parameters[ROUTE_PARAMETERS];
    char allow[128];
    ck_assert_int_eq(match(router, "POST", "/v1/b/x/e/k", &route, parameters, allow), ROUTE_OTHER_METHOD);
    ck_assert_str_eq(allow, "GET, HEAD, PUT");
    ck_assert_int_eq(match(router, "HEAD", "/v1/b/x/e/k", &route, parameters, allow), ROUTE_FOUND);
    ck_assert_ptr_eq(route, &table[0]);
    ck_assert_int_eq(match(router, "HEAD", "/v1/b/x/e/k/expiry", &route, parameters, allow),
                     ROUTE_OTHER_METHOD);
    ck_assert_str_eq(allow, "DELETE");
    ck_assert_int_eq(match(router, "get", "/v1/b/x/e/k", &route, parameters, allow), ROUTE_OTHER_METHOD);
    ck_assert_int_eq(match(router, "DELETE", "/v1/b/x/e/k%2Fexpiry", &route, parameters, allow),
                     ROUTE_OTHER_METHOD);
    router_free(router);
}
END_TEST

START_TEST(router_bears_hostile_paths)
{
    static const char *const paths[] = {
        "", "/", "v1", "*", "/v1/b", "/a/a/a/a/a/a/a/a/a/a/a/a/a/a", "////////////////"};
    struct router *router = router_new(table);
    const struct route *route = NULL;
    struct bytes parameters[ROUTE_PARAMETERS];
    char allow[128];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        ck_assert_int_eq(match(router, "GET", paths[i], &route, parameters, allow), ROUTE_UNKNOWN);
    router_free(router);
}
END_TEST

Suite *router_suite(void)
{
    const TTest *tests[] = {router_gives_raw_parameters, router_keeps_empty_segments_apart,
                            router_names_the_methods_of_a_path, router_bears_hostile_paths, NULL};
    return suite_of("router", tests);
}
