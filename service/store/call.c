// Gathering operations into calls, and giving the rows back to them.
#include "store/call.h"

#include "base/log.h"
#include "base/timestamp.h"
#include "store/item_keys.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    KEY_SLOTS = 512,     // twice CALL_OPERATIONS, so that probes stay short
    SKIPS = 1024,        // operations looked past in one gathering
    RESERVED_PARAMS = 3, // names, which, ordinals
};

static const int64_t POSTGRES_EPOCH = INT64_C(946684800) * 1000000; // 2000-01-01 in microseconds since 1970

struct held {
    PGresult *result;
    unsigned holders;
};

// The keys of the call that is being gathered.
struct key_slot {
    struct operation *operation;
    uint16_t place; // in call->operations
    bool closed;    // one was passed over: nothing later may overtake it
};

struct key_set {
    struct key_slot slots[KEY_SLOTS];
};

static struct key_slot *key_find(struct key_set *keys, const struct operation *operation)
{
    for (uint32_t i = (uint32_t)operation->key_hash;; i++) {
        struct key_slot *slot = &keys->slots[i % KEY_SLOTS];
        if (!slot->operation)
            return slot;
        if (slot->operation->key_hash == operation->key_hash &&
            bytes_equal(slot->operation->key, operation->key) &&
            bytes_equal(slot->operation->bucket, operation->bucket))
            return slot;
    }
}

void lane_forget(struct lane *lane)
{
    lane->many.name[0] = 0;
    lane->lone.name[0] = 0;
}

static void lane_remove(struct lane *lane, struct operation **link)
{
    struct operation *operation = *link;
    *link = operation->next;
    if (!*link)
        lane->tail = link;
    operation->next = NULL;
}

// Whether `operation` must stay behind because its key is in the call already; or takes the place of the one
// there.
static bool key_admits(struct key_set *keys, struct call *call, struct operation *operation, bool *collapsed)
{
    struct key_slot *slot = key_find(keys, operation);
    *collapsed = false;
    if (!slot->operation) {
        *slot = (struct key_slot){.operation = operation, .place = call->count};
        return true;
    }
    if (slot->closed || !operation->collapses || !slot->operation->collapses) {
        slot->closed = true;
        return false;
    }
    operation->stands_for = slot->operation;
    slot->operation = operation;
    call->operations[slot->place] = operation;
    *collapsed = true;
    return true;
}

static void gather_grouped(struct call *call, struct lane *lane)
{
    const struct statement *statement = lane->statement;
    struct item_keys keys = {0};
    size_t bytes = 0;
    int skipped = 0;
    struct operation **link = &lane->head;
    while (*link && call->count < CALL_OPERATIONS && skipped < SKIPS) {
        struct operation *operation = *link;
        bool by_itself = operation->alone || operation->apart || operation->size > CALL_LARGE ||
                         operation->item_count > CALL_OPERATIONS || statement->role == ROLE_LARGE;
        bool fits =
            call->rows + operation->item_count <= CALL_OPERATIONS && bytes + operation->size <= CALL_BYTES;
        if (call->count && (by_itself || !fits))
            return;
        if (!by_itself && statement->keys == KEYS_WRITTEN_ONCE && !item_keys_admit(&keys, operation)) {
            link = &operation->next;
            skipped++;
            continue;
        }
        lane_remove(lane, link);
        operation->ordinal = ++call->ordinals;
        bytes += operation->size;
        call->rows = (uint16_t)(call->rows + operation->item_count);
        call->operations[call->count++] = operation;
        if (by_itself)
            return;
    }
}

static void gather_each(struct call *call, struct lane *lane)
{
    const struct statement *statement = lane->statement;
    struct key_set keys;
    size_t bytes = 0;
    int skipped = 0;
    if (statement->keys == KEYS_ONCE)
        memset(&keys, 0, sizeof keys);

    struct operation **link = &lane->head;
    while (*link && call->ordinals < CALL_OPERATIONS && skipped < SKIPS) {
        struct operation *operation = *link;
        bool by_itself = operation->alone || operation->size > CALL_LARGE ||
                         statement->form == STATEMENT_ALONE || statement->role == ROLE_LARGE;
        if (call->count && (by_itself || bytes + operation->size > CALL_BYTES))
            break;
        bool collapsed = false;
        if (statement->keys == KEYS_ONCE && !by_itself && !key_admits(&keys, call, operation, &collapsed)) {
            link = &operation->next;
            skipped++;
            continue;
        }
        lane_remove(lane, link);
        operation->ordinal = ++call->ordinals;
        bytes += operation->size;
        if (!collapsed)
            call->operations[call->count++] = operation;
        if (by_itself)
            break;
    }
}

