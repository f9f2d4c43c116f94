// Single entries over HTTP: each call is parsed into one operation, and its row becomes the reply.
#include "handlers/entries.h"

#include "handlers/address.h"
#include "handlers/entry_reply.h"
#include "handlers/expiry.h"
#include "handlers/outcome.h"
#include "handlers/precondition.h"
#include "handlers/value_type.h"

// --- reading ----------------------------------------------------------------------------------------------------------

enum { GET_PATH, GET_UNLESS, GET_WANTED, GET_COLUMNS };

enum get_result {
    GOT_ORDINAL,
    GOT_STATUS,
    GOT_VERSION,
    GOT_EXPIRES_AT,
    GOT_IDLE,
    GOT_CONTENT_TYPE,
    GOT_METADATA,
    GOT_SIZE,
    GOT_VALUE,
    GOT_KIND,
};

enum get_status { GET_LIVE, GET_ABSENT, GET_NO_BUCKET, GET_OTHER_KIND };

// A value above this is fetched once more on a connection of its own, so that no small one waits behind it.
#define SMALL_VALUE "65536"

static const struct statement get_entries = {
    .name = "get_entries",
    .sql = "select * from holdfast.get_entries($1, $2, $3, $4, $5, $6, " SMALL_VALUE ")",
    .form = STATEMENT_SHARED,
    .role = ROLE_READ,
    .keys = KEYS_ANY,
    .columns = GET_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_BOOL},
};

static const struct statement get_large_entry = {
    .name = "get_large_entry",
    .sql = "select * from holdfast.get_entries($1, $2, $3, $4, $5, $6, 2147483647)",
    .form = STATEMENT_SHARED,
    .role = ROLE_LARGE,
    .keys = KEYS_ANY,
    .columns = GET_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_BOOL},
};

struct get_call {
    struct operation operation; // first: the operation is the call
    struct value values[GET_COLUMNS];
};

static void release_result(void *owner)
{
    held_release(owner);
}

static void reply_entry(struct request *request, const struct outcome *outcome)
{
    struct bytes type = outcome_bytes(outcome, 0, GOT_CONTENT_TYPE);
    reply_header(request, "Content-Type",
                 type.size ? (const char *)arena_copy(&request->arena, type).data : "application/octet-stream");
    reply_metadata(request, outcome_bytes(outcome, 0, GOT_METADATA));
    if (bytes_is(request->method, "HEAD")) {
        reply_without_body(request, 200, (size_t)outcome_number(outcome, 0, GOT_SIZE));
        return;
    }
    struct bytes value = outcome_bytes(outcome, 0, GOT_VALUE);
    if (value.size <= 16384) {
        reply_send(request, 200, arena_copy(&request->arena, value));
        return;
    }
    reply_held(request, 200, value, (struct held_body){outcome_hold(outcome), release_result});
}

static void reply_live(struct request *request, struct get_call *call, const struct outcome *outcome)
{
    int64_t version = outcome_number(outcome, 0, GOT_VERSION);
    const struct conditions *conditions = &request->conditions;
    struct bytes tag = bytes_of(arena_printf(&request->arena, "%lld", (long long)version));
    if (conditions->if_match.given && !condition_matches(&conditions->if_match, tag)) {
        reply_version_conflict(request, true, version);
        return;
    }
    bool unchanged = conditions->if_none_match.given && condition_matches(&conditions->if_none_match, tag);
    if (!unchanged && call->values[GET_WANTED].number && outcome_null(outcome, 0, GOT_VALUE)) {
        call->operation.statement = &get_large_entry;
        store_submit(context_of(request)->store, &call->operation);
        return;
    }
    reply_etag(request, version);
    if (!outcome_null(outcome, 0, GOT_EXPIRES_AT))
        reply_expires_at(request, outcome_time(outcome, 0, GOT_EXPIRES_AT));
    if (unchanged)
        reply_without_body(request, 304, (size_t)outcome_number(outcome, 0, GOT_SIZE));
    else
        reply_entry(request, outcome);
}

static void get_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    switch ((enum get_status)outcome_number(outcome, 0, GOT_STATUS)) {
    case GET_LIVE:
        reply_live(request, (struct get_call *)operation, outcome);
        return;
    case GET_ABSENT:
        reply_simple_problem(request, PROBLEM_NOT_FOUND, "there is no live entry of this key in this branch");
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
    call->values[GET_PATH] = value_bytes(address.path);
    call->values[GET_UNLESS] = known_version(request);
    call->values[GET_WANTED] = value_number(!bytes_is(request->method, "HEAD"));
    call->operation = (struct operation){
        .statement = &get_entries,
        .bucket = address.bucket,
        .key = address.path,
        .values = call->values,
        .done = get_done,
        .owner = request,
    };
    store_submit(context_of(request)->store, &call->operation);
}

// --- writing ----------------------------------------------------------------------------------------------------------

