// An answer that is too large to come with many others is read by itself. It may be gone when it is asked
// for: then the attempt begins anew.
#include "handlers/once_attempt.h"

#include "handlers/entry_call.h"

#include <stdlib.h>

enum { BEGIN_PATH, BEGIN_DECLARES, BEGIN_COLUMNS };

// 256 callers of one key may get its answer from one call.
static const struct statement begin_runs = {
    .name = "begin_runs",
    .sql = "select * from holdfast.begin_runs($1, $2, $3, $4, $5, 8192)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .keys = KEYS_ANY,
    .columns = BEGIN_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_BOOL},
};

#define READ_STATEMENT(largest)                                                                              \
    .sql = "select * from holdfast.get_answers($1, $2, $3, $4, $5, " largest ")", .form = STATEMENT_SHARED,  \
    .keys = KEYS_ANY, .only_reads = true, .columns = ONCE_READ_COLUMNS,                                      \
    .column = {COLUMN_BYTEA, COLUMN_BOOL}

const struct statement get_answers = {.name = "get_answers", .role = ROLE_READ, READ_STATEMENT("65536")};
const struct statement get_large_answer = {
    .name = "get_large_answer", .role = ROLE_LARGE, READ_STATEMENT("2147483647")};

static void submit(struct once_attempt *attempt, const struct statement *statement,
                   void (*done)(struct operation *, const struct outcome *))
{
    attempt->operation = (struct operation){
        .statement = statement,
        .bucket = attempt->address.bucket,
        .key = attempt->address.path,
        .values = attempt->values,
        .done = done,
    };
    store_submit(attempt->context->store, &attempt->operation);
}

static bool is_kept(const struct outcome *outcome)
{
    return outcome->kind == OUTCOME_ROWS && outcome_number(outcome, 0, ONCE_STATUS) == ONCE_KEPT;
}

static void read_done(struct operation *operation, const struct outcome *outcome)
{
    struct once_attempt *attempt = (struct once_attempt *)operation;
    if (outcome->kind != OUTCOME_ROWS || (is_kept(outcome) && !outcome_null(outcome, 0, ONCE_VALUE)))
        attempt->done(attempt, outcome);
    else
        once_attempt_submit(attempt);
}

static void begin_done(struct operation *operation, const struct outcome *outcome)
{
    struct once_attempt *attempt = (struct once_attempt *)operation;
    if (!is_kept(outcome) || !outcome_null(outcome, 0, ONCE_VALUE)) {
        attempt->done(attempt, outcome);
        return;
    }
    bool large = outcome_number(outcome, 0, ONCE_SIZE) > LARGE_VALUE;
    attempt->values[ONCE_READ_WANTED] = value_number(true);
    submit(attempt, large ? &get_large_answer : &get_answers, read_done);
}

void once_attempt_submit(struct once_attempt *attempt)
{
    attempt->values[BEGIN_PATH] = value_bytes(attempt->address.path);
    attempt->values[BEGIN_DECLARES] = value_number(attempt->context->declares);
    submit(attempt, &begin_runs, begin_done);
}

// --- handing back
// -----------------------------------------------------------------------------------------------------

enum { FAIL_PATH, FAIL_TOKEN, FAIL_COLUMNS };

static const struct statement hand_back_runs = {
    .name = "hand_back_runs",
    .sql = "select * from holdfast.fail_runs($1, $2, $3, $4, $5)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE, // may be sent again: a token is that of one run only
    .keys = KEYS_ANY,
    .columns = FAIL_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_INT8},
};

struct hand_back {
    struct operation operation; // first: the operation is the whole
    struct value values[FAIL_COLUMNS];
    uint8_t names[]; // the name, then the path: the request is gone
};

static void forget(struct operation *operation, const struct outcome *outcome)
{
    (void)outcome;
    free(operation);
}

void once_hand_back(struct context *context, const struct address *address, int64_t token)
{
    size_t name_size = address->bucket.size, path_size = address->path.size;
    struct hand_back *back = calloc(1, sizeof *back + name_size + path_size);
    if (!back)
        return;
    memcpy(back->names, address->bucket.data, name_size);
    memcpy(back->names + name_size, address->path.data, path_size);
    back->values[FAIL_PATH] = value_bytes(bytes_make(back->names + name_size, path_size));
    back->values[FAIL_TOKEN] = value_number(token);
    back->operation = (struct operation){
        .statement = &hand_back_runs,
        .bucket = bytes_make(back->names, name_size),
        .key = back->values[FAIL_PATH].bytes,
        .values = back->values,
        .done = forget,
    };
    store_submit(context->store, &back->operation);
}