void call_gather(struct call *call, struct lane *lane)
{
    call->lane = lane;
    if (lane->statement->form == STATEMENT_GROUPED)
        gather_grouped(call, lane);
    else
        gather_each(call, lane);
}

void call_return(struct call *call)
{
    struct operation *all[CALL_OPERATIONS];
    memset(all, 0, sizeof all);
    for (int i = 0; i < call->count; i++) {
        struct operation *operation = call->operations[i];
        while (operation) {
            struct operation *earlier = operation->stands_for;
            operation->stands_for = NULL;
            all[operation->ordinal - 1] = operation;
            operation = earlier;
        }
    }
    struct lane *lane = call->lane;
    int64_t now = timestamp_monotonic();
    for (int i = call->ordinals - 1; i >= 0; i--) {
        all[i]->waits_since = now;
        if (!lane->head)
            lane->tail = &all[i]->next;
        all[i]->next = lane->head;
        lane->head = all[i];
    }
    call->count = 0;
    call->ordinals = 0;
    call->rows = 0;
}

// --- encoding
// -------------------------------------------------------------------------------------------------------

static const Oid element_oid[] = {
    [COLUMN_BOOL] = 16,    [COLUMN_INT2] = 21,   [COLUMN_INT4] = 23, [COLUMN_INT8] = 20,
    [COLUMN_FLOAT8] = 701, [COLUMN_TIME] = 1184, [COLUMN_TEXT] = 25, [COLUMN_BYTEA] = 17,
};
static const Oid array_oid[] = {
    [COLUMN_BOOL] = 1000,   [COLUMN_INT2] = 1005, [COLUMN_INT4] = 1007, [COLUMN_INT8] = 1016,
    [COLUMN_FLOAT8] = 1022, [COLUMN_TIME] = 1185, [COLUMN_TEXT] = 1009, [COLUMN_BYTEA] = 1001,
};

static void encode_scalar(struct buffer *out, enum column_type type, const struct value *value)
{
    switch (type) {
    case COLUMN_BOOL:
        buffer_add_char(out, value->number ? 1 : 0);
        return;
    case COLUMN_INT2:
        buffer_add_u16(out, (uint16_t)value->number);
        return;
    case COLUMN_INT4:
        buffer_add_u32(out, (uint32_t)value->number);
        return;
    case COLUMN_INT8:
        buffer_add_u64(out, (uint64_t)value->number);
        return;
    case COLUMN_FLOAT8: {
        uint64_t bits;
        memcpy(&bits, &value->real, sizeof bits);
        buffer_add_u64(out, bits);
        return;
    }
    case COLUMN_TIME:
        buffer_add_u64(out, (uint64_t)(value->number - POSTGRES_EPOCH));
        return;
    case COLUMN_TEXT:
    case COLUMN_BYTEA:
        buffer_add_bytes(out, value->bytes);
        return;
    }
}

static size_t scalar_size(enum column_type type, const struct value *value)
{
    switch (type) {
    case COLUMN_BOOL:
        return 1;
    case COLUMN_INT2:
        return 2;
    case COLUMN_INT4:
        return 4;
    case COLUMN_INT8:
    case COLUMN_FLOAT8:
    case COLUMN_TIME:
        return 8;
    case COLUMN_TEXT:
    case COLUMN_BYTEA:
        return value->bytes.size;
    }
    return 0;
}

static void encode_array_head(struct buffer *out, Oid element, unsigned count)
{
    buffer_add_u32(out, 1); // dimensions
    buffer_add_u32(out, 1); // nulls may occur
    buffer_add_u32(out, element);
    buffer_add_u32(out, count);
    buffer_add_u32(out, 1); // the first index
}

static void encode_element(struct buffer *out, enum column_type type, const struct value *value)
{
    if (!value->given) {
        buffer_add_u32(out, UINT32_MAX);
        return;
    }
    buffer_add_u32(out, (uint32_t)scalar_size(type, value));
    encode_scalar(out, type, value);
}

// The distinct bucket names of the call, and for each operation its place among them.
struct name_set {
    struct bytes names[OPERATION_ITEMS];
    uint64_t hashes[OPERATION_ITEMS];
    uint16_t count;
    uint16_t which[OPERATION_ITEMS]; // from 1, for each row
};

