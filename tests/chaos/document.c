// A member of the document has one writer, and another one takes its place after a change whose outcome is
// not known: each holds one number for certain, or one of two. Whoever swaps writes a number never used
// before, so that from the last one all swaps can be followed back to the first.
#include "chaos/document.h"

#include "chaos/caller.h"
#include "chaos/totals.h"
#include "support/clock.h"

#include <check.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENTS = 4,
    MOST_MEMBERS = 4096,     // of one client
    MOST_SWAPS = 256 * 1024, // of one client, tried
    MOST_SUMS = 2048 * 1024,
    SWAPS = 4,                    // tried one after the other
    FIRST = CLIENTS * MOST_SWAPS, // the number that the first swap finds
    PAUSE_MS = 20,
    BETWEEN_MS = 6, // two calls of a client, at most
};

#define DOCUMENT "/v1/buckets/chaos-document/entries/document"
#define SUM      "/v1/buckets/chaos-sum/entries/sum"
#define SWAPPED  "/v1/buckets/chaos-swapped/entries/value"
#define JSON     "application/json"

struct member {
    long long value;
    bool unknown; // then it may be one more
};

struct swap {
    int expected;
    enum { SWAP_REFUSED, SWAP_DONE, SWAP_UNKNOWN } end;
};

struct client {
    pthread_t thread;
    unsigned number;
    struct caller caller;
    struct member *members; // the last is in use
    size_t last;
    struct swap *swaps; // to the number MOST_SWAPS * client + place
    int swap_count;
    int current; // of the swapped value, as it heard of it last
    long long sum;
    size_t changes, reads, done;
    char complaint[400]; // the first broken promise, empty while there is none
};

// What all of them did to one number.
struct tally {
    atomic_llong asked;
    atomic_llong done; // for certain
    atomic_llong unknown;
};

static struct {
    struct client clients[CLIENTS];
    size_t replicas;
    atomic_bool stopping;
    atomic_bool broken;
    struct tally increments; // of the document's member `all`
    struct tally adds;
    atomic_bool *sums;                   // answered, by number
    atomic_bool swapped_from[FIRST + 1]; // by an acknowledged swap
} document;

static bool is_over(void)
{
    return atomic_load(&document.stopping) || atomic_load(&document.broken);
}

static void complain(struct client *client, const char *what, long long number,
                     const struct entry_reply *reply)
{
    if (!client->complaint[0])
        snprintf(client->complaint, sizeof client->complaint, "%s, client %u, %lld: %s", what, client->number,
                 number, reply_in_short(reply, (char[REPLY_SHORT]){0}));
    atomic_store(&document.broken, true);
}

static void ask(struct client *client, const char *method, const char *target, const char *type,
                const char *body, struct entry_reply *reply)
{
    caller_ask(&client->caller,
               &(struct entry_request){
                   .method = method, .target = target, .body = bytes_of(body), .content_type = type},
               reply);
}

static void note(struct tally *tally, const struct entry_reply *reply)
{
    if (reply_is_doubtful(reply))
        atomic_fetch_add(&tally->unknown, 1);
    else if (reply->status == 200)
        atomic_fetch_add(&tally->done, 1);
}

static void check_tally(const struct tally *tally, const char *name, long long there)
{
    long long done = atomic_load(&tally->done), unknown = atomic_load(&tally->unknown);
    ck_assert_msg(there >= done && there <= done + unknown,
                  "%s is %lld after %lld acknowledged and %lld of unknown outcome", name, there, done,
                  unknown);
}

// --- the document -----------------------------------------------------------------------------------------

static struct member *member_of(const struct client *client)
{
    return &client->members[client->last];
}

static void note_change(struct client *client, int expected, const struct entry_reply *reply)
{
    if (reply_is_doubtful(reply)) {
        member_of(client)->unknown = true;
        client->last++;
    } else if (reply->outcome == ENTRY_ANSWERED && reply->status == expected) {
        member_of(client)->value++;
        client->changes++;
    } else if (!entry_reply_is_fault(reply)) {
        complain(client, "a change of the document", expected, reply);
    }
}

static void patch(struct client *client, struct entry_reply *reply)
{
    char body[80];
    snprintf(body, sizeof body, "{\"%u-%zu\":%lld}", client->number, client->last,
             member_of(client)->value + 1);
    ask(client, "PATCH", DOCUMENT, "application/merge-patch+json", body, reply);
    note_change(client, 204, reply);
}

static void upsert_set(struct client *client, struct entry_reply *reply)
{
    char body[120];
    snprintf(body, sizeof body, "{\"insert\":{},\"update\":{\"set\":{\"%u-%zu\":%lld}}}", client->number,
             client->last, member_of(client)->value + 1);
    ask(client, "POST", DOCUMENT "/upsert", JSON, body, reply);
    note_change(client, 200, reply);
}

