// Leases over HTTP: each call becomes one operation, and the database, by its own clock, decides who holds.
#include "handlers/leases.h"

#include "handlers/entry_get.h"
#include "handlers/lease_call.h"
#include "handlers/lease_input.h"
#include "handlers/lease_wait.h"
#include "handlers/outcome.h"

enum { LEASE_COLUMNS = 6 }; // of the call that has most

struct lease_call {
    struct operation operation; // first: the operation is the call
    struct value values[LEASE_COLUMNS];
    struct lease lease; // what the request says of it
};

static void submit(struct request *request, struct lease_call *call, const struct statement *statement,
                   const struct address *address, void (*done)(struct operation *, const struct outcome *))
{
    call->operation = (struct operation){
        .statement = statement,
        .bucket = address->bucket,
        .key = address->path,
        .values = call->values,
        .done = done,
        .owner = request,
    };
    request_submit(request, &call->operation);
}

// --- acquire
// ----------------------------------------------------------------------------------------------------------

static void acquire_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct lease_call *call = (struct lease_call *)operation;
    if (!outcome_usable(request, outcome))
        return;
    enum write_status status = (enum write_status)outcome_number(outcome, 0, ACQUIRED_STATUS);
    bool held = status != WRITE_NEW && status != WRITE_NO_BUCKET && status != WRITE_OTHER_KIND;
    if (held && preferred_wait(request) > 0) // and only a draining service comes here with that
        reply_shutting_down(request);
    else if (status != WRITE_NEW)
        reply_not_acquired(request, operation->bucket, outcome);
    if (status != WRITE_NEW)
        return;
    struct lease lease = lease_granted(outcome, call->lease.holder, call->lease.ttl);
    reply_lease(request, 201, &lease);
}

static void acquire_now(struct request *request, struct lease_call *call, const struct address *address)
{
    call->values[ACQUIRE_PATH] = value_bytes(address->path);
    call->values[ACQUIRE_HOLDER] = value_bytes(call->lease.holder);
    call->values[ACQUIRE_TTL] = value_number(call->lease.ttl);
    call->values[ACQUIRE_WAIT] = value_number(0);
    call->values[ACQUIRE_DECLARES] = value_number(context_of(request)->declares);
    submit(request, call, &acquire_leases, address, acquire_done);
}

void lease_acquire(struct request *request)
{
    static const char *const members[] = {"holder", "ttl", NULL};
    struct lease_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct address address;
    if (!address_read(request, &address))
        return;
    json_t *object = request_json(request, false);
    if (!object || !request_json_members(request, object, members) ||
        !lease_holder_member(request, object, &call->lease.holder) ||
        !lease_ttl_member(request, object, &call->lease.ttl))
        return;
    int seconds = preferred_wait(request);
    if (seconds <= 0 || http_server_draining(context_of(request)->server))
        acquire_now(request, call, &address);
    else if (request->keyed)
        lease_wait_under_key(request, &address, call->lease.holder, call->lease.ttl, seconds);
    else
        lease_wait(request, &address, call->lease.holder, call->lease.ttl, seconds);
}

// --- renew
// ------------------------------------------------------------------------------------------------------------

enum { RENEW_PATH, RENEW_HOLDER, RENEW_TOKEN, RENEW_TTL, RENEW_COLUMNS };

enum renew_result { RENEWED_ORDINAL, RENEWED_STATUS, RENEWED_POSITION, RENEWED_EXPIRES_AT, RENEWED_KIND };

static const struct statement renew_leases = {
    .name = "renew_leases",
    .sql = "select * from holdfast.renew_leases($1, $2, $3, $4, $5, $6, $7)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .keys = KEYS_ANY,
    .columns = RENEW_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_TEXT, COLUMN_INT8, COLUMN_INT8},
};

static void renew_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct lease *lease = &((struct lease_call *)operation)->lease;
    if (!outcome_usable(request, outcome))
        return;
    switch ((enum write_status)outcome_number(outcome, 0, RENEWED_STATUS)) {
    case WRITE_NEW:
        lease->expires_at = outcome_time(outcome, 0, RENEWED_EXPIRES_AT);
        lease->position = outcome_number(outcome, 0, RENEWED_POSITION);
        reply_lease(request, 200, lease);
        return;
    case WRITE_OTHER_KIND:
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, RENEWED_KIND));
        return;
    default:
        reply_lease_lost(request);
        return;
    }
}

