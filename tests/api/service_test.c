// What is true of the whole service: paths and methods, health, the document, request ids, the access log.
#include "api.h"

#include "support/clock.h"
#include "support/raw.h"
#include "support/scratch.h"

#include <stdio.h>

START_TEST(unknown_path_is_404)
{
    static const char *const paths[] = {"/",       "/v1",         "/v2/buckets", "/v1/bucket", "/favicon.ico",
                                        "/livezz", "/v1/buckets/"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct answer *got = GET(paths[i]);
        ck_reply(got, got->status == 404 || got->status == 400);
        struct answer *posted = http(api.client, "POST", paths[i], BODY("x"));
        ck_reply(posted, posted->status == 404 || posted->status == 400 || posted->status == 405);
        ck_reply(posted, answer_header(got, "ETag") == NULL);
    }
    ck_problem(GET("/nowhere"), 404, "not_found");
}
END_TEST

static bool allows(const struct answer *answer, const char *method)
{
    const char *allow = answer_need(answer, "Allow");
    size_t size = strlen(method);
    for (const char *at = allow; (at = strstr(at, method)) != NULL; at += size)
        if ((at == allow || at[-1] == ' ' || at[-1] == ',') &&
            (at[size] == 0 || at[size] == ',' || at[size] == ' '))
            return true;
    return false;
}

START_TEST(metrics_are_told_only_when_asked_for)
{
    ck_problem(GET("/metrics"), 404, "not_found");
    ck_status(HEAD("/metrics"), 404);
}
END_TEST

START_TEST(other_method_is_405_with_allow)
{
    const struct {
        const char *path;
        const char *allowed;
        const char *refused;
    } rows[] = {
        {api_entry("b", "k"), "GET HEAD PUT DELETE", "POST OPTIONS TRACE PROPFIND get put Get"},
        {"/v1/buckets/b", "GET HEAD PUT DELETE", "POST PATCH"},
        {"/v1/buckets", "GET HEAD", "PUT DELETE POST"},
        {"/livez", "GET HEAD", "POST PUT DELETE"},
        {"/readyz", "GET HEAD", "POST PUT"},
        {"/openapi.json", "GET HEAD", "POST"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char methods[100], *rest = NULL;
        snprintf(methods, sizeof methods, "%s", rows[i].refused);
        for (char *method = strtok_r(methods, " ", &rest); method; method = strtok_r(NULL, " ", &rest)) {
            struct answer *answer = http(api.client, method, rows[i].path, NO_BODY);
            ck_status(answer, 405);
            char allowed[100], *more = NULL;
            snprintf(allowed, sizeof allowed, "%s", rows[i].allowed);
            for (char *one = strtok_r(allowed, " ", &more); one; one = strtok_r(NULL, " ", &more))
                ck_reply(answer, allows(answer, one));
            ck_reply(answer, !allows(answer, method));
        }
    }
}
END_TEST

// The same status and headers as GET, and the length of the body that it would have.
START_TEST(head_is_answered_wherever_get_is)
{
    const char *bucket = api_bucket();
    ck_status(PUT(api_entry(bucket, "k"), BODY("value")), 201);
    const char *const paths[] = {
        "/v1/buckets?prefix=test",
        TEXT("/v1/buckets/%s", bucket),
        TEXT("/v1/buckets/%s/entries", bucket),
        TEXT("/v1/buckets/%s/entries?limit=0", bucket),
        api_entry(bucket, "k"),
        api_entry(bucket, "absent"),
        "/v1/buckets/nowhere",
        "/livez",
        "/readyz",
        "/openapi.json",
        "/openapi.yaml",
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct answer *get = GET(paths[i]);
        struct answer *head = HEAD(paths[i]);
        ck_status(head, get->status);
        ck_header(head, "Content-Type", answer_need(get, "Content-Type"));
        ck_header(head, "Content-Length", TEXT("%zu", get->body.size));
        ck_header(head, "ETag", answer_header(get, "ETag"));
        ck_assert_uint_eq(head->body.size, 0);
    }
    ck_status(GET(paths[0]), 200); // the connection is still good
}
END_TEST

// answer_check looks at every error of every test; here are the kinds that can be had, once each and by name.
START_TEST(problem_has_every_member)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    ck_status(PUT(path, BODY("v")), 201);
    char *large = calloc(1, (8 << 20) + 1);
    const struct {
        struct answer *answer;
        int status;
        const char *kind;
    } rows[] = {
        {PUT(TEXT("%s?ttl=x", path), BODY("v")), 400, "invalid"},
        {GET("/nowhere"), 404, "not_found"},
        {GET(api_entry(bucket, "absent")), 404, "not_found"},
        {http(api.client, "POST", path, BODY("x")), 405, "method_not_allowed"},
        {PUT(path, BODY("v"), "If-Match: \"1\""), 412, "version_conflict"},
        {PUT(path, bytes_make(large, (8 << 20) + 1)), 413, "too_large"},
        {PUT(path, BODY("v"), "Content-Encoding: br"), 415, "unsupported_media"},
        {DECLARE(bucket, "{\"encrypted\":true}"), 501, "unsupported"},
    };
    free(large);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_problem(rows[i].answer, rows[i].status, rows[i].kind);
        ck_header(rows[i].answer, "Content-Type", "application/problem+json");
        ck_assert_pstr_eq(answer_text(rows[i].answer, "type"), TEXT("urn:holdfast:%s", rows[i].kind));
        ck_assert_int_eq(json_integer_value(json_object_get(rows[i].answer->json, "status")), rows[i].status);
        ck_reply(rows[i].answer,
                 answer_text(rows[i].answer, "title") && answer_text(rows[i].answer, "detail"));
    }
}
END_TEST

