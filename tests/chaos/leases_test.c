// A counter kept by whoever holds a lease: eight workers on two replicas, stopped past their terms and cut
// off at random, and every acknowledged update is in it, once.
#include "chaos/suites.h"
#include "support/check_main.h"
#include "support/clock.h"
#include "support/entry_client.h"
#include "support/postgres.h"
#include "support/process.h"
#include "support/random.h"
#include "support/service.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEASE   "/v1/buckets/locks/leases/counter"
#define COUNTER "/v1/buckets/counts/entries/counter"

enum {
    WORKERS = 8,
    REPLICAS = 2,
    TERM_MS = 500,
    LONGEST_WORK_MS = 20, // between reading and writing
    SHORT_MS = 9 * 1000,
    FAULT_EVERY_MS = 150,
    RECOVERY_MS = 30 * 1000,
    COMPLAINT = 300,
};

// The counter's value: how often each worker counted.
struct counts {
    unsigned long of[WORKERS];
};

// What a worker, a process of its own that may be stopped, tells the test.
struct worker {
    pid_t pid;
    atomic_bool working;   // it holds the lease, has read and not yet written
    unsigned long counted; // updates that are certain
    bool doubtful;         // one more was sent and not answered for certain
    unsigned long lost;    // refused, since the lease was over
    unsigned long doubts;
    char complaint[COMPLAINT]; // the first broken promise, empty while there is none
};

static struct shared {
    struct worker workers[WORKERS];
    _Atomic uint16_t ports[REPLICAS];
    atomic_bool stopping;
} * shared;

// --- a worker ---------------------------------------------------------------------------------------------

static void complain(struct worker *worker, const char *what, const struct entry_reply *reply)
{
    if (worker->complaint[0] == '\0')
        snprintf(worker->complaint, COMPLAINT, "%s: status %d, %.*s", what, reply->status,
                 (int)reply->body.size, (const char *)reply->body.data);
}

static bool is_kind(const struct entry_reply *reply, const char *kind)
{
    char found[ENTRY_VERSION_ROOM];
    return entry_reply_member(reply, "kind", found) && strcmp(found, kind) == 0;
}

static bool is_doubtful(const struct entry_reply *reply)
{
    return reply->outcome == ENTRY_NO_ANSWER || (reply->status == 503 && is_kind(reply, "outcome_unknown"));
}

static bool acquire(struct worker *worker, struct entry_client *client, char token[ENTRY_VERSION_ROOM])
{
    struct entry_reply reply;
    struct entry_request request = {.method = "POST",
                                    .target = LEASE,
                                    .body = bytes_of("{\"holder\":\"worker\",\"ttl\":\"500ms\"}"),
                                    .content_type = "application/json",
                                    .headers = "Prefer: wait=5\r\n"};
    entry_client_ask(client, &request, &reply);
    if (reply.status == 201 && entry_reply_member(&reply, "token", token))
        return true;
    if (!entry_reply_is_fault(&reply) && !(reply.status == 409 && is_kind(&reply, "lease_held")))
        complain(worker, "acquire", &reply);
    return false;
}

static bool read_counts(struct entry_client *client, struct counts *counts, struct entry_reply *reply)
{
    entry_client_ask(client, &(struct entry_request){.method = "GET", .target = COUNTER}, reply);
    if (reply->outcome != ENTRY_ANSWERED || reply->status != 200)
        return false;
    const char *at = (const char *)reply->body.data;
    char text[400], *end = text;
    snprintf(text, sizeof text, "%.*s", (int)reply->body.size, at);
    for (int i = 0; i < WORKERS; i++)
        counts->of[i] = strtoul(end, &end, 10);
    return true;
}

// Whoever holds the lease reads what all before did: an update that is missing was overwritten by one that
// came late, and one in doubt is either there or never will be.
static void check_own(struct worker *worker, unsigned long found, const struct entry_reply *reply)
{
    if (found != worker->counted && !(worker->doubtful && found == worker->counted + 1))
        complain(worker, "an update was lost or done twice", reply);
    worker->counted = found;
    worker->doubtful = false;
}

