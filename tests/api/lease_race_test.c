// Races for leases over two replicas: one holder at a time, by the database's clock, and tokens that only
// grow.
#include "lease_steps.h"

#include "support/clock.h"
#include "support/parallel.h"

#include <stdatomic.h>

enum { CLIENTS = 64 };

// --- acquiring --------------------------------------------------------------------------------------------

struct race {
    const char *path;
    atomic_int won, held;
};

static void acquire_once(size_t index, void *user)
{
    struct race *race = user;
    struct http_client *client = http_client_new(replica_url(index));
    struct answer *answer = acquire_on(client, race->path, "A", "1m");
    if (answer->status == 201)
        atomic_fetch_add(&race->won, 1);
    else if (strcmp(answer_kind(answer), "lease_held") == 0)
        atomic_fetch_add(&race->held, 1);
    http_client_free(client);
}

START_TEST(one_acquirer_wins)
{
    for (int round = 0; round < 6; round++) {
        struct race race = {.path = lease_path(api_bucket(), "k")};
        parallel_run(CLIENTS, acquire_once, &race);
        ck_assert_int_eq(race.won, 1);
        ck_assert_int_eq(race.held, CLIENTS - 1);
    }
}
END_TEST

struct hold {
    int64_t token, from, until;
    bool released;
};

enum { HOLDS = 40, MOST_HOLDS = HOLDS + CLIENTS };

struct holds {
    const char *path;
    struct hold all[MOST_HOLDS];
    atomic_int count;
    atomic_int inside; // holders that are sure to be within their term
    atomic_int most_inside;
};

static void enter(struct holds *holds)
{
    int inside = atomic_fetch_add(&holds->inside, 1) + 1;
    if (inside > atomic_load(&holds->most_inside))
        atomic_store(&holds->most_inside, inside);
}

// Every third holder oversleeps, so that leases end both ways.
static void hold_in_turn(size_t index, void *user)
{
    struct holds *holds = user;
    struct http_client *client = http_client_new(replica_url(index));
    const char *holder = http_text(client, "h%zu", index);
    for (int turn = 0; atomic_load(&holds->count) < HOLDS; turn++) {
        bool oversleeps = (index + (size_t)turn) % 3 == 0;
        struct answer *grant = acquire_on(client, holds->path, holder, oversleeps ? "100ms" : "1m");
        if (grant->status != 201)
            continue;
        struct hold *hold = &holds->all[atomic_fetch_add(&holds->count, 1)];
        *hold = (struct hold){.token = token_of(grant), .until = expiry_of(grant)};
        hold->from = hold->until - (oversleeps ? 100 : 60 * 1000) * 1000;
        if (oversleeps)
            continue;
        enter(holds);
        atomic_fetch_sub(&holds->inside, 1);
        struct answer *released = release_on(client, holds->path, holder, answer_text(grant, "token"));
        hold->released = json_is_true(json_object_get(released->json, "released"));
        ck_reply(released, hold->released);
    }
    http_client_free(client);
}

static int by_token(const void *a, const void *b)
{
    const struct hold *x = a, *y = b;
    return x->token < y->token ? -1 : x->token > y->token;
}

START_TEST(at_no_moment_two_holders)
{
    static struct holds holds;
    holds.path = lease_path(api_bucket(), "k");
    parallel_run(CLIENTS, hold_in_turn, &holds);
    ck_assert_int_eq(holds.most_inside, 1);
    ck_assert_int_ge(holds.count, HOLDS);
    qsort(holds.all, (size_t)holds.count, sizeof holds.all[0], by_token);
    for (int i = 1; i < holds.count; i++) {
        ck_assert_int_gt(holds.all[i].token, holds.all[i - 1].token);
        ck_assert_int_ge(holds.all[i].from, holds.all[i - 1].from);
        ck_assert_msg(holds.all[i - 1].released || holds.all[i].from >= holds.all[i - 1].until,
                      "granted %lld us before the holder's term ended",
                      (long long)(holds.all[i - 1].until - holds.all[i].from));
    }
}
END_TEST

// --- the end of a term ------------------------------------------------------------------------------------

// A holder that does something about its lease as its term ends, while another tries to get it.
struct ending {
    const char *path;
    const char *token;
    int64_t until; // of the first term
    bool renews;   // else it releases
    bool done;     // it was in time
    int64_t renewed_until;
    int64_t position; // of the release
    int64_t granted;  // to the other
    int64_t granted_position;
};

static void end_or_take(size_t index, void *user)
{
    struct ending *ending = user;
    struct http_client *client = http_client_new(replica_url(index));
    if (index == 0) {
        while (clock_real_us() < ending->until - 300)
            ;
        struct answer *answer = ending->renews ? renew_on(client, ending->path, "A", ending->token, "100ms")
                                               : release_on(client, ending->path, "A", ending->token);
        ending->done =
            ending->renews ? answer->status == 200 : json_is_true(json_object_get(answer->json, "released"));
        if (ending->renews && !ending->done)
            ck_problem(answer, 409, "lease_lost");
        if (ending->renews && ending->done)
            ending->renewed_until = expiry_of(answer);
        if (!ending->renews && ending->done)
            ending->position = strtoll(answer_need(answer, "Holdfast-Position"), NULL, 10);
    } else {
        struct answer *grant;
        do
            grant = acquire_on(client, ending->path, "B", "1m");
        while (grant->status == 409);
        ck_status(grant, 201);
        ending->granted = expiry_of(grant) - 60 * SECOND;
        ending->granted_position = position_of(grant);
    }
    http_client_free(client);
}

