// A counter that may lose its newest changes: when PostgreSQL is killed, those of the time it was told, no
// more.
#include "chaos/suites.h"
#include "support/check_main.h"
#include "support/clock.h"
#include "support/entry_client.h"
#include "support/postgres.h"
#include "support/service.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENTS = 8,
    ROUNDS = 3,
    COUNTING_MS = 3000, // before each kill
    MAY_LOSE_MS = 2000,
    SLOTS = 4096, // of 10 ms
    SLOT_MS = 10,
};

#define COUNTER "/v1/counters/losing"

static struct {
    uint16_t port;
    int64_t began;
    atomic_bool stopping;
    _Atomic int64_t greatest[SLOTS]; // value acknowledged in each slot of time
    atomic_llong sent;
} losing;

static void note(int64_t value)
{
    int64_t slot = (clock_ms() - losing.began) / SLOT_MS;
    _Atomic int64_t *greatest = &losing.greatest[slot < SLOTS ? slot : SLOTS - 1];
    int64_t before = atomic_load(greatest);
    while (value > before && !atomic_compare_exchange_weak(greatest, &before, value))
        ;
}

static int64_t value_of(const struct entry_reply *reply)
{
    long long value;
    if (reply->outcome == ENTRY_ANSWERED && reply->status == 200 &&
        sscanf((const char *)reply->body.data, "{\"value\":%lld}", &value) == 1)
        return value;
    return -1;
}

static void *count(void *user)
{
    struct entry_client client = entry_client_new(losing.port);
    (void)user;
    while (!atomic_load(&losing.stopping)) {
        struct entry_reply reply;
        atomic_fetch_add(&losing.sent, 1);
        entry_client_ask(&client, &(struct entry_request){.method = "POST", .target = COUNTER "/k/add"},
                         &reply);
        int64_t value = value_of(&reply);
        if (value >= 0)
            note(value);
        else
            clock_pause(SLOT_MS);
    }
    entry_client_close(&client);
    return NULL;
}

// The greatest value acknowledged until then.
static int64_t acknowledged_until(int64_t ms)
{
    int64_t greatest = 0;
    for (int64_t slot = 0; slot < SLOTS && slot * SLOT_MS < ms - losing.began; slot++)
        if (atomic_load(&losing.greatest[slot]) > greatest)
            greatest = atomic_load(&losing.greatest[slot]);
    return greatest;
}

static int64_t value_now(void)
{
    struct entry_client client = entry_client_new(losing.port);
    struct entry_reply reply;
    entry_client_ask(&client, &(struct entry_request){.method = "GET", .target = COUNTER "/k"}, &reply);
    int64_t value = value_of(&reply);
    entry_client_close(&client);
    return value;
}

static void kill_while_counting(struct postgres *postgres, struct service *service)
{
    pthread_t threads[CLIENTS];
    memset(losing.greatest, 0, sizeof losing.greatest);
    atomic_store(&losing.stopping, false);
    losing.began = clock_ms();
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count, NULL), 0);
    clock_pause(COUNTING_MS);
    int64_t killed = clock_ms();
    postgres_kill(postgres);
    atomic_store(&losing.stopping, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    postgres_start(postgres);
    ck_assert(service_wait_ready(service, 15 * 1000));
    int64_t value = value_now(), sure = acknowledged_until(killed - MAY_LOSE_MS);
    printf("  %lld acknowledged before the kill, %lld of them for sure, %lld there\n",
           (long long)acknowledged_until(killed), (long long)sure, (long long)value);
    ck_assert_int_gt(sure, 0);
    ck_assert_int_ge(value, sure);
    ck_assert_int_le(value, atomic_load(&losing.sent));
}

START_TEST(losing_counter_loses_no_more_than_it_may)
{
    struct postgres *postgres = postgres_new(&(struct postgres_options){.durable = true});
    struct database database = database_new(postgres, DATABASE_MIGRATED);
    struct service *service = service_start(&(struct service_options){.database = database.url});
    losing.port = service_port(service);
    struct entry_client client = entry_client_new(losing.port);
    struct entry_reply reply;
    entry_client_ask(&client,
                     &(struct entry_request){.method = "PUT",
                                             .target = COUNTER,
                                             .body = bytes_of("{\"lose_at_most\":\"2s\"}"),
                                             .content_type = "application/json"},
                     &reply);
    ck_assert_int_eq(reply.status, 201);
    entry_client_close(&client);
    for (int round = 0; round < ROUNDS; round++)
        kill_while_counting(postgres, service);
    service_end(service);
    postgres_free(postgres);
}
END_TEST

Suite *losing_suite(void)
{
    Suite *suite = suite_create("losing");
    TCase *tcase = tcase_create("faults");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, losing_counter_loses_no_more_than_it_may);
    suite_add_tcase(suite, tcase);
    return suite;
}
