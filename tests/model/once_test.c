// Once against its rule: callers on two replicas race for a few keys, runs are answered, failed and
// abandoned, and every history must be one that the rule allows.
#include "model/once_rule.h"
#include "model/replicas.h"
#include "model/suites.h"
#include "support/check_main.h"
#include "support/clock.h"
#include "support/http.h"
#include "support/random.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENTS = 12,
    ROUNDS = 4, // each on keys of its own
    KEYS = 2,   // of a round
    PHASES = 4, // of a round, with a move of the clock behind each
    CALLS = 12, // of a client in a phase
    PHASE_CALLS = CALLS + KEYS,
};

#define SECOND INT64_C(1000000)
#define START  INT64_C(1893456000000000) // 2030-01-01T00:00:00Z
#define NAME   "/v1/once/jobs"

struct move {
    enum once_kind kind;
    int64_t invoked;
    int64_t returned;
};

static struct contest {
    uint64_t seed;
    pthread_barrier_t barrier;
    int64_t now;
    atomic_ullong last[ROUNDS][KEYS]; // a token of the key that somebody was given lately
    struct move moves[ROUNDS][PHASES];
    struct once_call calls[ROUNDS][KEYS][CLIENTS][PHASES * PHASE_CALLS];
    size_t counts[ROUNDS][KEYS][CLIENTS];
} contest;

struct client {
    unsigned number;
    struct random random;
    struct http_client *replicas[2];
    size_t round;
    uint64_t own[KEYS]; // tokens of runs that this client was given and has not ended
    uint64_t answers;   // given so far
};

// --- calls ------------------------------------------------------------------------------------------------

// How the call went; the test fails when the reply is none that the call may have.
static enum once_answer answer_of(const struct once_call *call, const struct answer *reply)
{
    static const struct {
        int status;
        enum once_answer answer;
    } answers[ONCE_KINDS][3] = {
        [ONCE_BEGIN] = {{201, ONCE_GRANTED}, {200, ONCE_KEPT}, {202, ONCE_RUNNING}},
        [ONCE_ANSWER] = {{204, ONCE_GRANTED}, {409, ONCE_REFUSED}},
        [ONCE_RENEW] = {{200, ONCE_GRANTED}, {409, ONCE_REFUSED}},
        [ONCE_FAIL] = {{204, ONCE_GRANTED}, {409, ONCE_REFUSED}},
        [ONCE_GET] = {{200, ONCE_KEPT}, {404, ONCE_REFUSED}},
        [ONCE_FORGET] = {{204, ONCE_GRANTED}},
    };
    for (size_t i = 0; i < 3; i++)
        if (answers[call->kind][i].status == reply->status)
            return answers[call->kind][i].answer;
    ck_abort_msg("call %d is answered %s", (int)call->kind, answer_describe(reply));
}

static struct answer *send_call(struct client *client, size_t key, const struct once_call *call, bool waits)
{
    struct http_client *http = client->replicas[random_below(&client->random, 2)];
    const char *path = http_text(http, NAME "/%zu-%zu?under=round%%2F%zu", client->round, key, client->round);
    const char *query = strchr(path, '?');
    const char *under = http_text(http, "%s&token=%" PRIu64, query, call->token);
    int size = (int)(query - path);
    switch (call->kind) {
    case ONCE_BEGIN:
        return waits ? http(http, "POST", path, NO_BODY, "Prefer: wait=1")
                     : http(http, "POST", path, NO_BODY);
    case ONCE_ANSWER:
        return http(http, "PUT", http_text(http, "%.*s/answer%s", size, path, under),
                    bytes_of(http_text(http, "answer %" PRIu64, call->kept)), "Content-Type: text/plain");
    case ONCE_RENEW:
        return http(http, "PUT", http_text(http, "%.*s/run%s", size, path, under), NO_BODY);
    case ONCE_FAIL:
        return http(http, "DELETE", http_text(http, "%.*s/run%s", size, path, under), NO_BODY);
    case ONCE_FORGET:
        return http(http, "DELETE", path, NO_BODY);
    default:
        return http(http, "GET", path, NO_BODY);
    }
}