static void race_with_expiry(bool renews)
{
    int in_time = 0, rounds = 40;
    for (int round = 0; round < rounds; round++) {
        struct ending ending = {.path = lease_path(api_bucket(), "k"), .renews = renews};
        struct answer *grant = ACQUIRE(ending.path, "A", "100ms");
        ending.token = answer_text(grant, "token");
        ending.until = expiry_of(grant);
        parallel_run(2, end_or_take, &ending);
        in_time += ending.done;
        if (!ending.done)
            ck_assert_int_ge(ending.granted, ending.until);
        else if (renews)
            ck_assert_int_ge(ending.granted, ending.renewed_until);
        else
            ck_assert_int_gt(ending.granted_position, ending.position);
    }
    ck_assert_int_gt(rounds, 0);
    ck_assert_int_le(in_time, rounds);
}

START_TEST(renew_races_with_expiry)
{
    race_with_expiry(true);
}
END_TEST

START_TEST(release_races_with_expiry)
{
    race_with_expiry(false);
}
END_TEST

// Many renewals and releases of one lease at once: every renewal after the release is lost.
struct crowd {
    const char *path;
    const char *token;
    atomic_llong last_renewal;
    atomic_llong release;
    atomic_int releases;
};

static void renew_or_release(size_t index, void *user)
{
    struct crowd *crowd = user;
    struct http_client *client = http_client_new(replica_url(index));
    if (index % 8 == 7) {
        struct answer *answer = release_on(client, crowd->path, "A", crowd->token);
        if (json_is_true(json_object_get(answer->json, "released"))) {
            atomic_fetch_add(&crowd->releases, 1);
            atomic_store(&crowd->release, strtoll(answer_need(answer, "Holdfast-Position"), NULL, 10));
        }
    } else {
        struct answer *answer = renew_on(client, crowd->path, "A", crowd->token, "1m");
        if (answer->status == 200) {
            long long at = position_of(answer), last = atomic_load(&crowd->last_renewal);
            while (at > last && !atomic_compare_exchange_weak(&crowd->last_renewal, &last, at))
                ;
        } else {
            ck_problem(answer, 409, "lease_lost");
        }
    }
    http_client_free(client);
}

START_TEST(one_release_of_many_counts)
{
    for (int round = 0; round < 6; round++) {
        struct crowd crowd = {.path = lease_path(api_bucket(), "k")};
        crowd.token = answer_text(ACQUIRE(crowd.path, "A", "1m"), "token");
        parallel_run(CLIENTS, renew_or_release, &crowd);
        ck_assert_int_eq(crowd.releases, 1);
        ck_assert_int_lt(crowd.last_renewal, crowd.release);
        ck_status(GET(crowd.path), 404);
    }
}
END_TEST

// --- LEASE-4 ----------------------------------------------------------------------------------------------

enum { ROUNDS = 1000, RESTART_EVERY = 250 };

START_TEST(tokens_only_grow)
{
    const char *bucket = api_bucket();
    const char *path = lease_path(bucket, "k");
    struct service_options options = {.database = api.database.url};
    struct service *own = service_start(&options);
    struct http_client *other = http_client_new(service_url(own));
    int64_t last = 0, shift = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct http_client *client = round % 2 ? other : api.client;
        struct answer *grant = acquire_on(client, path, "A", "1h");
        ck_status(grant, 201);
        ck_assert_int_gt(token_of(grant), INT64_C(1) << 53);
        ck_assert_int_gt(token_of(grant), last);
        last = token_of(grant);
        switch (round / 2 % 8) {
        case 0:
            database_shift_clock(&api.database, shift += 3600 * SECOND);
            break;
        case 1:
            ck_status(http(client, "DELETE", TEXT("/v1/buckets/%s", bucket), NO_BODY), 204);
            break;
        default:
            expect_released(release_on(client, path, "A", answer_text(grant, "token")), true);
        }
        if (round % RESTART_EVERY == RESTART_EVERY - 1) {
            http_client_free(other);
            service_end(own);
            own = service_start(&options);
            other = http_client_new(service_url(own));
        }
    }
    database_shift_clock(&api.database, 0);
    http_client_free(other);
    service_end(own);
}
END_TEST

Suite *lease_race_suite(void)
{
    const TTest *const tests[] = {
        one_acquirer_wins,
        at_no_moment_two_holders,
        renew_races_with_expiry,
        release_races_with_expiry,
        one_release_of_many_counts,
        tokens_only_grow,
        NULL,
    };
    return api_suite_of_two("lease_race", tests);
}
