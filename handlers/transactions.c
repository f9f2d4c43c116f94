// A transaction is one operation of the store: its checks, the entries that were read for patches, its
// operations. Many travel in one call, and the database decides each as a whole.
#include "handlers/transactions.h"

#include "base/timestamp.h"
#include "handlers/entry_json.h"
#include "handlers/outcome.h"
#include "handlers/session_links.h"
#include "handlers/transaction_patch.h"

enum {
    TRIES = 200, // as of a rewrite: each means that somebody else's write went through
    TAKEN_BYTES = 16 << 20,
};

enum transact_column {
    TRANSACT_ITEM,
    TRANSACT_RUN,
    TRANSACT_OP,
    TRANSACT_PATH,
    TRANSACT_VALUE,
    TRANSACT_CONTENT_TYPE,
    TRANSACT_METADATA,
    TRANSACT_CHECKED,
    TRANSACT_CONDITIONS,
    TRANSACT_IF_VERSION,
    TRANSACT_TTL,
    TRANSACT_UNTIL,
    TRANSACT_DECLARES,
    TRANSACT_INTEGER,
    TRANSACT_FLOAT,
    TRANSACT_COLUMNS,
};

enum transact_result {
    TRANSACTED_ORDINAL,
    TRANSACTED_ITEM,
    TRANSACTED_STATUS, // enum write_status, or TRANSACTED_REFUSED
    TRANSACTED_VERSION,
    TRANSACTED_POSITION,
    TRANSACTED_KIND,
    TRANSACTED_MOST,
    TRANSACTED_EXPIRES_AT,
    TRANSACTED_CONTENT_TYPE,
    TRANSACTED_SIZE,
    TRANSACTED_VALUE,
};

enum { TRANSACTED_REFUSED = 20 };

#define TRANSACT_STATEMENT(largest)                                                                          \
    .sql = "select * from holdfast.transact($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, "   \
           "$15, $16, $17, $18, " largest ")",                                                               \
    .form = STATEMENT_GROUPED, .writes = true, .keys = KEYS_WRITTEN_ONCE, .columns = TRANSACT_COLUMNS,       \
    .column = {COLUMN_INT2, COLUMN_INT2,  COLUMN_INT2, COLUMN_BYTEA, COLUMN_BYTEA,                           \
               COLUMN_TEXT, COLUMN_BYTEA, COLUMN_TEXT, COLUMN_INT2,  COLUMN_INT8,                            \
               COLUMN_INT8, COLUMN_TIME,  COLUMN_BOOL, COLUMN_INT8,  COLUMN_FLOAT8}

static const struct statement transact = {
    .name = "transact", .role = ROLE_WRITE, TRANSACT_STATEMENT("65536")};
static const struct statement transact_large = {
    .name = "transact_large", .role = ROLE_LARGE, TRANSACT_STATEMENT("16777216")};

struct transaction_call {
    struct operation operation; // first: the operation is the transaction
    struct request *request;
    struct transaction_input input;
    struct transaction_patch patch;
    struct view_call view;
    struct held *viewed; // what the patches were made of
    struct sealed_write sealed;
    const struct transaction_item *corrupt; // a take whose value does not open
    int tries;
    size_t rows; // of the operation: checks, read entries, operations
};

static void send(struct transaction_call *call);
static void prepare(struct transaction_call *call);
static void read_patched(struct transaction_call *call);

static void let_go(struct transaction_call *call)
{
    held_release(call->viewed);
    call->viewed = NULL;
    transaction_patch_free(&call->input);
}

// --- the rows
// --------------------------------------------------------------------------------------------------------

static struct value *row_of(struct transaction_call *call, size_t row)
{
    return call->operation.values + row * TRANSACT_COLUMNS;
}

