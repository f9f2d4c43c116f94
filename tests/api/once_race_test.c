// Races for runs over two replicas: one runs, everybody else gets its answer, and no wake-up is lost
// (WAIT-2). HOLDFAST_WAIT_PAIRS says how many pairs of answer and wait are made instead.
#include "once_steps.h"

#include "support/clock.h"
#include "support/parallel.h"
#include "support/random.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { CALLERS = 64, ROUNDS = 12 };

// --- one of many
// ------------------------------------------------------------------------------------------------------

struct race {
    const char *path;
    bool waits;
    atomic_int granted, running, kept, wrong;
};

static struct answer *ask(struct http_client *client, const struct race *race)
{
    return race->waits ? http(client, "POST", race->path, NO_BODY, "Prefer: wait=25")
                       : begin_on(client, race->path);
}

// Whoever gets the run answers with its token, so that two runs would show.
static void call_once(size_t index, void *user)
{
    struct race *race = user;
    struct http_client *client = http_client_new(replica_url(index));
    struct answer *answer = ask(client, race);
    if (answer->status == 201) {
        atomic_fetch_add(&race->granted, 1);
        const char *token = run_token(answer);
        ck_status(
            http(client, "PUT", http_text(client, "%s/answer?token=%s", race->path, token), bytes_of(token)),
            204);
    } else if (answer->status == 202) {
        atomic_fetch_add(&race->running, 1);
    } else if (answer->status == 200) {
        atomic_fetch_add(&race->kept, 1);
    }
    // Whatever it was told: from the answer on, everybody is told the same.
    if (race->waits) {
        struct answer *again = begin_on(client, race->path);
        if (again->status != 200 || (answer->status == 200 && !answer_is(again, answer->body)))
            atomic_fetch_add(&race->wrong, 1);
    }
    http_client_free(client);
}

START_TEST(one_of_many_callers_runs)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct race race = {.path = once_path(api_bucket(), "k"), .waits = true};
        parallel_run(CALLERS, call_once, &race);
        ck_assert_int_eq(race.granted, 1);
        ck_assert_int_eq(race.kept, CALLERS - 1);
        ck_assert_int_eq(race.wrong, 0);
    }
}
END_TEST

START_TEST(one_of_many_callers_runs_and_others_do_not_wait)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct race race = {.path = once_path(api_bucket(), "k")};
        parallel_run(CALLERS, call_once, &race);
        ck_assert_int_eq(race.granted, 1);
        ck_assert_int_eq(race.running + race.kept, CALLERS - 1);
    }
}
END_TEST

// --- each in turn
// -----------------------------------------------------------------------------------------------------

struct turns {
    const char *path;
    atomic_int running; // at this moment
    atomic_int most_running, granted, other;
    long long tokens[CALLERS];
};

// Every runner fails, so every caller has its turn.
static void run_and_fail(size_t index, void *user)
{
    struct turns *turns = user;
    struct http_client *client = http_client_new(replica_url(index));
    struct answer *answer = http(client, "POST", turns->path, NO_BODY, "Prefer: wait=25");
    if (answer->status == 201) {
        int running = atomic_fetch_add(&turns->running, 1) + 1;
        if (running > atomic_load(&turns->most_running))
            atomic_store(&turns->most_running, running);
        const char *token = run_token(answer);
        turns->tokens[index] = strtoll(token, NULL, 10);
        atomic_fetch_add(&turns->granted, 1);
        atomic_fetch_sub(&turns->running, 1);
        ck_status(http(client, "DELETE", http_text(client, "%s/run?token=%s", turns->path, token), NO_BODY),
                  204);
    } else {
        atomic_fetch_add(&turns->other, 1);
    }
    http_client_free(client);
}

