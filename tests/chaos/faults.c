// Each fault lasts under a second, and chance decides whom it meets and how long.
#include "chaos/faults.h"

#include "support/clock.h"
#include "support/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_DOWN_MS = 700, MEET_MS = 300 };

// Debian's libfaketime; without it all clocks are right.
#define FAKE_CLOCK "/usr/lib/" HOLDFAST_ARCHITECTURE "/faketime/libfaketime.so.1"

static void pause_up_to(struct scene *scene, int ms)
{
    clock_pause(1 + (int)random_below(&scene->random, (size_t)ms));
}

static size_t any_replica(struct scene *scene)
{
    return random_below(&scene->random, LOAD_REPLICAS);
}

// Its clock may be minutes off, which must decide nothing.
static void start_replica(struct scene *scene, size_t replica)
{
    static const char *const offsets[] = {"FAKETIME=-7m", "FAKETIME=+0", "FAKETIME=+7m"};
    const char *const clock[] = {"LD_PRELOAD=" FAKE_CLOCK, offsets[random_below(&scene->random, 3)],
                                 "FAKETIME_DONT_FAKE_MONOTONIC=1", NULL};
    bool faked = access(FAKE_CLOCK, R_OK) == 0;
    scene->replicas[replica] = service_start(
        &(struct service_options){.database = cut_proxy_url(scene->proxies[replica], &scene->database),
                                  .environment = faked ? clock : NULL});
    load_set_port(replica, service_port(scene->replicas[replica]));
}

// --- replicas ---------------------------------------------------------------------------------------------

static void kill_replica(struct scene *scene)
{
    size_t replica = any_replica(scene);
    service_kill(scene->replicas[replica]);
    pause_up_to(scene, MOST_DOWN_MS);
    start_replica(scene, replica);
}

static void restart_replicas(struct scene *scene)
{
    for (size_t replica = 0; replica < LOAD_REPLICAS; replica++) {
        service_end(scene->replicas[replica]);
        start_replica(scene, replica);
    }
}

static void freeze_replica(struct scene *scene)
{
    pid_t replica = service_pid(scene->replicas[any_replica(scene)]);
    kill(replica, SIGSTOP);
    pause_up_to(scene, MOST_DOWN_MS);
    kill(replica, SIGCONT);
}

// --- PostgreSQL -------------------------------------------------------------------------------------------

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

// --- connections ------------------------------------------------------------------------------------------

// A call is cut off before the server has it, or after it was carried out and before its answer is there.
static void cut_calls(struct scene *scene)
{
    static const char *const marks[] = {"put_entries", "delete_entries", "add_entries", "commit_", "change_",
                                        "use_",        "once",           "lease",       "fork"};
    struct cut_proxy *proxy = scene->proxies[any_replica(scene)];
    for (int i = 0; i < 6; i++) {
        enum cut cut = random_chance(&scene->random, 70) ? CUT_AFTER : CUT_BEFORE;
        cut_proxy_arm(proxy, cut, marks[random_below(&scene->random, sizeof marks / sizeof marks[0])]);
        pause_up_to(scene, MEET_MS);
        cut_proxy_arm(proxy, CUT_NEVER, "");
        cut_proxy_cut(proxy);
    }
}

static void sever_connections(struct scene *scene)
{
    struct cut_proxy *proxy = scene->proxies[any_replica(scene)];
    cut_proxy_sever(proxy, true);
    pause_up_to(scene, MOST_DOWN_MS);
    cut_proxy_sever(proxy, false);
}

const struct fault faults[] = {
    {"kill -9 of a replica", kill_replica},      {"kill -9 of PostgreSQL", kill_postgres},
    {"backends terminated", terminate_backends}, {"restart of PostgreSQL", restart_postgres},
    {"PostgreSQL frozen", freeze_postgres},      {"rolling restart", restart_replicas},
    {"a replica frozen", freeze_replica},        {"calls cut off", cut_calls},
    {"a replica cut off", sever_connections},
};

const size_t fault_count = sizeof faults / sizeof faults[0];

struct scene scene_start(uint64_t seed)
{
    struct scene scene = {.random = random_seeded(seed, 0)};
    scene.postgres = postgres_new(&(struct postgres_options){.durable = true});
    scene.database = database_new(scene.postgres, DATABASE_MIGRATED);
    for (size_t i = 0; i < LOAD_REPLICAS; i++) {
        scene.proxies[i] = cut_proxy_start(scene.postgres);
        start_replica(&scene, i);
    }
    return scene;
}

void scene_end(struct scene *scene)
{
    for (size_t i = 0; i < LOAD_REPLICAS; i++)
        service_end(scene->replicas[i]);
    for (size_t i = 0; i < LOAD_REPLICAS; i++)
        cut_proxy_end(scene->proxies[i]);
    postgres_free(scene->postgres);
}
