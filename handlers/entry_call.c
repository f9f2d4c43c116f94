// The statements for one entry, and the answers that all who write share.
#include "handlers/entry_call.h"

#include "handlers/fork.h"
#include "handlers/outcome.h"

// A value above LARGE_VALUE is fetched once more on a connection of its own, so that no small one waits
// behind it.
#define GET_STATEMENT(largest)                                                                               \
    .sql = "select * from holdfast.get_entries($1, $2, $3, $4, $5, $6, " largest ")",                        \
    .lone = "select * from holdfast.get_entry($1, $2, $3, $4, " largest ")", .form = STATEMENT_SHARED,       \
    .keys = KEYS_ANY, .only_reads = true, .columns = GET_COLUMNS,                                            \
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_BOOL}

static const struct statement get_entries = {
    .name = "get_entries", .role = ROLE_READ, GET_STATEMENT("65536")};
static const struct statement get_large_entry = {
    .name = "get_large_entry", .role = ROLE_LARGE, GET_STATEMENT("2147483647")};

#define GET_FORK_STATEMENT(largest)                                                                          \
    .sql = "select * from holdfast.get_fork_entries($1, $2, $3, $4, $5, $6, $7, " largest ")",               \
    .form = STATEMENT_SHARED, .keys = KEYS_ANY, .only_reads = true, .columns = GET_FORK_COLUMNS,             \
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_BOOL, COLUMN_TEXT}

static const struct statement get_fork_entries = {
    .name = "get_fork_entries", .role = ROLE_READ, GET_FORK_STATEMENT("65536")};
static const struct statement get_large_fork_entry = {
    .name = "get_large_fork_entry", .role = ROLE_LARGE, GET_FORK_STATEMENT("2147483647")};

#define PUT_COLUMN_TYPES                                                                                     \
    [PUT_PATH] = COLUMN_BYTEA, [PUT_VALUE] = COLUMN_BYTEA, [PUT_CONTENT_TYPE] = COLUMN_TEXT,                 \
    [PUT_METADATA] = COLUMN_BYTEA, [PUT_CHECKED] = COLUMN_TEXT, [PUT_CONDITIONS] = COLUMN_INT2,              \
    [PUT_IF_VERSIONS] = COLUMN_TEXT, [PUT_UNLESS_VERSIONS] = COLUMN_TEXT, [PUT_TTL] = COLUMN_INT8,           \
    [PUT_UNTIL] = COLUMN_TIME, [PUT_DECLARES] = COLUMN_BOOL
#define PUT_STATEMENT                                                                                        \
    .sql =                                                                                                   \
        "select * from holdfast.put_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",   \
    .lone = "select * from holdfast.put_entry($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",           \
    .form = STATEMENT_SHARED, .writes = true, .changes_entries = true, .keys = KEYS_ONCE,                    \
    .columns = PUT_COLUMNS, .column = {PUT_COLUMN_TYPES}
#define PUT_FENCED_STATEMENT                                                                                 \
    .sql = "select * from holdfast.put_fenced_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, "   \
           "$13, $14, $15, $16, $17)",                                                                       \
    .form = STATEMENT_SHARED, .writes = true, .changes_entries = true, .keys = KEYS_ONCE,                    \
    .columns = PUT_FENCED_COLUMNS, .column = {PUT_COLUMN_TYPES, FENCE_COLUMN_TYPES}

#define PUT_FORK_STATEMENT                                                                                   \
    .sql = "select * from holdfast.put_fork_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, "     \
           "$13, $14, $15)",                                                                                 \
    .form = STATEMENT_SHARED, .writes = true, .keys = KEYS_ONCE, .columns = PUT_FORK_COLUMNS,                \
    .column = {PUT_COLUMN_TYPES, [PUT_FORK] = COLUMN_TEXT}

static const struct statement put_entries = {.name = "put_entries", .role = ROLE_WRITE, PUT_STATEMENT};
static const struct statement put_large_entry = {
    .name = "put_large_entry", .role = ROLE_LARGE, PUT_STATEMENT};
static const struct statement put_fenced_entries = {
    .name = "put_fenced_entries", .role = ROLE_WRITE, PUT_FENCED_STATEMENT};
static const struct statement put_large_fenced_entry = {
    .name = "put_large_fenced_entry", .role = ROLE_LARGE, PUT_FENCED_STATEMENT};
static const struct statement put_fork_entries = {
    .name = "put_fork_entries", .role = ROLE_WRITE, PUT_FORK_STATEMENT};
