// Many clients run transactions, views and single calls on a few entries over two replicas, and what they
// were told is held against strict serializability.
#include "model/replicas.h"
#include "model/suites.h"
#include "model/transaction_rule.h"
#include "support/clock.h"
#include "support/entry_client.h"
#include "support/random.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

enum {
    CLIENTS = 16,
    ROUNDS = 6,   // each on entries of its own
    CALLS = 30,   // of a client in a round
    COUNTERS = 2, // the first keys hold numbers, the others objects
    CHECKS = 2,
    OPERATIONS = 4,
    VALUES_OF_A_CLIENT = 4096,
    BODY_ROOM = 2048,
    BUDGET = 1000 * 1000,
};

static const char *const buckets[TRANSACTION_BUCKETS] = {"left", "right"};

// --- what is asked -----------------------------------------------------------------------------------------

enum form { FORM_TRANSACTION, FORM_VIEW, FORM_PUT, FORM_DELETE, FORM_GET, FORMS };
enum verb { VERB_CHECK, VERB_PUT, VERB_PATCH, VERB_ADD, VERB_DELETE, VERB_TAKE };
enum wanted { WANTED_ANYTHING, WANTED_VERSION, WANTED_ABSENT };

struct item {
    enum verb verb;
    size_t key;
    uint64_t value;
    enum wanted wanted;
    uint64_t version;
};

// A view or a GET reads its items; what else there is has checks first.
struct plan {
    enum form form;
    size_t checks;
    size_t count;
    struct item items[CHECKS + OPERATIONS];
    unsigned idempotency; // a number for the key, 0 for none
    char body[BODY_ROOM];
    size_t size;
};

struct client {
    unsigned number;
    size_t round;
    struct random random;
    struct entry_client replicas[2];
    uint64_t seen[TRANSACTION_KEYS]; // the last version of each key that this client heard of, 0: absent
    uint64_t values;
    struct transaction_call calls[ROUNDS][2 * CALLS]; // one that is asked again is two
    size_t counts[ROUNDS];                            // of calls that say anything
    size_t outcomes[FORMS][TRANSACTION_UNKNOWN + 1];
    unsigned idempotency; // keys used
    size_t cuts;          // calls left open, settled later or not
    size_t replays;
    char wrong[300]; // the first reply that no call may get
};

