// The statements for one entry, and the answers that all who write share.
#include "handlers/entry_call.h"

#include "handlers/outcome.h"

// A value above LARGE_VALUE is fetched once more on a connection of its own, so that no small one waits
// behind it.
#define GET_STATEMENT(largest)                                                                               \
    .sql = "select * from holdfast.get_entries($1, $2, $3, $4, $5, $6, " largest ")",                        \
    .form = STATEMENT_SHARED, .keys = KEYS_ANY, .columns = GET_COLUMNS,                                      \
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_BOOL}

static const struct statement get_entries = {
    .name = "get_entries", .role = ROLE_READ, GET_STATEMENT("65536")};
static const struct statement get_large_entry = {
    .name = "get_large_entry", .role = ROLE_LARGE, GET_STATEMENT("2147483647")};

#define PUT_STATEMENT                                                                                        \
    .sql =                                                                                                   \
        "select * from holdfast.put_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",   \
    .form = STATEMENT_SHARED, .writes = true, .keys = KEYS_ONCE, .columns = PUT_COLUMNS,                     \
    .column = {                                                                                              \
        [PUT_PATH] = COLUMN_BYTEA,        [PUT_VALUE] = COLUMN_BYTEA,                                        \
        [PUT_CONTENT_TYPE] = COLUMN_TEXT, [PUT_METADATA] = COLUMN_BYTEA,                                     \
        [PUT_CHECKED] = COLUMN_TEXT,      [PUT_CONDITIONS] = COLUMN_INT2,                                    \
        [PUT_IF_VERSIONS] = COLUMN_TEXT,  [PUT_UNLESS_VERSIONS] = COLUMN_TEXT,                               \
        [PUT_TTL] = COLUMN_INT8,          [PUT_UNTIL] = COLUMN_TIME,                                         \
        [PUT_DECLARES] = COLUMN_BOOL,                                                                        \
    }

static const struct statement put_entries = {.name = "put_entries", .role = ROLE_WRITE, PUT_STATEMENT};
static const struct statement put_large_entry = {
    .name = "put_large_entry", .role = ROLE_LARGE, PUT_STATEMENT};

void get_call_submit(struct context *context, struct get_call *call, const struct address *address,
                     struct value unless, bool wanted,
                     void (*done)(struct operation *, const struct outcome *), void *owner)
{
    call->values[GET_PATH] = value_bytes(address->path);
    call->values[GET_UNLESS] = unless;
    call->values[GET_WANTED] = value_number(wanted);
    call->operation = (struct operation){
        .statement = &get_entries,
        .bucket = address->bucket,
        .key = address->path,
        .values = call->values,
        .done = done,
        .owner = owner,
    };
    store_submit(context->store, &call->operation);
}

bool get_call_large(struct context *context, struct get_call *call, const struct outcome *outcome)
{
    bool left_out = call->values[GET_WANTED].number && outcome_null(outcome, 0, GOT_VALUE) &&
                    outcome_number(outcome, 0, GOT_SIZE) > LARGE_VALUE;
    if (!left_out)
        return false;
    call->values[GET_UNLESS] = value_null();
    call->operation.statement = &get_large_entry;
    store_submit(context->store, &call->operation);
    return true;
}

// --- writing
// ----------------------------------------------------------------------------------------------------------

static int *hint_slot(struct context *context, struct bytes bucket)
{
    uint64_t hash = bytes_hash(bucket, 1);
    size_t slot = hash % TYPE_HINTS;
    if (context->type_hints[slot].hash != hash) {
        context->type_hints[slot].hash = hash;
        context->type_hints[slot].type = TYPE_ANY;
    }
    return &context->type_hints[slot].type;
}

enum value_type type_hint(struct context *context, struct bytes bucket)
{
    return (enum value_type) * hint_slot(context, bucket);
}

static void checked_for(struct put_call *call, enum value_type type)
{
    call->checked = type;
    call->values[PUT_CHECKED] = value_bytes(bytes_of(value_type_name(type)));
}

