// Single entries over HTTP: each call is parsed into one operation, and its row becomes the reply.
#include "handlers/entries.h"

#include "handlers/entry_call.h"
#include "handlers/entry_reply.h"
#include "handlers/fork.h"
#include "handlers/outcome.h"

// --- PUT
// --------------------------------------------------------------------------------------------------------------

static void put_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome) ||
        put_call_refused(request, (struct put_call *)operation, outcome) != PUT_NOT_REFUSED)
        return;
    enum write_status status = (enum write_status)outcome_number(outcome, 0, WROTE_STATUS);
    if (status == WRITE_CONFLICT) {
        reply_version_conflict(request, !outcome_null(outcome, 0, WROTE_VERSION),
                               outcome_number(outcome, 0, WROTE_VERSION));
        return;
    }
    int64_t version = outcome_number(outcome, 0, WROTE_VERSION) - outcome->behind;
    reply_etag(request, version);
    reply_position(request, version);
    if (!outcome_null(outcome, 0, WROTE_EXPIRES_AT))
        reply_expires_at(request, outcome_time(outcome, 0, WROTE_EXPIRES_AT));
    reply_empty(request, status == WRITE_NEW && outcome->first ? 201 : 204);
}

void entry_put(struct request *request)
{
    struct address address;
    struct expiry expiry;
    struct precondition precondition;
    if (!address_read(request, &address) || !expiry_read(request, &expiry))
        return;
    precondition_read(request, &precondition);
    if (!fence_read(request, &precondition.fence))
        return;
    struct bytes content_type = request->headers[HEADER_CONTENT_TYPE];
    struct content content = {
        .value = request->body,
        .content_type = content_type.size ? value_bytes(content_type) : value_null(),
        .metadata = metadata_encode(request),
    };
    struct put_call *call = arena_zalloc(&request->arena, sizeof *call);
    put_call_submit(request, call, &address, &content, &precondition, &expiry, put_done, request);
}

// --- DELETE, take
// -----------------------------------------------------------------------------------------------------

enum { TAKE_PATH, TAKE_CONDITIONS, TAKE_IF_VERSIONS, TAKE_UNLESS_VERSIONS, TAKE_COLUMNS };

enum { DELETE_FENCED_COLUMNS = TAKE_COLUMNS + FENCE_COLUMNS };
enum { TAKE_FORK = TAKE_COLUMNS, TAKE_FORK_COLUMNS };

enum take_result {
    TOOK_ORDINAL,
    TOOK_STATUS,
    TOOK_VERSION,
    TOOK_KIND,
    TOOK_TAKEN,
    TOOK_CONTENT_TYPE,
    TOOK_METADATA,
    TOOK_EXPIRES_AT,
    TOOK_VALUE,
};

#define TAKE_COLUMN_TYPES COLUMN_BYTEA, COLUMN_INT2, COLUMN_TEXT, COLUMN_TEXT
#define TAKE_STATEMENT(function)                                                                             \
    .sql = "select * from holdfast." function, .form = STATEMENT_SHARED, .writes = true,                     \
    .changes_entries = true, .keys = KEYS_ANY, .columns = TAKE_COLUMNS, .column = {TAKE_COLUMN_TYPES}

static const struct statement delete_entries = {.name = "delete_entries",
                                                .role = ROLE_WRITE,
                                                TAKE_STATEMENT("delete_entries($1, $2, $3, $4, $5, $6, $7)")};
static const struct statement delete_fenced_entries = {
    .name = "delete_fenced_entries",
    .sql = "select * from holdfast.delete_fenced_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .changes_entries = true,
    .keys = KEYS_ANY,
    .columns = DELETE_FENCED_COLUMNS,
    .column = {TAKE_COLUMN_TYPES, FENCE_COLUMN_TYPES},
};
static const struct statement take_entries = {
    .name = "take_entries",
    .role = ROLE_WRITE,
    TAKE_STATEMENT("take_entries($1, $2, $3, $4, $5, $6, $7, 65536)")};
static const struct statement take_large_entry = {
    .name = "take_large_entry",
    .role = ROLE_LARGE,
    TAKE_STATEMENT("take_entries($1, $2, $3, $4, $5, $6, $7, 2147483647)")};

#define TAKE_FORK_STATEMENT(function)                                                                        \
    .sql = "select * from holdfast." function, .form = STATEMENT_SHARED, .writes = true, .keys = KEYS_ANY,   \
    .columns = TAKE_FORK_COLUMNS, .column = {TAKE_COLUMN_TYPES, COLUMN_TEXT}

static const struct statement delete_fork_entries = {
    .name = "delete_fork_entries",
    .role = ROLE_WRITE,
    TAKE_FORK_STATEMENT("delete_fork_entries($1, $2, $3, $4, $5, $6, $7, $8)")};
static const struct statement take_fork_entries = {
    .name = "take_fork_entries",
    .role = ROLE_WRITE,
    TAKE_FORK_STATEMENT("take_fork_entries($1, $2, $3, $4, $5, $6, $7, $8, 65536)")};
static const struct statement take_large_fork_entry = {
    .name = "take_large_fork_entry",
    .role = ROLE_LARGE,
    TAKE_FORK_STATEMENT("take_fork_entries($1, $2, $3, $4, $5, $6, $7, $8, 2147483647)")};

struct take_call {
    struct operation operation;                 // first: the operation is the call
    struct value values[DELETE_FENCED_COLUMNS]; // those of the fence, or the fork, last
    struct sealed_write sealed;                 // of a take whose value is sealed
    struct stored_entry entry;
    bool corrupt;
};

