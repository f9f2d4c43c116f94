// WAIT-2: a write that races with a wait on another replica, thousands of times, with the listening sessions
// cut at random moments too. HOLDFAST_WAIT_PAIRS says how many pairs a test makes instead.
#include "wait_steps.h"

#include "support/clock.h"
#include "support/parallel.h"
#include "support/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { RACERS = 8, BUCKETS = 3, PAIRS = 3000, CUT_PAIRS = 1000 };

struct race {
    const char *buckets[BUCKETS];
    int pairs; // of each racer
    uint64_t seed;
    atomic_int done;
    int64_t slowest_ms[RACERS];
    char fault[RACERS][400];
};

static int pairs_wanted(int standard)
{
    const char *given = getenv("HOLDFAST_WAIT_PAIRS");
    return (given && *given ? atoi(given) : standard) / RACERS + 1;
}

static void spend(uint64_t us)
{
    struct timespec pause = {.tv_nsec = (long)us * 1000};
    nanosleep(&pause, NULL);
}

// One racer's connections: it waits on one replica and writes on the other.
struct racer {
    struct race *race;
    size_t index;
    struct raw *waits, *writes;
    char path[200];
    char tag[64]; // of the entry as it is; empty when it is absent
    int round;
};

static bool ask(struct raw *raw, const char *method, const char *path, const char *headers, const char *body)
{
    return raw_text(raw, "%s %s HTTP/1.1\r\nHost: h\r\n%sContent-Length: %zu\r\n\r\n%s", method, path,
                    headers, strlen(body), body);
}

static bool note_fault(struct racer *racer, const char *what, const struct answer *answer)
{
    char *shown = answer ? answer_describe(answer) : NULL;
    snprintf(racer->race->fault[racer->index], sizeof racer->race->fault[0], "pair %d of %s: %s: %s",
             racer->round, racer->path, what, shown ? shown : "no answer");
    free(shown);
    return false;
}

// Makes the next version, or removes it; the write's reply is read by take_write.
static bool send_write(struct racer *racer, bool removes)
{
    char body[20];
    snprintf(body, sizeof body, "%d", racer->round);
    return removes ? ask(racer->writes, "DELETE", racer->path, "", "")
                   : ask(racer->writes, "PUT", racer->path, "", body);
}

static bool send_wait(struct racer *racer)
{
    char headers[150];
    snprintf(headers, sizeof headers, "Prefer: wait=60\r\n%s%s%s", racer->tag[0] ? "If-None-Match: " : "",
             racer->tag, racer->tag[0] ? "\r\n" : "");
    return ask(racer->waits, "GET", racer->path, headers, "");
}

static bool take_write(struct racer *racer, bool removes, char position[40])
{
    struct answer *answer = raw_read(racer->writes, false, WAIT_PATIENCE * 3);
    const char *tag = answer ? answer_header(answer, "ETag") : NULL;
    if (!answer || answer->status >= 300 || !tag != removes)
        return note_fault(racer, "the write", answer);
    snprintf(racer->tag, sizeof racer->tag, "%s", tag ? tag : "");
    snprintf(position, 40, "%s", answer_header(answer, "Holdfast-Position"));
    return true;
}

static bool take_wait(struct racer *racer, bool removes)
{
    struct answer *answer = raw_read(racer->waits, false, WAIT_PATIENCE * 3);
    char body[20];
    snprintf(body, sizeof body, "%d", racer->round);
    bool right = answer && (removes ? answer->status == 404
                                    : answer->status == 200 && answer_is(answer, bytes_of(body)));
    return right || note_fault(racer, "the wait", answer);
}

// What was answered is seen on the other replica by who asks for it.
static bool look_at_least(struct racer *racer, const char *position)
{
    char target[300];
    snprintf(target, sizeof target, "%s?at_least=%s", racer->path, position);
    struct answer *answer =
        ask(racer->waits, "GET", target, "", "") ? raw_read(racer->waits, false, WAIT_PATIENCE) : NULL;
    const char *tag = answer ? answer_header(answer, "ETag") : NULL;
    bool right = answer && (racer->tag[0] ? tag && strcmp(tag, racer->tag) == 0 : answer->status == 404);
    return right || note_fault(racer, "at_least", answer);
}

