// Whoever asks for a run is answered at once, or waits with the others of its key when another runs.
#include "handlers/once_run.h"

#include "base/text.h"
#include "base/timestamp.h"
#include "handlers/entry_get.h"
#include "handlers/json_input.h"
#include "handlers/once_answer.h"
#include "handlers/once_attempt.h"
#include "handlers/once_wait.h"
#include "handlers/outcome.h"

enum { SHORTEST_RUN = 100 * 1000 }; // microseconds

// --- replies
// ----------------------------------------------------------------------------------------------------------

static const char *time_text(struct request *request, int64_t us)
{
    char *text = arena_alloc(&request->arena, TIMESTAMP_SIZE);
    timestamp_format(us, text);
    return text;
}

// The run as its runner sees it.
static void reply_run(struct request *request, int status, int64_t token, int64_t run_expires_at,
                      int64_t position)
{
    reply_position(request, position);
    reply_json(request, status,
               bytes_of(arena_printf(&request->arena, "{\"token\":\"%lld\",\"run_expires_at\":\"%s\"}\n",
                                     (long long)token, time_text(request, run_expires_at))));
}

void reply_run_granted(struct request *request, int64_t token, int64_t run_expires_at)
{
    reply_run(request, 201, token, run_expires_at, token);
}

void reply_run_under_way(struct request *request, int64_t run_expires_at)
{
    reply_json(request, 202,
               bytes_of(arena_printf(&request->arena, "{\"run_expires_at\":\"%s\"}\n",
                                     time_text(request, run_expires_at))));
}

void reply_run_lost(struct request *request)
{
    reply_simple_problem(request, PROBLEM_LEASE_LOST,
                         "no live run has this token: it was answered, given up, or its time ended");
}

bool reply_attempt(struct request *request, const struct address *address, const struct outcome *outcome)
{
    switch ((enum once_status)outcome_number(outcome, 0, ONCE_STATUS)) {
    case ONCE_KEPT:
        request->effectless = true;
        reply_kept_answer(request, address, outcome);
        return true;
    case ONCE_NO_NAME:
        reply_no_name(request, address->bucket);
        return true;
    case ONCE_OTHER_KIND:
        reply_kind_mismatch(request, address->bucket, outcome_bytes(outcome, 0, ONCE_KIND));
        return true;
    default:
        return false;
    }
}

// --- begin
// ------------------------------------------------------------------------------------------------------------

struct begin {
    struct once_attempt attempt; // first: the attempt is the call
    int seconds;                 // that it waits, or 0
};

static void begin_done(struct once_attempt *attempt, const struct outcome *outcome)
{
    struct request *request = attempt->owner;
    if (!outcome_usable(request, outcome) || reply_attempt(request, &attempt->address, outcome))
        return;
    int64_t until = outcome_time(outcome, 0, ONCE_EXPIRES_AT);
    if (outcome_number(outcome, 0, ONCE_STATUS) == ONCE_DONE) {
        int64_t token = outcome_number(outcome, 0, ONCE_TOKEN);
        if (!request->keyed && request_client_left(request))
            once_hand_back(attempt->context, &attempt->address, token);
        reply_run_granted(request, token, until);
        return;
    }
    int seconds = ((struct begin *)attempt)->seconds;
    if (!seconds)
        reply_run_under_way(request, until);
    else if (http_server_draining(attempt->context->server))
        reply_shutting_down(request);
    else
        once_wait(request, &attempt->address, seconds, until);
}

void once_begin(struct request *request)
{
    struct begin *begin = arena_zalloc(&request->arena, sizeof *begin);
    struct once_attempt *attempt = &begin->attempt;
    if (!address_read_named(request, &attempt->address))
        return;
    int seconds = preferred_wait(request);
    if (seconds > 0 && !request->keyed) { // its transaction would keep the runner from answering
        begin->seconds = seconds;
        reply_wait_applied(request, seconds);
    }
    attempt->context = context_of(request);
    attempt->done = begin_done;
    attempt->owner = request;
    once_attempt_submit(attempt);
}

