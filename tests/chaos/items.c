// Each item is another number, put in once. Every so often all go on to other keys, so that a removal whose
// outcome is not known excuses no more than one missing item, and only among those of its round.
#include "chaos/items.h"

#include "chaos/caller.h"
#include "chaos/totals.h"
#include "support/clock.h"

#include <check.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CLIENTS = 4,
    KEYS = 4, // of a round; few, so that clients meet
    ROUND_MS = 500,
    MOST_ROUNDS = 16 * 1024,
    MOST_ITEMS = 256 * 1024, // of one client
    PAUSE_MS = 20,
    BETWEEN_MS = 4, // two calls of a client, at most
};

#define BUCKET "chaos-items"
#define COPIES "chaos-item-copies"

// What the client that put it in was told.
enum put { PUT_NONE, PUT_DONE, PUT_REFUSED, PUT_UNKNOWN };

struct item {
    uint16_t round;
    uint8_t put; // enum put; of its own client until all are joined
    atomic_bool out;
    _Atomic int64_t out_ns; // when whoever took it out had the answer, 0 before
    uint8_t there;          // how often it is found in the end
};

struct client {
    pthread_t thread;
    unsigned number;
    struct caller caller;
    struct item *items;
    atomic_size_t count;
    size_t copy; // another key after a copy whose outcome is not known
    size_t moves, copies;
    char complaint[400]; // the first broken promise, empty while there is none
};

static struct {
    struct client clients[CLIENTS];
    size_t replicas;
    int64_t began;
    atomic_bool stopping;
    atomic_bool broken;
    atomic_size_t unknown[MOST_ROUNDS]; // removals
} items;

static bool is_over(void)
{
    return atomic_load(&items.stopping) || atomic_load(&items.broken);
}

static void complain(struct client *client, const char *what, const struct entry_reply *reply)
{
    if (!client->complaint[0])
        snprintf(client->complaint, sizeof client->complaint, "%s: %s", what,
                 reply_in_short(reply, (char[REPLY_SHORT]){0}));
    atomic_store(&items.broken, true);
}

// A place for an item: which key of which round.
struct place {
    size_t round;
    size_t key;
};

// A body is an item, or the JSON that a call takes.
static void ask(struct client *client, const struct place *place, const char *call, const char *headers,
                const char *body, struct entry_reply *reply)
{
    char target[120];
    snprintf(target, sizeof target, "/v1/buckets/" BUCKET "/entries/%zu-%zu%s", place->round, place->key,
             call);
    caller_ask(&client->caller,
               &(struct entry_request){.method = call[0] ? "POST" : "PUT",
                                       .target = target,
                                       .body = bytes_of(body),
                                       .content_type = body[0] == '{' ? "application/json" : "text/plain",
                                       .headers = headers},
               reply);
}

// The item that an answer's text names; NULL when nobody made one of that name.
static struct item *item_of(struct bytes text)
{
    char copy[40];
    unsigned client;
    size_t number;
    snprintf(copy, sizeof copy, "%.*s", (int)(text.size < sizeof copy ? text.size : sizeof copy - 1),
             text.data ? (const char *)text.data : "");
    if (sscanf(copy, "%u-%zu", &client, &number) != 2 || client >= CLIENTS ||
        number >= atomic_load(&items.clients[client].count))
        return NULL;
    return &items.clients[client].items[number];
}

static void comes_out(struct client *client, const struct place *place, const struct entry_reply *reply)
{
    struct item *item = item_of(reply->body);
    if (!item)
        complain(client, "what came out is no item", reply);
    else if (item->round != place->round)
        complain(client, "an item of another round came out", reply);
    else if (atomic_exchange(&item->out, true))
        complain(client, "an item came out twice", reply);
    else
        atomic_store(&item->out_ns, clock_ns());
}

// --- calls ------------------------------------------------------------------------------------------------

// Names a new item; NULL when there were enough.
static struct item *make_item(struct client *client, const struct place *place, char name[40])
{
    size_t number = atomic_load(&client->count);
    if (number == MOST_ITEMS)
        return NULL;
    snprintf(name, 40, "%u-%zu", client->number, number);
    client->items[number].round = (uint16_t)place->round;
    atomic_store(&client->count, number + 1);
    return &client->items[number];
}

static void put_in(struct client *client, const struct place *place, struct entry_reply *reply)
{
    char name[40];
    struct item *item = make_item(client, place, name);
    if (!item)
        return;
    ask(client, place, "", "If-None-Match: *\r\n", name, reply);
    item->put = reply_is_doubtful(reply) ? PUT_UNKNOWN : reply->status == 201 ? PUT_DONE : PUT_REFUSED;
    if (!entry_reply_is_fault(reply) && reply->status != 201 && reply->status != 412)
        complain(client, "putting an item in", reply);
}