static struct value *set_row(struct transaction_call *call, size_t row, enum transaction_op op,
                             const struct address *address)
{
    struct value *values = row_of(call, row);
    memset(values, 0, TRANSACT_COLUMNS * sizeof *values);
    values[TRANSACT_ITEM] = value_number((int64_t)row + 1);
    values[TRANSACT_RUN] = value_number(1);
    values[TRANSACT_OP] = value_number(op);
    values[TRANSACT_PATH] = value_bytes(address->path);
    values[TRANSACT_CONDITIONS] = value_number(0);
    values[TRANSACT_DECLARES] = value_number(context_of(call->request)->declares);
    call->operation.items[row] =
        (struct item){.bucket = address->bucket, .key = address->path, .writes = op != TRANSACT_CHECK};
    return values;
}

static void set_conditions(struct value *values, int conditions, int64_t if_version)
{
    values[TRANSACT_CONDITIONS] = value_number(conditions);
    if (conditions & CONDITION_IF_VERSION)
        values[TRANSACT_IF_VERSION] = value_number(if_version);
}

static enum transaction_op op_of(const struct transaction_item *item)
{
    if (item->op != TRANSACT_PATCH && !item->sums)
        return item->op;
    return item->refused ? TRANSACT_REFUSE : TRANSACT_PUT;
}

static void set_item(struct transaction_call *call, size_t row, struct transaction_item *item)
{
    enum transaction_op op = op_of(item);
    struct value *values = set_row(call, row, op, &item->address);
    set_conditions(values, item->conditions, item->if_version);
    values[TRANSACT_TTL] = item->sums && item->continues ? value_null() : item->expiry.ttl;
    values[TRANSACT_UNTIL] = item->expiry.until;
    values[TRANSACT_INTEGER] = item->integer;
    values[TRANSACT_FLOAT] = item->real;
    if (op == TRANSACT_TAKE && item->opens)
        values[TRANSACT_CHECKED] = value_bytes(bytes_of("opened"));
    if (op != TRANSACT_PUT)
        return;
    values[TRANSACT_CHECKED] = value_bytes(bytes_of(item->checked.name));
    values[TRANSACT_VALUE] = value_bytes(bytes_of(""));
    if (item->checked.encrypted) // filled when its version is known
        return;
    values[TRANSACT_VALUE] = value_bytes(item->content.value);
    values[TRANSACT_CONTENT_TYPE] = item->content.content_type;
    values[TRANSACT_METADATA] = item->content.metadata;
}

// Entries that were read stand among the checks: what was made of them is written only if they are still the
// same.
static void set_patched(struct transaction_call *call, size_t row, size_t i)
{
    const struct patched_entry *entry = &call->patch.entries[i];
    struct value *values = set_row(call, row, TRANSACT_CHECK, &call->patch.addresses[i]);
    set_conditions(values, entry->was_live ? CONDITION_IF_VERSION : CONDITION_ABSENT, entry->version);
}

static size_t first_operation(const struct transaction_call *call)
{
    return call->input.check_count + call->patch.count;
}

static void set_rows(struct transaction_call *call)
{
    for (size_t i = 0; i < call->input.check_count; i++)
        set_item(call, i, &call->input.checks[i]);
    for (size_t i = 0; i < call->patch.count; i++)
        set_patched(call, call->input.check_count + i, i);
    for (size_t i = 0; i < call->input.operation_count; i++)
        set_item(call, first_operation(call) + i, &call->input.operations[i]);
}

// --- runs
// ------------------------------------------------------------------------------------------------------------

enum { RUN_SLOTS = 2048 }; // twice ITEMS_MOST

static uint16_t *run_slot(const struct transaction_call *call, uint16_t *slots, size_t operation)
{
    const struct item *items = call->operation.items + first_operation(call);
    uint64_t hash = bytes_hash(items[operation].key, bytes_hash(items[operation].bucket, 0));
    for (uint64_t i = hash;; i++) {
        uint16_t *slot = &slots[i % RUN_SLOTS];
        if (!*slot || (bytes_equal(items[*slot - 1].key, items[operation].key) &&
                       bytes_equal(items[*slot - 1].bucket, items[operation].bucket)))
            return slot;
    }
}

