// Each client has rows that only its forks write, all of them the same number; other rows take their place
// after a promotion whose outcome is not known. And all of them count in one entry, by promotions that must
// refuse when it has moved meanwhile.
#include "chaos/promoted.h"

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
    ANY = -1,
    CLIENTS = 3,
    ROWS = 4,         // of a fork
    MOST_SETS = 4096, // of rows, of one client
    PAUSE_MS = 20,
    BETWEEN_MS = 30, // two forks of a client, at most
    COUNTS_MS = 60,  // two steps of the count without a fork
};

#define BUCKET  "chaos-promoted"
#define COUNTED "/v1/buckets/chaos-counted/entries/count"

// The rows `client-set-0` to `client-set-3`.
struct set {
    size_t value;   // 0: absent
    size_t unknown; // may be there instead, when it is not 0
};

struct client {
    pthread_t thread;
    unsigned number;
    struct caller caller;
    int replica;      // that it asks, ANY: whichever
    struct set *sets; // the last is in use
    size_t last;
    size_t forks;
    size_t promoted, refused, discarded, doubtful, unknown, looks;
    char complaint[400]; // the first broken promise, empty while there is none
};

static struct {
    struct client clients[CLIENTS];
    struct client counter;
    size_t replicas;
    atomic_bool stopping;
    atomic_bool broken;
    atomic_llong counted; // for certain
    atomic_llong uncertain;
} promoted;

static bool is_over(void)
{
    return atomic_load(&promoted.stopping) || atomic_load(&promoted.broken);
}

static void complain(struct client *client, const char *what, const struct entry_reply *reply)
{
    if (!client->complaint[0])
        snprintf(client->complaint, sizeof client->complaint, "fork %zu of client %u: %s: %s", client->forks,
                 client->number, what, reply_in_short(reply, (char[REPLY_SHORT]){0}));
    atomic_store(&promoted.broken, true);
}

static void ask(struct client *client, const char *method, const char *target, const char *headers,
                const char *body, struct entry_reply *reply)
{
    struct entry_request request = {.method = method,
                                    .target = target,
                                    .body = bytes_of(body),
                                    .content_type = body[0] ? "application/json" : NULL,
                                    .headers = headers};
    if (client->replica == ANY)
        caller_ask(&client->caller, &request, reply);
    else
        caller_ask_at(&client->caller, (size_t)client->replica, &request, reply);
}

static void write_fork_target(const struct client *client, char target[80], const char *call)
{
    snprintf(target, 80, "/v1/forks/chaos-promoted-%u-%zu%s", client->number, client->forks, call);
}

// --- looking at the main data -----------------------------------------------------------------------------

// The number that all rows in a page hold, 0 when there are none; -1 when they are not all of a set.
static long long number_in(const struct entry_reply *reply)
{
    json_t *page = json_loadb((const char *)reply->body.data, reply->body.size, 0, NULL);
    json_t *rows = json_object_get(page, "entries");
    size_t count = json_array_size(rows);
    long long number = count ? json_integer_value(json_object_get(json_array_get(rows, 0), "value")) : 0;
    bool whole = json_is_array(rows) && (count == 0 || count == ROWS);
    for (size_t i = 0; whole && i < count; i++)
        whole = json_integer_value(json_object_get(json_array_get(rows, i), "value")) == number;
    json_decref(page);
    return whole ? number : -1;
}

// A set's rows are what they must be, in one page, through the fork in hand (`forked`) or in the main data.
static void look(struct client *client, size_t set, bool forked, struct entry_reply *reply)
{
    char target[160];
    const struct set *rows = &client->sets[set];
    snprintf(target, sizeof target, "/v1/buckets/" BUCKET "/entries?prefix=%u-%zu-", client->number, set);
    if (forked)
        snprintf(target + strlen(target), sizeof target - strlen(target), "&fork=chaos-promoted-%u-%zu",
                 client->number, client->forks);
    ask(client, "GET", target, NULL, "", reply);
    if (entry_reply_is_fault(reply))
        return;
    long long number = reply->status == 200 ? number_in(reply) : -1;
    client->looks++;
    if (forked && number != (long long)client->forks)
        complain(client, "a fork does not show what was written through it", reply);
    else if (!forked && number != (long long)rows->value &&
             !(rows->unknown && number == (long long)rows->unknown))
        complain(client, "the rows are not what was promoted last, or not all of them", reply);
}

// --- a fork -----------------------------------------------------------------------------------------------

// False when it cannot be told whether the fork has all of the writes, or any of them was refused.
static bool write_rows(struct client *client)
{
    for (int row = 0; row < ROWS; row++) {
        char target[160], body[40];
        struct entry_reply reply;
        snprintf(target, sizeof target, "/v1/buckets/" BUCKET "/entries/%u-%zu-%d?fork=chaos-promoted-%u-%zu",
                 client->number, client->last, row, client->number, client->forks);
        snprintf(body, sizeof body, "%zu", client->forks);
        ask(client, "PUT", target, NULL, body, &reply);
        if (entry_reply_is_fault(&reply))
            return false;
        if (reply.status != (client->sets[client->last].value ? 204 : 201))
            complain(client, "a write through a fork", &reply);
    }
    return !is_over();
}

