// The benchmark's load generator: one thread, one epoll, a request's cost as near to its two system calls as
// it goes.
#include "latency.h"
#include "plan.h"
#include "reply.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    EVENTS = 128,
    REPLY_LIMIT = VALUE_LIMIT + (64 << 10), // the largest value and what stands around it
    SILENCE_LIMIT = 30,                     // seconds without any reply that end the run
};

// One connection with the request it waits on.
struct connection {
    int socket;
    bool waiting;
    bool second;    // for the reply to the request that follows the first
    size_t written; // bytes of a request of which the socket did not take all at once, else 0
    uint32_t index; // of the key asked for
    char answer[ANSWER_DIGITS];
    uint64_t sent; // nanoseconds
    char *held;    // a reply that comes in pieces
    size_t held_size;
};

struct load {
    struct plan plan;
    int epoll;
    struct connection *connections;
    unsigned waiting;
    uint64_t random;
    uint32_t next; // with plan.each_key
    uint64_t start, end;
    uint64_t last; // when the last counted reply came
    struct latency latency;
    char bytes[REPLY_LIMIT]; // where every reply is read, so that one piece of memory stays warm
};

__attribute__((noreturn, format(printf, 1, 2))) static void void_run(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bench-load: void: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// xorshift64*: cheap, and even enough to choose keys with.
static uint32_t random_below(struct load *load, uint32_t limit)
{
    load->random ^= load->random >> 12;
    load->random ^= load->random << 25;
    load->random ^= load->random >> 27;
    uint64_t high = (load->random * 0x2545F4914F6CDD1Du) >> 32;
    return (uint32_t)(high * limit >> 32);
}

// The index of the next key. False when every key has had its turn.
static bool key_next(struct load *load, const struct connection *connection, uint32_t *index)
{
    if (load->plan.apart) {
        unsigned connections = load->plan.connections;
        uint32_t own = (uint32_t)(connection - load->connections);
        *index = load->plan.first + own + connections * random_below(load, load->plan.keys / connections);
        return true;
    }
    if (!load->plan.each_key) {
        *index = load->plan.first + random_below(load, load->plan.keys);
        return true;
    }
    *index = load->plan.first + load->next;
    return load->next++ < load->plan.keys;
}

static void key_fill(struct load *load, const struct connection *connection, struct key *key)
{
    key_write(key, connection->index, load->plan.base64);
    memcpy(key->answer, connection->answer, ANSWER_DIGITS);
}

static void events_ask(const struct load *load, struct connection *connection, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(load->epoll, EPOLL_CTL_MOD, connection->socket, &event) != 0)
        void_run("epoll: %s", strerror(errno));
}

