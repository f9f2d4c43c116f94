// Rate limits over HTTP: the database decides, all that wait for the same key in one update.
#include "handlers/rate_limits.h"

#include "base/duration.h"
#include "handlers/allowance.h"
#include "handlers/json_input.h"
#include "handlers/limiter.h"
#include "handlers/outcome.h"

// --- the name
// ---------------------------------------------------------------------------------------------------------

// Bounds that keep every moment that a reply tells within the calendar.
#define RATE_MOST   INT64_C(1000000000000)
#define REFILL_DAYS INT64_C(365000)

enum { DECLARE_NAME, DECLARE_COUNT, DECLARE_US, DECLARE_BURST, DECLARE_LOSE, DECLARE_COLUMNS };

static const struct statement declare_rate_limit = {
    .name = "declare_rate_limit",
    .sql = "select * from holdfast.declare_rate_limit($1, $2, $3, $4, $5)",
    .form = STATEMENT_ALONE,
    .role = ROLE_ADMIN,
    .writes = true,
    .columns = DECLARE_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_INT8, COLUMN_INT8, COLUMN_INT8, COLUMN_INT8},
};

struct declare_call {
    struct operation operation; // first: the operation is the call
    struct value values[DECLARE_COLUMNS];
    struct configuration configuration;
};

static bool read_rate(struct request *request, json_t *object, struct configuration *configuration)
{
    struct bytes rate;
    if (!input_text(request, object, "rate", true, &rate))
        return false;
    if (!rate_parse(rate, &configuration->rate_count, &configuration->rate_us)) {
        reply_invalid(
            request, "rate",
            "a rate is a count from 1 to %lld, a slash and a unit or a duration of at most 3650d: 100/s, "
            "5/10s",
            (long long)RATE_MOST);
        return false;
    }
    if (configuration->rate_count <= RATE_MOST)
        return true;
    reply_over_limit(request, PROBLEM_OVERFLOW, "rate", RATE_MOST, "the rate's count is too large");
    return false;
}

// As many as the rate gives in its duration, when the request does not say.
static bool read_burst(struct request *request, json_t *object, struct configuration *configuration)
{
    json_t *given = json_object_get(object, "burst");
    configuration->burst = given ? json_integer_value(given) : configuration->rate_count;
    if (configuration->burst < 1) {
        reply_invalid(request, "burst", "burst is a whole number from 1");
        return false;
    }
    __int128 refill = (__int128)REFILL_DAYS * 86400 * 1000000 * configuration->rate_count;
    __int128 most = refill / configuration->rate_us;
    if (most > RATE_MOST)
        most = RATE_MOST;
    if (configuration->burst <= most)
        return true;
    reply_over_limit(request, PROBLEM_OVERFLOW, "burst", (int64_t)most,
                     "the burst is too large: it must be there again after 365000 days of the rate");
    return false;
}

static void declare_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (outcome_usable(request, outcome))
        reply_declared(request, outcome, &((struct declare_call *)operation)->configuration);
}

void rate_limit_put(struct request *request)
{
    static const char *const members[] = {"rate", "burst", "lose_at_most", NULL};
    struct bytes name = request->parameters[0];
    if (!name_check(request, "name", name))
        return;
    struct declare_call *call = arena_zalloc(&request->arena, sizeof *call);
    struct configuration *configuration = &call->configuration;
    json_t *object = request_json(request, false);
    if (!object || !request_json_members(request, object, members) ||
        !read_rate(request, object, configuration) || !read_burst(request, object, configuration) ||
        !input_duration(request, object, "lose_at_most", &configuration->lose))
        return;
    configuration->kind = bytes_of("rate_limit");
    call->values[DECLARE_NAME] = value_bytes(name);
    call->values[DECLARE_COUNT] = value_number(configuration->rate_count);
    call->values[DECLARE_US] = value_number(configuration->rate_us);
    call->values[DECLARE_BURST] = value_number(configuration->burst);
    call->values[DECLARE_LOSE] = configuration->lose;
    call->operation = (struct operation){
        .statement = &declare_rate_limit, .values = call->values, .done = declare_done, .owner = request};
    request_submit(request, &call->operation);
}

void rate_limit_get(struct request *request)
{
    configuration_get(request, "rate_limit");
}

void rate_limit_delete(struct request *request)
{
    limiter_delete(request, LIMITER_RATE_LIMIT);
}

// --- its keys
// ---------------------------------------------------------------------------------------------------------

enum { USE_PATH, USE_COUNT, USE_COLUMNS };