static uint64_t shown_answer(const struct answer *reply)
{
    const char *text = (const char *)reply->body.data;
    ck_assert(strncmp(text, "answer ", 7) == 0);
    ck_assert_str_eq(answer_need(reply, "Content-Type"), "text/plain");
    return strtoull(text + 7, NULL, 10);
}

static uint64_t given_token(const struct answer *reply)
{
    const char *text = answer_text(reply, "token");
    ck_assert(text != NULL);
    return strtoull(text, NULL, 10);
}

static void perform(struct client *client, size_t key, struct once_call *call, bool waits)
{
    call->invoked = clock_ns();
    const struct answer *reply = send_call(client, key, call, waits);
    call->returned = clock_ns();
    call->answer = answer_of(call, reply);
    if (call->answer == ONCE_KEPT)
        call->kept = shown_answer(reply);
    if (call->kind == ONCE_BEGIN && call->answer == ONCE_KEPT)
        ck_assert_str_eq(answer_need(reply, "Holdfast-Once"), "kept");
    if (reply->status == 409)
        ck_assert_str_eq(answer_kind(reply), "lease_lost");
    bool granted = call->answer == ONCE_GRANTED;
    if (call->kind == ONCE_BEGIN && granted) {
        client->own[key] = call->token = given_token(reply);
        atomic_store(&contest.last[client->round][key], call->token);
    }
    bool ends = call->kind == ONCE_ANSWER || call->kind == ONCE_FAIL;
    if (call->token == client->own[key] && (ends || (call->kind == ONCE_RENEW && !granted)))
        client->own[key] = 0;
    size_t *count = &contest.counts[client->round][key][client->number];
    contest.calls[client->round][key][client->number][(*count)++] = *call;
}

// --- clients ----------------------------------------------------------------------------------------------

static bool owns_any(const struct client *client)
{
    for (size_t key = 0; key < KEYS; key++)
        if (client->own[key])
            return true;
    return false;
}

static void end_run(struct client *client, size_t key, uint64_t token)
{
    struct once_call call = {.kind = random_chance(&client->random, 60) ? ONCE_ANSWER : ONCE_FAIL,
                             .token = token};
    if (call.kind == ONCE_ANSWER)
        call.kept = ++client->answers * CLIENTS + client->number;
    perform(client, key, &call, false);
}

// Waits only where every runner ends its run, and while it has none itself.
static void contend(struct client *client, bool may_wait)
{
    struct random *random = &client->random;
    size_t key = random_below(random, KEYS), drawn = random_below(random, 100);
    uint64_t last = atomic_load(&contest.last[client->round][key]);
    uint64_t token = client->own[key] && random_chance(random, 85) ? client->own[key] : last ? last : 1;
    if (client->own[key] ? drawn < 40 : drawn < 8) {
        end_run(client, key, token);
        return;
    }
    struct once_call call = {.kind = drawn < 70   ? ONCE_BEGIN
                                     : drawn < 80 ? ONCE_GET
                                     : drawn < 88 ? ONCE_RENEW
                                                  : ONCE_FORGET};
    if (call.kind == ONCE_RENEW)
        call.token = token;
    perform(client, key, &call, may_wait && !owns_any(client) && random_chance(random, 60));
}

// In every other phase the runs that are left are abandoned: their runners come back when they are late.
static bool phase_abandons(size_t phase)
{
    return phase % 2 == 1;
}

static void run_phase(struct client *client, size_t phase)
{
    for (size_t i = 0; i < CALLS; i++)
        contend(client, !phase_abandons(phase));
    for (size_t key = 0; key < KEYS && !phase_abandons(phase); key++)
        if (client->own[key])
            end_run(client, key, client->own[key]);
}

// Past the run_ttl of a minute, at times past the ttl of an hour.
static void move_clock(struct client *client, size_t phase)
{
    struct move *move = &contest.moves[client->round][phase];
    move->kind = random_chance(&client->random, 30) ? ONCE_ANSWERS_END : ONCE_RUNS_END;
    move->invoked = clock_ns();
    contest.now += (move->kind == ONCE_RUNS_END ? 60 : 3600) * SECOND;
    replicas_set_clock(contest.now);
    move->returned = clock_ns();
}

