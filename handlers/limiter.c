// Names and keys of counters, rate limits, gates and quotas.
#include "handlers/limiter.h"

#include "base/duration.h"
#include "base/path.h"
#include "handlers/outcome.h"

// --- names
// ------------------------------------------------------------------------------------------------------------

void reply_declared(struct request *request, const struct outcome *outcome,
                    const struct configuration *configuration)
{
    struct bytes name = request->parameters[0];
    enum limiter_status status = (enum limiter_status)outcome_number(outcome, 0, DECLARED_STATUS);
    char shortest[24];
    switch (status) {
    case LIMITER_NAME_TAKEN:
        reply_kind_mismatch(request, name, outcome_bytes(outcome, 0, DECLARED_ACTUAL));
        return;
    case LIMITER_LOSS_TOO_SHORT:
        duration_format(outcome_number(outcome, 0, DECLARED_SHORTEST), shortest);
        reply_invalid(request, "lose_at_most",
                      "PostgreSQL as it is set up here (three times wal_writer_delay) can promise to lose no "
                      "less than %s; without lose_at_most nothing is lost",
                      shortest);
        return;
    default:
        reply_position(request, outcome_number(outcome, 0, DECLARED_POSITION));
        reply_configuration(request, status == LIMITER_DONE ? 201 : 200, name, configuration,
                            outcome_time(outcome, 0, DECLARED_CREATED_AT));
    }
}

bool limiter_name_refused(struct request *request, enum limiter_status status, struct bytes kind)
{
    if (status == LIMITER_UNDECLARED)
        reply_no_name(request, request->parameters[0]);
    else if (status == LIMITER_OTHER_KIND)
        reply_kind_mismatch(request, request->parameters[0], kind);
    else
        return false;
    return true;
}

bool limiter_count_member(struct request *request, json_t *object, const char *member, int64_t *count)
{
    json_t *given = json_object_get(object, member);
    *count = given ? json_integer_value(given) : 1;
    if (*count >= 1)
        return true;
    reply_invalid(request, member, "%s is a whole number from 1", member);
    return false;
}

// --- which calls travel together
// --------------------------------------------------------------------------------------

const struct statement *limiter_statement(struct context *context, struct bytes name,
                                          const struct statement *durable, const struct statement *losing)
{
    uint64_t hash = bytes_hash(name, 1);
    return context->loses[hash % LOSS_HINTS] == hash ? losing : durable;
}

void limiter_heard(struct context *context, struct bytes name, bool loses)
{
    uint64_t hash = bytes_hash(name, 1);
    uint64_t *hint = &context->loses[hash % LOSS_HINTS];
    if (loses)
        *hint = hash;
    else if (*hint == hash)
        *hint = 0;
}

// --- forgetting one key
// -----------------------------------------------------------------------------------------------

enum reset_result { RESET_ORDINAL, RESET_STATUS, RESET_POSITION, RESET_ACTUAL };

#define RESET_KEYS(kind)                                                                                     \
    {                                                                                                        \
        .name = "reset_" kind, .sql = "select * from holdfast.reset_keys($1, $2, $3, $4, '" kind "')",       \
        .form = STATEMENT_SHARED, .role = ROLE_WRITE, .writes = true, .keys = KEYS_ANY, .columns = 1,        \
        .column = {COLUMN_BYTEA},                                                                            \
    }

static const struct {
    const char *kind;
    // Calls on a name that is not declared count as calls on one with the defaults.
    bool declares;
    struct statement reset;
} limiters[] = {
    [LIMITER_COUNTER] = {"counter", true, RESET_KEYS("counter")},
    [LIMITER_RATE_LIMIT] = {"rate_limit", false, RESET_KEYS("rate_limit")},
    [LIMITER_RATE_GATE] = {"rate_gate", true, RESET_KEYS("rate_gate")},
    [LIMITER_QUOTA] = {"quota", false, RESET_KEYS("quota")},
};

struct reset_call {
    struct operation operation; // first: the operation is the call
    struct value values[1];
    bool absent_is_fine;
};

