// A renewal is an operation like others, gathered with those of other readers; most of them nobody waits for.
#include "handlers/entry_renew.h"

#include <stdlib.h>

enum { RENEW_PATH, RENEW_VERSION, RENEW_URGENT, RENEW_COLUMNS };
enum { RENEW_FORK = RENEW_COLUMNS, RENEW_FORK_COLUMNS };
enum renew_result { RENEWED_ORDINAL, RENEWED_EXPIRES_AT };

static const struct statement renew_entries = {
    .name = "renew_entries",
    .sql = "select * from holdfast.renew_entries($1, $2, $3, $4, $5, $6)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE, // may be sent again: it changes nothing twice
    .keys = KEYS_ANY,
    .columns = RENEW_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_BOOL},
};

static const struct statement renew_fork_entries = {
    .name = "renew_fork_entries",
    .sql = "select * from holdfast.renew_fork_entries($1, $2, $3, $4, $5, $6, $7)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .keys = KEYS_ANY,
    .columns = RENEW_FORK_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_BOOL, COLUMN_TEXT},
};

struct renew_call {
    struct operation operation; // first: the operation is the call
    struct value values[RENEW_FORK_COLUMNS];
    struct context *context;
    struct get_call *waiting; // NULL when nobody waits
    uint8_t names[];          // the bucket's, the path, the fork's: who reads may be gone by then
};

static void renewed(struct operation *operation, const struct outcome *outcome)
{
    struct renew_call *renew = (struct renew_call *)operation;
    struct get_call *call = renew->waiting;
    if (call && outcome->kind == OUTCOME_ROWS)
        store_submit(renew->context->store, &call->operation);
    else if (call)
        call->operation.done(&call->operation, outcome);
    free(renew);
}

static struct bytes copy_to(uint8_t **at, struct bytes bytes)
{
    struct bytes copy = bytes_make(*at, bytes.size);
    memcpy(*at, bytes.data, bytes.size);
    *at += bytes.size;
    return copy;
}

static void submit(struct context *context, struct get_call *call, bool waits, int64_t version)
{
    struct bytes bucket = call->operation.bucket;
    struct bytes path = call->operation.key;
    struct bytes fork = call->values[GET_FORK].bytes;
    struct renew_call *renew = calloc(1, sizeof *renew + bucket.size + path.size + fork.size);
    if (!renew)
        abort();
    uint8_t *at = renew->names;
    bucket = copy_to(&at, bucket);
    path = copy_to(&at, path);
    renew->context = context;
    renew->waiting = waits ? call : NULL;
    renew->values[RENEW_PATH] = value_bytes(path);
    renew->values[RENEW_VERSION] = value_number(version);
    renew->values[RENEW_URGENT] = value_number(waits);
    if (fork.data)
        renew->values[RENEW_FORK] = value_bytes(copy_to(&at, fork));
    renew->operation = (struct operation){.statement = fork.data ? &renew_fork_entries : &renew_entries,
                                          .bucket = bucket,
                                          .key = path,
                                          .values = renew->values,
                                          .done = renewed};
    store_submit(context->store, &renew->operation);
}

bool entry_renew_first(struct context *context, struct get_call *call, const struct outcome *outcome)
{
    call->renewed_to = 0;
    if (call->renewed || outcome_null(outcome, 0, GOT_IDLE) || outcome_null(outcome, 0, GOT_EXPIRES_AT))
        return false;
    int64_t idle = outcome_number(outcome, 0, GOT_IDLE);
    int64_t left = outcome_time(outcome, 0, GOT_EXPIRES_AT) - outcome_time(outcome, 0, GOT_NOW);
    int64_t version = outcome_number(outcome, 0, GOT_VERSION);
    if (left >= idle / 30 * 29)
        return false;
    bool waits = left < idle / 30;
    // Once: a term shorter than a round trip would keep the reader for ever.
    call->renewed = waits;
    submit(context, call, waits, version);
    if (!waits)
        call->renewed_to = outcome_time(outcome, 0, GOT_NOW) + idle;
    return waits;
}