void put_call_submit(struct context *context, struct put_call *call, const struct address *address,
                     const struct content *content, const struct precondition *precondition,
                     const struct expiry *expiry, void (*done)(struct operation *, const struct outcome *),
                     void *owner)
{
    call->values[PUT_PATH] = value_bytes(address->path);
    call->values[PUT_VALUE] = value_bytes(content->value);
    call->values[PUT_CONTENT_TYPE] = content->content_type;
    call->values[PUT_METADATA] = content->metadata;
    call->values[PUT_CONDITIONS] = precondition->flags;
    call->values[PUT_IF_VERSIONS] = precondition->if_versions;
    call->values[PUT_UNLESS_VERSIONS] = precondition->unless_versions;
    call->values[PUT_TTL] = expiry->ttl;
    call->values[PUT_UNTIL] = expiry->until;
    call->values[PUT_DECLARES] = value_number(context->declares);
    enum value_type hint = type_hint(context, address->bucket);
    checked_for(call, value_type_accepts(hint, content->value) ? hint : TYPE_ANY);
    call->operation = (struct operation){
        .statement = content->value.size > LARGE_VALUE ? &put_large_entry : &put_entries,
        .bucket = address->bucket,
        .key = address->path,
        .values = call->values,
        .collapses = !precondition_given(precondition) && !expiry_given(expiry),
        .done = done,
        .owner = owner,
    };
    store_submit(context->store, &call->operation);
}

void reply_value_too_large(struct request *request, int64_t most)
{
    struct problem problem = {
        .kind = PROBLEM_TOO_LARGE,
        .detail = "the value is larger than the bucket's max_value_bytes",
        .extra = arena_printf(&request->arena, "\"limit\":%lld", (long long)most),
    };
    reply_problem(request, &problem);
}

void reply_type_mismatch(struct request *request, enum value_type type)
{
    reply_simple_problem(request, PROBLEM_TYPE_MISMATCH, "the bucket's type is %s: it takes %s",
                         value_type_name(type), value_type_wants(type));
}

void reply_absent(struct request *request)
{
    reply_simple_problem(request, PROBLEM_NOT_FOUND, "there is no live entry of this key in this branch");
}

// The bucket has another type than the value was checked for: check for that one, and try again or say what
// it wants.
static enum put_refusal check_again(struct request *request, struct put_call *call, struct bytes type_name)
{
    enum value_type type;
    struct context *context = context_of(request);
    if (!value_type_parse(type_name, &type)) {
        reply_simple_problem(request, PROBLEM_INTERNAL,
                             "the bucket has a type that this version does not know");
        return PUT_REPLIED;
    }
    *hint_slot(context, call->operation.bucket) = (int)type;
    if (!value_type_accepts(type, call->values[PUT_VALUE].bytes)) {
        reply_type_mismatch(request, type);
        return PUT_REPLIED;
    }
    checked_for(call, type);
    store_submit(context->store, &call->operation);
    return PUT_SUBMITTED;
}

enum put_refusal put_call_refused(struct request *request, struct put_call *call,
                                  const struct outcome *outcome)
{
    enum write_status status = (enum write_status)outcome_number(outcome, 0, WROTE_STATUS);
    bool written = status == WRITE_NEW || status == WRITE_REPLACED;
    // What a later put of the same key met says nothing about this one, which was never tried.
    if (outcome->behind > 0 && !written) {
        call->operation.collapses = false;
        store_submit(context_of(request)->store, &call->operation);
        return PUT_SUBMITTED;
    }
    switch (status) {
    case WRITE_NO_BUCKET:
        reply_no_bucket(request, call->operation.bucket);
        return PUT_REPLIED;
    case WRITE_OTHER_KIND:
        reply_kind_mismatch(request, call->operation.bucket, outcome_bytes(outcome, 0, WROTE_TYPE));
        return PUT_REPLIED;
    case WRITE_OTHER_TYPE:
        return check_again(request, call, outcome_bytes(outcome, 0, WROTE_TYPE));
    case WRITE_TOO_LARGE:
        reply_value_too_large(request, outcome_number(outcome, 0, WROTE_MOST));
        return PUT_REPLIED;
    case WRITE_PAST:
        reply_invalid(request, "expires_at", "the time is in the past by the database's clock");
        return PUT_REPLIED;
    default:
        return PUT_NOT_REFUSED;
    }
}