static void read_count(struct client *client, const char *target, char version[ENTRY_VERSION_ROOM],
                       long long *count, struct entry_reply *reply)
{
    ask(client, "GET", target, NULL, "", reply);
    *count = reply->outcome == ENTRY_ANSWERED && reply->status == 200
                 ? strtoll((const char *)reply->body.data, NULL, 10)
                 : -1;
    snprintf(version, ENTRY_VERSION_ROOM, "%s", reply->version);
    if (!entry_reply_is_fault(reply) && *count < 0)
        complain(client, "reading the count", reply);
}

// Writes the next number if the count is still what it was; true when that was done. `reply` tells why not.
static bool count_on(struct client *client, const char *target, struct entry_reply *reply)
{
    char version[ENTRY_VERSION_ROOM], headers[100], body[40];
    long long count;
    read_count(client, target, version, &count, reply);
    if (count < 0) {
        reply->outcome = ENTRY_NOT_SENT; // the write
        return false;
    }
    snprintf(headers, sizeof headers, "If-Match: \"%s\"\r\n", version);
    snprintf(body, sizeof body, "%lld", count + 1);
    ask(client, "PUT", target, headers, body, reply);
    if (!entry_reply_is_fault(reply) && reply->status != 204 && reply->status != 412)
        complain(client, "counting", reply);
    return reply->outcome == ENTRY_ANSWERED && reply->status == 204;
}

static bool make_fork(struct client *client)
{
    char target[80];
    struct entry_reply reply;
    client->forks++;
    write_fork_target(client, target, "");
    ask(client, "PUT", target, NULL,
        "{\"kind\":\"continuous\",\"buckets\":[\"" BUCKET "\",\"chaos-counted\"]}", &reply);
    if (!entry_reply_is_fault(&reply) && reply.status != 201)
        complain(client, "a fork", &reply);
    return reply.outcome == ENTRY_ANSWERED && reply.status == 201;
}

enum end { END_PROMOTED, END_DISCARDED, END_UNKNOWN };

// Discards the fork, which settles a promotion that was tried without an answer: either the fork was still
// there, and nothing was or will be promoted, or it was not, and all was; unless an earlier discarding
// without an answer may be why.
static enum end discard(struct client *client, bool was_tried)
{
    char target[80];
    struct entry_reply reply;
    bool unknown = false;
    write_fork_target(client, target, "");
    for (;;) {
        ask(client, "DELETE", target, NULL, "", &reply);
        if (!entry_reply_is_fault(&reply))
            break;
        unknown |= reply_is_doubtful(&reply);
        if (is_over())
            return was_tried ? END_UNKNOWN : END_DISCARDED;
        clock_pause(PAUSE_MS);
    }
    if (reply.status == 200 && bytes_is(reply.body, "{\"discarded\":true}\n"))
        return END_DISCARDED;
    if (reply.status != 200 || (!was_tried && !unknown))
        complain(client, "discarding a fork", &reply);
    return !was_tried ? END_DISCARDED : unknown ? END_UNKNOWN : END_PROMOTED;
}

// How it ended. Only the count may have moved in the main data since the fork wrote it.
static enum end promote(struct client *client, bool counts)
{
    bool if_unchanged = counts || random_chance(&client->caller.random, 30);
    char target[80];
    struct entry_reply reply;
    write_fork_target(client, target, if_unchanged ? "/promote?if_unchanged=true" : "/promote");
    ask(client, "POST", target, NULL, "", &reply);
    if (reply.outcome == ENTRY_ANSWERED && reply.status == 200)
        return END_PROMOTED;
    if (reply_is_doubtful(&reply)) {
        client->doubtful++;
        return discard(client, true);
    }
    if (!entry_reply_is_fault(&reply)) {
        client->refused++;
        if (!counts || reply.status != 409)
            complain(client, "a promotion", &reply);
    }
    return discard(client, false);
}

static void note_end(struct client *client, enum end end, bool counts)
{
    struct set *set = &client->sets[client->last];
    if (end == END_PROMOTED) {
        set->value = client->forks;
        client->promoted++;
    } else if (end == END_DISCARDED) {
        client->discarded++;
    } else {
        set->unknown = client->forks;
        client->unknown++;
        client->last++;
    }
    if (counts && end != END_DISCARDED)
        atomic_fetch_add(end == END_PROMOTED ? &promoted.counted : &promoted.uncertain, 1);
}

