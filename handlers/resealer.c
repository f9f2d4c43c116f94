// A step is one transaction: rows are read and their bucket's lock taken, they are sealed or opened here, and
// put back with how far it is. Replicas take turns by a lock in the database; a step that was cut off is done
// again.
#include "handlers/resealer.h"

#include "base/timestamp.h"
#include "handlers/entry_call.h"
#include "handlers/sealed_reply.h"
#include "handlers/sealed_write.h"
#include "security/key_ring.h"
#include "security/warrant.h"

#include <stdlib.h>

enum {
    STEP_ROWS = 64,
    STEP_BYTES = 1 << 20,
    PAUSE_BUSY = 2 * 1000,
    PAUSE_IDLE = 500 * 1000,
    PAUSE_FAILED = 1000 * 1000,
};

enum { NEXT_KEY, NEXT_ROWS, NEXT_BYTES, NEXT_COLUMNS };

enum next_result {
    NEXT_WORK,
    NEXT_TARGET,
    NEXT_STAGE,
    NEXT_BUCKET_ID,
    NEXT_NAME,
    NEXT_FORK,
    NEXT_PATH,
    NEXT_VERSION,
    NEXT_HIGH,
    NEXT_CONTENT_TYPE,
    NEXT_METADATA,
    NEXT_VALUE,
    NEXT_SCOPE,
    NEXT_REPLY_KEY,
    NEXT_STATUS,
    NEXT_FINGERPRINT,
    NEXT_WARRANT,
};

enum stage { STAGE_ENTRIES, STAGE_IMAGES, STAGE_ANSWERS, STAGE_REPLIES };

static const struct statement next_reseal = {
    .name = "next_reseal",
    .sql = "select * from holdfast.next_reseal($1, $2, $3)",
    .form = STATEMENT_ALONE,
    .role = ROLE_TRANSACTION,
    .columns = NEXT_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_INT4, COLUMN_INT4},
};

enum {
    ROW_STAGE,
    ROW_BUCKET_ID,
    ROW_PATH,
    ROW_VERSION,
    ROW_HIGH,
    ROW_SCOPE,
    ROW_KEY,
    ROW_CONTENT_TYPE,
    ROW_METADATA,
    ROW_VALUE,
    ROW_COLUMNS,
};

static const struct statement reseal_rows = {
    .name = "reseal_rows",
    .sql = "select * from holdfast.reseal_rows($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    .form = STATEMENT_SHARED,
    .role = ROLE_TRANSACTION,
    .writes = true,
    .keys = KEYS_ANY,
    .columns = ROW_COLUMNS,
    .column = {COLUMN_INT2, COLUMN_INT4, COLUMN_BYTEA, COLUMN_INT8, COLUMN_INT8, COLUMN_TEXT, COLUMN_TEXT,
               COLUMN_TEXT, COLUMN_BYTEA, COLUMN_BYTEA},
};

enum {
    END_WORK,
    END_BUCKET_ID,
    END_PATH,
    END_HIGH,
    END_SCOPE,
    END_KEY,
    END_RESEALED,
    END_DAMAGED,
    END_COLUMNS
};

static const struct statement end_reseal_step = {
    .name = "end_reseal_step",
    .sql = "select holdfast.end_reseal_step($1, $2, $3, $4, $5, $6, $7, $8)",
    .form = STATEMENT_ALONE,
    .role = ROLE_TRANSACTION,
    .writes = true,
    .columns = END_COLUMNS,
    .column = {COLUMN_INT8, COLUMN_INT4, COLUMN_BYTEA, COLUMN_INT8, COLUMN_TEXT, COLUMN_TEXT, COLUMN_INT4,
               COLUMN_INT4},
};

struct row {
    struct operation operation; // first: the operation is the row
    struct value values[ROW_COLUMNS];
};

struct resealer {
    struct transaction transaction; // first: the transaction is the resealer
    struct context *context;
    struct timer timer;
    char key[KEY_ID_TEXT + 1];
    struct operation next;
    struct value next_values[NEXT_COLUMNS];
    struct operation end;
    struct value end_values[END_COLUMNS];
    struct arena arena; // of one step
    struct held *held;  // the rows of the step
    bool found;         // work, so that there may be more
    bool busy;
    bool stopped;
};

static void pause_for(struct resealer *resealer, int64_t pause)
{
    resealer->busy = false;
    held_release(resealer->held);
    resealer->held = NULL;
    arena_free(&resealer->arena);
    resealer->arena = (struct arena){0};
    if (!resealer->stopped)
        loop_timer_set(resealer->context->loop, &resealer->timer, timestamp_monotonic() + pause);
}

// Whether it was done, the commit tells.
static void done(struct operation *operation, const struct outcome *outcome)
{
    (void)operation;
    (void)outcome;
}

// --- one row
// ----------------------------------------------------------------------------------------------------------

static struct value maybe(const struct outcome *outcome, int row, int column)
{
    return outcome_null(outcome, row, column) ? value_null()
                                              : value_bytes(outcome_bytes(outcome, row, column));
}

