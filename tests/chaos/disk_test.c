// A disk that is full, and one that no longer keeps what it was given: what was acknowledged stays, what
// cannot be done is refused, and all goes on by itself when the disk is good again.
#include "chaos/bad_disk.h"
#include "chaos/load.h"
#include "chaos/suites.h"
#include "support/check_main.h"
#include "support/clock.h"
#include "support/entry_client.h"
#include "support/random.h"
#include "support/scratch.h"
#include "support/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AGAIN_MS = 20 * 1000,
    FILLING_MS = 10 * 1000,
    REFUSALS = 20,
    LARGE = 60 * 1000, // more than a page of a table has left
    SEGMENTS = 20,     // of the log that PostgreSQL has in hand
};

static struct scene {
    struct bad_disk *disk;
    struct postgres *postgres;
    struct database database;
    struct service *service;
    struct entry_client client;
    struct random random;
    unsigned keys;
    unsigned refused;
} scene;

static void begin(void)
{
    uint64_t seed = random_run_seed();
    scene.random = random_seeded(seed, 0);
    scene.disk = bad_disk_new();
    scene.postgres = postgres_new(&(struct postgres_options){
        .durable = true,
        .settings = "min_wal_size = 160MB\n", // files that it has once filled are kept
        .environment = bad_disk_environment(scene.disk)});
    scene.database = database_new(scene.postgres, DATABASE_MIGRATED);
    scene.service = service_start(&(struct service_options){.database = scene.database.url});
    scene.client = entry_client_new(service_port(scene.service));
    load_set_port(0, service_port(scene.service));
    load_start(seed, 1);
}

static void end(const char *title)
{
    load_finish(title);
    entry_client_close(&scene.client);
    service_end(scene.service);
    postgres_free(scene.postgres);
    bad_disk_free(scene.disk);
}

static bool has_acknowledged(void *user)
{
    const size_t *wanted = user;
    return load_is_broken() || load_acknowledged(0) >= *wanted;
}

static void await_writes(const char *when)
{
    size_t wanted = load_acknowledged(0) + 100;
    ck_assert_msg(clock_wait(has_acknowledged, &wanted, AGAIN_MS), "too few writes %s", when);
}

static bool log_has(const char *text)
{
    size_t size;
    char *log = scratch_read(postgres_log(scene.postgres), &size);
    bool found = memmem(log, size, text, strlen(text)) != NULL;
    free(log);
    return found;
}

// --- a full disk ------------------------------------------------------------------------------------------

// So that the log of transactions goes on for a while, as it does where it has a disk of its own: files that
// it has once filled become its next ones.
static void have_log_in_hand(void)
{
    PGconn *connection = database_connect(&scene.database);
    for (int i = 0; i < SEGMENTS; i++) {
        sql_run(connection, "select pg_logical_emit_message(false, 'test', 'a record')");
        sql_run(connection, "select pg_switch_wal()");
    }
    sql_run(connection, "checkpoint");
    PQfinish(connection);
}

static bool is_kind(const struct entry_reply *reply, const char *kind)
{
    char found[ENTRY_VERSION_ROOM];
    return entry_reply_member(reply, "kind", found) && strcmp(found, kind) == 0;
}

static void ask(const char *method, unsigned key, struct bytes body, struct entry_reply *reply)
{
    char target[80];
    snprintf(target, sizeof target, "/v1/buckets/large/entries/%u", key);
    entry_client_ask(&scene.client, &(struct entry_request){.method = method, .target = target, .body = body},
                     reply);
    ck_assert_msg(reply->outcome == ENTRY_ANSWERED, "%s %s got no answer", method, target);
}

// Writes a new large value, which needs room; true when it was refused, as it must be then.
static bool is_refused(void)
{
    static char value[LARGE];
    struct entry_reply reply;
    random_bytes(&scene.random, value, sizeof value);
    ask("PUT", scene.keys, bytes_make(value, sizeof value), &reply);
    if (reply.status == 201) {
        scene.keys++;
        return false;
    }
    ck_assert_msg(reply.status == 503 && is_kind(&reply, "unavailable") && reply.retry_after,
                  "a write on a full disk was answered %d %.*s", reply.status, (int)reply.body.size,
                  (const char *)reply.body.data);
    return true;
}