static uint16_t name_place(struct name_set *set, struct bytes name, uint16_t guess)
{
    if (guess && bytes_equal(set->names[guess - 1], name))
        return guess;
    uint64_t hash = bytes_hash(name, 0);
    for (uint16_t i = 0; i < set->count; i++)
        if (set->hashes[i] == hash && bytes_equal(set->names[i], name))
            return (uint16_t)(i + 1);
    set->names[set->count] = name;
    set->hashes[set->count] = hash;
    return ++set->count;
}

static void collect_names(struct name_set *set, const struct call *call)
{
    set->count = 0;
    uint16_t last = 0;
    for (int i = 0; i < call->count; i++)
        set->which[i] = last = name_place(set, call->operations[i]->bucket, last);
}

static void collect_item_names(struct name_set *set, const struct call *call)
{
    set->count = 0;
    uint16_t last = 0;
    int row = 0;
    for (int i = 0; i < call->count; i++)
        for (int j = 0; j < call->operations[i]->item_count; j++)
            set->which[row++] = last = name_place(set, call->operations[i]->items[j].bucket, last);
}

// Where each parameter begins in the scratch buffer; it may move while it grows, so addresses are taken at
// the end.
struct parameters {
    int count;
    size_t start[STATEMENT_COLUMNS + RESERVED_PARAMS + 1];
    bool null[STATEMENT_COLUMNS + RESERVED_PARAMS];
    Oid types[STATEMENT_COLUMNS + RESERVED_PARAMS];
};

static void parameter_begin(struct parameters *parameters, const struct buffer *out, Oid type, bool null)
{
    parameters->start[parameters->count] = out->size;
    parameters->types[parameters->count] = type;
    parameters->null[parameters->count++] = null;
}

static void encode_names(struct parameters *parameters, struct buffer *out, const struct name_set *set,
                         unsigned rows)
{
    parameter_begin(parameters, out, array_oid[COLUMN_TEXT], false);
    encode_array_head(out, element_oid[COLUMN_TEXT], set->count);
    for (uint16_t i = 0; i < set->count; i++) {
        struct value name = value_bytes(set->names[i]);
        encode_element(out, COLUMN_TEXT, &name);
    }
    parameter_begin(parameters, out, array_oid[COLUMN_INT2], false);
    encode_array_head(out, element_oid[COLUMN_INT2], rows);
    for (unsigned i = 0; i < rows; i++) {
        struct value which = value_number(set->which[i]);
        encode_element(out, COLUMN_INT2, &which);
    }
}

static void encode_shared(struct parameters *parameters, struct buffer *out, const struct call *call)
{
    const struct statement *statement = call->lane->statement;
    struct name_set set;
    collect_names(&set, call);
    encode_names(parameters, out, &set, call->count);
    parameter_begin(parameters, out, array_oid[COLUMN_INT2], false);
    encode_array_head(out, element_oid[COLUMN_INT2], call->count);
    for (int i = 0; i < call->count; i++) {
        struct value ordinal = value_number(call->operations[i]->ordinal);
        encode_element(out, COLUMN_INT2, &ordinal);
    }
    for (unsigned column = 0; column < statement->columns; column++) {
        enum column_type type = statement->column[column];
        parameter_begin(parameters, out, array_oid[type], false);
        encode_array_head(out, element_oid[type], call->count);
        for (int i = 0; i < call->count; i++)
            encode_element(out, type, &call->operations[i]->values[column]);
    }
}

static void encode_grouped(struct parameters *parameters, struct buffer *out, const struct call *call)
{
    const struct statement *statement = call->lane->statement;
    struct name_set set;
    collect_item_names(&set, call);
    encode_names(parameters, out, &set, call->rows);
    parameter_begin(parameters, out, array_oid[COLUMN_INT2], false);
    encode_array_head(out, element_oid[COLUMN_INT2], call->rows);
    for (int i = 0; i < call->count; i++) {
        struct value ordinal = value_number(call->operations[i]->ordinal);
        for (int j = 0; j < call->operations[i]->item_count; j++)
            encode_element(out, COLUMN_INT2, &ordinal);
    }
    for (unsigned column = 0; column < statement->columns; column++) {
        enum column_type type = statement->column[column];
        parameter_begin(parameters, out, array_oid[type], false);
        encode_array_head(out, element_oid[type], call->rows);
        for (int i = 0; i < call->count; i++) {
            const struct operation *operation = call->operations[i];
            for (unsigned j = 0; j < operation->item_count; j++)
                encode_element(out, type, &operation->values[j * statement->columns + column]);
        }
    }
}

// Whether it is sent as the statement's form for a single operation, whose ordinal is 1.
static bool call_is_lone(const struct call *call)
{
    return call->lane->statement->lone && call->ordinals == 1;
}

