// `add`: many callers of one key are summed in one call, each gets its own sum.
#include "handlers/entry_add.h"

#include "handlers/entry_call.h"
#include "handlers/entry_reply.h"
#include "handlers/fork.h"
#include "handlers/json_input.h"
#include "handlers/outcome.h"
#include "handlers/rewrite.h"
#include "handlers/sum.h"

#include <math.h>

enum {
    ADD_PATH,
    ADD_INTEGER,
    ADD_FLOAT,
    ADD_CONDITIONS,
    ADD_IF_VERSIONS,
    ADD_UNLESS_VERSIONS,
    ADD_TTL,
    ADD_DECLARES,
    ADD_COLUMNS,
};

enum { ADD_FORK = ADD_COLUMNS, ADD_FORK_COLUMNS };

enum add_result {
    ADDED_ORDINAL,
    ADDED_STATUS,
    ADDED_VERSION,
    ADDED_KIND,
    ADDED_VALUE,
    ADDED_EXPIRES_AT,
    ADDED_MOST
};

#define ADD_COLUMN_TYPES                                                                                     \
    COLUMN_BYTEA, COLUMN_INT8, COLUMN_FLOAT8, COLUMN_INT2, COLUMN_TEXT, COLUMN_TEXT, COLUMN_INT8, COLUMN_BOOL

static const struct statement add_entries = {
    .name = "add_entries",
    .sql = "select * from holdfast.add_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .changes_entries = true,
    .keys = KEYS_ANY,
    .columns = ADD_COLUMNS,
    .column = {ADD_COLUMN_TYPES},
};

static const struct statement add_fork_entries = {
    .name = "add_fork_entries",
    .sql = "select * from holdfast.add_fork_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .keys = KEYS_ANY,
    .columns = ADD_FORK_COLUMNS,
    .column = {ADD_COLUMN_TYPES, COLUMN_TEXT},
};

struct add_call {
    struct operation operation; // first: the operation is the call
    struct value values[ADD_FORK_COLUMNS];
    struct address address;
    struct rewrite rewrite; // of a sealed value, which only this side can add to
};

static void reply_sum(struct request *request, struct bytes sum, int64_t version)
{
    reply_json(request, 200,
               bytes_of(arena_printf(&request->arena, "{\"value\":%.*s,\"version\":\"%lld\"}\n",
                                     (int)sum.size, (const char *)sum.data, (long long)version)));
}

static void reply_added(struct request *request, const struct outcome *outcome)
{
    int64_t version = outcome_number(outcome, 0, ADDED_VERSION);
    reply_etag(request, version);
    reply_position(request, version);
    if (!outcome_null(outcome, 0, ADDED_EXPIRES_AT))
        reply_expires_at(request, outcome_time(outcome, 0, ADDED_EXPIRES_AT));
    reply_sum(request, outcome_bytes(outcome, 0, ADDED_VALUE), version);
}

static void reply_overflow(struct request *request)
{
    reply_simple_problem(request, PROBLEM_OVERFLOW, "the sum is out of range; the value is unchanged");
}

static void reply_no_number(struct request *request)
{
    reply_simple_problem(request, PROBLEM_TYPE_MISMATCH,
                         "add wants a number in the entry and a summand of the bucket's type");
}

// --- sealed values
// ----------------------------------------------------------------------------------------------------

static bool sum_decide(struct rewrite *rewrite, const struct current *current, struct content *content)
{
    const struct add_call *call = rewrite->state;
    enum value_type type = TYPE_ANY;
    if (current->type.size)
        value_type_parse(current->type, &type);
    switch (sum_make(type, current->live, current->value, &call->values[ADD_INTEGER],
                     &call->values[ADD_FLOAT], &rewrite->made)) {
    case WRITE_NEW:
        break;
    case WRITE_OVERFLOW:
        reply_overflow(rewrite->request);
        return false;
    default:
        reply_no_number(rewrite->request);
        return false;
    }
    rewrite->expiry = (struct expiry){.ttl = current->live ? value_null() : call->values[ADD_TTL]};
    content->value = buffer_view(&rewrite->made);
    content->content_type = value_bytes(bytes_of("application/json"));
    if (current->live) {
        content->content_type =
            current->content_type.size ? value_bytes(current->content_type) : value_null();
        content->metadata = current->metadata.size ? value_bytes(current->metadata) : value_null();
    }
    return true;
}

