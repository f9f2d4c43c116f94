// libmicrohttpd on the worker's loop: accepting, the calls of a request's life, deadlines, draining.
#include "http/server.h"

#include "base/log.h"
#include "base/timestamp.h"
#include "http/internal.h"
#include "http/reply.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SWEEP_EVERY = 250 * 1000,
    DRAIN_SWEEP_EVERY = 20 * 1000,
    ACCEPTS_A_TURN = 128,
    ACCEPT_PAUSE = 100 * 1000, // after the process ran out of descriptors
    SLOWEST_BODY = 16 << 10,   // bytes a second that keep a body or a reply alive
    LINGER = 5 * 1000,         // how long, and how many requests, may wait for the database
    LINGER_MOST = 512,         // without their connections being suspended
    LINGER_LOOK = 1000,
};

// --- the calls of a request's life
// ------------------------------------------------------------------------------------

static void refuse_surplus(struct request *request)
{
    if (!request->client->surplus || (request->route && request->route->flags & ROUTE_HEALTH))
        return;
    struct problem problem = {
        .kind = PROBLEM_UNAVAILABLE, .detail = "too many connections are open", .retry_after = 1};
    request_refuse(request, &problem);
}

// A busy worker makes and frees tens of thousands a second: the freed ones are kept at hand.
static struct request *request_alloc(struct http_server *server)
{
    struct request *request = server->spare;
    if (request) {
        server->spare = request->next_spare;
        server->spares--;
    } else {
        request = malloc(sizeof *request);
        if (!request)
            return NULL;
    }
    memset(request, 0, offsetof(struct request, reply_headers));
    arena_begin(&request->arena, request->first_memory, sizeof request->first_memory);
    return request;
}

static struct request *request_new(struct http_server *server, struct MHD_Connection *connection,
                                   const char *method, const char *url, const char *version)
{
    struct request *request = request_alloc(server);
    if (!request)
        return NULL;
    request->server = server;
    request->context = server->options.context;
    request->connection = connection;
    request->started = loop_now(server->loop);
    request->client = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    request->client->request = request;
    request->client->since = request->started;
    request_open(request, method, url, version);
    refuse_surplus(request);
    return request;
}

static enum MHD_Result work(struct request *request)
{
    request->phase = PHASE_WORKING;
    if (request->refusal_status)
        reply_problem(request, &request->refusal);
    else
        request->route->handle(request);
    if (request->phase != PHASE_REPLIED) {
        request->lingering = true;
        request->server->lingering++;
    }
    return MHD_YES;
}

// Called again for a request at work. Suspending takes the socket out of the library's epoll set and resuming
// puts it back, which costs as much as answering: it is done only for what the database keeps for long, or
// when so many wait that looking at each in every turn would cost more.
static enum MHD_Result wait_on(struct request *request)
{
    struct http_server *server = request->server;
    if (server->lingering <= LINGER_MOST && loop_now(server->loop) - request->started < LINGER)
        return MHD_YES;
    request->lingering = false;
    server->lingering--;
    request->suspended = true;
    MHD_suspend_connection(request->connection);
    return MHD_YES;
}

static enum MHD_Result handle_call(void *user, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *data, size_t *size,
                                   void **slot)
{
    struct request *request = *slot;
    if (!request) {
        *slot = request = request_new(user, connection, method, url, version);
        if (!request)
            return MHD_NO;
        if (request_refuse_now(request)) {
            request->close_after = true;
            reply_problem(request, &request->refusal);
        }
        return MHD_YES;
    }
    if (request->phase == PHASE_REPLIED)
        return MHD_YES;
    if (request->phase == PHASE_WORKING)
        return request->lingering ? wait_on(request) : MHD_NO; // resumed without a reply: the client is gone
    if (*size) {
        bool taken = request_take_body(request, data, *size);
        *size = 0;
        return taken ? MHD_YES : MHD_NO;
    }
    return work(request);
}

void request_resume(struct request *request)
{
    struct http_server *server = request->server;
    server->replies = 2;
    if (request->lingering) {
        request->lingering = false;
        server->lingering--;
        return;
    }
    request->suspended = false;
    server->again = true;
    MHD_resume_connection(request->connection);
}