static void encode_alone(struct parameters *parameters, struct buffer *out, const struct call *call)
{
    const struct statement *statement = call->lane->statement;
    for (unsigned column = 0; column < statement->columns; column++) {
        enum column_type type = statement->column[column];
        const struct value *value = &call->operations[0]->values[column];
        parameter_begin(parameters, out, element_oid[type], !value->given);
        if (value->given)
            encode_scalar(out, type, value);
    }
}

static void encode_lone(struct parameters *parameters, struct buffer *out, const struct call *call)
{
    parameter_begin(parameters, out, element_oid[COLUMN_TEXT], false);
    buffer_add_bytes(out, call->operations[0]->bucket);
    encode_alone(parameters, out, call);
}

static void encode_columns(struct parameters *parameters, struct buffer *out, const struct call *call)
{
    switch (call->lane->statement->form) {
    case STATEMENT_SHARED:
        encode_shared(parameters, out, call);
        break;
    case STATEMENT_GROUPED:
        encode_grouped(parameters, out, call);
        break;
    case STATEMENT_ALONE:
        encode_alone(parameters, out, call);
        break;
    }
}

// A call's parameters as libpq takes them; `values` point into the scratch buffer.
struct message {
    struct parameters parameters;
    const char *values[STATEMENT_COLUMNS + RESERVED_PARAMS];
    int lengths[STATEMENT_COLUMNS + RESERVED_PARAMS];
    int formats[STATEMENT_COLUMNS + RESERVED_PARAMS];
};

static void encode(struct message *message, const struct call *call, struct buffer *scratch)
{
    struct parameters *parameters = &message->parameters;
    *parameters = (struct parameters){0};
    buffer_clear(scratch);
    if (call_is_lone(call))
        encode_lone(parameters, scratch, call);
    else
        encode_columns(parameters, scratch, call);
    parameters->start[parameters->count] = scratch->size;
    for (int i = 0; i < parameters->count; i++) {
        size_t start = parameters->start[i];
        const char *value = scratch->data ? (const char *)scratch->data + start : "";
        message->values[i] = parameters->null[i] ? NULL : value;
        message->lengths[i] = (int)(parameters->start[i + 1] - start);
        message->formats[i] = 1;
    }
}

static const char *sql_of(const struct call *call)
{
    const struct statement *statement = call->lane->statement;
    return call_is_lone(call) ? statement->lone : statement->sql;
}

bool call_send(struct call *call, PGconn *connection, struct buffer *scratch)
{
    struct lane *lane = call->lane;
    struct prepared *prepared = call_is_lone(call) ? &lane->lone : &lane->many;
    struct message message;
    encode(&message, call, scratch);
    int count = message.parameters.count;
    if (!prepared->name[0]) {
        snprintf(prepared->name, sizeof prepared->name, "%s%s_%u", lane->statement->name,
                 call_is_lone(call) ? "_lone" : "", prepared->generation++);
        if (!PQsendPrepare(connection, prepared->name, sql_of(call), count, message.parameters.types))
            return false;
    }
    return PQsendQueryPrepared(connection, prepared->name, count, message.values, message.lengths,
                               message.formats, 1) &&
           PQpipelineSync(connection);
}

bool call_send_unprepared(struct call *call, PGconn *connection, struct buffer *scratch)
{
    struct message message;
    encode(&message, call, scratch);
    return PQsendQueryParams(connection, sql_of(call), message.parameters.count, message.parameters.types,
                             message.values, message.lengths, message.formats, 1) &&
           PQpipelineSync(connection);
}

// --- outcomes
// -------------------------------------------------------------------------------------------------------

struct held *outcome_hold(const struct outcome *outcome)
{
    outcome->result->holders++;
    return outcome->result;
}

void held_release(struct held *held)
{
    if (!held || --held->holders)
        return;
    PQclear(held->result);
    free(held);
}

void operation_finish(struct operation *operation, enum outcome_kind kind, const char *detail)
{
    while (operation) {
        struct operation *earlier = operation->stands_for;
        operation->stands_for = NULL;
        struct outcome outcome = {.kind = kind, .detail = detail, .first = !earlier};
        operation->done(operation, &outcome);
        operation = earlier;
    }
}

void call_finish(struct call *call, enum outcome_kind kind, const char *detail)
{
    for (int i = 0; i < call->count; i++)
        operation_finish(call->operations[i], kind, detail);
    call->count = 0;
}