// Sends what is left of the request. The template is filled again, since other connections used it meanwhile.
static void template_send(struct load *load, struct connection *connection)
{
    struct template *request = connection->second ? &load->plan.then : &load->plan.request;
    size_t before = connection->written;
    struct key key;
    key_fill(load, connection, &key);
    template_fill(request, &key);
    ssize_t sent =
        send(connection->socket, request->text + before, request->size - before, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        void_run("sending failed: %s", strerror(errno));
    connection->written += sent > 0 ? (size_t)sent : 0;
    bool whole = connection->written == request->size;
    if (whole && before)
        events_ask(load, connection, EPOLLIN);
    else if (!whole && !before)
        events_ask(load, connection, EPOLLIN | EPOLLOUT);
    if (whole)
        connection->written = 0;
}

static void request_begin(struct load *load, struct connection *connection)
{
    connection->waiting = true;
    load->waiting++;
    template_send(load, connection);
}

static void request_send(struct load *load, struct connection *connection, uint64_t now)
{
    if ((!load->plan.each_key && now >= load->end) || !key_next(load, connection, &connection->index))
        return;
    connection->sent = now;
    connection->second = false;
    request_begin(load, connection);
}

static bool status_expected(const struct plan *plan, int status)
{
    for (int i = 0; i < plan->status_count; i++) {
        if (plan->statuses[i] == status)
            return true;
    }
    return false;
}

static void body_print(const struct reply *reply)
{
    fprintf(stderr, "bench-load: the body was: %.*s\n",
            (int)(reply->body_size < 300 ? reply->body_size : 300), reply->body);
}

static void reply_check(struct load *load, const struct connection *connection, const struct reply *reply)
{
    struct plan *plan = &load->plan;
    struct template none = {0};
    struct template *whole = connection->second ? &plan->then_reply : &plan->reply;
    struct template *part = connection->second ? &none : &plan->part;
    struct key key;
    uint32_t number = KEY_FIRST + connection->index;
    if (!status_expected(plan, reply->status)) {
        body_print(reply);
        void_run("key %u: status %d", number, reply->status);
    }
    if (!whole->text && !part->text)
        return;
    key_fill(load, connection, &key);
    template_fill(whole, &key);
    if (whole->text &&
        (reply->body_size != whole->size || memcmp(reply->body, whole->text, reply->body_size) != 0)) {
        body_print(reply);
        void_run("key %u: a wrong body of %zu bytes", number, reply->body_size);
    }
    template_fill(part, &key);
    if (part->text && !memmem(reply->body, reply->body_size, part->text, part->size)) {
        body_print(reply);
        void_run("key %u: a body without what it must contain", number);
    }
}

static void reply_count(struct load *load, const struct connection *connection, uint64_t now)
{
    if (now < load->start || (!load->plan.each_key && now >= load->end))
        return;
    latency_add(&load->latency, now - connection->sent);
    load->last = now;
}

// Reads what came behind what is held into `bytes`; gives the number of bytes there, 0 when nothing is new.
static size_t bytes_receive(struct connection *connection, char *bytes)
{
    size_t held = connection->held_size;
    if (held == REPLY_LIMIT)
        void_run("a reply of more than %d bytes", REPLY_LIMIT);
    ssize_t received = recv(connection->socket, bytes + held, REPLY_LIMIT - held, MSG_DONTWAIT);
    if (received < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (received < 0)
        void_run("receiving failed: %s", strerror(errno));
    if (received == 0)
        void_run("the server closed a connection");
    return held + (size_t)received;
}

// Keeps the first part of a reply where the others are read behind it.
static void bytes_hold(struct load *load, struct connection *connection, size_t size)
{
    if (!connection->held && !(connection->held = malloc(REPLY_LIMIT)))
        void_run("out of memory");
    if (!connection->held_size)
        memcpy(connection->held, load->bytes, size);
    connection->held_size = size;
}

// Keeps what the second request repeats of the first reply.
static void answer_take(struct load *load, struct connection *connection, const struct reply *reply)
{
    const char *mark = load->plan.take;
    const char *at = memmem(reply->body, reply->body_size, mark, strlen(mark));
    if (!at || reply->body + reply->body_size - at < (ptrdiff_t)strlen(mark) + ANSWER_DIGITS) {
        body_print(reply);
        void_run("the reply has no %s", mark);
    }
    memcpy(connection->answer, at + strlen(mark), ANSWER_DIGITS);
}

static void reply_receive(struct load *load, struct connection *connection)
{
    struct reply reply;
    char *bytes = connection->held_size ? connection->held : load->bytes;
    size_t size = bytes_receive(connection, bytes);
    if (!size)
        return;
    if (!connection->waiting)
        void_run("bytes that nobody asked for");
    switch (reply_read(&reply, bytes, size)) {
    case REPLY_BROKEN:
        void_run("%s", reply.fault);
    case REPLY_PARTIAL:
        bytes_hold(load, connection, size);
        return;
    case REPLY_WHOLE:
        break;
    }
    if (reply.size != size)
        void_run("%zu bytes behind a reply", size - reply.size);
    uint64_t now = clock_now();
    reply_check(load, connection, &reply);
    if (connection->written)
        void_run("a reply before the request was whole");
    connection->held_size = 0;
    connection->waiting = false;
    load->waiting--;
    if (load->plan.then.text && !connection->second) {
        answer_take(load, connection, &reply);
        connection->second = true;
        request_begin(load, connection);
        return;
    }
    reply_count(load, connection, now);
    request_send(load, connection, now);
}

static void connection_ready(struct load *load, struct connection *connection, uint32_t events)
{
    if (events & EPOLLOUT && connection->written)
        template_send(load, connection);
    if (events & ~(uint32_t)EPOLLOUT)
        reply_receive(load, connection);
}

static void connection_open(struct load *load, struct connection *connection)
{
    int one = 1;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    connection->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->socket < 0)
        void_run("no socket: %s", strerror(errno));
    if (connect(connection->socket, (struct sockaddr *)&load->plan.address, sizeof load->plan.address) != 0)
        void_run("connecting failed: %s", strerror(errno));
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, connection->socket, &event) != 0)
        void_run("epoll: %s", strerror(errno));
}

static void connections_open(struct load *load)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    load->connections = calloc(load->plan.connections, sizeof *load->connections);
    if (load->epoll < 0 || !load->connections)
        void_run("out of memory or descriptors");
    for (unsigned i = 0; i < load->plan.connections; i++)
        connection_open(load, &load->connections[i]);
}

static void connections_close(struct load *load)
{
    for (unsigned i = 0; i < load->plan.connections; i++) {
        close(load->connections[i].socket);
        free(load->connections[i].held);
    }
    free(load->connections);
    close(load->epoll);
}

// Runs until the time is up, or all keys had their turn, and every request has its reply.
static void load_run(struct load *load)
{
    struct epoll_event events[EVENTS];
    uint64_t begin = clock_now();
    load->start = begin + (load->plan.each_key ? 0 : (uint64_t)(load->plan.warmup * 1e9));
    load->end = load->start + (uint64_t)(load->plan.seconds * 1e9);
    for (unsigned i = 0; i < load->plan.connections; i++)
        request_send(load, &load->connections[i], clock_now());
    while (load->waiting) {
        int count = epoll_wait(load->epoll, events, EVENTS, SILENCE_LIMIT * 1000);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            void_run("%u requests have had no reply for %d s", load->waiting, SILENCE_LIMIT);
        for (int i = 0; i < count; i++)
            connection_ready(load, events[i].data.ptr, events[i].events);
    }
}

static void load_print(const struct load *load)
{
    const struct latency *latency = &load->latency;
    double seconds = load->plan.each_key ? (double)(load->last - load->start) / 1e9 : load->plan.seconds;
    if (!latency->count)
        void_run("no reply came in time to be counted");
    printf("requests=%lu seconds=%.3f rate=%.1f mean_us=%.1f median_us=%.1f p99_us=%.1f\n", latency->count,
           seconds, (double)latency->count / seconds, latency_mean(latency) / 1e3,
           (double)latency_at(latency, 0.5) / 1e3, (double)latency_at(latency, 0.99) / 1e3);
}

int main(int count, char **arguments)
{
    static struct load load;
    plan_read(&load.plan, count, arguments);
    load.random = clock_now() | 1;
    connections_open(&load);
    load_run(&load);
    connections_close(&load);
    load_print(&load);
    plan_free(&load.plan);
    return 0;
}