static bool is_refused_enough(void *user)
{
    (void)user;
    scene.refused += is_refused();
    return scene.refused >= REFUSALS;
}

// What was refused is not there, and everything else can be read.
static void read_all(const char *when)
{
    struct entry_reply reply;
    for (unsigned key = 0; key <= scene.keys; key++) {
        ask("GET", key, (struct bytes){0}, &reply);
        ck_assert_msg(key < scene.keys ? reply.status == 200 && reply.body.size == LARGE
                                       : reply.status == 404,
                      "key %u of %u was answered %d %s: %.*s", key, scene.keys, reply.status, when,
                      (int)(reply.status == 200 ? 0 : reply.body.size), (const char *)reply.body.data);
    }
}

static bool can_be_read(void *user)
{
    struct entry_reply reply;
    (void)user;
    ask("GET", 0, (struct bytes){0}, &reply);
    return reply.status != 503;
}

static bool has_filled_its_log(void *user)
{
    PQclear(PQexec(user, "select pg_logical_emit_message(false, 'test', 'a record')"));
    PQclear(PQexec(user, "select pg_switch_wal()"));
    return log_has("PANIC");
}

// Its log finds no room either: the server ends while it writes, and cannot even recover.
static void fill_log(void)
{
    PGconn *connection = database_connect(&scene.database);
    bad_disk_turn(scene.disk, DISK_FULL);
    ck_assert_msg(clock_wait(has_filled_its_log, connection, FILLING_MS),
                  "the server has not filled its log in %d ms", FILLING_MS);
    bad_disk_turn(scene.disk, DISK_GOOD);
    PQfinish(connection);
    postgres_revive(scene.postgres);
}

START_TEST(full_disk_refuses_writes_and_loses_none)
{
    begin();
    have_log_in_hand();
    await_writes("before the disk is full");
    ck_assert(!is_refused());
    bad_disk_turn(scene.disk, DISK_FULL);
    ck_assert_msg(clock_wait(is_refused_enough, NULL, FILLING_MS), "of writes on a full disk %u were refused",
                  scene.refused);
    ck_assert(log_has("No space left on device"));
    read_all("while the disk is full");
    ck_assert_msg(!log_has("PANIC"), "the server did not go on, so nothing was tested");
    bad_disk_turn(scene.disk, DISK_GOOD);
    ck_assert(!is_refused());
    await_writes("after there is room again");
    fill_log();
    await_writes("after the server found room again");
    // Large values have a connection of their own, which comes back by itself.
    ck_assert(clock_wait(can_be_read, NULL, AGAIN_MS));
    read_all("after the server found room again");
    end("a full disk");
}
END_TEST

// --- fsync ------------------------------------------------------------------------------------------------

// PostgreSQL ends itself rather than trust such a disk, and what it had not acknowledged may be there or not.
START_TEST(failing_fsync_loses_no_acknowledged_write)
{
    begin();
    await_writes("before fsync fails");
    bad_disk_turn(scene.disk, DISK_FSYNC_FAILS);
    clock_pause(100 + (int)random_below(&scene.random, 300));
    bad_disk_turn(scene.disk, DISK_GOOD);
    postgres_revive(scene.postgres);
    ck_assert_msg(log_has("PANIC"), "no fsync failed");
    await_writes("after fsync works again");
    end("failing fsync");
}
END_TEST

Suite *disk_suite(void)
{
    Suite *suite = suite_create("disk");
    TCase *tcase = tcase_create("faults");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, full_disk_refuses_writes_and_loses_none);
    tcase_add_test(tcase, failing_fsync_loses_no_acknowledged_write);
    suite_add_tcase(suite, tcase);
    return suite;
}
