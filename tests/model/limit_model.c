// The rules of API.md section 6, in the forms that the literature gives them: a rate limit is the virtual
// scheduling form of the cell rate algorithm, in whole numbers of parts of a microsecond.
//
// Where the clock steps back, what is over stays as it was left until somebody uses the key, and a rate limit
// takes the time of its last use for the present one.
#include "model/limit_model.h"

#include <string.h>

const struct limit_address limit_addresses[LIMIT_ADDRESSES] = {
    {.key = "a"},
    {.key = "o"},
    {.key = "%00%FF%2F"},
    {.owners = {"o"}, .owner_count = 1, .key = "a"},
    {.owners = {"o"}, .owner_count = 1, .key = "k"},
    {.owners = {"o", "k"}, .owner_count = 2, .key = "a"},
    {.owners = {"o%00"}, .owner_count = 1, .key = "a"},
    {.owners = {"k", "o"}, .owner_count = 2, .key = "a"},
};

static __int128 up(__int128 dividend, __int128 divisor)
{
    return (dividend + divisor - 1) / divisor;
}

static int64_t at_least_0(int64_t number)
{
    return number > 0 ? number : 0;
}

static struct held_name *name_of(struct limit_model *model, const struct limit_call *call)
{
    return &model->names[call->kind][call->name];
}

static struct held_key *key_of(struct limit_model *model, const struct limit_call *call)
{
    return &model->keys[call->kind][call->name][call->address];
}

// --- counters ---------------------------------------------------------------------------------------------

static bool is_live(const struct limit_model *model, const struct held_counter *counter)
{
    return counter->present && (!counter->expires_at || model->now < counter->expires_at);
}

static void change_counter(struct limit_model *model, const struct limit_call *call,
                           struct limit_reply *reply)
{
    struct held_counter *counter = &key_of(model, call)->counter;
    int64_t ttl = name_of(model, call)->configuration.ttl;
    int64_t value = is_live(model, counter) ? counter->value : 0;
    if (call->action == LIMIT_LIFT) {
        value = call->n > value ? call->n : value;
    } else if (__builtin_add_overflow(value, call->n, &value)) {
        reply->status = 422;
        return;
    }
    if (!is_live(model, counter))
        counter->expires_at = ttl ? model->now + ttl : 0;
    counter->present = true;
    counter->value = reply->value = value;
}

static void look_at_counter(struct limit_model *model, const struct limit_call *call,
                            struct limit_reply *reply)
{
    const struct held_counter *counter = &key_of(model, call)->counter;
    reply->value = is_live(model, counter) ? counter->value : 0;
}

// --- rate limits ------------------------------------------------------------------------------------------

// A key's schedule by the rate that its name has now.
struct schedule {
    int64_t now;
    struct limit_rate rate;
    __int128 full_at; // not before `now`
    __int128 most;    // what it may be after a use
};

static struct schedule schedule_of(const struct limit_model *model, const struct held_name *name,
                                   const struct held_rate *key)
{
    struct schedule s = {.now = model->now, .rate = name->configuration.rate};
    if (key->used && s.now < key->last)
        s.now = key->last;
    __int128 present = (__int128)s.now * s.rate.count;
    s.most = present + (__int128)name->configuration.burst * s.rate.us;
    s.full_at = present;
    if (!key->used)
        return s;
    __int128 full_at = key->full_at;
    if (key->rate.count != s.rate.count || key->rate.us != s.rate.us) {
        // Until the name got this rate, uses came back at the one that the key was last used under.
        int64_t changed = name->rate_since < s.now ? name->rate_since : s.now;
        if (changed < key->last)
            changed = key->last;
        __int128 owed = full_at - (__int128)changed * key->rate.count;
        full_at = (__int128)changed * s.rate.count + (owed > 0 ? up(owed * s.rate.us, key->rate.us) : 0);
    }
    if (full_at > s.full_at)
        s.full_at = full_at;
    return s;
}

