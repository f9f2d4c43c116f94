// Leases against models: random calls one after the other while the clock is moved, and concurrent histories
// over two replicas held against the rule of one lease.
#include "model/lease_rule.h"
#include "model/replicas.h"
#include "model/suites.h"
#include "support/check_main.h"
#include "support/clock.h"
#include "support/entry_client.h"
#include "support/random.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEYS = 3,
    STEPS = 3000, // of the sequential run
    CLIENTS = 16,
    ROUNDS = 12, // each on a lease of its own
    CALLS = 40,  // of a client in a round
};

#define START INT64_C(1893456000000000) // 2030-01-01T00:00:00Z

// --- calls ------------------------------------------------------------------------------------------------

static bool is_done(const struct entry_reply *reply, enum lease_kind kind)
{
    static const int statuses[LEASE_KINDS] = {201, 200, 200, 200, 204};
    return reply->status == statuses[kind] &&
           (kind != LEASE_RELEASE || memmem(reply->body.data, reply->body.size, "true", 4) != NULL);
}

static bool is_refused(const struct entry_reply *reply, enum lease_kind kind)
{
    static const int statuses[LEASE_KINDS] = {409, 409, 200, 404, 409};
    return reply->status == statuses[kind] && !is_done(reply, kind);
}

// Sends the call for the lease `key` and reads its answer; the test fails when it is none.
static void perform(struct entry_client *client, size_t key, const char *term, struct lease_call *call,
                    struct entry_reply *reply)
{
    char lease[80], target[200], body[160] = "";
    snprintf(lease, sizeof lease, "/v1/buckets/leases/leases/key-%zu", key);
    snprintf(target, sizeof target, "%s", lease);
    struct entry_request request = {.target = target, .content_type = "application/json"};
    switch (call->kind) {
    case LEASE_ACQUIRE:
        request.method = "POST";
        snprintf(body, sizeof body, "{\"holder\":\"%u\",\"ttl\":\"%s\"}", call->holder, term);
        break;
    case LEASE_RENEW:
        request.method = "PUT";
        snprintf(body, sizeof body, "{\"holder\":\"%u\",\"token\":\"%" PRIu64 "\",\"ttl\":\"%s\"}",
                 call->holder, call->token, term);
        break;
    case LEASE_RELEASE:
        request.method = "DELETE";
        snprintf(target, sizeof target, "%s?holder=%u&token=%" PRIu64, lease, call->holder, call->token);
        break;
    case LEASE_WRITE:
        request.method = "PUT";
        request.headers = "If-Match: *\r\n";
        snprintf(body, sizeof body, "%" PRIu64, call->token);
        snprintf(
            target, sizeof target,
            "/v1/buckets/leases/entries/fenced?fence_bucket=leases&fence_key=key-%zu&fence_token=%" PRIu64,
            key, call->token);
        break;
    default:
        request.method = "GET";
        break;
    }
    request.body = bytes_of(body);
    entry_client_ask(client, &request, reply);
    ck_assert_int_eq(reply->outcome, ENTRY_ANSWERED);
    call->answer = is_done(reply, call->kind) ? LEASE_DONE : LEASE_REFUSED;
    ck_assert_msg(call->answer == LEASE_DONE || is_refused(reply, call->kind), "%s %s is %d: %.*s",
                  request.method, target, reply->status, (int)reply->body.size,
                  (const char *)reply->body.data);
}

static uint64_t number_in(const struct entry_reply *reply, const char *member)
{
    char text[ENTRY_VERSION_ROOM];
    ck_assert(entry_reply_member(reply, member, text));
    return strtoull(text, NULL, 10);
}

static void begin(struct entry_client clients[2])
{
    struct entry_reply reply;
    for (size_t i = 0; i < 2; i++)
        clients[i] = entry_client_new(replicas_port(i));
    entry_client_ask(&clients[0],
                     &(struct entry_request){.method = "PUT",
                                             .target = "/v1/buckets/leases/entries/fenced",
                                             .body = bytes_of("0")},
                     &reply);
    ck_assert(reply.status == 201 || reply.status == 204);
}

// --- one after the other ----------------------------------------------------------------------------------

struct model_lease {
    uint64_t token; // the last one granted
    unsigned holder;
    int64_t until; // 0 when it was released
};

static const struct {
    const char *text;
    int64_t us;
} terms[] = {{"100ms", 100 * 1000}, {"1s", 1000000}, {"90s", 90 * INT64_C(1000000)}};

struct run {
    struct random random;
    struct entry_client clients[2];
    struct model_lease leases[KEYS];
    int64_t now;
};

static void move_clock(struct run *run, const struct model_lease *lease)
{
    int64_t to = run->now + (int64_t)random_below(&run->random, 2000000);
    if (lease->until > run->now && random_chance(&run->random, 60))
        to = lease->until - (random_chance(&run->random, 50) ? 1 : 0);
    run->now = to;
    replicas_set_clock(to);
}