static void upsert_increment(struct client *client, struct entry_reply *reply)
{
    char body[120];
    snprintf(body, sizeof body, "{\"insert\":{},\"update\":{\"increment\":{\"%u-%zu\":1,\"all\":1}}}",
             client->number, client->last);
    atomic_fetch_add(&document.increments.asked, 1);
    ask(client, "POST", DOCUMENT "/upsert", JSON, body, reply);
    note(&document.increments, reply);
    note_change(client, 200, reply);
}

// `members` up to the last are as they must be in a document.
static void check_members(struct client *client, json_t *members, const struct entry_reply *reply)
{
    for (size_t i = 0; i <= client->last; i++) {
        char name[40];
        const struct member *member = &client->members[i];
        snprintf(name, sizeof name, "%u-%zu", client->number, i);
        long long value = json_integer_value(json_object_get(members, name));
        if (value != member->value && !(member->unknown && value == member->value + 1))
            complain(client, "a member of the document is not what it was set to", value, reply);
    }
}

static void read_document(struct client *client, struct entry_reply *reply)
{
    long long least = atomic_load(&document.increments.done);
    ask(client, "GET", DOCUMENT, NULL, "", reply);
    if (entry_reply_is_fault(reply))
        return;
    long long most = atomic_load(&document.increments.asked);
    json_t *members =
        reply->status == 200 ? json_loadb((const char *)reply->body.data, reply->body.size, 0, NULL) : NULL;
    long long all = json_integer_value(json_object_get(members, "all"));
    if (!json_is_object(members) || all < least || all > most)
        complain(client, "what all of them incremented is not between what was done and asked for", least,
                 reply);
    check_members(client, members, reply);
    json_decref(members);
    client->reads++;
}

// --- the sum and the swapped value ------------------------------------------------------------------------

static void add(struct client *client, struct entry_reply *reply)
{
    long long sum;
    ask(client, "POST", SUM "/add", JSON, "{\"by\":1}", reply);
    note(&document.adds, reply);
    if (entry_reply_is_fault(reply))
        return;
    if (reply->status != 200 || sscanf((const char *)reply->body.data, "{\"value\":%lld,", &sum) != 1 ||
        sum <= client->sum || sum >= MOST_SUMS)
        complain(client, "a sum that does not grow", client->sum, reply);
    else if (atomic_exchange(&document.sums[sum], true))
        complain(client, "two adds were answered the same sum", sum, reply);
    else
        client->sum = sum;
}

static void hear_of(struct client *client, const struct entry_reply *reply)
{
    json_t *members = json_loadb((const char *)reply->body.data, reply->body.size, 0, NULL);
    json_t *number = json_object_get(json_object_get(members, "current"), "n");
    if (json_is_integer(number) && json_integer_value(number) >= 0 && json_integer_value(number) <= FIRST)
        client->current = (int)json_integer_value(number);
    else
        complain(client, "a compare-and-set", client->current, reply);
    json_decref(members);
}

// False when another value was there, which is expected from now on.
static bool try_swap(struct client *client, struct entry_reply *reply)
{
    char body[100];
    static const char yes[] = "{\"swapped\":true,";
    int place = client->swap_count++, expected = client->current;
    int wanted = (int)client->number * MOST_SWAPS + place;
    client->swaps[place].expected = expected;
    snprintf(body, sizeof body, "{\"expected\":{\"n\":%d},\"value\":{\"n\":%d}}", expected, wanted);
    ask(client, "POST", SWAPPED "/compare-and-set", JSON, body, reply);
    if (reply_is_doubtful(reply))
        client->swaps[place].end = SWAP_UNKNOWN;
    if (entry_reply_is_fault(reply))
        return true;
    hear_of(client, reply);
    if (reply->body.size < sizeof yes || memcmp(reply->body.data, yes, sizeof yes - 1) != 0)
        return atomic_load(&document.broken);
    client->swaps[place].end = SWAP_DONE;
    client->done++;
    if (atomic_exchange(&document.swapped_from[expected], true) || client->current != wanted)
        complain(client, "two swaps from one value were done", expected, reply);
    return true;
}

static void compare_and_set(struct client *client, struct entry_reply *reply)
{
    bool done = false;
    for (int i = 0; i < SWAPS && !done && client->swap_count < MOST_SWAPS; i++)
        done = try_swap(client, reply);
}

// Every acknowledged swap is one of those that led to this number.
static void follow_back(int number)
{
    size_t done = 0, met = 0;
    for (int i = 0; i < CLIENTS; i++)
        done += document.clients[i].done;
    for (size_t steps = 0; number != FIRST; steps++) {
        ck_assert_msg(number >= 0 && number < FIRST, "the value %d is nobody's", number);
        struct client *client = &document.clients[number / MOST_SWAPS];
        int place = number % MOST_SWAPS;
        ck_assert_msg(place < client->swap_count && client->swaps[place].end != SWAP_REFUSED,
                      "the value %d is there, but its swap was refused", number);
        ck_assert_uint_lt(steps, (size_t)CLIENTS * MOST_SWAPS);
        met += client->swaps[place].end == SWAP_DONE;
        number = client->swaps[place].expected;
    }
    ck_assert_msg(met == done, "of %zu acknowledged swaps %zu led to the value that is there", done, met);
}

