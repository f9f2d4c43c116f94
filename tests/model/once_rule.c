// The rule of one key of once: one runner at a time, tokens that only grow, one answer for all.
#include "model/once_rule.h"

#include <string.h>

struct state {
    uint64_t token; // of the live run, 0 when nobody runs it
    uint64_t last;  // the highest token so far
    uint64_t kept;  // the live answer, 0 when there is none
};

static void start(void *state)
{
    memset(state, 0, sizeof(struct state));
}

static bool begin(const struct state *state, const struct once_call *call, struct state *next)
{
    switch (call->answer) {
    case ONCE_GRANTED:
        next->token = next->last = call->token;
        return !state->token && !state->kept && call->token > state->last;
    case ONCE_KEPT:
        return state->kept && state->kept == call->kept;
    case ONCE_RUNNING:
        return state->token && !state->kept;
    case ONCE_REFUSED:
    case ONCE_ANSWERS:
        break;
    }
    return false;
}

// What only the live runner may do; `next` is the state that it leads to.
static bool use_run(const struct state *state, const struct once_call *call, struct state *next,
                    struct state led_to)
{
    bool is_own = state->token != 0 && state->token == call->token;
    if (call->answer == ONCE_GRANTED)
        *next = led_to;
    return call->answer == ONCE_GRANTED ? is_own : call->answer == ONCE_REFUSED && !is_own;
}

static bool look(const struct state *state, const struct once_call *call)
{
    return call->answer == ONCE_KEPT ? state->kept && state->kept == call->kept
                                     : call->answer == ONCE_REFUSED && !state->kept;
}

static bool may_happen(const struct state *state, const struct once_call *call, struct state *next)
{
    switch (call->kind) {
    case ONCE_BEGIN:
        return begin(state, call, next);
    case ONCE_ANSWER:
        return use_run(state, call, next, (struct state){.last = state->last, .kept = call->kept});
    case ONCE_RENEW:
        return use_run(state, call, next, *state);
    case ONCE_FAIL:
        return use_run(state, call, next, (struct state){.last = state->last, .kept = state->kept});
    case ONCE_GET:
        return look(state, call);
    case ONCE_FORGET:
        next->kept = 0;
        return true;
    case ONCE_RUNS_END:
        next->token = 0;
        return true;
    case ONCE_ANSWERS_END:
        next->token = next->kept = 0;
        return true;
    }
    return false;
}

static bool step(const void *before, const void *asked, void *after)
{
    const struct once_call *call = asked;
    struct state state, next;
    memcpy(&state, before, sizeof state);
    next = state;
    bool possible = may_happen(&state, call, &next);
    memcpy(after, &next, sizeof next);
    return possible;
}

const struct linear_rule once_rule = {.state_size = sizeof(struct state), .start = start, .step = step};
