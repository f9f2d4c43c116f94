// The table of problem kinds and their JSON.
#include "http/problem.h"

#include <stdio.h>

struct kind_row {
    const char *kind;
    const char *title;
    int status;
};

static const struct kind_row kinds[] = {
    [PROBLEM_INVALID] = {"invalid", "Invalid request", 400},
    [PROBLEM_UNAUTHORIZED] = {"unauthorized", "No valid token", 401},
    [PROBLEM_FORBIDDEN] = {"forbidden", "Not allowed to this client", 403},
    [PROBLEM_NOT_FOUND] = {"not_found", "Not found", 404},
    [PROBLEM_METHOD_NOT_ALLOWED] = {"method_not_allowed", "Method not allowed", 405},
    [PROBLEM_KIND_MISMATCH] = {"kind_mismatch", "The name is in use by another kind", 409},
    [PROBLEM_LEASE_HELD] = {"lease_held", "The lease is held", 409},
    [PROBLEM_LEASE_LOST] = {"lease_lost", "The lease is lost", 409},
    [PROBLEM_BUSY] = {"busy", "Not possible in this state", 409},
    [PROBLEM_VERSION_CONFLICT] = {"version_conflict", "A precondition failed", 412},
    [PROBLEM_TOO_LARGE] = {"too_large", "Too large", 413},
    [PROBLEM_UNSUPPORTED_MEDIA] = {"unsupported_media", "Content type or encoding not accepted", 415},
    [PROBLEM_TYPE_MISMATCH] = {"type_mismatch", "Not a value of this type", 422},
    [PROBLEM_OVERFLOW] = {"overflow", "Number out of range", 422},
    [PROBLEM_UNPROCESSABLE] = {"unprocessable", "Cannot be processed", 422},
    [PROBLEM_IDEMPOTENCY_MISMATCH] = {"idempotency_mismatch", "The key was used for another request", 422},
    [PROBLEM_PRECONDITION_REQUIRED] = {"precondition_required", "A precondition is required", 428},
    [PROBLEM_TOO_MANY] = {"too_many", "Too many requests", 429},
    [PROBLEM_HEADERS_TOO_LARGE] = {"headers_too_large", "Request header section too large", 431},
    [PROBLEM_CORRUPT] = {"corrupt", "The stored value does not open", 500},
    [PROBLEM_INTERNAL] = {"internal", "A fault of the service", 500},
    [PROBLEM_UNSUPPORTED] = {"unsupported", "Not supported by this deployment", 501},
    [PROBLEM_UNAVAILABLE] = {"unavailable", "Unavailable; nothing was done", 503},
    [PROBLEM_OUTCOME_UNKNOWN] = {"outcome_unknown", "The outcome is unknown", 503},
    [PROBLEM_STALE] = {"stale", "The position was not reached in time", 503},
};

int problem_status(enum problem_kind kind)
{
    return kinds[kind].status;
}

void problem_write(struct buffer *out, const struct problem *problem)
{
    const struct kind_row *row = &kinds[problem->kind];
    buffer_printf(out, "{\"type\":\"urn:holdfast:%s\",\"title\":\"%s\",\"status\":%d,\"detail\":", row->kind,
                  row->title, row->status);
    buffer_add_json(out, bytes_of(problem->detail ? problem->detail : row->title));
    buffer_printf(out, ",\"kind\":\"%s\"", row->kind);
    if (problem->parameter.data) {
        buffer_add_text(out, ",\"parameter\":");
        buffer_add_json(out, problem->parameter);
    }
    if (problem->limit)
        buffer_printf(out, ",\"limit\":%lld", (long long)problem->limit);
    if (problem->extra) {
        buffer_add_char(out, ',');
        buffer_add_text(out, problem->extra);
    }
    buffer_add_text(out, "}\n");
}