static void write_counts(struct worker *worker, struct entry_client *client, const struct counts *counts,
                         const char *token)
{
    char body[400] = "", target[300];
    struct entry_reply reply;
    for (int i = 0; i < WORKERS; i++)
        snprintf(body + strlen(body), sizeof body - strlen(body), "%lu ", counts->of[i]);
    snprintf(target, sizeof target, "%s?fence_bucket=locks&fence_key=counter&fence_token=%s", COUNTER, token);
    // The precondition always holds: only the fence keeps a late writer out.
    struct entry_request request = {
        .method = "PUT", .target = target, .body = bytes_of(body), .headers = "If-Match: *\r\n"};
    entry_client_ask(client, &request, &reply);
    if (reply.outcome == ENTRY_ANSWERED && reply.status == 204)
        worker->counted++;
    else if (reply.outcome == ENTRY_ANSWERED && reply.status == 409 && is_kind(&reply, "lease_lost"))
        worker->lost++;
    else if (is_doubtful(&reply))
        worker->doubtful = true, worker->doubts++;
    else if (!entry_reply_is_fault(&reply))
        complain(worker, "write", &reply);
}

static void release(struct entry_client *client, const char *token)
{
    char target[300];
    struct entry_reply reply;
    snprintf(target, sizeof target, "%s?holder=worker&token=%s", LEASE, token);
    entry_client_ask(client, &(struct entry_request){.method = "DELETE", .target = target}, &reply);
}

static void count_once(struct worker *worker, size_t index, struct entry_client *client,
                       struct random *random)
{
    char token[ENTRY_VERSION_ROOM];
    struct counts counts;
    struct entry_reply reply;
    if (!acquire(worker, client, token)) {
        clock_pause(5);
        return;
    }
    atomic_store(&worker->working, true);
    if (read_counts(client, &counts, &reply)) {
        // A holder that was stopped before it read has lost the lease, and what it reads may be newer: it
        // does not matter.
        check_own(worker, counts.of[index], &reply);
        counts.of[index]++;
        clock_pause(1 + (int)random_below(random, LONGEST_WORK_MS));
        write_counts(worker, client, &counts, token);
    }
    atomic_store(&worker->working, false);
    release(client, token);
}

static void work(size_t index, uint64_t seed)
{
    struct worker *worker = &shared->workers[index];
    struct random random = random_seeded(seed, index + 1);
    struct entry_client clients[REPLICAS] = {entry_client_new(0), entry_client_new(0)};
    while (!atomic_load(&shared->stopping) && worker->complaint[0] == '\0') {
        size_t replica = random_below(&random, REPLICAS);
        clients[replica].port = atomic_load(&shared->ports[replica]);
        count_once(worker, index, &clients[replica], &random);
    }
}

static void start_worker(size_t index, uint64_t seed)
{
    pid_t parent = getpid(), pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            work(index, seed);
        _exit(0);
    }
    shared->workers[index].pid = pid;
}

// --- faults -----------------------------------------------------------------------------------------------

struct scene {
    struct random random;
    struct postgres *postgres;
    struct database database;
    struct service *replicas[REPLICAS];
    unsigned stopped;
};

static void start_replica(struct scene *scene, size_t replica)
{
    scene->replicas[replica] = service_start(&(struct service_options){.database = scene->database.url});
    atomic_store(&shared->ports[replica], service_port(scene->replicas[replica]));
}

static bool is_working(void *user)
{
    struct worker **found = user;
    for (int i = 0; i < WORKERS && !*found; i++)
        if (atomic_load(&shared->workers[i].working))
            *found = &shared->workers[i];
    return *found != NULL;
}

// Stops whoever works, beyond its term.
static void stop_holder(struct scene *scene)
{
    struct worker *holder = NULL;
    if (!clock_wait(is_working, &holder, TERM_MS))
        return;
    kill(holder->pid, SIGSTOP);
    clock_pause(TERM_MS + 100 + (int)random_below(&scene->random, TERM_MS));
    kill(holder->pid, SIGCONT);
    scene->stopped++;
}

static void kill_replica(struct scene *scene)
{
    size_t replica = random_below(&scene->random, REPLICAS);
    service_kill(scene->replicas[replica]);
    clock_pause(1 + (int)random_below(&scene->random, 300));
    start_replica(scene, replica);
}

