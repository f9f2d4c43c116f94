// A batch is open once: its operations go out together, then what fills their rows together with the commit.
#include "handlers/sealed_write.h"

#include "handlers/entry_call.h"

#include <stdlib.h>

enum {
    BATCH_WRITES = 128,
    BATCH_BYTES = 4 << 20,
    RUNS = 10, // from the beginning, before a batch is given up
};

struct sealed_batch {
    struct transaction transaction; // first: the transaction is the batch
    struct sealed_writes *writes;
    struct sealed_batch *next; // of those that have not begun
    struct sealed_write *first;
    struct sealed_write **last;
    int count;
    int undecided;
    size_t bytes;
    bool alone;
    int runs;
    uint8_t name[]; // of the bucket
};

struct sealed_writes {
    struct context *context;
    struct sealed_batch *waiting;
};

struct sealed_writes *sealed_writes_new(struct context *context)
{
    struct sealed_writes *writes = calloc(1, sizeof *writes);
    if (!writes)
        abort();
    writes->context = context;
    return writes;
}

void sealed_writes_free(struct sealed_writes *writes)
{
    free(writes);
}

// --- filling
// ----------------------------------------------------------------------------------------------------------

enum {
    FILL_FORK,
    FILL_PATH,
    FILL_VERSION,
    FILL_CONTENT_TYPE,
    FILL_METADATA,
    FILL_VALUE,
    FILL_COLUMNS,
};

static const struct statement fill_entries = {
    .name = "fill_entries",
    .sql = "select * from holdfast.fill_entries($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    .form = STATEMENT_SHARED,
    .role = ROLE_TRANSACTION,
    .writes = true,
    .keys = KEYS_ANY,
    .columns = FILL_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_BYTEA, COLUMN_INT8, COLUMN_TEXT, COLUMN_BYTEA, COLUMN_BYTEA},
};

struct fill {
    struct operation operation; // first: the operation is the fill
    struct value values[FILL_COLUMNS];
};

// Whether it was done, the commit tells.
static void filled(struct operation *operation, const struct outcome *outcome)
{
    (void)operation;
    (void)outcome;
}

void sealed_write_fill(struct sealed_write *write, const struct address *address, int64_t version,
                       const struct content *content, bool plain)
{
    struct fill *fill = arena_zalloc(write->arena, sizeof *fill);
    struct content stored = *content;
    if (!plain)
        content_seal(write->context, write->arena, address, version, content, &stored);
    fill->values[FILL_FORK] = address->fork.data ? value_bytes(address->fork) : value_null();
    fill->values[FILL_PATH] = value_bytes(address->path);
    fill->values[FILL_VERSION] = value_number(version);
    fill->values[FILL_CONTENT_TYPE] = stored.content_type;
    fill->values[FILL_METADATA] = stored.metadata;
    fill->values[FILL_VALUE] = value_bytes(stored.value);
    fill->operation = (struct operation){
        .statement = &fill_entries,
        .bucket = address->bucket,
        .key = address->path,
        .values = fill->values,
        .done = filled,
        .account = write->operation->account,
    };
    store_submit(write->store, &fill->operation);
}

// --- one write
// --------------------------------------------------------------------------------------------------------

static void deliver(struct sealed_write *write, const struct outcome *outcome)
{
    struct held *held = write->held;
    write->held = NULL;
    write->store = NULL;
    write->operation->done = write->done;
    write->operation->owner = write->operation_owner;
    write->done(write->operation, outcome);
    held_release(held);
}

static void take_over(struct sealed_write *write, void (*done)(struct operation *, const struct outcome *))
{
    write->done = write->operation->done;
    write->operation_owner = write->operation->owner;
    write->operation->done = done;
    write->operation->owner = write;
}

// In the transaction of its request: what is wrong the commit tells, and a reply of failure takes it back.
static void done_within(struct operation *operation, const struct outcome *outcome)
{
    struct sealed_write *write = operation->owner;
    if (outcome->kind == OUTCOME_ROWS)
        write->seal(write, outcome);
    deliver(write, outcome);
}

// --- a batch
// ----------------------------------------------------------------------------------------------------------

static void run(struct sealed_batch *batch);

static void add(struct sealed_batch *batch, struct sealed_write *write)
{
    write->batch = batch;
    write->next = NULL;
    *batch->last = write;
    batch->last = &write->next;
    batch->count++;
}

static struct sealed_batch *batch_new(struct sealed_writes *writes, struct bytes name, bool alone)
{
    struct sealed_batch *batch = calloc(1, sizeof *batch + name.size);
    if (!batch)
        abort();
    memcpy(batch->name, name.data, name.size);
    batch->transaction.name = bytes_make(batch->name, name.size);
    batch->writes = writes;
    batch->last = &batch->first;
    batch->alone = alone;
    return batch;
}

static void forget_waiting(struct sealed_batch *batch)
{
    struct sealed_batch **link = &batch->writes->waiting;
    while (*link && *link != batch)
        link = &(*link)->next;
    if (*link)
        *link = batch->next;
}

