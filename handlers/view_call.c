// Small views travel together; one whose values are large is read anew as a whole, so that it stays of one
// moment.
#include "handlers/view_call.h"

#define VIEW_STATEMENT(largest)                                                                              \
    .sql = "select * from holdfast.view_entries($1, $2, $3, $4, $5, " largest ")",                           \
    .form = STATEMENT_GROUPED, .keys = KEYS_ANY, .columns = VIEW_COLUMNS,                                    \
    .column = {COLUMN_INT2, COLUMN_BYTEA}

static const struct statement view_entries = {
    .name = "view_entries", .role = ROLE_READ, VIEW_STATEMENT("65536")};
static const struct statement view_large_entries = {
    .name = "view_large_entries", .role = ROLE_LARGE, VIEW_STATEMENT("16777216")};

void view_call_submit(struct request *request, struct view_call *call, const struct address *addresses,
                      size_t count, void (*done)(struct operation *, const struct outcome *), void *owner)
{
    struct item *items = call->operation.items;
    struct value *values = call->operation.values;
    if (!items) {
        items = arena_alloc(&request->arena, count * sizeof *items);
        values = arena_alloc(&request->arena, count * VIEW_COLUMNS * sizeof *values);
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct item){.bucket = addresses[i].bucket, .key = addresses[i].path};
        values[i * VIEW_COLUMNS + VIEW_ITEM] = value_number((int64_t)i + 1);
        values[i * VIEW_COLUMNS + VIEW_PATH] = value_bytes(addresses[i].path);
    }
    call->operation = (struct operation){
        .statement = &view_entries,
        .values = values,
        .items = items,
        .item_count = (uint16_t)count,
        .done = done,
        .owner = owner,
    };
    request_submit(request, &call->operation);
}

static bool complete(const struct outcome *outcome)
{
    for (int row = 0; row < outcome->rows; row++)
        if (!outcome_null(outcome, row, VIEWED_SIZE) && outcome_null(outcome, row, VIEWED_VALUE))
            return false;
    return true;
}

enum view_size view_call_size(struct context *context, struct view_call *call, const struct outcome *outcome)
{
    if (complete(outcome))
        return VIEW_COMPLETE;
    if (call->operation.statement == &view_large_entries)
        return VIEW_TOO_LARGE;
    call->operation.statement = &view_large_entries;
    store_submit(context->store, &call->operation);
    return VIEW_SUBMITTED;
}

struct stored_entry viewed_entry(const struct address *address, const struct outcome *outcome, int row)
{
    return (struct stored_entry){
        .bucket = address->bucket,
        .path = address->path,
        .version = outcome_number(outcome, row, VIEWED_VERSION),
        .declared = outcome_bytes(outcome, row, VIEWED_KIND),
        .content_type = outcome_bytes(outcome, row, VIEWED_CONTENT_TYPE),
        .metadata = outcome_bytes(outcome, row, VIEWED_METADATA),
        .has_value = !outcome_null(outcome, row, VIEWED_VALUE),
        .value = outcome_bytes(outcome, row, VIEWED_VALUE),
    };
}
