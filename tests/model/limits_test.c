// Counters, rate limits, gates and quotas against a model: random calls through both replicas, several at
// once, while the clock is moved to where something ends and, in one of the tests, back.
#include "base/timestamp.h"
#include "model/limit_model.h"
#include "model/replicas.h"
#include "model/suites.h"
#include "support/check_main.h"
#include "support/postgres.h"
#include "support/random.h"
#include "support/raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 500,
    TOGETHER = 5, // calls of one step, each on a key of its own
    MOMENTS = 16, // that are remembered to move the clock to
    PATIENCE = 10000,
    TARGET = 400,
    BODY = 800,
};

#define SECOND INT64_C(1000000)
#define HOUR   (3600 * SECOND)
#define DAY    (24 * HOUR)
#define START  INT64_C(1893456000000000) // 2030-01-01T00:00:00Z

static const char *const kind_paths[LIMIT_KINDS] = {"counters", "rate-limits", "rate-gates", "quotas"};
static const char *const window_names[LIMIT_WINDOW_NAMES] = {
    "a", "b", "session", "weekly", "w_1", "w_2", "w2", "monthly", "x123456789_0123456789_0123456789", "z"};

struct run {
    struct random random;
    uint64_t seed;
    unsigned back_percent; // of the moves of the clock
    int step;
    struct raw *connections[2][TOGETHER];
    struct limit_model model;
    int64_t moments[MOMENTS];
    size_t moment_count;
    size_t granted[LIMIT_KINDS];
    size_t refused[LIMIT_KINDS];
    size_t exact; // times that were tried one microsecond early and on time
};

static int64_t pick(struct run *run, const int64_t *from, size_t count)
{
    return from[random_below(&run->random, count)];
}