static void tell_schedule(const struct schedule *s, int64_t n, bool ok, struct limit_reply *reply)
{
    reply->ok = ok;
    reply->left = s->most > s->full_at ? (int64_t)((s->most - s->full_at) / s->rate.us) : 0;
    if (!ok) // the first moment at which a call of n fits
        reply->retry_at =
            s->now + (int64_t)up(s->full_at + (__int128)n * s->rate.us - s->most, s->rate.count);
}

static void use_rate(struct limit_model *model, const struct limit_call *call, struct limit_reply *reply)
{
    const struct held_name *name = name_of(model, call);
    struct held_rate *key = &key_of(model, call)->rate;
    if (call->n > name->configuration.burst) {
        *reply = (struct limit_reply){.status = 400, .limit = name->configuration.burst};
        return;
    }
    struct schedule s = schedule_of(model, name, key);
    __int128 after = s.full_at + (__int128)call->n * s.rate.us;
    bool ok = after <= s.most;
    if (ok) {
        s.full_at = after;
        *key = (struct held_rate){.used = true, .last = s.now, .rate = s.rate, .full_at = after};
    }
    tell_schedule(&s, call->n, ok, reply);
}

static void look_at_rate(struct limit_model *model, const struct limit_call *call, struct limit_reply *reply)
{
    struct schedule s = schedule_of(model, name_of(model, call), &key_of(model, call)->rate);
    tell_schedule(&s, 1, s.full_at + s.rate.us <= s.most, reply);
}

// --- gates ------------------------------------------------------------------------------------------------

static bool is_open(const struct limit_model *model, const struct held_gate *gate, int64_t window)
{
    return gate->used && model->now < gate->ends && model->now < gate->started + window;
}

static void tell_gate(const struct held_gate *gate, const struct limit_call *call, bool ok,
                      struct limit_reply *reply)
{
    reply->ok = ok;
    reply->current = gate->passed;
    reply->left = at_least_0(call->max - gate->passed);
    reply->resets_at = gate->used ? gate->started + call->window : 0;
    reply->retry_at = ok ? 0 : reply->resets_at;
}

static void check_gate(struct limit_model *model, const struct limit_call *call, struct limit_reply *reply)
{
    struct held_gate *gate = &key_of(model, call)->gate;
    if (!is_open(model, gate, call->window))
        *gate = (struct held_gate){.used = true, .started = model->now};
    if (gate->ends < gate->started + call->window)
        gate->ends = gate->started + call->window;
    bool ok = gate->passed < call->max;
    gate->passed += ok;
    tell_gate(gate, call, ok, reply);
}

static void look_at_gate(struct limit_model *model, const struct limit_call *call, struct limit_reply *reply)
{
    static const struct held_gate unused;
    const struct held_gate *gate = &key_of(model, call)->gate;
    if (!is_open(model, gate, call->window))
        gate = &unused;
    tell_gate(gate, call, gate->passed < call->max, reply);
}

// --- quotas -----------------------------------------------------------------------------------------------

// The windows of a key as they stand now, those that are not open all 0: one that was declared shorter since
// ends earlier, one that was declared longer does not end later.
static void windows_now(const struct limit_model *model, const struct limit_configuration *configuration,
                        const struct held_key *key, struct held_window windows[LIMIT_WINDOWS])
{
    for (size_t i = 0; i < configuration->window_count; i++) {
        windows[i] = key->windows[configuration->window_names[i]];
        if (windows[i].ends > windows[i].started + configuration->windows[i].us)
            windows[i].ends = windows[i].started + configuration->windows[i].us;
        if (model->now >= windows[i].ends)
            windows[i] = (struct held_window){0};
    }
}

static void keep_windows(const struct limit_configuration *configuration,
                         const struct held_window windows[LIMIT_WINDOWS], struct held_key *key)
{
    for (size_t i = 0; i < configuration->window_count; i++)
        key->windows[configuration->window_names[i]] = windows[i];
}