// A run ends before the second operation on one entry. Gives how many there are.
static int64_t set_runs(struct transaction_call *call)
{
    uint16_t slots[RUN_SLOTS] = {0};
    int64_t run = 1;
    for (size_t i = 0; i < call->input.operation_count; i++) {
        uint16_t *slot = run_slot(call, slots, i);
        if (*slot) {
            run++;
            memset(slots, 0, sizeof slots);
            slot = run_slot(call, slots, i);
        }
        *slot = (uint16_t)(i + 1);
        row_of(call, first_operation(call) + i)[TRANSACT_RUN] = value_number(run);
    }
    return run;
}

// --- refusals
// --------------------------------------------------------------------------------------------------------

static void refuse_version(struct transaction_call *call, const struct transaction_item *item,
                           const struct outcome *outcome, int row)
{
    struct request *request = call->request;
    struct problem problem = {.kind = PROBLEM_VERSION_CONFLICT};
    if (outcome_null(outcome, row, TRANSACTED_VERSION)) {
        problem.detail = "the entry is absent and is wanted there";
        problem.extra = "\"current_version\":null";
    } else {
        int64_t version = outcome_number(outcome, row, TRANSACTED_VERSION);
        problem.detail = item->conditions & CONDITION_ABSENT ? "the entry is there and is wanted absent"
                                                             : "the entry has another version than is wanted";
        problem.extra = arena_printf(&request->arena, "\"current_version\":\"%lld\"", (long long)version);
        reply_etag(request, version);
    }
    reply_item_problem(request, item->place, problem);
}

// Whether the value may be put into a bucket of this type as it is, or sealed by this service.
static bool fits(const struct transaction_call *call, const struct declared_type *declared,
                 struct bytes value)
{
    if (!value_type_accepts(declared->type, value))
        return false;
    return !declared->encrypted || (context_of(call->request)->keys && (int64_t)value.size <= declared->most);
}

static void learn_type(struct transaction_call *call, const struct transaction_item *item,
                       const struct declared_type *declared)
{
    type_learn(context_of(call->request), item->address.bucket, declared);
    for (size_t i = 0; i < call->input.operation_count; i++) {
        struct transaction_item *other = &call->input.operations[i];
        if (op_of(other) == TRANSACT_PUT && bytes_equal(other->address.bucket, item->address.bucket) &&
            fits(call, declared, other->content.value))
            other->checked = *declared;
    }
}

static struct problem no_number_problem(void)
{
    return (struct problem){.kind = PROBLEM_TYPE_MISMATCH,
                            .detail = "add wants a number in the entry and a summand of the bucket's type"};
}

static struct problem plain_problem(enum write_status status, int64_t most)
{
    switch (status) {
    case WRITE_NO_BUCKET:
        return (struct problem){.kind = PROBLEM_NOT_FOUND, .detail = "the bucket is not declared"};
    case WRITE_TOO_LARGE:
        return (struct problem){.kind = PROBLEM_TOO_LARGE,
                                .detail = "the value is larger than the bucket's max_value_bytes",
                                .limit = most};
    case WRITE_PAST:
        return (struct problem){.kind = PROBLEM_INVALID,
                                .detail = "the time is in the past by the database's clock",
                                .parameter = bytes_of("expires_at")};
    case WRITE_LARGE:
        return (struct problem){.kind = PROBLEM_TOO_LARGE,
                                .detail = "the values to take are too much for one reply",
                                .limit = TAKEN_BYTES};
    case WRITE_OVERFLOW:
        return (struct problem){.kind = PROBLEM_OVERFLOW, .detail = "the sum is out of range"};
    default:
        return (struct problem){.kind = PROBLEM_NOT_FOUND,
                                .detail = "there is no live entry of this key in this branch"};
    }
}