static void write_body(struct plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void write_body(struct plan *plan, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(plan->body + plan->size, BODY_ROOM - plan->size, format, arguments);
    va_end(arguments);
    plan->size += (size_t)size;
    if (size < 0 || plan->size >= BODY_ROOM)
        abort();
}

static void write_value(struct plan *plan, const struct item *item)
{
    if (item->key < COUNTERS)
        write_body(plan, "%" PRIu64, item->value);
    else if (item->verb == VERB_PATCH)
        write_body(plan, "{\"patch\":%" PRIu64 "}", item->value);
    else
        write_body(plan, "{\"put\":%" PRIu64 "}", item->value >> TRANSACTION_PATCH_BITS);
}

static void write_item(struct plan *plan, const struct item *item, size_t round)
{
    static const char *const verbs[] = {"", "put", "patch", "add", "delete", "take"};
    write_body(plan, "{\"bucket\":\"%s\",\"key\":\"%zu\",\"under\":[\"%zu\"]",
               buckets[item->key % TRANSACTION_BUCKETS], item->key, round);
    if (plan->form == FORM_TRANSACTION) {
        bool is_check = item->verb == VERB_CHECK;
        if (!is_check)
            write_body(plan, ",\"op\":\"%s\"", verbs[item->verb]);
        if (item->wanted == WANTED_VERSION)
            write_body(plan, ",\"%s\":\"%" PRIu64 "\"", is_check ? "version" : "if_version", item->version);
        else if (item->wanted == WANTED_ABSENT)
            write_body(plan, ",\"%s\":true", is_check ? "absent" : "if_absent");
        if (item->verb == VERB_PATCH)
            write_body(plan, ",\"upsert\":true");
        if (item->verb == VERB_ADD)
            write_body(plan, ",\"by\":%" PRIu64, item->value);
        if (item->verb == VERB_PUT || item->verb == VERB_PATCH) {
            write_body(plan, ",\"value\":");
            write_value(plan, item);
        }
    }
    write_body(plan, "}");
}

static void write_list(struct plan *plan, const char *name, size_t from, size_t to, size_t round)
{
    write_body(plan, "\"%s\":[", name);
    for (size_t i = from; i < to; i++) {
        write_body(plan, "%s", i > from ? "," : "");
        write_item(plan, &plan->items[i], round);
    }
    write_body(plan, "]");
}

static void write_plan(struct plan *plan, size_t round)
{
    plan->size = 0;
    if (plan->form == FORM_PUT) {
        write_value(plan, &plan->items[0]);
    } else if (plan->form == FORM_VIEW) {
        write_body(plan, "{");
        write_list(plan, "reads", 0, plan->count, round);
        write_body(plan, "}");
    } else if (plan->form == FORM_TRANSACTION) {
        write_body(plan, "{");
        write_list(plan, "checks", 0, plan->checks, round);
        write_body(plan, ",");
        write_list(plan, "operations", plan->checks, plan->count, round);
        write_body(plan, "}");
    }
}

// --- what it says ------------------------------------------------------------------------------------------

static void add_step(struct transaction_call *call, struct transaction_step step)
{
    if (call->step_count == TRANSACTION_STEPS)
        abort();
    call->steps[call->step_count++] = step;
}

static void look_for_version(struct transaction_call *call, size_t key, uint64_t version)
{
    add_step(call, version ? (struct transaction_step){LOOK_VERSION, key, version, 0, false}
                           : (struct transaction_step){.kind = LOOK_ABSENT, .key = key});
}

static void look_for_value(struct transaction_call *call, size_t key, uint64_t version, uint64_t value)
{
    add_step(call, (struct transaction_step){LOOK_VERSION, key, version, value, true});
}

static void look_for(struct transaction_call *call, size_t key, enum transaction_step_kind kind)
{
    add_step(call, (struct transaction_step){.kind = kind, .key = key});
}

// The item's condition held, and it did its work; `version` is what it was told, or 0.
static void item_went(struct transaction_call *call, const struct item *item, uint64_t version)
{
    static const enum transaction_step_kind writes[] = {[VERB_PUT] = WRITE_PUT,
                                                        [VERB_PATCH] = WRITE_PATCH,
                                                        [VERB_ADD] = WRITE_ADD,
                                                        [VERB_DELETE] = WRITE_REMOVE,
                                                        [VERB_TAKE] = WRITE_REMOVE};
    if (item->wanted != WANTED_ANYTHING)
        look_for_version(call, item->key, item->wanted == WANTED_VERSION ? item->version : 0);
    if (item->verb == VERB_DELETE || item->verb == VERB_TAKE)
        look_for(call, item->key, LOOK_LIVE);
    if (item->verb != VERB_CHECK)
        add_step(call, (struct transaction_step){writes[item->verb], item->key, version, item->value, false});
}

// The item's condition failed, and the entry was said to have `current`, 0 for absent. A version that an item
// before it would have made is nobody's.
static void item_failed(struct transaction_call *call, const struct plan *plan, size_t failed,
                        uint64_t current)
{
    const struct item *item = &plan->items[failed];
    add_step(call, (struct transaction_step){.kind = LOOK_OTHER,
                                             .key = item->key,
                                             .version = item->wanted == WANTED_VERSION ? item->version : 0});
    for (size_t i = plan->checks; i < failed; i++)
        if (plan->items[i].key == item->key) {
            look_for(call, item->key, current ? LOOK_LIVE : LOOK_ABSENT);
            return;
        }
    look_for_version(call, item->key, current);
}

static uint64_t number_member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? strtoull(text, NULL, 10) : 0;
}

