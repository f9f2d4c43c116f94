// One statement asks for everything: the mark of all tokens, the database's time, and the token of an id. A
// mark that is not the one known makes all that is known old.
#include "handlers/callers.h"

#include "base/timestamp.h"
#include "handlers/waiting_callers.h"

#include <sodium.h>
#include <stdlib.h>

enum {
    GOOD_FOR = 900 * 1000, // microseconds from when the database was asked
    ASK_EVERY = 300 * 1000,
    MOST_TOKENS = 4096, // kept; the oldest goes
    MARK = 36,
};

struct look {
    struct operation operation; // first: the operation is the look
    struct callers *callers;
    struct value none[1];
    char id[TOKEN_ID + 1]; // empty: only how things stand
    int64_t asked;
    uint64_t generation;
    struct request *request;
    void (*done)(struct request *request, enum caller_verdict verdict, struct token *token);
    void (*failed)(struct request *request, const struct outcome *outcome);
};

struct callers {
    struct timer timer; // first: the timer is the object
    struct context *context;
    bool closed;
    bool stopped;
    bool asking;
    struct look regular;
    bool needed;         // there are, or were, tokens
    char mark[MARK + 1]; // empty: there was never a token
    uint64_t generation;
    int64_t good_until; // on the loop's clock; 0: nothing is known
    int64_t clock;      // the database's time …
    int64_t clock_at;   // … at this time of the loop's
    struct token *tokens;
    struct waiting_callers *waiting;
};

enum look_result {
    LOOKED_ORDINAL,
    LOOKED_MARK,
    LOOKED_NOW,
    LOOKED_NAME,
    LOOKED_PREFIX,
    LOOKED_GRANTS,
    LOOKED_KEY,
    LOOKED_HASH,
    LOOKED_EXPIRES_AT,
};

// An id takes the place of a bucket's name, so that all who ask for one token get it from one row.
const struct statement look_up_tokens = {
    .name = "look_up_tokens",
    .sql = "select * from holdfast.look_up_tokens($1, $2, $3)",
    .form = STATEMENT_SHARED,
    .role = ROLE_READ,
    .keys = KEYS_ANY,
};

bool callers_found(const struct outcome *outcome)
{
    return !outcome_null(outcome, 0, LOOKED_NAME);
}

// --- what is known
// ----------------------------------------------------------------------------------------------------

static bool is_current(const struct callers *callers)
{
    return loop_now(callers->context->loop) < callers->good_until;
}

static void forget(struct callers *callers, struct token *token)
{
    HASH_DEL(callers->tokens, token);
    token_release(token);
}

static void keep(struct callers *callers, struct token *token)
{
    struct token *old;
    HASH_FIND(hh, callers->tokens, token->id, TOKEN_ID, old);
    if (old)
        token_inherit_waits(token, old);
    if (old)
        forget(callers, old);
    else if (HASH_COUNT(callers->tokens) >= MOST_TOKENS)
        forget(callers, callers->tokens);
    token_hold(token);
    HASH_ADD(hh, callers->tokens, id, TOKEN_ID, token);
}

static enum caller_verdict judge(const struct token *token, const struct token_shown *shown, int64_t now)
{
    bool expired = token->expires && now >= token->expires_at;
    return token_opens(token, shown) && !expired ? CALLER_GOOD : CALLER_BAD;
}

static int64_t database_time(const struct callers *callers)
{
    return callers->clock + (loop_now(callers->context->loop) - callers->clock_at);
}

enum caller_verdict callers_know(struct callers *callers, struct bytes authorization, struct token **token)
{
    struct token_shown shown;
    if (!is_current(callers))
        return CALLER_UNKNOWN;
    if (!callers->needed)
        return callers->closed ? CALLER_BAD : CALLER_NONE;
    if (!authorization.data || !token_shown_read(authorization, &shown))
        return CALLER_BAD;
    HASH_FIND(hh, callers->tokens, shown.id, TOKEN_ID, *token);
    enum caller_verdict verdict = *token && (*token)->generation == callers->generation
                                      ? judge(*token, &shown, database_time(callers))
                                      : CALLER_UNKNOWN;
    token_shown_forget(&shown);
    return verdict;
}

bool callers_exist(const struct callers *callers)
{
    return callers->needed;
}

// --- asking
// -----------------------------------------------------------------------------------------------------------

static void submit(struct look *look, void (*done)(struct operation *, const struct outcome *))
{
    struct callers *callers = look->callers;
    look->asked = loop_now(callers->context->loop);
    look->generation = callers->generation;
    look->operation = (struct operation){.statement = &look_up_tokens,
                                         .bucket = bytes_of(look->id),
                                         .values = look->none,
                                         .done = done,
                                         .owner = look,
                                         .account = look->request ? &look->request->account : NULL};
    store_submit(callers->context->store, &look->operation);
}