void request_free(struct request *request)
{
    struct http_server *server = request->server;
    json_decref(request->json);
    arena_free(&request->arena);
    if (server->spares >= HTTP_SPARES) {
        free(request);
        return;
    }
    request->next_spare = server->spare;
    server->spare = request;
    server->spares++;
}

// The time of the turn: lines of one turn are written together, and need not each ask the clock.
static const char *log_time(struct http_server *server)
{
    int64_t turn = loop_now(server->loop);
    if (server->log_turn != turn || !server->log_time[0]) {
        server->log_turn = turn;
        timestamp_format(timestamp_now(), server->log_time);
    }
    return server->log_time;
}

static void log_request(struct http_server *server, const struct request *request)
{
    if (!log_enabled(LOG_INFO))
        return;
    struct buffer *log = &server->log;
    buffer_add_text(log, "{\"time\":\"");
    buffer_add_text(log, log_time(server));
    buffer_add_text(log, "\",\"level\":\"info\",\"event\":\"request\",\"method\":");
    buffer_add_json(log, request->method.size <= 16 ? request->method : bytes_of("?"));
    buffer_add_text(log, ",\"route\":\"");
    buffer_add_text(log, request->route ? request->route->template : "");
    buffer_add_text(log, "\",\"status\":");
    buffer_add_int64(log, request->status);
    buffer_add_text(log, ",\"bytes\":");
    buffer_add_int64(log, (int64_t)request->reply_bytes);
    buffer_add_text(log, ",\"us\":");
    buffer_add_int64(log, timestamp_monotonic() - request->started);
    buffer_add_text(log, ",\"request_id\":\"");
    buffer_add_text(log, request->id);
    buffer_add_text(log, "\"}\n");
}

static void request_completed(void *user, struct MHD_Connection *connection, void **slot,
                              enum MHD_RequestTerminationCode code)
{
    (void)connection;
    (void)code;
    struct http_server *server = user;
    struct request *request = *slot;
    if (!request)
        return;
    *slot = NULL;
    log_request(server, request);
    request->client->request = NULL;
    request->client->since = loop_now(server->loop);
    request->client->served = true;
    if (request->lingering) { // its operation is under way and will call back
        request->lingering = false;
        server->lingering--;
        request->gone = true;
        return;
    }
    request_free(request);
}

static void client_opened(struct http_server *server, struct MHD_Connection *connection, void **slot)
{
    struct http_client *client = calloc(1, sizeof *client);
    if (!client)
        abort();
    client->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    client->since = loop_now(server->loop);
    client->surplus = server->client_count >= server->options.connections;
    client->next = server->clients;
    client->link = &server->clients;
    if (client->next)
        client->next->link = &client->next;
    server->clients = client;
    server->client_count++;
    *slot = client;
}

static void client_closed(struct http_server *server, void **slot)
{
    struct http_client *client = *slot;
    *client->link = client->next;
    if (client->next)
        client->next->link = client->link;
    server->client_count--;
    server->again = true;
    free(client);
    *slot = NULL;
}

static void connection_changed(void *user, struct MHD_Connection *connection, void **slot,
                               enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        client_opened(user, connection, slot);
    else
        client_closed(user, slot);
}

// Paths and queries are decoded by us, after they were split.
static size_t leave_escaped(void *user, struct MHD_Connection *connection, char *text)
{
    (void)user;
    (void)connection;
    return strlen(text);
}

// What clients do wrong is no error of ours.
static void log_library(void *user, const char *format, va_list args)
{
    (void)user;
    if (!log_enabled(LOG_DEBUG))
        return;
    char line[256];
    vsnprintf(line, sizeof line, format, args);
    log_event(LOG_DEBUG, "http_library", "detail", line, NULL);
}

// --- accepting
// --------------------------------------------------------------------------------------------------------

static void stop_listening(struct http_server *server)
{
    if (server->listening)
        loop_unwatch(server->loop, &server->listen_watch);
    server->listening = false;
}

