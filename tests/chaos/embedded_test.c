// The service on its private PostgreSQL, killed under load and started again on the same folder.
#include "chaos/load.h"
#include "chaos/suites.h"
#include "support/check_main.h"
#include "support/clock.h"
#include "support/random.h"
#include "support/scratch.h"
#include "support/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    KILLS = 2, // when --minutes does not say more
    AGAIN_MS = 15 * 1000,
    WRITES_BETWEEN = 200,
};

struct awaited {
    size_t acknowledged;
};

static bool has_acknowledged(void *user)
{
    const struct awaited *awaited = user;
    return load_is_broken() || load_acknowledged(0) >= awaited->acknowledged;
}

static struct service *start(const char *data)
{
    struct service *service = service_start(&(struct service_options){.data = data});
    load_set_port(0, service_port(service));
    return service;
}

static void await_writes(size_t kill)
{
    struct awaited awaited = {load_acknowledged(0) + WRITES_BETWEEN};
    ck_assert_msg(clock_wait(has_acknowledged, &awaited, AGAIN_MS), "too few writes %d ms after start %zu",
                  AGAIN_MS, kill);
}

START_TEST(acknowledged_writes_survive_kill_of_the_embedded_form)
{
    uint64_t seed = random_run_seed();
    struct random random = random_seeded(seed, 0);
    int64_t until = clock_ms() + minutes_wanted() * INT64_C(60000);
    char *folder = scratch_folder("embedded");
    char *data = scratch_printf("%s/data", folder);
    printf("kills of the embedded form, seed %" PRIu64 "\n", seed);
    struct service *service = start(data);
    load_start(seed, 1);
    for (size_t kill = 0; (kill < KILLS || clock_ms() < until) && !load_is_broken(); kill++) {
        await_writes(kill);
        clock_pause((int)random_below(&random, 300));
        service_kill(service);
        service = start(data);
    }
    await_writes(KILLS);
    load_finish("embedded");
    service_end(service);
    free(data);
    free(folder);
}
END_TEST

Suite *embedded_suite(void)
{
    Suite *suite = suite_create("embedded");
    TCase *tcase = tcase_create("kills");
    tcase_set_timeout(tcase, 120 + minutes_wanted() * 60.0);
    tcase_add_test(tcase, acknowledged_writes_survive_kill_of_the_embedded_form);
    suite_add_tcase(suite, tcase);
    return suite;
}