static void refuse_type(struct transaction_call *call, struct transaction_item *item,
                        const struct outcome *outcome, int row)
{
    struct request *request = call->request;
    struct declared_type declared;
    if (item->op == TRANSACT_ADD) {
        reply_item_problem(request, item->place, no_number_problem());
        return;
    }
    if (!declared_type_parse(outcome_bytes(outcome, row, TRANSACTED_KIND), &declared)) {
        reply_simple_problem(request, PROBLEM_INTERNAL,
                             "the bucket has a type that this version does not know");
        return;
    }
    if (declared.encrypted && !sealing_possible(request))
        return;
    if (declared.encrypted && (int64_t)item->content.value.size > declared.most) {
        reply_item_problem(request, item->place, plain_problem(WRITE_TOO_LARGE, declared.most));
        return;
    }
    reply_item_problem(
        request, item->place,
        (struct problem){.kind = PROBLEM_TYPE_MISMATCH,
                         .detail =
                             arena_printf(&request->arena, "the bucket's type is %s: it takes %s",
                                          value_type_name(declared.type), value_type_wants(declared.type))});
}

static void refuse_item(struct transaction_call *call, struct transaction_item *item,
                        const struct outcome *outcome, int row)
{
    struct request *request = call->request;
    int64_t status = outcome_number(outcome, row, TRANSACTED_STATUS);
    switch (status) {
    case WRITE_CONFLICT:
        refuse_version(call, item, outcome, row);
        return;
    case WRITE_OTHER_KIND:
        reply_item_kind_mismatch(request, item->place, item->address.bucket,
                                 outcome_bytes(outcome, row, TRANSACTED_KIND));
        return;
    case WRITE_OTHER_TYPE:
        refuse_type(call, item, outcome, row);
        return;
    case TRANSACTED_REFUSED:
        reply_item_problem(request, item->place, item->refusal);
        return;
    default:
        reply_item_problem(
            request, item->place,
            plain_problem((enum write_status)status, outcome_null(outcome, row, TRANSACTED_MOST)
                                                         ? VALUE_LIMIT
                                                         : outcome_number(outcome, row, TRANSACTED_MOST)));
    }
}

// Whether the item was only not as its bucket wants it, which is encrypted, or of a type that the value was
// not checked for: it is submitted again.
static bool made_fit(struct transaction_call *call, struct transaction_item *item,
                     const struct outcome *outcome, int row)
{
    struct declared_type declared;
    if (outcome_number(outcome, row, TRANSACTED_STATUS) != WRITE_OTHER_TYPE ||
        !declared_type_parse(outcome_bytes(outcome, row, TRANSACTED_KIND), &declared))
        return false;
    if (item->op == TRANSACT_TAKE && !item->opens) {
        item->opens = true;
        return true;
    }
    if (item->op == TRANSACT_ADD && declared.encrypted && !item->sums) {
        type_learn(context_of(call->request), item->address.bucket, &declared);
        return true;
    }
    if (op_of(item) != TRANSACT_PUT || !fits(call, &declared, item->content.value))
        return false;
    learn_type(call, item, &declared);
    return true;
}

static bool tired(struct transaction_call *call)
{
    if (++call->tries <= TRIES)
        return false;
    reply_simple_problem(call->request, PROBLEM_UNAVAILABLE,
                         "what it is about changed each time before it could be written; nothing was done");
    let_go(call);
    return true;
}

// The item that a row of the operation stands for; of an entry that was read, the first patch that is about
// it.
static struct transaction_item *item_of(struct transaction_call *call, size_t row)
{
    size_t checks = call->input.check_count;
    if (row < checks)
        return &call->input.checks[row];
    if (row >= first_operation(call))
        return &call->input.operations[row - first_operation(call)];
    size_t i = 0;
    while ((call->input.operations[i].op != TRANSACT_PATCH && !call->input.operations[i].sums) ||
           (size_t)call->input.operations[i].patched != row - checks)
        i++;
    return &call->input.operations[i];
}

static bool was_read(const struct transaction_call *call, size_t row)
{
    return row >= call->input.check_count && row < first_operation(call);
}