static const struct statement put_large_fork_entry = {
    .name = "put_large_fork_entry", .role = ROLE_LARGE, PUT_FORK_STATEMENT};

void get_call_submit(struct context *context, struct account *account, struct get_call *call,
                     const struct address *address, struct value unless, bool wanted,
                     void (*done)(struct operation *, const struct outcome *), void *owner)
{
    call->values[GET_PATH] = value_bytes(address->path);
    call->values[GET_UNLESS] = unless;
    call->values[GET_WANTED] = value_number(wanted);
    call->values[GET_FORK] = value_bytes(address->fork);
    call->operation = (struct operation){
        .statement = address->fork.data ? &get_fork_entries : &get_entries,
        .bucket = address->bucket,
        .key = address->path,
        .values = call->values,
        .done = done,
        .owner = owner,
        .account = account,
    };
    store_submit(context->store, &call->operation);
}

size_t got_size(const struct outcome *outcome)
{
    return outcome_null(outcome, 0, GOT_VALUE) ? (size_t)outcome_number(outcome, 0, GOT_SIZE)
                                               : outcome_bytes(outcome, 0, GOT_VALUE).size;
}

bool get_call_large(struct context *context, struct get_call *call, const struct outcome *outcome)
{
    bool wanted = call->values[GET_WANTED].number != 0;
    bool unseen = !wanted && content_type_sealed(outcome_bytes(outcome, 0, GOT_CONTENT_TYPE));
    bool left_out = wanted && outcome_null(outcome, 0, GOT_VALUE) && got_size(outcome) > LARGE_VALUE;
    if (!left_out && !unseen)
        return false;
    call->values[GET_UNLESS] = value_null();
    call->values[GET_WANTED] = value_number(true);
    if (left_out)
        call->operation.statement =
            call->operation.statement == &get_fork_entries ? &get_large_fork_entry : &get_large_entry;
    store_submit(context->store, &call->operation);
    return true;
}

struct stored_entry got_entry(const struct get_call *call, const struct outcome *outcome)
{
    return (struct stored_entry){
        .bucket = call->operation.bucket,
        .fork = call->values[GET_FORK].bytes,
        .path = call->operation.key,
        .version = outcome_number(outcome, 0, GOT_VERSION),
        .declared = outcome_bytes(outcome, 0, GOT_KIND),
        .content_type = outcome_bytes(outcome, 0, GOT_CONTENT_TYPE),
        .metadata = outcome_bytes(outcome, 0, GOT_METADATA),
        .has_value = !outcome_null(outcome, 0, GOT_VALUE),
        .value = outcome_bytes(outcome, 0, GOT_VALUE),
    };
}

// --- writing
// ----------------------------------------------------------------------------------------------------------

static struct declared_type *hint_slot(struct context *context, struct bytes bucket)
{
    uint64_t hash = bytes_hash(bucket, 1);
    struct type_hint *hint = &context->type_hints[hash % TYPE_HINTS];
    if (hint->hash != hash) {
        hint->hash = hash;
        declared_type_parse(bytes_of("any"), &hint->declared);
    }
    return &hint->declared;
}

const struct declared_type *type_hint(struct context *context, struct bytes bucket)
{
    return hint_slot(context, bucket);
}

void type_learn(struct context *context, struct bytes bucket, const struct declared_type *declared)
{
    *hint_slot(context, bucket) = *declared;
}

static const struct statement *put_statement(bool large, bool forked, bool fenced)
{
    if (forked)
        return large ? &put_large_fork_entry : &put_fork_entries;
    if (fenced)
        return large ? &put_large_fenced_entry : &put_fenced_entries;
    return large ? &put_large_entry : &put_entries;
}

static void submit_plain(struct context *context, struct put_call *call, const char *checked)
{
    const struct content *content = &call->content;
    call->values[PUT_VALUE] = value_bytes(content->value);
    call->values[PUT_CONTENT_TYPE] = content->content_type;
    call->values[PUT_METADATA] = content->metadata;
    call->values[PUT_CHECKED] = value_bytes(bytes_of(checked));
    call->operation.statement =
        put_statement(content->value.size > LARGE_VALUE, call->address.fork.data != NULL, call->fenced);
    store_submit(context->store, &call->operation);
}

static enum sealed_verdict seal_written(struct sealed_write *write, const struct outcome *outcome)
{
    const struct put_call *call = write->owner;
    if (outcome_number(outcome, 0, WROTE_STATUS) <= WRITE_REPLACED)
        sealed_write_fill(write, &call->address, outcome_number(outcome, 0, WROTE_VERSION), &call->content,
                          false);
    return SEALED_KEEP;
}

