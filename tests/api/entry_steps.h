// Steps that the suites about operations on entries share.
#pragma once

#include "api.h"

// 2030-01-01T00:00:00Z, where the clock stands in tests that stop it.
#define START  INT64_C(1893456000000000)
#define SECOND INT64_C(1000000)

#define MERGE_PATCH "Content-Type: application/merge-patch+json"

#define POST(target, body, ...) http(api.client, "POST", target, body __VA_OPT__(, ) __VA_ARGS__)
#define PATCH(target, body, ...)                                                                             \
    http(api.client, "PATCH", target, body, MERGE_PATCH __VA_OPT__(, ) __VA_ARGS__)

// The replica that client `index` of a race talks to.
const char *replica_url(size_t index);

// The ETag as it stands in the header; fails the test when there is none.
const char *tag_of(const struct answer *answer);

// A header line that asks for this very version.
const char *if_match_of(const struct answer *answer);

// A 412 that names `tag` (NULL: absent) and did nothing.
void expect_conflict(const struct answer *answer, const char *tag);

// A bucket of this type that is new.
const char *bucket_of_type(const char *type);

// Gives a name that is not declared yet another kind than `bucket`, as a counter would have.
void declare_other_kind(PGconn *connection, const char *name);

// Writes `count` entries `key-000001` and so on into a declared bucket at once, below `owner` (NULL: none).
void insert_entries(PGconn *connection, const char *bucket, const char *owner, int count);

// How many rows the table has of a bucket, live or not.
int64_t rows_of(PGconn *connection, const char *bucket);

// A connection that keeps every replica from sweeping until PQfinish.
PGconn *hold_sweeper(void);

// The list's entries, and the text member of one of them (NULL when it is no text).
json_t *entries_of(const struct answer *answer);
const char *entry_text(json_t *entry, const char *member);

// The list has exactly these keys in this order, joined by spaces, as they are shown (a `key_base64` with =
// before it).
void expect_keys(const struct answer *answer, const char *keys);