START_TEST(invalid_names_the_parameter)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_invalid(PUT(TEXT("%s?ttl=x", path), BODY("v")), "ttl");
    ck_invalid(PUT(TEXT("%s?expires_at=x", path), BODY("v")), "expires_at");
    ck_invalid(PUT(TEXT("%s?persist=x", path), BODY("v")), "persist");
    ck_invalid(PUT(path, BODY("v"), "If-Match: x"), "If-Match");
    ck_invalid(PUT("/v1/buckets/%01", BODY("{}")), "bucket");
    ck_invalid(PUT("/v1/buckets/b", BODY("{\"ttl\":1}")), "ttl");
    ck_invalid(GET("/v1/buckets?limit=x"), "limit");
    ck_invalid(GET("/v1/buckets?cursor=x"), "cursor");
    ck_invalid(GET("/v1/buckets?nonsense=1"), "nonsense");
}
END_TEST

// What the caller sent comes back in a problem as text, never as something else.
START_TEST(problems_quote_what_they_name)
{
    const char *names[] = {"%22", "%5C", "%22%2C%22status%22%3A200", "%C3%A9", "%3Cscript%3E", "%E2%80%A8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ck_problem(GET(TEXT("/v1/buckets/%s", names[i])), 404, "not_found");
        ck_problem(GET(TEXT("/v1/buckets?%s=1", names[i])), 400, "invalid");
        ck_problem(GET(api_entry(names[i], "k")), 404, "not_found");
    }
    ck_problem(GET("/v1/buckets?%01=1"), 400, "invalid");
    ck_problem(GET("/v1/buckets?%FF=1"), 400, "invalid");
}
END_TEST

START_TEST(health_answers)
{
    struct answer *live = GET("/livez");
    ck_status(live, 200);
    ck_header(live, "Content-Type", "application/json");
    ck_reply(live, json_is_object(live->json));
    struct answer *ready = GET("/readyz");
    ck_status(ready, 200);
    ck_reply(ready, json_is_object(ready->json));
    ck_status(HEAD("/livez"), 200);
    ck_status(HEAD("/readyz"), 200);
}
END_TEST