static uint64_t value_of(const json_t *value)
{
    if (json_is_integer(value))
        return (uint64_t)json_integer_value(value);
    return (uint64_t)json_integer_value(json_object_get(value, "put")) << TRANSACTION_PATCH_BITS |
           (uint64_t)json_integer_value(json_object_get(value, "patch"));
}

static void remember(struct client *client, size_t key, uint64_t version)
{
    client->seen[key] = version;
}

static bool read_results(struct client *client, const struct plan *plan, const json_t *body,
                         struct transaction_call *call)
{
    json_t *results = json_object_get(body, "results");
    for (size_t i = 0; i < plan->checks; i++)
        item_went(call, &plan->items[i], 0);
    for (size_t i = plan->checks; i < plan->count; i++) {
        const struct item *item = &plan->items[i];
        json_t *result = json_array_get(results, i - plan->checks);
        bool removes = item->verb == VERB_DELETE || item->verb == VERB_TAKE;
        uint64_t version = number_member(result, "version");
        if (!json_is_object(result) || !version != (item->verb == VERB_DELETE))
            return false;
        if (item->verb == VERB_TAKE)
            look_for_value(call, item->key, version, value_of(json_object_get(result, "value")));
        item_went(call, item, removes ? 0 : version);
        if (item->verb == VERB_ADD)
            look_for_value(call, item->key, version, value_of(json_object_get(result, "value")));
        remember(client, item->key, removes ? 0 : version);
    }
    call->position = number_member(body, "position");
    return json_array_size(results) == plan->count - plan->checks && call->position;
}

static bool read_refusal(struct client *client, const struct plan *plan, int status, const json_t *body,
                         struct transaction_call *call)
{
    const char *in = json_string_value(json_object_get(body, "in"));
    size_t failed = (size_t)json_integer_value(json_object_get(body, "index"));
    if (plan->form == FORM_TRANSACTION && !in)
        return false;
    if (in && strcmp(in, "operations") == 0)
        failed += plan->checks;
    if (failed >= plan->count)
        return false;
    const struct item *item = &plan->items[failed];
    call->outcome = TRANSACTION_REFUSED;
    for (size_t i = 0; i < failed; i++)
        item_went(call, &plan->items[i], 0);
    if (status == 412) {
        uint64_t current = number_member(body, "current_version");
        item_failed(call, plan, failed, current);
        remember(client, item->key, current);
        return item->wanted != WANTED_ANYTHING;
    }
    look_for(call, item->key, LOOK_ABSENT);
    remember(client, item->key, 0);
    return item->verb == VERB_DELETE || item->verb == VERB_TAKE;
}

static bool read_view(struct client *client, const struct plan *plan, const json_t *body,
                      struct transaction_call *call)
{
    json_t *entries = json_object_get(body, "entries");
    uint64_t position = number_member(body, "position");
    for (size_t i = 0; i < plan->count; i++) {
        json_t *entry = json_array_get(entries, i);
        uint64_t version = number_member(entry, "version");
        size_t key = plan->items[i].key;
        if (!entry || !version != json_is_null(entry) || version > position)
            return false;
        if (version)
            look_for_value(call, key, version, value_of(json_object_get(entry, "value")));
        else
            look_for(call, key, LOOK_ABSENT);
        remember(client, key, version);
    }
    return true;
}

// A single PUT, DELETE or GET that was not refused by a condition.
static bool read_single(struct client *client, const struct plan *plan, const struct entry_reply *reply,
                        const json_t *body, struct transaction_call *call)
{
    const struct item *item = &plan->items[0];
    uint64_t version = strtoull(reply->version, NULL, 10);
    call->position = (uint64_t)reply->position;
    if (plan->form == FORM_GET) {
        if (reply->status == 200)
            look_for_value(call, item->key, version, value_of(body));
        else
            look_for(call, item->key, LOOK_ABSENT);
        call->position = 0;
    } else {
        if (plan->form == FORM_PUT)
            look_for(call, item->key, reply->status == 201 ? LOOK_ABSENT : LOOK_LIVE);
        item_went(call, item, version);
    }
    remember(client, item->key, version);
    return !version == (plan->form == FORM_DELETE || reply->status == 404);
}

