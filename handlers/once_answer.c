// An answer is kept for the run that is still its caller's, and read by everybody.
#include "handlers/once_answer.h"

#include "handlers/entry_call.h"
#include "handlers/entry_reply.h"
#include "handlers/once_attempt.h"
#include "handlers/once_run.h"
#include "handlers/outcome.h"

void reply_kept_answer(struct request *request, const struct address *address, const struct outcome *outcome)
{
    bool head = bytes_is(request->method, "HEAD");
    struct stored_entry answer = {
        .bucket = address->bucket,
        .path = address->path,
        .version = outcome_number(outcome, 0, ONCE_TOKEN),
        .content_type = outcome_bytes(outcome, 0, ONCE_CONTENT_TYPE),
        .has_value = !head,
        .value = outcome_bytes(outcome, 0, ONCE_VALUE),
    };
    bool sealed = content_type_sealed(answer.content_type);
    if (!answer_open(context_of(request), &request->arena, &answer)) {
        reply_corrupt(request, &answer);
        return;
    }
    if (bytes_is(request->method, "POST")) // which has other replies to tell it from
        reply_header(request, "Holdfast-Once", "kept");
    reply_content_type(request, answer.content_type);
    reply_expires_at(request, outcome_time(outcome, 0, ONCE_EXPIRES_AT));
    if (head)
        reply_without_body(request, 200,
                           size_opened(outcome_bytes(outcome, 0, ONCE_CONTENT_TYPE),
                                       (size_t)outcome_number(outcome, 0, ONCE_SIZE)));
    else if (sealed)
        reply_send(request, 200, answer.value);
    else
        reply_value(request, 200, answer.value, outcome);
}

// --- keeping
// ----------------------------------------------------------------------------------------------------------

enum { KEEP_PATH, KEEP_TOKEN, KEEP_CONTENT_TYPE, KEEP_VALUE, KEEP_COLUMNS };

enum keep_result { KEPT_ORDINAL, KEPT_STATUS, KEPT_KIND, KEPT_POSITION };

#define KEEP_STATEMENT                                                                                       \
    .sql = "select * from holdfast.keep_answers($1, $2, $3, $4, $5, $6, $7)", .form = STATEMENT_SHARED,      \
    .writes = true, .keys = KEYS_ANY, .columns = KEEP_COLUMNS,                                               \
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_TEXT, COLUMN_BYTEA}

static const struct statement keep_answers = {.name = "keep_answers", .role = ROLE_WRITE, KEEP_STATEMENT};
static const struct statement keep_large_answer = {
    .name = "keep_large_answer", .role = ROLE_LARGE, KEEP_STATEMENT};

struct answer_call {
    struct operation operation; // first: the operation is the call
    struct value values[KEEP_COLUMNS];
};

static void submit(struct request *request, struct answer_call *call, const struct statement *statement,
                   const struct address *address, void (*done)(struct operation *, const struct outcome *))
{
    call->operation = (struct operation){
        .statement = statement,
        .bucket = address->bucket,
        .key = address->path,
        .values = call->values,
        .done = done,
        .owner = request,
    };
    request_submit(request, &call->operation);
}

static void answer_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    switch ((enum once_status)outcome_number(outcome, 0, KEPT_STATUS)) {
    case ONCE_DONE:
        reply_position(request, outcome_number(outcome, 0, KEPT_POSITION));
        reply_empty(request, 204);
        return;
    case ONCE_OTHER_KIND:
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, KEPT_KIND));
        return;
    default:
        reply_run_lost(request);
        return;
    }
}

void once_answer(struct request *request)
{
    struct answer_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct address address;
    int64_t token;
    if (!address_read_named(request, &address) || !run_token_read(request, &token))
        return;
    struct bytes content_type = request->headers[HEADER_CONTENT_TYPE];
    call->values[KEEP_PATH] = value_bytes(address.path);
    call->values[KEEP_TOKEN] = value_number(token);
    struct content content = {
        .value = request->body,
        .content_type = content_type.size ? value_bytes(content_type) : value_null(),
    };
    if (context_of(request)->keys)
        answer_seal(context_of(request), &request->arena, &address, token, &content, &content);
    call->values[KEEP_CONTENT_TYPE] = content.content_type;
    call->values[KEEP_VALUE] = value_bytes(content.value);
    submit(request, call, request->body.size > LARGE_VALUE ? &keep_large_answer : &keep_answers, &address,
           answer_done);
}

// --- reading
// ----------------------------------------------------------------------------------------------------------

static void get_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    switch ((enum once_status)outcome_number(outcome, 0, ONCE_STATUS)) {
    case ONCE_KEPT:
        if (operation->values[ONCE_READ_WANTED].number && outcome_null(outcome, 0, ONCE_VALUE)) {
            operation->statement = &get_large_answer;
            request_submit(request, operation);
        } else {
            struct address address = {.bucket = operation->bucket, .path = operation->key};
            reply_kept_answer(request, &address, outcome);
        }
        return;
    case ONCE_NO_NAME:
        reply_no_name(request, operation->bucket);
        return;
    case ONCE_OTHER_KIND:
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, ONCE_KIND));
        return;
    default:
        reply_simple_problem(request, PROBLEM_NOT_FOUND, "no answer is kept under this key in this branch");
        return;
    }
}

void once_get(struct request *request)
{
    struct answer_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct address address;
    if (!address_read_named(request, &address))
        return;
    call->values[ONCE_READ_PATH] = value_bytes(address.path);
    call->values[ONCE_READ_WANTED] = value_number(!bytes_is(request->method, "HEAD"));
    submit(request, call, &get_answers, &address, get_done);
}

// --- forgetting
// -------------------------------------------------------------------------------------------------------

enum { FORGET_PATH, FORGET_COLUMNS };

static const struct statement forget_answers = {
    .name = "forget_answers",
    .sql = "select * from holdfast.forget_answers($1, $2, $3, $4)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .keys = KEYS_ANY,
    .columns = FORGET_COLUMNS,
    .column = {COLUMN_BYTEA},
};

static void forget_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    enum once_status status = (enum once_status)outcome_number(outcome, 0, KEPT_STATUS);
    if (status == ONCE_OTHER_KIND) {
        reply_kind_mismatch(request, operation->bucket, outcome_bytes(outcome, 0, KEPT_KIND));
        return;
    }
    // A name that nobody declared yet is one with the defaults, where it may.
    if (status == ONCE_NO_NAME && !context_of(request)->declares) {
        reply_no_name(request, operation->bucket);
        return;
    }
    reply_position(request, outcome_number(outcome, 0, KEPT_POSITION));
    reply_empty(request, 204);
}

void once_forget(struct request *request)
{
    struct answer_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct address address;
    if (!address_read_named(request, &address))
        return;
    call->values[FORGET_PATH] = value_bytes(address.path);
    submit(request, call, &forget_answers, &address, forget_done);
}