static void refused(struct transaction_call *call, const struct outcome *outcome, int row)
{
    size_t number = (size_t)outcome_number(outcome, row, TRANSACTED_ITEM) - 1;
    int64_t status = outcome_number(outcome, row, TRANSACTED_STATUS);
    struct transaction_item *item = item_of(call, number);
    if (status == WRITE_CONFLICT && was_read(call, number)) {
        if (!tired(call))
            read_patched(call);
        return;
    }
    if (status == WRITE_LARGE && call->operation.statement == &transact) {
        call->operation.statement = &transact_large;
        send(call);
        return;
    }
    if (made_fit(call, item, outcome, row)) {
        if (!tired(call))
            prepare(call);
        return;
    }
    refuse_item(call, item, outcome, row);
    let_go(call);
}

// --- success
// ---------------------------------------------------------------------------------------------------------

static void add_expiry(struct buffer *json, const struct outcome *outcome, int row)
{
    char time[TIMESTAMP_SIZE];
    buffer_add_text(json, ",\"expires_at\":");
    if (outcome_null(outcome, row, TRANSACTED_EXPIRES_AT)) {
        buffer_add_text(json, "null");
        return;
    }
    timestamp_format(outcome_time(outcome, row, TRANSACTED_EXPIRES_AT), time);
    buffer_printf(json, "\"%s\"", time);
}

static void add_taken(struct buffer *json, struct transaction_call *call, const struct transaction_item *item,
                      const struct outcome *outcome, int row)
{
    bool expires = !outcome_null(outcome, row, TRANSACTED_EXPIRES_AT);
    struct entry_view view = {
        .bucket = name_shown(call->request, item->address.bucket),
        .path = item->address.path,
        .version = outcome_number(outcome, row, TRANSACTED_VERSION),
        .expires = expires,
        .expires_at = expires ? outcome_time(outcome, row, TRANSACTED_EXPIRES_AT) : 0,
        .content_type = item->taken.content_type,
        .type = item->taken.declared,
        .size = (int64_t)item->taken.value.size,
        .with_value = true,
        .value = item->taken.value,
    };
    entry_json_write(json, &call->request->arena, &view);
}

static void add_result(struct buffer *json, struct transaction_call *call,
                       const struct transaction_item *item, const struct outcome *outcome, int row)
{
    switch (item->op) {
    case TRANSACT_TAKE:
        add_taken(json, call, item, outcome, row);
        return;
    case TRANSACT_DELETE:
        buffer_add_text(json, "{\"version\":null}");
        return;
    default:
        break;
    }
    buffer_printf(json, "{\"version\":\"%lld\"", (long long)outcome_number(outcome, row, TRANSACTED_VERSION));
    if (item->op == TRANSACT_ADD) {
        buffer_add_text(json, ",\"value\":");
        buffer_add_bytes(json,
                         item->sums ? item->content.value : outcome_bytes(outcome, row, TRANSACTED_VALUE));
    }
    add_expiry(json, outcome, row);
    buffer_add_char(json, '}');
}

static const char *operation_name(enum transaction_op op)
{
    switch (op) {
    case TRANSACT_PUT:
        return "put";
    case TRANSACT_DELETE:
        return "delete";
    case TRANSACT_TAKE:
        return "take";
    case TRANSACT_ADD:
        return "add";
    case TRANSACT_EXPIRY:
        return "expiry";
    default:
        return "patch";
    }
}

static void link_operations(struct transaction_call *call, const struct outcome *outcome)
{
    for (size_t i = 0; i < call->input.operation_count; i++) {
        const struct transaction_item *item = &call->input.operations[i];
        session_link(call->request, item->address.bucket, item->address.path,
                     outcome_number(outcome, (int)(first_operation(call) + i), TRANSACTED_POSITION),
                     operation_name(item->op));
    }
}

static void reply_done(struct transaction_call *call, const struct outcome *outcome)
{
    struct request *request = call->request;
    struct buffer json = {0};
    int64_t position = outcome_number(outcome, outcome->rows - 1, TRANSACTED_POSITION);
    int first = (int)first_operation(call);
    link_operations(call, outcome);
    reply_position(request, position);
    buffer_printf(&json, "{\"position\":\"%lld\",\"results\":[", (long long)position);
    for (int row = first; row < outcome->rows; row++) {
        if (row > first)
            buffer_add_char(&json, ',');
        add_result(&json, call, &call->input.operations[row - first], outcome, row);
    }
    buffer_add_text(&json, "]}\n");
    reply_json_buffer(request, 200, &json);
    let_go(call);
}