// Takes over how things stand, unless a change was told of since it was asked for.
static void learn(struct callers *callers, const struct look *look, const struct outcome *outcome)
{
    if (look->generation != callers->generation)
        return;
    struct bytes mark = outcome_bytes(outcome, 0, LOOKED_MARK);
    size_t size = mark.size < MARK ? mark.size : MARK;
    if (!bytes_is(mark, callers->mark)) {
        callers->generation++;
        if (size)
            memcpy(callers->mark, mark.data, size);
        callers->mark[size] = 0;
    }
    callers->needed = size != 0;
    callers->clock = callers->needed ? outcome_time(outcome, 0, LOOKED_NOW) : 0;
    callers->clock_at = loop_now(callers->context->loop);
    if (look->asked + GOOD_FOR > callers->good_until)
        callers->good_until = look->asked + GOOD_FOR;
}

static struct token *token_of_row(const struct callers *callers, const struct look *look,
                                  const struct outcome *outcome)
{
    if (!callers_found(outcome))
        return NULL;
    struct token *token =
        token_new(bytes_of(look->id), outcome_bytes(outcome, 0, LOOKED_NAME),
                  outcome_bytes(outcome, 0, LOOKED_PREFIX), outcome_bytes(outcome, 0, LOOKED_GRANTS),
                  outcome_bytes(outcome, 0, LOOKED_KEY), outcome_bytes(outcome, 0, LOOKED_HASH));
    if (!token) {
        log_event(LOG_ERROR, "token_unreadable", "id", look->id, NULL);
        return NULL;
    }
    token->generation = callers->generation;
    token->expires = !outcome_null(outcome, 0, LOOKED_EXPIRES_AT);
    token->expires_at = token->expires ? outcome_time(outcome, 0, LOOKED_EXPIRES_AT) : 0;
    return token;
}

static enum caller_verdict verdict_of(const struct look *look, const struct outcome *outcome,
                                      const struct token *token)
{
    struct token_shown shown;
    if (outcome_null(outcome, 0, LOOKED_MARK))
        return look->callers->closed ? CALLER_BAD : CALLER_NONE;
    if (!token || !token_shown_read(look->request->headers[HEADER_AUTHORIZATION], &shown))
        return CALLER_BAD;
    enum caller_verdict verdict = judge(token, &shown, outcome_time(outcome, 0, LOOKED_NOW));
    token_shown_forget(&shown);
    return verdict;
}

static void answered(struct operation *operation, const struct outcome *outcome)
{
    struct look *look = operation->owner;
    struct callers *callers = look->callers;
    if (outcome->kind != OUTCOME_ROWS) {
        look->failed(look->request, outcome);
        return;
    }
    bool current = look->generation == callers->generation;
    learn(callers, look, outcome);
    struct token *token = token_of_row(callers, look, outcome);
    if (token && current)
        keep(callers, token);
    look->done(look->request, verdict_of(look, outcome, token), token);
    if (token)
        token_release(token);
}

void callers_ask(struct callers *callers, struct request *request,
                 void (*done)(struct request *request, enum caller_verdict verdict, struct token *token),
                 void (*failed)(struct request *request, const struct outcome *outcome))
{
    struct look *look = arena_zalloc(&request->arena, sizeof *look);
    struct token_shown shown;
    if (token_shown_read(request->headers[HEADER_AUTHORIZATION], &shown))
        memcpy(look->id, shown.id, sizeof look->id);
    token_shown_forget(&shown);
    look->callers = callers;
    look->request = request;
    look->done = done;
    look->failed = failed;
    submit(look, answered);
}

// --- staying current
// --------------------------------------------------------------------------------------------------

static void regularly_answered(struct operation *operation, const struct outcome *outcome)
{
    struct look *look = operation->owner;
    struct callers *callers = look->callers;
    callers->asking = false;
    if (callers->stopped)
        return;
    if (outcome->kind == OUTCOME_ROWS)
        learn(callers, look, outcome);
    if (is_current(callers) && callers->needed)
        waiting_callers_review(callers->waiting, callers->generation, database_time(callers));
    loop_timer_set(callers->context->loop, &callers->timer, timestamp_monotonic() + ASK_EVERY);
}

static void ask_now(struct timer *timer)
{
    struct callers *callers = (struct callers *)timer;
    if (callers->asking)
        return;
    callers->asking = true;
    submit(&callers->regular, regularly_answered);
}

// What was asked before this may be answered from before the change.
static void changed(void *user)
{
    struct callers *callers = user;
    callers->generation++;
    callers->good_until = 0;
    if (!callers->asking)
        loop_timer_set(callers->context->loop, &callers->timer, timestamp_monotonic());
}

struct callers *callers_new(struct context *context, bool closed)
{
    struct callers *callers = calloc(1, sizeof *callers);
    if (!callers)
        abort();
    callers->context = context;
    callers->closed = closed;
    callers->timer.fire = ask_now;
    callers->regular.callers = callers;
    callers->waiting = waiting_callers_new(context);
    listen_to_tokens(context->listen, changed, callers);
    loop_timer_set(context->loop, &callers->timer, timestamp_monotonic());
    return callers;
}

void callers_stop(struct callers *callers)
{
    callers->stopped = true;
    waiting_callers_stop(callers->waiting);
    loop_timer_clear(callers->context->loop, &callers->timer);
}

void callers_free(struct callers *callers)
{
    while (callers->tokens)
        forget(callers, callers->tokens);
    waiting_callers_free(callers->waiting);
    free(callers);
}
