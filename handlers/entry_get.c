// A read becomes one operation, and its row the reply; those that wait go other ways first.
#include "handlers/entry_get.h"

#include "base/text.h"
#include "handlers/entry_at_least.h"
#include "handlers/entry_renew.h"
#include "handlers/entry_reply.h"
#include "handlers/entry_wait.h"
#include "handlers/fork.h"
#include "handlers/outcome.h"
#include "http/prefer.h"

// --- what was found
// ---------------------------------------------------------------------------------------------------

struct found found_read(const struct get_call *call, const struct outcome *outcome)
{
    struct value expires_at = value_null();
    if (call->renewed_to)
        expires_at = value_number(call->renewed_to);
    else if (!outcome_null(outcome, 0, GOT_EXPIRES_AT))
        expires_at = value_number(outcome_time(outcome, 0, GOT_EXPIRES_AT));
    return (struct found){
        .status = (enum get_status)outcome_number(outcome, 0, GOT_STATUS),
        .version = outcome_number(outcome, 0, GOT_VERSION),
        .expires_at = expires_at,
        .size = size_opened(outcome_bytes(outcome, 0, GOT_CONTENT_TYPE), got_size(outcome)),
    };
}

static bool matches(struct request *request, const struct condition *condition, const struct found *found)
{
    return condition_matches(condition, arena_decimal(&request->arena, 0, found->version, 0));
}

bool found_unchanged(struct request *request, const struct found *found)
{
    const struct condition *condition = &request->conditions.if_none_match;
    return found->status == GET_LIVE && condition->given && matches(request, condition, found);
}

static bool conflicts(struct request *request, const struct found *found)
{
    const struct condition *condition = &request->conditions.if_match;
    return condition->given && !matches(request, condition, found);
}

bool found_is_news(struct request *request, const struct found *found)
{
    return found->status == GET_LIVE && !conflicts(request, found) && !found_unchanged(request, found);
}

struct value known_version(const struct request *request)
{
    const struct condition *condition = &request->conditions.if_none_match;
    int64_t version;
    if (condition->count == 1 && version_parse(condition->tags[0], &version))
        return value_number(version);
    return value_null();
}

static void reply_version(struct request *request, const struct found *found)
{
    reply_etag(request, found->version);
    if (found->expires_at.given)
        reply_expires_at(request, found->expires_at.number);
}

static void reply_entry(struct request *request, const struct get_call *call, const struct found *found,
                        const struct outcome *outcome)
{
    struct stored_entry entry = got_entry(call, outcome);
    bool sealed = content_type_sealed(entry.content_type);
    if (!entry_open(context_of(request), &request->arena, &entry)) {
        reply_corrupt(request, &entry);
        return;
    }
    reply_version(request, found);
    reply_content_type(request, entry.content_type);
    reply_metadata(request, entry.metadata);
    if (bytes_is(request->method, "HEAD"))
        reply_without_body(request, 200, found->size);
    else if (sealed)
        reply_send(request, 200, entry.value);
    else
        reply_value(request, 200, entry.value, outcome);
}

static void reply_live(struct request *request, const struct get_call *call, const struct found *found,
                       const struct outcome *outcome)
{
    if (conflicts(request, found)) {
        reply_version_conflict(request, true, found->version);
    } else if (found_unchanged(request, found)) {
        reply_version(request, found);
        reply_without_body(request, 304, found->size);
    } else {
        reply_entry(request, call, found, outcome);
    }
}

void reply_found(struct request *request, const struct get_call *call, const struct found *found,
                 const struct outcome *outcome)
{
    if (fork_refused(request, found->status))
        return;
    switch (found->status) {
    case GET_LIVE:
        reply_live(request, call, found, outcome);
        return;
    case GET_ABSENT:
        reply_absent(request);
        return;
    case GET_NO_BUCKET:
        reply_no_bucket(request, call->operation.bucket);
        return;
    case GET_OTHER_KIND:
        reply_kind_mismatch(request, call->operation.bucket, outcome_bytes(outcome, 0, GOT_KIND));
        return;
    }
}

// --- waiting
// ----------------------------------------------------------------------------------------------------------

// Seconds of any number of digits, no more than PREFERRED_WAIT_MOST; -1 for what is no number.
static int clamped_seconds(struct bytes text)
{
    int seconds = text.size ? 0 : -1;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        seconds = seconds * 10 + (text.data[i] - '0');
        if (seconds > PREFERRED_WAIT_MOST)
            seconds = PREFERRED_WAIT_MOST;
    }
    return seconds;
}

int preferred_wait(const struct request *request)
{
    struct bytes text;
    if (!prefer_find(request->headers[HEADER_PREFER], "wait", &text))
        return -1;
    return clamped_seconds(text);
}

void reply_wait_applied(struct request *request, int seconds)
{
    reply_header(request, "Preference-Applied", arena_printf(&request->arena, "wait=%d", seconds));
}

// --- GET, HEAD
// --------------------------------------------------------------------------------------------------------

static void get_done(struct operation *operation, const struct outcome *outcome)
{
    struct request *request = operation->owner;
    struct get_call *call = (struct get_call *)operation;
    if (!outcome_usable(request, outcome))
        return;
    if (outcome_number(outcome, 0, GOT_STATUS) == GET_LIVE &&
        entry_renew_first(context_of(request), call, outcome))
        return;
    struct found found = found_read(call, outcome);
    if (found_is_news(request, &found) && get_call_large(context_of(request), call, outcome))
        return;
    reply_found(request, call, &found, outcome);
}

void entry_get(struct request *request)
{
    struct address address;
    if (!address_read(request, &address))
        return;
    bool given;
    struct bytes at_least = request_argument(request, "at_least", &given);
    if (given) {
        entry_at_least(request, &address, at_least);
        return;
    }
    int seconds = preferred_wait(request);
    if (seconds > 0 && !http_server_draining(context_of(request)->server)) {
        entry_wait(request, &address, seconds);
        return;
    }
    struct get_call *call = arena_zalloc(&request->arena, sizeof *call);
    get_call_submit(context_of(request), &request->account, call, &address, known_version(request),
                    !bytes_is(request->method, "HEAD"), get_done, request);
}
