// Pages of other origins: who may use the service from a browser, and what their scripts see.
#include "api.h"

#include <string.h>

static void start_own(const char *origins)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    const char *const flags[] = {"--cors-origin", origins, NULL};
    api.service = service_start(
        &(struct service_options){.database = api.database.url, .flags = origins ? flags : NULL});
    api.client = http_client_new(service_url(api.service));
}

static void end_own(void)
{
    http_client_free(api.client);
    service_end(api.service);
    database_drop(api.postgres, &api.database);
}

static struct answer *preflight(const char *origin)
{
    return http(api.client, "OPTIONS", "/v1/buckets/b/entries/k", NO_BODY, TEXT("Origin: %s", origin),
                "Access-Control-Request-Method: PUT",
                "Access-Control-Request-Headers: if-match, holdfast-meta-a");
}

START_TEST(pages_are_not_let_in_unless_asked_for)
{
    start_own(NULL);
    ck_problem(preflight("https://app.example"), 405, "method_not_allowed");
    struct answer *answer = PUT("/v1/buckets/b/entries/k", BODY("v"), "Origin: https://app.example");
    ck_problem(answer, 403, "forbidden");
    ck_status(GET("/v1/buckets/b/entries/k"), 404);
    ck_header(answer, "Access-Control-Allow-Origin", NULL);
    ck_header(answer, "Vary", NULL);
    end_own();
}
END_TEST

// Without a token whoever reaches the service is let in; a page that a browser happens to show does not
// count.
START_TEST(other_pages_do_not_get_in_by_the_browser_of_a_user)
{
    start_own(NULL);
    const char *path = "/v1/buckets/b/entries/k", *own = TEXT("Origin: %s", service_url(api.service));
    ck_status(PUT(path, BODY("v"), own), 201);
    static const char *const origins[] = {"Origin: https://evil.example", "Origin: null",
                                          "Origin: http://127.0.0.1:1", "Origin: http://localhost"};
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        ck_problem(http(api.client, "POST", TEXT("%s/exchange", path), BODY("x"), origins[i],
                        "Content-Type: text/plain"),
                   403, "forbidden");
        ck_problem(http(api.client, "POST", TEXT("%s/take", path), NO_BODY, origins[i]), 403, "forbidden");
        ck_problem(GET(path, origins[i]), 403, "forbidden");
        ck_status(GET("/livez", origins[i]), 200);
    }
    static const char *const public[] = {"Host: evil.example", "Host: evil.example:7070",
                                         "Host: 127.0.0.1.evil.example", "Host: localhost.evil.example"};
    static const char *const good[] = {"Host: localhost", "Host: holdfast", "Host: app.localhost:80",
                                       "Host: 10.0.0.1:7070", "Host: [::1]:7070"};
    for (size_t i = 0; i < sizeof public / sizeof public[0]; i++)
        ck_problem(GET(path, public[i]), 403, "forbidden");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_body(GET(path, good[i]), BODY("v"));
    end_own();
}
END_TEST

START_TEST(browsers_run_no_stored_value)
{
    start_own(NULL);
    const char *path = "/v1/buckets/b/entries/k";
    static const char *const types[] = {"text/html", "image/svg+xml", "text/plain"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        ck_reply(PUT(path, BODY("<script>"), TEXT("Content-Type: %s", types[i])), answer_->status / 100 == 2);
        struct answer *answer = GET(path);
        ck_header(answer, "Content-Type", types[i]);
        ck_header(answer, "X-Content-Type-Options", "nosniff");
        ck_reply(answer, strstr(answer_need(answer_, "Content-Security-Policy"), "sandbox"));
    }
    end_own();
}
END_TEST

START_TEST(listed_origins_are_let_in)
{
    start_own("https://app.example,http://localhost:3000");
    static const char *const good[] = {"https://app.example", "http://localhost:3000"};
    for (size_t i = 0; i < 2; i++) {
        struct answer *answer = preflight(good[i]);
        ck_status(answer, 204);
        ck_header(answer, "Access-Control-Allow-Origin", good[i]);
        ck_header(answer, "Access-Control-Allow-Headers", "if-match, holdfast-meta-a");
        ck_reply(answer, strstr(answer_header(answer_, "Access-Control-Allow-Methods"), "PUT"));
        answer = PUT("/v1/buckets/b/entries/k", BODY("v"), TEXT("Origin: %s", good[i]));
        ck_reply(answer, answer_->status / 100 == 2);
        ck_header(answer, "Access-Control-Allow-Origin", good[i]);
        ck_header(answer, "Vary", "Origin");
        ck_reply(answer, strstr(answer_header(answer_, "Access-Control-Expose-Headers"), "ETag"));
        answer =
            GET("/v1/buckets/b/entries/none", TEXT("Origin: %s", good[i])); // problems are for scripts too
        ck_problem(answer, 404, "not_found");
        ck_header(answer, "Access-Control-Allow-Origin", good[i]);
    }
    static const char *const bad[] = {"https://app.example.evil",
                                      "http://app.example",
                                      "https://app.exampl",
                                      "null",
                                      "https://app.example,http://localhost:3000",
                                      ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_reply(preflight(bad[i]), answer_->status == 403 || answer_->status == 405);
        struct answer *answer = GET("/v1/buckets/b/entries/k", TEXT("Origin: %s", bad[i]));
        ck_status(answer, *bad[i] ? 403 : 200); // an empty header is not sent
        ck_header(answer, "Access-Control-Allow-Origin", NULL);
        ck_header(answer, "Vary", "Origin");
    }
    end_own();
}
END_TEST

START_TEST(every_origin_may_be_let_in)
{
    start_own("*");
    ck_header(preflight("https://any.example"), "Access-Control-Allow-Origin", "*");
    ck_header(GET("/v1/buckets", "Origin: null"), "Access-Control-Allow-Origin", "*");
    ck_problem(http(api.client, "OPTIONS", "/nowhere", NO_BODY, "Origin: https://any.example",
                    "Access-Control-Request-Method: GET"),
               404, "not_found");
    // What is asked for comes back only when it cannot be anything but names.
    struct answer *answer =
        http(api.client, "OPTIONS", "/v1/buckets", NO_BODY, "Origin: https://any.example",
             "Access-Control-Request-Method: GET", "Access-Control-Request-Headers: a;b=<c>");
    ck_status(answer, 204);
    ck_header(answer, "Access-Control-Allow-Headers", NULL);
    end_own();
}
END_TEST

Suite *cors_suite(void)
{
    const TTest *const tests[] = {
        pages_are_not_let_in_unless_asked_for,
        other_pages_do_not_get_in_by_the_browser_of_a_user,
        browsers_run_no_stored_value,
        listed_origins_are_let_in,
        every_origin_may_be_let_in,
        NULL,
    };
    return api_suite_bare("cors", tests);
}
