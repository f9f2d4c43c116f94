// Buckets over HTTP.
#include "handlers/buckets.h"

#include "base/duration.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "handlers/address.h"
#include "handlers/cursor.h"
#include "handlers/json_input.h"
#include "handlers/list_query.h"
#include "handlers/outcome.h"
#include "handlers/value_type.h"

// --- the configuration as JSON
// ----------------------------------------------------------------------------------------

struct configuration {
    struct bytes type;
    struct value ttl;  // microseconds
    struct value idle; // microseconds
    bool encrypted;
    int64_t max_value_bytes;
};

static void write_duration(struct buffer *json, const char *member, const struct value *us)
{
    char text[24];
    buffer_printf(json, ",\"%s\":", member);
    if (!us->given) {
        buffer_add_text(json, "null");
        return;
    }
    duration_format(us->number, text);
    buffer_printf(json, "\"%s\"", text);
}

static void write_configuration(struct buffer *json, const struct configuration *configuration)
{
    buffer_add_text(json, "\"type\":");
    buffer_add_json(json, configuration->type);
    write_duration(json, "ttl", &configuration->ttl);
    write_duration(json, "idle", &configuration->idle);
    buffer_printf(json, ",\"encrypted\":%s,\"max_value_bytes\":%lld",
                  configuration->encrypted ? "true" : "false", (long long)configuration->max_value_bytes);
}

static void write_identity(struct buffer *json, struct bytes name, struct bytes kind)
{
    buffer_add_text(json, "\"name\":");
    buffer_add_json(json, name);
    buffer_add_text(json, ",\"kind\":");
    buffer_add_json(json, kind);
}

static void write_created_at(struct buffer *json, int64_t created_at)
{
    char time[TIMESTAMP_SIZE];
    timestamp_format(created_at, time);
    buffer_printf(json, ",\"created_at\":\"%s\"", time);
}

static void reply_bucket(struct request *request, int status, struct bytes name,
                         const struct configuration *configuration, int64_t created_at)
{
    struct buffer json = {0};
    buffer_add_char(&json, '{');
    write_identity(&json, name, bytes_of("bucket"));
    buffer_add_char(&json, ',');
    write_configuration(&json, configuration);
    write_created_at(&json, created_at);
    buffer_add_text(&json, "}\n");
    reply_json_buffer(request, status, &json);
}

// --- declaring
// --------------------------------------------------------------------------------------------------------

enum {
    DECLARE_NAME,
    DECLARE_TYPE,
    DECLARE_TTL,
    DECLARE_IDLE,
    DECLARE_ENCRYPTED,
    DECLARE_MOST,
    DECLARE_COLUMNS
};
enum declare_result { DECLARED_STATUS, DECLARED_CREATED_AT, DECLARED_ACTUAL, DECLARED_POSITION };
enum declare_status { DECLARED_NEW, DECLARED_CHANGED, DECLARED_OTHER_KIND, DECLARED_NOT_EMPTY };

static const struct statement declare_bucket = {
    .name = "declare_bucket",
    .sql = "select * from holdfast.declare_bucket($1, $2, $3, $4, $5, $6)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = DECLARE_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_TEXT, COLUMN_INT8, COLUMN_INT8, COLUMN_BOOL, COLUMN_INT4},
};

struct declare_call {
    struct operation operation; // first: the operation is the call
    struct value values[DECLARE_COLUMNS];
    struct configuration configuration;
};

static bool read_type(struct request *request, json_t *object, struct bytes *type)
{
    json_t *given = json_object_get(object, "type");
    enum value_type known;
    *type = bytes_of("any");
    if (!given)
        return true;
    *type = bytes_make(json_string_value(given), json_string_length(given));
    if (json_is_string(given) && value_type_parse(*type, &known))
        return true;
    reply_invalid(request, "type", "a bucket's type is any, json, text, bytes, int, float, bool or none");
    return false;
}

static bool read_encrypted(struct request *request, json_t *object, bool *encrypted)
{
    json_t *given = json_object_get(object, "encrypted");
    if (given && !json_is_boolean(given)) {
        reply_invalid(request, "encrypted", "encrypted is true or false");
        return false;
    }
    *encrypted = json_is_true(given);
    if (!*encrypted)
        return true;
    struct problem problem = {
        .kind = PROBLEM_UNSUPPORTED,
        .detail = "this deployment does not seal values",
        .extra = "\"capability\":\"encryption\"",
    };
    reply_problem(request, &problem);
    return false;
}

static bool read_most(struct request *request, json_t *object, int64_t *most)
{
    json_t *given = json_object_get(object, "max_value_bytes");
    *most = VALUE_LIMIT;
    if (!given)
        return true;
    *most = json_integer_value(given);
    if (json_is_integer(given) && *most >= 1 && *most <= VALUE_LIMIT)
        return true;
    reply_invalid(request, "max_value_bytes", "max_value_bytes is an integer from 1 to %d", VALUE_LIMIT);
    return false;
}