static bool read_reply(struct client *client, const struct plan *plan, const struct entry_reply *reply,
                       struct transaction_call *call)
{
    json_t *body = json_loadb((const char *)reply->body.data, reply->body.size, JSON_DECODE_ANY, NULL);
    bool good = false;
    if (plan->form == FORM_TRANSACTION && reply->status == 200)
        good = read_results(client, plan, body, call);
    else if (plan->form == FORM_VIEW && reply->status == 200)
        good = read_view(client, plan, body, call);
    else if (reply->status == 412 || (reply->status == 404 && plan->form != FORM_GET))
        good = read_refusal(client, plan, reply->status, body, call);
    else if (plan->form >= FORM_PUT &&
             (reply->status == 200 || reply->status == 201 || reply->status == 204 || reply->status == 404))
        good = read_single(client, plan, reply, body, call);
    json_decref(body);
    return good;
}

// --- how it is asked ---------------------------------------------------------------------------------------

static bool is_write(const struct plan *plan)
{
    return plan->form != FORM_VIEW && plan->form != FORM_GET;
}

// Sends the plan once, to either replica; impatient clients break the connection after a millisecond.
static void send_plan(struct client *client, const struct plan *plan, bool impatient,
                      struct entry_reply *reply)
{
    static const char *const methods[FORMS] = {"POST", "POST", "PUT", "DELETE", "GET"};
    static const char *const targets[FORMS] = {"/v1/transactions", "/v1/views"};
    const struct item *item = &plan->items[0];
    struct entry_client *replica = &client->replicas[random_below(&client->random, 2)];
    char target[100], headers[300] = "";
    snprintf(target, sizeof target, "/v1/buckets/%s/entries/%zu?under=%zu",
             buckets[item->key % TRANSACTION_BUCKETS], item->key, client->round);
    int size = 0;
    if (plan->idempotency)
        size = snprintf(headers, sizeof headers, "Idempotency-Key: %u-%u\r\n", client->number,
                        plan->idempotency);
    if (!targets[plan->form] && item->wanted == WANTED_VERSION)
        snprintf(headers + size, sizeof headers - (size_t)size, "If-Match: \"%" PRIu64 "\"\r\n",
                 item->version);
    else if (!targets[plan->form] && item->wanted == WANTED_ABSENT)
        snprintf(headers + size, sizeof headers - (size_t)size, "If-None-Match: *\r\n");
    if (impatient) {
        entry_client_close(replica);
        replica->timeout_ms = 1;
    }
    entry_client_ask(replica,
                     &(struct entry_request){
                         .method = methods[plan->form],
                         .target = targets[plan->form] ? targets[plan->form] : target,
                         .body = bytes_make(plan->body, plan->size),
                         .content_type = plan->size ? "application/json" : NULL,
                         .headers = headers,
                     },
                     reply);
}

static void calm_down(struct client *client)
{
    for (size_t i = 0; i < 2; i++)
        if (client->replicas[i].timeout_ms == 1) {
            entry_client_close(&client->replicas[i]);
            client->replicas[i] = entry_client_new(replicas_port(i));
        }
}

static void note_wrong(struct client *client, const struct plan *plan, const struct entry_reply *reply)
{
    if (!*client->wrong)
        snprintf(client->wrong, sizeof client->wrong, "%.100s: %d %.150s", plan->body, reply->status,
                 (const char *)(reply->body.size ? reply->body.data : (const unsigned char *)""));
}

