// The rule in one table: a function for each kind of call says in which state its answer can be given and
// what the state is afterwards. A write with an unknown outcome leaves an entry whose version nobody has seen
// yet; the first call that names a version of it settles which one it is.
#include "model/entry_rule.h"

#include <string.h>

struct entry_state {
    uint64_t value;   // 0: absent
    uint64_t version; // 0 with a value: not seen yet
};

// Settles that the entry's version is `version`; false when it has another one or there is no entry.
static bool settle(struct entry_state *state, uint64_t version)
{
    if (state->value == 0 || version == 0 || (state->version != 0 && state->version != version)) {
        return false;
    }
    state->version = version;
    return true;
}

static bool condition_holds(struct entry_state *state, const struct entry_call *call)
{
    switch (call->condition) {
    case CONDITION_NONE:
        return true;
    case CONDITION_IF_MATCH:
        return settle(state, call->expected);
    case CONDITION_IF_ABSENT:
        return state->value == 0;
    }
    return false;
}

// A 412 is true when the entry is what the answer says it is, and that is not what was asked for.
static bool conflict_holds(struct entry_state *state, const struct entry_call *call)
{
    bool as_told = call->version == 0 ? state->value == 0 : settle(state, call->version);
    bool refuses = call->condition == CONDITION_IF_MATCH
                       ? call->version != call->expected
                       : call->condition == CONDITION_IF_ABSENT && call->version != 0;
    return as_told && refuses;
}

static bool step_put(struct entry_state *state, const struct entry_call *call)
{
    if (call->answer == ANSWER_CONFLICT) {
        return conflict_holds(state, call);
    }
    if (!condition_holds(state, call)) {
        return false;
    }
    bool fits = call->answer == ANSWER_UNKNOWN || (call->answer == ANSWER_CREATED && state->value == 0) ||
                (call->answer == ANSWER_DONE && state->value != 0);
    *state = (struct entry_state){.value = call->value, .version = call->version};
    return fits && (call->answer == ANSWER_UNKNOWN || call->version != 0);
}

static bool step_get(struct entry_state *state, const struct entry_call *call)
{
    if (call->answer == ANSWER_ABSENT) {
        return state->value == 0;
    }
    return call->answer == ANSWER_VALUE && state->value == call->value && settle(state, call->version);
}

static bool step_delete(struct entry_state *state, const struct entry_call *call)
{
    switch (call->answer) {
    case ANSWER_CONFLICT:
        return conflict_holds(state, call);
    case ANSWER_ABSENT:
        return call->condition == CONDITION_NONE && state->value == 0;
    case ANSWER_DONE:
    case ANSWER_UNKNOWN:
        if (state->value == 0 || !condition_holds(state, call)) {
            return false;
        }
        *state = (struct entry_state){0};
        return true;
    default:
        return false;
    }
}

static const struct {
    const char *name;
    bool (*step)(struct entry_state *state, const struct entry_call *call);
} kinds[ENTRY_KINDS] = {
    [ENTRY_PUT] = {"put", step_put},
    [ENTRY_GET] = {"get", step_get},
    [ENTRY_DELETE] = {"delete", step_delete},
};

static void entry_start(void *state)
{
    memset(state, 0, sizeof(struct entry_state));
}

static bool entry_step(const void *state, const void *call, void *next)
{
    const struct entry_call *entry_call = call;
    struct entry_state after;
    memcpy(&after, state, sizeof after);
    bool possible = kinds[entry_call->kind].step(&after, entry_call);
    memcpy(next, &after, sizeof after);
    return possible;
}

const struct linear_rule entry_rule = {sizeof(struct entry_state), entry_start, entry_step};

const char *entry_kind_name(enum entry_kind kind)
{
    return kinds[kind].name;
}

const char *entry_answer_name(enum entry_answer answer)
{
    static const char *const names[] = {
        [ANSWER_CREATED] = "created", [ANSWER_DONE] = "done",         [ANSWER_VALUE] = "value",
        [ANSWER_ABSENT] = "absent",   [ANSWER_CONFLICT] = "conflict", [ANSWER_NOTHING] = "nothing",
        [ANSWER_UNKNOWN] = "unknown",
    };
    return names[answer];
}

bool entry_answer_of(enum entry_kind kind, int status, enum entry_answer *answer)
{
    static const struct {
        enum entry_kind kind;
        int status;
        enum entry_answer answer;
    } answers[] = {
        {ENTRY_PUT, 201, ANSWER_CREATED},   {ENTRY_PUT, 204, ANSWER_DONE},
        {ENTRY_PUT, 412, ANSWER_CONFLICT},  {ENTRY_GET, 200, ANSWER_VALUE},
        {ENTRY_GET, 404, ANSWER_ABSENT},    {ENTRY_DELETE, 204, ANSWER_DONE},
        {ENTRY_DELETE, 404, ANSWER_ABSENT}, {ENTRY_DELETE, 412, ANSWER_CONFLICT},
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (answers[i].kind == kind && answers[i].status == status) {
            *answer = answers[i].answer;
            return true;
        }
    }
    return false;
}