// When every window that refuses `n` has reset; 0 when none does.
static int64_t when_all_give(const struct limit_configuration *configuration,
                             const struct held_window windows[LIMIT_WINDOWS], int64_t n)
{
    int64_t when = 0;
    for (size_t i = 0; i < configuration->window_count; i++)
        if (windows[i].used + n > configuration->windows[i].count && windows[i].ends > when)
            when = windows[i].ends;
    return when;
}

static void tell_windows(const struct limit_configuration *configuration,
                         const struct held_window windows[LIMIT_WINDOWS], int64_t retry_at,
                         struct limit_reply *reply)
{
    reply->ok = !retry_at;
    reply->retry_at = retry_at;
    reply->left = INT64_MAX;
    reply->window_count = configuration->window_count;
    for (size_t i = 0; i < configuration->window_count; i++) {
        int64_t limit = configuration->windows[i].count;
        int64_t left = at_least_0(limit - windows[i].used);
        reply->left = left < reply->left ? left : reply->left;
        reply->windows[i] = (struct window_reply){.name = configuration->window_names[i],
                                                  .used = windows[i].used,
                                                  .limit = limit,
                                                  .reset_at = windows[i].ends};
    }
}

static int64_t smallest_limit(const struct limit_configuration *configuration)
{
    int64_t smallest = INT64_MAX;
    for (size_t i = 0; i < configuration->window_count; i++)
        if (configuration->windows[i].count < smallest)
            smallest = configuration->windows[i].count;
    return smallest;
}

static void use_quota(struct limit_model *model, const struct limit_call *call, struct limit_reply *reply)
{
    const struct limit_configuration *configuration = &name_of(model, call)->configuration;
    struct held_window windows[LIMIT_WINDOWS];
    if (call->n > smallest_limit(configuration)) {
        *reply = (struct limit_reply){.status = 400, .limit = smallest_limit(configuration)};
        return;
    }
    windows_now(model, configuration, key_of(model, call), windows);
    int64_t retry_at = when_all_give(configuration, windows, call->n);
    for (size_t i = 0; i < configuration->window_count && !retry_at; i++) {
        if (!windows[i].ends)
            windows[i] = (struct held_window){.started = model->now,
                                              .ends = model->now + configuration->windows[i].us};
        windows[i].used += call->n;
    }
    if (!retry_at)
        keep_windows(configuration, windows, key_of(model, call));
    tell_windows(configuration, windows, retry_at, reply);
}

static void refund_quota(struct limit_model *model, const struct limit_call *call, struct limit_reply *reply)
{
    const struct limit_configuration *configuration = &name_of(model, call)->configuration;
    struct held_window windows[LIMIT_WINDOWS];
    if (call->n > smallest_limit(configuration)) {
        *reply = (struct limit_reply){.status = 400, .limit = smallest_limit(configuration)};
        return;
    }
    bool changed = false;
    windows_now(model, configuration, key_of(model, call), windows);
    for (size_t i = 0; i < configuration->window_count; i++) {
        changed = changed || windows[i].used > 0;
        windows[i].used = at_least_0(windows[i].used - call->n);
    }
    if (changed)
        keep_windows(configuration, windows, key_of(model, call));
    tell_windows(configuration, windows, 0, reply);
}

static void look_at_quota(struct limit_model *model, const struct limit_call *call, struct limit_reply *reply)
{
    const struct limit_configuration *configuration = &name_of(model, call)->configuration;
    struct held_window windows[LIMIT_WINDOWS];
    windows_now(model, configuration, key_of(model, call), windows);
    tell_windows(configuration, windows, when_all_give(configuration, windows, 1), reply);
}

// --- names ------------------------------------------------------------------------------------------------

static bool has_window(const struct limit_configuration *configuration, size_t name)
{
    for (size_t i = 0; i < configuration->window_count; i++)
        if (configuration->window_names[i] == name)
            return true;
    return false;
}

// A window that is gone is forgotten: should the name come again, it begins empty.
static void forget_windows(struct held_key keys[LIMIT_ADDRESSES],
                           const struct limit_configuration *configuration)
{
    for (size_t i = 0; i < LIMIT_WINDOW_NAMES; i++)
        for (size_t j = 0; j < LIMIT_ADDRESSES && !has_window(configuration, i); j++)
            keys[j].windows[i] = (struct held_window){0};
}