static bool is_same(const struct transaction_call *a, const struct transaction_call *b)
{
    if (a->outcome != b->outcome || a->position != b->position || a->step_count != b->step_count)
        return false;
    for (size_t i = 0; i < a->step_count; i++) {
        const struct transaction_step *one = &a->steps[i], *two = &b->steps[i];
        if (one->kind != two->kind || one->key != two->key || one->version != two->version ||
            one->value != two->value)
            return false;
    }
    return true;
}

// Asks once more with the key of a call that was done: the reply must be the one it got.
static void replay(struct client *client, const struct plan *plan, const struct transaction_call *call)
{
    struct entry_reply reply;
    struct transaction_call again = {.client = client->number};
    send_plan(client, plan, false, &reply);
    if (reply.outcome != ENTRY_ANSWERED || !read_reply(client, plan, &reply, &again) ||
        !is_same(&again, call))
        note_wrong(client, plan, &reply);
    client->replays++;
}

// Whether the service said that the outcome is open, or did not get to say anything.
static bool is_open(const struct entry_reply *reply)
{
    return reply->outcome == ENTRY_NO_ANSWER ||
           (reply->status == 503 &&
            memmem(reply->body.data, reply->body.size, "outcome_unknown", 15) != NULL);
}

static struct transaction_call *new_call(struct client *client)
{
    struct transaction_call *call = &client->calls[client->round][client->counts[client->round]];
    *call = (struct transaction_call){.client = client->number};
    return call;
}

static void keep(struct client *client, const struct plan *plan, const struct transaction_call *call)
{
    client->outcomes[plan->form][call->outcome]++;
    client->counts[client->round]++;
}

static void leave_open(struct client *client, const struct plan *plan, int64_t invoked)
{
    struct transaction_call *call = new_call(client);
    call->outcome = TRANSACTION_UNKNOWN;
    call->invoked = invoked;
    for (size_t i = 0; i < plan->count; i++)
        item_went(call, &plan->items[i], 0);
    keep(client, plan, call);
}

// Records the answer to what was sent last, at `invoked`.
static const struct transaction_call *record(struct client *client, const struct plan *plan,
                                             const struct entry_reply *reply, int64_t invoked)
{
    struct transaction_call *call = new_call(client);
    call->invoked = invoked;
    call->returned = clock_ns();
    if (!read_reply(client, plan, reply, call))
        note_wrong(client, plan, reply);
    keep(client, plan, call);
    return call;
}

// A call that was left open is sent again with its key. One that is done then was done once, at some time
// since the first was sent; a refusal is of the second alone, and the first may still come.
static void settle(struct client *client, const struct plan *plan, int64_t first)
{
    struct entry_reply reply;
    int64_t second = clock_ns();
    send_plan(client, plan, false, &reply);
    bool answered = reply.outcome == ENTRY_ANSWERED && !is_open(&reply);
    bool done = answered && reply.status < 300;
    if (answered)
        record(client, plan, &reply, done ? first : second);
    if (!done)
        leave_open(client, plan, first);
}

static void perform(struct client *client, struct plan *plan)
{
    struct entry_reply reply;
    write_plan(plan, client->round);
    int64_t invoked = clock_ns();
    send_plan(client, plan, random_chance(&client->random, 6), &reply);
    if (reply.outcome == ENTRY_ANSWERED && !is_open(&reply)) {
        const struct transaction_call *call = record(client, plan, &reply, invoked);
        calm_down(client);
        if (plan->idempotency && call->outcome == TRANSACTION_DONE && random_chance(&client->random, 30))
            replay(client, plan, call);
        return;
    }
    bool open = is_open(&reply);
    calm_down(client);
    client->cuts += open && is_write(plan);
    if (open && plan->idempotency)
        settle(client, plan, invoked);
    else if (open && is_write(plan))
        leave_open(client, plan, invoked);
}

// --- what is drawn -----------------------------------------------------------------------------------------

static uint64_t new_value(struct client *client)
{
    return client->number * (uint64_t)VALUES_OF_A_CLIENT + ++client->values;
}

