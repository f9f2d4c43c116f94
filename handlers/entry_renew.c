// A renewal is an operation like others, gathered with those of other readers; most of them nobody waits for.
#include "handlers/entry_renew.h"

#include "handlers/outcome.h"

#include <stdlib.h>

enum { RENEW_PATH, RENEW_VERSION, RENEW_URGENT, RENEW_COLUMNS };
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

struct renew_call {
    struct operation operation; // first: the operation is the call
    struct value values[RENEW_COLUMNS];
    struct get_call *waiting; // NULL when nobody waits
    uint8_t names[]; // of the bucket, then the path, when nobody waits: the request may be gone by then
};

static void forget(struct operation *operation, const struct outcome *outcome)
{
    (void)outcome;
    free(operation);
}

static void read_again(struct operation *operation, const struct outcome *outcome)
{
    struct get_call *call = ((struct renew_call *)operation)->waiting;
    struct request *request = operation->owner;
    if (outcome_usable(request, outcome))
        store_submit(context_of(request)->store, &call->operation);
}

static void submit(struct context *context, struct renew_call *renew, struct bytes bucket, struct bytes path,
                   int64_t version, void (*done)(struct operation *, const struct outcome *), void *owner)
{
    renew->values[RENEW_PATH] = value_bytes(path);
    renew->values[RENEW_VERSION] = value_number(version);
    renew->values[RENEW_URGENT] = value_number(renew->waiting != NULL);
    renew->operation = (struct operation){
        .statement = &renew_entries,
        .bucket = bucket,
        .key = path,
        .values = renew->values,
        .done = done,
        .owner = owner,
    };
    store_submit(context->store, &renew->operation);
}

static void renew_unattended(struct context *context, const struct get_call *call, int64_t version)
{
    struct bytes bucket = call->operation.bucket;
    struct bytes path = call->operation.key;
    struct renew_call *renew = calloc(1, sizeof *renew + bucket.size + path.size);
    if (!renew)
        return; // the next read tries again
    memcpy(renew->names, bucket.data, bucket.size);
    memcpy(renew->names + bucket.size, path.data, path.size);
    submit(context, renew, bytes_make(renew->names, bucket.size),
           bytes_make(renew->names + bucket.size, path.size), version, forget, NULL);
}

bool entry_renew_first(struct request *request, struct get_call *call, const struct outcome *outcome)
{
    if (call->renewed || outcome_null(outcome, 0, GOT_IDLE) || outcome_null(outcome, 0, GOT_EXPIRES_AT))
        return false;
    int64_t idle = outcome_number(outcome, 0, GOT_IDLE);
    int64_t left = outcome_time(outcome, 0, GOT_EXPIRES_AT) - outcome_time(outcome, 0, GOT_NOW);
    int64_t version = outcome_number(outcome, 0, GOT_VERSION);
    if (left >= idle / 30 * 29)
        return false;
    if (left >= idle / 30) {
        renew_unattended(context_of(request), call, version);
        return false;
    }
    struct renew_call *renew = arena_zalloc(&request->arena, sizeof *renew);
    renew->waiting = call;
    call->renewed = true; // once: a term shorter than a round trip would keep the reader for ever
    submit(context_of(request), renew, call->operation.bucket, call->operation.key, version, read_again,
           request);
    return true;
}
