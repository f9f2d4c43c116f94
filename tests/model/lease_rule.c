// The rule of one lease: one holder at a time, and tokens that only grow.
#include "model/lease_rule.h"

#include <string.h>

struct state {
    uint64_t token; // of the live lease, 0 when nobody holds it
    uint64_t last;  // the highest token so far
    uint64_t holder;
};

static void start(void *state)
{
    memset(state, 0, sizeof(struct state));
}

static bool acquire(const struct state *state, const struct lease_call *call, struct state *next)
{
    if (call->answer == LEASE_REFUSED)
        return state->token != 0;
    *next = (struct state){.token = call->token, .last = call->token, .holder = call->holder};
    return state->token == 0 && call->token > state->last;
}

static bool release(const struct state *state, const struct lease_call *call, struct state *next)
{
    bool is_own = state->token == call->token && state->holder == call->holder;
    if (call->answer == LEASE_DONE)
        *next = (struct state){.last = state->last};
    return is_own == (call->answer == LEASE_DONE);
}

// What needs the live lease and leaves it as it is.
static bool use(const struct state *state, const struct lease_call *call)
{
    return (state->token == call->token && state->holder == call->holder) == (call->answer == LEASE_DONE);
}

// A fence is the token alone.
static bool write_under(const struct state *state, const struct lease_call *call)
{
    return (state->token == call->token) == (call->answer == LEASE_DONE);
}

static bool show(const struct state *state, const struct lease_call *call)
{
    return call->answer == LEASE_DONE ? state->token != 0 && state->holder == call->holder
                                      : state->token == 0;
}

static bool may_happen(const struct state *state, const struct lease_call *call, struct state *next)
{
    switch (call->kind) {
    case LEASE_ACQUIRE:
        return acquire(state, call, next);
    case LEASE_RENEW:
        return use(state, call);
    case LEASE_RELEASE:
        return release(state, call, next);
    case LEASE_GET:
        return show(state, call);
    case LEASE_WRITE:
        return write_under(state, call);
    case LEASE_KINDS:
        break;
    }
    return false;
}

static bool step(const void *before, const void *asked, void *after)
{
    const struct lease_call *call = asked;
    struct state state, next;
    memcpy(&state, before, sizeof state);
    next = state;
    bool possible = may_happen(&state, call, &next);
    memcpy(after, &next, sizeof next);
    return possible;
}

const struct linear_rule lease_rule = {.state_size = sizeof(struct state), .start = start, .step = step};
