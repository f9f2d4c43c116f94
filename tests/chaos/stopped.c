// Each writes large values under keys of its own, reads them back by way of a socket that takes little at
// once, and waits for changes that nobody makes. What a client knows and does is in shared memory.
#include "chaos/stopped.h"

#include "chaos/caller.h"
#include "chaos/totals.h"
#include "support/clock.h"
#include "support/process.h"

#include <check.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CLIENTS = 6,
    VALUE = 1 << 20, // more than the sockets on the way hold
    RECEIVE_ROOM = 16 * 1024,
    MOMENT_MS = 30, // how long each is in the middle of something
    MEET_MS = 400,
    STOPPED_MOST = 3,
    KILLED_PERCENT = 40,
    PAUSE_MS = 20,
    // A client that was stopped was not answered meanwhile; no fault stops one for longer.
    LONGEST_STOP_MS = 5 * 1000,
    LAST_MS = 30 * 1000,
    COMPLAINT = 400,
};

enum moment { ELSEWHERE, SENDING, RECEIVING, WAITING, MOMENTS };

struct client {
    pid_t pid;
    bool stopped; // as the test has it
    atomic_int moment;
    atomic_size_t reads;
    atomic_size_t waits;
    char complaint[COMPLAINT]; // the first broken promise, empty while there is none
};

static struct shared {
    struct client clients[CLIENTS];
    atomic_bool stopping;
} * shared;

static struct {
    uint64_t seed;
    size_t replicas;
    unsigned started;
    size_t stopped[MOMENTS];
} stopped;

// --- a client ---------------------------------------------------------------------------------------------

struct self {
    struct client *client;
    struct caller caller;
    unsigned run;    // of all processes
    unsigned key;    // another one after each write whose outcome is not known
    uint64_t number; // that the value has again and again; 0: none was acknowledged
    char version[ENTRY_VERSION_ROOM];
    char target[100];
    uint64_t value[VALUE / sizeof(uint64_t)];
};

static void complain(struct self *self, const char *what, const struct entry_reply *reply)
{
    if (!self->client->complaint[0])
        snprintf(self->client->complaint, COMPLAINT, "%s %s: %d, %zu bytes: %.*s", self->target, what,
                 reply->status, reply->body.size, (int)(reply->body.size < 100 ? reply->body.size : 100),
                 (const char *)reply->body.data);
}

static void dwell(struct self *self, enum moment moment)
{
    atomic_store(&self->client->moment, moment);
    clock_pause(MOMENT_MS);
    atomic_store(&self->client->moment, ELSEWHERE);
}

static void dwell_halfway(enum entry_moment moment, void *user)
{
    dwell(user, moment == ENTRY_SENDING ? SENDING : RECEIVING);
}

static void ask(struct self *self, const struct entry_request *request, struct entry_reply *reply)
{
    caller_ask(&self->caller, request, reply);
    if (callers_complaint()[0] && !self->client->complaint[0])
        snprintf(self->client->complaint, COMPLAINT, "%s", callers_complaint());
    if (entry_reply_is_fault(reply))
        clock_pause(PAUSE_MS);
}

static void take_another_key(struct self *self)
{
    snprintf(self->target, sizeof self->target, "/v1/buckets/chaos-large/entries/%u-%u?ttl=10m", self->run,
             self->key++);
    self->number = 0;
}

static void put(struct self *self)
{
    struct entry_reply reply;
    uint64_t number = random_next(&self->caller.random) | 1;
    for (size_t i = 0; i < VALUE / sizeof number; i++)
        self->value[i] = number;
    ask(self,
        &(struct entry_request){
            .method = "PUT", .target = self->target, .body = bytes_make(self->value, VALUE)},
        &reply);
    if (reply_is_doubtful(&reply)) {
        take_another_key(self);
    } else if (!entry_reply_is_fault(&reply)) {
        if (reply.status != (self->number ? 204 : 201))
            complain(self, "was written", &reply);
        self->number = number;
        snprintf(self->version, sizeof self->version, "%s", reply.version);
    }
}

static bool is_whole(const struct self *self, struct bytes body)
{
    uint64_t word;
    for (size_t i = 0; i + sizeof word <= body.size; i += sizeof word) {
        memcpy(&word, body.data + i, sizeof word);
        if (word != self->number)
            return false;
    }
    return body.size == VALUE;
}

// The path without the query, which is of writes.
static const char *read_target(const struct self *self, char target[100])
{
    snprintf(target, 100, "%.*s", (int)strcspn(self->target, "?"), self->target);
    return target;
}