static void terminate_backends(struct scene *scene)
{
    PGconn *connection = database_connect(&scene->database);
    sql_run(connection,
            "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' "
            "and pid <> pg_backend_pid() and random() < 0.5");
    PQfinish(connection);
}

static bool is_broken(void)
{
    for (int i = 0; i < WORKERS; i++)
        if (shared->workers[i].complaint[0] != '\0')
            return true;
    return false;
}

static void make_faults(struct scene *scene, int64_t until)
{
    for (int i = 0; clock_ms() < until && !is_broken(); i++) {
        if (i % 8 == 3)
            kill_replica(scene);
        else if (i % 8 == 6)
            terminate_backends(scene);
        else
            stop_holder(scene);
        clock_pause(1 + (int)random_below(&scene->random, FAULT_EVERY_MS));
    }
}

// --- the test ---------------------------------------------------------------------------------------------

static void end_workers(void)
{
    atomic_store(&shared->stopping, true);
    for (int i = 0; i < WORKERS; i++)
        ck_assert_int_eq(process_wait(shared->workers[i].pid, RECOVERY_MS), 0);
}

static void judge(struct scene *scene)
{
    struct entry_client client = entry_client_new(service_port(scene->replicas[0]));
    struct counts counts;
    struct entry_reply reply;
    unsigned long counted = 0, lost = 0, doubts = 0;
    ck_assert(service_wait_ready(scene->replicas[0], RECOVERY_MS));
    ck_assert(read_counts(&client, &counts, &reply));
    for (int i = 0; i < WORKERS; i++) {
        struct worker *worker = &shared->workers[i];
        check_own(worker, counts.of[i], &reply);
        ck_assert_msg(worker->complaint[0] == '\0', "worker %d: %s", i, worker->complaint);
        counted += worker->counted;
        lost += worker->lost;
        doubts += worker->doubts;
    }
    printf("a counter under a lease: %lu updates; %u holders stopped, %lu writes refused to those who lost "
           "the lease, %lu "
           "in doubt\n",
           counted, scene->stopped, lost, doubts);
    fflush(stdout);
    ck_assert_uint_gt(counted, 5); // enough to know that they went on, on a machine as slow as it may be
    ck_assert_uint_gt(scene->stopped, 0);
    ck_assert_uint_gt(lost, 0);
    entry_client_close(&client);
}

static void begin_counter(struct scene *scene)
{
    struct entry_client client = entry_client_new(service_port(scene->replicas[0]));
    struct entry_reply reply;
    entry_client_ask(
        &client,
        &(struct entry_request){.method = "PUT", .target = COUNTER, .body = bytes_of("0 0 0 0 0 0 0 0 ")},
        &reply);
    ck_assert_int_eq(reply.status, 201);
    entry_client_close(&client);
}

START_TEST(counter_under_a_lease_survives_every_fault)
{
    uint64_t seed = random_run_seed();
    int64_t length = minutes_wanted() > 0 ? minutes_wanted() * INT64_C(60000) : SHORT_MS;
    struct scene scene = {.random = random_seeded(seed, 0)};
    printf("leases, seed %" PRIu64 "\n", seed);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    scene.postgres = postgres_new(&(struct postgres_options){.durable = true});
    scene.database = database_new(scene.postgres, DATABASE_MIGRATED);
    for (size_t i = 0; i < REPLICAS; i++)
        start_replica(&scene, i);
    begin_counter(&scene);
    for (size_t i = 0; i < WORKERS; i++)
        start_worker(i, seed);
    make_faults(&scene, clock_ms() + length);
    end_workers();
    judge(&scene);
    for (size_t i = 0; i < REPLICAS; i++)
        service_end(scene.replicas[i]);
    postgres_free(scene.postgres);
}
END_TEST

Suite *leases_suite(void)
{
    Suite *suite = suite_create("leases");
    TCase *tcase = tcase_create("faults");
    tcase_set_timeout(tcase, 120 + minutes_wanted() * 60.0);
    tcase_add_test(tcase, counter_under_a_lease_survives_every_fault);
    suite_add_tcase(suite, tcase);
    return suite;
}
