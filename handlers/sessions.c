// A page of the writes that carried the session, in the order of their commits.
#include "handlers/sessions.h"

#include "base/text.h"
#include "base/timestamp.h"
#include "handlers/access.h"
#include "handlers/cursor.h"
#include "handlers/entry_json.h"
#include "handlers/list_query.h"
#include "handlers/outcome.h"

enum { WRITES_STREAM, WRITES_SESSION, WRITES_AFTER, WRITES_PAGE, WRITES_COLUMNS };
enum writes_result {
    WRITE_ID,
    WRITE_BUCKET,
    WRITE_PATH,
    WRITE_VERSION,
    WRITE_OPERATION,
    WRITE_AT,
    WRITE_FORK
};

static const struct statement list_session_writes = {
    .name = "list_session_writes",
    .sql = "select * from holdfast.list_session_writes($1, $2, $3, $4)",
    .form = STATEMENT_ALONE,
    .role = ROLE_LIST,
    .columns = WRITES_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_TEXT, COLUMN_INT8, COLUMN_INT4},
};

struct writes_call {
    struct operation operation; // first: the operation is the call
    struct value values[WRITES_COLUMNS];
    struct bytes scope;
    int limit;
};

// A session's reader need not be one of all buckets that it wrote in.
static bool is_readable(const struct request *request, const struct outcome *outcome, int row)
{
    return access_allows(request, GRANT_READ, GRANT_BUCKETS, outcome_bytes(outcome, row, WRITE_BUCKET),
                         outcome_bytes(outcome, row, WRITE_PATH));
}

static void add_write(struct buffer *json, struct request *request, const struct outcome *outcome, int row)
{
    char time[TIMESTAMP_SIZE];
    timestamp_format(outcome_time(outcome, row, WRITE_AT), time);
    buffer_add_text(json, "{\"bucket\":");
    buffer_add_json(json, name_shown(request, outcome_bytes(outcome, row, WRITE_BUCKET)));
    buffer_add_char(json, ',');
    entry_json_place(json, &request->arena, outcome_bytes(outcome, row, WRITE_PATH));
    buffer_printf(
        json, ",\"version\":\"%lld\",\"operation\":", (long long)outcome_number(outcome, row, WRITE_VERSION));
    buffer_add_json(json, outcome_bytes(outcome, row, WRITE_OPERATION));
    buffer_printf(json, ",\"time\":\"%s\",\"fork\":", time);
    if (outcome_null(outcome, row, WRITE_FORK))
        buffer_add_text(json, "null");
    else
        buffer_add_json(json, name_shown(request, outcome_bytes(outcome, row, WRITE_FORK)));
    buffer_add_char(json, '}');
}

static void writes_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    const struct writes_call *call = (const struct writes_call *)operation;
    struct buffer json = {0};
    if (!outcome_usable(request, outcome))
        return;
    int rows = outcome->rows > call->limit ? call->limit : outcome->rows;
    buffer_add_text(&json, "{\"writes\":[");
    int shown = 0;
    for (int row = 0; row < rows; row++) {
        if (!is_readable(request, outcome, row))
            continue;
        if (shown++)
            buffer_add_char(&json, ',');
        add_write(&json, request, outcome, row);
    }
    buffer_add_text(&json, "],\"cursor\":");
    if (rows < outcome->rows)
        buffer_printf(
            &json, "\"%s\"",
            cursor_make(&request->arena, call->scope,
                        arena_decimal(&request->arena, 0, outcome_number(outcome, rows - 1, WRITE_ID), 0)));
    else
        buffer_add_text(&json, "null");
    buffer_add_text(&json, "}\n");
    reply_json_buffer(request, 200, &json);
}

static bool name_fits(struct request *request, const char *parameter, struct bytes name)
{
    if (session_name_valid(name))
        return true;
    reply_invalid(request, parameter, "1 to 128 visible ASCII characters without /");
    return false;
}

void session_writes(struct request *request)
{
    struct writes_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct bytes stream = request->parameters[0], session = request->parameters[1];
    struct list_query list;
    int64_t after = 0;
    if (!name_fits(request, "stream", stream) || !name_fits(request, "session", session))
        return;
    call->scope =
        bytes_of(arena_printf(&request->arena, "session writes %.*s/%.*s", (int)stream.size,
                              (const char *)stream.data, (int)session.size, (const char *)session.data));
    if (!list_query_read(request, call->scope, &list))
        return;
    if (list.resumed && !text_int64(list.position, &after)) {
        reply_invalid(request, "cursor", "the cursor does not belong to this request");
        return;
    }
    call->limit = (int)list.limit;
    call->values[WRITES_STREAM] = value_bytes(stream);
    call->values[WRITES_SESSION] = value_bytes(session);
    call->values[WRITES_AFTER] = value_number(after);
    call->values[WRITES_PAGE] = value_number(list.limit + 1);
    call->operation = (struct operation){
        .statement = &list_session_writes, .values = call->values, .done = writes_done, .owner = request};
    request_submit(request, &call->operation);
}
