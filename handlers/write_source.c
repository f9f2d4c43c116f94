// A write without a session has no row: its position is its version, and nothing else is stored of it.
#include "handlers/write_source.h"

#include "handlers/access.h"

enum { LOOK_ITEM, LOOK_PATH, LOOK_VERSION, LOOK_FORK, LOOK_COLUMNS };

static const struct statement write_sources = {
    .name = "write_sources",
    .sql = "select * from holdfast.write_sources($1, $2, $3, $4, $5, $6, $7)",
    .form = STATEMENT_GROUPED,
    .role = ROLE_READ,
    .keys = KEYS_ANY,
    .columns = LOOK_COLUMNS,
    .column = {COLUMN_INT2, COLUMN_BYTEA, COLUMN_INT8, COLUMN_TEXT},
};

void write_source_submit(struct request *request, struct operation *operation, struct bytes bucket,
                         struct bytes fork, const struct bytes *paths, const int64_t *versions, size_t count,
                         void (*done)(struct operation *, const struct outcome *), void *owner)
{
    struct item *items = arena_alloc(&request->arena, count * sizeof *items);
    struct value *values = arena_alloc(&request->arena, count * LOOK_COLUMNS * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct item){.bucket = bucket, .key = paths[i]};
        values[i * LOOK_COLUMNS + LOOK_ITEM] = value_number((int64_t)i + 1);
        values[i * LOOK_COLUMNS + LOOK_PATH] = value_bytes(paths[i]);
        values[i * LOOK_COLUMNS + LOOK_VERSION] = value_number(versions[i]);
        values[i * LOOK_COLUMNS + LOOK_FORK] = fork.data ? value_bytes(fork) : value_null();
    }
    *operation = (struct operation){.statement = &write_sources,
                                    .values = values,
                                    .items = items,
                                    .item_count = (uint16_t)count,
                                    .done = done,
                                    .owner = owner};
    request_submit(request, operation);
}

void write_source_json(struct buffer *json, const struct request *request, int64_t version,
                       const struct outcome *sources, int row)
{
    buffer_printf(json, "{\"position\":\"%lld\",\"request_id\":", (long long)version);
    struct bytes stream = outcome_bytes(sources, row, SOURCE_STREAM);
    if (outcome_null(sources, row, SOURCE_SESSION) || !name_is_own(request, stream)) {
        buffer_add_text(json, "null,\"token\":null,\"session\":null}");
        return;
    }
    struct bytes session = outcome_bytes(sources, row, SOURCE_SESSION);
    buffer_add_json(json, outcome_bytes(sources, row, SOURCE_REQUEST_ID));
    buffer_add_text(json, ",\"token\":");
    if (outcome_null(sources, row, SOURCE_TOKEN))
        buffer_add_text(json, "null");
    else
        buffer_add_json(json, outcome_bytes(sources, row, SOURCE_TOKEN));
    buffer_add_text(json, ",\"session\":{\"stream\":");
    buffer_add_json(json, name_shown(request, stream));
    buffer_add_text(json, ",\"session\":");
    buffer_add_json(json, session);
    buffer_add_text(json, "}}");
}
