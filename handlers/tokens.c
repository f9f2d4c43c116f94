// A new token's text is in one reply and nowhere else: not in a kept reply, not in memory that is used again.
#include "handlers/tokens.h"

#include "base/timestamp.h"
#include "handlers/access.h"
#include "handlers/cursor.h"
#include "handlers/json_input.h"
#include "handlers/list_query.h"
#include "handlers/outcome.h"

#include <sodium.h>
#include <stdlib.h>

// --- a token as JSON
// --------------------------------------------------------------------------------------------------

struct token_view {
    struct bytes name;
    struct bytes id;
    struct bytes prefix;
    struct bytes grants; // lines
    int64_t created_at;
    struct value expires_at;
    const char *secret; // NULL but for a token that was just made
};

static void write_time(struct buffer *json, int64_t us)
{
    char time[TIMESTAMP_SIZE];
    timestamp_format(us, time);
    buffer_printf(json, "\"%s\"", time);
}

static void write_grants(struct buffer *json, struct bytes lines)
{
    bool first = true;
    buffer_add_char(json, '[');
    while (lines.size) {
        const uint8_t *end = memchr(lines.data, '\n', lines.size);
        size_t size = end ? (size_t)(end - lines.data) : lines.size;
        if (!first)
            buffer_add_char(json, ',');
        first = false;
        buffer_add_json(json, bytes_make(lines.data, size));
        size += end != NULL;
        lines = bytes_make(lines.data + size, lines.size - size);
    }
    buffer_add_char(json, ']');
}

static void write_token(struct buffer *json, const struct token_view *view)
{
    buffer_add_text(json, "{\"name\":");
    buffer_add_json(json, view->name);
    buffer_add_text(json, ",\"id\":");
    buffer_add_json(json, view->id);
    buffer_add_text(json, ",\"prefix\":");
    if (view->prefix.size)
        buffer_add_json(json, view->prefix);
    else
        buffer_add_text(json, "null");
    buffer_add_text(json, ",\"grants\":");
    write_grants(json, view->grants);
    buffer_add_text(json, ",\"created_at\":");
    write_time(json, view->created_at);
    buffer_add_text(json, ",\"expires_at\":");
    if (view->expires_at.given)
        write_time(json, view->expires_at.number);
    else
        buffer_add_text(json, "null");
    if (view->secret)
        buffer_printf(json, ",\"token\":\"%s\"", view->secret);
    buffer_add_char(json, '}');
}

// --- making
// -----------------------------------------------------------------------------------------------------------

enum {
    CREATE_ID,
    CREATE_NAME,
    CREATE_PREFIX,
    CREATE_GRANTS,
    CREATE_KEY,
    CREATE_HASH,
    CREATE_TTL,
    CREATE_UNTIL,
    CREATE_COLUMNS,
};
enum create_result { CREATED_STATUS, CREATED_AT, CREATED_EXPIRES_AT };
enum create_status { CREATED, CREATE_TAKEN, CREATE_PAST };

static const struct statement create_token = {
    .name = "create_token",
    .sql = "select * from holdfast.create_token($1, $2, $3, $4, $5, $6, $7, $8)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = CREATE_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_BYTEA, COLUMN_BYTEA, COLUMN_INT8,
               COLUMN_TIME},
};

struct create_call {
    struct operation operation; // first: the operation is the call
    struct value values[CREATE_COLUMNS];
    struct token_mint mint;
};

static void wipe_body(void *owner)
{
    struct buffer *json = owner;
    sodium_memzero(json->data, json->size);
    buffer_free(json);
    free(json);
}

static void reply_created(struct request *request, const struct create_call *call,
                          const struct outcome *outcome)
{
    struct buffer *json = calloc(1, sizeof *json);
    if (!json)
        abort();
    const struct token_view view = {
        .name = call->values[CREATE_NAME].bytes,
        .id = call->values[CREATE_ID].bytes,
        .prefix = call->values[CREATE_PREFIX].bytes,
        .grants = call->values[CREATE_GRANTS].bytes,
        .created_at = outcome_time(outcome, 0, CREATED_AT),
        .expires_at = outcome_null(outcome, 0, CREATED_EXPIRES_AT)
                          ? value_null()
                          : value_number(outcome_time(outcome, 0, CREATED_EXPIRES_AT)),
        .secret = call->mint.text,
    };
    // Room for all of it: a buffer that grows leaves a copy behind.
    buffer_reserve(json, 1024 + 6 * (view.name.size + view.grants.size + view.prefix.size));
    write_token(json, &view);
    buffer_add_char(json, '\n');
    reply_header(request, "Content-Type", "application/json");
    reply_header(request, "Cache-Control", "no-store");
    reply_held(request, 201, buffer_view(json), (struct held_body){json, wipe_body});
}

