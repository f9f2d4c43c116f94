// Two replicas on one PostgreSQL under load, while either is killed, stopped, frozen or cut off at random.
#include "chaos/keyed.h"
#include "chaos/limits.h"
#include "chaos/load.h"
#include "chaos/once.h"
#include "chaos/suites.h"
#include "support/check_main.h"
#include "support/clock.h"
#include "support/postgres.h"
#include "support/random.h"
#include "support/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    SHORT_MS = 8 * 1000, // of faults, when --minutes does not say more
    RECOVERY_MS = 15 * 1000,
    MOST_DOWN_MS = 700,
    QUIET_MS = 400, // between two faults
};

struct scene {
    struct random random;
    struct postgres *postgres;
    struct database database;
    struct service *replicas[LOAD_REPLICAS];
};

static void pause_up_to(struct scene *scene, int ms)
{
    clock_pause(1 + (int)random_below(&scene->random, (size_t)ms));
}

static void start_replica(struct scene *scene, size_t replica)
{
    scene->replicas[replica] = service_start(&(struct service_options){.database = scene->database.url});
    load_set_port(replica, service_port(scene->replicas[replica]));
}

static void kill_replica(struct scene *scene)
{
    size_t replica = random_below(&scene->random, LOAD_REPLICAS);
    service_kill(scene->replicas[replica]);
    pause_up_to(scene, MOST_DOWN_MS);
    start_replica(scene, replica);
}

static void restart_replica(struct scene *scene)
{
    size_t replica = random_below(&scene->random, LOAD_REPLICAS);
    service_end(scene->replicas[replica]);
    start_replica(scene, replica);
}

static void kill_postgres(struct scene *scene)
{
    postgres_kill(scene->postgres);
    pause_up_to(scene, MOST_DOWN_MS);
    postgres_start(scene->postgres);
}

static void restart_postgres(struct scene *scene)
{
    postgres_stop(scene->postgres);
    pause_up_to(scene, MOST_DOWN_MS);
    postgres_start(scene->postgres);
}

static void freeze_postgres(struct scene *scene)
{
    postgres_freeze(scene->postgres);
    pause_up_to(scene, MOST_DOWN_MS);
    postgres_thaw(scene->postgres);
}

static void terminate_backends(struct scene *scene)
{
    PGconn *connection = database_connect(&scene->database);
    for (int i = 0; i < 5; i++) {
        sql_run(connection,
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where backend_type = 'client backend' and pid <> pg_backend_pid() and random() < 0.5");
        pause_up_to(scene, 50);
    }
    PQfinish(connection);
}

static const struct {
    const char *name;
    void (*run)(struct scene *scene);
} faults[] = {
    {"kill -9 of a replica", kill_replica},      {"kill -9 of PostgreSQL", kill_postgres},
    {"backends terminated", terminate_backends}, {"restart of PostgreSQL", restart_postgres},
    {"PostgreSQL frozen", freeze_postgres},      {"restart of a replica", restart_replica},
};

enum { FAULTS = sizeof faults / sizeof faults[0] };

static bool is_broken(void)
{
    return load_is_broken() || keyed_is_broken() || once_is_broken() || limits_are_broken();
}

struct awaited {
    size_t replica;
    size_t acknowledged;
};

static bool has_acknowledged_more(void *user)
{
    const struct awaited *awaited = user;
    return is_broken() || load_acknowledged(awaited->replica) > awaited->acknowledged;
}

// Both replicas must do writes again, on their own.
static void await_recovery(const char *fault)
{
    int64_t start = clock_ms();
    for (size_t i = 0; i < LOAD_REPLICAS; i++) {
        struct awaited awaited = {i, load_acknowledged(i)};
        ck_assert_msg(clock_wait(has_acknowledged_more, &awaited, RECOVERY_MS),
                      "replica %zu does no writes %d ms after: %s", i, RECOVERY_MS, fault);
    }
    printf("  %s: both write again after %" PRId64 " ms\n", fault, clock_ms() - start);
    fflush(stdout);
}

static void shuffle(size_t order[FAULTS], struct random *random)
{
    for (size_t i = FAULTS - 1; i > 0; i--) {
        size_t j = random_below(random, i + 1);
        size_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

// Every fault at least once, then on until the time is up.
static void make_faults(struct scene *scene, int64_t until)
{
    size_t order[FAULTS];
    for (size_t i = 0; i < FAULTS; i++) {
        order[i] = i;
    }
    bool all_made = false;
    do {
        shuffle(order, &scene->random);
        for (size_t i = 0; i < FAULTS && !is_broken() && (!all_made || clock_ms() < until); i++) {
            faults[order[i]].run(scene);
            await_recovery(faults[order[i]].name);
            clock_pause(QUIET_MS);
        }
        all_made = true;
    } while (clock_ms() < until && !is_broken());
}

START_TEST(acknowledged_writes_survive_every_fault)
{
    uint64_t seed = random_run_seed();
    int64_t length = minutes_wanted() > 0 ? minutes_wanted() * INT64_C(60000) : SHORT_MS;
    struct scene scene = {.random = random_seeded(seed, 0)};
    printf("faults, seed %" PRIu64 "\n", seed);
    scene.postgres = postgres_new(&(struct postgres_options){.durable = true});
    scene.database = database_new(scene.postgres, DATABASE_MIGRATED);
    for (size_t i = 0; i < LOAD_REPLICAS; i++) {
        start_replica(&scene, i);
    }
    load_start(seed, LOAD_REPLICAS);
    keyed_start(seed, LOAD_REPLICAS);
    once_start(seed, LOAD_REPLICAS);
    limits_start(seed, LOAD_REPLICAS);
    await_recovery("the start");
    make_faults(&scene, clock_ms() + length);
    for (size_t i = 0; i < LOAD_REPLICAS; i++) {
        ck_assert_msg(service_wait_ready(scene.replicas[i], RECOVERY_MS),
                      "replica %zu is not ready at the end", i);
    }
    keyed_finish();
    once_finish();
    limits_finish();
    load_finish("two replicas");
    for (size_t i = 0; i < LOAD_REPLICAS; i++) {
        service_end(scene.replicas[i]);
    }
    postgres_free(scene.postgres);
}
END_TEST

Suite *replicas_suite(void)
{
    Suite *suite = suite_create("replicas");
    TCase *tcase = tcase_create("faults");
    tcase_set_timeout(tcase, 120 + minutes_wanted() * 60.0);
    tcase_add_test(tcase, acknowledged_writes_survive_every_fault);
    suite_add_tcase(suite, tcase);
    return suite;
}
