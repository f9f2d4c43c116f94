// Races for limits over two replicas: however many ask, exactly as many pass as the formula says.
#include "limit_steps.h"

#include "support/clock.h"
#include "support/parallel.h"

#include <stdatomic.h>

enum { CLIENTS = 64 };

// What each client does, over and over, until it is told to stop or, when it counts, has done it often
// enough.
struct race {
    const char *path;
    int64_t n;
    struct answer *(*call)(struct http_client *client, const struct race *race);
    int turns; // 0: until stopped
    atomic_bool stopped;
    atomic_llong granted; // uses
    atomic_llong asked;   // calls
    atomic_llong faults;  // answers that are neither
};

static struct answer *allow(struct http_client *client, const struct race *race)
{
    return allow_on(client, race->path, race->n);
}

static struct answer *check(struct http_client *client, const struct race *race)
{
    return check_on(client, race->path, 100, "10s");
}

static void ask(struct race *race, struct http_client *client)
{
    struct answer *answer = race->call(client, race);
    atomic_fetch_add(&race->asked, 1);
    json_t *ok = json_object_get(answer->json, "ok");
    if (answer->status != 200 || !json_is_boolean(ok))
        atomic_fetch_add(&race->faults, 1);
    else if (json_is_true(ok))
        atomic_fetch_add(&race->granted, race->n);
}

static void work(size_t index, void *user)
{
    struct race *race = user;
    struct http_client *client = http_client_new(replica_url(index));
    for (int turn = 0; race->turns ? turn < race->turns : !atomic_load(&race->stopped); turn++)
        ask(race, client);
    http_client_free(client);
}

// The last of the threads moves the clock: ten seconds, in uneven steps, while the others ask.
struct moving {
    struct race *race;
    int64_t steps; // of the clock
};

static void work_or_move(size_t index, void *user)
{
    const struct moving *moving = user;
    if (index < CLIENTS) {
        work(index, moving->race);
        return;
    }
    // From the very start, or what refills before anybody asked is lost above the burst.
    for (int64_t step = 0; step <= moving->steps; step++) {
        database_stop_clock(&api.database, START + 10 * SECOND * step / moving->steps);
        int64_t seen = atomic_load(&moving->race->asked);
        while (atomic_load(&moving->race->asked) < seen + 3 * CLIENTS)
            clock_pause(1); // everybody has asked at this moment
    }
    atomic_store(&moving->race->stopped, true);
}

static void race_through_ten_seconds(struct race *race)
{
    struct moving moving = {race, 20};
    parallel_run(CLIENTS + 1, work_or_move, &moving);
    ck_assert_int_eq(race->faults, 0);
}

START_TEST(rate_limit_is_exact_under_a_race)
{
    static const struct {
        const char *rate;
        int64_t burst, n, granted;
    } cases[] = {{"100/3s", 50, 1, 50 + 333}, {"7/s", 20, 3, 90}, {"10/s", 5, 1, 5 + 100}};
    for (int i = 0; i < 3; i++) {
        database_stop_clock(&api.database, START);
        struct race race = {
            .path = rate_limit_key(cases[i].rate, cases[i].burst), .n = cases[i].n, .call = allow};
        race_through_ten_seconds(&race);
        ck_assert_int_eq(race.granted, cases[i].granted);
        database_shift_clock(&api.database, 0);
    }
}
END_TEST

