// Says how the table of routes and the OpenAPI document differ: operations that only one of them has, and
// what else a route lacks; and which examples of problems are not as the service gives them.
#include "handlers/access.h"
#include "handlers/context.h"
#include "http/problem.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char openapi_json[];
extern const size_t openapi_json_size;

static const json_t *operation(const json_t *paths, const char *path, const char *method)
{
    char lower[16] = "";
    for (size_t i = 0; method[i] != '\0' && i < sizeof lower - 1; i++)
        lower[i] = (char)tolower((unsigned char)method[i]);
    return json_object_get(json_object_get(paths, path), lower);
}

static bool route_exists(const char *path, const char *method)
{
    for (const struct route *route = routes; route->method != NULL; route++) {
        if (strcmp(route->template, path) == 0 &&
            (strcasecmp(route->method, method) == 0 ||
             (strcmp(route->method, "GET") == 0 && strcasecmp("HEAD", method) == 0)))
            return true;
    }
    return false;
}

static int routes_not_documented(const json_t *paths)
{
    int missing = 0;
    for (const struct route *route = routes; route->method != NULL; route++) {
        if (operation(paths, route->template, route->method) == NULL) {
            printf("the document lacks %s %s\n", route->method, route->template);
            missing++;
        }
    }
    return missing;
}

// A path item has other members beside its operations.
static bool is_method(const char *name)
{
    static const char *const methods[] = {"get",     "put",  "post",  "delete",
                                          "options", "head", "patch", "trace"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(name, methods[i]) == 0)
            return true;
    }
    return false;
}

static int operations_not_routed(json_t *paths)
{
    int missing = 0;
    const char *path;
    json_t *item;
    json_object_foreach(paths, path, item)
    {
        const char *method;
        json_t *documented;
        json_object_foreach(item, method, documented)
        {
            if (is_method(method) && !route_exists(path, method)) {
                printf("no route for %s %s\n", method, path);
                missing++;
            }
        }
    }
    return missing;
}

// Whether the parameter, given as itself or as a reference, is the query parameter `name`; `repeated` says
// whether it may come more than once.
static bool is_query_parameter(const json_t *document, const json_t *parameter, const char *name,
                               bool *repeated)
{
    const char *reference = json_string_value(json_object_get(parameter, "$ref"));
    const char *const prefix = "#/components/parameters/";
    if (reference != NULL && strncmp(reference, prefix, strlen(prefix)) == 0) {
        const json_t *components = json_object_get(document, "components");
        parameter = json_object_get(json_object_get(components, "parameters"), reference + strlen(prefix));
    }
    const char *place = json_string_value(json_object_get(parameter, "in"));
    const char *its_name = json_string_value(json_object_get(parameter, "name"));
    if (place == NULL || its_name == NULL || strcmp(place, "query") != 0 || strcmp(its_name, name) != 0)
        return false;
    const char *type = json_string_value(json_object_get(json_object_get(parameter, "schema"), "type"));
    *repeated = type != NULL && strcmp(type, "array") == 0;
    return true;
}

static bool parameter_documented(const json_t *document, const struct route *route, const char *name,
                                 bool repeated)
{
    const json_t *paths = json_object_get(document, "paths");
    const json_t *owners[] = {json_object_get(paths, route->template),
                              operation(paths, route->template, route->method)};
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        const json_t *list = json_object_get(owners[i], "parameters");
        for (size_t j = 0; j < json_array_size(list); j++) {
            bool documented_as_repeated;
            if (is_query_parameter(document, json_array_get(list, j), name, &documented_as_repeated))
                return documented_as_repeated == repeated;
        }
    }
    return false;
}

static int parameters_not_documented(const json_t *document)
{
    const json_t *paths = json_object_get(document, "paths");
    int missing = 0;
    for (const struct route *route = routes; route->method != NULL; route++) {
        if (operation(paths, route->template, route->method) == NULL)
            continue; // was said already
        for (size_t i = 0; i < ROUTE_QUERY && route->query[i] != NULL; i++) {
            bool repeated = route->query[i][0] == '*';
            const char *name = route->query[i] + repeated;
            if (!parameter_documented(document, route, name, repeated)) {
                printf("%s %s: the document lacks, or describes otherwise, the query parameter %s\n",
                       route->method, route->template, name);
                missing++;
            }
        }
    }
    return missing;
}

// The problem that the service would give as `type`, NULL when there is none.
static json_t *problem_of_type(const char *type)
{
    for (int kind = PROBLEM_INVALID; kind <= PROBLEM_STALE; kind++) {
        struct buffer text = {0};
        problem_write(&text, &(struct problem){.kind = (enum problem_kind)kind});
        json_t *problem = json_loadb((const char *)text.data, text.size, 0, NULL);
        buffer_free(&text);
        if (strcmp(json_string_value(json_object_get(problem, "type")), type) == 0)
            return problem;
        json_decref(problem);
    }
    return NULL;
}

// Whether an example of a problem says what the service says of all of its kind.
static bool example_is_true(const json_t *example, const char *type)
{
    static const char *const members[] = {"title", "status", "kind"};
    json_t *problem = problem_of_type(type);
    bool good = problem != NULL;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        good = good && json_equal(json_object_get(example, members[i]), json_object_get(problem, members[i]));
    json_decref(problem);
    return good;
}

// Of everything within, at any depth.
static int examples_not_true(json_t *thing)
{
    int faults = 0;
    size_t index;
    const char *name;
    json_t *part;
    const char *type = json_string_value(json_object_get(thing, "type"));
    if (type != NULL && strncmp(type, "urn:holdfast:", 13) == 0 && !example_is_true(thing, type)) {
        printf("an example of %s has another title, status or kind than the service gives\n", type);
        faults++;
    }
    json_object_foreach(thing, name, part)
    {
        faults += examples_not_true(part);
    }
    json_array_foreach(thing, index, part)
    {
        faults += examples_not_true(part);
    }
    return faults;
}

// A route without a rule is nobody's.
static int routes_without_rule(void)
{
    int missing = 0;
    for (const struct route *route = routes; route->method != NULL; route++) {
        if (route->rule.need == NEED_NOBODY) {
            printf("%s %s has no rule that says who may\n", route->method, route->template);
            missing++;
        }
    }
    return missing;
}

int main(void)
{
    json_error_t error;
    json_t *document =
        json_loadb((const char *)openapi_json, openapi_json_size, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL) {
        printf("the document is no JSON: %s\n", error.text);
        return 1;
    }
    json_t *paths = json_object_get(document, "paths");
    int faults = routes_not_documented(paths) + operations_not_routed(paths) +
                 parameters_not_documented(document) + examples_not_true(document) + routes_without_rule();
    json_decref(document);
    return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