static bool run_pair(struct racer *racer, struct random *random)
{
    bool removes = racer->tag[0] && random_below(random, 4) == 0;
    bool writes_first = random_below(random, 4) == 0;
    uint64_t offset = random_below(random, 2000);
    char position[40];
    bool sent = writes_first ? send_write(racer, removes) : send_wait(racer);
    spend(offset);
    sent = (writes_first ? send_wait(racer) : send_write(racer, removes)) && sent;
    int64_t start = clock_ms();
    if (!sent)
        return note_fault(racer, "sending", NULL);
    if (!take_wait(racer, removes))
        return false;
    int64_t took = clock_ms() - start;
    if (took > racer->race->slowest_ms[racer->index])
        racer->race->slowest_ms[racer->index] = took;
    return take_write(racer, removes, position) && look_at_least(racer, position);
}

static void run_racer(size_t index, void *user)
{
    struct race *race = user;
    struct racer racer = {.race = race, .index = index};
    struct random random = random_seeded(race->seed, index);
    racer.waits = raw_connect(service_port(index % 2 ? api.twin : api.service));
    racer.writes = raw_connect(service_port(index % 2 ? api.service : api.twin));
    snprintf(racer.path, sizeof racer.path, "/v1/buckets/%s/entries/%zu", race->buckets[index % BUCKETS],
             index);
    for (racer.round = 0; racer.round < race->pairs && run_pair(&racer, &random); racer.round++) {
    }
    raw_close(racer.waits);
    raw_close(racer.writes);
    atomic_fetch_add(&race->done, 1);
}

static struct race race_new(int standard)
{
    struct race race = {.pairs = pairs_wanted(standard), .seed = random_run_seed()};
    for (int i = 0; i < BUCKETS; i++)
        race.buckets[i] = api_bucket();
    return race;
}

static void judge(const struct race *race, int64_t limit_ms)
{
    int64_t slowest = 0;
    for (int i = 0; i < RACERS; i++) {
        ck_assert_msg(!race->fault[i][0], "seed %llu: %s", (unsigned long long)race->seed, race->fault[i]);
        slowest = race->slowest_ms[i] > slowest ? race->slowest_ms[i] : slowest;
    }
    ck_assert_msg(slowest < limit_ms, "seed %llu: the slowest wake-up took %lld ms",
                  (unsigned long long)race->seed, (long long)slowest);
}

START_TEST(no_wake_up_is_missed)
{
    struct race race = race_new(PAIRS);
    parallel_run(RACERS, run_racer, &race);
    judge(&race, 5000); // a lost one would take 60 s
}
END_TEST

static void *cut_listeners(void *user)
{
    struct race *race = user;
    struct random random = random_seeded(race->seed, RACERS);
    PGconn *connection = database_connect(&api.database);
    while (atomic_load(&race->done) < RACERS) {
        sql_run(connection, "select pg_terminate_backend(pid) from pg_stat_activity where %s", IS_LISTENER);
        clock_pause((int)random_below(&random, 700));
    }
    PQfinish(connection);
    return NULL;
}

START_TEST(no_wake_up_is_missed_while_listeners_are_cut)
{
    struct race race = race_new(CUT_PAIRS);
    pthread_t cutter;
    ck_assert_int_eq(pthread_create(&cutter, NULL, cut_listeners, &race), 0);
    parallel_run(RACERS, run_racer, &race);
    pthread_join(cutter, NULL);
    judge(&race, 10000);
}
END_TEST

Suite *wait_race_suite(void)
{
    const TTest *const tests[] = {
        no_wake_up_is_missed,
        no_wake_up_is_missed_while_listeners_are_cut,
        NULL,
    };
    return api_suite_of_two("wait_race", tests);
}
