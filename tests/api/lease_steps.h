// Steps that the suites about leases share.
#pragma once

#include "entry_steps.h"

// Calls on the lease at `path`; holder, token and ttl as they stand in JSON (in the query: percent-encoded).
#define ACQUIRE(path, holder, ttl)      acquire_on(api.client, path, holder, ttl)
#define RENEW(path, holder, token, ttl) renew_on(api.client, path, holder, token, ttl)
#define RELEASE(path, holder, token)    release_on(api.client, path, holder, token)

struct answer *acquire_on(struct http_client *client, const char *path, const char *holder, const char *ttl);
struct answer *renew_on(struct http_client *client, const char *path, const char *holder, const char *token,
                        const char *ttl);
struct answer *release_on(struct http_client *client, const char *path, const char *holder,
                          const char *token);

// The path of a lease; `key` as it goes on the wire.
const char *lease_path(const char *bucket, const char *key);

// A grant's token and position as numbers; the test fails when there is none.
int64_t token_of(const struct answer *grant);
int64_t position_of(const struct answer *grant);

// When the lease ends, in microseconds since 1970.
int64_t expiry_of(const struct answer *grant);

// 200 with exactly this verdict.
void expect_released(const struct answer *answer, bool released);