static void want_seen(struct client *client, struct item *item)
{
    item->version = client->seen[item->key];
    item->wanted = item->version ? WANTED_VERSION : WANTED_ABSENT;
}

static void draw_value(struct client *client, struct item *item)
{
    if (item->verb == VERB_PUT)
        item->value = new_value(client) << TRANSACTION_PATCH_BITS;
    else if (item->verb == VERB_PATCH)
        item->value = new_value(client);
    else if (item->verb == VERB_ADD)
        item->value = 1 + random_below(&client->random, 5);
}

// Removes what it has reason to think is there, mostly; writes under a condition now and then.
static void draw_operation(struct client *client, struct item *item)
{
    struct random *random = &client->random;
    bool removes = random_chance(random, client->seen[item->key] ? 20 : 2);
    if (removes)
        item->verb = random_chance(random, 50) ? VERB_DELETE : VERB_TAKE;
    else if (random_chance(random, 50))
        item->verb = VERB_PUT;
    else
        item->verb = item->key < COUNTERS ? VERB_ADD : VERB_PATCH;
    if (random_chance(random, 12) && (client->seen[item->key] || !removes))
        want_seen(client, item);
    draw_value(client, item);
}

// Keys in an order of chance; few transactions have one twice.
static void draw_keys(struct client *client, size_t keys[TRANSACTION_KEYS])
{
    for (size_t i = 0; i < TRANSACTION_KEYS; i++) {
        size_t j = random_below(&client->random, i + 1);
        keys[i] = keys[j];
        keys[j] = i;
    }
    if (random_chance(&client->random, 15))
        keys[1] = keys[0];
}

static void draw_transaction(struct client *client, struct plan *plan)
{
    size_t keys[TRANSACTION_KEYS];
    draw_keys(client, keys);
    plan->checks = random_chance(&client->random, 50) ? 0 : 1 + random_below(&client->random, CHECKS);
    plan->count = plan->checks + random_below(&client->random, OPERATIONS) + 1;
    for (size_t i = 0; i < plan->checks; i++) {
        plan->items[i] =
            (struct item){.verb = VERB_CHECK, .key = random_below(&client->random, TRANSACTION_KEYS)};
        want_seen(client, &plan->items[i]);
    }
    for (size_t i = plan->checks; i < plan->count; i++) {
        plan->items[i].key = keys[i - plan->checks];
        draw_operation(client, &plan->items[i]);
    }
}

static void draw_view(struct client *client, struct plan *plan)
{
    size_t keys[TRANSACTION_KEYS];
    draw_keys(client, keys);
    plan->count = 2 + random_below(&client->random, 3);
    for (size_t i = 0; i < plan->count; i++)
        plan->items[i].key = keys[i];
}

static void draw_single(struct client *client, struct plan *plan)
{
    struct item *item = &plan->items[0];
    plan->count = 1;
    item->key = random_below(&client->random, TRANSACTION_KEYS);
    item->verb = plan->form == FORM_PUT ? VERB_PUT : plan->form == FORM_DELETE ? VERB_DELETE : VERB_CHECK;
    if (is_write(plan) && random_chance(&client->random, 40) &&
        (plan->form == FORM_PUT || client->seen[item->key]))
        want_seen(client, item);
    draw_value(client, item);
}

static void draw(struct client *client, struct plan *plan)
{
    static const unsigned weights[FORMS] = {45, 25, 12, 4, 14};
    size_t drawn = random_below(&client->random, 100);
    for (; drawn >= weights[plan->form]; plan->form++)
        drawn -= weights[plan->form];
    if (plan->form == FORM_TRANSACTION)
        draw_transaction(client, plan);
    else if (plan->form == FORM_VIEW)
        draw_view(client, plan);
    else
        draw_single(client, plan);
    if (is_write(plan) && random_chance(&client->random, 50))
        plan->idempotency = ++client->idempotency;
}