// Writes rows, looks at them from both sides, perhaps counts, and ends the fork one way or another.
static void use_fork(struct client *client)
{
    char target[160];
    struct entry_reply reply;
    bool whole = write_rows(client), counts = false;
    snprintf(target, sizeof target, COUNTED "?fork=chaos-promoted-%u-%zu", client->number, client->forks);
    if (whole) {
        look(client, client->last, false, &reply);
        look(client, client->last, true, &reply);
    }
    if (whole && random_chance(&client->caller.random, 60)) {
        counts = count_on(client, target, &reply);
        whole = !entry_reply_is_fault(&reply); // a refused write is none of the fork's
    }
    if (whole && random_chance(&client->caller.random, 75))
        note_end(client, promote(client, counts), counts);
    else
        note_end(client, discard(client, false), false);
    look(client, client->last, false, &reply);
}

static void *run_client(void *argument)
{
    struct client *client = argument;
    while (!is_over() && client->last + 1 < MOST_SETS) {
        if (make_fork(client))
            use_fork(client);
        else
            clock_pause(PAUSE_MS);
        clock_pause((int)random_below(&client->caller.random, BETWEEN_MS + 1));
    }
    return NULL;
}

// Counts in the main data, so that forks see the count move, at times just when they are promoted.
static void *run_counter(void *argument)
{
    struct client *client = argument;
    while (!is_over()) {
        struct entry_reply reply;
        if (count_on(client, COUNTED, &reply))
            atomic_fetch_add(&promoted.counted, 1);
        else if (reply_is_doubtful(&reply))
            atomic_fetch_add(&promoted.uncertain, 1);
        clock_pause((int)random_below(&client->caller.random, COUNTS_MS));
    }
    return NULL;
}

// --- all --------------------------------------------------------------------------------------------------

void promoted_start(uint64_t seed, size_t replicas)
{
    struct entry_reply reply;
    promoted.replicas = replicas;
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &promoted.clients[i];
        client->number = i;
        client->replica = ANY;
        client->sets = calloc(MOST_SETS, sizeof *client->sets);
        ck_assert_ptr_nonnull(client->sets);
        caller_start(&client->caller, seed, 10200 + i, replicas);
    }
    ask(&promoted.clients[0], "PUT", COUNTED, NULL, "0", &reply);
    ck_assert_int_eq(reply.status, 201);
    ask(&promoted.clients[0], "PUT", "/v1/buckets/" BUCKET, NULL, "{}", &reply);
    ck_assert_int_eq(reply.status, 201);
    for (unsigned i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(pthread_create(&promoted.clients[i].thread, NULL, run_client, &promoted.clients[i]),
                         0);
    promoted.counter.number = CLIENTS;
    promoted.counter.replica = ANY;
    caller_start(&promoted.counter.caller, seed, 10200 + CLIENTS, replicas);
    ck_assert_int_eq(pthread_create(&promoted.counter.thread, NULL, run_counter, &promoted.counter), 0);
}

bool promoted_is_broken(void)
{
    return atomic_load(&promoted.broken);
}

static void verify(int replica)
{
    struct entry_reply reply;
    char version[ENTRY_VERSION_ROOM];
    long long count, counted = atomic_load(&promoted.counted), uncertain = atomic_load(&promoted.uncertain);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &promoted.clients[i];
        client->replica = replica;
        for (size_t set = 0; set <= client->last; set++) {
            look(client, set, false, &reply);
            ck_assert(!entry_reply_is_fault(&reply));
        }
        ck_assert_msg(!client->complaint[0], "%s", client->complaint);
    }
    read_count(&promoted.clients[0], COUNTED, version, &count, &reply);
    ck_assert_msg(count >= counted && count <= counted + uncertain,
                  "it is counted to %lld, by %lld steps acknowledged and %lld of unknown outcome", count,
                  counted, uncertain);
}

void promoted_finish(void)
{
    size_t done = 0, refused = 0, discarded = 0, doubtful = 0, unknown = 0, looks = 0;
    atomic_store(&promoted.stopping, true);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &promoted.clients[i];
        pthread_join(client->thread, NULL);
        done += client->promoted;
        refused += client->refused;
        discarded += client->discarded;
        doubtful += client->doubtful;
        unknown += client->unknown;
        looks += client->looks;
    }
    pthread_join(promoted.counter.thread, NULL);
    caller_end(&promoted.counter.caller);
    ck_assert_msg(!promoted.counter.complaint[0], "%s", promoted.counter.complaint);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_msg(!promoted.clients[i].complaint[0], "%s", promoted.clients[i].complaint);
    for (size_t i = 0; i < promoted.replicas; i++)
        verify((int)i);
    printf(
        "continuous forks: %zu promoted, %zu discarded; %zu promotions refused, %zu doubtful, %zu of them to "
        "the end; looked at %zu times; counted to %lld, %lld doubtful\n",
        done, discarded, refused, doubtful, unknown, looks, (long long)atomic_load(&promoted.counted),
        (long long)atomic_load(&promoted.uncertain));
    fflush(stdout);
    totals_add(TOTAL_PROMOTED, done);
    totals_add(TOTAL_DISCARDED, discarded);
    ck_assert_uint_gt(done, 0);
    for (int i = 0; i < CLIENTS; i++) {
        caller_end(&promoted.clients[i].caller);
        free(promoted.clients[i].sets);
    }
}