static void *run_client(void *argument)
{
    static const char *const format = "http://127.0.0.1:%u";
    struct client client = {.number = *(unsigned *)argument};
    client.random = random_seeded(contest.seed, 700 + client.number);
    for (size_t i = 0; i < 2; i++) {
        char url[40];
        snprintf(url, sizeof url, format, (unsigned)replicas_port(i));
        client.replicas[i] = http_client_new(url);
    }
    for (; client.round < ROUNDS; client.round++) {
        memset(client.own, 0, sizeof client.own);
        for (size_t phase = 0; phase < PHASES; phase++) {
            pthread_barrier_wait(&contest.barrier);
            run_phase(&client, phase);
            pthread_barrier_wait(&contest.barrier);
            if (client.number == 0)
                move_clock(&client, phase);
        }
    }
    http_client_free(client.replicas[0]);
    http_client_free(client.replicas[1]);
    return NULL;
}

// --- judging ----------------------------------------------------------------------------------------------

static void check_key(size_t round, size_t key, size_t done[ONCE_KINDS][ONCE_ANSWERS])
{
    static struct linear_call calls[CLIENTS * PHASES * PHASE_CALLS + PHASES];
    static struct once_call moves[PHASES];
    size_t count = 0;
    for (size_t i = 0; i < CLIENTS; i++)
        for (size_t j = 0; j < contest.counts[round][key][i]; j++) {
            const struct once_call *call = &contest.calls[round][key][i][j];
            done[call->kind][call->answer]++;
            calls[count++] = (struct linear_call){call->invoked, call->returned, call};
        }
    for (size_t phase = 0; phase < PHASES; phase++) {
        const struct move *move = &contest.moves[round][phase];
        moves[phase] = (struct once_call){.kind = move->kind};
        calls[count++] = (struct linear_call){move->invoked, move->returned, &moves[phase]};
    }
    struct linear_report report = linear_check(&once_rule, calls, count, LINEAR_BUDGET);
    ck_assert_msg(report.verdict == LINEAR_YES, "seed %" PRIu64 ", round %zu: verdict %d, stuck at call %zu",
                  contest.seed, round, (int)report.verdict, report.stuck);
}

static void declare_jobs(void)
{
    char url[40];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", (unsigned)replicas_port(0));
    struct http_client *http = http_client_new(url);
    const struct answer *reply = http(http, "PUT", NAME, BODY("{\"ttl\":\"1h\",\"run_ttl\":\"1m\"}"),
                                      "Content-Type: application/json");
    ck_assert_int_eq(reply->status, 201);
    http_client_free(http);
}

static void race(void)
{
    pthread_t threads[CLIENTS];
    unsigned numbers[CLIENTS];
    pthread_barrier_init(&contest.barrier, NULL, CLIENTS);
    for (unsigned i = 0; i < CLIENTS; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_client, &numbers[i]), 0);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&contest.barrier);
}

START_TEST(concurrent_histories_of_once_are_linearizable)
{
    size_t done[ONCE_KINDS][ONCE_ANSWERS] = {{0}};
    contest.seed = random_run_seed();
    contest.now = START;
    printf("once, seed %" PRIu64 "\n", contest.seed);
    declare_jobs();
    replicas_set_clock(contest.now);
    race();
    replicas_set_clock(0);
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t key = 0; key < KEYS; key++)
            check_key(round, key, done);
    printf("once: granted, kept, running, refused:");
    for (size_t kind = 0; kind < ONCE_KINDS; kind++)
        printf(" %zu %zu %zu %zu;", done[kind][ONCE_GRANTED], done[kind][ONCE_KEPT], done[kind][ONCE_RUNNING],
               done[kind][ONCE_REFUSED]);
    printf("\n");
    for (size_t answer = ONCE_GRANTED; answer <= ONCE_RUNNING; answer++)
        ck_assert_uint_gt(done[ONCE_BEGIN][answer], 0);
    for (size_t kind = ONCE_ANSWER; kind <= ONCE_FAIL; kind++)
        ck_assert(done[kind][ONCE_GRANTED] > 0 && done[kind][ONCE_REFUSED] > 0);
}
END_TEST

