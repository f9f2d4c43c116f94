// The clients obey `Connection: close`, as libcurl does, and judge every answer.
#include "traffic_steps.h"

#include "support/clock.h"
#include "support/parallel.h"

#include <stdio.h>

enum { ANSWER_MS = 30 * 1000, ROUNDS_A_CLIENT = 50 };

struct walker {
    struct traffic *traffic;
    size_t index;
    int place;
    struct http_client *clients[TRAFFIC_PLACES];
    int64_t counted;
    bool failed;
};

static void fault(struct walker *walker, const char *method, const char *target, const char *what)
{
    struct traffic *traffic = walker->traffic;
    walker->failed = true;
    pthread_mutex_lock(&traffic->lock);
    if (!atomic_fetch_add(&traffic->failed, 1))
        snprintf(traffic->fault, sizeof traffic->fault, "%s %s at %s: %s", method, target,
                 traffic->urls[walker->place], what);
    pthread_mutex_unlock(&traffic->lock);
}

// Whoever answers; NULL, and the fault is noted, when it is not with this status.
static struct answer *ask(struct walker *walker, const char *method, const char *target, const char *body,
                          const char *header, int status)
{
    struct traffic *traffic = walker->traffic;
    struct answer *answer = NULL;
    if (walker->failed)
        return NULL;
    for (int i = 0; i < TRAFFIC_PLACES && !answer; i++) {
        struct http_client *client = walker->clients[walker->place];
        answer = http_try(client, method, target, body ? bytes_of(body) : NO_BODY,
                          (const char *const[]){header, NULL}, ANSWER_MS);
        if (!answer && !http_refused(client))
            break;
        if (!answer)
            walker->place = (walker->place + 1) % traffic->places;
    }
    if (answer && answer->status == status) {
        atomic_fetch_add(&traffic->done, 1);
        return answer;
    }
    fault(walker, method, target, answer ? answer_describe(answer) : "no answer");
    return NULL;
}

static struct http_client *client_of(struct walker *walker)
{
    return walker->clients[walker->place];
}

static void use_an_entry(struct walker *walker, int turn)
{
    struct http_client *client = client_of(walker);
    const char *value = http_text(client, "value %d", turn);
    const char *path = http_text(client, "/v1/buckets/traffic/entries/%zu-%d", walker->index, turn);
    ask(walker, "PUT", path, value, NULL, 201);
    struct answer *got = ask(walker, "GET", path, NULL, NULL, 200);
    if (got && !answer_is(got, bytes_of(value)))
        fault(walker, "GET", path, "another value");
    ask(walker, "PUT", path, "again",
        http_text(client, "Idempotency-Key: %s-%zu-%d", "again", walker->index, turn), 204);
    ask(walker, "GET", "/v1/buckets/traffic/entries?limit=5", NULL, NULL, 200);
    ask(walker, "POST", http_text(client, "%s/take", path), NULL, "Content-Length: 0", 200);
}

static void count_up(struct walker *walker)
{
    const char *path = http_text(client_of(walker), "/v1/counters/counted/%zu/add", walker->index);
    struct answer *answer = ask(walker, "POST", path, "{\"by\":1}", "Content-Type: application/json", 200);
    int64_t value = answer ? json_integer_value(json_object_get(answer->json, "value")) : 0;
    if (answer && walker->counted && value != walker->counted + 1)
        fault(walker, "POST", path, answer_describe(answer));
    walker->counted = value;
}

static void hold_a_lease(struct walker *walker)
{
    struct http_client *client = client_of(walker);
    const char *path = http_text(client, "/v1/buckets/traffic/leases/%zu", walker->index);
    struct answer *grant =
        ask(walker, "POST", path, "{\"holder\":\"h\",\"ttl\":\"1h\"}", "Content-Type: application/json", 201);
    if (grant)
        ask(walker, "DELETE", http_text(client, "%s?holder=h&token=%s", path, answer_text(grant, "token")),
            NULL, NULL, 200);
}

static void commit(struct walker *walker, int turn)
{
    const char *body = http_text(client_of(walker),
                                 "{\"checks\":[{\"bucket\":\"traffic\",\"key\":\"none\",\"absent\":true}],"
                                 "\"operations\":[{\"op\":\"put\",\"bucket\":\"traffic\",\"key\":\"t%zu\","
                                 "\"text\":\"%d\"}]}",
                                 walker->index, turn);
    ask(walker, "POST", "/v1/transactions", body, "Content-Type: application/json", 200);
}

static void open_clients(struct walker *walker)
{
    for (int i = 0; i < walker->traffic->places; i++) {
        walker->clients[i] = http_client_new(walker->traffic->urls[i]);
        if (walker->traffic->proxied)
            http_client_through_proxy(walker->clients[i]);
    }
}

static void close_clients(struct walker *walker)
{
    for (int i = 0; i < walker->traffic->places; i++)
        http_client_free(walker->clients[i]);
}

static void walk(size_t index, void *user)
{
    struct traffic *traffic = user;
    struct walker walker = {.traffic = traffic, .index = index, .place = (int)index % traffic->places};
    open_clients(&walker);
    for (int turn = 0; !atomic_load(&traffic->stop) && !walker.failed; turn++) {
        if (turn % ROUNDS_A_CLIENT == ROUNDS_A_CLIENT - 1) { // they keep every answer
            close_clients(&walker);
            open_clients(&walker);
        }
        use_an_entry(&walker, turn);
        count_up(&walker);
        hold_a_lease(&walker);
        commit(&walker, turn);
    }
    close_clients(&walker);
}

static void *run(void *user)
{
    parallel_run(TRAFFIC_CLIENTS, walk, user);
    return NULL;
}

void traffic_begin(struct traffic *traffic)
{
    pthread_mutex_init(&traffic->lock, NULL);
    ck_assert_int_eq(pthread_create(&traffic->thread, NULL, run, traffic), 0);
    traffic_goes_on(traffic, 100);
}

struct progress {
    struct traffic *traffic;
    int until;
};

static bool went_on(void *user)
{
    struct progress *progress = user;
    return atomic_load(&progress->traffic->done) >= progress->until ||
           atomic_load(&progress->traffic->failed);
}

static void expect_no_fault(struct traffic *traffic)
{
    pthread_mutex_lock(&traffic->lock);
    if (atomic_load(&traffic->failed))
        ck_abort_msg("%s (the first of %d faults in %d answers)", traffic->fault,
                     atomic_load(&traffic->failed), atomic_load(&traffic->done));
    pthread_mutex_unlock(&traffic->lock);
}

void traffic_goes_on(struct traffic *traffic, int more)
{
    struct progress progress = {traffic, atomic_load(&traffic->done) + more};
    ck_assert_msg(clock_wait(went_on, &progress, 2 * ANSWER_MS), "the clients stand still");
    expect_no_fault(traffic);
}

void traffic_end(struct traffic *traffic)
{
    atomic_store(&traffic->stop, true);
    pthread_join(traffic->thread, NULL);
    expect_no_fault(traffic);
    pthread_mutex_destroy(&traffic->lock);
}