#define PICK(run, ...)                                                                                       \
    pick(run, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

// --- requests ---------------------------------------------------------------------------------------------

static size_t print_configuration(char *body, size_t room, const struct limit_call *call)
{
    const struct limit_configuration *declares = &call->declares;
    size_t size = 0;
    if (call->kind == LIMIT_COUNTER && declares->ttl)
        size += (size_t)snprintf(body, room, "{\"ttl\":\"%lldms\",\"lose_at_most\":\"1s\"}",
                                 (long long)declares->ttl / 1000);
    else if (call->kind == LIMIT_COUNTER)
        size += (size_t)snprintf(body, room, "{}");
    else if (call->kind == LIMIT_RATE)
        size += (size_t)snprintf(body, room, "{\"rate\":\"%lld/%lldms\",\"burst\":%lld%s}",
                                 (long long)declares->rate.count, (long long)declares->rate.us / 1000,
                                 (long long)declares->burst,
                                 declares->burst % 2 ? ",\"lose_at_most\":\"2s\"" : "");
    if (call->kind != LIMIT_QUOTA)
        return size;
    size += (size_t)snprintf(body, room, "{\"windows\":{");
    for (size_t i = 0; i < declares->window_count; i++)
        size +=
            (size_t)snprintf(body + size, room - size, "%s\"%s\":\"%lld/%lldms\"", i ? "," : "",
                             window_names[declares->window_names[i]], (long long)declares->windows[i].count,
                             (long long)declares->windows[i].us / 1000);
    return size + (size_t)snprintf(body + size, room - size, "}}");
}

static void print_body(char body[BODY], const struct limit_call *call)
{
    body[0] = '\0';
    if (call->action == LIMIT_DECLARE)
        ck_assert_uint_lt(print_configuration(body, BODY, call), BODY);
    else if (call->action == LIMIT_LIFT)
        snprintf(body, BODY, "{\"value\":%lld}", (long long)call->n);
    else if (call->action == LIMIT_USE && call->kind == LIMIT_COUNTER)
        snprintf(body, BODY, "{\"by\":%lld}", (long long)call->n);
    else if (call->action == LIMIT_USE && call->kind == LIMIT_GATE)
        snprintf(body, BODY, "{\"max\":%lld,\"window\":\"%lldms\"}", (long long)call->max,
                 (long long)call->window / 1000);
    else if ((call->action == LIMIT_USE || call->action == LIMIT_REFUND) && call->n != 1)
        snprintf(body, BODY, "{\"n\":%lld}", (long long)call->n);
}

static bool is_of_key(const struct limit_call *call)
{
    return call->action != LIMIT_DECLARE && call->action != LIMIT_SHOW && call->action != LIMIT_DROP &&
           call->action != LIMIT_CLEAR;
}

static const char *verb_of(const struct limit_call *call)
{
    static const char *const uses[LIMIT_KINDS] = {"/add", "/allow", "/check", "/allow"};
    return call->action == LIMIT_USE      ? uses[call->kind]
           : call->action == LIMIT_LIFT   ? "/max"
           : call->action == LIMIT_REFUND ? "/refund"
                                          : "";
}

static void print_target(char target[TARGET], const struct limit_call *call, bool enforced)
{
    const struct limit_address *address = &limit_addresses[call->address];
    char separator = '?';
    int size = snprintf(target, TARGET, "/v1/%s/of%%20%s+%zu", kind_paths[call->kind], kind_paths[call->kind],
                        call->name);
    if (is_of_key(call))
        size += sprintf(target + size, "/%s%s", address->key, verb_of(call));
    for (size_t i = 0; i < address->owner_count && (is_of_key(call) || call->action == LIMIT_CLEAR); i++) {
        size += sprintf(target + size, "%cunder=%s", separator, address->owners[i]);
        separator = '&';
    }
    if (call->kind == LIMIT_GATE && call->action == LIMIT_PEEK) {
        size += sprintf(target + size, "%cmax=%lld&window=%lldms", separator, (long long)call->max,
                        (long long)call->window / 1000);
        separator = '&';
    }
    if (enforced)
        sprintf(target + size, "%cenforce=true", separator);
}

static const char *method_of(const struct limit_call *call)
{
    switch (call->action) {
    case LIMIT_DECLARE:
        return "PUT";
    case LIMIT_SHOW:
    case LIMIT_PEEK:
        return "GET";
    case LIMIT_DROP:
    case LIMIT_CLEAR:
    case LIMIT_RESET:
        return "DELETE";
    case LIMIT_USE:
    case LIMIT_LIFT:
    case LIMIT_REFUND:
        break;
    }
    return "POST";
}

// A call under way.
struct asked {
    struct limit_call call;
    struct limit_reply expected;
    struct raw *connection;
    bool enforced;
    char target[TARGET];
    char body[BODY];
};

static void ask(struct run *run, struct asked *asked)
{
    print_target(asked->target, &asked->call, asked->enforced);
    print_body(asked->body, &asked->call);
    asked->expected = limit_model_call(&run->model, &asked->call);
    ck_assert(raw_text(asked->connection,
                       "%s %s HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\n\r\n%s",
                       method_of(&asked->call), asked->target, strlen(asked->body), asked->body));
}

// --- replies ----------------------------------------------------------------------------------------------

static json_t *moment(int64_t us)
{
    char text[TIMESTAMP_SIZE];
    if (!us)
        return json_null();
    timestamp_format(us, text);
    return json_string(text);
}

static json_t *expected_windows(const struct limit_reply *expected)
{
    json_t *windows = json_object();
    for (size_t i = 0; i < expected->window_count; i++) {
        const struct window_reply *window = &expected->windows[i];
        json_int_t left = window->limit > window->used ? window->limit - window->used : 0;
        json_object_set_new(windows, window_names[window->name],
                            json_pack("{sIsIsIso}", "used", (json_int_t)window->used, "limit",
                                      (json_int_t)window->limit, "left", left, "reset_at",
                                      moment(window->reset_at)));
    }
    return windows;
}

static json_t *expected_body(const struct limit_call *call, const struct limit_reply *expected)
{
    switch (call->kind) {
    case LIMIT_COUNTER:
        return json_pack("{sI}", "value", (json_int_t)expected->value);
    case LIMIT_RATE:
        return json_pack("{sbsIso}", "ok", (int)expected->ok, "left", (json_int_t)expected->left, "retry_at",
                         moment(expected->retry_at));
    case LIMIT_GATE:
        return json_pack("{sbsIsIsIso}", "ok", (int)expected->ok, "current", (json_int_t)expected->current,
                         "max", (json_int_t)call->max, "left", (json_int_t)expected->left, "resets_at",
                         moment(expected->resets_at));
    case LIMIT_QUOTA:
        return json_pack("{sbsIsoso}", "ok", (int)expected->ok, "left", (json_int_t)expected->left,
                         "retry_at", moment(expected->retry_at), "windows", expected_windows(expected));
    case LIMIT_KINDS:
        break;
    }
    return NULL;
}

static void differ(const struct run *run, const struct asked *asked, const struct answer *answer,
                   const char *wanted)
{
    ck_abort_msg("seed %" PRIu64 ", step %d, %lld us after the start: %s %s %s\nis %s\nand not %s", run->seed,
                 run->step, (long long)(run->model.now - START), method_of(&asked->call), asked->target,
                 asked->body, answer_describe(answer), wanted);
}

// A problem holds the allowance among its own members.
static void check_body(const struct run *run, const struct asked *asked, const struct answer *answer)
{
    json_t *wanted = expected_body(&asked->call, &asked->expected);
    const char *name;
    json_t *value;
    bool equal = answer->status == 429 || json_object_size(answer->json) == json_object_size(wanted);
    json_object_foreach(wanted, name, value)
    {
        equal = equal && json_equal(json_object_get(answer->json, name), value);
    }
    if (!equal)
        differ(run, asked, answer, json_dumps(wanted, 0));
    json_decref(wanted);
}

static bool is_allowance(const struct limit_call *call)
{
    return call->kind != LIMIT_COUNTER &&
           (call->action == LIMIT_USE || call->action == LIMIT_PEEK || call->action == LIMIT_REFUND);
}

static void check_retry_after(const struct run *run, const struct asked *asked, const struct answer *answer)
{
    const char *header = answer_header(answer, "Retry-After");
    int64_t wait = asked->expected.retry_at - run->model.now;
    if (asked->expected.ok ? header != NULL
                           : !header || strtoll(header, NULL, 10) != (wait + SECOND - 1) / SECOND)
        differ(run, asked, answer, "Retry-After as retry_at has it");
}

// What was granted has its place among the writes; what was refused or only looked at wrote nothing.
static void check_position(const struct run *run, const struct asked *asked, const struct answer *answer)
{
    bool wrote =
        asked->call.action != LIMIT_PEEK && (asked->call.kind == LIMIT_COUNTER || asked->expected.ok);
    if (wrote != (answer_header(answer, "Holdfast-Position") != NULL))
        differ(run, asked, answer, wrote ? "with a position" : "without a position");
}

static int status_of(const struct asked *asked)
{
    const struct limit_reply *expected = &asked->expected;
    if (!asked->enforced || expected->status != 200)
        return expected->status;
    return expected->ok ? 204 : 429;
}

static void check_problem(const struct run *run, const struct asked *asked, const struct answer *answer)
{
    const char *kind = answer->status == 400   ? "invalid"
                       : answer->status == 404 ? "not_found"
                       : answer->status == 422 ? "overflow"
                                               : "too_many";
    if (strcmp(answer_kind(answer), kind) != 0)
        differ(run, asked, answer, kind);
    if (asked->expected.limit &&
        json_integer_value(json_object_get(answer->json, "limit")) != asked->expected.limit)
        differ(run, asked, answer, "the limit");
}

static void count(struct run *run, const struct asked *asked)
{
    if (asked->expected.status != 200 || asked->call.action != LIMIT_USE)
        return;
    if (asked->call.kind == LIMIT_COUNTER || asked->expected.ok)
        run->granted[asked->call.kind]++;
    else
        run->refused[asked->call.kind]++;
}

static void remember(struct run *run, int64_t us)
{
    if (us > run->model.now && us < run->model.now + 10 * DAY)
        run->moments[run->moment_count++ % MOMENTS] = us;
}

static void remember_all(struct run *run, const struct asked *asked)
{
    const struct limit_reply *expected = &asked->expected;
    remember(run, expected->retry_at);
    remember(run, expected->resets_at);
    for (size_t i = 0; i < expected->window_count; i++)
        remember(run, expected->windows[i].reset_at);
    if (asked->call.kind == LIMIT_COUNTER && is_of_key(&asked->call))
        remember(run,
                 run->model.keys[LIMIT_COUNTER][asked->call.name][asked->call.address].counter.expires_at);
}

static void hear(struct run *run, struct asked *asked)
{
    char status[16];
    const struct answer *answer = raw_read(asked->connection, false, PATIENCE);
    ck_assert_msg(answer != NULL, "no answer to %s %s", method_of(&asked->call), asked->target);
    answer_check(answer);
    snprintf(status, sizeof status, "%d", status_of(asked));
    if (answer->status != status_of(asked))
        differ(run, asked, answer, status);
    if (answer->status >= 400)
        check_problem(run, asked, answer);
    if (asked->expected.status == 200 && is_of_key(&asked->call)) {
        if (answer->status != 204)
            check_body(run, asked, answer);
        check_position(run, asked, answer);
        if (is_allowance(&asked->call))
            check_retry_after(run, asked, answer);
    }
    count(run, asked);
    remember_all(run, asked);
}

// --- steps ------------------------------------------------------------------------------------------------

static void move_clock_to(struct run *run, int64_t us)
{
    run->model.now = us;
    replicas_set_clock(us);
}

static int64_t some_time(struct run *run)
{
    return (int64_t)random_below(&run->random,
                                 (size_t)PICK(run, 1000, SECOND, SECOND, 2 * SECOND, 2 * SECOND, HOUR));
}

static void move_clock(struct run *run)
{
    int64_t now = run->model.now;
    int64_t moment = run->moments[random_below(&run->random, MOMENTS)];
    if (random_chance(&run->random, run->back_percent))
        move_clock_to(run, now - 1 - some_time(run));
    else if (moment > now + 1 && random_chance(&run->random, 60))
        move_clock_to(run, moment - PICK(run, 0, 1));
    else
        move_clock_to(run, now + some_time(run));
}

static struct limit_rate some_rate(struct run *run)
{
    static const struct limit_rate rates[] = {
        {1, SECOND},       {5, 10 * SECOND},       {7, 3 * SECOND}, {100, SECOND},
        {2000000, SECOND}, {3, 7 * SECOND / 1000}, {10, HOUR},      {1, HOUR},
        {3, 60 * SECOND},  {1, 365 * DAY},
    };
    return rates[random_below(&run->random, sizeof rates / sizeof rates[0])];
}

static void draw_windows(struct run *run, struct limit_configuration *declares)
{
    size_t first = random_below(&run->random, LIMIT_WINDOW_NAMES);
    size_t most = random_chance(&run->random, 20) ? LIMIT_WINDOWS : 3;
    declares->window_count = 1 + random_below(&run->random, most);
    for (size_t i = 0; i < declares->window_count; i++) {
        // Mostly the same few, so that a change keeps some of them; 3 reaches every name of ten.
        declares->window_names[i] = most == 3 && first < 8 ? (first % 2 + 2 * i) % LIMIT_WINDOW_NAMES
                                                           : (first + 3 * i) % LIMIT_WINDOW_NAMES;
        declares->windows[i] = (struct limit_rate){
            PICK(run, 1, 2, 3, 5, 12), PICK(run, SECOND / 10, SECOND, 10 * SECOND, HOUR, 7 * DAY)};
    }
}

static void draw_configuration(struct run *run, struct limit_call *call)
{
    struct limit_configuration *declares = &call->declares;
    if (call->kind == LIMIT_COUNTER)
        declares->ttl = PICK(run, 0, SECOND / 10, SECOND, HOUR);
    if (call->kind == LIMIT_RATE) {
        declares->rate = some_rate(run);
        declares->burst = PICK(run, 1, 2, 3, 5, 20);
    }
    if (call->kind == LIMIT_QUOTA)
        draw_windows(run, declares);
}

static int64_t some_summand(struct run *run)
{
    return PICK(run, 1, 1, 1, -1, 7, 0, -300, INT64_MAX, INT64_MIN, INT64_MAX - 5);
}

static enum limit_action some_key_action(struct run *run, enum limit_kind kind)
{
    size_t drawn = random_below(&run->random, 100);
    if (drawn < 15)
        return LIMIT_PEEK;
    if (drawn < 18)
        return LIMIT_RESET;
    if (drawn < 35 && kind == LIMIT_COUNTER)
        return LIMIT_LIFT;
    if (drawn < 28 && kind == LIMIT_QUOTA)
        return LIMIT_REFUND;
    return LIMIT_USE;
}

// Mostly one of the first, so that some are used up.
static size_t some_address(struct run *run)
{
    return random_below(&run->random,
                        1 + random_below(&run->random, 1 + random_below(&run->random, LIMIT_ADDRESSES)));
}

static struct limit_call some_key_call(struct run *run)
{
    struct limit_call call = {
        .kind = (enum limit_kind)random_below(&run->random, LIMIT_KINDS),
        .name = random_below(&run->random, LIMIT_NAMES),
        .address = some_address(run),
        .n = PICK(run, 1, 1, 1, 1, 2, 2, 3, 5, 20, 0),
        .max = PICK(run, 1, 1, 2, 3),
        .window = PICK(run, SECOND, SECOND, 10 * SECOND, HOUR),
    };
    call.action = some_key_action(run, call.kind);
    if (call.kind == LIMIT_COUNTER)
        call.n = some_summand(run);
    return call;
}

static struct limit_call some_name_call(struct run *run)
{
    static const enum limit_action actions[] = {LIMIT_DECLARE, LIMIT_DECLARE, LIMIT_DECLARE, LIMIT_DECLARE,
                                                LIMIT_SHOW,    LIMIT_CLEAR,   LIMIT_CLEAR,   LIMIT_DROP};
    struct limit_call call = {
        .kind = (enum limit_kind)random_below(&run->random, LIMIT_KINDS),
        .action = actions[random_below(&run->random, sizeof actions / sizeof actions[0])],
        .name = random_below(&run->random, LIMIT_NAMES),
        .address = random_below(&run->random, LIMIT_ADDRESSES),
    };
    // What was dropped is mostly wanted again.
    if (!run->model.names[call.kind][call.name].declared && random_chance(&run->random, 80))
        call.action = LIMIT_DECLARE;
    // A gate has no configuration, and an address without owners no branch but everything.
    if (call.kind == LIMIT_GATE && (call.action == LIMIT_DECLARE || call.action == LIMIT_SHOW))
        call.action = LIMIT_DROP;
    if (call.action == LIMIT_CLEAR && !limit_addresses[call.address].owner_count)
        call.address = LIMIT_ADDRESSES - 1;
    draw_configuration(run, &call);
    return call;
}

static void do_alone(struct run *run, const struct limit_call *call)
{
    struct asked asked = {.call = *call, .connection = run->connections[random_below(&run->random, 2)][0]};
    ask(run, &asked);
    hear(run, &asked);
}

static bool is_same_key(const struct limit_call *one, const struct limit_call *other)
{
    return one->kind == other->kind && one->name == other->name && one->address == other->address;
}

// At most one call on a key, since the order of those that are under way together is the service's.
static size_t draw_calls(struct run *run, struct asked asked[TOGETHER])
{
    size_t wanted = 1 + random_below(&run->random, TOGETHER), drawn = 0;
    size_t replica = random_below(&run->random, 2);
    for (size_t i = 0; i < wanted; i++) {
        struct limit_call call = some_key_call(run);
        bool again = false;
        for (size_t j = 0; j < drawn; j++)
            again = again || is_same_key(&asked[j].call, &call);
        if (again)
            continue;
        bool may_enforce = call.action == LIMIT_USE && call.kind != LIMIT_COUNTER;
        asked[drawn] = (struct asked){.call = call,
                                      .connection = run->connections[replica][drawn],
                                      .enforced = may_enforce && random_chance(&run->random, 15)};
        drawn++;
    }
    return drawn;
}

// Whether it was told a time that is worth going to.
static bool was_refused(const struct run *run, const struct asked *asked)
{
    const struct limit_reply *told = &asked->expected;
    return asked->call.action == LIMIT_USE && told->status == 200 && told->retry_at &&
           told->retry_at < run->model.now + 10 * DAY;
}

// The same call once more, one microsecond before the moment it was told and at that moment.
static void obey(struct run *run, const struct asked *asked)
{
    const struct limit_reply *told = &asked->expected;
    struct asked early = {.call = asked->call, .connection = run->connections[0][0]};
    struct asked on_time = {.call = asked->call, .connection = run->connections[1][0]};
    move_clock_to(run, told->retry_at - 1);
    ask(run, &early);
    hear(run, &early);
    move_clock_to(run, told->retry_at);
    ask(run, &on_time);
    hear(run, &on_time);
    ck_assert_msg(!early.expected.ok && early.expected.retry_at == told->retry_at && on_time.expected.ok,
                  "the model breaks its own promise at step %d of seed %" PRIu64, run->step, run->seed);
    run->exact++;
}

static void do_together(struct run *run)
{
    struct asked asked[TOGETHER];
    size_t count = draw_calls(run, asked);
    for (size_t i = 0; i < count; i++)
        ask(run, &asked[i]);
    for (size_t i = 0; i < count; i++)
        hear(run, &asked[i]);
    for (size_t i = 0; i < count; i++)
        if (was_refused(run, &asked[i]) && random_chance(&run->random, 60)) {
            obey(run, &asked[i]);
            return; // the others were told of another time
        }
}

static void step(struct run *run)
{
    size_t drawn = random_below(&run->random, 100);
    if (drawn < 20)
        move_clock(run);
    else if (drawn < 27) {
        struct limit_call call = some_name_call(run);
        do_alone(run, &call);
    } else
        do_together(run);
}

static void declare_all(struct run *run)
{
    for (size_t kind = 0; kind < LIMIT_KINDS; kind++)
        for (size_t name = 0; name < LIMIT_NAMES && kind != LIMIT_GATE; name++) {
            struct limit_call call = {.kind = (enum limit_kind)kind, .action = LIMIT_DECLARE, .name = name};
            draw_configuration(run, &call);
            do_alone(run, &call);
        }
}

static void drop_all(struct run *run)
{
    for (size_t kind = 0; kind < LIMIT_KINDS; kind++)
        for (size_t name = 0; name < LIMIT_NAMES; name++)
            do_alone(run,
                     &(struct limit_call){.kind = (enum limit_kind)kind, .action = LIMIT_DROP, .name = name});
}

static void play(struct run *run, const char *what)
{
    printf("%s, seed %" PRIu64 "\n", what, run->seed);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < TOGETHER; j++)
            run->connections[i][j] = raw_connect(replicas_port(i));
    move_clock_to(run, START);
    declare_all(run);
    for (run->step = 0; run->step < STEPS; run->step++)
        step(run);
    drop_all(run);
    replicas_set_clock(0);
    printf("%s: granted and refused:", what);
    for (size_t kind = 0; kind < LIMIT_KINDS; kind++) {
        printf(" %zu %zu", run->granted[kind], run->refused[kind]);
        ck_assert_msg(run->granted[kind] > 0 && (run->refused[kind] > 0 || kind == LIMIT_COUNTER),
                      "%s: granted %zu, refused %zu", kind_paths[kind], run->granted[kind],
                      run->refused[kind]);
    }
    printf("; obeyed %zu\n", run->exact);
    ck_assert_uint_gt(run->exact, 0);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < TOGETHER; j++)
            raw_close(run->connections[i][j]);
}