// The checker finds what must not be: two runners, a token that fell, an answer of somebody who lost the run,
// another answer than the kept one, none where one is kept.
START_TEST(once_rule_refuses_what_must_not_be)
{
    static const struct once_call run = {.kind = ONCE_BEGIN, .token = 5};
    static const struct once_call next = {.kind = ONCE_BEGIN, .token = 6};
    static const struct once_call fallen = {.kind = ONCE_BEGIN, .token = 4};
    static const struct once_call told = {.kind = ONCE_BEGIN, .answer = ONCE_RUNNING};
    static const struct once_call given = {.kind = ONCE_BEGIN, .answer = ONCE_KEPT, .kept = 1};
    static const struct once_call other = {.kind = ONCE_BEGIN, .answer = ONCE_KEPT, .kept = 2};
    static const struct once_call keep = {.kind = ONCE_ANSWER, .token = 5, .kept = 1};
    static const struct once_call keep_next = {.kind = ONCE_ANSWER, .token = 6, .kept = 2};
    static const struct once_call late = {.kind = ONCE_ANSWER, .answer = ONCE_REFUSED, .token = 5, .kept = 1};
    static const struct once_call renew = {.kind = ONCE_RENEW, .token = 5};
    static const struct once_call failed = {.kind = ONCE_FAIL, .token = 5};
    static const struct once_call none = {.kind = ONCE_GET, .answer = ONCE_REFUSED};
    static const struct once_call forget = {.kind = ONCE_FORGET};
    static const struct once_call runs_end = {.kind = ONCE_RUNS_END};
    static const struct once_call answers_end = {.kind = ONCE_ANSWERS_END};
    static const struct {
        const struct once_call *calls[6];
        enum linear_verdict verdict;
    } histories[] = {
        {{&run, &next}, LINEAR_NO},
        {{&run, &told, &keep, &given, &given}, LINEAR_YES},
        {{&run, &keep, &given, &other}, LINEAR_NO},
        {{&run, &keep, &next}, LINEAR_NO},
        {{&run, &keep, &told}, LINEAR_NO},
        {{&run, &keep, &none}, LINEAR_NO},
        {{&run, &keep, &keep}, LINEAR_NO},
        {{&run, &none, &given}, LINEAR_NO},
        {{&told}, LINEAR_NO},
        {{&given}, LINEAR_NO},
        {{&run, &late}, LINEAR_NO},
        {{&run, &failed, &next, &late, &keep_next, &other}, LINEAR_YES},
        {{&run, &failed, &next, &keep}, LINEAR_NO},
        {{&run, &failed, &fallen}, LINEAR_NO},
        {{&run, &failed, &renew}, LINEAR_NO},
        {{&run, &runs_end, &next, &late}, LINEAR_YES},
        {{&run, &runs_end, &next, &keep}, LINEAR_NO},
        {{&run, &runs_end, &keep}, LINEAR_NO},
        {{&run, &runs_end, &told}, LINEAR_NO},
        {{&run, &keep, &runs_end, &given}, LINEAR_YES},
        {{&run, &keep, &runs_end, &next}, LINEAR_NO},
        {{&run, &keep, &answers_end, &next}, LINEAR_YES},
        {{&run, &keep, &answers_end, &given}, LINEAR_NO},
        {{&run, &keep, &forget, &given}, LINEAR_NO},
        {{&run, &forget, &next}, LINEAR_NO},
    };
    for (size_t i = 0; i < sizeof histories / sizeof histories[0]; i++) {
        struct linear_call calls[6];
        size_t count = 0;
        for (; count < 6 && histories[i].calls[count]; count++)
            calls[count] =
                (struct linear_call){(int64_t)count * 2, (int64_t)count * 2 + 1, histories[i].calls[count]};
        ck_assert_msg(linear_check(&once_rule, calls, count, LINEAR_BUDGET).verdict == histories[i].verdict,
                      "history %zu", i);
    }
}
END_TEST

Suite *once_suite(void)
{
    Suite *suite = suite_create("once");
    TCase *tcase = tcase_create("two replicas");
    tcase_set_timeout(tcase, 120);
    tcase_add_unchecked_fixture(tcase, replicas_start, replicas_stop);
    tcase_add_test(tcase, once_rule_refuses_what_must_not_be);
    tcase_add_test(tcase, concurrent_histories_of_once_are_linearizable);
    suite_add_tcase(suite, tcase);
    return suite;
}
