// Two or three replicas on one PostgreSQL under a load of everything, while they, their clients, the network
// and the disk are treated badly at random.
#include "chaos/caller.h"
#include "chaos/document.h"
#include "chaos/expiring.h"
#include "chaos/faults.h"
#include "chaos/frozen.h"
#include "chaos/gates.h"
#include "chaos/histories.h"
#include "chaos/holders.h"
#include "chaos/items.h"
#include "chaos/keyed.h"
#include "chaos/levels.h"
#include "chaos/limits.h"
#include "chaos/linked.h"
#include "chaos/load.h"
#include "chaos/once.h"
#include "chaos/order.h"
#include "chaos/promoted.h"
#include "chaos/stopped.h"
#include "chaos/suites.h"
#include "chaos/totals.h"
#include "chaos/transfers.h"
#include "chaos/waits.h"
#include "support/check_main.h"
#include "support/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT_MS = 8 * 1000, // of faults, when --minutes does not say more
    RECOVERY_MS = 20 * 1000,
    QUIET_MS = 250, // between two faults
    WARM_UP_MS = 1500,
    MOST_FAULTS = 32,
};

// Clients that run beside the load and check what they are told.
static const struct {
    void (*start)(uint64_t seed, size_t replicas);
    bool (*is_broken)(void);
    void (*finish)(void);
} companies[] = {
    {stopped_start, stopped_is_broken, stopped_finish}, // processes, before there are threads
    {keyed_start, keyed_is_broken, keyed_finish},
    {once_start, once_is_broken, once_finish},
    {limits_start, limits_are_broken, limits_finish},
    {transfers_start, transfers_are_broken, transfers_finish},
    {waits_start, waits_are_broken, waits_finish},
    {frozen_start, frozen_is_broken, frozen_finish},
    {holders_start, holders_are_broken, holders_finish},
    {order_start, order_is_broken, order_finish},
    {expiring_start, expiring_is_broken, expiring_finish},
    {histories_start, histories_are_broken, histories_finish},
    {document_start, document_is_broken, document_finish},
    {items_start, items_are_broken, items_finish},
    {promoted_start, promoted_is_broken, promoted_finish},
    {gates_start, gates_are_broken, gates_finish},
    {linked_start, linked_is_broken, linked_finish},
};

enum { COMPANIES = sizeof companies / sizeof companies[0] };

static bool is_broken(void)
{
    bool broken = load_is_broken();
    for (size_t i = 0; i < COMPANIES; i++)
        broken |= companies[i].is_broken();
    return broken;
}

// All replicas must do writes again, on their own.
static void await_recovery(const struct scene *scene, const char *fault)
{
    int64_t start = clock_ms();
    for (size_t i = 0; i < scene->count; i++)
        ck_assert_msg(load_await_writes(i, RECOVERY_MS), "replica %zu does no writes %d ms after: %s", i,
                      RECOVERY_MS, fault);
    printf("  %s: all write again after %" PRId64 " ms\n", fault, clock_ms() - start);
    fflush(stdout);
}

static void shuffle(size_t order[MOST_FAULTS], size_t count, struct random *random)
{
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = random_below(random, i + 1);
        size_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

// Every fault at least once, then on until the time is up. Gives how many.
static size_t make_faults(struct scene *scene, int64_t until)
{
    size_t order[MOST_FAULTS], made = 0, count = fault_count(scene);
    ck_assert_uint_le(count, MOST_FAULTS);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    bool all_made = false;
    do {
        shuffle(order, count, &scene->random);
        for (size_t i = 0; i < count && !is_broken() && (!all_made || clock_ms() < until); i++) {
            faults[order[i]].run(scene);
            totals_add_fault(faults[order[i]].name);
            await_recovery(scene, faults[order[i]].name);
            clock_pause(QUIET_MS);
            made++;
        }
        all_made = true;
    } while (clock_ms() < until && !is_broken());
    return made;
}

// As the environment's HOLDFAST_REPLICAS says.
static size_t replicas_wanted(void)
{
    const char *text = getenv("HOLDFAST_REPLICAS");
    int wanted = text ? atoi(text) : 2;
    ck_assert_msg(wanted >= 1 && wanted <= LOAD_REPLICAS, "%d replicas are wanted", wanted);
    return (size_t)wanted;
}

// Those that the load and the transfers use, in part; their values pass through other code.
static void encrypt_a_part(uint64_t seed, size_t replicas)
{
    static const char *const buckets[] = {"chaos-0", "chaos-accounts"};
    struct caller caller;
    caller_start(&caller, seed, 9900, replicas);
    for (size_t i = 0; i < sizeof buckets / sizeof buckets[0]; i++) {
        char target[80];
        struct entry_reply reply;
        snprintf(target, sizeof target, "/v1/buckets/%s", buckets[i]);
        caller_ask(&caller,
                   &(struct entry_request){.method = "PUT",
                                           .target = target,
                                           .body = bytes_of("{\"encrypted\":true}"),
                                           .content_type = "application/json"},
                   &reply);
        ck_assert_msg(reply.status == 201, "%s: %d %.*s", target, reply.status, (int)reply.body.size,
                      (const char *)reply.body.data);
    }
    caller_end(&caller);
}

START_TEST(promises_are_kept_through_every_fault)
{
    uint64_t seed = random_run_seed();
    int64_t length = minutes_wanted() > 0 ? minutes_wanted() * INT64_C(60000) : SHORT_MS;
    printf("faults, seed %" PRIu64 "\n", seed);
    struct scene scene = scene_start(seed, replicas_wanted());
    encrypt_a_part(seed, scene.count);
    levels_note_idle(&scene);
    for (size_t i = 0; i < COMPANIES; i++)
        companies[i].start(seed, scene.count);
    load_start(seed, scene.count);
    await_recovery(&scene, "the start");
    clock_pause(WARM_UP_MS);
    levels_note_warm(&scene);
    size_t made = make_faults(&scene, clock_ms() + length);
    for (size_t i = 0; i < scene.count; i++)
        ck_assert_msg(service_wait_ready(scene.replicas[i], RECOVERY_MS),
                      "replica %zu is not ready at the end", i);
    printf("%zu faults\n", made);
    levels_check_warm(&scene, LEVELS_ALL);
    for (size_t i = 0; i < COMPANIES; i++)
        companies[i].finish();
    load_finish("entries");
    levels_check_idle(&scene);
    totals_print(seed, scene.count);
    scene_end(&scene);
}
END_TEST

Suite *replicas_suite(void)
{
    Suite *suite = suite_create("replicas");
    TCase *tcase = tcase_create("faults");
    tcase_set_timeout(tcase, 240 + minutes_wanted() * 60.0);
    tcase_add_test(tcase, promises_are_kept_through_every_fault);
    suite_add_tcase(suite, tcase);
    return suite;
}