START_TEST(random_calls_on_limits_agree_with_the_model)
{
    uint64_t seed = random_run_seed();
    static struct run run;
    run.seed = seed;
    run.random = random_seeded(seed, 601);
    play(&run, "limits");
}
END_TEST

// Nothing is freed meanwhile: what stood for nothing at a later time would be gone at the earlier one.
START_TEST(limits_agree_with_the_model_when_the_clock_steps_back)
{
    uint64_t seed = random_run_seed();
    static struct run run;
    PGconn *connection = replicas_connect();
    sql_run(connection, "select pg_advisory_lock(7240003, 0)");
    run.seed = seed;
    run.random = random_seeded(seed, 602);
    run.back_percent = 25;
    play(&run, "limits of a clock that steps back");
    PQfinish(connection);
}
END_TEST

// --- the model itself -------------------------------------------------------------------------------------

static int64_t passed_until(struct limit_model *model, const struct limit_call *call, int64_t until,
                            int64_t pause)
{
    int64_t passed = 0;
    for (; model->now < until; model->now += pause)
        while (limit_model_call(model, call).ok)
            passed++;
    return passed;
}

// What can be counted by hand: the burst and then the rate over a whole number of its terms, also when it is
// no whole number of microseconds; and with a clock that goes back and forth nothing more.
START_TEST(limit_model_counts_as_the_formula_does)
{
    static struct limit_model model;
    struct limit_call call = {
        .kind = LIMIT_RATE, .action = LIMIT_DECLARE, .declares = {.rate = {7, 3 * SECOND}, .burst = 5}};
    model.now = START;
    limit_model_call(&model, &call);
    call.action = LIMIT_USE;
    call.n = 1;
    ck_assert_int_eq(passed_until(&model, &call, START + 300 * SECOND + 1, SECOND / 100), 5 + 700);
    model.now = START;
    ck_assert_int_eq(passed_until(&model, &call, START + 300 * SECOND, SECOND / 100), 0);

    struct limit_call gate = {.kind = LIMIT_GATE, .action = LIMIT_USE, .max = 3, .window = 10 * SECOND};
    model.now = START;
    ck_assert_int_eq(passed_until(&model, &gate, START + 95 * SECOND, SECOND), 30);
    model.now = START;
    ck_assert_int_eq(passed_until(&model, &gate, START + 95 * SECOND, SECOND), 0);
}
END_TEST