static void submit_sealed(struct context *context, struct put_call *call,
                          const struct declared_type *declared)
{
    call->values[PUT_VALUE] = value_bytes(bytes_of(""));
    call->values[PUT_CONTENT_TYPE] = value_null();
    call->values[PUT_METADATA] = value_null();
    call->values[PUT_CHECKED] = value_bytes(arena_copy(call->arena, bytes_of(declared->name)));
    call->operation.collapses = false;
    call->operation.statement = put_statement(false, call->address.fork.data != NULL, call->fenced);
    call->sealed = (struct sealed_write){
        .arena = call->arena,
        .operation = &call->operation,
        .size = call->content.value.size,
        .seal = seal_written,
        .owner = call,
    };
    sealed_write_submit(context, &call->sealed);
}

static bool may_seal(const struct context *context, const struct declared_type *declared, struct bytes value)
{
    return declared->encrypted && context->keys && (int64_t)value.size <= declared->most;
}

void put_call_submit(struct request *request, struct put_call *call, const struct address *address,
                     const struct content *content, const struct precondition *precondition,
                     const struct expiry *expiry, void (*done)(struct operation *, const struct outcome *),
                     void *owner)
{
    struct context *context = context_of(request);
    call->arena = &request->arena;
    call->content = *content;
    call->address = *address;
    call->fenced = precondition->fence.given;
    call->values[PUT_PATH] = value_bytes(address->path);
    call->values[PUT_CONDITIONS] = precondition->flags;
    call->values[PUT_IF_VERSIONS] = precondition->if_versions;
    call->values[PUT_UNLESS_VERSIONS] = precondition->unless_versions;
    call->values[PUT_TTL] = expiry->ttl;
    call->values[PUT_UNTIL] = expiry->until;
    call->values[PUT_DECLARES] = value_number(context->declares);
    if (precondition->fence.given)
        fence_values(&precondition->fence, call->values + PUT_COLUMNS);
    else
        call->values[PUT_FORK] = address->fork.data ? value_bytes(address->fork) : value_null();
    call->operation = (struct operation){
        .bucket = address->bucket,
        .key = address->path,
        .values = call->values,
        .collapses = !address->fork.data && !precondition_given(precondition) && !expiry_given(expiry),
        .done = done,
        .owner = owner,
        .account = &request->account,
    };
    const struct declared_type *hint = type_hint(context, address->bucket);
    bool fits = value_type_accepts(hint->type, content->value);
    if (fits && may_seal(context, hint, content->value))
        submit_sealed(context, call, hint);
    else
        submit_plain(context, call, value_type_name(fits ? hint->type : TYPE_ANY));
}

void reply_value_too_large(struct request *request, int64_t most)
{
    struct problem problem = {
        .kind = PROBLEM_TOO_LARGE,
        .detail = "the value is larger than the bucket's max_value_bytes",
        .limit = most,
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

bool type_fits(struct request *request, const struct declared_type *declared, struct bytes value)
{
    if (!value_type_accepts(declared->type, value)) {
        reply_type_mismatch(request, declared->type);
        return false;
    }
    if (!declared->encrypted)
        return true;
    if ((int64_t)value.size > declared->most) {
        reply_value_too_large(request, declared->most);
        return false;
    }
    return sealing_possible(request);
}

// The bucket has another type than the value was checked for: check for that one, and try again or say what
// it wants.
static enum put_refusal check_again(struct request *request, struct put_call *call, struct bytes type_name)
{
    struct declared_type declared;
    struct context *context = context_of(request);
    if (!declared_type_parse(type_name, &declared)) {
        reply_simple_problem(request, PROBLEM_INTERNAL,
                             "the bucket has a type that this version does not know");
        return PUT_REPLIED;
    }
    type_learn(context, call->operation.bucket, &declared);
    if (!type_fits(request, &declared, call->content.value))
        return PUT_REPLIED;
    if (declared.encrypted)
        submit_sealed(context, call, &declared);
    else
        submit_plain(context, call, value_type_name(declared.type));
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
        request_submit(request, &call->operation);
        return PUT_SUBMITTED;
    }
    if (fork_refused(request, status))
        return PUT_REPLIED;
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
    case WRITE_LEASE_LOST:
        reply_lease_lost(request);
        return PUT_REPLIED;
    default:
        return PUT_NOT_REFUSED;
    }
}
