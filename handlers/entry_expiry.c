// Changing the expiry of a live entry; its version stays.
#include "handlers/entry_expiry.h"

#include "base/duration.h"
#include "base/timestamp.h"
#include "handlers/entry_call.h"
#include "handlers/entry_reply.h"
#include "handlers/fork.h"
#include "handlers/json_input.h"
#include "handlers/outcome.h"

enum {
    EXPIRE_PATH,
    EXPIRE_CONDITIONS,
    EXPIRE_IF_VERSIONS,
    EXPIRE_UNLESS_VERSIONS,
    EXPIRE_TTL,
    EXPIRE_UNTIL,
    EXPIRE_COLUMNS
};
enum { EXPIRE_FORK = EXPIRE_COLUMNS, EXPIRE_FORK_COLUMNS };
enum expire_result {
    EXPIRED_ORDINAL,
    EXPIRED_STATUS,
    EXPIRED_VERSION,
    EXPIRED_KIND,
    EXPIRED_AT,
    EXPIRED_POSITION
};

#define EXPIRE_COLUMN_TYPES COLUMN_BYTEA, COLUMN_INT2, COLUMN_TEXT, COLUMN_TEXT, COLUMN_INT8, COLUMN_TIME

static const struct statement expire_entries = {
    .name = "expire_entries",
    .sql = "select * from holdfast.expire_entries($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .changes_entries = true,
    .keys = KEYS_ONCE,
    .columns = EXPIRE_COLUMNS,
    .column = {EXPIRE_COLUMN_TYPES},
};

static const struct statement expire_fork_entries = {
    .name = "expire_fork_entries",
    .sql = "select * from holdfast.expire_fork_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .keys = KEYS_ONCE,
    .columns = EXPIRE_FORK_COLUMNS,
    .column = {EXPIRE_COLUMN_TYPES, COLUMN_TEXT},
};

struct expire_call {
    struct operation operation; // first: the operation is the call
    struct value values[EXPIRE_FORK_COLUMNS];
};

static void expire_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome) ||
        fork_refused(request, outcome_number(outcome, 0, EXPIRED_STATUS)))
        return;
    switch ((enum write_status)outcome_number(outcome, 0, EXPIRED_STATUS)) {
    case WRITE_NEW:
        reply_etag(request, outcome_number(outcome, 0, EXPIRED_VERSION));
        reply_position(request, outcome_number(outcome, 0, EXPIRED_POSITION));
        if (!outcome_null(outcome, 0, EXPIRED_AT))
            reply_expires_at(request, outcome_time(outcome, 0, EXPIRED_AT));
        reply_empty(request, 204);
        return;
    case WRITE_CONFLICT:
        reply_version_conflict(request, !outcome_null(outcome, 0, EXPIRED_VERSION),
                               outcome_number(outcome, 0, EXPIRED_VERSION));
        return;
    case WRITE_NO_BUCKET:
        reply_no_bucket(request, operation->bucket);
        return;
    case WRITE_OTHER_KIND:
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, EXPIRED_KIND));
        return;
    case WRITE_PAST:
        reply_invalid(request, "expires_at", "the time is in the past by the database's clock");
        return;
    default:
        reply_absent(request);
        return;
    }
}

static void expire_submit(struct request *request, const struct expiry *expiry)
{
    struct address address;
    struct precondition precondition;
    if (!address_read(request, &address))
        return;
    precondition_read(request, &precondition);
    struct expire_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[EXPIRE_PATH] = value_bytes(address.path);
    call->values[EXPIRE_CONDITIONS] = precondition.flags;
    call->values[EXPIRE_IF_VERSIONS] = precondition.if_versions;
    call->values[EXPIRE_UNLESS_VERSIONS] = precondition.unless_versions;
    call->values[EXPIRE_TTL] = expiry->ttl;
    call->values[EXPIRE_UNTIL] = expiry->until;
    call->values[EXPIRE_FORK] = value_bytes(address.fork);
    call->operation = (struct operation){
        .statement = address.fork.data ? &expire_fork_entries : &expire_entries,
        .bucket = address.bucket,
        .key = address.path,
        .values = call->values,
        .done = expire_done,
        .owner = request,
    };
    request_submit(request, &call->operation);
}

void entry_expiry_put(struct request *request)
{
    static const char *const members[] = {"ttl", "expires_at", NULL};
    struct expiry expiry = {0};
    json_t *object = request_json(request, false);
    if (!object || !request_json_members(request, object, members) ||
        !input_duration(request, object, "ttl", &expiry.ttl) ||
        !input_time(request, object, "expires_at", &expiry.until))
        return;
    if (expiry.ttl.given == expiry.until.given) {
        reply_invalid(request, "ttl", "give either ttl or expires_at");
        return;
    }
    expire_submit(request, &expiry);
}

void entry_expiry_delete(struct request *request)
{
    struct expiry never = {.ttl = value_number(TTL_PERSIST)};
    expire_submit(request, &never);
}
