// The problem documents of API.md: one row a kind, so that status, title and kind never disagree.
#pragma once

#include "base/buffer.h"
#include "base/bytes.h"

enum problem_kind {
    PROBLEM_INVALID,
    PROBLEM_UNAUTHORIZED,
    PROBLEM_FORBIDDEN,
    PROBLEM_NOT_FOUND,
    PROBLEM_METHOD_NOT_ALLOWED,
    PROBLEM_KIND_MISMATCH,
    PROBLEM_LEASE_HELD,
    PROBLEM_LEASE_LOST,
    PROBLEM_BUSY,
    PROBLEM_VERSION_CONFLICT,
    PROBLEM_TOO_LARGE,
    PROBLEM_UNSUPPORTED_MEDIA,
    PROBLEM_TYPE_MISMATCH,
    PROBLEM_OVERFLOW,
    PROBLEM_UNPROCESSABLE,
    PROBLEM_IDEMPOTENCY_MISMATCH,
    PROBLEM_PRECONDITION_REQUIRED,
    PROBLEM_TOO_MANY,
    PROBLEM_HEADERS_TOO_LARGE,
    PROBLEM_CORRUPT,
    PROBLEM_INTERNAL,
    PROBLEM_UNSUPPORTED,
    PROBLEM_UNAVAILABLE,
    PROBLEM_OUTCOME_UNKNOWN,
    PROBLEM_STALE,
};

struct problem {
    enum problem_kind kind;
    const char *detail;
    struct bytes parameter; // which input was wrong; data NULL for none
    int64_t limit;          // the limit that was passed; 0 for none
    const char *extra;      // further members as JSON text, `"capability":"x"`; NULL for none
    int retry_after;        // seconds for Retry-After; 0 for none
    const char *allow;      // for PROBLEM_METHOD_NOT_ALLOWED
};

int problem_status(enum problem_kind kind);

// Adds the document.
void problem_write(struct buffer *out, const struct problem *problem);