static int by_number(const void *a, const void *b)
{
    const long long *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

START_TEST(failed_runs_are_handed_on_to_each)
{
    for (int round = 0; round < 5; round++) {
        struct turns turns = {.path = once_path(api_bucket(), "k")};
        parallel_run(CALLERS, run_and_fail, &turns);
        ck_assert_int_eq(turns.other, 0);
        ck_assert_int_eq(turns.granted, CALLERS);
        ck_assert_int_eq(turns.most_running, 1);
        qsort(turns.tokens, CALLERS, sizeof turns.tokens[0], by_number);
        for (int i = 1; i < CALLERS; i++)
            ck_assert_int_gt(turns.tokens[i], turns.tokens[i - 1]);
    }
}
END_TEST

// --- the end of a run's time
// ------------------------------------------------------------------------------------------

// A runner that answers as its time ends, beside callers who wait for it to end.
struct ending {
    const char *path;
    const char *token;
    int64_t until;
    int answered; // the status of the first runner's answer
    atomic_int granted, kept;
    char bodies[8][40];
};

static void answer_or_replace(size_t index, void *user)
{
    struct ending *ending = user;
    struct http_client *client = http_client_new(replica_url(index));
    if (index == 0) {
        while (clock_real_us() < ending->until - 500)
            ;
        ending->answered =
            http(client, "PUT", http_text(client, "%s/answer?token=%s", ending->path, ending->token),
                 BODY("first"))
                ->status;
    } else {
        struct answer *answer = http(client, "POST", ending->path, NO_BODY, "Prefer: wait=25");
        if (answer->status == 201) {
            atomic_fetch_add(&ending->granted, 1);
            ck_status(http(client, "PUT",
                           http_text(client, "%s/answer?token=%s", ending->path, run_token(answer)),
                           BODY("second")),
                      204);
        } else if (answer->status == 200) {
            atomic_fetch_add(&ending->kept, 1);
            snprintf(ending->bodies[index], sizeof ending->bodies[0], "%.*s", (int)answer->body.size,
                     (const char *)answer->body.data);
        }
    }
    http_client_free(client);
}

START_TEST(late_answer_races_with_the_next_run)
{
    const char *name = api_bucket();
    ck_status(PUT(TEXT("/v1/once/%s", name), BODY("{\"run_ttl\":\"1h\"}")), 201);
    for (int round = 0; round < 30; round++) {
        struct ending ending = {.path = once_path(name, TEXT("%d", round))};
        ending.token = begun(ending.path);
        struct answer *run = RENEW_RUN(ending.path, ending.token, BODY("{\"ttl\":\"150ms\"}"));
        ck_status(run, 200);
        ending.until = run_end_of(run);
        parallel_run(8, answer_or_replace, &ending);
        // One answer, and it is that of the one run that was in time.
        bool first = ending.answered == 204;
        ck_assert(first || ending.answered == 409);
        ck_assert_int_eq(ending.granted, first ? 0 : 1);
        ck_assert_int_eq(ending.kept, first ? 7 : 6);
        for (int i = 1; i < 8; i++)
            ck_assert(!ending.bodies[i][0] || strcmp(ending.bodies[i], first ? "first" : "second") == 0);
    }
}
END_TEST

// --- no wake-up is lost
// -----------------------------------------------------------------------------------------------

enum { RACERS = 8, NAMES = 3, PAIRS = 1000, SLOWEST_MS = 1000 };

struct pairs {
    const char *names[NAMES];
    int count; // of each racer
    uint64_t seed;
    int64_t slowest_ms[RACERS];
    char fault[RACERS][400];
};

// One racer's connections: it waits on one replica and ends the run on the other.
struct racer {
    struct pairs *pairs;
    size_t index;
    struct raw *waits, *runs;
    int round;
};

static void spend(uint64_t us)
{
    struct timespec pause = {.tv_nsec = (long)us * 1000};
    nanosleep(&pause, NULL);
}

static bool note_fault(struct racer *racer, const char *what, const struct answer *answer)
{
    char *shown = answer ? answer_describe(answer) : NULL;
    snprintf(racer->pairs->fault[racer->index], sizeof racer->pairs->fault[0], "pair %d of racer %zu: %s: %s",
             racer->round, racer->index, what, shown ? shown : "no answer");
    free(shown);
    return false;
}

static struct answer *call(struct raw *raw, const char *method, const char *path, const char *body)
{
    if (!raw_text(raw, "%s %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n%s", method, path,
                  strlen(body), body))
        return NULL;
    return raw_read(raw, false, ONCE_PATIENCE);
}

static bool send_wait(struct racer *racer, const char *path)
{
    return raw_text(racer->waits, "POST %s HTTP/1.1\r\nHost: h\r\nPrefer: wait=60\r\n\r\n", path);
}

static bool send_end(struct racer *racer, const char *path, const char *token, bool fails)
{
    return fails ? raw_text(racer->runs, "DELETE %s/run?token=%s HTTP/1.1\r\nHost: h\r\n\r\n", path, token)
                 : raw_text(racer->runs,
                            "PUT %s/answer?token=%s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n%s",
                            path, token, strlen(token), token);
}

static bool run_pair(struct racer *racer, struct random *random)
{
    char path[200], token[40];
    snprintf(path, sizeof path, "/v1/once/%s/%zu-%d", racer->pairs->names[racer->index % NAMES], racer->index,
             racer->round);
    struct answer *run = call(racer->runs, "POST", path, "");
    if (!run || run->status != 201)
        return note_fault(racer, "the run", run);
    snprintf(token, sizeof token, "%s", answer_text(run, "token"));
    bool fails = random_below(random, 3) == 0, ends_first = random_below(random, 4) == 0;
    uint64_t offset = random_below(random, 2000);
    bool sent = ends_first ? send_end(racer, path, token, fails) : send_wait(racer, path);
    spend(offset);
    sent = (ends_first ? send_wait(racer, path) : send_end(racer, path, token, fails)) && sent;
    int64_t start = clock_ms();
    struct answer *answer = sent ? raw_read(racer->waits, false, ONCE_PATIENCE * 3) : NULL;
    if (!answer ||
        (fails ? answer->status != 201 : answer->status != 200 || !answer_is(answer, bytes_of(token))))
        return note_fault(racer, "the wait", answer);
    int64_t took = clock_ms() - start;
    if (took > racer->pairs->slowest_ms[racer->index])
        racer->pairs->slowest_ms[racer->index] = took;
    struct answer *ended = raw_read(racer->runs, false, ONCE_PATIENCE);
    return (ended && ended->status == 204) || note_fault(racer, "the end of the run", ended);
}

static void run_racer(size_t index, void *user)
{
    struct pairs *pairs = user;
    struct racer racer = {.pairs = pairs, .index = index};
    struct random random = random_seeded(pairs->seed, index);
    racer.waits = raw_connect(service_port(index % 2 ? api.twin : api.service));
    racer.runs = raw_connect(service_port(index % 2 ? api.service : api.twin));
    for (racer.round = 0; racer.round < pairs->count && run_pair(&racer, &random); racer.round++) {
    }
    raw_close(racer.waits);
    raw_close(racer.runs);
}

// WAIT-2
START_TEST(end_of_a_run_is_never_missed)
{
    const char *given = getenv("HOLDFAST_WAIT_PAIRS");
    static struct pairs pairs;
    pairs.count = (given && *given ? atoi(given) : PAIRS) / RACERS + 1;
    pairs.seed = random_run_seed();
    for (int i = 0; i < NAMES; i++)
        pairs.names[i] = api_bucket();
    parallel_run(RACERS, run_racer, &pairs);
    for (int i = 0; i < RACERS; i++) {
        ck_assert_msg(!pairs.fault[i][0], "seed %llu: %s", (unsigned long long)pairs.seed, pairs.fault[i]);
        ck_assert_int_lt(pairs.slowest_ms[i], SLOWEST_MS);
    }
}
END_TEST

Suite *once_race_suite(void)
{
    const TTest *const tests[] = {
        one_of_many_callers_runs,          one_of_many_callers_runs_and_others_do_not_wait,
        failed_runs_are_handed_on_to_each, late_answer_races_with_the_next_run,
        end_of_a_run_is_never_missed,      NULL,
    };
    return api_suite_of_two("once_race", tests);
}
