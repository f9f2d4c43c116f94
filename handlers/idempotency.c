// The life of a request that has a transaction to itself, for its Idempotency-Key, its session, or both: its
// transaction begins and takes the key's lock; what is kept under the key answers it, or else the handler
// runs and its reply is kept and committed with its effect.
#include "handlers/idempotency.h"

#include "handlers/access.h"
#include "handlers/fingerprint.h"
#include "handlers/kept_reply.h"
#include "handlers/outcome.h"
#include "handlers/sealed_reply.h"
#include "handlers/session_links.h"
#include "store/transaction.h"

enum { RUNS = 10 }; // from the beginning, before a request is given up

enum { RECALL_SCOPE, RECALL_KEY, RECALL_COLUMNS };
enum recall_result { RECALLED_FINGERPRINT, RECALLED_STATUS, RECALLED_HEADERS, RECALLED_BODY };

// Not repeated blindly although it writes nothing: it holds the lock of the key.
static const struct statement recall_reply = {
    .name = "recall_reply",
    .sql = "select * from holdfast.recall_reply($1, $2)",
    .form = STATEMENT_ALONE,
    .role = ROLE_TRANSACTION,
    .columns = RECALL_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_TEXT},
};

enum { KEEP_SCOPE, KEEP_KEY, KEEP_FINGERPRINT, KEEP_STATUS, KEEP_HEADERS, KEEP_BODY, KEEP_COLUMNS };

static const struct statement keep_reply = {
    .name = "keep_reply",
    .sql = "select holdfast.keep_reply($1, $2, $3, $4, $5, $6)",
    .form = STATEMENT_ALONE,
    .role = ROLE_TRANSACTION,
    .writes = true,
    .columns = KEEP_COLUMNS,
    .column = {COLUMN_TEXT, COLUMN_TEXT, COLUMN_BYTEA, COLUMN_INT2, COLUMN_BYTEA, COLUMN_BYTEA},
};

struct keyed {
    struct transaction transaction; // first: the transaction is the keyed request
    struct request *request;
    struct context *shared; // the worker's
    struct context own;     // the handler's: its store is the transaction's
    struct bytes scope;     // whose keys these are
    struct bytes key;
    uint8_t fingerprint[FINGERPRINT_BYTES];
    int runs;
    bool in_doubt;        // a commit was sent and its answer never came
    struct bytes attempt; // the headers that it would have kept
    struct operation recall;
    struct value recall_values[RECALL_COLUMNS];
    struct operation keep;
    struct value keep_values[KEEP_COLUMNS];
    struct session_links *links; // NULL without a session
    struct keyed_wait *wait;     // NULL while its handler does not wait for long
};

static void run(struct keyed *keyed);

static void end_wait(struct keyed *keyed, bool done)
{
    if (keyed->wait)
        keyed->wait->over(keyed->wait, done);
    keyed->wait = NULL;
}

static void refuse(struct keyed *keyed, const char *detail)
{
    if (keyed->wait && keyed->wait->missed(keyed->wait))
        return;
    end_wait(keyed, false);
    if (keyed->in_doubt)
        reply_simple_problem(keyed->request, PROBLEM_OUTCOME_UNKNOWN,
                             "%s: repeat the request with the same Idempotency-Key", detail);
    else
        reply_simple_problem(keyed->request, PROBLEM_UNAVAILABLE, "%s; nothing was done, try again", detail);
}

// --- the handler's reply
// --------------------------------------------------------------------------------------------

// What is under the key now tells whether it was committed.
static void end_in_doubt(struct keyed *keyed)
{
    reply_discard(keyed->request);
    if (!keyed->in_doubt)
        keyed->transaction.until = 0; // it gets its time anew
    keyed->in_doubt = true;
    keyed->transaction.patient = true;
    run(keyed);
}

// Without a key nothing tells whether it was committed.
static void end_unknown(struct keyed *keyed)
{
    reply_discard(keyed->request);
    reply_simple_problem(
        keyed->request, PROBLEM_OUTCOME_UNKNOWN,
        "the connection to the database broke: read before you repeat it, or repeat it with an "
        "Idempotency-Key");
}

