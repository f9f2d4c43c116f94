// A name of once says how long answers are kept and how long a runner may be silent.
#include "handlers/once.h"

#include "base/path.h"
#include "handlers/configuration.h"
#include "handlers/json_input.h"
#include "handlers/once_run.h"
#include "handlers/outcome.h"

// --- declaring and reading
// --------------------------------------------------------------------------------------------

enum { DECLARE_NAME, DECLARE_TTL, DECLARE_RUN_TTL, DECLARE_COLUMNS };

enum declare_result {
    DECLARED_STATUS,
    DECLARED_CREATED_AT,
    DECLARED_ACTUAL,
    DECLARED_POSITION,
    DECLARED_TTL,
    DECLARED_RUN_TTL,
};
enum declare_status { DECLARED_NEW, DECLARED_CHANGED, DECLARED_OTHER_KIND };

static const struct statement declare_once = {
    .name = "declare_once",
    .sql = "select * from holdfast.declare_once($1, $2, $3)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = DECLARE_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_INT8, COLUMN_INT8},
};

struct declare_call {
    struct operation operation; // first: the operation is the call
    struct value values[DECLARE_COLUMNS];
};

static void declare_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct bytes name = request->parameters[0];
    if (!outcome_usable(request, outcome))
        return;
    enum declare_status status = (enum declare_status)outcome_number(outcome, 0, DECLARED_STATUS);
    if (status == DECLARED_OTHER_KIND) {
        reply_kind_mismatch(request, name, outcome_bytes(outcome, 0, DECLARED_ACTUAL));
        return;
    }
    struct configuration configuration = {
        .kind = bytes_of("once"),
        .ttl = value_number(outcome_number(outcome, 0, DECLARED_TTL)),
        .run_ttl = outcome_number(outcome, 0, DECLARED_RUN_TTL),
    };
    reply_position(request, outcome_number(outcome, 0, DECLARED_POSITION));
    reply_configuration(request, status == DECLARED_NEW ? 201 : 200, name, &configuration,
                        outcome_time(outcome, 0, DECLARED_CREATED_AT));
}

void once_put(struct request *request)
{
    static const char *const members[] = {"ttl", "run_ttl", NULL};
    if (!name_check(request, "name", request->parameters[0]))
        return;
    struct declare_call *call = arena_zalloc(&request->arena, sizeof *call);
    json_t *object = request_json(request, true);
    if (!object || !request_json_members(request, object, members) ||
        !input_duration(request, object, "ttl", &call->values[DECLARE_TTL]) ||
        !run_ttl_member(request, object, "run_ttl", &call->values[DECLARE_RUN_TTL]))
        return;
    call->values[DECLARE_NAME] = value_bytes(request->parameters[0]);
    call->operation = (struct operation){
        .statement = &declare_once, .values = call->values, .done = declare_done, .owner = request};
    request_submit(request, &call->operation);
}

void once_read(struct request *request)
{
    configuration_get(request, "once");
}

// --- dropping and clearing
// --------------------------------------------------------------------------------------------

enum { DROP_NAME, DROP_LOW, DROP_HIGH, DROP_COLUMNS };

enum drop_result { DROPPED_STATUS, DROPPED_POSITION, DROPPED_KIND };
enum drop_status { DROPPED, DROP_ABSENT, DROP_OTHER_KIND };

static const struct statement drop_once = {
    .name = "drop_once",
    .sql = "select * from holdfast.drop_bucket($1, array['once'])",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = 1,
    .column = {COLUMN_TEXT},
};

static const struct statement clear_once = {
    .name = "clear_once",
    .sql = "select * from holdfast.clear_once($1, $2, $3, 10000)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = DROP_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_BYTEA, COLUMN_BYTEA},
};

struct drop_call {
    struct operation operation; // first: the operation is the call
    struct value values[DROP_COLUMNS];
};

static void drop_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct bytes name = request->parameters[0];
    if (!outcome_usable(request, outcome))
        return;
    switch ((enum drop_status)outcome_number(outcome, 0, DROPPED_STATUS)) {
    case DROPPED:
        reply_position(request, outcome_number(outcome, 0, DROPPED_POSITION));
        reply_empty(request, 204);
        return;
    case DROP_ABSENT:
        reply_no_name(request, name);
        return;
    case DROP_OTHER_KIND:
        reply_kind_mismatch(request, name, outcome_bytes(outcome, 0, DROPPED_KIND));
        return;
    }
}

void once_drop(struct request *request)
{
    struct drop_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct bytes branch, high;
    if (!name_check(request, "name", request->parameters[0]) || !branch_read(request, &branch))
        return;
    call->values[DROP_NAME] = value_bytes(request->parameters[0]);
    call->values[DROP_LOW] = value_bytes(branch);
    call->values[DROP_HIGH] =
        path_successor(&request->arena, branch, &high) ? value_bytes(high) : value_null();
    call->operation = (struct operation){
        .statement = branch.size ? &clear_once : &drop_once,
        .values = call->values,
        .done = drop_done,
        .owner = request,
    };
    request_submit(request, &call->operation);
}
