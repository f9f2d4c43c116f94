// What all api tests share: the service of the running suite, short names for requests, and checks that show
// the whole reply when they fail.
#pragma once

#include "support/http.h"
#include "support/postgres.h"
#include "support/service.h"

#include <check.h>
#include <stdlib.h>

// Every suite of the tier, from the list that the build made of the files' names.
#define SUITE(name) Suite *name##_suite(void);
#include "suites.inc"
#undef SUITE

// The suite's own database and services on the tier's one PostgreSQL, and the running test's client.
struct api {
    struct postgres *postgres;
    struct database database;
    struct service *service;
    struct service *twin;       // a second replica, in suites that asked for one
    struct http_client *client; // of `service`, new for each test
};
extern struct api api;

// A suite with the tests that a NULL ends, on one service with a database of its own; with `flags` (NULL for
// none; a NULL ends them), or with a second replica.
Suite *api_suite(const char *name, const char *const *flags, const TTest *const *tests);
Suite *api_suite_of_two(const char *name, const TTest *const *tests);

// A suite whose service `start` starts, with api_start.
Suite *api_suite_started(const char *name, SFun start, const TTest *const *tests);

// Makes the suite's database and starts its service with these flags (NULL for none; a NULL ends them).
void api_start(const char *const *flags);

// A suite whose tests start what they need; they have api.postgres and no service.
Suite *api_suite_bare(const char *name, const TTest *const *tests);

// How many services of suites ended badly so far.
int api_bad_ends(void);

// A bucket name that no other test uses; each call gives another. The text is the client's.
const char *api_bucket(void);

// The path of an entry; `key` as it goes on the wire.
const char *api_entry(const char *bucket, const char *key);

#define PUT(target, body, ...)   http(api.client, "PUT", target, body __VA_OPT__(, ) __VA_ARGS__)
#define GET(target, ...)         http(api.client, "GET", target, NO_BODY __VA_OPT__(, ) __VA_ARGS__)
#define HEAD(target, ...)        http(api.client, "HEAD", target, NO_BODY __VA_OPT__(, ) __VA_ARGS__)
#define DELETE(target, ...)      http(api.client, "DELETE", target, NO_BODY __VA_OPT__(, ) __VA_ARGS__)
#define TEXT(...)                http_text(api.client, __VA_ARGS__)
#define DECLARE(bucket, literal) PUT(TEXT("/v1/buckets/%s", bucket), BODY(literal))

#define ck_reply(reply_, condition)                                                                          \
    do {                                                                                                     \
        const struct answer *answer_ = (reply_);                                                             \
        if (!(condition))                                                                                    \
            ck_abort_msg("not so: %s: %s", #condition, answer_describe(answer_));                            \
    } while (0)

#define ck_status(reply_, expected)                                                                          \
    do {                                                                                                     \
        const struct answer *status_of_ = (reply_);                                                          \
        if (status_of_->status != (expected))                                                                \
            ck_abort_msg("%s is not %d: %s", #reply_, (int)(expected), answer_describe(status_of_));         \
    } while (0)

#define ck_problem(reply_, expected, kind)                                                                   \
    do {                                                                                                     \
        const struct answer *problem_of_ = (reply_);                                                         \
        if (problem_of_->status != (expected) || strcmp(answer_kind(problem_of_), kind) != 0)                \
            ck_abort_msg("%s is not %d %s: %s", #reply_, (int)(expected), kind,                              \
                         answer_describe(problem_of_));                                                      \
    } while (0)

// A problem of this kind that names the parameter.
#define ck_refused_for(reply_, kind, name)                                                                   \
    do {                                                                                                     \
        const struct answer *refused_of_ = (reply_);                                                         \
        const char *named_ = answer_text(refused_of_, "parameter");                                          \
        if (strcmp(answer_kind(refused_of_), kind) != 0 || !named_ || strcmp(named_, name) != 0)             \
            ck_abort_msg("%s is not %s for %s: %s", #reply_, kind, name, answer_describe(refused_of_));      \
    } while (0)

#define ck_invalid(reply_, name) ck_refused_for(reply_, "invalid", name)

// A problem that names the limit.
#define ck_over_limit(reply_, expected, kind, most)                                                          \
    do {                                                                                                     \
        const struct answer *limited_ = (reply_);                                                            \
        ck_problem(limited_, expected, kind);                                                                \
        ck_reply(limited_, json_integer_value(json_object_get(limited_->json, "limit")) == (most));          \
    } while (0)

// A header with exactly this value; NULL: absent.
#define ck_header(reply_, name, expected)                                                                    \
    do {                                                                                                     \
        const struct answer *header_of_ = (reply_);                                                          \
        const char *value_ = answer_header(header_of_, name);                                                \
        const char *wanted_ = (expected);                                                                    \
        if (value_ && wanted_ ? strcmp(value_, wanted_) != 0 : value_ != wanted_)                            \
            ck_abort_msg("%s is not %s: %s", name, wanted_ ? wanted_ : "absent",                             \
                         answer_describe(header_of_));                                                       \
    } while (0)

// The body is exactly these bytes.
#define ck_body(reply_, bytes)                                                                               \
    do {                                                                                                     \
        const struct answer *body_of_ = (reply_);                                                            \
        if (!answer_is(body_of_, bytes))                                                                     \
            ck_abort_msg("the body is not %s: %s", #bytes, answer_describe(body_of_));                       \
    } while (0)