static void declare(struct limit_model *model, const struct limit_call *call, struct limit_reply *reply)
{
    struct held_name *name = name_of(model, call);
    const struct limit_rate *before = &name->configuration.rate, *rate = &call->declares.rate;
    reply->status = name->declared ? 200 : 201;
    if (!name->declared || before->count != rate->count || before->us != rate->us)
        name->rate_since = model->now;
    name->declared = true;
    name->configuration = call->declares;
    if (call->kind == LIMIT_QUOTA)
        forget_windows(model->keys[call->kind][call->name], &call->declares);
}

static void drop(struct limit_model *model, const struct limit_call *call)
{
    *name_of(model, call) = (struct held_name){0};
    memset(model->keys[call->kind][call->name], 0, sizeof model->keys[call->kind][call->name]);
}

static bool is_below(const struct limit_address *address, const struct limit_address *branch)
{
    for (size_t i = 0; i < branch->owner_count; i++)
        if (i >= address->owner_count || strcmp(address->owners[i], branch->owners[i]) != 0)
            return false;
    return true;
}

static void clear(struct limit_model *model, const struct limit_call *call)
{
    for (size_t i = 0; i < LIMIT_ADDRESSES; i++)
        if (is_below(&limit_addresses[i], &limit_addresses[call->address]))
            model->keys[call->kind][call->name][i] = (struct held_key){0};
}

// --- calls ------------------------------------------------------------------------------------------------

// What is not declared is missed by every call on the name itself, and by those on its keys where no defaults
// stand for it.
static bool is_missed(struct limit_model *model, const struct limit_call *call)
{
    bool of_name = call->action == LIMIT_SHOW || call->action == LIMIT_DROP || call->action == LIMIT_CLEAR;
    bool has_defaults = call->kind == LIMIT_COUNTER || call->kind == LIMIT_GATE;
    return call->action != LIMIT_DECLARE && !name_of(model, call)->declared && (of_name || !has_defaults);
}

static bool is_invalid(const struct limit_call *call)
{
    bool counts = call->action == LIMIT_USE || call->action == LIMIT_REFUND;
    return counts && (call->kind == LIMIT_RATE || call->kind == LIMIT_QUOTA) && call->n < 1;
}

static void use(struct limit_model *model, const struct limit_call *call, struct limit_reply *reply)
{
    static void (*const uses[])(struct limit_model *, const struct limit_call *,
                                struct limit_reply *) = {change_counter, use_rate, check_gate, use_quota};
    name_of(model, call)->declared = true;
    uses[call->kind](model, call, reply);
}

static void peek(struct limit_model *model, const struct limit_call *call, struct limit_reply *reply)
{
    static void (*const looks[])(struct limit_model *, const struct limit_call *, struct limit_reply *) = {
        look_at_counter, look_at_rate, look_at_gate, look_at_quota};
    looks[call->kind](model, call, reply);
}

struct limit_reply limit_model_call(struct limit_model *model, const struct limit_call *call)
{
    struct limit_reply reply = {.status = 200};
    if (is_invalid(call))
        return (struct limit_reply){.status = 400};
    if (is_missed(model, call))
        return (struct limit_reply){.status = 404};
    switch (call->action) {
    case LIMIT_DECLARE:
        declare(model, call, &reply);
        break;
    case LIMIT_SHOW:
        break;
    case LIMIT_DROP:
        drop(model, call);
        reply.status = 204;
        break;
    case LIMIT_CLEAR:
        clear(model, call);
        reply.status = 204;
        break;
    case LIMIT_RESET:
        *key_of(model, call) = (struct held_key){0};
        reply.status = 204;
        break;
    case LIMIT_USE:
    case LIMIT_LIFT:
        use(model, call, &reply);
        break;
    case LIMIT_REFUND:
        refund_quota(model, call, &reply);
        break;
    case LIMIT_PEEK:
        peek(model, call, &reply);
        break;
    }
    return reply;
}