static void create_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct create_call *call = (struct create_call *)operation;
    if (outcome_usable(request, outcome))
        switch ((enum create_status)outcome_number(outcome, 0, CREATED_STATUS)) {
        case CREATED:
            reply_created(request, call, outcome);
            break;
        case CREATE_TAKEN:
            reply_simple_problem(request, PROBLEM_BUSY, "there is a token of this name");
            break;
        case CREATE_PAST:
            reply_invalid(request, "expires_at", "the time is in the past by the database's clock");
            break;
        }
    token_mint_forget(&call->mint);
}

static bool read_text(struct request *request, json_t *object, const char *member, bool required,
                      bool (*check)(struct bytes text, const char **reason), struct bytes *text)
{
    const char *reason;
    *text = bytes_of("");
    bool absent = !required && json_is_null(json_object_get(object, member));
    if (!absent && !input_text(request, object, member, required, text))
        return false;
    if (!text->data)
        *text = bytes_of("");
    if (check(*text, &reason))
        return true;
    reply_invalid(request, member, "%s", reason);
    return false;
}

// An empty one, as of a variable that is not set, would make an administrator of a tenant.
static bool read_prefix(struct request *request, json_t *object, struct bytes *prefix)
{
    if (!read_text(request, object, "prefix", false, token_prefix_check, prefix))
        return false;
    if (prefix->size || !json_is_string(json_object_get(object, "prefix")))
        return true;
    reply_invalid(request, "prefix", "a prefix has at least one character; without one there is no member");
    return false;
}

static bool read_grants(struct request *request, json_t *object, struct bytes *lines)
{
    json_t *given = json_object_get(object, "grants");
    struct bytes texts[TOKEN_GRANTS_MOST], wrong;
    struct buffer out = {0};
    const char *reason = "an array of 1 to 64 grants is wanted";
    size_t count = json_array_size(given);
    bool good = count && count <= TOKEN_GRANTS_MOST;
    for (size_t i = 0; good && i < count; i++) {
        const json_t *one = json_array_get(given, i);
        texts[i] = bytes_make(json_string_value(one), json_string_length(one));
        good = json_is_string(one);
    }
    good = good && token_grants_write(&out, texts, count, &wrong, &reason);
    *lines = arena_copy(&request->arena, buffer_view(&out));
    buffer_free(&out);
    if (!good)
        reply_invalid(request, "grants", "%s", reason);
    return good;
}

static bool read_expiry(struct request *request, json_t *object, struct value *values)
{
    if (!input_duration(request, object, "ttl", &values[CREATE_TTL]) ||
        !input_time(request, object, "expires_at", &values[CREATE_UNTIL]))
        return false;
    if (!values[CREATE_TTL].given || !values[CREATE_UNTIL].given)
        return true;
    reply_invalid(request, "expires_at", "a token has a ttl or an expires_at, not both");
    return false;
}

// Whoever reaches a service without tokens could else shut all others out.
static bool may_create(struct request *request)
{
    if (!token_of(request)) {
        reply_simple_problem(request, PROBLEM_FORBIDDEN,
                             "the first token is made by the command holdfast token create");
        return false;
    }
    if (!request->keyed)
        return true;
    reply_invalid(request, "Idempotency-Key", "a token is shown once: no reply with one is kept");
    return false;
}

void token_create(struct request *request)
{
    static const char *const members[] = {"name", "grants", "prefix", "ttl", "expires_at", NULL};
    json_t *object = may_create(request) ? request_json(request, false) : NULL;
    if (!object || !request_json_members(request, object, members))
        return;
    struct create_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct bytes name, prefix, grants;
    if (!read_text(request, object, "name", true, token_name_check, &name) ||
        !read_prefix(request, object, &prefix) || !read_grants(request, object, &grants) ||
        !read_expiry(request, object, call->values))
        return;
    token_mint(&call->mint);
    call->values[CREATE_ID] = value_bytes(bytes_of(call->mint.id));
    call->values[CREATE_NAME] = value_bytes(name);
    call->values[CREATE_PREFIX] = value_bytes(prefix);
    call->values[CREATE_GRANTS] = value_bytes(grants);
    call->values[CREATE_KEY] = value_bytes(bytes_make(call->mint.key, TOKEN_KEY));
    call->values[CREATE_HASH] = value_bytes(bytes_make(call->mint.hash, TOKEN_HASH));
    call->operation = (struct operation){
        .statement = &create_token, .values = call->values, .done = create_done, .owner = request};
    request_submit(request, &call->operation);
}

