// Many clients on a few keys over two replicas, each call recorded with its times, and the histories held
// against the rule of one entry and the order of versions in a bucket.
#include "model/history.h"
#include "model/replicas.h"
#include "model/suites.h"
#include "support/clock.h"
#include "support/entry_client.h"
#include "support/random.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum {
    CLIENTS = 24,
    KEYS = 3, // of a round, all in one bucket
    ROUNDS = 10,
    CALLS = 50,           // of a client in a round
    LARGE_VALUE = 200000, // bytes of the few large values, which go another way through the service
    VALUES_OF_A_CLIENT = 1000000,
};

// A call with the versions still as texts.
struct recorded {
    struct entry_call call;
    size_t key;
    char version[ENTRY_VERSION_ROOM];
    char expected[ENTRY_VERSION_ROOM];
};

struct client {
    unsigned number;
    size_t round;
    struct random random;
    struct entry_client replicas[2];
    char seen[KEYS]
             [ENTRY_VERSION_ROOM]; // the last version of each key of the round that this client heard of
    uint64_t values;
    char *large;
    struct recorded *calls;
    size_t count;
    pthread_barrier_t *start;
    int bad_status; // the first status that no call may get, 0 when there was none
};

// False when no call of the kind may be answered so.
static bool read_answer(const struct entry_reply *reply, struct entry_call *call)
{
    if (reply->outcome == ENTRY_ANSWERED)
        return entry_answer_of(call->kind, reply->status, &call->answer);
    call->answer = reply->outcome == ENTRY_NOT_SENT ? ANSWER_NOTHING : ANSWER_UNKNOWN;
    return true;
}

static void remember(struct client *client, size_t key, const char *version)
{
    if (*version != '\0') {
        snprintf(client->seen[key], sizeof client->seen[key], "%s", version);
    }
}

// Sends the recorded call and fills in what came back.
static void perform(struct client *client, struct recorded *recorded, struct entry_request *request)
{
    char target[128];
    char headers[128] = "";
    size_t key = recorded->key % KEYS;
    snprintf(target, sizeof target, "/v1/buckets/histories/entries/key-%zu?under=round-%zu", key,
             client->round);
    if (recorded->call.condition == CONDITION_IF_MATCH) {
        snprintf(headers, sizeof headers, "If-Match: \"%s\"\r\n", recorded->expected);
    } else if (recorded->call.condition == CONDITION_IF_ABSENT) {
        snprintf(headers, sizeof headers, "If-None-Match: *\r\n");
    }
    request->target = target;
    request->headers = headers;

    struct entry_reply reply;
    recorded->call.client = client->number;
    recorded->call.invoked = clock_ns();
    entry_client_ask(&client->replicas[random_below(&client->random, 2)], request, &reply);
    recorded->call.returned = clock_ns();
    recorded->call.position = reply.position;
    snprintf(recorded->version, sizeof recorded->version, "%s", reply.version);
    if (!read_answer(&reply, &recorded->call) && client->bad_status == 0) {
        client->bad_status = reply.status;
    }
    if (recorded->call.answer == ANSWER_VALUE) {
        recorded->call.value = strtoull((const char *)reply.body.data, NULL, 10);
    }
    remember(client, key, recorded->version);
}

// Makes the call conditional on the version seen last, when there is one.
static void expect_seen(struct client *client, struct recorded *recorded)
{
    const char *seen = client->seen[recorded->key % KEYS];
    if (*seen != '\0') {
        recorded->call.condition = CONDITION_IF_MATCH;
        snprintf(recorded->expected, sizeof recorded->expected, "%s", seen);
    }
}

static void put(struct client *client, struct recorded *recorded)
{
    recorded->call.kind = ENTRY_PUT;
    recorded->call.value = client->number * (uint64_t)VALUES_OF_A_CLIENT + ++client->values;
    struct entry_request request = {.method = "PUT", .content_type = "text/plain"};
    char small[32];
    bool is_large = random_chance(&client->random, 2);
    int digits =
        snprintf(is_large ? client->large : small, sizeof small, "%" PRIu64 " ", recorded->call.value);
    request.body = is_large ? bytes_make(client->large, LARGE_VALUE) : bytes_make(small, (size_t)digits);
    perform(client, recorded, &request);
}

