// Answers of limits: seconds are rounded up and never 0, so that who waits as told is not refused again.
#include "handlers/allowance.h"

#include "base/timestamp.h"

static int64_t seconds_up(int64_t us)
{
    return us <= 1000000 ? 1 : (us - 1) / 1000000 + 1;
}

// The largest integer of a structured field (RFC 9651 section 3.3.1).
static long long field_integer(int64_t n)
{
    const int64_t most = INT64_C(999999999999999);
    return n > most ? most : n < 0 ? 0 : n;
}

static const char *field(struct request *request, struct buffer *text)
{
    const char *copy = (const char *)arena_copy(&request->arena, buffer_view(text)).data;
    buffer_free(text);
    return copy;
}

void reply_policies(struct request *request, const struct policy *policies, int count)
{
    struct buffer limits = {0}, now = {0};
    for (int i = 0; i < count; i++) {
        const struct policy *policy = &policies[i];
        const char *comma = i ? ", " : "";
        int size = (int)policy->name.size;
        const char *name = (const char *)policy->name.data;
        buffer_printf(&limits, "%s\"%.*s\";q=%lld;w=%lld", comma, size, name, field_integer(policy->quota),
                      field_integer(seconds_up(policy->window)));
        buffer_printf(&now, "%s\"%.*s\";r=%lld", comma, size, name, field_integer(policy->remaining));
        if (policy->reset > 0)
            buffer_printf(&now, ";t=%lld", field_integer(seconds_up(policy->reset)));
    }
    reply_header(request, "RateLimit-Policy", field(request, &limits));
    reply_header(request, "RateLimit", field(request, &now));
}

bool enforce_read(struct request *request, bool *enforced)
{
    bool given;
    struct bytes text = request_argument(request, "enforce", &given);
    *enforced = given && bytes_is(text, "true");
    if (!given || *enforced || bytes_is(text, "false"))
        return true;
    reply_invalid(request, "enforce", "true or false");
    return false;
}

static void reply_too_many(struct request *request, struct buffer *members)
{
    struct problem problem = {
        .kind = PROBLEM_TOO_MANY,
        .detail = "the limit is used up; retry as Retry-After says",
        .extra = field(request, members),
    };
    reply_problem(request, &problem);
}

void reply_allowance(struct request *request, enum limiter_refusal limiter, bool ok, bool enforced,
                     int64_t wait, struct buffer *members)
{
    request->effectless = !ok;
    if (!ok && route_writes(request->route)) // a look that finds nothing left is no refusal
        count_add(&context_of(request)->counts->limiter_refusals[limiter], 1);
    if (!ok)
        reply_header(request, "Retry-After",
                     (const char *)arena_decimal(&request->arena, 0, seconds_up(wait), 0).data);
    if (enforced && !ok) {
        reply_too_many(request, members);
        return;
    }
    if (enforced) {
        buffer_free(members);
        reply_empty(request, 204);
        return;
    }
    struct buffer json = {0};
    buffer_add_char(&json, '{');
    buffer_add_bytes(&json, buffer_view(members));
    buffer_add_text(&json, "}\n");
    buffer_free(members);
    reply_json_buffer(request, 200, &json);
}

void allowance_write_time(struct buffer *members, const char *name, bool given, int64_t us)
{
    char text[TIMESTAMP_SIZE];
    if (!given) {
        buffer_printf(members, "\"%s\":null", name);
        return;
    }
    timestamp_format(us, text);
    buffer_printf(members, "\"%s\":\"%s\"", name, text);
}
