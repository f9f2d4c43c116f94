// The shared refusals.
#include "handlers/outcome.h"

#include "base/buffer.h"
#include "handlers/access.h"

bool outcome_usable(struct request *request, const struct outcome *outcome)
{
    switch (outcome->kind) {
    case OUTCOME_ROWS:
        return true;
    case OUTCOME_UNAVAILABLE:
        reply_simple_problem(request, PROBLEM_UNAVAILABLE, "%s; nothing was done, try again",
                             outcome->detail ? outcome->detail : "the database is away");
        return false;
    case OUTCOME_UNKNOWN:
        reply_simple_problem(request, PROBLEM_OUTCOME_UNKNOWN,
                             "%s: read before you repeat it, or repeat it with an Idempotency-Key",
                             outcome->detail ? outcome->detail : "the connection to the database broke");
        return false;
    case OUTCOME_FAILED:
        break;
    }
    reply_simple_problem(request, PROBLEM_INTERNAL, "the log has more under this request's id");
    log_event(LOG_ERROR, "request_failed", "request_id", request->id, "route", request->route->template,
              NULL);
    return false;
}

static const char *shown(struct request *request, struct bytes name)
{
    return (const char *)arena_copy(&request->arena, name_shown(request, name)).data;
}

void reply_no_bucket(struct request *request, struct bytes name)
{
    reply_simple_problem(request, PROBLEM_NOT_FOUND, "the bucket %s is not declared", shown(request, name));
}

void reply_no_name(struct request *request, struct bytes name)
{
    reply_simple_problem(request, PROBLEM_NOT_FOUND, "the name %s is not declared", shown(request, name));
}

void reply_kind_mismatch(struct request *request, struct bytes name, struct bytes actual_kind)
{
    const char *kind = (const char *)arena_copy(&request->arena, actual_kind).data;
    struct problem problem = {
        .kind = PROBLEM_KIND_MISMATCH,
        .detail = arena_printf(&request->arena, "the name %s is in use by a %s", shown(request, name), kind),
        .extra = arena_printf(&request->arena, "\"actual_kind\":\"%s\"", kind),
    };
    reply_problem(request, &problem);
}

void reply_version_conflict(struct request *request, bool live, int64_t version)
{
    struct problem problem = {
        .kind = PROBLEM_VERSION_CONFLICT,
        .detail = live ? request->conditions.if_none_match.any
                             ? "the entry is there and the precondition wants it absent"
                             : "the entry's version is not one that the precondition allows"
                       : "the entry is absent and the precondition wants it there",
        .extra = live ? arena_printf(&request->arena, "\"current_version\":\"%lld\"", (long long)version)
                      : "\"current_version\":null",
    };
    if (live)
        reply_etag(request, version);
    reply_problem(request, &problem);
}

void reply_lease_lost(struct request *request)
{
    reply_simple_problem(request, PROBLEM_LEASE_LOST,
                         "no live lease is as the request says: it expired, was released or passed on");
}

void reply_shutting_down(struct request *request)
{
    reply_simple_problem(request, PROBLEM_UNAVAILABLE,
                         "the service is shutting down; nothing was done, try again");
}

void reply_position(struct request *request, int64_t position)
{
    reply_header(request, "Holdfast-Position",
                 (const char *)arena_decimal(&request->arena, 0, position, 0).data);
}