START_TEST(losing_rate_limit_is_exact_under_a_race)
{
    database_stop_clock(&api.database, START);
    struct race race = {
        .path = key_path("rate-limits",
                         declared("rate-limits", "{\"rate\":\"40/s\",\"burst\":30,\"lose_at_most\":\"1s\"}"),
                         "k"),
        .n = 1,
        .call = allow};
    race_through_ten_seconds(&race);
    ck_assert_int_eq(race.granted, 430);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(quota_is_exact_under_a_race)
{
    database_stop_clock(&api.database, START);
    struct race race = {.path = quota_key("\"short\":\"100/2s\",\"long\":\"450/m\""), .n = 1, .call = allow};
    race_through_ten_seconds(&race);
    // Windows of two seconds that begin at 0, 2, 4, 6 and 8; the one at 8 has what the long one left.
    ck_assert_int_eq(race.granted, 450);
    struct answer *seen = GET(race.path);
    ck_assert_int_eq(window_number(seen, "long", "used"), 450);
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(gate_is_exact_under_a_race)
{
    database_stop_clock(&api.database, START);
    struct race race = {.path = key_path("rate-gates", api_bucket(), "k"), .n = 1, .call = check};
    race_through_ten_seconds(&race);
    ck_assert_int_eq(race.granted, 200); // a window begins at 0 and one at 10
    database_shift_clock(&api.database, 0);
}
END_TEST

// QUOTA-1
START_TEST(last_two_of_a_quota_go_to_two)
{
    for (int round = 0; round < 5; round++) {
        const char *path = quota_key("\"session\":\"10/1h\",\"weekly\":\"12/7d\"");
        expect_granted(ALLOW(path, 8), 2);
        struct race race = {.path = path, .n = 1, .call = allow, .turns = 1};
        parallel_run(CLIENTS, work, &race);
        ck_assert_int_eq(race.granted, 2);
        ck_assert_int_eq(race.faults, 0);
        ck_assert_int_eq(window_number(GET(path), "session", "used"), 10);
        ck_assert_int_eq(window_number(GET(path), "weekly", "used"), 10);
    }
}
END_TEST

// Uses of many keys at once, each with its own limit.
struct spread {
    const char *name;
    atomic_llong granted[10];
};

static void use_in_turn(size_t index, void *user)
{
    struct spread *spread = user;
    struct http_client *client = http_client_new(replica_url(index));
    for (size_t turn = 0; turn < 30; turn++) {
        size_t key = (index + turn) % 10;
        struct answer *answer = allow_on(client, http_text(client, "/v1/quotas/%s/%zu", spread->name, key),
                                         1 + (int64_t)(turn % 2));
        if (json_is_true(json_object_get(answer->json, "ok")))
            atomic_fetch_add(&spread->granted[key], 1 + (int64_t)(turn % 2));
    }
    http_client_free(client);
}

START_TEST(quotas_of_many_keys_are_exact)
{
    struct spread spread = {.name = declared("quotas", "{\"windows\":{\"a\":\"77/1h\",\"b\":\"100/1d\"}}")};
    parallel_run(CLIENTS, use_in_turn, &spread);
    for (int key = 0; key < 10; key++) {
        ck_assert_int_eq(spread.granted[key], 77);
        ck_assert_int_eq(window_number(GET(key_path("quotas", spread.name, TEXT("%d", key))), "b", "used"),
                         77);
    }
}
END_TEST

// --- counters ---------------------------------------------------------------------------------------------

enum { TURNS = 40 };

struct sums {
    const char *path;
    int64_t all[CLIENTS * TURNS];
    atomic_int count;
};

static void add_in_turn(size_t index, void *user)
{
    struct sums *sums = user;
    struct http_client *client = http_client_new(replica_url(index));
    int64_t before = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        struct answer *answer = add_on(client, sums->path, 1);
        int64_t sum = number_in(answer, "value");
        ck_reply(answer, sum > before);
        before = sum;
        sums->all[atomic_fetch_add(&sums->count, 1)] = sum;
        // Whoever has an answer sees at least that much on every replica.
        if (turn % 8 == 0) {
            struct http_client *other = http_client_new(replica_url(index + 1));
            ck_assert_int_ge(number_in(http(other, "GET", sums->path, NO_BODY), "value"), sum);
            http_client_free(other);
        }
    }
    http_client_free(client);
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void race_to_sums(const char *configuration)
{
    static struct sums sums;
    sums.path = key_path("counters", declared("counters", configuration), "k");
    sums.count = 0;
    parallel_run(CLIENTS, add_in_turn, &sums);
    qsort(sums.all, CLIENTS * TURNS, sizeof sums.all[0], by_value);
    for (int i = 0; i < CLIENTS * TURNS; i++)
        ck_assert_int_eq(sums.all[i], i + 1);
    ck_assert_int_eq(number_in(GET(sums.path), "value"), CLIENTS * TURNS);
}

START_TEST(every_sum_of_a_counter_is_given_once)
{
    race_to_sums("{}");
}
END_TEST

START_TEST(every_sum_of_a_losing_counter_is_given_once)
{
    race_to_sums("{\"lose_at_most\":\"1s\"}");
}
END_TEST

Suite *limit_race_suite(void)
{
    const TTest *const tests[] = {
        rate_limit_is_exact_under_a_race,
        losing_rate_limit_is_exact_under_a_race,
        quota_is_exact_under_a_race,
        gate_is_exact_under_a_race,
        last_two_of_a_quota_go_to_two,
        quotas_of_many_keys_are_exact,
        every_sum_of_a_counter_is_given_once,
        every_sum_of_a_losing_counter_is_given_once,
        NULL,
    };
    return api_suite_of_two("limit_race", tests);
}