static void start_listening(struct http_server *server)
{
    if (!server->listening && !server->accepting_over)
        server->listening = loop_watch(server->loop, &server->listen_watch, EPOLLIN);
}

// Takes one connection from the kernel's queue; false when there is none to take now.
static bool accept_one(struct http_server *server)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    int fd =
        accept4(server->listen_watch.fd, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno == ECONNABORTED || errno == EINTR || errno == EPROTO)
            return true;
        if (errno != EAGAIN) {
            // Out of descriptors or memory: the listener stays readable, and looking at it again would only
            // burn time.
            stop_listening(server);
            loop_timer_set(server->loop, &server->accept_again, timestamp_monotonic() + ACCEPT_PAUSE);
        }
        return false;
    }
    if (server->client_count >= server->options.connections + HTTP_SURPLUS)
        close(fd);
    else
        MHD_add_connection(server->daemon, fd, (struct sockaddr *)&address, size);
    server->again = true;
    return true;
}

static void listener_ready(struct watch *watch, uint32_t events)
{
    (void)events;
    struct http_server *server =
        (struct http_server *)((char *)watch - offsetof(struct http_server, listen_watch));
    for (int i = 0; i < ACCEPTS_A_TURN && server->listening; i++)
        if (!accept_one(server))
            return;
}

static void accept_paused(struct timer *timer)
{
    start_listening((struct http_server *)((char *)timer - offsetof(struct http_server, accept_again)));
}

// --- deadlines and draining
// -------------------------------------------------------------------------------------------

static int64_t deadline(const struct http_server *server, const struct http_client *client)
{
    const struct http_options *options = &server->options;
    const struct request *request = client->request;
    if (!request)
        return client->since + options->header_timeout + (client->served ? options->idle_timeout : 0);
    switch (request->phase) {
    case PHASE_HEADERS:
    case PHASE_BODY: {
        size_t received = request->body.size + request->discarded;
        return client->since + options->body_timeout + (int64_t)(received / SLOWEST_BODY) * 1000000;
    }
    case PHASE_REPLIED:
        return client->since + options->body_timeout +
               (int64_t)(request->reply_bytes / SLOWEST_BODY) * 1000000;
    case PHASE_WORKING:
        break;
    }
    return INT64_MAX;
}

static void cut(struct http_client *client)
{
    if (!client->cut)
        shutdown(client->fd, SHUT_RDWR);
    client->cut = true;
}

static void cut_late(struct http_server *server, int64_t now)
{
    for (struct http_client *client = server->clients; client; client = client->next)
        if (now > deadline(server, client))
            cut(client);
}

static void end_accepting(struct http_server *server)
{
    // What the kernel queued has a client that believes it is connected.
    while (accept_one(server)) {
    }
    stop_listening(server);
    loop_timer_clear(server->loop, &server->accept_again);
    close(server->listen_watch.fd);
    server->accepting_over = true;
    server->give_up_at = timestamp_monotonic() + server->grace;
}

static void drain_step(struct http_server *server, int64_t now)
{
    if (!server->accepting_over) {
        if (now >= server->accept_until)
            end_accepting(server);
        return;
    }
    // A connection just accepted gets a moment to say what it wants.
    for (struct http_client *client = server->clients; client; client = client->next)
        if (!client->request && now - client->since > DRAIN_SWEEP_EVERY * 5)
            cut(client);
    if (server->client_count == 0 || now >= server->give_up_at) {
        void (*done)(void *) = server->done;
        server->done = NULL;
        if (done)
            done(server->done_user);
    }
}

static void sweep(struct timer *timer)
{
    struct http_server *server = (struct http_server *)((char *)timer - offsetof(struct http_server, sweep));
    int64_t now = timestamp_monotonic();
    cut_late(server, now);
    if (server->draining)
        drain_step(server, now);
    loop_timer_set(server->loop, timer, now + (server->draining ? DRAIN_SWEEP_EVERY : SWEEP_EVERY));
}

void http_server_drain(struct http_server *server, int64_t drain, int64_t grace, void (*done)(void *user),
                       void *user)
{
    server->draining = true;
    server->accept_until = timestamp_monotonic() + drain;
    server->grace = grace;
    server->done = done;
    server->done_user = user;
    loop_timer_set(server->loop, &server->sweep, timestamp_monotonic());
}