static void exchange(struct client *client, const struct place *place, struct entry_reply *reply)
{
    char name[40];
    struct item *item = make_item(client, place, name);
    if (!item)
        return;
    ask(client, place, "/exchange", NULL, name, reply);
    if (reply_is_doubtful(reply)) {
        item->put = PUT_UNKNOWN;
        atomic_fetch_add(&items.unknown[place->round], 1);
    } else if (entry_reply_is_fault(reply)) {
        item->put = PUT_REFUSED;
    } else if (reply->status == 200 || reply->status == 204) {
        item->put = PUT_DONE;
        if (reply->status == 200)
            comes_out(client, place, reply);
    } else {
        complain(client, "an exchange", reply);
    }
}

static void take(struct client *client, const struct place *place, struct entry_reply *reply)
{
    ask(client, place, "/take", NULL, "", reply);
    if (reply_is_doubtful(reply))
        atomic_fetch_add(&items.unknown[place->round], 1);
    else if (reply->status == 200)
        comes_out(client, place, reply);
    else if (!entry_reply_is_fault(reply) && reply->status != 404)
        complain(client, "a take", reply);
}

// To a key where nothing is, so that no item goes by being written over.
static void move(struct client *client, const struct place *place, struct entry_reply *reply)
{
    char body[60];
    size_t key = (place->key + 1 + random_below(&client->caller.random, KEYS - 1)) % KEYS;
    snprintf(body, sizeof body, "{\"to_key\":\"%zu-%zu\"}", place->round, key);
    ask(client, place, "/move", "If-None-Match: *\r\n", body, reply);
    client->moves += reply->status == 200;
    if (!entry_reply_is_fault(reply) && reply->status != 200 && reply->status != 404 && reply->status != 412)
        complain(client, "a move", reply);
}

// What is copied was there: it had not come out when the copy was asked for.
static void look_at_copy(struct client *client, const char *version, int64_t sent, struct entry_reply *reply)
{
    char target[100];
    snprintf(target, sizeof target, "/v1/buckets/" COPIES "/entries/%u-%zu", client->number, client->copy);
    caller_ask(&client->caller, &(struct entry_request){.method = "GET", .target = target}, reply);
    if (entry_reply_is_fault(reply))
        return;
    struct item *item = item_of(reply->body);
    int64_t out_ns = item ? atomic_load(&item->out_ns) : 0;
    if (reply->status != 200 || strcmp(reply->version, version) != 0 || !item)
        complain(client, "what was copied", reply);
    else if (out_ns && out_ns < sent)
        complain(client, "an item was copied that had come out before", reply);
    client->copies++;
}

static void copy(struct client *client, const struct place *place, struct entry_reply *reply)
{
    char body[100], version[ENTRY_VERSION_ROOM];
    int64_t sent = clock_ns();
    snprintf(body, sizeof body, "{\"to_bucket\":\"" COPIES "\",\"to_key\":\"%u-%zu\"}", client->number,
             client->copy);
    ask(client, place, "/copy", NULL, body, reply);
    if (reply_is_doubtful(reply))
        client->copy++;
    else if (reply->status == 200 && entry_reply_member(reply, "version", version))
        look_at_copy(client, version, sent, reply);
    else if (!entry_reply_is_fault(reply) && reply->status != 404)
        complain(client, "a copy", reply);
}

static const struct {
    unsigned weight; // of 100
    void (*run)(struct client *client, const struct place *place, struct entry_reply *reply);
} calls[] = {{20, put_in}, {20, exchange}, {25, take}, {25, move}, {10, copy}};

static void *run_client(void *argument)
{
    struct client *client = argument;
    while (!is_over()) {
        struct place place = {(size_t)((clock_ms() - items.began) / ROUND_MS),
                              random_below(&client->caller.random, KEYS)};
        struct entry_reply reply = {.outcome = ENTRY_NOT_SENT};
        size_t chance = random_below(&client->caller.random, 100), call = 0;
        if (place.round >= MOST_ROUNDS)
            break;
        for (; chance >= calls[call].weight; call++)
            chance -= calls[call].weight;
        calls[call].run(client, &place, &reply);
        clock_pause(entry_reply_is_fault(&reply) ? PAUSE_MS
                                                 : (int)random_below(&client->caller.random, BETWEEN_MS + 1));
    }
    return NULL;
}

// --- all --------------------------------------------------------------------------------------------------

void items_start(uint64_t seed, size_t replicas)
{
    items.replicas = replicas;
    items.began = clock_ms();
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &items.clients[i];
        client->number = i;
        client->items = calloc(MOST_ITEMS, sizeof *client->items);
        ck_assert_ptr_nonnull(client->items);
        caller_start(&client->caller, seed, 10000 + i, replicas);
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(pthread_create(&items.clients[i].thread, NULL, run_client, &items.clients[i]), 0);
}

