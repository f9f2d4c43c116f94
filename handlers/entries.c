// Single entries over HTTP: each call is parsed into one operation, and its row becomes the reply.
#include "handlers/entries.h"

#include "handlers/entry_call.h"
#include "handlers/entry_renew.h"
#include "handlers/entry_reply.h"
#include "handlers/outcome.h"

// --- GET, HEAD
// --------------------------------------------------------------------------------------------------------

static void reply_live(struct request *request, struct get_call *call, const struct outcome *outcome)
{
    int64_t version = outcome_number(outcome, 0, GOT_VERSION);
    const struct conditions *conditions = &request->conditions;
    struct bytes tag = arena_decimal(&request->arena, 0, version, 0);
    if (conditions->if_match.given && !condition_matches(&conditions->if_match, tag)) {
        reply_version_conflict(request, true, version);
        return;
    }
    bool unchanged = conditions->if_none_match.given && condition_matches(&conditions->if_none_match, tag);
    if (!unchanged && get_call_large(context_of(request), call, outcome))
        return;
    reply_etag(request, version);
    if (!outcome_null(outcome, 0, GOT_EXPIRES_AT))
        reply_expires_at(request, outcome_time(outcome, 0, GOT_EXPIRES_AT));
    size_t size = (size_t)outcome_number(outcome, 0, GOT_SIZE);
    if (unchanged) {
        reply_without_body(request, 304, size);
        return;
    }
    reply_content_type(request, outcome_bytes(outcome, 0, GOT_CONTENT_TYPE));
    reply_metadata(request, outcome_bytes(outcome, 0, GOT_METADATA));
    if (bytes_is(request->method, "HEAD"))
        reply_without_body(request, 200, size);
    else
        reply_value(request, 200, outcome_bytes(outcome, 0, GOT_VALUE), outcome);
}

static void get_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct get_call *call = (struct get_call *)operation;
    if (!outcome_usable(request, outcome))
        return;
    switch ((enum get_status)outcome_number(outcome, 0, GOT_STATUS)) {
    case GET_LIVE:
        if (entry_renew_first(request, call, outcome))
            return;
        reply_live(request, call, outcome);
        return;
    case GET_ABSENT:
        reply_absent(request);
        return;
    case GET_NO_BUCKET:
        reply_no_bucket(request, operation->bucket);
        return;
    case GET_OTHER_KIND:
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, GOT_KIND));
        return;
    }
}

// The one version the client has already, when it names exactly one: its value need not be sent to us either.
static struct value known_version(const struct request *request)
{
    const struct condition *condition = &request->conditions.if_none_match;
    int64_t version;
    if (condition->count == 1 && version_parse(condition->tags[0], &version))
        return value_number(version);
    return value_null();
}

void entry_get(struct request *request)
{
    struct address address;
    if (!address_read(request, &address))
        return;
    struct get_call *call = arena_zalloc(&request->arena, sizeof *call);
    get_call_submit(context_of(request), call, &address, known_version(request),
                    !bytes_is(request->method, "HEAD"), get_done, request);
}

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
    struct bytes content_type = request->headers[HEADER_CONTENT_TYPE];
    struct content content = {
        .value = request->body,
        .content_type = content_type.size ? value_bytes(content_type) : value_null(),
        .metadata = metadata_encode(request),
    };
    struct put_call *call = arena_zalloc(&request->arena, sizeof *call);
    put_call_submit(context_of(request), call, &address, &content, &precondition, &expiry, put_done, request);
}

// --- DELETE, take
// -----------------------------------------------------------------------------------------------------

enum { TAKE_PATH, TAKE_CONDITIONS, TAKE_IF_VERSIONS, TAKE_UNLESS_VERSIONS, TAKE_COLUMNS };

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

#define TAKE_STATEMENT(function)                                                                             \
    .sql = "select * from holdfast." function, .form = STATEMENT_SHARED, .writes = true, .keys = KEYS_ANY,   \
    .columns = TAKE_COLUMNS, .column = {COLUMN_BYTEA, COLUMN_INT2, COLUMN_TEXT, COLUMN_TEXT}

static const struct statement delete_entries = {.name = "delete_entries",
                                                .role = ROLE_WRITE,
                                                TAKE_STATEMENT("delete_entries($1, $2, $3, $4, $5, $6, $7)")};
static const struct statement take_entries = {
    .name = "take_entries",
    .role = ROLE_WRITE,
    TAKE_STATEMENT("take_entries($1, $2, $3, $4, $5, $6, $7, 65536)")};
static const struct statement take_large_entry = {
    .name = "take_large_entry",
    .role = ROLE_LARGE,
    TAKE_STATEMENT("take_entries($1, $2, $3, $4, $5, $6, $7, 2147483647)")};

struct take_call {
    struct operation operation; // first: the operation is the call
    struct value values[TAKE_COLUMNS];
};

// Replies to every status but success and WRITE_LARGE; false for those.
static bool take_refused(struct request *request, const struct operation *operation,
                         const struct outcome *outcome)
{
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

static void take_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome) || take_refused(request, operation, outcome))
        return;
    if (outcome_number(outcome, 0, TOOK_STATUS) == WRITE_LARGE) {
        operation->statement = &take_large_entry;
        store_submit(context_of(request)->store, operation);
        return;
    }
    reply_etag(request, outcome_number(outcome, 0, TOOK_TAKEN));
    reply_position(request, outcome_number(outcome, 0, TOOK_VERSION));
    if (!outcome_null(outcome, 0, TOOK_EXPIRES_AT))
        reply_expires_at(request, outcome_time(outcome, 0, TOOK_EXPIRES_AT));
    reply_content_type(request, outcome_bytes(outcome, 0, TOOK_CONTENT_TYPE));
    reply_metadata(request, outcome_bytes(outcome, 0, TOOK_METADATA));
    reply_value(request, 200, outcome_bytes(outcome, 0, TOOK_VALUE), outcome);
}

static void take_submit(struct request *request, const struct statement *statement,
                        void (*done)(struct operation *, const struct outcome *))
{
    struct address address;
    struct precondition precondition;
    if (!address_read(request, &address))
        return;
    precondition_read(request, &precondition);
    struct take_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[TAKE_PATH] = value_bytes(address.path);
    call->values[TAKE_CONDITIONS] = precondition.flags;
    call->values[TAKE_IF_VERSIONS] = precondition.if_versions;
    call->values[TAKE_UNLESS_VERSIONS] = precondition.unless_versions;
    call->operation = (struct operation){
        .statement = statement,
        .bucket = address.bucket,
        .key = address.path,
        .values = call->values,
        .done = done,
        .owner = request,
    };
    store_submit(context_of(request)->store, &call->operation);
}

void entry_delete(struct request *request)
{
    take_submit(request, &delete_entries, delete_done);
}

void entry_take(struct request *request)
{
    take_submit(request, &take_entries, take_done);
}