static void sum_written(struct rewrite *rewrite, const struct current *current, int64_t version)
{
    (void)current;
    reply_sum(rewrite->request, buffer_view(&rewrite->made), version);
}

static void add_sealed(struct request *request, struct add_call *call)
{
    call->rewrite = (struct rewrite){
        .request = request,
        .address = call->address,
        .decide = sum_decide,
        .written = sum_written,
        .state = call,
    };
    rewrite_start(&call->rewrite);
}

// Whether the bucket is encrypted after all: the value is added to here then.
static bool turns_out_sealed(struct request *request, struct add_call *call, const struct outcome *outcome)
{
    struct declared_type declared;
    if (!declared_type_parse(outcome_bytes(outcome, 0, ADDED_KIND), &declared) || !declared.encrypted)
        return false;
    type_learn(context_of(request), call->address.bucket, &declared);
    add_sealed(request, call);
    return true;
}

// --- in the database
// --------------------------------------------------------------------------------------------------

static void add_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome) || fork_refused(request, outcome_number(outcome, 0, ADDED_STATUS)))
        return;
    switch ((enum write_status)outcome_number(outcome, 0, ADDED_STATUS)) {
    case WRITE_NEW:
        reply_added(request, outcome);
        return;
    case WRITE_CONFLICT:
        reply_version_conflict(request, !outcome_null(outcome, 0, ADDED_VERSION),
                               outcome_number(outcome, 0, ADDED_VERSION));
        return;
    case WRITE_NO_BUCKET:
        reply_no_bucket(request, operation->bucket);
        return;
    case WRITE_OTHER_KIND:
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, ADDED_KIND));
        return;
    case WRITE_TOO_LARGE:
        reply_value_too_large(request, outcome_number(outcome, 0, ADDED_MOST));
        return;
    case WRITE_OVERFLOW:
        reply_overflow(request);
        return;
    default:
        if (!turns_out_sealed(request, (struct add_call *)operation, outcome))
            reply_no_number(request);
        return;
    }
}

// The summand, 1 when the request names none.
static bool read_summand(struct request *request, json_t *object, struct value *integer, struct value *real)
{
    json_t *by = json_object_get(object, "by");
    *integer = value_number(1);
    *real = value_real(1);
    if (!by)
        return true;
    if (json_is_integer(by)) {
        *integer = value_number(json_integer_value(by));
        *real = value_real((double)json_integer_value(by));
        return true;
    }
    if (json_is_real(by) && isfinite(json_real_value(by))) {
        *integer = value_null();
        *real = value_real(json_real_value(by));
        return true;
    }
    reply_invalid(request, "by", "by is a number");
    return false;
}

void entry_add(struct request *request)
{
    static const char *const members[] = {"by", "ttl", NULL};
    struct address address;
    struct precondition precondition;
    struct value integer, real, ttl;
    if (!address_read(request, &address))
        return;
    json_t *object = request_json(request, true);
    if (!object || !request_json_members(request, object, members) ||
        !read_summand(request, object, &integer, &real) || !input_duration(request, object, "ttl", &ttl))
        return;
    precondition_read(request, &precondition);
    struct add_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->address = address;
    call->values[ADD_PATH] = value_bytes(address.path);
    call->values[ADD_INTEGER] = integer;
    call->values[ADD_FLOAT] = real;
    call->values[ADD_CONDITIONS] = precondition.flags;
    call->values[ADD_IF_VERSIONS] = precondition.if_versions;
    call->values[ADD_UNLESS_VERSIONS] = precondition.unless_versions;
    call->values[ADD_TTL] = ttl;
    call->values[ADD_DECLARES] = value_number(context_of(request)->declares);
    call->values[ADD_FORK] = value_bytes(address.fork);
    call->operation = (struct operation){
        .statement = address.fork.data ? &add_fork_entries : &add_entries,
        .bucket = address.bucket,
        .key = address.path,
        .values = call->values,
        .done = add_done,
        .owner = request,
    };
    if (type_hint(context_of(request), address.bucket)->encrypted)
        add_sealed(request, call);
    else
        request_submit(request, &call->operation);
}