void lease_renew(struct request *request)
{
    static const char *const members[] = {"holder", "token", "ttl", NULL};
    struct lease_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct address address;
    if (!address_read(request, &address))
        return;
    json_t *object = request_json(request, false);
    if (!object || !request_json_members(request, object, members) ||
        !lease_holder_member(request, object, &call->lease.holder) ||
        !lease_token_member(request, object, &call->lease.token) ||
        !lease_ttl_member(request, object, &call->lease.ttl))
        return;
    call->values[RENEW_PATH] = value_bytes(address.path);
    call->values[RENEW_HOLDER] = value_bytes(call->lease.holder);
    call->values[RENEW_TOKEN] = value_number(call->lease.token);
    call->values[RENEW_TTL] = value_number(call->lease.ttl);
    submit(request, call, &renew_leases, &address, renew_done);
}

// --- release
// ----------------------------------------------------------------------------------------------------------

static void release_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    switch ((enum write_status)outcome_number(outcome, 0, RELEASED_STATUS)) {
    case WRITE_NEW:
        reply_position(request, outcome_number(outcome, 0, RELEASED_POSITION));
        count_add(&context_of(request)->counts->leases[LEASE_RELEASED], 1);
        reply_json(request, 200, bytes_of("{\"released\":true}\n"));
        return;
    case WRITE_OTHER_KIND:
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, RELEASED_KIND));
        return;
    default:
        request->effectless = true;
        reply_json(request, 200, bytes_of("{\"released\":false}\n"));
        return;
    }
}

static bool read_argument(struct request *request, const char *name, struct bytes *value)
{
    bool given;
    *value = request_argument(request, name, &given);
    if (!given)
        reply_invalid(request, name, "the query needs %s", name);
    return given;
}

void lease_release(struct request *request)
{
    struct lease_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct lease *lease = &call->lease;
    struct address address;
    struct bytes token;
    if (!address_read(request, &address) || !read_argument(request, "holder", &lease->holder) ||
        !lease_holder_check(request, lease->holder) || !read_argument(request, "token", &token) ||
        !lease_token_parse(request, "token", token, &lease->token))
        return;
    call->values[RELEASE_PATH] = value_bytes(address.path);
    call->values[RELEASE_HOLDER] = value_bytes(lease->holder);
    call->values[RELEASE_TOKEN] = value_number(lease->token);
    submit(request, call, &release_leases, &address, release_done);
}

// --- who holds it
// -----------------------------------------------------------------------------------------------------

enum { HOLD_PATH, HOLD_COLUMNS };

enum hold_result { HELD_ORDINAL, HELD_STATUS, HELD_HOLDER, HELD_EXPIRES_AT, HELD_POSITION, HELD_KIND };

static const struct statement get_leases = {
    .name = "get_leases",
    .sql = "select * from holdfast.get_leases($1, $2, $3, $4)",
    .form = STATEMENT_SHARED,
    .role = ROLE_READ,
    .keys = KEYS_ANY,
    .columns = HOLD_COLUMNS,
    .column = {COLUMN_BYTEA},
};

static void reply_holder(struct request *request, const struct outcome *outcome)
{
    struct buffer json = {0};
    buffer_add_text(&json, "{\"holder\":");
    buffer_add_json(&json, outcome_bytes(outcome, 0, HELD_HOLDER));
    buffer_printf(&json, ",\"expires_at\":\"%s\",\"position\":\"%lld\"}\n",
                  reply_time(request, outcome_time(outcome, 0, HELD_EXPIRES_AT)),
                  (long long)outcome_number(outcome, 0, HELD_POSITION));
    reply_json_buffer(request, 200, &json);
}

static void get_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    switch ((enum write_status)outcome_number(outcome, 0, HELD_STATUS)) {
    case WRITE_NEW:
        reply_holder(request, outcome);
        return;
    case WRITE_NO_BUCKET:
        reply_no_bucket(request, operation->bucket);
        return;
    case WRITE_OTHER_KIND:
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, HELD_KIND));
        return;
    default:
        reply_simple_problem(request, PROBLEM_NOT_FOUND, "nobody holds this lease");
        return;
    }
}

void lease_get(struct request *request)
{
    struct lease_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct address address;
    if (!address_read(request, &address))
        return;
    call->values[HOLD_PATH] = value_bytes(address.path);
    submit(request, call, &get_leases, &address, get_done);
}