START_TEST(limit_model_takes_from_all_windows_or_none)
{
    static struct limit_model model;
    struct limit_call call = {
        .kind = LIMIT_QUOTA,
        .action = LIMIT_DECLARE,
        .declares = {.window_count = 2, .window_names = {0, 1}, .windows = {{10, HOUR}, {12, 7 * DAY}}}};
    model.now = START;
    limit_model_call(&model, &call);
    call.action = LIMIT_USE;
    call.n = 10;
    ck_assert(limit_model_call(&model, &call).ok);
    model.now += HOUR;
    call.n = 3;
    struct limit_reply refused = limit_model_call(&model, &call);
    ck_assert(!refused.ok && refused.left == 2 && refused.retry_at == START + 7 * DAY);
    ck_assert(refused.windows[0].used == 0 && refused.windows[1].used == 10);
    call.n = 2;
    ck_assert(limit_model_call(&model, &call).ok);
}
END_TEST

Suite *limits_suite(void)
{
    Suite *suite = suite_create("limits");
    TCase *own = tcase_create("the model");
    TCase *tcase = tcase_create("two replicas");
    tcase_add_test(own, limit_model_counts_as_the_formula_does);
    tcase_add_test(own, limit_model_takes_from_all_windows_or_none);
    tcase_set_timeout(tcase, 120);
    tcase_add_unchecked_fixture(tcase, replicas_start, replicas_stop);
    tcase_add_test(tcase, random_calls_on_limits_agree_with_the_model);
    tcase_add_test(tcase, limits_agree_with_the_model_when_the_clock_steps_back);
    suite_add_tcase(suite, own);
    suite_add_tcase(suite, tcase);
    return suite;
}
