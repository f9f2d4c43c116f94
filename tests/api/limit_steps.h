// Steps that the suites about counters, rate limits, gates and quotas share.
#pragma once

#include "entry_steps.h"

// The path of a name and of a key of it; `kind` as in paths: counters, rate-limits, rate-gates, quotas.
const char *name_path(const char *kind, const char *name);
const char *key_path(const char *kind, const char *name, const char *key);

// A name of the kind that no other test uses, declared with this configuration.
const char *declared(const char *kind, const char *configuration);

// A rate limit with one key of it, a path.
const char *rate_limit_key(const char *rate, int64_t burst);

// A quota with one key of it, a path; `windows` as they stand in JSON, without braces.
const char *quota_key(const char *windows);

// POST …/allow or …/refund of `n`, POST …/check of `max` in `window`, POST …/add of `by`.
struct answer *allow_on(struct http_client *client, const char *path, int64_t n);
struct answer *refund_on(struct http_client *client, const char *path, int64_t n);
struct answer *check_on(struct http_client *client, const char *path, int64_t max, const char *window);
struct answer *add_on(struct http_client *client, const char *path, int64_t by);
#define ALLOW(path, n)           allow_on(api.client, path, n)
#define REFUND(path, n)          refund_on(api.client, path, n)
#define CHECK(path, max, window) check_on(api.client, path, max, window)
#define ADD(path, by)            add_on(api.client, path, by)

// An integer, a truth and a moment (microseconds since 1970; -1 for null) of a JSON reply; the test fails
// when the member is none.
int64_t number_in(const struct answer *answer, const char *member);
bool truth_in(const struct answer *answer, const char *member);
int64_t moment_in(const struct answer *answer, const char *member);

// A number and a moment of one window of a quota's reply.
int64_t window_number(const struct answer *answer, const char *window, const char *member);
int64_t window_moment(const struct answer *answer, const char *window);

// 200, granted, with so much left and nothing about coming again.
void expect_granted(const struct answer *answer, int64_t left);

// 200, refused at `now`, with Retry-After as retry_at says; gives retry_at.
int64_t expect_refused(const struct answer *answer, int64_t now, int64_t left);

// Uses all that the key has left, in few calls; gives how much that was.
int64_t use_up(const char *path);