// --- sealed values
// ----------------------------------------------------------------------------------------------------

static bool same_entry(const struct transaction_item *a, const struct transaction_item *b)
{
    return bytes_equal(a->address.path, b->address.path) && bytes_equal(a->address.bucket, b->address.bucket);
}

// The put of the same entry that operation `i` follows in this transaction, NULL when there is none.
static const struct transaction_item *put_before(const struct transaction_call *call, size_t i)
{
    const struct transaction_item *operations = call->input.operations;
    for (size_t n = i; n-- > 0;)
        if (op_of(&operations[n]) == TRANSACT_PUT && same_entry(&operations[n], &operations[i]))
            return &operations[n];
    return NULL;
}

static bool open_taken(struct transaction_call *call, size_t i, const struct outcome *outcome)
{
    struct transaction_item *item = &call->input.operations[i];
    int row = (int)(first_operation(call) + i);
    item->taken = (struct stored_entry){
        .bucket = item->address.bucket,
        .partial = true,
        .path = item->address.path,
        .version = outcome_number(outcome, row, TRANSACTED_VERSION),
        .declared = outcome_bytes(outcome, row, TRANSACTED_KIND),
        .content_type = outcome_bytes(outcome, row, TRANSACTED_CONTENT_TYPE),
        .has_value = true,
        .value = outcome_bytes(outcome, row, TRANSACTED_VALUE),
    };
    const struct transaction_item *before = put_before(call, i);
    if (before && before->checked.encrypted) { // its row is not filled yet
        item->taken.declared = declared_value_type(item->taken.declared);
        item->taken.content_type = before->content.content_type.bytes;
        item->taken.value = before->content.value;
        return true;
    }
    return entry_open(context_of(call->request), &call->request->arena, &item->taken);
}

static bool refused_in(const struct outcome *outcome, int *row)
{
    for (*row = 0; *row < outcome->rows; ++*row)
        if (outcome_number(outcome, *row, TRANSACTED_STATUS) > WRITE_REPLACED)
            return true;
    return false;
}

// Opens all that was taken; false, with the item noted, when one does not.
static bool open_all(struct transaction_call *call, const struct outcome *outcome)
{
    call->corrupt = NULL;
    for (size_t i = 0; i < call->input.operation_count; i++)
        if (call->input.operations[i].op == TRANSACT_TAKE && !open_taken(call, i, outcome)) {
            call->corrupt = &call->input.operations[i];
            return false;
        }
    return true;
}

static enum sealed_verdict seal_written(struct sealed_write *write, const struct outcome *outcome)
{
    struct transaction_call *call = write->owner;
    int row;
    if (refused_in(outcome, &row))
        return SEALED_KEEP;
    if (!open_all(call, outcome))
        return SEALED_UNDO;
    for (size_t i = 0; i < call->input.operation_count; i++) {
        const struct transaction_item *item = &call->input.operations[i];
        row = (int)(first_operation(call) + i);
        if (op_of(item) == TRANSACT_PUT && item->checked.encrypted)
            sealed_write_fill(write, &item->address, outcome_number(outcome, row, TRANSACTED_VERSION),
                              &item->content, false);
    }
    return SEALED_KEEP;
}

static bool is_sealed(const struct transaction_call *call)
{
    for (size_t i = 0; i < call->input.operation_count; i++) {
        const struct transaction_item *item = &call->input.operations[i];
        if (item->opens || (op_of(item) == TRANSACT_PUT && item->checked.encrypted))
            return true;
    }
    return false;
}

