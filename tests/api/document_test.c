// That the check of every reply against the OpenAPI document finds what is wrong with one.
#include "api.h"

#include "support/document.h"

// Made of a reply's head and body, each as text.
static const char *fault_of(const char *method, const char *target, const char *head, const char *body)
{
    const char *fault;
    struct answer *answer = answer_parse(head, strlen(head), &fault);
    ck_assert_pstr_eq(fault, NULL);
    answer->head_request = strcmp(method, "HEAD") == 0;
    answer_set_body(answer, strdup(body), strlen(body));
    const char *found = document_fault(method, target, answer);
    answer_free(answer);
    return found;
}

#define ID         "Holdfast-Request-Id: 1\r\n"
#define JSON       "Content-Type: application/json\r\n"
#define PROBLEM    "Content-Type: application/problem+json\r\n"
#define COUNTER    "/v1/counters/c/k%2F1?under=a"
#define WRITTEN(v) "HTTP/1.1 204 No Content\r\n" ID "ETag: \"" v "\"\r\nHoldfast-Position: 12\r\n"

static const char *problem_of(const char *kind)
{
    return TEXT(
        "{\"type\":\"urn:holdfast:x\",\"title\":\"t\",\"status\":404,\"detail\":\"d\",\"kind\":\"%s\"}",
        kind);
}

START_TEST(good_replies_are_good)
{
    ck_assert_pstr_eq(fault_of("GET", COUNTER, "HTTP/1.1 200 OK\r\n" ID JSON, "{\"value\":3}"), NULL);
    ck_assert_pstr_eq(fault_of("HEAD", COUNTER, "HTTP/1.1 200 OK\r\n" ID JSON, ""), NULL);
    ck_assert_pstr_eq(fault_of("PUT", "/v1/buckets/b/entries/k", WRITTEN("7"), ""), NULL);
    ck_assert_pstr_eq(fault_of("GET", "/v1/buckets/b/entries/k",
                               "HTTP/1.1 200 OK\r\n" ID
                               "ETag: \"7\"\r\nContent-Type: text/x\r\nHoldfast-Meta-A: b\r\n",
                               "any bytes"),
                      NULL);
    ck_assert_pstr_eq(
        fault_of("GET", COUNTER, "HTTP/1.1 404 Not Found\r\n" ID PROBLEM, problem_of("not_found")), NULL);
}
END_TEST

START_TEST(other_replies_are_found)
{
    static const struct {
        const char *method;
        const char *target;
        const char *head;
        const char *body;
        const char *fault;
    } rows[] = {
        {"GET", "/v1/nowhere", "HTTP/1.1 200 OK\r\n" ID JSON, "{}", "lacks the operation"},
        {"POST", COUNTER, "HTTP/1.1 200 OK\r\n" ID JSON, "{}", "lacks the operation"},
        {"GET", COUNTER, "HTTP/1.1 202 Accepted\r\n" ID JSON, "{}", "lacks the status 202"},
        {"GET", COUNTER, "HTTP/1.1 418 Teapot\r\n" ID PROBLEM, "{}", "lacks the status 418"},
        {"GET", COUNTER, "HTTP/1.1 200 OK\r\n" JSON, "{\"value\":3}", "no header Holdfast-Request-Id"},
        {"GET", COUNTER, "HTTP/1.1 200 OK\r\nHoldfast-X: 1\r\n" ID JSON, "{\"value\":3}",
         "lacks the header Holdfast-X"},
        {"GET", COUNTER, "HTTP/1.1 200 OK\r\n" ID "Content-Type: text/plain\r\n", "3",
         "content type text/plain"},
        {"GET", COUNTER, "HTTP/1.1 200 OK\r\n" ID JSON, "{\"value\":\"3\"}", "of another type"},
        {"GET", COUNTER, "HTTP/1.1 200 OK\r\n" ID JSON, "{\"value\":3.5}", "of another type"},
        {"GET", COUNTER, "HTTP/1.1 200 OK\r\n" ID JSON, "{}", "no member value"},
        {"GET", COUNTER, "HTTP/1.1 200 OK\r\n" ID JSON, "{\"value\":3,\"x\":1}",
         "does not name the member x"},
        {"GET", COUNTER, "HTTP/1.1 200 OK\r\n" ID JSON, "{\"value\"", "no JSON"},
        {"PUT", "/v1/buckets/b/entries/k", WRITTEN(""), "", "header ETag"},
        {"PUT", "/v1/buckets/b/entries/k", WRITTEN("7"), "x", "lacks a body"},
        {"PUT", "/v1/buckets/b/entries/k", WRITTEN("7") "Holdfast-Expires-At: tomorrow\r\n", "", "date-time"},
        {"PUT", "/v1/buckets/b/entries/k", WRITTEN("7") "Holdfast-Replayed: yes\r\n", "",
         "Holdfast-Replayed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *found = fault_of(rows[i].method, rows[i].target, rows[i].head, rows[i].body);
        ck_assert_msg(found && strstr(found, rows[i].fault), "%s: %s", rows[i].fault,
                      found ? found : "nothing");
    }
}
END_TEST

START_TEST(kinds_of_problems_are_named)
{
    const char *head = "HTTP/1.1 404 Not Found\r\n" ID PROBLEM;
    const char *found = fault_of("GET", COUNTER, head, problem_of("busy"));
    ck_assert_msg(found && strstr(found, "name the kind busy"), "%s", found ? found : "nothing");
    found = fault_of("GET", COUNTER, head, "{\"kind\":\"not_found\"}");
    ck_assert_msg(found && strstr(found, "no member type"), "%s", found ? found : "nothing");
}
END_TEST

Suite *document_suite(void)
{
    const TTest *const tests[] = {good_replies_are_good, other_replies_are_found, kinds_of_problems_are_named,
                                  NULL};
    return api_suite("document", NULL, tests);
}