static struct value bytes_or_null(struct bytes bytes)
{
    return bytes.size ? value_bytes(bytes) : value_null();
}

// What a fork has not written it has as the main data, and so it is sealed again.
static bool make_entry(struct resealer *resealer, const struct outcome *outcome, int row, bool opens,
                       struct content *content)
{
    struct stored_entry entry = {
        .bucket = outcome_bytes(outcome, row, NEXT_NAME),
        .fork = outcome_bytes(outcome, row, NEXT_FORK),
        .path = outcome_bytes(outcome, row, NEXT_PATH),
        .version = outcome_number(outcome, row, NEXT_VERSION),
        .content_type = outcome_bytes(outcome, row, NEXT_CONTENT_TYPE),
        .metadata = outcome_bytes(outcome, row, NEXT_METADATA),
        .has_value = true,
        .value = outcome_bytes(outcome, row, NEXT_VALUE),
    };
    struct arena *arena = &resealer->arena;
    if (outcome_null(outcome, row, NEXT_FORK))
        entry.fork = (struct bytes){0};
    if (!entry_open(resealer->context, arena, &entry))
        return false;
    *content =
        (struct content){entry.value, bytes_or_null(entry.content_type), bytes_or_null(entry.metadata)};
    struct address address = {entry.bucket, entry.path, entry.sealed_in};
    if (!opens)
        content_seal(resealer->context, arena, &address, entry.version, content, content);
    return true;
}

// With another key everybody may have things sealed; from or to what is not sealed only who could open it.
static bool is_warranted(const struct resealer *resealer, const struct outcome *outcome, int row)
{
    struct bytes target = outcome_bytes(outcome, row, NEXT_TARGET);
    bool opens = bytes_is(target, "open");
    return (!opens && !bytes_is(target, "seal")) ||
           warrant_holds(key_ring_keys(resealer->context->keys), opens ? WARRANT_OPEN : WARRANT_SEAL,
                         outcome_bytes(outcome, row, NEXT_NAME), outcome_bytes(outcome, row, NEXT_WARRANT));
}

static bool make_row(struct resealer *resealer, const struct outcome *outcome, int row,
                     struct content *content)
{
    struct context *context = resealer->context;
    switch ((enum stage)outcome_number(outcome, row, NEXT_STAGE)) {
    case STAGE_ENTRIES:
    case STAGE_IMAGES:
        return make_entry(resealer, outcome, row, bytes_is(outcome_bytes(outcome, row, NEXT_TARGET), "open"),
                          content);
    case STAGE_ANSWERS: {
        struct stored_entry answer = {
            .bucket = outcome_bytes(outcome, row, NEXT_NAME),
            .path = outcome_bytes(outcome, row, NEXT_PATH),
            .version = outcome_number(outcome, row, NEXT_VERSION),
            .content_type = outcome_bytes(outcome, row, NEXT_CONTENT_TYPE),
            .has_value = true,
            .value = outcome_bytes(outcome, row, NEXT_VALUE),
        };
        struct address address = {answer.bucket, answer.path, {0}};
        if (!answer_open(context, &resealer->arena, &answer))
            return false;
        *content = (struct content){answer.value, bytes_or_null(answer.content_type), value_null()};
        answer_seal(context, &resealer->arena, &address, answer.version, content, content);
        return true;
    }
    case STAGE_REPLIES: {
        struct sealed_reply reply = {
            .scope = outcome_bytes(outcome, row, NEXT_SCOPE),
            .key = outcome_bytes(outcome, row, NEXT_REPLY_KEY),
            .fingerprint = outcome_bytes(outcome, row, NEXT_FINGERPRINT),
            .status = outcome_number(outcome, row, NEXT_STATUS),
            .headers = outcome_bytes(outcome, row, NEXT_CONTENT_TYPE),
            .body = outcome_bytes(outcome, row, NEXT_VALUE),
        };
        if (!reply_open(context, &resealer->arena, &reply))
            return false;
        reply_seal(context, &resealer->arena, &reply);
        *content = (struct content){reply.body, value_bytes(reply.headers), value_null()};
        return true;
    }
    }
    return false;
}

static void put_back(struct resealer *resealer, const struct outcome *outcome, int number,
                     const struct content *content)
{
    struct row *row = arena_zalloc(&resealer->arena, sizeof *row);
    row->values[ROW_STAGE] = value_number(outcome_number(outcome, number, NEXT_STAGE));
    row->values[ROW_BUCKET_ID] = value_number(outcome_number(outcome, number, NEXT_BUCKET_ID));
    row->values[ROW_PATH] = maybe(outcome, number, NEXT_PATH);
    row->values[ROW_VERSION] = value_number(outcome_number(outcome, number, NEXT_VERSION));
    row->values[ROW_HIGH] = value_number(outcome_number(outcome, number, NEXT_HIGH));
    row->values[ROW_SCOPE] = maybe(outcome, number, NEXT_SCOPE);
    row->values[ROW_KEY] = maybe(outcome, number, NEXT_REPLY_KEY);
    row->values[ROW_CONTENT_TYPE] = content->content_type;
    row->values[ROW_METADATA] = content->metadata;
    row->values[ROW_VALUE] = value_bytes(content->value);
    row->operation = (struct operation){
        .statement = &reseal_rows, .bucket = bytes_of(""), .values = row->values, .done = done};
    store_submit(resealer->transaction.store, &row->operation);
}