static void deliver_row(struct operation *operation, struct outcome *outcome)
{
    uint16_t last = operation->ordinal;
    while (operation) {
        struct operation *earlier = operation->stands_for;
        operation->stands_for = NULL;
        outcome->behind = last - operation->ordinal;
        outcome->first = !earlier;
        operation->done(operation, outcome);
        operation = earlier;
    }
}

static void deliver_shared(struct call *call, struct outcome *outcome)
{
    int row_of[CALL_OPERATIONS + 1];
    memset(row_of, 0xff, sizeof row_of);
    int rows = PQntuples(call->result);
    outcome->rows = 1;
    for (int row = 0; row < rows; row++) {
        outcome->row = row;
        int64_t ordinal = outcome_number(outcome, 0, 0);
        if (ordinal >= 1 && ordinal <= CALL_OPERATIONS)
            row_of[ordinal] = row;
    }
    for (int i = 0; i < call->count; i++) {
        struct operation *operation = call->operations[i];
        outcome->row = row_of[operation->ordinal];
        if (outcome->row < 0) {
            log_event(LOG_ERROR, "row_missing", "statement", call->lane->statement->name, NULL);
            operation_finish(operation, OUTCOME_FAILED, "the database answered without this operation's row");
            continue;
        }
        deliver_row(operation, outcome);
    }
}

// Each operation gets its run of rows.
static void deliver_grouped(struct call *call, struct outcome *outcome)
{
    int rows = PQntuples(call->result);
    int row = 0;
    for (int i = 0; i < call->count; i++) {
        struct operation *operation = call->operations[i];
        int first = row;
        for (; row < rows; row++) {
            outcome->row = row;
            if (outcome_number(outcome, 0, 0) != operation->ordinal)
                break;
        }
        outcome->row = first;
        outcome->rows = row - first;
        operation->done(operation, outcome);
    }
}

void call_deliver(struct call *call)
{
    struct held *held = malloc(sizeof *held);
    if (!held)
        abort();
    *held = (struct held){.result = call->result, .holders = 1};
    struct outcome outcome = {.kind = OUTCOME_ROWS, .first = true, .result = held};
    switch (call->lane->statement->form) {
    case STATEMENT_SHARED:
        deliver_shared(call, &outcome);
        break;
    case STATEMENT_GROUPED:
        deliver_grouped(call, &outcome);
        break;
    case STATEMENT_ALONE:
        outcome.rows = PQntuples(call->result);
        call->operations[0]->done(call->operations[0], &outcome);
        break;
    }
    call->result = NULL;
    held_release(held);
}

bool outcome_null(const struct outcome *outcome, int row, int column)
{
    return PQgetisnull(outcome->result->result, outcome->row + row, column) != 0;
}

int64_t outcome_number(const struct outcome *outcome, int row, int column)
{
    const PGresult *result = outcome->result->result;
    row += outcome->row;
    if (PQgetisnull(result, row, column))
        return 0;
    const char *data = PQgetvalue(result, row, column);
    switch (PQgetlength(result, row, column)) {
    case 1:
        return data[0];
    case 2: {
        uint16_t n;
        memcpy(&n, data, sizeof n);
        return (int16_t)ntohs(n);
    }
    case 4: {
        uint32_t n;
        memcpy(&n, data, sizeof n);
        return (int32_t)ntohl(n);
    }
    default: {
        uint64_t n;
        memcpy(&n, data, sizeof n);
        return (int64_t)be64toh(n);
    }
    }
}

int64_t outcome_time(const struct outcome *outcome, int row, int column)
{
    return outcome_number(outcome, row, column) + POSTGRES_EPOCH;
}

struct bytes outcome_bytes(const struct outcome *outcome, int row, int column)
{
    const PGresult *result = outcome->result->result;
    row += outcome->row;
    return bytes_make(PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column));
}

// An array's binary form: dimensions, whether nulls occur, the elements' type; for each dimension its size
// and first index; then each element behind its size.
int outcome_numbers(const struct outcome *outcome, int row, int column, int64_t *numbers, int room)
{
    enum { HEAD = 20, COUNT = 12, ELEMENT = 12 };
    struct bytes array = outcome_bytes(outcome, row, column);
    uint32_t count;
    if (array.size < HEAD)
        return 0; // NULL, or no element
    memcpy(&count, array.data + COUNT, sizeof count);
    count = be32toh(count);
    int fit = 0;
    while (fit < room && (uint32_t)fit < count && array.size >= HEAD + (size_t)(fit + 1) * ELEMENT) {
        uint64_t n;
        memcpy(&n, array.data + HEAD + (size_t)fit * ELEMENT + 4, sizeof n);
        numbers[fit++] = (int64_t)be64toh(n);
    }
    return fit;
}