START_TEST(document_is_served)
{
    struct answer *document = GET("/openapi.json");
    ck_status(document, 200);
    ck_header(document, "Content-Type", "application/json");
    const char *version = answer_text(document, "openapi");
    ck_reply(document, version && strncmp(version, "3.1", 3) == 0);
    ck_reply(document,
             json_object_get(json_object_get(document->json, "paths"), "/v1/buckets/{bucket}/entries/{key}"));
    struct answer *yaml = GET("/openapi.yaml");
    ck_status(yaml, 200);
    ck_reply(yaml, yaml->body.size > 1000 && memcmp(yaml->body.data, "openapi:", 8) == 0);
    ck_reply(yaml, strstr(answer_need(yaml, "Content-Type"), "yaml"));
}
END_TEST

START_TEST(request_id)
{
    const char *first = answer_need(GET("/livez"), "Holdfast-Request-Id");
    const char *second = answer_need(GET("/livez"), "Holdfast-Request-Id");
    ck_assert_str_ne(first, second);
    static const char *const sane[] = {"a", "0123-abc_DEF.~", "550e8400-e29b-41d4-a716-446655440000",
                                       "x/y:z=+@!"};
    for (size_t i = 0; i < sizeof sane / sizeof sane[0]; i++) {
        ck_header(GET("/livez", TEXT("X-Request-Id: %s", sane[i])), "Holdfast-Request-Id", sane[i]);
        ck_header(GET("/nowhere", TEXT("x-request-id: %s", sane[i])), "Holdfast-Request-Id", sane[i]);
    }
    char lengthy[300];
    memset(lengthy, 'i', sizeof lengthy);
    lengthy[299] = 0;
    const char *insane[] = {"two words", "\"quoted\"", "back\\slash", "\xC3\xA9", lengthy, "tab\tbed"};
    for (size_t i = 0; i < sizeof insane / sizeof insane[0]; i++) {
        struct answer *answer = GET("/livez", TEXT("X-Request-Id: %s", insane[i]));
        ck_status(answer, 200);
        ck_assert_str_ne(answer_need(answer, "Holdfast-Request-Id"), insane[i]);
    }
    ck_status(GET("/livez", "X-Request-Id;"), 200);
}
END_TEST

struct wanted_line {
    const char *id;
    json_t *line;
    int seen;
};

// Finds the access log's line of a request; every line of the log must be a JSON object.
static bool find_line(void *user)
{
    struct wanted_line *wanted = user;
    char *log = scratch_read(service_log(api.service), NULL);
    char *rest = NULL;
    wanted->seen = 0;
    json_decref(wanted->line);
    wanted->line = NULL;
    bool whole = *log && log[strlen(log) - 1] == '\n';
    for (char *line = strtok_r(log, "\n", &rest); line && whole; line = strtok_r(NULL, "\n", &rest)) {
        json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(object))
            ck_abort_msg("a line of the log is no JSON object: %s", line);
        const char *id = json_string_value(json_object_get(object, "request_id"));
        const char *event = json_string_value(json_object_get(object, "event"));
        bool found = id && event && strcmp(id, wanted->id) == 0 && strcmp(event, "request") == 0;
        wanted->seen += found;
        if (found && !wanted->line)
            wanted->line = json_incref(object);
        json_decref(object);
    }
    free(log);
    return wanted->line != NULL;
}

static json_t *logged(const char *id)
{
    struct wanted_line wanted = {.id = id};
    if (!clock_wait(find_line, &wanted, 5000))
        ck_abort_msg("the access log has no line for %s", id);
    ck_assert_int_eq(wanted.seen, 1);
    return wanted.line;
}