static void commit_ended(struct transaction *transaction, bool committed)
{
    struct keyed *keyed = (struct keyed *)transaction;
    if (committed) {
        end_wait(keyed, true);
        reply_release(keyed->request);
    } else if (keyed->request->keyed) {
        end_in_doubt(keyed);
    } else {
        end_unknown(keyed);
    }
}

// Whether it was stored, the commit tells.
static void kept(struct operation *operation, const struct outcome *outcome)
{
    (void)operation;
    (void)outcome;
}

static void keep(struct keyed *keyed)
{
    struct request *request = keyed->request;
    keyed->attempt = kept_reply_headers(request);
    struct sealed_reply reply = {
        .scope = keyed->scope,
        .key = keyed->key,
        .fingerprint = bytes_make(keyed->fingerprint, FINGERPRINT_BYTES),
        .status = request->reply.status,
        .headers = keyed->attempt,
        .body = request->reply.body,
    };
    reply_seal(keyed->shared, &request->arena, &reply);
    keyed->keep_values[KEEP_SCOPE] = value_bytes(keyed->scope);
    keyed->keep_values[KEEP_KEY] = value_bytes(keyed->key);
    keyed->keep_values[KEEP_FINGERPRINT] = value_bytes(reply.fingerprint);
    keyed->keep_values[KEEP_STATUS] = value_number(request->reply.status);
    keyed->keep_values[KEEP_HEADERS] = value_bytes(reply.headers);
    keyed->keep_values[KEEP_BODY] = value_bytes(reply.body);
    keyed->keep = (struct operation){.statement = &keep_reply,
                                     .values = keyed->keep_values,
                                     .done = kept,
                                     .owner = keyed,
                                     .account = &keyed->request->account};
    store_submit(keyed->transaction.store, &keyed->keep);
}

static void keep_and_commit(struct keyed *keyed)
{
    if (keyed->links)
        session_links_submit(keyed->links, keyed->transaction.store, kept, keyed);
    if (keyed->request->keyed)
        keep(keyed);
    transaction_commit(&keyed->transaction, commit_ended);
}

static void run_again(struct keyed *keyed)
{
    reply_discard(keyed->request);
    run(keyed);
}

static struct keyed *leave_transaction(struct request *request)
{
    struct keyed *keyed = request->interceptor;
    request->intercept = NULL;
    request->context = keyed->shared;
    return keyed;
}

static void replied(struct request *request)
{
    struct keyed *keyed = leave_transaction(request);
    if (kept_reply_wanted(request)) {
        keep_and_commit(keyed);
        return;
    }
    bool unlucky = transaction_unlucky(&keyed->transaction);
    transaction_rollback(&keyed->transaction);
    if (unlucky) {
        run_again(keyed);
        return;
    }
    end_wait(keyed, false);
    reply_release(request);
}

static void handle(struct keyed *keyed)
{
    struct request *request = keyed->request;
    keyed->in_doubt = false;
    request->effectless = false;
    keyed->transaction.patient = false;
    keyed->own = *keyed->shared;
    keyed->own.store = keyed->transaction.store;
    keyed->own.within = true;
    keyed->links = request->linked ? session_links_new(request) : NULL;
    keyed->own.links = keyed->links;
    request->context = &keyed->own;
    request->intercept = replied;
    request->interceptor = keyed;
    if (keyed->wait)
        keyed->wait->attempt(keyed->wait);
    else
        request->route->handle(request);
}

// --- what is under the key
// ------------------------------------------------------------------------------------------

static void recall_failed(struct keyed *keyed)
{
    bool unlucky = transaction_unlucky(&keyed->transaction);
    transaction_rollback(&keyed->transaction);
    if (unlucky)
        run(keyed);
    else
        refuse(keyed,
               "another request with this Idempotency-Key is under way, or the database cannot do this now");
}

// What this request itself committed, before it lost the answer, is no replay.
static bool is_own(const struct keyed *keyed, const struct sealed_reply *reply)
{
    return keyed->in_doubt && bytes_equal(keyed->attempt, reply->headers);
}

static struct sealed_reply reply_of(const struct keyed *keyed, const struct outcome *outcome)
{
    return (struct sealed_reply){
        .scope = keyed->scope,
        .key = keyed->key,
        .fingerprint = outcome_bytes(outcome, 0, RECALLED_FINGERPRINT),
        .status = outcome_number(outcome, 0, RECALLED_STATUS),
        .headers = outcome_bytes(outcome, 0, RECALLED_HEADERS),
        .body = outcome_bytes(outcome, 0, RECALLED_BODY),
    };
}