// Ends the batch, each of its writes with the outcome `of` it.
static void end(struct sealed_batch *batch, const struct outcome *all)
{
    struct sealed_write *write = batch->first;
    free(batch);
    while (write) {
        struct sealed_write *next = write->next;
        deliver(write, all ? all : &write->outcome);
        write = next;
    }
}

static void end_failed(struct sealed_batch *batch, enum outcome_kind kind, const char *detail)
{
    struct outcome outcome = {.kind = kind, .detail = detail};
    end(batch, &outcome);
}

static void committed(struct transaction *transaction, bool done)
{
    struct sealed_batch *batch = (struct sealed_batch *)transaction;
    if (done)
        end(batch, NULL);
    else
        end_failed(batch, OUTCOME_UNKNOWN, NULL);
}

static void let_results_go(struct sealed_batch *batch)
{
    for (struct sealed_write *write = batch->first; write; write = write->next) {
        held_release(write->held);
        write->held = NULL;
    }
}

// So that only the culprit fails.
static void run_each_alone(struct sealed_batch *batch)
{
    struct sealed_write *write = batch->first;
    while (write) {
        struct sealed_write *next = write->next;
        struct sealed_batch *own = batch_new(batch->writes, batch->transaction.name, true);
        own->transaction.until = batch->transaction.until;
        add(own, write);
        run(own);
        write = next;
    }
    free(batch);
}

static void failed(struct sealed_batch *batch)
{
    bool unlucky = transaction_unlucky(&batch->transaction);
    bool unavailable = batch->first->outcome.kind != OUTCOME_FAILED;
    transaction_rollback(&batch->transaction);
    let_results_go(batch);
    if (unlucky && batch->runs < RUNS)
        run(batch);
    else if (batch->count > 1)
        run_each_alone(batch);
    else
        end_failed(batch, unavailable ? OUTCOME_UNAVAILABLE : OUTCOME_FAILED, NULL);
}

static void decided(struct sealed_batch *batch)
{
    if (!transaction_sound(&batch->transaction)) {
        failed(batch);
        return;
    }
    for (struct sealed_write *write = batch->first; write; write = write->next)
        if (write->outcome.kind != OUTCOME_ROWS) {
            failed(batch);
            return;
        }
    for (struct sealed_write *write = batch->first; write; write = write->next)
        if (write->seal(write, &write->outcome) == SEALED_UNDO) { // it is alone
            transaction_rollback(&batch->transaction);
            end(batch, NULL);
            return;
        }
    transaction_commit(&batch->transaction, committed);
}

static void done_in_batch(struct operation *operation, const struct outcome *outcome)
{
    struct sealed_write *write = operation->owner;
    struct sealed_batch *batch = write->batch;
    write->outcome = *outcome;
    write->outcome.detail = NULL;
    write->held = outcome->kind == OUTCOME_ROWS ? outcome_hold(outcome) : NULL;
    operation->done = write->done;
    operation->owner = write->operation_owner;
    if (--batch->undecided == 0)
        decided(batch);
}

static void begun(struct transaction *transaction)
{
    struct sealed_batch *batch = (struct sealed_batch *)transaction;
    struct sealed_write *write = batch->first;
    int left = batch->count;
    forget_waiting(batch);
    batch->undecided = left;
    while (left--) { // the last one may end the batch
        struct sealed_write *next = write->next;
        write->store = transaction->store;
        take_over(write, done_in_batch);
        store_submit(transaction->store, write->operation);
        write = next;
    }
}

static void never_begun(struct transaction *transaction, const char *detail)
{
    struct sealed_batch *batch = (struct sealed_batch *)transaction;
    forget_waiting(batch);
    struct sealed_write *write = batch->first;
    for (; write; write = write->next) {
        write->done = write->operation->done;
        write->operation_owner = write->operation->owner;
    }
    end_failed(batch, OUTCOME_UNAVAILABLE, detail);
}

static void run(struct sealed_batch *batch)
{
    batch->runs++;
    batch->transaction.begun = begun;
    batch->transaction.refused = never_begun;
    transaction_begin(batch->writes->context->store, &batch->transaction);
}

static struct sealed_batch *find_waiting(const struct sealed_writes *writes, struct bytes bucket, size_t size)
{
    for (struct sealed_batch *batch = writes->waiting; batch; batch = batch->next)
        if (!batch->alone && batch->count < BATCH_WRITES && batch->bytes + size <= BATCH_BYTES &&
            bytes_equal(batch->transaction.name, bucket))
            return batch;
    return NULL;
}

void sealed_write_submit(struct context *context, struct sealed_write *write)
{
    write->context = context;
    write->held = NULL;
    if (context->within) {
        write->store = context->store;
        take_over(write, done_within);
        store_submit(context->store, write->operation);
        return;
    }
    struct sealed_writes *writes = context->sealed_writes;
    struct bytes bucket = write->operation->bucket;
    struct sealed_batch *batch = write->alone ? NULL : find_waiting(writes, bucket, write->size);
    bool fresh = !batch;
    if (fresh) {
        batch = batch_new(writes, bucket, write->alone);
        batch->next = writes->waiting;
        writes->waiting = batch;
    }
    batch->bytes += write->size;
    add(batch, write);
    if (fresh)
        run(batch);
}