enum put_column {
    PUT_PATH,
    PUT_VALUE,
    PUT_CONTENT_TYPE,
    PUT_METADATA,
    PUT_CHECKED,
    PUT_CONDITIONS,
    PUT_IF_VERSIONS,
    PUT_UNLESS_VERSIONS,
    PUT_TTL,
    PUT_UNTIL,
    PUT_DECLARES,
    PUT_COLUMNS,
};

enum write_result { WROTE_ORDINAL, WROTE_STATUS, WROTE_VERSION, WROTE_EXPIRES_AT, WROTE_MOST, WROTE_TYPE };

enum write_status {
    WRITE_NEW,
    WRITE_REPLACED,
    WRITE_CONFLICT,
    WRITE_NO_BUCKET,
    WRITE_OTHER_KIND,
    WRITE_OTHER_TYPE,
    WRITE_TOO_LARGE,
    WRITE_PAST,
    WRITE_ABSENT,
};

#define PUT_STATEMENT                                                                                                  \
    .sql = "select * from holdfast.put_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",          \
    .form = STATEMENT_SHARED, .writes = true, .keys = KEYS_ONCE, .columns = PUT_COLUMNS,                               \
    .column = {                                                                                                        \
        [PUT_PATH] = COLUMN_BYTEA,        [PUT_VALUE] = COLUMN_BYTEA,       [PUT_CONTENT_TYPE] = COLUMN_TEXT,          \
        [PUT_METADATA] = COLUMN_BYTEA,    [PUT_CHECKED] = COLUMN_TEXT,      [PUT_CONDITIONS] = COLUMN_INT2,            \
        [PUT_IF_VERSIONS] = COLUMN_TEXT,  [PUT_UNLESS_VERSIONS] = COLUMN_TEXT, [PUT_TTL] = COLUMN_INT8,                \
        [PUT_UNTIL] = COLUMN_TIME,        [PUT_DECLARES] = COLUMN_BOOL,                                                \
    }

static const struct statement put_entries = {.name = "put_entries", .role = ROLE_WRITE, PUT_STATEMENT};
static const struct statement put_large_entry = {.name = "put_large_entry", .role = ROLE_LARGE, PUT_STATEMENT};

enum { LARGE_VALUE = 64 << 10 };

struct put_call {
    struct operation operation; // first: the operation is the call
    struct value values[PUT_COLUMNS];
    enum value_type checked;
};

static int *type_hint(struct context *context, struct bytes bucket)
{
    uint64_t hash = bytes_hash(bucket, 1);
    size_t slot = hash % TYPE_HINTS;
    if (context->type_hints[slot].hash != hash) {
        context->type_hints[slot].hash = hash;
        context->type_hints[slot].type = TYPE_ANY;
    }
    return &context->type_hints[slot].type;
}

static void checked_for(struct put_call *call, enum value_type type)
{
    call->checked = type;
    call->values[PUT_CHECKED] = value_bytes(bytes_of(value_type_name(type)));
}

// The bucket has another type than the value was checked for: check for that one, and try again or say what it wants.
static void check_again(struct request *request, struct put_call *call, struct bytes type_name)
{
    enum value_type type;
    if (!value_type_parse(type_name, &type)) {
        reply_simple_problem(request, PROBLEM_INTERNAL, "the bucket has a type that this version does not know");
        return;
    }
    *type_hint(context_of(request), call->operation.bucket) = type;
    if (!value_type_accepts(type, request->body)) {
        reply_simple_problem(request, PROBLEM_TYPE_MISMATCH, "the bucket's type is %s: it takes %s",
                             value_type_name(type), value_type_wants(type));
        return;
    }
    checked_for(call, type);
    store_submit(context_of(request)->store, &call->operation);
}

static void reply_value_too_large(struct request *request, int64_t most)
{
    struct problem problem = {
        .kind = PROBLEM_TOO_LARGE,
        .detail = "the value is larger than the bucket's max_value_bytes",
        .extra = arena_printf(&request->arena, "\"limit\":%lld", (long long)most),
    };
    reply_problem(request, &problem);
}

static void reply_written(struct request *request, const struct outcome *outcome, bool created)
{
    int64_t version = outcome_number(outcome, 0, WROTE_VERSION) - outcome->behind;
    reply_etag(request, version);
    reply_position(request, version);
    if (!outcome_null(outcome, 0, WROTE_EXPIRES_AT))
        reply_expires_at(request, outcome_time(outcome, 0, WROTE_EXPIRES_AT));
    reply_empty(request, created ? 201 : 204);
}