// --- all at once -------------------------------------------------------------------------------------------

static pthread_barrier_t start;

static void *run_client(void *argument)
{
    struct client *client = argument;
    for (client->round = 0; client->round < ROUNDS; client->round++) {
        memset(client->seen, 0, sizeof client->seen);
        pthread_barrier_wait(&start);
        for (size_t i = 0; i < CALLS; i++) {
            struct plan plan = {.form = FORM_TRANSACTION};
            draw(client, &plan);
            perform(client, &plan);
        }
    }
    return NULL;
}

static void run_all(struct client *clients, uint64_t seed)
{
    pthread_t threads[CLIENTS];
    pthread_barrier_init(&start, NULL, CLIENTS);
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i].number = i + 1;
        clients[i].random = random_seeded(seed, 300 + i);
        for (size_t j = 0; j < 2; j++)
            clients[i].replicas[j] = entry_client_new(replicas_port(j));
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    for (size_t i = 0; i < CLIENTS; i++) {
        entry_client_close(&clients[i].replicas[0]);
        entry_client_close(&clients[i].replicas[1]);
        ck_assert_msg(!*clients[i].wrong, "seed %" PRIu64 ", client %zu: %s", seed, i, clients[i].wrong);
    }
}

static void check_counts(const struct client *clients, uint64_t seed)
{
    static const char *const forms[FORMS] = {"transactions", "views", "put", "delete", "get"};
    size_t counts[FORMS][TRANSACTION_UNKNOWN + 1] = {{0}}, replays = 0, cuts = 0;
    printf("transactions, seed %" PRIu64 ": done, refused, unknown:", seed);
    for (size_t form = 0; form < FORMS; form++) {
        for (size_t i = 0; i < CLIENTS; i++)
            for (size_t outcome = 0; outcome <= TRANSACTION_UNKNOWN; outcome++)
                counts[form][outcome] += clients[i].outcomes[form][outcome];
        printf(" %s %zu %zu %zu", forms[form], counts[form][TRANSACTION_DONE],
               counts[form][TRANSACTION_REFUSED], counts[form][TRANSACTION_UNKNOWN]);
        ck_assert_uint_gt(counts[form][TRANSACTION_DONE], 0);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        replays += clients[i].replays;
        cuts += clients[i].cuts;
    }
    printf("; %zu cut off, %zu asked again\n", cuts, replays);
    fflush(stdout);
    ck_assert_uint_gt(counts[FORM_TRANSACTION][TRANSACTION_REFUSED], 0);
    ck_assert_uint_gt(cuts, 0);
    ck_assert_uint_gt(replays, 0);
}

START_TEST(concurrent_transactions_are_strictly_serializable)
{
    uint64_t seed = random_run_seed();
    struct client *clients = calloc(CLIENTS, sizeof *clients);
    struct transaction_call *calls = calloc((size_t)CLIENTS * CALLS * 2, sizeof *calls);
    ck_assert(clients && calls);
    run_all(clients, seed);
    check_counts(clients, seed);
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t count = 0;
        for (size_t i = 0; i < CLIENTS; i++)
            for (size_t j = 0; j < clients[i].counts[round]; j++)
                calls[count++] = clients[i].calls[round][j];
        ck_assert_msg(transactions_check(calls, count, BUDGET, stderr) == LINEAR_YES,
                      "seed %" PRIu64 ", round %zu: not strictly serializable", seed, round);
    }
    free(calls);
    free(clients);
}
END_TEST

Suite *transactions_suite(void)
{
    Suite *suite = suite_create("transactions");
    TCase *tcase = tcase_create("two replicas");
    tcase_set_timeout(tcase, 120);
    tcase_add_unchecked_fixture(tcase, replicas_start, replicas_stop);
    tcase_add_test(tcase, concurrent_transactions_are_strictly_serializable);
    suite_add_tcase(suite, tcase);
    return suite;
}
