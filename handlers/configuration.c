// Configurations as JSON: the members depend on the kind.
#include "handlers/configuration.h"

#include "base/duration.h"
#include "base/timestamp.h"
#include "handlers/access.h"
#include "handlers/address.h"
#include "handlers/outcome.h"

// --- reading rows
// -----------------------------------------------------------------------------------------------------

static struct value number_or_null(const struct outcome *outcome, int row, int column)
{
    return outcome_null(outcome, row, column) ? value_null()
                                              : value_number(outcome_number(outcome, row, column));
}

// The next of the names with commas between them.
static struct bytes next_name(struct bytes *names)
{
    const uint8_t *comma = names->size ? memchr(names->data, ',', names->size) : NULL;
    struct bytes name = bytes_make(names->data, comma ? (size_t)(comma - names->data) : names->size);
    size_t taken = comma ? name.size + 1 : name.size;
    *names = bytes_make(names->data + taken, names->size - taken);
    return name;
}

int windows_of(const struct outcome *outcome, int row, const struct window_columns *columns,
               struct window windows[QUOTA_WINDOWS])
{
    int64_t limits[QUOTA_WINDOWS], lengths[QUOTA_WINDOWS];
    struct bytes names = outcome_bytes(outcome, row, columns->names);
    int count = outcome_numbers(outcome, row, columns->limits, limits, QUOTA_WINDOWS);
    outcome_numbers(outcome, row, columns->lengths, lengths, QUOTA_WINDOWS);
    for (int i = 0; i < count; i++)
        windows[i] = (struct window){next_name(&names), limits[i], lengths[i]};
    return count;
}

struct configuration configuration_of(const struct outcome *outcome, int row)
{
    static const struct window_columns columns = {ROW_WINDOW_NAMES, ROW_WINDOW_LIMITS, ROW_WINDOW_US};
    struct configuration configuration = {
        .kind = outcome_bytes(outcome, row, ROW_KIND),
        .type = outcome_bytes(outcome, row, ROW_TYPE),
        .ttl = number_or_null(outcome, row, ROW_TTL),
        .idle = number_or_null(outcome, row, ROW_IDLE),
        .encrypted = outcome_number(outcome, row, ROW_ENCRYPTED) != 0,
        .max_value_bytes = outcome_number(outcome, row, ROW_MOST),
        .lose = number_or_null(outcome, row, ROW_LOSE),
        .rate_count = outcome_number(outcome, row, ROW_RATE_COUNT),
        .rate_us = outcome_number(outcome, row, ROW_RATE_US),
        .burst = outcome_number(outcome, row, ROW_BURST),
        .run_ttl = outcome_number(outcome, row, ROW_RUN_TTL),
    };
    configuration.window_count = windows_of(outcome, row, &columns, configuration.windows);
    return configuration;
}

// --- writing
// ----------------------------------------------------------------------------------------------------------

static void write_duration(struct buffer *json, const char *member, const struct value *us)
{
    char text[24];
    buffer_printf(json, "\"%s\":", member);
    if (!us->given) {
        buffer_add_text(json, "null");
        return;
    }
    duration_format(us->number, text);
    buffer_printf(json, "\"%s\"", text);
}

static void write_bucket(struct buffer *json, const struct configuration *configuration)
{
    buffer_add_text(json, "\"type\":");
    buffer_add_json(json, configuration->type);
    buffer_add_char(json, ',');
    write_duration(json, "ttl", &configuration->ttl);
    buffer_add_char(json, ',');
    write_duration(json, "idle", &configuration->idle);
    buffer_printf(json, ",\"encrypted\":%s,\"max_value_bytes\":%lld",
                  configuration->encrypted ? "true" : "false", (long long)configuration->max_value_bytes);
}

static void write_counter(struct buffer *json, const struct configuration *configuration)
{
    write_duration(json, "ttl", &configuration->ttl);
    buffer_add_char(json, ',');
    write_duration(json, "lose_at_most", &configuration->lose);
}

static void write_rate_limit(struct buffer *json, const struct configuration *configuration)
{
    char rate[48];
    rate_format(configuration->rate_count, configuration->rate_us, rate);
    buffer_printf(json, "\"rate\":\"%s\",\"burst\":%lld,", rate, (long long)configuration->burst);
    write_duration(json, "lose_at_most", &configuration->lose);
}

