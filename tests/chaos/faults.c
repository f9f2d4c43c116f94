// Each fault lasts for some seconds at most, and chance decides whom it meets and how long.
#include "chaos/faults.h"

#include "chaos/levels.h"
#include "chaos/network.h"
#include "chaos/stopped.h"
#include "chaos/totals.h"
#include "support/clock.h"
#include "support/process.h"
#include "support/scratch.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    MOST_DOWN_MS = 700,
    MEET_MS = 300,
    FULL_MS = 600,    // a disk at least, so that what room its files have is used up
    LOSSES_MS = 1500, // of packets; a connection that waits to send again waits twice as long each time
    GOES_ON_MS = 10 * 1000,
};

// Debian's libfaketime; without it all clocks are right.
#define FAKE_CLOCK "/usr/lib/" HOLDFAST_ARCHITECTURE "/faketime/libfaketime.so.1"

static void pause_up_to(struct scene *scene, int ms)
{
    clock_pause(1 + (int)random_below(&scene->random, (size_t)ms));
}

static size_t any_replica(struct scene *scene)
{
    return random_below(&scene->random, scene->count);
}

// Its clock may be minutes off, which must decide nothing.
static void start_replica(struct scene *scene, size_t replica)
{
    static const char *const offsets[] = {"FAKETIME=-7m", "FAKETIME=+0", "FAKETIME=+7m"};
    const char *const clock[] = {"LD_PRELOAD=" FAKE_CLOCK, offsets[random_below(&scene->random, 3)],
                                 "FAKETIME_DONT_FAKE_MONOTONIC=1", NULL};
    const char *const flags[] = {"--key-file", scene->keys, NULL};
    bool faked = access(FAKE_CLOCK, R_OK) == 0;
    scene->replicas[replica] = service_start(
        &(struct service_options){.database = cut_proxy_url(scene->proxies[replica], &scene->database),
                                  .flags = flags,
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
    for (size_t replica = 0; replica < scene->count; replica++) {
        levels_check_warm(scene, (int)replica); // what it has left behind goes with it
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

// It ends itself when its log cannot be written, and cannot recover before the disk is good again.
static void spoil_disk(struct scene *scene, enum disk how, int ms, enum total total)
{
    unsigned long before = bad_disk_failures(scene->disk);
    bad_disk_turn(scene->disk, how);
    clock_pause(ms);
    pause_up_to(scene, MOST_DOWN_MS);
    bad_disk_turn(scene->disk, DISK_GOOD);
    totals_add(total, bad_disk_failures(scene->disk) - before);
    postgres_revive(scene->postgres);
}

static void fill_disk(struct scene *scene)
{
    spoil_disk(scene, DISK_FULL, FULL_MS, TOTAL_DISK_FULL);
}

static void fail_fsync(struct scene *scene)
{
    spoil_disk(scene, DISK_FSYNC_FAILS, 0, TOTAL_FSYNC_FAILED);
}

// --- clients ----------------------------------------------------------------------------------------------

// Whoever does not read, or not send on, holds up nobody else.
static void stop_clients(struct scene *scene)
{
    stopped_stop(&scene->random);
    for (size_t i = 0; i < scene->count; i++)
        ck_assert_msg(load_await_writes(i, GOES_ON_MS), "replica %zu does no writes beside stopped clients",
                      i);
    pause_up_to(scene, MOST_DOWN_MS);
    stopped_resume(&scene->random);
}

// --- connections ------------------------------------------------------------------------------------------

// A call is cut off before the server has it, or after it was carried out and before its answer is there.
static void cut_calls(struct scene *scene)
{
    static const char *const marks[] = {
        "put_entries", "delete_entries", "add_entries", "take_entries", "move_entry", "commit_", "change_",
        "link_writes", "use_",           "rate_gates",  "once",         "lease",      "fork"};
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

// --- packets ----------------------------------------------------------------------------------------------

static void lose(struct scene *scene, enum network_packets which, unsigned percent, int ms)
{
    uint16_t ports[LOAD_REPLICAS];
    for (size_t i = 0; i < scene->count; i++)
        ports[i] = cut_proxy_port(scene->proxies[i]);
    network_lose(which, percent, ports, scene->count);
    clock_pause(ms);
    totals_add(TOTAL_PACKETS, network_mend());
}

static int losses_ms(struct scene *scene)
{
    return LOSSES_MS / 4 + (int)random_below(&scene->random, LOSSES_MS);
}

static unsigned losses_percent(struct scene *scene)
{
    return 10 + (unsigned)random_below(&scene->random, 21);
}

static void lose_to_database(struct scene *scene)
{
    lose(scene, NETWORK_TO_DATABASE, losses_percent(scene), losses_ms(scene));
}

static void lose_of_clients(struct scene *scene)
{
    lose(scene, NETWORK_OF_CLIENTS, losses_percent(scene), losses_ms(scene));
}

static void split_network(struct scene *scene)
{
    lose(scene, NETWORK_TO_DATABASE, 100, losses_ms(scene));
}

const struct fault faults[] = {
    {"kill -9 of a replica", kill_replica},
    {"kill -9 of PostgreSQL", kill_postgres},
    {"backends terminated", terminate_backends},
    {"restart of PostgreSQL", restart_postgres},
    {"PostgreSQL frozen", freeze_postgres},
    {"rolling restart", restart_replicas},
    {"a replica frozen", freeze_replica},
    {"calls cut off", cut_calls},
    {"a replica cut off", sever_connections},
    {"a full disk", fill_disk},
    {"failing fsync", fail_fsync},
    {"clients stopped", stop_clients},
    {"packets to the database lost", lose_to_database},
    {"packets of clients lost", lose_of_clients},
    {"all packets to the database lost", split_network},
};

enum { FAULTS = sizeof faults / sizeof faults[0], ON_THE_NETWORK = 3 };

size_t fault_count(const struct scene *scene)
{
    return scene->networked ? FAULTS : FAULTS - ON_THE_NETWORK;
}

static char *make_keys(void)
{
    char *folder = scratch_folder("keys");
    char *key = scratch_printf("%s/1.key", folder);
    char *log = scratch_printf("%s.log", folder);
    struct process_options options = {
        .arguments = (const char *const[]){service_binary(), "key", "create", "--out", key, NULL},
        .output = log,
        .stdout_fd = -1};
    ck_assert_int_eq(process_run(&options, GOES_ON_MS), 0);
    free(log);
    free(key);
    return folder;
}

struct scene scene_start(uint64_t seed, size_t replicas)
{
    struct scene scene = {.random = random_seeded(seed, 0), .count = replicas, .networked = network_enter()};
    scene.keys = make_keys();
    scene.disk = bad_disk_new();
    scene.postgres = postgres_new(
        &(struct postgres_options){.durable = true, .environment = bad_disk_environment(scene.disk)});
    scene.database = database_new(scene.postgres, DATABASE_MIGRATED);
    for (size_t i = 0; i < replicas; i++) {
        scene.proxies[i] =
            scene.networked ? cut_proxy_start_tcp(scene.postgres) : cut_proxy_start(scene.postgres);
        start_replica(&scene, i);
    }
    return scene;
}

void scene_end(struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++)
        service_end(scene->replicas[i]);
    for (size_t i = 0; i < scene->count; i++)
        cut_proxy_end(scene->proxies[i]);
    postgres_free(scene->postgres);
    bad_disk_free(scene->disk);
    free(scene->keys);
}
