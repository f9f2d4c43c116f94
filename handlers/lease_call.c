// The statements, and what their rows become for the client.
#include "handlers/lease_call.h"

#include "base/duration.h"
#include "base/timestamp.h"
#include "handlers/outcome.h"

const struct statement acquire_leases = {
    .name = "acquire_leases",
    .sql = "select * from holdfast.acquire_leases($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .keys = KEYS_ANY,
    .columns = ACQUIRE_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_TEXT, COLUMN_INT8, COLUMN_INT8, COLUMN_INT8, COLUMN_BOOL},
};

const struct statement release_leases = {
    .name = "release_leases",
    .sql = "select * from holdfast.release_leases($1, $2, $3, $4, $5, $6)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .keys = KEYS_ANY,
    .columns = RELEASE_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_TEXT, COLUMN_INT8},
};

struct lease lease_granted(const struct outcome *outcome, struct bytes holder, int64_t ttl)
{
    return (struct lease){
        .holder = holder,
        .ttl = ttl,
        .token = outcome_number(outcome, 0, ACQUIRED_TOKEN),
        .expires_at = outcome_time(outcome, 0, ACQUIRED_EXPIRES_AT),
        .position = outcome_number(outcome, 0, ACQUIRED_POSITION),
    };
}

const char *reply_time(struct request *request, int64_t us)
{
    char *text = arena_alloc(&request->arena, TIMESTAMP_SIZE);
    timestamp_format(us, text);
    return text;
}

void reply_lease(struct request *request, int status, const struct lease *lease)
{
    count_add(&context_of(request)->counts->leases[status == 201 ? LEASE_GRANTED : LEASE_RENEWED], 1);
    struct buffer json = {0};
    char ttl[24];
    duration_format(lease->ttl, ttl);
    buffer_printf(&json, "{\"token\":\"%lld\",\"ttl\":\"%s\",\"expires_at\":\"%s\",\"holder\":",
                  (long long)lease->token, ttl, reply_time(request, lease->expires_at));
    buffer_add_json(&json, lease->holder);
    buffer_printf(&json, ",\"position\":\"%lld\"}\n", (long long)lease->position);
    reply_position(request, lease->position);
    reply_json_buffer(request, status, &json);
}

// Retry-After is by the database's clock, which is the one that decides.
static void reply_lease_held(struct request *request, const struct outcome *outcome)
{
    count_add(&context_of(request)->counts->leases[LEASE_REFUSED], 1);
    int64_t until = outcome_time(outcome, 0, ACQUIRED_EXPIRES_AT);
    int64_t seconds = (until - outcome_time(outcome, 0, ACQUIRED_NOW) + 999999) / 1000000;
    struct problem problem = {
        .kind = PROBLEM_LEASE_HELD,
        .detail = "somebody holds the lease, or comes first",
        .extra = arena_printf(&request->arena, "\"expires_at\":\"%s\"", reply_time(request, until)),
        .retry_after = seconds > 1 ? (int)seconds : 1,
    };
    reply_problem(request, &problem);
}

void reply_not_acquired(struct request *request, struct bytes bucket, const struct outcome *outcome)
{
    switch ((enum write_status)outcome_number(outcome, 0, ACQUIRED_STATUS)) {
    case WRITE_NO_BUCKET:
        reply_no_bucket(request, bucket);
        return;
    case WRITE_OTHER_KIND:
        reply_kind_mismatch(request, bucket, outcome_bytes(outcome, 0, ACQUIRED_KIND));
        return;
    default:
        reply_lease_held(request, outcome);
        return;
    }
}