static void put_if_match(struct client *client, struct recorded *recorded)
{
    expect_seen(client, recorded);
    put(client, recorded);
}

static void put_if_absent(struct client *client, struct recorded *recorded)
{
    recorded->call.condition = CONDITION_IF_ABSENT;
    put(client, recorded);
}

static void get(struct client *client, struct recorded *recorded)
{
    recorded->call.kind = ENTRY_GET;
    perform(client, recorded, &(struct entry_request){.method = "GET"});
}

static void delete (struct client *client, struct recorded *recorded)
{
    recorded->call.kind = ENTRY_DELETE;
    perform(client, recorded, &(struct entry_request){.method = "DELETE"});
}

static void delete_if_match(struct client *client, struct recorded *recorded)
{
    expect_seen(client, recorded);
    delete (client, recorded);
}

static const struct {
    const char *name;
    unsigned weight; // of 100
    void (*run)(struct client *client, struct recorded *recorded);
} operations[] = {
    {"put", 20, put},
    {"put if-match", 20, put_if_match},
    {"put if-absent", 12, put_if_absent},
    {"get", 34, get},
    {"delete", 8, delete},
    {"delete if-match", 6, delete_if_match},
};

static void *run_client(void *argument)
{
    struct client *client = argument;
    for (client->round = 0; client->round < ROUNDS; client->round++) {
        memset(client->seen, 0, sizeof client->seen);
        pthread_barrier_wait(client->start);
        for (size_t i = 0; i < CALLS; i++) {
            struct recorded *recorded = &client->calls[client->count++];
            recorded->key = client->round * KEYS + random_below(&client->random, KEYS);
            size_t drawn = random_below(&client->random, 100);
            size_t operation = 0;
            for (; drawn >= operations[operation].weight; operation++) {
                drawn -= operations[operation].weight;
            }
            operations[operation].run(client, recorded);
        }
    }
    return NULL;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The number that stands for a version's text among the sorted `texts`; 0 for no version.
static uint64_t number_of(const char *text, const char **texts, size_t count)
{
    if (*text == '\0') {
        return 0;
    }
    const char **found = bsearch(&text, texts, count, sizeof *texts, compare_texts);
    ck_assert_ptr_nonnull(found);
    while (found > texts && strcmp(found[-1], text) == 0) {
        found--;
    }
    return (uint64_t)(found - texts) + 1;
}

// One history of all clients' calls, versions as numbers.
static void merge(struct client *clients, struct history *history)
{
    const char **texts = malloc(sizeof *texts * 2 * CLIENTS * ROUNDS * CALLS);
    ck_assert_ptr_nonnull(texts);
    size_t count = 0;
    for (size_t i = 0; i < CLIENTS; i++) {
        for (size_t j = 0; j < clients[i].count; j++) {
            texts[count++] = clients[i].calls[j].version;
            texts[count++] = clients[i].calls[j].expected;
        }
    }
    qsort(texts, count, sizeof *texts, compare_texts);
    for (size_t i = 0; i < CLIENTS; i++) {
        for (size_t j = 0; j < clients[i].count; j++) {
            struct recorded *recorded = &clients[i].calls[j];
            recorded->call.version = number_of(recorded->version, texts, count);
            recorded->call.expected = number_of(recorded->expected, texts, count);
            history_add(history, recorded->key, &recorded->call);
        }
    }
    free(texts);
}

static void prepare(struct client *client, unsigned number, uint64_t seed, pthread_barrier_t *start)
{
    *client = (struct client){.number = number, .random = random_seeded(seed, number), .start = start};
    for (size_t i = 0; i < 2; i++) {
        client->replicas[i] = entry_client_new(replicas_port(i));
    }
    client->calls = calloc(ROUNDS * CALLS, sizeof *client->calls);
    client->large = malloc(LARGE_VALUE);
    ck_assert(client->calls != NULL && client->large != NULL);
    memset(client->large, ' ', LARGE_VALUE);
}

// Runs all clients and gives their history.
static void record(uint64_t seed, struct history *history)
{
    struct client *clients = calloc(CLIENTS, sizeof *clients);
    pthread_t threads[CLIENTS];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, CLIENTS);
    for (unsigned i = 0; i < CLIENTS; i++) {
        prepare(&clients[i], i, seed, &start);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_msg(clients[i].bad_status == 0, "seed %" PRIu64 ": client %zu got status %d", seed, i,
                      clients[i].bad_status);
    }
    merge(clients, history);
    for (size_t i = 0; i < CLIENTS; i++) {
        entry_client_close(&clients[i].replicas[0]);
        entry_client_close(&clients[i].replicas[1]);
        free(clients[i].calls);
        free(clients[i].large);
    }
    free(clients);
    pthread_barrier_destroy(&start);
}

