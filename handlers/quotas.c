// Quotas over HTTP: several windows over one key, which the database takes from all together or not at all.
#include "handlers/quotas.h"

#include "base/duration.h"
#include "handlers/allowance.h"
#include "handlers/json_input.h"
#include "handlers/limiter.h"
#include "handlers/outcome.h"

// --- the name
// ---------------------------------------------------------------------------------------------------------

enum { DECLARE_NAME, DECLARE_WINDOWS, DECLARE_LIMITS, DECLARE_LENGTHS, DECLARE_COLUMNS };

// The windows travel as the texts of arrays: what is in them needs no quotes.
static const struct statement declare_quota = {
    .name = "declare_quota",
    .sql = "select * from holdfast.declare_quota($1, $2::text[], $3::bigint[], $4::bigint[])",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = DECLARE_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT},
};

struct declare_call {
    struct operation operation; // first: the operation is the call
    struct value values[DECLARE_COLUMNS];
    struct configuration configuration;
};

static bool is_window_name(struct bytes name)
{
    if (!name.size || name.size > WINDOW_NAME_BYTES || name.data[0] < 'a' || name.data[0] > 'z')
        return false;
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return true;
}

static bool read_window(const char *name, size_t size, json_t *rate, struct window *window)
{
    window->name = bytes_make(name, size);
    return is_window_name(window->name) && json_is_string(rate) &&
           rate_parse(bytes_make(json_string_value(rate), json_string_length(rate)), &window->limit,
                      &window->length);
}

static bool read_windows(struct request *request, json_t *object, struct configuration *configuration)
{
    json_t *given = json_object_get(object, "windows");
    size_t count = json_object_size(given);
    if (count < 1 || count > QUOTA_WINDOWS) {
        reply_over_limit(request, PROBLEM_INVALID, "windows", QUOTA_WINDOWS, "a quota has 1 to 8 windows");
        return false;
    }
    for (void *i = json_object_iter(given); i; i = json_object_iter_next(given, i)) {
        const char *name = json_object_iter_key(i);
        struct window *window = &configuration->windows[configuration->window_count++];
        if (!read_window(name, strlen(name), json_object_iter_value(i), window)) {
            reply_invalid(request, "windows",
                          "a window has a name of a-z, 0-9 and _, at most 32, that begins with a letter, "
                          "and a rate such as 300/7d: a count from 1 to 9223372036854775807, a slash and a "
                          "unit or a duration "
                          "of at most 3650d");
            return false;
        }
    }
    return true;
}

static void declare_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (outcome_usable(request, outcome))
        reply_declared(request, outcome, &((struct declare_call *)operation)->configuration);
}

static struct value array_text(struct request *request, struct buffer *text)
{
    buffer_add_char(text, '}');
    struct value value = value_bytes(arena_copy(&request->arena, buffer_view(text)));
    buffer_free(text);
    return value;
}

static void set_windows(struct request *request, struct declare_call *call)
{
    struct buffer names = {0}, limits = {0}, lengths = {0};
    for (int i = 0; i < call->configuration.window_count; i++) {
        const struct window *window = &call->configuration.windows[i];
        char before = i ? ',' : '{';
        buffer_add_char(&names, before);
        buffer_add_bytes(&names, window->name);
        buffer_printf(&limits, "%c%lld", before, (long long)window->limit);
        buffer_printf(&lengths, "%c%lld", before, (long long)window->length);
    }
    call->values[DECLARE_WINDOWS] = array_text(request, &names);
    call->values[DECLARE_LIMITS] = array_text(request, &limits);
    call->values[DECLARE_LENGTHS] = array_text(request, &lengths);
}

void quota_put(struct request *request)
{
    static const char *const members[] = {"windows", NULL};
    struct bytes name = request->parameters[0];
    if (!name_check(request, "name", name))
        return;
    struct declare_call *call = arena_zalloc(&request->arena, sizeof *call);
    json_t *object = request_json(request, false);
    if (!object || !request_json_members(request, object, members) ||
        !read_windows(request, object, &call->configuration))
        return;
    call->configuration.kind = bytes_of("quota");
    call->values[DECLARE_NAME] = value_bytes(name);
    set_windows(request, call);
    call->operation = (struct operation){
        .statement = &declare_quota, .values = call->values, .done = declare_done, .owner = request};
    request_submit(request, &call->operation);
}

void quota_get(struct request *request)
{
    configuration_get(request, "quota");
}

void quota_delete(struct request *request)
{
    limiter_delete(request, LIMITER_QUOTA);
}

// --- its keys
// ---------------------------------------------------------------------------------------------------------

enum { USE_PATH, USE_COUNT, USE_REFUNDS, USE_COLUMNS };

enum use_result {
    USED_ORDINAL,
    USED_STATUS,
    USED_POSITION,
    USED_RETRY_AT,
    USED_NOW,
    USED_WINDOWS,
    USED_LIMITS,
    USED_LENGTHS,
    USED_COUNTS,
    USED_ENDS,
    USED_KIND,
};

static const struct statement use_quotas = {
    .name = "use_quotas",
    .sql = "select * from holdfast.use_quotas($1, $2, $3, $4, $5, $6)",
    .form = STATEMENT_SHARED,
    .role = ROLE_WRITE,
    .writes = true,
    .keys = KEYS_ANY,
    .columns = USE_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_BOOL},
};

static const struct statement peek_quotas = {
    .name = "peek_quotas",
    .sql = "select * from holdfast.peek_quotas($1, $2, $3, $4)",
    .form = STATEMENT_SHARED,
    .role = ROLE_READ,
    .keys = KEYS_ANY,
    .columns = 1,
    .column = {COLUMN_BYTEA},
};