static bool read_configuration(struct request *request, json_t *object, struct configuration *configuration)
{
    static const char *const members[] = {"type", "ttl", "idle", "encrypted", "max_value_bytes", NULL};
    if (!request_json_members(request, object, members) ||
        !read_type(request, object, &configuration->type) ||
        !input_duration(request, object, "ttl", &configuration->ttl) ||
        !input_duration(request, object, "idle", &configuration->idle) ||
        !read_most(request, object, &configuration->max_value_bytes) ||
        !read_encrypted(request, object, &configuration->encrypted))
        return false;
    if (configuration->ttl.given && configuration->idle.given) {
        reply_invalid(request, "idle", "a bucket has a ttl or an idle, not both");
        return false;
    }
    return true;
}

static void declare_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct declare_call *call = (struct declare_call *)operation;
    if (!outcome_usable(request, outcome))
        return;
    struct bytes name = request->parameters[0];
    switch ((enum declare_status)outcome_number(outcome, 0, DECLARED_STATUS)) {
    case DECLARED_NEW:
    case DECLARED_CHANGED: {
        bool created = outcome_number(outcome, 0, DECLARED_STATUS) == DECLARED_NEW;
        reply_position(request, outcome_number(outcome, 0, DECLARED_POSITION));
        reply_bucket(request, created ? 201 : 200, name, &call->configuration,
                     outcome_time(outcome, 0, DECLARED_CREATED_AT));
        return;
    }
    case DECLARED_OTHER_KIND:
        reply_kind_mismatch(request, name, outcome_bytes(outcome, 0, DECLARED_ACTUAL));
        return;
    case DECLARED_NOT_EMPTY:
        reply_simple_problem(
            request, PROBLEM_BUSY,
            "the bucket has entries: its type can only become any or bytes, or change when it is empty");
        return;
    }
}

void bucket_put(struct request *request)
{
    struct bytes name = request->parameters[0];
    if (!bucket_name_check(request, name))
        return;
    json_t *object = request_json(request, true);
    if (!object)
        return;
    struct declare_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct configuration *configuration = &call->configuration;
    if (!read_configuration(request, object, configuration))
        return;
    call->values[DECLARE_NAME] = value_bytes(name);
    call->values[DECLARE_TYPE] = value_bytes(configuration->type);
    call->values[DECLARE_TTL] = configuration->ttl;
    call->values[DECLARE_IDLE] = configuration->idle;
    call->values[DECLARE_ENCRYPTED] = value_number(configuration->encrypted);
    call->values[DECLARE_MOST] = value_number(configuration->max_value_bytes);
    call->operation = (struct operation){
        .statement = &declare_bucket, .values = call->values, .done = declare_done, .owner = request};
    store_submit(context_of(request)->store, &call->operation);
}

// --- reading and listing
// ----------------------------------------------------------------------------------------------

enum bucket_row {
    ROW_NAME,
    ROW_KIND,
    ROW_TYPE,
    ROW_TTL,
    ROW_IDLE,
    ROW_ENCRYPTED,
    ROW_MOST,
    ROW_CREATED_AT,
};

static const struct statement get_bucket = {
    .name = "get_bucket",
    .sql = "select * from holdfast.get_bucket($1)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .columns = 1,
    .column = {COLUMN_TEXT},
};

enum { LIST_PREFIX, LIST_AFTER, LIST_PAGE, LIST_COLUMNS };

static const struct statement list_buckets = {
    .name = "list_buckets",
    .sql = "select * from holdfast.list_buckets($1, $2, $3)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .columns = LIST_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_TEXT, COLUMN_INT4},
};

struct read_call {
    struct operation operation; // first: the operation is the call
    struct value values[LIST_COLUMNS];
    struct bytes prefix;
    int64_t limit;
};

static struct value number_or_null(const struct outcome *outcome, int row, int column)
{
    return outcome_null(outcome, row, column) ? value_null()
                                              : value_number(outcome_number(outcome, row, column));
}

static struct configuration row_configuration(const struct outcome *outcome, int row)
{
    return (struct configuration){
        .type = outcome_bytes(outcome, row, ROW_TYPE),
        .ttl = number_or_null(outcome, row, ROW_TTL),
        .idle = number_or_null(outcome, row, ROW_IDLE),
        .encrypted = outcome_number(outcome, row, ROW_ENCRYPTED) != 0,
        .max_value_bytes = outcome_number(outcome, row, ROW_MOST),
    };
}