static void print_counts(const struct history *history, uint64_t seed)
{
    size_t counts[ENTRY_KINDS][ANSWER_UNKNOWN + 1] = {{0}};
    for (size_t i = 0; i < history->count; i++) {
        counts[history->calls[i].kind][history->calls[i].answer]++;
    }
    printf("histories, seed %" PRIu64 ": %zu calls of %d clients on %zu keys;", seed, history->count, CLIENTS,
           history->key_count);
    for (size_t kind = 0; kind < ENTRY_KINDS; kind++) {
        for (size_t answer = 0; answer <= ANSWER_UNKNOWN; answer++) {
            if (counts[kind][answer] > 0) {
                printf(" %s %s %zu", entry_kind_name((enum entry_kind)kind),
                       entry_answer_name((enum entry_answer)answer), counts[kind][answer]);
            }
        }
    }
    printf("\n");
    fflush(stdout);
    ck_assert_uint_gt(counts[ENTRY_PUT][ANSWER_CREATED], 0);
    ck_assert_uint_gt(counts[ENTRY_PUT][ANSWER_DONE], 0);
    ck_assert_uint_gt(counts[ENTRY_PUT][ANSWER_CONFLICT], 0);
    ck_assert_uint_gt(counts[ENTRY_GET][ANSWER_VALUE], 0);
    ck_assert_uint_gt(counts[ENTRY_DELETE][ANSWER_DONE], 0);
    for (size_t kind = 0; kind < ENTRY_KINDS; kind++) { // nobody was disturbed
        ck_assert_uint_eq(counts[kind][ANSWER_UNKNOWN] + counts[kind][ANSWER_NOTHING], 0);
    }
}

START_TEST(concurrent_histories_are_linearizable_and_in_order)
{
    uint64_t seed = random_run_seed();
    struct history history = {0};
    record(seed, &history);
    print_counts(&history, seed);
    ck_assert_msg(history_is_linearizable(&history, stderr), "not linearizable, seed %" PRIu64, seed);
    ck_assert_msg(history_versions_are_unique(&history, stderr), "a version twice, seed %" PRIu64, seed);
    ck_assert_msg(history_positions_follow_time(&history, stderr), "positions against time, seed %" PRIu64,
                  seed);
    ck_assert_msg(history_visible_in_order(&history, stderr), "visible out of order, seed %" PRIu64, seed);
    history_free(&history);
}
END_TEST

Suite *concurrent_suite(void)
{
    Suite *suite = suite_create("concurrent");
    TCase *tcase = tcase_create("two replicas");
    tcase_set_timeout(tcase, 120);
    tcase_add_unchecked_fixture(tcase, replicas_start, replicas_stop);
    tcase_add_test(tcase, concurrent_histories_are_linearizable_and_in_order);
    suite_add_tcase(suite, tcase);
    return suite;
}
