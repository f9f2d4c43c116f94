// Each pass says when its window ends and the how manyth in it it was, by the database's clock: no two passes
// say the same, and windows of one gate are a length apart, however slow the machine is.
#include "chaos/gates.h"

#include "chaos/caller.h"
#include "chaos/totals.h"
#include "support/clock.h"

#include <check.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CLIENTS = 4,
    MOST = 3, // in a window
    WINDOW_US = 100 * 1000,
    GATE_MS = 1000,           // how long one is used, so that there are many first uses
    MOST_PASSES = 256 * 1024, // of one client
    PAUSE_MS = 20,
    BETWEEN_MS = 8, // two calls of a client, at most
    ROUNDING_US = 5000,
};

struct pass {
    int64_t gate;
    int64_t ends_us; // its window
    int64_t place;   // in the window, from 1
};

struct client {
    pthread_t thread;
    struct caller caller;
    struct pass *passes;
    size_t count, refused;
    char complaint[300]; // the first broken promise, empty while there is none
};

static struct {
    struct client clients[CLIENTS];
    int64_t began;
    atomic_bool stopping;
    atomic_bool broken;
} gates;

static void complain(struct client *client, const char *what, const struct entry_reply *reply)
{
    if (!client->complaint[0])
        snprintf(client->complaint, sizeof client->complaint, "%s: %s", what,
                 reply_in_short(reply, (char[REPLY_SHORT]){0}));
    atomic_store(&gates.broken, true);
}

// What a reply says of the window; false when it is none.
static bool read_window(const struct entry_reply *reply, bool *ok, struct pass *pass)
{
    json_t *object = json_loadb((const char *)reply->body.data, reply->body.size, 0, NULL);
    const char *end = json_string_value(json_object_get(object, "resets_at"));
    *ok = json_is_true(json_object_get(object, "ok"));
    pass->place = json_integer_value(json_object_get(object, "current"));
    pass->ends_us = end ? clock_parse_us(end) : 0;
    json_decref(object);
    return pass->ends_us != 0;
}

static void pass_through(struct client *client, struct entry_reply *reply)
{
    char target[80];
    bool ok;
    struct pass pass = {.gate = (clock_ms() - gates.began) / GATE_MS};
    int64_t sent = clock_real_us();
    snprintf(target, sizeof target, "/v1/rate-gates/chaos-gates/%" PRId64 "/check", pass.gate);
    caller_ask(&client->caller,
               &(struct entry_request){.method = "POST",
                                       .target = target,
                                       .body = bytes_of("{\"max\":3,\"window\":\"100ms\"}"),
                                       .content_type = "application/json"},
               reply);
    if (entry_reply_is_fault(reply))
        return;
    if (reply->status != 200 || !read_window(reply, &ok, &pass))
        complain(client, "a gate", reply);
    else if (pass.ends_us <= sent - ROUNDING_US || pass.ends_us > clock_real_us() + WINDOW_US + ROUNDING_US)
        complain(client, "a window that was not open when the gate was asked", reply);
    else if (pass.place < 1 || pass.place > MOST || (!ok && pass.place != MOST))
        complain(client, "a gate that counts wrong", reply);
    else if (ok)
        client->passes[client->count++] = pass;
    else
        client->refused++;
}

static void *run_client(void *argument)
{
    struct client *client = argument;
    while (!atomic_load(&gates.stopping) && !atomic_load(&gates.broken) && client->count < MOST_PASSES) {
        struct entry_reply reply;
        pass_through(client, &reply);
        clock_pause(entry_reply_is_fault(&reply) ? PAUSE_MS
                                                 : (int)random_below(&client->caller.random, BETWEEN_MS + 1));
    }
    return NULL;
}

void gates_start(uint64_t seed, size_t replicas)
{
    gates.began = clock_ms();
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &gates.clients[i];
        client->passes = calloc(MOST_PASSES, sizeof *client->passes);
        ck_assert_ptr_nonnull(client->passes);
        caller_start(&client->caller, seed, 10300 + i, replicas);
        ck_assert_int_eq(pthread_create(&client->thread, NULL, run_client, client), 0);
    }
}

bool gates_are_broken(void)
{
    return atomic_load(&gates.broken);
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_passes(const void *a, const void *b)
{
    const struct pass *left = a, *right = b;
    int order = compare(left->gate, right->gate);
    order = order ? order : compare(left->ends_us, right->ends_us);
    return order ? order : compare(left->place, right->place);
}

// Gives how many windows there were.
static size_t check_passes(size_t count)
{
    struct pass *all = calloc(count ? count : 1, sizeof *all);
    ck_assert_ptr_nonnull(all);
    size_t used = 0, windows = 0;
    for (int i = 0; i < CLIENTS; i++) {
        memcpy(all + used, gates.clients[i].passes, gates.clients[i].count * sizeof *all);
        used += gates.clients[i].count;
    }
    qsort(all, used, sizeof *all, compare_passes);
    for (size_t i = 0; i < used; i++) {
        const struct pass *last = i ? &all[i - 1] : NULL, *pass = &all[i];
        bool follows = last && last->gate == pass->gate, same = follows && last->ends_us == pass->ends_us;
        ck_assert_msg(!same || last->place < pass->place,
                      "gate %" PRId64 " let two through as number %" PRId64, pass->gate, pass->place);
        ck_assert_msg(!follows || same || pass->ends_us - last->ends_us >= WINDOW_US,
                      "gate %" PRId64 " began a window %" PRId64 " us after the last one", pass->gate,
                      pass->ends_us - last->ends_us);
        windows += !same;
    }
    free(all);
    return windows;
}

void gates_finish(void)
{
    size_t count = 0, refused = 0;
    atomic_store(&gates.stopping, true);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &gates.clients[i];
        pthread_join(client->thread, NULL);
        caller_end(&client->caller);
        count += client->count;
        refused += client->refused;
    }
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_msg(!gates.clients[i].complaint[0], "%s", gates.clients[i].complaint);
    size_t windows = check_passes(count);
    printf("rate gates: %zu passes in %zu windows, %zu refused\n", count, windows, refused);
    fflush(stdout);
    totals_add(TOTAL_PASSES, count);
    ck_assert_uint_gt(count, 0);
    for (int i = 0; i < CLIENTS; i++)
        free(gates.clients[i].passes);
}
