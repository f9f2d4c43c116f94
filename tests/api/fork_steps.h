// Steps that the suites about forks share.
#pragma once

#include "entry_steps.h"

// A fork of this kind over these buckets (a JSON array; NULL: all), with an id that no other test uses.
const char *fork_of(const char *kind, const char *buckets);

// `path` as seen and written through the fork.
const char *through(const char *path, const char *fork);

// The path of a call on the entry (`take`, `add`, …), through the fork.
const char *call_through(const char *path, const char *call, const char *fork);

// The scan of the bucket through the fork.
const char *scan_through(const char *bucket, const char *fork);

#define PROMOTE(fork, ...)         POST(TEXT("/v1/forks/%s/promote", fork), NO_BODY __VA_OPT__(, ) __VA_ARGS__)
#define PROMOTE_IF_UNCHANGED(fork) POST(TEXT("/v1/forks/%s/promote?if_unchanged=true", fork), NO_BODY)
#define DISCARD(fork)              DELETE(TEXT("/v1/forks/%s", fork))

// The reply is {"rows":n}.
void expect_promoted(const struct answer *answer, int64_t rows);

// The fork's `rows`.
int64_t fork_rows(const char *fork);