// The token of the call: mostly the last one, at times its neighbour's, another lease's or nobody's.
static uint64_t some_token(struct run *run, size_t key)
{
    uint64_t token = run->leases[key].token;
    size_t drawn = random_below(&run->random, 10);
    if (drawn == 0)
        token = run->leases[(key + 1) % KEYS].token;
    else if (drawn < 3)
        token += drawn == 1 ? 1 : UINT64_MAX;
    return token > 0 && token < INT64_MAX ? token : 1;
}

static bool is_expected(const struct model_lease *lease, const struct lease_call *call, int64_t now)
{
    bool live = now < lease->until;
    switch (call->kind) {
    case LEASE_ACQUIRE:
        return !live;
    case LEASE_GET:
        return live;
    case LEASE_WRITE:
        return live && call->token == lease->token;
    default:
        return live && call->token == lease->token && call->holder == lease->holder;
    }
}

static void follow(struct model_lease *lease, const struct lease_call *call, int64_t until,
                   const struct entry_reply *reply)
{
    if (call->kind == LEASE_ACQUIRE) {
        uint64_t token = number_in(reply, "token");
        ck_assert_uint_gt(token, lease->token);
        *lease = (struct model_lease){token, call->holder, until};
    } else if (call->kind == LEASE_RENEW) {
        lease->until = until;
    } else if (call->kind == LEASE_RELEASE) {
        lease->until = 0;
    } else if (call->kind == LEASE_GET) {
        ck_assert_uint_eq(number_in(reply, "holder"), lease->holder);
    }
}

static void step(struct run *run, int number, uint64_t seed)
{
    size_t key = random_below(&run->random, KEYS);
    struct model_lease *lease = &run->leases[key];
    if (random_chance(&run->random, 25)) {
        move_clock(run, lease);
        return;
    }
    struct entry_reply reply;
    size_t term = random_below(&run->random, sizeof terms / sizeof terms[0]);
    struct lease_call call = {
        .kind = (enum lease_kind)random_below(&run->random, LEASE_KINDS),
        .holder = random_chance(&run->random, 80) ? lease->holder : (unsigned)random_below(&run->random, 4),
        .token = some_token(run, key),
    };
    perform(&run->clients[random_below(&run->random, 2)], key, terms[term].text, &call, &reply);
    bool expected = is_expected(lease, &call, run->now);
    ck_assert_msg(expected == (call.answer == LEASE_DONE), "seed %" PRIu64 ", step %d: call %d was %s", seed,
                  number, (int)call.kind, expected ? "refused" : "done");
    if (expected)
        follow(lease, &call, run->now + terms[term].us, &reply);
}

START_TEST(random_calls_on_leases_agree_with_the_model)
{
    uint64_t seed = random_run_seed();
    struct run run = {.random = random_seeded(seed, 77), .now = START};
    printf("leases, seed %" PRIu64 "\n", seed);
    replicas_set_clock(run.now);
    begin(run.clients);
    for (int i = 0; i < STEPS; i++)
        step(&run, i, seed);
    replicas_set_clock(0);
    for (size_t i = 0; i < 2; i++)
        entry_client_close(&run.clients[i]);
}
END_TEST

// --- at once ----------------------------------------------------------------------------------------------

static struct contest {
    uint64_t seed;
    pthread_barrier_t start;
    atomic_ullong last[ROUNDS]; // a token of the round that somebody was given lately
    struct lease_call calls[ROUNDS][CLIENTS][CALLS];
} contest;

// Acts on its own lease, on one it lost, or with a token of somebody else's.
static void contend(struct entry_client clients[2], struct random *random, size_t round,
                    struct lease_call *call, uint64_t *own)
{
    struct entry_reply reply;
    call->kind = (enum lease_kind)random_below(random, LEASE_KINDS);
    if (!*own && random_chance(random, 60))
        call->kind = LEASE_ACQUIRE;
    if (call->kind != LEASE_ACQUIRE)
        call->token = *own && random_chance(random, 80) ? *own : atomic_load(&contest.last[round]);
    if (!call->token)
        call->token = 1;
    call->invoked = clock_ns();
    perform(&clients[random_below(random, 2)], 1000 + round, "1h", call, &reply);
    call->returned = clock_ns();
    if (call->kind == LEASE_GET && call->answer == LEASE_DONE)
        call->holder = (unsigned)number_in(&reply, "holder");
    if (call->kind == LEASE_ACQUIRE && call->answer == LEASE_DONE) {
        *own = call->token = number_in(&reply, "token");
        atomic_store(&contest.last[round], *own);
    }
}