static void write_quota(struct buffer *json, const struct configuration *configuration)
{
    buffer_add_text(json, "\"windows\":{");
    for (int i = 0; i < configuration->window_count; i++) {
        const struct window *window = &configuration->windows[i];
        char rate[48];
        rate_format(window->limit, window->length, rate);
        if (i)
            buffer_add_char(json, ',');
        buffer_add_json(json, window->name);
        buffer_printf(json, ":\"%s\"", rate);
    }
    buffer_add_char(json, '}');
}

static void write_once(struct buffer *json, const struct configuration *configuration)
{
    char run_ttl[24];
    write_duration(json, "ttl", &configuration->ttl);
    duration_format(configuration->run_ttl, run_ttl);
    buffer_printf(json, ",\"run_ttl\":\"%s\"", run_ttl);
}

static void write_nothing(struct buffer *json, const struct configuration *configuration)
{
    (void)json;
    (void)configuration;
}

static const struct {
    const char *kind;
    void (*write)(struct buffer *json, const struct configuration *configuration);
} kinds[] = {
    {"bucket", write_bucket},     {"counter", write_counter}, {"rate_limit", write_rate_limit},
    {"rate_gate", write_nothing}, {"quota", write_quota},     {"once", write_once},
};

static void write_members(struct buffer *json, const struct configuration *configuration)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (bytes_is(configuration->kind, kinds[i].kind))
            kinds[i].write(json, configuration);
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

void configuration_write_item(struct buffer *json, const struct request *request,
                              const struct outcome *outcome, int row)
{
    struct configuration configuration = configuration_of(outcome, row);
    buffer_add_char(json, '{');
    write_identity(json, name_shown(request, outcome_bytes(outcome, row, ROW_NAME)), configuration.kind);
    buffer_add_text(json, ",\"configuration\":{");
    write_members(json, &configuration);
    buffer_add_char(json, '}');
    write_created_at(json, outcome_time(outcome, row, ROW_CREATED_AT));
    buffer_add_char(json, '}');
}

void reply_configuration(struct request *request, int status, struct bytes name,
                         const struct configuration *configuration, int64_t created_at)
{
    struct buffer json = {0};
    buffer_add_char(&json, '{');
    write_identity(&json, name_shown(request, name), configuration->kind);
    buffer_add_char(&json, ',');
    write_members(&json, configuration);
    write_created_at(&json, created_at);
    buffer_add_text(&json, "}\n");
    reply_json_buffer(request, status, &json);
}

// --- one name
// ---------------------------------------------------------------------------------------------------------

static const struct statement get_bucket = {
    .name = "get_bucket",
    .sql = "select * from holdfast.get_bucket($1)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .only_reads = true,
    .columns = 1,
    .column = {COLUMN_TEXT},
};

struct name_call {
    struct operation operation; // first: the operation is the call
    struct value values[1];
    const char *kind;
};

static void get_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    const struct name_call *call = (const struct name_call *)operation;
    struct bytes name = request->parameters[0];
    if (!outcome_usable(request, outcome))
        return;
    if (!outcome->rows) {
        if (strcmp(call->kind, "bucket") == 0)
            reply_no_bucket(request, name);
        else
            reply_no_name(request, name);
        return;
    }
    struct configuration configuration = configuration_of(outcome, 0);
    if (!bytes_is(configuration.kind, call->kind)) {
        reply_kind_mismatch(request, name, configuration.kind);
        return;
    }
    reply_configuration(request, 200, name, &configuration, outcome_time(outcome, 0, ROW_CREATED_AT));
}

void configuration_get(struct request *request, const char *kind)
{
    struct bytes name = request->parameters[0];
    if (!name_check(request, strcmp(kind, "bucket") == 0 ? "bucket" : "name", name))
        return;
    struct name_call *call = arena_zalloc(&request->arena, sizeof *call);
    call->kind = kind;
    call->values[0] = value_bytes(name);
    call->operation = (struct operation){
        .statement = &get_bucket, .values = call->values, .done = get_done, .owner = request};
    request_submit(request, &call->operation);
}