static void reset_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    const struct reset_call *call = (const struct reset_call *)operation;
    if (!outcome_usable(request, outcome))
        return;
    enum limiter_status status = (enum limiter_status)outcome_number(outcome, 0, RESET_STATUS);
    if (!(status == LIMITER_UNDECLARED && call->absent_is_fine) &&
        limiter_name_refused(request, status, outcome_bytes(outcome, 0, RESET_ACTUAL)))
        return;
    reply_position(request, outcome_number(outcome, 0, RESET_POSITION));
    reply_empty(request, 204);
}

void limiter_reset(struct request *request, enum limiter limiter)
{
    struct address address;
    if (!address_read_named(request, &address))
        return;
    struct reset_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->absent_is_fine =
        limiters[limiter].declares && (limiter == LIMITER_RATE_GATE || context_of(request)->declares);
    call->values[0] = value_bytes(address.path);
    call->operation = (struct operation){
        .statement = &limiters[limiter].reset,
        .bucket = address.bucket,
        .key = address.path,
        .values = call->values,
        .done = reset_done,
        .owner = request,
    };
    request_submit(request, &call->operation);
}

// --- forgetting many
// --------------------------------------------------------------------------------------------------

enum { CLEAR_STEP = 10000 }; // keys: the name's callers wait for one step, not for all of them

enum clear_column { CLEAR_NAME, CLEAR_KIND, CLEAR_LOW, CLEAR_HIGH, CLEAR_MOST, CLEAR_COLUMNS };
enum clear_result { CLEARED_STATUS, CLEARED_POSITION, CLEARED_ACTUAL, CLEARED_LAST };

static const struct statement clear_keys = {
    .name = "clear_keys",
    .sql = "select * from holdfast.clear_keys($1, $2, $3, $4, $5)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = CLEAR_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_TEXT, COLUMN_BYTEA, COLUMN_BYTEA, COLUMN_INT4},
};

// Dropping answers with the same columns.
static const struct statement drop_name = {
    .name = "drop_name",
    .sql = "select case d.status when 1 then 3 when 2 then 4 else 0 end::smallint, d.version, d.actual, "
           "null::bytea"
           " from holdfast.drop_bucket($1, array[$2]) d",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = CLEAR_KIND + 1,
    .column = {COLUMN_TEXT, COLUMN_TEXT},
};

struct clear_call {
    struct operation operation; // first: the operation is the call
    struct value values[CLEAR_COLUMNS];
};

// Clears what follows the last key of the step before.
static void clear_on(struct request *request, struct clear_call *call, struct bytes last)
{
    uint8_t *low = arena_alloc(&request->arena, last.size + 1);
    memcpy(low, last.data, last.size);
    low[last.size] = 0;
    call->values[CLEAR_LOW] = value_bytes(bytes_make(low, last.size + 1));
    request_submit(request, &call->operation);
}

static void delete_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    enum limiter_status status = (enum limiter_status)outcome_number(outcome, 0, CLEARED_STATUS);
    if (limiter_name_refused(request, status, outcome_bytes(outcome, 0, CLEARED_ACTUAL)))
        return;
    if (!outcome_null(outcome, 0, CLEARED_LAST)) {
        clear_on(request, (struct clear_call *)operation, outcome_bytes(outcome, 0, CLEARED_LAST));
        return;
    }
    reply_position(request, outcome_number(outcome, 0, CLEARED_POSITION));
    reply_empty(request, 204);
}

void limiter_delete(struct request *request, enum limiter limiter)
{
    struct bytes name = request->parameters[0];
    struct bytes branch, beyond;
    if (!name_check(request, "name", name) || !branch_read(request, &branch))
        return;
    struct clear_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[CLEAR_NAME] = value_bytes(name);
    call->values[CLEAR_KIND] = value_bytes(bytes_of(limiters[limiter].kind));
    call->values[CLEAR_LOW] = value_bytes(branch);
    if (path_successor(&request->arena, branch, &beyond))
        call->values[CLEAR_HIGH] = value_bytes(beyond);
    call->values[CLEAR_MOST] = value_number(CLEAR_STEP);
    call->operation = (struct operation){
        .statement = branch.size ? &clear_keys : &drop_name,
        .values = call->values,
        .done = delete_done,
        .owner = request,
    };
    request_submit(request, &call->operation);
}
