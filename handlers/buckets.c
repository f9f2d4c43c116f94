// Buckets over HTTP.
#include "handlers/buckets.h"

#include "base/text.h"
#include "handlers/access.h"
#include "handlers/address.h"
#include "handlers/configuration.h"
#include "handlers/cursor.h"
#include "handlers/json_input.h"
#include "handlers/list_query.h"
#include "handlers/outcome.h"
#include "handlers/sealed_entry.h"
#include "handlers/value_type.h"
#include "security/key_ring.h"
#include "security/warrant.h"

// --- declaring
// --------------------------------------------------------------------------------------------------------

enum {
    DECLARE_NAME,
    DECLARE_TYPE,
    DECLARE_TTL,
    DECLARE_IDLE,
    DECLARE_ENCRYPTED,
    DECLARE_MOST,
    DECLARE_FORCE,
    DECLARE_SEAL_WARRANT,
    DECLARE_OPEN_WARRANT,
    DECLARE_COLUMNS
};
enum declare_result { DECLARED_STATUS, DECLARED_CREATED_AT, DECLARED_ACTUAL, DECLARED_POSITION };
enum declare_status {
    DECLARED_NEW,
    DECLARED_CHANGED,
    DECLARED_OTHER_KIND,
    DECLARED_NOT_EMPTY,
    DECLARED_ENCRYPTED,
    DECLARED_NO_KEYS,
};

static const struct statement declare_bucket = {
    .name = "declare_bucket",
    .sql = "select * from holdfast.declare_bucket($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = DECLARE_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_TEXT, COLUMN_INT8, COLUMN_INT8, COLUMN_BOOL, COLUMN_INT4, COLUMN_BOOL,
               COLUMN_TEXT, COLUMN_TEXT},
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
    return !*encrypted || sealing_possible(request);
}

static bool read_force(struct request *request, bool *force)
{
    bool given;
    struct bytes text = request_argument(request, "force", &given);
    *force = given && bytes_is(text, "true");
    if (!given || *force || bytes_is(text, "false"))
        return true;
    reply_invalid(request, "force", "true or false");
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
    configuration->kind = bytes_of("bucket");
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
        reply_configuration(request, created ? 201 : 200, name, &call->configuration,
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
    case DECLARED_ENCRYPTED:
        reply_simple_problem(
            request, PROBLEM_BUSY,
            "the bucket is encrypted: that ends, and its values are opened, only with force=true");
        return;
    case DECLARED_NO_KEYS:
        sealing_possible(request);
        return;
    }
}

// What is there gets sealed, or opened, only by the word of a service that has keys.
static void give_warrants(struct request *request, struct declare_call *call)
{
    const struct key_ring *ring = context_of(request)->keys;
    if (!ring)
        return;
    struct bytes name = request->parameters[0];
    call->values[DECLARE_SEAL_WARRANT] =
        value_bytes(warrant_give(&request->arena, key_ring_keys(ring), WARRANT_SEAL, name));
    call->values[DECLARE_OPEN_WARRANT] =
        value_bytes(warrant_give(&request->arena, key_ring_keys(ring), WARRANT_OPEN, name));
}

void bucket_put(struct request *request)
{
    struct bytes name = request->parameters[0];
    bool force;
    if (!bucket_name_check(request, name) || !read_force(request, &force))
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
    call->values[DECLARE_FORCE] = value_number(force);
    give_warrants(request, call);
    call->operation = (struct operation){
        .statement = &declare_bucket, .values = call->values, .done = declare_done, .owner = request};
    request_submit(request, &call->operation);
}

// --- reading and listing
// ----------------------------------------------------------------------------------------------

enum { LIST_PREFIX, LIST_AFTER, LIST_PAGE, LIST_READABLE, LIST_COLUMNS };

static const struct statement list_buckets = {
    .name = "list_buckets",
    .sql = "select * from holdfast.list_buckets($1, $2, $3, $4)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .only_reads = true,
    .columns = LIST_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_TEXT, COLUMN_INT4, COLUMN_TEXT},
};

struct read_call {
    struct operation operation; // first: the operation is the call
    struct value values[LIST_COLUMNS];
    struct bytes prefix;
    int64_t limit;
};

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
        configuration_write_item(&json, request, outcome, row);
    }
    buffer_add_text(&json, "],\"cursor\":");
    if (more)
        buffer_printf(&json, "\"%s\"",
                      cursor_make(&request->arena, call->prefix,
                                  name_shown(request, outcome_bytes(outcome, rows - 1, ROW_NAME))));
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
    call->values[LIST_PREFIX] = value_bytes(name_enter_beginning(request, call->prefix));
    call->values[LIST_AFTER] = list.resumed ? value_bytes(name_enter(request, list.position)) : value_null();
    call->values[LIST_READABLE] = access_readable(request);
    call->values[LIST_PAGE] = value_number(list.limit + 1);
    call->operation = (struct operation){
        .statement = &list_buckets, .values = call->values, .done = list_done, .owner = request};
    request_submit(request, &call->operation);
}

void bucket_get(struct request *request)
{
    configuration_get(request, "bucket");
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
    request_submit(request, &call->operation);
}