// --- all --------------------------------------------------------------------------------------------------

static const struct {
    unsigned weight; // of 100
    void (*run)(struct client *client, struct entry_reply *reply);
} calls[] = {{25, patch},         {10, upsert_set}, {20, upsert_increment},
             {10, read_document}, {15, add},        {20, compare_and_set}};

static void *run_client(void *argument)
{
    struct client *client = argument;
    while (!is_over() && client->last + 1 < MOST_MEMBERS) {
        struct entry_reply reply = {.outcome = ENTRY_NOT_SENT};
        size_t chance = random_below(&client->caller.random, 100), call = 0;
        for (; chance >= calls[call].weight; call++)
            chance -= calls[call].weight;
        calls[call].run(client, &reply);
        clock_pause(entry_reply_is_fault(&reply) ? PAUSE_MS
                                                 : (int)random_below(&client->caller.random, BETWEEN_MS + 1));
    }
    return NULL;
}

static void make(const char *target, const char *type, const char *body)
{
    struct entry_reply reply;
    ask(&document.clients[0], "PUT", target, type, body, &reply);
    ck_assert_msg(reply.outcome == ENTRY_ANSWERED && reply.status == 201, "%s: %d", target, reply.status);
}

void document_start(uint64_t seed, size_t replicas)
{
    char first[40];
    document.replicas = replicas;
    document.sums = calloc(MOST_SUMS, sizeof *document.sums);
    ck_assert_ptr_nonnull(document.sums);
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &document.clients[i];
        client->number = i;
        client->current = FIRST;
        client->members = calloc(MOST_MEMBERS, sizeof *client->members);
        client->swaps = calloc(MOST_SWAPS, sizeof *client->swaps);
        ck_assert(client->members && client->swaps);
        caller_start(&client->caller, seed, 10100 + i, replicas);
    }
    make("/v1/buckets/chaos-sum", JSON, "{\"type\":\"int\"}");
    make("/v1/buckets/chaos-document", JSON, "{\"type\":\"json\"}");
    make(DOCUMENT, JSON, "{\"all\":0}");
    snprintf(first, sizeof first, "{\"n\":%d}", FIRST);
    make(SWAPPED, JSON, first);
    for (unsigned i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(pthread_create(&document.clients[i].thread, NULL, run_client, &document.clients[i]),
                         0);
}

bool document_is_broken(void)
{
    return atomic_load(&document.broken);
}

// What one replica reads at the target, which the caller lets go of.
static json_t *read_at(size_t replica, const char *target)
{
    struct entry_client connection = entry_client_new(load_port(replica));
    struct entry_reply reply;
    entry_client_ask(&connection, &(struct entry_request){.method = "GET", .target = target}, &reply);
    ck_assert_int_eq(reply.status, 200);
    json_t *read = json_loadb((const char *)reply.body.data, reply.body.size, JSON_DECODE_ANY, NULL);
    ck_assert_ptr_nonnull(read);
    entry_client_close(&connection);
    return read;
}

static void verify(size_t replica)
{
    struct entry_reply none = {0};
    json_t *members = read_at(replica, DOCUMENT), *sum = read_at(replica, SUM),
           *swapped = read_at(replica, SWAPPED);
    check_tally(&document.increments, "what all of them incremented",
                json_integer_value(json_object_get(members, "all")));
    check_tally(&document.adds, "the sum", json_integer_value(sum));
    for (int i = 0; i < CLIENTS; i++) {
        check_members(&document.clients[i], members, &none);
        ck_assert_msg(!document.clients[i].complaint[0], "%s", document.clients[i].complaint);
    }
    follow_back((int)json_integer_value(json_object_get(swapped, "n")));
    json_decref(members);
    json_decref(sum);
    json_decref(swapped);
}

void document_finish(void)
{
    size_t changes = 0, reads = 0, done = 0, tried = 0;
    atomic_store(&document.stopping, true);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &document.clients[i];
        pthread_join(client->thread, NULL);
        caller_end(&client->caller);
        changes += client->changes;
        reads += client->reads;
        done += client->done;
        tried += (size_t)client->swap_count;
    }
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_msg(!document.clients[i].complaint[0], "%s", document.clients[i].complaint);
    for (size_t i = 0; i < document.replicas; i++)
        verify(i);
    printf("document: %zu changes, read %zu times; %lld adds; %zu of %zu swaps done\n", changes, reads,
           (long long)atomic_load(&document.adds.done), done, tried);
    fflush(stdout);
    totals_add(TOTAL_DOCUMENT, changes);
    totals_add(TOTAL_SWAPS, done);
    ck_assert_uint_gt(changes, 0);
    ck_assert_uint_gt(done, 0);
    for (int i = 0; i < CLIENTS; i++) {
        free(document.clients[i].members);
        free(document.clients[i].swaps);
    }
    free(document.sums);
}