static void put_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct put_call *call = (struct put_call *)operation;
    if (!outcome_usable(request, outcome))
        return;
    enum write_status status = (enum write_status)outcome_number(outcome, 0, WROTE_STATUS);
    // What a later put of the same key met says nothing about this one, which was never tried.
    bool stood_for = outcome->behind > 0;
    if (stood_for && status != WRITE_NEW && status != WRITE_REPLACED) {
        operation->collapses = false;
        store_submit(context_of(request)->store, operation);
        return;
    }
    switch (status) {
    case WRITE_NEW:
    case WRITE_REPLACED:
        reply_written(request, outcome, status == WRITE_NEW && outcome->first);
        return;
    case WRITE_CONFLICT:
        reply_version_conflict(request, !outcome_null(outcome, 0, WROTE_VERSION),
                               outcome_number(outcome, 0, WROTE_VERSION));
        return;
    case WRITE_NO_BUCKET:
        reply_no_bucket(request, operation->bucket);
        return;
    case WRITE_OTHER_KIND:
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, WROTE_TYPE));
        return;
    case WRITE_OTHER_TYPE:
        check_again(request, call, outcome_bytes(outcome, 0, WROTE_TYPE));
        return;
    case WRITE_TOO_LARGE:
        reply_value_too_large(request, outcome_number(outcome, 0, WROTE_MOST));
        return;
    case WRITE_PAST:
        reply_invalid(request, "expires_at", "the time is in the past by the database's clock");
        return;
    case WRITE_ABSENT:
        break;
    }
}

void entry_put(struct request *request)
{
    struct address address;
    struct expiry expiry;
    struct precondition precondition;
    if (!address_read(request, &address) || !expiry_read(request, &expiry))
        return;
    precondition_read(request, &precondition);
    struct context *context = context_of(request);
    struct bytes content_type = request->headers[HEADER_CONTENT_TYPE];
    struct put_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[PUT_PATH] = value_bytes(address.path);
    call->values[PUT_VALUE] = value_bytes(request->body);
    call->values[PUT_CONTENT_TYPE] = content_type.size ? value_bytes(content_type) : value_null();
    call->values[PUT_METADATA] = metadata_encode(request);
    call->values[PUT_CONDITIONS] = precondition.flags;
    call->values[PUT_IF_VERSIONS] = precondition.if_versions;
    call->values[PUT_UNLESS_VERSIONS] = precondition.unless_versions;
    call->values[PUT_TTL] = expiry.ttl;
    call->values[PUT_UNTIL] = expiry.until;
    call->values[PUT_DECLARES] = value_number(context->declares);
    enum value_type hint = (enum value_type)*type_hint(context, address.bucket);
    checked_for(call, value_type_accepts(hint, request->body) ? hint : TYPE_ANY);
    call->operation = (struct operation){
        .statement = request->body.size > LARGE_VALUE ? &put_large_entry : &put_entries,
        .bucket = address.bucket,
        .key = address.path,
        .values = call->values,
        .collapses = !precondition_given(&precondition) && !expiry_given(&expiry),
        .done = put_done,
        .owner = request,
    };
    store_submit(context->store, &call->operation);
}

// --- removing ---------------------------------------------------------------------------------------------------------

enum { DELETE_PATH, DELETE_CONDITIONS, DELETE_IF_VERSIONS, DELETE_UNLESS_VERSIONS, DELETE_COLUMNS };
enum delete_result { DELETED_ORDINAL, DELETED_STATUS, DELETED_VERSION, DELETED_KIND };

static const struct statement delete_entries = {
    .name = "delete_entries",
    .sql = "select * from holdfast.delete_entries($1, $2, $3, $4, $5, $6, $7)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .keys = KEYS_ONCE,
    .columns = DELETE_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_INT2, COLUMN_TEXT, COLUMN_TEXT},
};

struct delete_call {
    struct operation operation; // first: the operation is the call
    struct value values[DELETE_COLUMNS];
};

static void delete_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    int64_t version = outcome_number(outcome, 0, DELETED_VERSION);
    switch ((enum write_status)outcome_number(outcome, 0, DELETED_STATUS)) {
    case WRITE_NEW:
        reply_position(request, version);
        reply_empty(request, 204);
        return;
    case WRITE_CONFLICT:
        reply_version_conflict(request, !outcome_null(outcome, 0, DELETED_VERSION), version);
        return;
    case WRITE_NO_BUCKET:
        reply_no_bucket(request, operation->bucket);
        return;
    case WRITE_OTHER_KIND:
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, DELETED_KIND));
        return;
    default:
        reply_simple_problem(request, PROBLEM_NOT_FOUND, "there is no live entry of this key in this branch");
        return;
    }
}

void entry_delete(struct request *request)
{
    struct address address;
    struct precondition precondition;
    if (!address_read(request, &address))
        return;
    precondition_read(request, &precondition);
    struct delete_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[DELETE_PATH] = value_bytes(address.path);
    call->values[DELETE_CONDITIONS] = precondition.flags;
    call->values[DELETE_IF_VERSIONS] = precondition.if_versions;
    call->values[DELETE_UNLESS_VERSIONS] = precondition.unless_versions;
    call->operation = (struct operation){
        .statement = &delete_entries,
        .bucket = address.bucket,
        .key = address.path,
        .values = call->values,
        .done = delete_done,
        .owner = request,
    };
    store_submit(context_of(request)->store, &call->operation);
}
