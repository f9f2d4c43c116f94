// Gates over HTTP: limits whose size each call brings along, so that nothing is declared before.
#include "handlers/rate_gates.h"

#include "base/duration.h"
#include "base/text.h"
#include "handlers/allowance.h"
#include "handlers/json_input.h"
#include "handlers/limiter.h"
#include "handlers/outcome.h"

void rate_gate_delete(struct request *request)
{
    limiter_delete(request, LIMITER_RATE_GATE);
}

enum { CHECK_PATH, CHECK_MAX, CHECK_WINDOW, CHECK_COLUMNS };

enum check_result {
    CHECKED_ORDINAL,
    CHECKED_STATUS,
    CHECKED_POSITION,
    CHECKED_USED,
    CHECKED_RESETS_AT,
    CHECKED_NOW,
    CHECKED_KIND,
};

#define CHECK_STATEMENT(function)                                                                            \
    .name = function, .sql = "select * from holdfast." function "($1, $2, $3, $4, $5, $6)",                  \
    .form = STATEMENT_SHARED, .keys = KEYS_ANY, .columns = CHECK_COLUMNS,                                    \
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_INT8}

static const struct statement check_rate_gates = {
    .role = ROLE_WRITE, .writes = true, CHECK_STATEMENT("check_rate_gates")};
static const struct statement peek_rate_gates = {.role = ROLE_READ, CHECK_STATEMENT("peek_rate_gates")};

struct check_call {
    struct operation operation; // first: the operation is the call
    struct value values[CHECK_COLUMNS];
    int64_t max;
    int64_t window; // microseconds
    bool enforced;
};

static void reply_gate(struct request *request, const struct check_call *call, const struct outcome *outcome)
{
    bool ok = outcome_number(outcome, 0, CHECKED_STATUS) == LIMITER_DONE;
    bool open = !outcome_null(outcome, 0, CHECKED_RESETS_AT);
    int64_t used = outcome_number(outcome, 0, CHECKED_USED);
    int64_t wait = outcome_number(outcome, 0, CHECKED_RESETS_AT) - outcome_number(outcome, 0, CHECKED_NOW);
    int64_t left = call->max > used ? call->max - used : 0;
    struct policy policy = {
        .name = bytes_of("default"),
        .quota = call->max,
        .window = call->window,
        .remaining = left,
        .reset = open ? wait : 0,
    };
    reply_policies(request, &policy, 1);
    struct buffer members = {0};
    buffer_printf(&members, "\"ok\":%s,\"current\":%lld,\"max\":%lld,\"left\":%lld,", ok ? "true" : "false",
                  (long long)used, (long long)call->max, (long long)left);
    allowance_write_time(&members, "resets_at", open, outcome_number(outcome, 0, CHECKED_RESETS_AT));
    reply_allowance(request, REFUSED_RATE_GATE, ok, call->enforced, wait, &members);
}

static void check_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    enum limiter_status status = (enum limiter_status)outcome_number(outcome, 0, CHECKED_STATUS);
    if (limiter_name_refused(request, status, outcome_bytes(outcome, 0, CHECKED_KIND)))
        return;
    if (!outcome_null(outcome, 0, CHECKED_POSITION))
        reply_position(request, outcome_number(outcome, 0, CHECKED_POSITION));
    reply_gate(request, (const struct check_call *)operation, outcome);
}

static void submit(struct request *request, struct check_call *call, const struct statement *statement,
                   const struct address *address)
{
    call->values[CHECK_PATH] = value_bytes(address->path);
    call->values[CHECK_MAX] = value_number(call->max);
    call->values[CHECK_WINDOW] = value_number(call->window);
    call->operation = (struct operation){
        .statement = statement,
        .bucket = address->bucket,
        .key = address->path,
        .values = call->values,
        .done = check_done,
        .owner = request,
    };
    request_submit(request, &call->operation);
}

static bool read_body(struct request *request, struct check_call *call)
{
    static const char *const members[] = {"max", "window", NULL};
    struct value window;
    json_t *object = request_json(request, false);
    if (!object || !request_json_members(request, object, members))
        return false;
    call->max = json_integer_value(json_object_get(object, "max"));
    if (call->max < 1) {
        reply_invalid(request, "max", "max is a whole number from 1");
        return false;
    }
    if (!input_duration(request, object, "window", &window))
        return false;
    if (!window.given) {
        reply_invalid(request, "window", "a gate needs a window");
        return false;
    }
    call->window = window.number;
    return true;
}

static bool read_query(struct request *request, struct check_call *call)
{
    bool given;
    struct bytes max = request_argument(request, "max", &given);
    if (!given || !text_int64(max, &call->max) || call->max < 1) {
        reply_invalid(request, "max", "the query needs max, a whole number from 1");
        return false;
    }
    struct bytes window = request_argument(request, "window", &given);
    if (!given || !duration_parse(window, &call->window)) {
        reply_invalid(request, "window", "the query needs window, a duration such as 10s");
        return false;
    }
    return true;
}

void rate_gate_key_check(struct request *request)
{
    struct address address;
    struct check_call *call = arena_zalloc(&request->arena, sizeof *call);
    if (address_read_named(request, &address) && enforce_read(request, &call->enforced) &&
        read_body(request, call))
        submit(request, call, &check_rate_gates, &address);
}

void rate_gate_key_get(struct request *request)
{
    struct address address;
    struct check_call *call = arena_zalloc(&request->arena, sizeof *call);
    if (address_read_named(request, &address) && read_query(request, call))
        submit(request, call, &peek_rate_gates, &address);
}

void rate_gate_key_delete(struct request *request)
{
    limiter_reset(request, LIMITER_RATE_GATE);
}