static void get_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct bytes name = request->parameters[0];
    if (!outcome_usable(request, outcome))
        return;
    if (!outcome->rows) {
        reply_no_bucket(request, name);
        return;
    }
    struct bytes kind = outcome_bytes(outcome, 0, ROW_KIND);
    if (!bytes_is(kind, "bucket")) {
        reply_kind_mismatch(request, name, kind);
        return;
    }
    struct configuration configuration = row_configuration(outcome, 0);
    reply_bucket(request, 200, name, &configuration, outcome_time(outcome, 0, ROW_CREATED_AT));
}

void bucket_get(struct request *request)
{
    struct bytes name = request->parameters[0];
    if (!bucket_name_check(request, name))
        return;
    struct read_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[0] = value_bytes(name);
    call->operation = (struct operation){
        .statement = &get_bucket, .values = call->values, .done = get_done, .owner = request};
    store_submit(context_of(request)->store, &call->operation);
}

static void write_row(struct buffer *json, const struct outcome *outcome, int row)
{
    struct configuration configuration = row_configuration(outcome, row);
    buffer_add_char(json, '{');
    write_identity(json, outcome_bytes(outcome, row, ROW_NAME), outcome_bytes(outcome, row, ROW_KIND));
    buffer_add_text(json, ",\"configuration\":{");
    write_configuration(json, &configuration);
    buffer_add_char(json, '}');
    write_created_at(json, outcome_time(outcome, row, ROW_CREATED_AT));
    buffer_add_char(json, '}');
}

static void list_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct read_call *call = (struct read_call *)operation;
    if (!outcome_usable(request, outcome))
        return;
    bool more = outcome->rows > call->limit; // one beyond the page was asked for
    int rows = more ? (int)call->limit : outcome->rows;
    struct buffer json = {0};
    buffer_add_text(&json, "{\"buckets\":[");
    for (int row = 0; row < rows; row++) {
        if (row)
            buffer_add_char(&json, ',');
        write_row(&json, outcome, row);
    }
    buffer_add_text(&json, "],\"cursor\":");
    if (more)
        buffer_printf(&json, "\"%s\"",
                      cursor_make(&request->arena, call->prefix, outcome_bytes(outcome, rows - 1, ROW_NAME)));
    else
        buffer_add_text(&json, "null");
    buffer_add_text(&json, "}\n");
    reply_json_buffer(request, 200, &json);
}

void bucket_list(struct request *request)
{
    bool has_prefix;
    struct list_query list;
    struct bytes prefix = request_argument(request, "prefix", &has_prefix);
    if (!has_prefix)
        prefix = bytes_of("");
    if (!text_is_utf8(prefix) || text_has_control(prefix)) {
        reply_invalid(request, "prefix", "a prefix of bucket names is UTF-8 without control characters");
        return;
    }
    struct read_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->prefix = arena_copy(&request->arena, prefix);
    if (!list_query_read(request, call->prefix, &list))
        return;
    call->limit = list.limit;
    call->values[LIST_PREFIX] = value_bytes(call->prefix);
    call->values[LIST_AFTER] = list.resumed ? value_bytes(list.position) : value_null();
    call->values[LIST_PAGE] = value_number(list.limit + 1);
    call->operation = (struct operation){
        .statement = &list_buckets, .values = call->values, .done = list_done, .owner = request};
    store_submit(context_of(request)->store, &call->operation);
}

// --- dropping
// ---------------------------------------------------------------------------------------------------------

enum drop_result { DROPPED_STATUS, DROPPED_VERSION, DROPPED_ACTUAL };
enum drop_status { DROPPED, DROP_ABSENT, DROP_OTHER_KIND };

static const struct statement drop_bucket = {
    .name = "drop_bucket",
    .sql = "select * from holdfast.drop_bucket($1, array['bucket'])",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = 1,
    .column = {COLUMN_TEXT},
};

static void drop_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct bytes name = request->parameters[0];
    if (!outcome_usable(request, outcome))
        return;
    switch ((enum drop_status)outcome_number(outcome, 0, DROPPED_STATUS)) {
    case DROPPED:
        reply_position(request, outcome_number(outcome, 0, DROPPED_VERSION));
        reply_empty(request, 204);
        return;
    case DROP_ABSENT:
        reply_no_bucket(request, name);
        return;
    case DROP_OTHER_KIND:
        reply_kind_mismatch(request, name, outcome_bytes(outcome, 0, DROPPED_ACTUAL));
        return;
    }
}

void bucket_delete(struct request *request)
{
    struct bytes name = request->parameters[0];
    if (!bucket_name_check(request, name))
        return;
    struct read_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->values[0] = value_bytes(name);
    call->operation = (struct operation){
        .statement = &drop_bucket, .values = call->values, .done = drop_done, .owner = request};
    store_submit(context_of(request)->store, &call->operation);
}