void http_server_hurry(struct http_server *server)
{
    server->accept_until = timestamp_monotonic();
    if (server->grace > 1000000)
        server->grace = 1000000;
    if (server->accepting_over)
        server->give_up_at = server->accept_until;
}

bool http_server_draining(const struct http_server *server)
{
    return server->draining;
}

// --- the turn
// ---------------------------------------------------------------------------------------------------------

// Only wakes the loop: every turn runs the library.
static void daemon_ready(struct watch *watch, uint32_t events)
{
    (void)watch;
    (void)events;
}

static void flush_log(struct http_server *server)
{
    if (!server->log.size)
        return;
    log_write(server->log.data, server->log.size);
    buffer_clear(&server->log);
}

static int64_t turn(void *user)
{
    struct http_server *server = user;
    // A resume or a close that happens while the library runs is seen only when it runs once more, and
    // nothing else would wake the loop for it.
    do {
        server->again = false;
        if (server->replies)
            server->replies--;
        MHD_run(server->daemon);
        server->options.turn_end(server->options.context);
    } while (server->again || server->replies);
    flush_log(server);
    MHD_UNSIGNED_LONG_LONG wait;
    if (MHD_get_timeout(server->daemon, &wait) != MHD_YES)
        return -1;
    // Lingering requests count as something to do at once; what else may be hidden behind them can wait this
    // long.
    return wait == 0 && server->lingering ? LINGER_LOOK : (int64_t)wait * 1000;
}

static bool start_daemon(struct http_server *server)
{
    const struct http_options *options = &server->options;
    unsigned idle_seconds = (unsigned)((options->idle_timeout + 999999) / 1000000);
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG, 0, NULL,
        NULL, handle_call, server, MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_POOL, MHD_OPTION_CONNECTION_TIMEOUT,
        idle_seconds ? idle_seconds : 1, MHD_OPTION_CONNECTION_LIMIT, options->connections + HTTP_SURPLUS,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, connection_changed, server, MHD_OPTION_NOTIFY_COMPLETED,
        request_completed, server, MHD_OPTION_END);
    return server->daemon != NULL;
}

struct http_server *http_server_new(struct loop *loop, const struct http_options *options)
{
    struct http_server *server = calloc(1, sizeof *server);
    if (!server)
        return NULL;
    server->loop = loop;
    server->options = *options;
    uint32_t prefix;
    if (getrandom(&prefix, sizeof prefix, 0) != sizeof prefix || !start_daemon(server)) {
        free(server);
        return NULL;
    }
    snprintf(server->id_prefix, sizeof server->id_prefix, "%08x", prefix);
    server->daemon_watch.fd = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    server->daemon_watch.ready = daemon_ready;
    server->listen_watch = (struct watch){.fd = options->listener, .ready = listener_ready};
    server->accept_again.fire = accept_paused;
    server->sweep.fire = sweep;
    loop_watch(loop, &server->daemon_watch, EPOLLIN);
    start_listening(server);
    loop_timer_set(loop, &server->sweep, timestamp_monotonic() + SWEEP_EVERY);
    loop_set_turn(loop, turn, server);
    return server;
}

void http_server_free(struct http_server *server)
{
    // Whatever is left was answered just now (the store ended its operations): one look each, then cut.
    for (int i = 0; i < 3; i++)
        MHD_run(server->daemon);
    for (struct http_client *client = server->clients; client; client = client->next)
        if (client->request && client->request->suspended)
            request_resume(client->request);
    MHD_run(server->daemon);
    loop_timer_clear(server->loop, &server->sweep);
    loop_timer_clear(server->loop, &server->accept_again);
    loop_unwatch(server->loop, &server->daemon_watch);
    MHD_stop_daemon(server->daemon);
    flush_log(server);
    buffer_free(&server->log);
    while (server->spare) {
        struct request *next = server->spare->next_spare;
        free(server->spare);
        server->spare = next;
    }
    free(server);
}