// --- renew, fail
// ------------------------------------------------------------------------------------------------------

enum { RUN_PATH, RUN_TOKEN, RUN_TTL, RUN_COLUMNS };

enum run_result { RAN_ORDINAL, RAN_STATUS, RAN_KIND, RAN_POSITION, RAN_EXPIRES_AT };

static const struct statement renew_runs = {
    .name = "renew_runs",
    .sql = "select * from holdfast.renew_runs($1, $2, $3, $4, $5, $6)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .keys = KEYS_ANY,
    .columns = RUN_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_INT8},
};

static const struct statement fail_runs = {
    .name = "fail_runs",
    .sql = "select * from holdfast.fail_runs($1, $2, $3, $4, $5)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .keys = KEYS_ANY,
    .columns = RUN_TTL,
    .column = {COLUMN_BYTEA, COLUMN_INT8},
};

struct run_call {
    struct operation operation; // first: the operation is the call
    struct value values[RUN_COLUMNS];
    int64_t token;
};

bool run_token_read(struct request *request, int64_t *token)
{
    bool given;
    struct bytes text = request_argument(request, "token", &given);
    if (given && text_int64(text, token) && *token > 0)
        return true;
    reply_invalid(request, "token", "a token is the decimal text that the run was granted with");
    return false;
}

// Reads where the run is and which one it is; NULL when that was refused.
static struct run_call *run_call_read(struct request *request)
{
    struct run_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct address address;
    if (!address_read_named(request, &address) || !run_token_read(request, &call->token))
        return NULL;
    call->values[RUN_PATH] = value_bytes(address.path);
    call->values[RUN_TOKEN] = value_number(call->token);
    call->operation.bucket = address.bucket;
    call->operation.key = address.path;
    return call;
}

static void run_call_submit(struct request *request, struct run_call *call, const struct statement *statement,
                            void (*done)(struct operation *, const struct outcome *))
{
    call->operation.statement = statement;
    call->operation.values = call->values;
    call->operation.done = done;
    call->operation.owner = request;
    request_submit(request, &call->operation);
}

// Replies to what is no success; true for a success.
static bool run_is_mine(struct request *request, const struct operation *operation,
                        const struct outcome *outcome)
{
    if (!outcome_usable(request, outcome))
        return false;
    switch ((enum once_status)outcome_number(outcome, 0, RAN_STATUS)) {
    case ONCE_DONE:
        return true;
    case ONCE_OTHER_KIND:
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, RAN_KIND));
        return false;
    default:
        reply_run_lost(request);
        return false;
    }
}

static void renew_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (run_is_mine(request, operation, outcome))
        reply_run(request, 200, ((struct run_call *)operation)->token,
                  outcome_time(outcome, 0, RAN_EXPIRES_AT), outcome_number(outcome, 0, RAN_POSITION));
}

bool run_ttl_member(struct request *request, json_t *object, const char *member, struct value *us)
{
    if (!input_duration(request, object, member, us))
        return false;
    if (!us->given || us->number >= SHORTEST_RUN)
        return true;
    reply_invalid(request, member, "a run has at least %dms", SHORTEST_RUN / 1000);
    return false;
}

void once_renew(struct request *request)
{
    static const char *const members[] = {"ttl", NULL};
    struct run_call *call = run_call_read(request);
    json_t *object = call ? request_json(request, true) : NULL;
    if (!object || !request_json_members(request, object, members) ||
        !run_ttl_member(request, object, "ttl", &call->values[RUN_TTL]))
        return;
    run_call_submit(request, call, &renew_runs, renew_done);
}

static void fail_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!run_is_mine(request, operation, outcome))
        return;
    reply_position(request, outcome_number(outcome, 0, RAN_POSITION));
    reply_empty(request, 204);
}

void once_fail(struct request *request)
{
    struct run_call *call = run_call_read(request);
    if (call)
        run_call_submit(request, call, &fail_runs, fail_done);
}
