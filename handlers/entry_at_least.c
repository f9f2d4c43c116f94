// The entry is read, and when it is not what was written at the position, the database says whether that is
// settled; what is not is asked for again until it is or the time is up.
#include "handlers/entry_at_least.h"

#include "base/text.h"
#include "base/timestamp.h"
#include "handlers/entry_get.h"
#include "handlers/entry_renew.h"
#include "handlers/outcome.h"

enum {
    STANDARD_WAIT = 5,
    PAUSE_FIRST = 10 * 1000,
    PAUSE_LONGEST = 100 * 1000,
};

enum { STATE_NAME, STATE_POSITION, STATE_SEEN, STATE_COLUMNS };
enum state_result { STATE_STATUS, STATE_HOLDER };
enum position_state { POSITION_SETTLED, POSITION_UNDER_WAY, POSITION_FUTURE, POSITION_NEVER };

static const struct statement position_state = {
    .name = "position_state",
    .sql = "select * from holdfast.position_state($1, $2, $3)",
    .form = STATEMENT_ALONE,
    .role = ROLE_LIST,
    .columns = STATE_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_INT8, COLUMN_TEXT},
};

struct at_least {
    struct get_call call;
    struct operation state;
    struct value state_values[STATE_COLUMNS];
    struct request *request;
    struct address address;
    int64_t position;
    int64_t until; // loop time
    int64_t pause;
    struct timer timer;
    bool settled;
    char holder[64];
};

static void reply_stale(struct request *request)
{
    reply_simple_problem(request, PROBLEM_STALE, "the position at_least was not reached in time");
}

static void state_done(struct operation *operation, const struct outcome *outcome);

static void ask_state(struct at_least *wait)
{
    wait->state_values[STATE_NAME] = value_bytes(wait->address.bucket);
    wait->state_values[STATE_POSITION] = value_number(wait->position);
    wait->state_values[STATE_SEEN] = wait->holder[0] ? value_bytes(bytes_of(wait->holder)) : value_null();
    wait->state = (struct operation){
        .statement = &position_state, .values = wait->state_values, .done = state_done, .owner = wait};
    request_submit(wait->request, &wait->state);
}

static void got(struct operation *operation, const struct outcome *outcome)
{
    struct at_least *wait = operation->owner;
    struct request *request = wait->request;
    struct context *context = context_of(request);
    if (!outcome_usable(request, outcome))
        return;
    struct found found = found_read(&wait->call, outcome);
    // Who reads what was written at the position needs no more proof. A later version is none: the position
    // may be of another history of this database.
    if (!wait->settled && !(found.status == GET_LIVE && found.version == wait->position)) {
        ask_state(wait);
        return;
    }
    if (found.status == GET_LIVE && entry_renew_first(context, &wait->call, outcome))
        return;
    found = found_read(&wait->call, outcome);
    if (found_is_news(request, &found) && get_call_large(context, &wait->call, outcome))
        return;
    reply_found(request, &wait->call, &found, outcome);
}

static void read_entry(struct at_least *wait)
{
    get_call_submit(context_of(wait->request), &wait->request->account, &wait->call, &wait->address,
                    known_version(wait->request), !bytes_is(wait->request->method, "HEAD"), got, wait);
}

static void pause_over(struct timer *timer)
{
    struct at_least *wait = (struct at_least *)((char *)timer - offsetof(struct at_least, timer));
    request_unpark(wait->request);
    ask_state(wait);
}

static void client_gone(void *owner)
{
    struct at_least *wait = owner;
    loop_timer_clear(context_of(wait->request)->loop, &wait->timer);
}

static void wait_on(struct at_least *wait)
{
    struct request *request = wait->request;
    struct context *context = context_of(request);
    int64_t now = timestamp_monotonic();
    if (now >= wait->until || http_server_draining(context->server)) {
        reply_stale(request);
        return;
    }
    if (!request_park(request, client_gone, wait))
        return;
    int64_t left = wait->until - now;
    loop_timer_set(context->loop, &wait->timer, now + (wait->pause < left ? wait->pause : left));
    wait->pause = wait->pause * 2 > PAUSE_LONGEST ? PAUSE_LONGEST : wait->pause * 2;
}

static void keep_holder(struct at_least *wait, struct bytes holder)
{
    size_t size = holder.size < sizeof wait->holder ? holder.size : sizeof wait->holder - 1;
    memcpy(wait->holder, holder.data, size);
    wait->holder[size] = 0;
}

static void state_done(struct operation *operation, const struct outcome *outcome)
{
    struct at_least *wait = operation->owner;
    if (!outcome_usable(wait->request, outcome))
        return;
    switch ((enum position_state)outcome_number(outcome, 0, STATE_STATUS)) {
    case POSITION_SETTLED:
        wait->settled = true;
        read_entry(wait);
        return;
    case POSITION_UNDER_WAY:
        keep_holder(wait, outcome_bytes(outcome, 0, STATE_HOLDER));
        wait_on(wait);
        return;
    case POSITION_FUTURE:
        wait_on(wait);
        return;
    case POSITION_NEVER:
        reply_stale(wait->request);
        return;
    }
}

void entry_at_least(struct request *request, const struct address *address, struct bytes text)
{
    int64_t position;
    if (!text_int64(text, &position) || position < 0) {
        reply_invalid(request, "at_least", "a position is a decimal number from 0 to 2^63-1");
        return;
    }
    int preferred = preferred_wait(request);
    int seconds = preferred < 0 ? STANDARD_WAIT : preferred;
    if (preferred >= 0)
        reply_wait_applied(request, seconds);
    struct at_least *wait = arena_zalloc(&request->arena, sizeof *wait);
    wait->request = request;
    wait->address = *address;
    wait->position = position;
    wait->until = timestamp_monotonic() + (int64_t)seconds * 1000000;
    wait->pause = PAUSE_FIRST;
    wait->timer.fire = pause_over;
    read_entry(wait);
}
