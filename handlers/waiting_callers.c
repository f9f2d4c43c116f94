// One token is asked for at a time, for all requests that wait with it: revoking is rare, and waits are many.
#include "handlers/waiting_callers.h"

#include "handlers/access.h"
#include "handlers/callers.h"
#include "handlers/outcome.h"

#include <stdlib.h>

struct waiting_callers {
    struct context *context;
    struct operation look;
    struct value none[1];
    char id[TOKEN_ID + 1]; // of the token that is asked for
    bool asking;
    uint64_t asked; // the generation for which it is
    bool stopped;
    uint64_t generation;
    int64_t now;
};

static void turn_away(struct request *request)
{
    request_evict(request);
    reply_unauthorized(request);
}

// Whoever waits without a token came before there was any.
static void review_one(struct request *request, void *user)
{
    struct waiting_callers *waiting = user;
    const struct token *token = token_of(request);
    if (!token) {
        if (request->route->rule.need != NEED_NOTHING)
            turn_away(request);
    } else if (token->expires && waiting->now >= token->expires_at) {
        turn_away(request);
    } else if (token->generation != waiting->generation && !waiting->id[0]) {
        memcpy(waiting->id, token->id, sizeof waiting->id);
    }
}

static void turn_away_bearer(struct request *request, void *user)
{
    const struct waiting_callers *waiting = user;
    const struct token *token = token_of(request);
    if (token && strcmp(token->id, waiting->id) == 0)
        turn_away(request);
}

static void confirm_bearer(struct request *request, void *user)
{
    const struct waiting_callers *waiting = user;
    struct token *token = request->caller;
    if (token && strcmp(token->id, waiting->id) == 0)
        token->generation = waiting->generation;
}

static void review(struct waiting_callers *waiting);

// An answer from before a change counts for nothing; without one, the next review asks again.
static void looked_up(struct operation *operation, const struct outcome *outcome)
{
    struct waiting_callers *waiting = operation->owner;
    waiting->asking = false;
    if (waiting->stopped || outcome->kind != OUTCOME_ROWS)
        return;
    if (waiting->asked == waiting->generation)
        http_server_visit_parked(waiting->context->server,
                                 callers_found(outcome) ? confirm_bearer : turn_away_bearer, waiting);
    review(waiting);
}

static void review(struct waiting_callers *waiting)
{
    waiting->id[0] = 0;
    http_server_visit_parked(waiting->context->server, review_one, waiting);
    if (!waiting->id[0])
        return;
    waiting->asking = true;
    waiting->asked = waiting->generation;
    waiting->look = (struct operation){.statement = &look_up_tokens,
                                       .bucket = bytes_of(waiting->id),
                                       .values = waiting->none,
                                       .done = looked_up,
                                       .owner = waiting};
    store_submit(waiting->context->store, &waiting->look);
}

void waiting_callers_review(struct waiting_callers *waiting, uint64_t generation, int64_t now)
{
    waiting->generation = generation;
    waiting->now = now;
    if (!waiting->asking)
        review(waiting);
}

struct waiting_callers *waiting_callers_new(struct context *context)
{
    struct waiting_callers *waiting = calloc(1, sizeof *waiting);
    if (!waiting)
        abort();
    waiting->context = context;
    return waiting;
}

void waiting_callers_stop(struct waiting_callers *waiting)
{
    waiting->stopped = true;
}

void waiting_callers_free(struct waiting_callers *waiting)
{
    free(waiting);
}