static void send(struct transaction_call *call)
{
    call->corrupt = NULL;
    if (!is_sealed(call)) {
        request_submit(call->request, &call->operation);
        return;
    }
    call->operation.bucket = call->input.operations[0].address.bucket;
    call->sealed = (struct sealed_write){
        .arena = &call->request->arena,
        .operation = &call->operation,
        .alone = true,
        .seal = seal_written,
        .owner = call,
    };
    sealed_write_submit(context_of(call->request), &call->sealed);
}

static void transact_done(struct operation *operation, const struct outcome *outcome)
{
    struct transaction_call *call = (struct transaction_call *)operation;
    if (!outcome_usable(call->request, outcome)) {
        let_go(call);
        return;
    }
    int row;
    if (refused_in(outcome, &row)) {
        refused(call, outcome, row);
        return;
    }
    if (!call->corrupt && !is_sealed(call))
        open_all(call, outcome); // nothing of it is sealed
    if (!call->corrupt) {
        reply_done(call, outcome);
        return;
    }
    reply_corrupt(call->request, &call->corrupt->taken);
    let_go(call);
}

// --- the way of a transaction
// ----------------------------------------------------------------------------------------

static size_t bytes_of_values(struct transaction_call *call)
{
    size_t bytes = 0;
    for (size_t i = 0; i < call->rows; i++)
        bytes += row_of(call, i)[TRANSACT_VALUE].bytes.size;
    return bytes;
}

static void submit(struct transaction_call *call)
{
    set_rows(call);
    bool large = call->rows > 256 || bytes_of_values(call) > LARGE_VALUE;
    call->operation.apart = set_runs(call) > 1;
    call->operation.statement = large ? &transact_large : &transact;
    send(call);
}

static void choose_types(struct transaction_call *call)
{
    for (size_t i = 0; i < call->input.operation_count; i++) {
        struct transaction_item *item = &call->input.operations[i];
        if (op_of(item) != TRANSACT_PUT)
            continue;
        const struct declared_type *hint = type_hint(context_of(call->request), item->address.bucket);
        if (fits(call, hint, item->content.value))
            item->checked = *hint;
        else
            declared_type_parse(bytes_of("any"), &item->checked);
    }
}

static void patched_read(struct operation *operation, const struct outcome *outcome)
{
    struct transaction_call *call = operation->owner;
    struct request *request = call->request;
    if (!outcome_usable(request, outcome)) {
        let_go(call);
        return;
    }
    switch (view_call_size(context_of(request), &call->view, outcome)) {
    case VIEW_COMPLETE:
        break;
    case VIEW_SUBMITTED:
        return;
    case VIEW_TOO_LARGE:
        reply_over_limit(request, PROBLEM_TOO_LARGE, "operations", VIEW_BYTES,
                         "the values to patch are too much for one transaction");
        let_go(call);
        return;
    }
    held_release(call->viewed);
    call->viewed = outcome_hold(outcome);
    if (!transaction_patch_make(request, &call->input, &call->patch, outcome)) {
        let_go(call);
        return;
    }
    choose_types(call);
    submit(call);
}

static void read_patched(struct transaction_call *call)
{
    view_call_submit(call->request, &call->view, call->patch.addresses, call->patch.count, patched_read,
                     call);
}

// Lays out the rows, and reads first what patches and sums are made of.
static void prepare(struct transaction_call *call)
{
    struct request *request = call->request;
    transaction_patch_find(request, &call->input, &call->patch);
    call->rows = first_operation(call) + call->input.operation_count;
    call->view = (struct view_call){0};
    call->operation = (struct operation){
        .values = arena_alloc(&request->arena, call->rows * TRANSACT_COLUMNS * sizeof(struct value)),
        .items = arena_alloc(&request->arena, call->rows * sizeof(struct item)),
        .item_count = (uint16_t)call->rows,
        .done = transact_done,
    };
    if (call->patch.count) {
        read_patched(call);
        return;
    }
    choose_types(call);
    submit(call);
}

void transaction_run(struct request *request)
{
    struct transaction_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->request = request;
    if (!transaction_input_read(request, &call->input))
        return;
    prepare(call);
}