enum use_result {
    USED_ORDINAL,
    USED_STATUS,
    USED_POSITION,
    USED_LEFT,
    USED_RETRY_AT,
    USED_NOW,
    USED_BURST,
    USED_RATE_COUNT,
    USED_RATE_US,
    USED_KIND,
    USED_LOSES,
    USED_MORE_AT,
};

#define USE_STATEMENT                                                                                        \
    .sql = "select * from holdfast.use_rate_limits($1, $2, $3, $4, $5)", .form = STATEMENT_SHARED,           \
    .writes = true, .keys = KEYS_ANY, .columns = USE_COLUMNS, .column = {COLUMN_BYTEA, COLUMN_INT8}

static const struct statement use_rate_limits = {
    .name = "use_rate_limits", .role = ROLE_WRITE, USE_STATEMENT};
static const struct statement use_losing_rate_limits = {
    .name = "use_losing_rate_limits", .role = ROLE_ASYNC, USE_STATEMENT};
static const struct statement peek_rate_limits = {
    .name = "peek_rate_limits",
    .sql = "select * from holdfast.peek_rate_limits($1, $2, $3, $4)",
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

// In how many microseconds the rate gives so many uses back.
static int64_t refill(const struct outcome *outcome, int64_t uses)
{
    __int128 parts = (__int128)uses * outcome_number(outcome, 0, USED_RATE_US);
    int64_t each = outcome_number(outcome, 0, USED_RATE_COUNT);
    return (int64_t)((parts + each - 1) / each);
}

static void reply_left(struct request *request, const struct outcome *outcome, bool enforced)
{
    bool ok = outcome_number(outcome, 0, USED_STATUS) == LIMITER_DONE;
    int64_t left = outcome_number(outcome, 0, USED_LEFT);
    int64_t now = outcome_number(outcome, 0, USED_NOW);
    int64_t retry_at = outcome_number(outcome, 0, USED_RETRY_AT);
    int64_t burst = outcome_number(outcome, 0, USED_BURST);
    struct policy policy = {
        .name = bytes_of("default"),
        .quota = burst,
        .window = refill(outcome, burst),
        .remaining = left,
        .reset = left < burst ? outcome_number(outcome, 0, USED_MORE_AT) - now : 0,
    };
    reply_policies(request, &policy, 1);
    struct buffer members = {0};
    buffer_printf(&members, "\"ok\":%s,\"left\":%lld,", ok ? "true" : "false",
                  (long long)(left > 0 ? left : 0));
    allowance_write_time(&members, "retry_at", !ok, retry_at);
    reply_allowance(request, REFUSED_RATE_LIMIT, ok, enforced, retry_at - now, &members);
}

static void use_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    if (!outcome_usable(request, outcome))
        return;
    enum limiter_status status = (enum limiter_status)outcome_number(outcome, 0, USED_STATUS);
    if (limiter_name_refused(request, status, outcome_bytes(outcome, 0, USED_KIND)))
        return;
    limiter_heard(context_of(request), operation->bucket, outcome_number(outcome, 0, USED_LOSES) != 0);
    if (status == LIMITER_BEYOND) {
        reply_over_limit(request, PROBLEM_INVALID, "n", outcome_number(outcome, 0, USED_BURST),
                         "n is above the burst: it could never pass");
        return;
    }
    if (!outcome_null(outcome, 0, USED_POSITION))
        reply_position(request, outcome_number(outcome, 0, USED_POSITION));
    reply_left(request, outcome, ((const struct use_call *)operation)->enforced);
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

void rate_limit_key_allow(struct request *request)
{
    static const char *const members[] = {"n", NULL};
    struct address address;
    int64_t n;
    struct use_call *call = arena_zalloc(&request->arena, sizeof *call);
    if (!address_read_named(request, &address) || !enforce_read(request, &call->enforced))
        return;
    json_t *object = request_json(request, true);
    if (!object || !request_json_members(request, object, members) ||
        !limiter_count_member(request, object, "n", &n))
        return;
    call->values[USE_COUNT] = value_number(n);
    submit(request, call,
           limiter_statement(context_of(request), address.bucket, &use_rate_limits, &use_losing_rate_limits),
           &address);
}

void rate_limit_key_get(struct request *request)
{
    struct address address;
    struct use_call *call = arena_zalloc(&request->arena, sizeof *call);
    if (address_read_named(request, &address))
        submit(request, call, &peek_rate_limits, &address);
}

void rate_limit_key_delete(struct request *request)
{
    limiter_reset(request, LIMITER_RATE_LIMIT);
}