// --- reading and listing
// ----------------------------------------------------------------------------------------------

enum token_row { ROW_NAME, ROW_ID, ROW_PREFIX, ROW_GRANTS, ROW_CREATED_AT, ROW_EXPIRES_AT };

static const struct statement get_token = {
    .name = "get_token",
    .sql = "select * from holdfast.get_token($1)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .only_reads = true,
    .columns = 1,
    .column = {COLUMN_TEXT},
};

enum { LIST_AFTER, LIST_PAGE, LIST_COLUMNS };

static const struct statement list_tokens = {
    .name = "list_tokens",
    .sql = "select * from holdfast.list_tokens($1, $2)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .only_reads = true,
    .columns = LIST_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_INT4},
};

struct read_call {
    struct operation operation; // first: the operation is the call
    struct value values[LIST_COLUMNS];
    int64_t limit;
};

static struct token_view row_view(const struct outcome *outcome, int row)
{
    return (struct token_view){
        .name = outcome_bytes(outcome, row, ROW_NAME),
        .id = outcome_bytes(outcome, row, ROW_ID),
        .prefix = outcome_bytes(outcome, row, ROW_PREFIX),
        .grants = outcome_bytes(outcome, row, ROW_GRANTS),
        .created_at = outcome_time(outcome, row, ROW_CREATED_AT),
        .expires_at = outcome_null(outcome, row, ROW_EXPIRES_AT)
                          ? value_null()
                          : value_number(outcome_time(outcome, row, ROW_EXPIRES_AT)),
    };
}

static void reply_no_token(struct request *request)
{
    reply_simple_problem(request, PROBLEM_NOT_FOUND, "there is no token of this name");
}

static bool check_name(struct request *request)
{
    const char *reason;
    if (token_name_check(request->parameters[0], &reason))
        return true;
    reply_invalid(request, "name", "%s", reason);
    return false;
}

static void get_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    if (!outcome->rows) {
        reply_no_token(request);
        return;
    }
    struct token_view view = row_view(outcome, 0);
    struct buffer json = {0};
    write_token(&json, &view);
    buffer_add_char(&json, '\n');
    reply_json_buffer(request, 200, &json);
}

void token_get(struct request *request)
{
    if (!check_name(request))
        return;
    struct read_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[0] = value_bytes(request->parameters[0]);
    call->operation = (struct operation){
        .statement = &get_token, .values = call->values, .done = get_done, .owner = request};
    request_submit(request, &call->operation);
}

static struct bytes list_scope(void)
{
    return bytes_of("tokens");
}

static void list_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    const struct read_call *call = (const struct read_call *)operation;
    if (!outcome_usable(request, outcome))
        return;
    bool more = outcome->rows > call->limit; // one beyond the page was asked for
    int rows = more ? (int)call->limit : outcome->rows;
    struct buffer json = {0};
    buffer_add_text(&json, "{\"tokens\":[");
    for (int row = 0; row < rows; row++) {
        struct token_view view = row_view(outcome, row);
        if (row)
            buffer_add_char(&json, ',');
        write_token(&json, &view);
    }
    buffer_add_text(&json, "],\"cursor\":");
    if (more)
        buffer_printf(&json, "\"%s\"",
                      cursor_make(&request->arena, list_scope(), outcome_bytes(outcome, rows - 1, ROW_NAME)));
    else
        buffer_add_text(&json, "null");
    buffer_add_text(&json, "}\n");
    reply_json_buffer(request, 200, &json);
}

void token_list(struct request *request)
{
    struct list_query list;
    if (!list_query_read(request, list_scope(), &list))
        return;
    struct read_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->limit = list.limit;
    call->values[LIST_AFTER] = list.resumed ? value_bytes(list.position) : value_null();
    call->values[LIST_PAGE] = value_number(list.limit + 1);
    call->operation = (struct operation){
        .statement = &list_tokens, .values = call->values, .done = list_done, .owner = request};
    request_submit(request, &call->operation);
}

// --- revoking
// ---------------------------------------------------------------------------------------------------------

static const struct statement revoke_token = {
    .name = "revoke_token",
    .sql = "select holdfast.revoke_token($1)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = 1,
    .column = {COLUMN_TEXT},
};

static void revoke_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    if (outcome_number(outcome, 0, 0))
        reply_empty(request, 204);
    else
        reply_no_token(request);
}

void token_revoke(struct request *request)
{
    if (!check_name(request))
        return;
    struct read_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[0] = value_bytes(request->parameters[0]);
    call->operation = (struct operation){
        .statement = &revoke_token, .values = call->values, .done = revoke_done, .owner = request};
    request_submit(request, &call->operation);
}
