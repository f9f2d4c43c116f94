// Two replicas under a mixed load for as long as is wanted: nothing grows, and no promise is broken.
#include "chaos/frozen.h"
#include "chaos/limits.h"
#include "chaos/load.h"
#include "chaos/transfers.h"
#include "chaos/waits.h"
#include "soak/samples.h"
#include "soak/soak.h"
#include "support/check_main.h"
#include "support/clock.h"
#include "support/entry_client.h"
#include "support/postgres.h"
#include "support/process.h"
#include "support/random.h"
#include "support/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SHORT_MS = 30 * 1000, // when --minutes does not say more
    SAMPLES = 90,         // over the whole
    PROBES = 7,
    REPLICAS = 2,
    READY_MS = 20 * 1000,
};

struct scene {
    struct postgres *postgres;
    struct database database;
    struct service *replicas[REPLICAS];
    PGconn *connection;
    struct entry_client probe;
};

static int compare(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static double probe_us(struct entry_client *client, const char *method)
{
    int64_t took[PROBES];
    for (int i = 0; i < PROBES; i++) {
        struct entry_reply reply;
        int64_t start = clock_ns() / 1000;
        entry_client_ask(client,
                         &(struct entry_request){.method = method,
                                                 .target = "/v1/buckets/probe/entries/k",
                                                 .body = bytes_of("value")},
                         &reply);
        took[i] = clock_ns() / 1000 - start;
        ck_assert_msg(reply.outcome == ENTRY_ANSWERED && reply.status / 100 == 2, "a probe was answered %d",
                      reply.status);
    }
    qsort(took, PROBES, sizeof took[0], compare);
    return (double)took[PROBES / 2];
}

static struct sample take_sample(struct scene *scene, int64_t start)
{
    struct sample sample = {.minute = (double)(clock_ms() - start) / 60000};
    for (int i = 0; i < REPLICAS; i++) {
        sample.of[MEASURE_MEMORY_0 + i] = process_resident_mib(service_pid(scene->replicas[i]));
        sample.of[MEASURE_DESCRIPTORS_0 + i] = process_descriptors(service_pid(scene->replicas[i]));
    }
    sample.of[MEASURE_TABLES] =
        (double)sql_number(scene->connection,
                           "select sum(pg_total_relation_size(oid)) from pg_class "
                           "where relnamespace = 'holdfast'::regnamespace and relkind = 'r'") /
        (1 << 20);
    sample.of[MEASURE_CONNECTIONS] =
        (double)sql_number(scene->connection, "select count(*) from pg_stat_activity where datname = "
                                              "current_database() and backend_type = 'client backend'");
    sample.of[MEASURE_PUT] = probe_us(&scene->probe, "PUT");
    sample.of[MEASURE_GET] = probe_us(&scene->probe, "GET");
    return sample;
}

static bool is_broken(void)
{
    return load_is_broken() || limits_are_broken() || transfers_are_broken() || waits_are_broken() ||
           frozen_is_broken();
}

static void start_all(struct scene *scene, uint64_t seed)
{
    scene->postgres = postgres_new(&(struct postgres_options){.durable = true});
    scene->database = database_new(scene->postgres, DATABASE_MIGRATED);
    scene->connection = database_connect(&scene->database);
    for (size_t i = 0; i < REPLICAS; i++) {
        scene->replicas[i] = service_start(&(struct service_options){.database = scene->database.url});
        load_set_port(i, service_port(scene->replicas[i]));
    }
    scene->probe = entry_client_new(service_port(scene->replicas[0]));
    load_start(seed, REPLICAS);
    limits_start(seed, REPLICAS);
    transfers_start(seed, REPLICAS);
    waits_start(seed, REPLICAS);
    frozen_start(seed, REPLICAS);
}

static void finish_all(struct scene *scene)
{
    limits_finish();
    transfers_finish();
    waits_finish();
    frozen_finish();
    load_finish("two replicas");
    entry_client_close(&scene->probe);
    for (size_t i = 0; i < REPLICAS; i++)
        service_end(scene->replicas[i]);
    PQfinish(scene->connection);
    postgres_free(scene->postgres);
}

START_TEST(nothing_grows)
{
    uint64_t seed = random_run_seed();
    int64_t length = minutes_wanted() > 0 ? minutes_wanted() * INT64_C(60000) : SHORT_MS;
    const char *path = getenv("HOLDFAST_SAMPLES");
    struct scene scene = {0};
    struct samples samples = {0};
    printf("soak, seed %" PRIu64 "\n", seed);
    start_all(&scene, seed);
    int64_t start = clock_ms();
    for (int i = 1; i <= SAMPLES && !is_broken(); i++) {
        while (clock_ms() < start + length * i / SAMPLES)
            clock_pause(100);
        struct sample sample = take_sample(&scene, start);
        samples_add(&samples, &sample);
    }
    if (path)
        samples_write(&samples, path);
    finish_all(&scene);
    double middle, end;
    enum measure growing = samples_growing(&samples, &middle, &end);
    ck_assert_msg(growing == MEASURES, "%s grew from %.1f to %.1f", measure_name(growing), middle, end);
    free(samples.all);
}
END_TEST

Suite *soak_suite(void)
{
    Suite *suite = suite_create("soak");
    TCase *tcase = tcase_create("load");
    tcase_set_timeout(tcase, 600 + minutes_wanted() * 60.0);
    tcase_add_test(tcase, nothing_grows);
    suite_add_tcase(suite, tcase);
    return suite;
}