static void reply_again(struct keyed *keyed, struct sealed_reply *reply, bool own)
{
    struct request *request = keyed->request;
    kept_reply_send(request, (int)reply->status, reply->headers, arena_copy(&request->arena, reply->body),
                    !own);
}

static void recalled(struct operation *operation, const struct outcome *outcome)
{
    struct keyed *keyed = operation->owner;
    struct request *request = keyed->request;
    if (outcome->kind != OUTCOME_ROWS || !transaction_sound(&keyed->transaction)) {
        recall_failed(keyed);
        return;
    }
    if (!outcome->rows) {
        handle(keyed);
        return;
    }
    struct sealed_reply reply = reply_of(keyed, outcome);
    bool opened = reply_open(keyed->shared, &request->arena, &reply);
    bool same = bytes_equal(reply.fingerprint, bytes_make(keyed->fingerprint, FINGERPRINT_BYTES));
    bool own = is_own(keyed, &reply);
    transaction_rollback(&keyed->transaction);
    end_wait(keyed, own);
    if (!opened)
        reply_simple_problem(request, PROBLEM_CORRUPT, "%s", reply.corrupt);
    else if (same)
        reply_again(keyed, &reply, own);
    else
        reply_simple_problem(request, PROBLEM_IDEMPOTENCY_MISMATCH,
                             "within 24 hours a request with this Idempotency-Key asked for something else");
}

static void begun(struct transaction *transaction)
{
    struct keyed *keyed = (struct keyed *)transaction;
    if (!keyed->request->keyed) {
        handle(keyed);
        return;
    }
    keyed->recall_values[RECALL_SCOPE] = value_bytes(keyed->scope);
    keyed->recall_values[RECALL_KEY] = value_bytes(keyed->key);
    keyed->recall = (struct operation){.statement = &recall_reply,
                                       .values = keyed->recall_values,
                                       .done = recalled,
                                       .owner = keyed,
                                       .account = &keyed->request->account};
    store_submit(transaction->store, &keyed->recall);
}

static void never_begun(struct transaction *transaction, const char *detail)
{
    refuse((struct keyed *)transaction, detail);
}

static void run(struct keyed *keyed)
{
    if (++keyed->runs > RUNS)
        refuse(keyed, "it failed again and again");
    else
        transaction_begin(keyed->shared->store, &keyed->transaction);
}

void idempotency_run(struct request *request)
{
    struct keyed *keyed = arena_zalloc(&request->arena, sizeof *keyed);
    keyed->request = request;
    keyed->shared = context_of(request);
    const struct token *token = token_of(request);
    keyed->scope = bytes_of(token ? token->id : "");
    keyed->key = request->headers[HEADER_IDEMPOTENCY_KEY];
    fingerprint(request, keyed->fingerprint);
    // Writes of one session would wait for each other at its lock.
    keyed->transaction.name = request->keyed ? keyed->key : request->headers[HEADER_SESSION];
    keyed->transaction.begun = begun;
    keyed->transaction.refused = never_begun;
    keyed->transaction.owner = keyed;
    keyed->transaction.account = &request->account;
    run(keyed);
}

// --- waiting for long
// -------------------------------------------------------------------------------------------------

void idempotency_wait(struct request *request, struct keyed_wait *wait)
{
    struct keyed *keyed = request->interceptor;
    keyed->wait = wait;
}

struct keyed_name idempotency_name(const struct request *request)
{
    const struct keyed *keyed = request->interceptor;
    return (struct keyed_name){.scope = keyed->scope, .key = keyed->key};
}

// Whether what it did was committed, its next attempt finds out.
static void set_aside(struct transaction *transaction, bool committed)
{
    (void)committed;
    struct keyed *keyed = (struct keyed *)transaction;
    keyed->wait->aside(keyed->wait);
}

void idempotency_set_aside(struct request *request)
{
    struct keyed *keyed = leave_transaction(request);
    reply_discard(request);
    transaction_commit(&keyed->transaction, set_aside);
}

void idempotency_attempt(struct request *request)
{
    struct keyed *keyed = request->interceptor;
    keyed->runs = 0;
    keyed->transaction.until = 0;
    run(keyed);
}