// --- a step
// -----------------------------------------------------------------------------------------------------------

static void committed(struct transaction *transaction, bool good)
{
    struct resealer *resealer = (struct resealer *)transaction;
    pause_for(resealer, !good ? PAUSE_FAILED : resealer->found ? PAUSE_BUSY : PAUSE_IDLE);
}

static void end_step(struct resealer *resealer, const struct outcome *outcome, int resealed, int damaged)
{
    int last = outcome->rows - 1;
    struct value *values = resealer->end_values;
    bool in_bucket = !outcome_null(outcome, last, NEXT_BUCKET_ID);
    values[END_WORK] = value_number(outcome_number(outcome, last, NEXT_WORK));
    values[END_BUCKET_ID] =
        in_bucket ? value_number(outcome_number(outcome, last, NEXT_BUCKET_ID)) : value_null();
    values[END_PATH] = maybe(outcome, last, NEXT_PATH);
    values[END_HIGH] = value_number(outcome_number(outcome, last, NEXT_HIGH));
    values[END_SCOPE] = maybe(outcome, last, NEXT_SCOPE);
    values[END_KEY] = maybe(outcome, last, NEXT_REPLY_KEY);
    values[END_RESEALED] = value_number(resealed);
    values[END_DAMAGED] = value_number(damaged);
    resealer->end = (struct operation){.statement = &end_reseal_step, .values = values, .done = done};
    store_submit(resealer->transaction.store, &resealer->end);
}

static void reseal(struct resealer *resealer, const struct outcome *outcome)
{
    int resealed = 0;
    for (int row = 0; row < outcome->rows; row++) {
        struct content content;
        if (!is_warranted(resealer, outcome, row) || !make_row(resealer, outcome, row, &content))
            continue;
        put_back(resealer, outcome, row, &content);
        resealed++;
    }
    end_step(resealer, outcome, resealed, outcome->rows - resealed);
}

static void found(struct operation *operation, const struct outcome *outcome)
{
    struct resealer *resealer = operation->owner;
    if (outcome->kind != OUTCOME_ROWS || !transaction_sound(&resealer->transaction)) {
        transaction_rollback(&resealer->transaction);
        pause_for(resealer, PAUSE_FAILED);
        return;
    }
    resealer->found = outcome->rows > 0;
    if (!resealer->found) {
        transaction_rollback(&resealer->transaction);
        pause_for(resealer, PAUSE_IDLE);
        return;
    }
    if (!outcome_null(outcome, 0, NEXT_VALUE)) {
        resealer->held = outcome_hold(outcome);
        reseal(resealer, outcome);
    }
    transaction_commit(&resealer->transaction, committed);
}

static void begun(struct transaction *transaction)
{
    struct resealer *resealer = (struct resealer *)transaction;
    key_id_format(keys_current(key_ring_keys(resealer->context->keys))->id, resealer->key);
    resealer->next_values[NEXT_KEY] = value_bytes(bytes_of(resealer->key));
    resealer->next_values[NEXT_ROWS] = value_number(STEP_ROWS);
    resealer->next_values[NEXT_BYTES] = value_number(STEP_BYTES);
    resealer->next = (struct operation){
        .statement = &next_reseal, .values = resealer->next_values, .done = found, .owner = resealer};
    store_submit(transaction->store, &resealer->next);
}

static void never_begun(struct transaction *transaction, const char *detail)
{
    (void)detail;
    pause_for((struct resealer *)transaction, PAUSE_FAILED);
}

static void step(struct timer *timer)
{
    struct resealer *resealer = (struct resealer *)((char *)timer - offsetof(struct resealer, timer));
    resealer->busy = true;
    resealer->transaction.until = 0;
    transaction_begin(resealer->context->store, &resealer->transaction);
}

struct resealer *resealer_start(struct context *context)
{
    if (!context->keys)
        return NULL;
    struct resealer *resealer = calloc(1, sizeof *resealer);
    if (!resealer)
        abort();
    resealer->context = context;
    resealer->transaction.name = bytes_of("\x01reseal"); // what no request's transaction is called
    resealer->transaction.begun = begun;
    resealer->transaction.refused = never_begun;
    resealer->timer.fire = step;
    loop_timer_set(context->loop, &resealer->timer, timestamp_monotonic() + PAUSE_IDLE);
    return resealer;
}

void resealer_stop(struct resealer *resealer)
{
    if (!resealer)
        return;
    resealer->stopped = true;
    loop_timer_clear(resealer->context->loop, &resealer->timer);
}

void resealer_free(struct resealer *resealer)
{
    if (!resealer)
        return;
    held_release(resealer->held);
    arena_free(&resealer->arena);
    free(resealer);
}