START_TEST(access_log)
{
    const char *bucket = api_bucket();
    const char *id = TEXT("%s-id", bucket);
    const char *route = "/v1/buckets/{bucket}/entries/{key}";
    const struct {
        const char *method;
        const char *target;
        struct bytes body;
        int status;
        int bytes;
        const char *route;
    } rows[] = {
        {"PUT", api_entry(bucket, "k"), BODY("12345"), 201, 0, route},
        {"GET", api_entry(bucket, "k"), NO_BODY, 200, 5, route},
        {"HEAD", api_entry(bucket, "k"), NO_BODY, 200, 0, route},
        {"DELETE", api_entry(bucket, "k"), NO_BODY, 204, 0, route},
        {"GET", TEXT("/v1/buckets/%s", bucket), NO_BODY, 200, -1, "/v1/buckets/{bucket}"},
        {"GET", "/livez", NO_BODY, 200, -1, "/livez"},
        {"POST", api_entry(bucket, "k"), BODY("x"), 405, -1, NULL},
        {"GET", "/nowhere", NO_BODY, 404, -1, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *own = TEXT("%s-%zu", id, i);
        struct answer *answer =
            http(api.client, rows[i].method, rows[i].target, rows[i].body, TEXT("X-Request-Id: %s", own));
        ck_status(answer, rows[i].status);
        json_t *line = logged(own);
        ck_assert_pstr_eq(json_string_value(json_object_get(line, "method")), rows[i].method);
        ck_assert_int_eq(json_integer_value(json_object_get(line, "status")), rows[i].status);
        ck_assert(json_is_integer(json_object_get(line, "us")));
        ck_assert_int_ge(json_integer_value(json_object_get(line, "us")), 0);
        ck_assert_int_eq(json_integer_value(json_object_get(line, "bytes")),
                         rows[i].bytes >= 0 ? rows[i].bytes : (json_int_t)answer->body.size);
        if (rows[i].route)
            ck_assert_pstr_eq(json_string_value(json_object_get(line, "route")), rows[i].route);
        ck_assert_ptr_nonnull(json_object_get(line, "time"));
        json_decref(line);
    }
}
END_TEST

// Keys, values, metadata and credentials are the users' own; refused ones as well.
START_TEST(log_never_tells_secrets)
{
    const char *bucket = api_bucket();
    const char *last = TEXT("%s-last", bucket);
    ck_status(PUT(TEXT("%s?under=SecretOwner", api_entry(bucket, "SecretKey")), BODY("SecretValue"),
                  "Holdfast-Meta-A: SecretMeta", "Authorization: Bearer SecretToken",
                  "Idempotency-Key: SecretIdem", "X-Request-Id: \"SecretId\""),
              201);
    ck_status(PUT(TEXT("%s?ttl=SecretTtl", api_entry(bucket, "SecretKey")), BODY("SecretValue")), 400);
    ck_status(PUT(api_entry(bucket, "SecretKey%"), BODY("SecretValue")), 400);
    ck_status(GET("/SecretPath"), 404);
    ck_status(http(api.client, "SECRETMETHODTHATISLONG", "/livez", NO_BODY), 405);
    ck_status(DECLARE("json", "{\"SecretMember\":\"SecretText\"}"), 400);
    struct raw *raw = raw_connect(service_port(api.service));
    raw_text(raw, "SecretGarbage\r\n\r\n");
    raw_closes(raw, 2000);
    raw_close(raw);
    ck_status(GET("/livez", TEXT("X-Request-Id: %s", last)), 200);
    json_decref(logged(last));
    char *log = scratch_read(service_log(api.service), NULL);
    char *found = strcasestr(log, "secret");
    ck_assert_msg(!found, "the log tells: %.100s", found ? found : "");
    free(log);
}
END_TEST

Suite *service_suite(void)
{
    const TTest *const tests[] = {
        unknown_path_is_404,
        metrics_are_told_only_when_asked_for,
        other_method_is_405_with_allow,
        head_is_answered_wherever_get_is,
        problem_has_every_member,
        invalid_names_the_parameter,
        problems_quote_what_they_name,
        health_answers,
        document_is_served,
        request_id,
        access_log,
        log_never_tells_secrets,
        NULL,
    };
    return api_suite("service", NULL, tests);
}