// Replies to every status but success and WRITE_LARGE; false for those.
static bool take_refused(struct request *request, const struct operation *operation,
                         const struct outcome *outcome)
{
    if (fork_refused(request, outcome_number(outcome, 0, TOOK_STATUS)))
        return true;
    switch ((enum write_status)outcome_number(outcome, 0, TOOK_STATUS)) {
    case WRITE_NEW:
    case WRITE_LARGE:
        return false;
    case WRITE_CONFLICT:
        reply_version_conflict(request, !outcome_null(outcome, 0, TOOK_VERSION),
                               outcome_number(outcome, 0, TOOK_VERSION));
        return true;
    case WRITE_NO_BUCKET:
        reply_no_bucket(request, operation->bucket);
        return true;
    case WRITE_OTHER_KIND:
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, TOOK_KIND));
        return true;
    case WRITE_LEASE_LOST:
        reply_lease_lost(request);
        return true;
    default:
        reply_absent(request);
        return true;
    }
}

static void delete_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome) || take_refused(request, operation, outcome))
        return;
    reply_position(request, outcome_number(outcome, 0, TOOK_VERSION));
    reply_empty(request, 204);
}

static void reply_taken(struct request *request, const struct outcome *outcome,
                        const struct stored_entry *entry, bool sealed)
{
    reply_etag(request, entry->version);
    reply_position(request, outcome_number(outcome, 0, TOOK_VERSION));
    if (!outcome_null(outcome, 0, TOOK_EXPIRES_AT))
        reply_expires_at(request, outcome_time(outcome, 0, TOOK_EXPIRES_AT));
    reply_content_type(request, entry->content_type);
    reply_metadata(request, entry->metadata);
    if (sealed)
        reply_send(request, 200, entry->value);
    else
        reply_value(request, 200, entry->value, outcome);
}

static struct stored_entry taken_entry(const struct take_call *call, const struct outcome *outcome)
{
    return (struct stored_entry){
        .bucket = call->operation.bucket,
        .fork = call->values[TAKE_FORK].bytes,
        .path = call->operation.key,
        .version = outcome_number(outcome, 0, TOOK_TAKEN),
        .declared = outcome_bytes(outcome, 0, TOOK_KIND),
        .content_type = outcome_bytes(outcome, 0, TOOK_CONTENT_TYPE),
        .metadata = outcome_bytes(outcome, 0, TOOK_METADATA),
        .has_value = !outcome_null(outcome, 0, TOOK_VALUE),
        .value = outcome_bytes(outcome, 0, TOOK_VALUE),
    };
}

// What does not open is not taken.
static enum sealed_verdict open_taken(struct sealed_write *write, const struct outcome *outcome)
{
    struct take_call *call = write->owner;
    if (outcome_number(outcome, 0, TOOK_STATUS) != WRITE_NEW)
        return SEALED_KEEP;
    call->entry = taken_entry(call, outcome);
    call->corrupt = !entry_open(write->context, write->arena, &call->entry);
    return call->corrupt ? SEALED_UNDO : SEALED_KEEP;
}

static void sealed_take_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    const struct take_call *call = (const struct take_call *)operation;
    if (!outcome_usable(request, outcome) || take_refused(request, operation, outcome))
        return;
    if (call->corrupt)
        reply_corrupt(request, &call->entry);
    else
        reply_taken(request, outcome, &call->entry, true);
}

static void take_sealed(struct request *request, struct take_call *call)
{
    call->operation.done = sealed_take_done;
    call->corrupt = false;
    call->sealed = (struct sealed_write){
        .arena = &request->arena,
        .operation = &call->operation,
        .alone = true,
        .seal = open_taken,
        .owner = call,
    };
    sealed_write_submit(context_of(request), &call->sealed);
}

static void take_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct take_call *call = (struct take_call *)operation;
    if (!outcome_usable(request, outcome) || take_refused(request, operation, outcome))
        return;
    struct stored_entry entry = taken_entry(call, outcome);
    if (outcome_number(outcome, 0, TOOK_STATUS) == WRITE_LARGE) {
        operation->statement =
            operation->statement == &take_fork_entries ? &take_large_fork_entry : &take_large_entry;
        if (entry_sealed(&entry))
            take_sealed(request, call);
        else
            request_submit(request, operation);
        return;
    }
    reply_taken(request, outcome, &entry, false);
}

static void take_submit(struct request *request, struct take_call *call, const struct statement *statement,
                        const struct statement *forked,
                        void (*done)(struct operation *, const struct outcome *))
{
    struct address address;
    struct precondition precondition;
    if (!address_read(request, &address))
        return;
    precondition_read(request, &precondition);
    if (address.fork.data)
        call->values[TAKE_FORK] = value_bytes(address.fork);
    call->values[TAKE_PATH] = value_bytes(address.path);
    call->values[TAKE_CONDITIONS] = precondition.flags;
    call->values[TAKE_IF_VERSIONS] = precondition.if_versions;
    call->values[TAKE_UNLESS_VERSIONS] = precondition.unless_versions;
    call->operation = (struct operation){
        .statement = address.fork.data ? forked : statement,
        .bucket = address.bucket,
        .key = address.path,
        .values = call->values,
        .done = done,
        .owner = request,
    };
    request_submit(request, &call->operation);
}

void entry_delete(struct request *request)
{
    struct take_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct fence fence;
    if (!fence_read(request, &fence))
        return;
    if (fence.given)
        fence_values(&fence, call->values + TAKE_COLUMNS);
    take_submit(request, call, fence.given ? &delete_fenced_entries : &delete_entries, &delete_fork_entries,
                delete_done);
}

void entry_take(struct request *request)
{
    struct take_call *call = arena_zalloc(&request->arena, sizeof *call);
    take_submit(request, call, &take_entries, &take_fork_entries, take_done);
}