static void get(struct self *self)
{
    char target[100];
    struct entry_reply reply;
    ask(self, &(struct entry_request){.method = "GET", .target = read_target(self, target)}, &reply);
    if (entry_reply_is_fault(&reply))
        return;
    if (self->number ? reply.status != 200 || !is_whole(self, reply.body) : reply.status != 404)
        complain(self, "was read", &reply);
    atomic_fetch_add(&self->client->reads, 1);
}

static void wait_in_vain(struct self *self)
{
    char target[100], headers[120];
    struct entry_reply reply;
    snprintf(headers, sizeof headers, "If-None-Match: \"%s\"\r\nPrefer: wait=1\r\n", self->version);
    atomic_store(&self->client->moment, WAITING);
    ask(self,
        &(struct entry_request){.method = "GET", .target = read_target(self, target), .headers = headers},
        &reply);
    atomic_store(&self->client->moment, ELSEWHERE);
    if (entry_reply_is_fault(&reply))
        return;
    if (reply.status != 304)
        complain(self, "was waited for", &reply);
    atomic_fetch_add(&self->client->waits, 1);
}

static void work(struct client *client, unsigned run)
{
    struct self *self = calloc(1, sizeof *self);
    if (!self)
        abort();
    self->client = client;
    self->run = run;
    caller_start(&self->caller, stopped.seed, 7000 + run, stopped.replicas);
    for (size_t i = 0; i < stopped.replicas; i++) {
        self->caller.connections[i].receive_room = RECEIVE_ROOM;
        self->caller.connections[i].halfway = dwell_halfway;
        self->caller.connections[i].user = self;
    }
    take_another_key(self);
    while (!atomic_load(&shared->stopping) && !client->complaint[0]) {
        put(self);
        get(self);
        if (self->number)
            wait_in_vain(self);
    }
}

// --- the test's side --------------------------------------------------------------------------------------

static void start(struct client *client)
{
    unsigned run = stopped.started++;
    atomic_store(&client->moment, ELSEWHERE);
    client->stopped = false;
    pid_t parent = getpid(), pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close_range(STDERR_FILENO + 1, ~0U, 0); // or connections that the test closes would stay open
        callers_allow(LONGEST_STOP_MS);
        if (getppid() == parent)
            work(client, run);
        _exit(0);
    }
    client->pid = pid;
}

void stopped_start(uint64_t seed, size_t replicas)
{
    stopped.seed = seed;
    stopped.replicas = replicas;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    for (int i = 0; i < CLIENTS; i++)
        start(&shared->clients[i]);
}

bool stopped_is_broken(void)
{
    for (int i = 0; i < CLIENTS; i++)
        if (shared->clients[i].complaint[0])
            return true;
    return false;
}

static struct client *find(int moment)
{
    int64_t until = clock_ms() + MEET_MS;
    do {
        for (int i = 0; i < CLIENTS; i++)
            if (!shared->clients[i].stopped && atomic_load(&shared->clients[i].moment) == moment)
                return &shared->clients[i];
        clock_pause(1);
    } while (clock_ms() < until);
    return NULL;
}

void stopped_stop(struct random *random)
{
    for (int i = 0; i < STOPPED_MOST; i++) {
        int moment = SENDING + (int)random_below(random, MOMENTS - SENDING);
        struct client *client = find(moment);
        if (!client)
            continue;
        kill(client->pid, SIGSTOP);
        client->stopped = true;
        stopped.stopped[moment]++;
        totals_add(TOTAL_STOPPED, 1);
    }
}

static void replace(struct client *client)
{
    kill(client->pid, SIGKILL);
    ck_assert_int_eq(process_wait(client->pid, LAST_MS), 128 + SIGKILL);
    totals_add(TOTAL_KILLED, 1);
    start(client);
}

void stopped_resume(struct random *random)
{
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &shared->clients[i];
        if (!client->stopped)
            continue;
        if (random_chance(random, KILLED_PERCENT))
            replace(client);
        else
            kill(client->pid, SIGCONT);
        client->stopped = false;
    }
}

void stopped_finish(void)
{
    size_t reads = 0, waits = 0;
    atomic_store(&shared->stopping, true);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &shared->clients[i];
        ck_assert_int_eq(process_wait(client->pid, LAST_MS), 0);
        reads += atomic_load(&client->reads);
        waits += atomic_load(&client->waits);
    }
    printf(
        "clients of their own: %u, stopped %zu times while sending, %zu while answered, %zu while waiting; "
        "%zu large values read, %zu waits\n",
        stopped.started, stopped.stopped[SENDING], stopped.stopped[RECEIVING], stopped.stopped[WAITING],
        reads, waits);
    fflush(stdout);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_msg(!shared->clients[i].complaint[0], "%s", shared->clients[i].complaint);
    totals_add(TOTAL_LARGE_VALUES, reads);
    totals_add(TOTAL_WAITS, waits);
    ck_assert_uint_gt(reads, 0);
}
