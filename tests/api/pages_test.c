// The pages that people open in a browser, as the service sends them; what they do there the browser tier
// tries.
#include "api.h"

#include <string.h>

static const char *const files[] = {"/docs", "/docs/page.js", "/docs/look.css", "/docs/icon.svg",
                                    "/ui",   "/ui/page.js",   "/ui/page.css"};
enum { FILES = sizeof files / sizeof files[0] };

static const char *type_of(const char *path)
{
    const char *ending = strrchr(path, '.');
    if (!ending)
        return "text/html; charset=utf-8";
    if (strcmp(ending, ".js") == 0)
        return "text/javascript; charset=utf-8";
    return strcmp(ending, ".css") == 0 ? "text/css; charset=utf-8" : "image/svg+xml";
}

START_TEST(page_files_are_served_with_tags)
{
    for (size_t i = 0; i < FILES; i++) {
        const char *path = files[i];
        struct answer *got = GET(path);
        ck_status(got, 200);
        ck_header(got, "Content-Type", type_of(path));
        ck_header(got, "Cache-Control", "no-cache");
        const char *tag = answer_need(got, "ETag");
        struct answer *again = GET(path, TEXT("If-None-Match: \"other\", W/%s", tag));
        ck_status(again, 304);
        ck_header(again, "ETag", tag);
        ck_status(GET(path, "If-None-Match: \"other\""), 200);
        ck_invalid(GET(path, TEXT("If-Match: %s", tag)), "If-Match");
        struct answer *head = HEAD(path);
        ck_status(head, 200);
        ck_header(head, "Content-Length", TEXT("%zu", got->body.size));
        ck_header(head, "ETag", tag);
        ck_problem(PUT(path, BODY("x")), 405, "method_not_allowed");
        ck_invalid(GET(TEXT("%s?v=1", path)), "v");
    }
}
END_TEST

// A browser that obeys loads nothing from elsewhere, runs no text as a script, and lets nobody frame the
// page.
START_TEST(page_policy_is_strict)
{
    for (size_t j = 0; j < FILES; j++) {
        struct answer *got = GET(files[j]);
        ck_header(got, "X-Content-Type-Options", "nosniff");
        ck_header(got, "Referrer-Policy", "no-referrer");
        const char *policy = answer_need(got, "Content-Security-Policy");
        static const char *const parts[] = {"default-src 'none'",     "script-src 'self'",
                                            "style-src 'self'",       "connect-src 'self'",
                                            "base-uri 'none'",        "form-action 'none'",
                                            "frame-ancestors 'none'", "require-trusted-types-for 'script'"};
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
            ck_reply(got, strstr(policy, parts[i]) != NULL);
        ck_reply(got, strstr(policy, "unsafe") == NULL && strstr(policy, "http") == NULL);
    }
}
END_TEST

START_TEST(page_has_no_other_files)
{
    static const char *const names[] = {"/docs/none.js", "/docs/index.html",        "/ui/index.html",
                                        "/ui/look.css",  "/docs/%2e%2e%2flook.css", "/docs/look.css%00",
                                        "/docs/LOOK.CSS"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_problem(GET(names[i]), 404, "not_found");
    ck_reply(GET("/docs/"), answer_->status == 404 || answer_->status == 400);
    ck_problem(GET("/docs/a/b"), 404, "not_found");
}
END_TEST

START_TEST(console_can_be_switched_off)
{
    const char *const flags[] = {"--no-ui", NULL};
    struct service *service =
        service_start(&(struct service_options){.database = api.database.url, .flags = flags});
    struct http_client *client = http_client_new(service_url(service));
    static const char *const off[] = {"/ui", "/ui/page.js", "/ui/none.js"};
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        struct answer *answer = http(client, "GET", off[i], NO_BODY);
        ck_problem(answer, 501, "unsupported");
        ck_assert_str_eq(answer_text(answer, "capability"), "ui");
    }
    ck_status(http(client, "GET", "/docs", NO_BODY), 200);
    ck_status(http(client, "GET", "/docs/look.css", NO_BODY), 200);
    http_client_free(client);
    service_end(service);
}
END_TEST

Suite *pages_suite(void)
{
    const TTest *const tests[] = {
        page_files_are_served_with_tags,
        page_policy_is_strict,
        page_has_no_other_files,
        console_can_be_switched_off,
        NULL,
    };
    return api_suite("pages", NULL, tests);
}
