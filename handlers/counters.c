// Counters over HTTP: a change is one operation, and all that wait for the same counter are one update.
#include "handlers/counters.h"

#include "handlers/json_input.h"
#include "handlers/limiter.h"
#include "handlers/outcome.h"

// --- the name
// ---------------------------------------------------------------------------------------------------------

enum { DECLARE_NAME, DECLARE_TTL, DECLARE_LOSE, DECLARE_COLUMNS };

static const struct statement declare_counter = {
    .name = "declare_counter",
    .sql = "select * from holdfast.declare_counter($1, $2, $3)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = DECLARE_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_INT8, COLUMN_INT8},
};

struct declare_call {
    struct operation operation; // first: the operation is the call
    struct value values[DECLARE_COLUMNS];
    struct configuration configuration;
};

static void declare_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (outcome_usable(request, outcome))
        reply_declared(request, outcome, &((struct declare_call *)operation)->configuration);
}

void counter_put(struct request *request)
{
    static const char *const members[] = {"ttl", "lose_at_most", NULL};
    struct bytes name = request->parameters[0];
    if (!name_check(request, "name", name))
        return;
    struct declare_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct configuration *configuration = &call->configuration;
    json_t *object = request_json(request, true);
    if (!object || !request_json_members(request, object, members) ||
        !input_duration(request, object, "ttl", &configuration->ttl) ||
        !input_duration(request, object, "lose_at_most", &configuration->lose))
        return;
    configuration->kind = bytes_of("counter");
    call->values[DECLARE_NAME] = value_bytes(name);
    call->values[DECLARE_TTL] = configuration->ttl;
    call->values[DECLARE_LOSE] = configuration->lose;
    call->operation = (struct operation){
        .statement = &declare_counter, .values = call->values, .done = declare_done, .owner = request};
    request_submit(request, &call->operation);
}

void counter_get(struct request *request)
{
    configuration_get(request, "counter");
}

void counter_delete(struct request *request)
{
    limiter_delete(request, LIMITER_COUNTER);
}

// --- its keys
// ---------------------------------------------------------------------------------------------------------

enum { CHANGE_PATH, CHANGE_ADDS, CHANGE_NUMBER, CHANGE_DECLARES, CHANGE_COLUMNS };

enum change_result {
    CHANGED_ORDINAL,
    CHANGED_STATUS,
    CHANGED_POSITION,
    CHANGED_VALUE,
    CHANGED_KIND,
    CHANGED_LOSES
};

#define CHANGE_STATEMENT                                                                                     \
    .sql = "select * from holdfast.change_counters($1, $2, $3, $4, $5, $6, $7)", .form = STATEMENT_SHARED,   \
    .writes = true, .keys = KEYS_ANY, .columns = CHANGE_COLUMNS,                                             \
    .column = {COLUMN_BYTEA, COLUMN_BOOL, COLUMN_INT8, COLUMN_BOOL}

static const struct statement change_counters = {
    .name = "change_counters", .role = ROLE_WRITE, CHANGE_STATEMENT};
static const struct statement change_losing_counters = {
    .name = "change_losing_counters", .role = ROLE_ASYNC, CHANGE_STATEMENT};

struct change_call {
    struct operation operation; // first: the operation is the call
    struct value values[CHANGE_COLUMNS];
};

static void reply_value(struct request *request, int64_t value)
{
    reply_json(request, 200, bytes_of(arena_printf(&request->arena, "{\"value\":%lld}\n", (long long)value)));
}

static void change_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    enum limiter_status status = (enum limiter_status)outcome_number(outcome, 0, CHANGED_STATUS);
    if (limiter_name_refused(request, status, outcome_bytes(outcome, 0, CHANGED_KIND)))
        return;
    limiter_heard(context_of(request), operation->bucket, outcome_number(outcome, 0, CHANGED_LOSES) != 0);
    if (status == LIMITER_OVERFLOW) {
        count_add(&context_of(request)->counts->limiter_refusals[REFUSED_COUNTER], 1);
        reply_simple_problem(request, PROBLEM_OVERFLOW, "the sum is out of range; the counter stays %lld",
                             (long long)outcome_number(outcome, 0, CHANGED_VALUE));
        return;
    }
    reply_position(request, outcome_number(outcome, 0, CHANGED_POSITION));
    reply_value(request, outcome_number(outcome, 0, CHANGED_VALUE));
}

static void change(struct request *request, const struct address *address, bool adds, int64_t number)
{
    struct context *context = context_of(request);
    struct change_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[CHANGE_PATH] = value_bytes(address->path);
    call->values[CHANGE_ADDS] = value_number(adds);
    call->values[CHANGE_NUMBER] = value_number(number);
    call->values[CHANGE_DECLARES] = value_number(context->declares);
    call->operation = (struct operation){
        .statement = limiter_statement(context, address->bucket, &change_counters, &change_losing_counters),
        .bucket = address->bucket,
        .key = address->path,
        .values = call->values,
        .done = change_done,
        .owner = request,
    };
    request_submit(request, &call->operation);
}

static bool read_number(struct request *request, json_t *object, const char *member, int64_t *number)
{
    json_t *given = json_object_get(object, member);
    *number = json_integer_value(given);
    if (json_is_integer(given))
        return true;
    reply_invalid(request, member, "%s is a whole number of 64 bits", member);
    return false;
}

void counter_key_add(struct request *request)
{
    static const char *const members[] = {"by", NULL};
    struct address address;
    int64_t number = 1;
    if (!address_read_named(request, &address))
        return;
    json_t *object = request_json(request, true);
    if (!object || !request_json_members(request, object, members) ||
        (json_object_size(object) && !read_number(request, object, "by", &number)))
        return;
    change(request, &address, true, number);
}

void counter_key_max(struct request *request)
{
    static const char *const members[] = {"value", NULL};
    struct address address;
    int64_t number;
    if (!address_read_named(request, &address))
        return;
    json_t *object = request_json(request, false);
    if (!object || !request_json_members(request, object, members) ||
        !read_number(request, object, "value", &number))
        return;
    change(request, &address, false, number);
}

enum counter_result { GOT_ORDINAL, GOT_STATUS, GOT_VALUE, GOT_KIND };

static const struct statement get_counters = {
    .name = "get_counters",
    .sql = "select * from holdfast.get_counters($1, $2, $3, $4)",
    .form = STATEMENT_SHARED,
    .role = ROLE_READ,
    .keys = KEYS_ANY,
    .columns = 1,
    .column = {COLUMN_BYTEA},
};

static void get_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    enum limiter_status status = (enum limiter_status)outcome_number(outcome, 0, GOT_STATUS);
    bool nothing_yet = status == LIMITER_UNDECLARED && context_of(request)->declares;
    if (!nothing_yet && limiter_name_refused(request, status, outcome_bytes(outcome, 0, GOT_KIND)))
        return;
    reply_value(request, outcome_number(outcome, 0, GOT_VALUE));
}

void counter_key_get(struct request *request)
{
    struct address address;
    if (!address_read_named(request, &address))
        return;
    struct change_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[CHANGE_PATH] = value_bytes(address.path);
    call->operation = (struct operation){
        .statement = &get_counters,
        .bucket = address.bucket,
        .key = address.path,
        .values = call->values,
        .done = get_done,
        .owner = request,
    };
    request_submit(request, &call->operation);
}

void counter_key_delete(struct request *request)
{
    limiter_reset(request, LIMITER_COUNTER);
}