static void *run_client(void *argument)
{
    unsigned number = *(unsigned *)argument;
    struct random random = random_seeded(contest.seed, 100 + number);
    struct entry_client clients[2] = {entry_client_new(replicas_port(0)), entry_client_new(replicas_port(1))};
    for (size_t round = 0; round < ROUNDS; round++) {
        uint64_t own = 0;
        pthread_barrier_wait(&contest.start);
        for (size_t i = 0; i < CALLS; i++) {
            struct lease_call *call = &contest.calls[round][number][i];
            call->holder = number;
            contend(clients, &random, round, call, &own);
        }
    }
    entry_client_close(&clients[0]);
    entry_client_close(&clients[1]);
    return NULL;
}

static void check_round(size_t round, size_t done[LEASE_KINDS][LEASE_ANSWERS])
{
    static struct linear_call calls[CLIENTS * CALLS];
    size_t count = 0;
    for (size_t i = 0; i < CLIENTS; i++)
        for (size_t j = 0; j < CALLS; j++) {
            const struct lease_call *call = &contest.calls[round][i][j];
            done[call->kind][call->answer]++;
            calls[count++] = (struct linear_call){call->invoked, call->returned, call};
        }
    struct linear_report report = linear_check(&lease_rule, calls, count, LINEAR_BUDGET);
    ck_assert_msg(report.verdict == LINEAR_YES, "seed %" PRIu64 ", round %zu: verdict %d, stuck at call %zu",
                  contest.seed, round, (int)report.verdict, report.stuck);
}

START_TEST(concurrent_histories_of_leases_are_linearizable)
{
    pthread_t threads[CLIENTS];
    unsigned numbers[CLIENTS];
    size_t done[LEASE_KINDS][LEASE_ANSWERS] = {{0}};
    struct entry_client clients[2];
    contest.seed = random_run_seed();
    begin(clients);
    pthread_barrier_init(&contest.start, NULL, CLIENTS);
    for (unsigned i = 0; i < CLIENTS; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_client, &numbers[i]), 0);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&contest.start);
    for (size_t round = 0; round < ROUNDS; round++)
        check_round(round, done);
    printf("leases, seed %" PRIu64 ": done and refused:", contest.seed);
    for (size_t kind = 0; kind < LEASE_KINDS; kind++) {
        printf(" %zu %zu", done[kind][LEASE_DONE], done[kind][LEASE_REFUSED]);
        ck_assert_uint_gt(done[kind][LEASE_DONE], 0);
        ck_assert_uint_gt(done[kind][LEASE_REFUSED], 0);
    }
    printf("\n");
    entry_client_close(&clients[0]);
    entry_client_close(&clients[1]);
}
END_TEST

// The checker finds what must not be: two holders, a token that fell, a write of somebody who lost the lease.
START_TEST(lease_rule_refuses_what_must_not_be)
{
    static const struct lease_call first = {.kind = LEASE_ACQUIRE, .token = 5, .holder = 1};
    static const struct lease_call second = {.kind = LEASE_ACQUIRE, .token = 6, .holder = 2};
    static const struct lease_call let_go = {.kind = LEASE_RELEASE, .token = 5, .holder = 1};
    static const struct lease_call fallen = {.kind = LEASE_ACQUIRE, .token = 5, .holder = 2};
    static const struct lease_call late = {.kind = LEASE_WRITE, .token = 5, .holder = 1};
    static const struct lease_call lost = {
        .kind = LEASE_WRITE, .answer = LEASE_REFUSED, .token = 5, .holder = 1};
    static const struct {
        const struct lease_call *calls[4];
        enum linear_verdict verdict;
    } histories[] = {
        {{&first, &second}, LINEAR_NO},
        {{&first, &let_go, &second}, LINEAR_YES},
        {{&first, &let_go, &fallen}, LINEAR_NO},
        {{&first, &late, &let_go, &second}, LINEAR_YES},
        {{&first, &let_go, &second, &late}, LINEAR_NO},
        {{&first, &let_go, &second, &lost}, LINEAR_YES},
        {{&first, &lost}, LINEAR_NO},
    };
    for (size_t i = 0; i < sizeof histories / sizeof histories[0]; i++) {
        struct linear_call calls[4];
        size_t count = 0;
        for (; count < 4 && histories[i].calls[count]; count++)
            calls[count] =
                (struct linear_call){(int64_t)count * 2, (int64_t)count * 2 + 1, histories[i].calls[count]};
        ck_assert_int_eq(linear_check(&lease_rule, calls, count, LINEAR_BUDGET).verdict,
                         histories[i].verdict);
    }
}
END_TEST

Suite *leases_suite(void)
{
    Suite *suite = suite_create("leases");
    TCase *tcase = tcase_create("two replicas");
    tcase_set_timeout(tcase, 120);
    tcase_add_unchecked_fixture(tcase, replicas_start, replicas_stop);
    tcase_add_test(tcase, lease_rule_refuses_what_must_not_be);
    tcase_add_test(tcase, random_calls_on_leases_agree_with_the_model);
    tcase_add_test(tcase, concurrent_histories_of_leases_are_linearizable);
    suite_add_tcase(suite, tcase);
    return suite;
}