bool items_are_broken(void)
{
    return atomic_load(&items.broken);
}

static void count_page(json_t *entries)
{
    for (size_t i = 0; i < json_array_size(entries); i++) {
        json_t *entry = json_array_get(entries, i);
        const char *text = json_string_value(json_object_get(entry, "text"));
        struct item *item = text ? item_of(bytes_of(text)) : NULL;
        ck_assert_msg(item != NULL, "what remains is no item: %s", text ? text : "no text");
        item->there++;
        ck_assert_msg(item->there == 1 && !atomic_load(&item->out), "item %s %s", text,
                      item->there > 1 ? "is there twice" : "came out and is there");
    }
}

// Counts what all keys hold, by way of one replica.
static void count_remaining(size_t replica)
{
    struct entry_client connection = entry_client_new(load_port(replica));
    char target[700] = "/v1/buckets/" BUCKET "/entries?limit=1000";
    for (bool more = true; more;) {
        struct entry_reply reply;
        entry_client_ask(&connection, &(struct entry_request){.method = "GET", .target = target}, &reply);
        ck_assert_int_eq(reply.status, 200);
        json_t *page = json_loadb((const char *)reply.body.data, reply.body.size, 0, NULL);
        const char *cursor = json_string_value(json_object_get(page, "cursor"));
        count_page(json_object_get(page, "entries"));
        more = cursor != NULL;
        if (more)
            snprintf(target, sizeof target, "/v1/buckets/" BUCKET "/entries?limit=1000&cursor=%s", cursor);
        json_decref(page);
    }
    entry_client_close(&connection);
}

struct sums {
    size_t in, out, there, missing, unknown, exact; // exact: rounds without an unknown removal
};

static void account_for(struct item *item, const char *name, size_t missing[MOST_ROUNDS], struct sums *sums)
{
    bool out = atomic_load(&item->out);
    ck_assert_msg(item->put != PUT_REFUSED || (!out && !item->there), "item %s was refused, and %s", name,
                  out ? "came out" : "is there");
    bool lost = item->put == PUT_DONE && !out && !item->there;
    missing[item->round] += lost;
    sums->missing += lost;
    sums->in += item->put == PUT_DONE;
    sums->out += out;
    sums->there += item->there;
    item->there = 0;
}

// What was put in and neither came out nor remains must have gone by a removal that nobody heard of.
static void balance(size_t replica, struct sums *sums)
{
    static size_t missing[MOST_ROUNDS];
    memset(missing, 0, sizeof missing);
    *sums = (struct sums){0};
    count_remaining(replica);
    for (int i = 0; i < CLIENTS; i++) {
        size_t count = atomic_load(&items.clients[i].count);
        for (size_t j = 0; j < count; j++) {
            char name[40];
            snprintf(name, sizeof name, "%d-%zu", i, j);
            account_for(&items.clients[i].items[j], name, missing, sums);
        }
    }
    size_t rounds = (size_t)((clock_ms() - items.began) / ROUND_MS);
    for (size_t i = 0; i <= rounds && i < MOST_ROUNDS; i++) {
        size_t unknown = atomic_load(&items.unknown[i]);
        ck_assert_msg(missing[i] <= unknown,
                      "in round %zu %zu items are missing, of %zu removals the outcome is unknown", i,
                      missing[i], unknown);
        sums->unknown += unknown;
        sums->exact += unknown == 0;
    }
}

void items_finish(void)
{
    size_t moves = 0, copies = 0;
    struct sums sums = {0};
    atomic_store(&items.stopping, true);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &items.clients[i];
        pthread_join(client->thread, NULL);
        caller_end(&client->caller);
        moves += client->moves;
        copies += client->copies;
    }
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_msg(!items.clients[i].complaint[0], "%s", items.clients[i].complaint);
    for (size_t i = 0; i < items.replicas; i++)
        balance(i, &sums);
    printf("items: %zu put in, %zu came out, %zu remain, %zu missing by %zu removals of unknown outcome; %zu "
           "rounds without one; %zu moves, %zu copies\n",
           sums.in, sums.out, sums.there, sums.missing, sums.unknown, sums.exact, moves, copies);
    fflush(stdout);
    totals_add(TOTAL_ITEMS, sums.in);
    totals_add(TOTAL_MOVES, moves);
    ck_assert_uint_gt(sums.out, 0);
    ck_assert_uint_gt(moves, 0);
    for (int i = 0; i < CLIENTS; i++)
        free(items.clients[i].items);
}