struct use_call {
    struct operation operation; // first: the operation is the call
    struct value values[USE_COLUMNS];
    bool enforced;
};

// What the windows of one key hold.
struct use {
    int count;
    struct window windows[QUOTA_WINDOWS];
    int64_t used[QUOTA_WINDOWS];
    int64_t ends[QUOTA_WINDOWS]; // microseconds since 1970; 0 when the window is not open
    int64_t now;
};

static void read_use(const struct outcome *outcome, struct use *use)
{
    static const struct window_columns columns = {USED_WINDOWS, USED_LIMITS, USED_LENGTHS};
    use->count = windows_of(outcome, 0, &columns, use->windows);
    outcome_numbers(outcome, 0, USED_COUNTS, use->used, QUOTA_WINDOWS);
    outcome_numbers(outcome, 0, USED_ENDS, use->ends, QUOTA_WINDOWS);
    use->now = outcome_number(outcome, 0, USED_NOW);
}

static int64_t window_left(const struct use *use, int i)
{
    return use->windows[i].limit > use->used[i] ? use->windows[i].limit - use->used[i] : 0;
}

static void reply_window_policies(struct request *request, const struct use *use)
{
    struct policy policies[QUOTA_WINDOWS];
    for (int i = 0; i < use->count; i++)
        policies[i] = (struct policy){
            .name = use->windows[i].name,
            .quota = use->windows[i].limit,
            .window = use->windows[i].length,
            .remaining = window_left(use, i),
            .reset = use->ends[i] - use->now,
        };
    reply_policies(request, policies, use->count);
}

static void write_windows(struct buffer *members, const struct use *use)
{
    buffer_add_text(members, "\"windows\":{");
    for (int i = 0; i < use->count; i++) {
        if (i)
            buffer_add_char(members, ',');
        buffer_add_json(members, use->windows[i].name);
        buffer_printf(members, ":{\"used\":%lld,\"limit\":%lld,\"left\":%lld,", (long long)use->used[i],
                      (long long)use->windows[i].limit, (long long)window_left(use, i));
        allowance_write_time(members, "reset_at", use->ends[i] != 0, use->ends[i]);
        buffer_add_char(members, '}');
    }
    buffer_add_char(members, '}');
}

static int64_t least_left(const struct use *use)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < use->count; i++)
        if (window_left(use, i) < least)
            least = window_left(use, i);
    return least;
}

static int64_t smallest_limit(const struct use *use)
{
    int64_t smallest = INT64_MAX;
    for (int i = 0; i < use->count; i++)
        if (use->windows[i].limit < smallest)
            smallest = use->windows[i].limit;
    return smallest;
}

static void reply_use(struct request *request, const struct use *use, const struct outcome *outcome,
                      bool enforced)
{
    bool ok = outcome_number(outcome, 0, USED_STATUS) == LIMITER_DONE;
    int64_t retry_at = outcome_number(outcome, 0, USED_RETRY_AT);
    reply_window_policies(request, use);
    struct buffer members = {0};
    buffer_printf(&members, "\"ok\":%s,\"left\":%lld,", ok ? "true" : "false", (long long)least_left(use));
    allowance_write_time(&members, "retry_at", !ok, retry_at);
    buffer_add_char(&members, ',');
    write_windows(&members, use);
    reply_allowance(request, REFUSED_QUOTA, ok, enforced, retry_at - use->now, &members);
}

static void use_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct use use;
    if (!outcome_usable(request, outcome))
        return;
    enum limiter_status status = (enum limiter_status)outcome_number(outcome, 0, USED_STATUS);
    if (limiter_name_refused(request, status, outcome_bytes(outcome, 0, USED_KIND)))
        return;
    read_use(outcome, &use);
    if (status == LIMITER_BEYOND) {
        reply_over_limit(request, PROBLEM_INVALID, "n", smallest_limit(&use),
                         "n is above the smallest limit: so many are never used at once");
        return;
    }
    if (!outcome_null(outcome, 0, USED_POSITION))
        reply_position(request, outcome_number(outcome, 0, USED_POSITION));
    reply_use(request, &use, outcome, ((const struct use_call *)operation)->enforced);
}

static void submit(struct request *request, struct use_call *call, const struct statement *statement,
                   const struct address *address)
{
    call->values[USE_PATH] = value_bytes(address->path);
    call->operation = (struct operation){
        .statement = statement,
        .bucket = address->bucket,
        .key = address->path,
        .values = call->values,
        .done = use_done,
        .owner = request,
    };
    request_submit(request, &call->operation);
}

static void use_key(struct request *request, struct use_call *call, bool refunds)
{
    static const char *const members[] = {"n", NULL};
    struct address address;
    int64_t n;
    if (!address_read_named(request, &address))
        return;
    json_t *object = request_json(request, true);
    if (!object || !request_json_members(request, object, members) ||
        !limiter_count_member(request, object, "n", &n))
        return;
    call->values[USE_COUNT] = value_number(n);
    call->values[USE_REFUNDS] = value_number(refunds);
    submit(request, call, &use_quotas, &address);
}

void quota_key_allow(struct request *request)
{
    struct use_call *call = arena_zalloc(&request->arena, sizeof *call);
    if (enforce_read(request, &call->enforced))
        use_key(request, call, false);
}

void quota_key_refund(struct request *request)
{
    use_key(request, arena_zalloc(&request->arena, sizeof(struct use_call)), true);
}

void quota_key_get(struct request *request)
{
    struct address address;
    struct use_call *call = arena_zalloc(&request->arena, sizeof *call);
    if (address_read_named(request, &address))
        submit(request, call, &peek_quotas, &address);
}

void quota_key_delete(struct request *request)
{
    limiter_reset(request, LIMITER_QUOTA);
}
