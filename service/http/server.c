// libmicrohttpd on the worker's loop: accepting, the calls of a request's life, deadlines, draining.
#include "http/server.h"

#include "base/log.h"
#include "base/timestamp.h"
#include "http/addresses.h"
#include "http/cors.h"
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
    DRAIN_QUIET = 100 * 1000,           // how long nobody must have asked before idle connections are cut,
    DRAIN_QUIET_MOST = 2 * 1000 * 1000, // or as long as proxies get to look elsewhere
    QUIET = 100 * 1000, // after which a connection may be looked at whether its client is gone
    LOOKS = 256,        // connections that one sweep looks at so
    ACCEPTS_A_TURN = 128,
    ACCEPT_PAUSE = 100 * 1000, // after the process ran out of descriptors
    SLOWEST_BODY = 16 << 10,   // bytes a second that keep a body or a reply alive
    LINGER = 5 * 1000,         // how long, and how many requests, may wait for the database
    LINGER_MOST = 512,         // without their connections being suspended
    LINGER_LOOK = 1000,
    BRIEF_BODY = 64 << 10,
};

// --- the calls of a request's life
// ------------------------------------------------------------------------------------

static void count_refusal(const struct http_server *server, enum capacity capacity)
{
    count_add(&server->options.counts->capacity_refusals[capacity], 1);
}

static void refuse_surplus(struct request *request)
{
    const struct http_client *client = request->client;
    if ((!client->surplus && !client->crowded) || (request->route && request->route->flags & ROUTE_HEALTH))
        return;
    count_refusal(request->server, client->crowded ? CAPACITY_ADDRESS_CONNECTIONS : CAPACITY_CONNECTIONS);
    struct problem problem = {.kind = PROBLEM_UNAVAILABLE,
                              .detail = client->crowded ? "too many connections from this address are open"
                                                        : "too many connections are open",
                              .retry_after = 1};
    request_refuse(request, &problem);
}

// Where clients must show a certificate, one who did not is told nothing else. One look a connection is
// enough.
static void refuse_stranger(struct request *request)
{
    const struct http_tls *tls = request->server->options.tls;
    struct http_client *client = request->client;
    if (!tls || !tls->client_authorities || client->known ||
        (request->route && request->route->flags & ROUTE_HEALTH))
        return;
    client->known = tls->client_is_known(
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session);
    if (client->known)
        return;
    request->refusal_status = 0;
    struct problem problem = {.kind = PROBLEM_FORBIDDEN,
                              .detail =
                                  "clients of this service show a certificate; this one showed none, or "
                                  "not a good one"};
    request_refuse(request, &problem);
}

// Whoever may not do this need not send a long body first.
static void turn_away(struct request *request)
{
    bool brief =
        request->announced && request->body_capacity <= BRIEF_BODY && !request_has(request, HEADER_EXPECT);
    bool bodiless =
        !request_has(request, HEADER_CONTENT_LENGTH) && !request_has(request, HEADER_TRANSFER_ENCODING);
    struct problem problem;
    if (!request->refusal_status && !brief && !bodiless &&
        request->server->options.turns_away(request, &problem))
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
    request->client->since = server->heard = request->started;
    request_open(request, method, url, version);
    refuse_surplus(request);
    refuse_stranger(request);
    turn_away(request);
    return request;
}

void request_admitted(struct request *request)
{
    if (request->gone)
        request_depart(request);
    else if (request->keyed || request->linked)
        request->server->options.handle_keyed(request);
    else
        request->route->handle(request);
}

static enum MHD_Result work(struct request *request)
{
    const char *origins = request->server->options.cors_origins;
    request->phase = PHASE_WORKING;
    request->worked = loop_now(request->server->loop);
    if (cors_is_preflight(request, origins) && request->refusal.allow)
        cors_reply_preflight(request, origins, request->refusal.allow);
    else if (request->refusal_status)
        reply_problem(request, &request->refusal);
    else
        request->server->options.admit(request);
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
    if (request->parked)
        request_watch_client(request);
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
    request_unpark(request);
    if (request->lingering) {
        request->lingering = false;
        server->lingering--;
        return;
    }
    request->suspended = false;
    server->again = true;
    MHD_resume_connection(request->connection);
}

void request_depart(struct request *request)
{
    request->next_spare = request->server->departed;
    request->server->departed = request;
}

bool request_begin_wait(struct request *request)
{
    struct http_server *server = request->server;
    if (request->waits)
        return true;
    bool crowded = request->caller_waits && *request->caller_waits >= server->options.caller_wait_limit;
    if (crowded || server->waits >= server->options.wait_limit) {
        count_refusal(server, crowded ? CAPACITY_TOKEN_WAITS : CAPACITY_WAITS);
        reply_simple_problem(request, PROBLEM_UNAVAILABLE, "%s",
                             crowded ? "too many requests with this token wait already"
                                     : "too many requests wait already");
        return false;
    }
    request->waits = true;
    server->waits++;
    if (request->caller_waits)
        ++*request->caller_waits;
    return true;
}

static void end_wait(struct request *request)
{
    if (!request->waits)
        return;
    request->server->waits--;
    if (request->caller_waits)
        --*request->caller_waits;
}

bool request_hold(struct request *request, size_t bytes)
{
    struct http_server *server = request->server;
    if (bytes > server->options.body_memory - server->held) {
        count_refusal(server, CAPACITY_BODY_MEMORY);
        return false;
    }
    server->held += bytes;
    request->held += bytes;
    return true;
}

void request_free(struct request *request)
{
    struct http_server *server = request->server;
    server->held -= request->held;
    end_wait(request);
    json_decref(request->json);
    if (request->caller)
        request->forget_caller(request->caller);
    arena_free(&request->arena);
    if (server->spares >= HTTP_SPARES) {
        free(request);
        return;
    }
    request->next_spare = server->spare;
    server->spare = request;
    server->spares++;
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
    request_report(server, request);
    request->client->request = NULL;
    request->client->since = loop_now(server->loop);
    request->client->served = true;
    if (request->lingering) {
        request->lingering = false;
        server->lingering--;
        if (!request->parked) { // its operation is under way and will call back
            request->gone = true;
            return;
        }
        request->parked(request->parked_by);
    }
    request_free(request);
}

static void cut(struct http_client *client)
{
    if (!client->cut)
        shutdown(client->fd, SHUT_RDWR);
    client->cut = true;
}

// One address must not take the connections of all.
static void count_address(struct http_server *server, struct MHD_Connection *connection,
                          struct http_client *client)
{
    if (!server->options.address_limit)
        return;
    client->address =
        addresses_key(MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
    unsigned connections = addresses_enter(client->address);
    client->crowded = connections > server->options.address_limit;
    if (connections <= server->options.address_limit + HTTP_CROWD)
        return;
    count_refusal(server, CAPACITY_ADDRESS_CONNECTIONS);
    cut(client);
}

static void client_opened(struct http_server *server, struct MHD_Connection *connection, void **slot)
{
    struct http_client *client = calloc(1, sizeof *client);
    if (!client)
        abort();
    client->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    client->since = loop_now(server->loop);
    client->surplus = server->client_count >= server->options.connections;
    count_address(server, connection, client);
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
    if (server->options.address_limit)
        addresses_leave(client->address);
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

static size_t count_arguments(const char *query)
{
    size_t count = 1;
    for (const char *next = query; (next = strchr(next, '&')); next++)
        count++;
    return count;
}

// Looks at a target before the library takes it apart: a zero byte or a space can be found only here. When
// its memory cannot hold the parameters of the query the library loses the connection without a word, so the
// query is taken out of its sight; the request is refused as soon as it can be.
static void *look_at_target(void *user, const char *text, struct MHD_Connection *connection)
{
    (void)user;
    if (!text)
        return NULL;
    struct http_client *client =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    struct http_target *target = &client->target;
    *target = (struct http_target){.size = strlen(text)};
    target->spaced = memchr(text, ' ', target->size) != NULL;
    char *query = memchr(text, '?', target->size);
    if (!query)
        return NULL;
    target->arguments = count_arguments(query);
    target->cut = target->arguments > REQUEST_ARGUMENTS ||
                  target->size + target->arguments * HTTP_LINE_OVERHEAD + HTTP_REPLY_ROOM > HTTP_POOL;
    if (target->cut)
        query[1] = 0; // the library's own memory, which it is about to cut in pieces itself
    return NULL;
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
    if (server->client_count >= server->options.connections + HTTP_SURPLUS) {
        close(fd);
        count_refusal(server, CAPACITY_CONNECTIONS);
    } else {
        count_add(&server->options.counts->accepted, 1);
        MHD_add_connection(server->daemon, fd, (struct sockaddr *)&address, size);
    }
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

static bool receives(const struct http_client *client)
{
    return !client->request || client->request->phase == PHASE_HEADERS ||
           client->request->phase == PHASE_BODY;
}

// Whether everything the client sent was read, and its end was too.
static bool has_ended(const struct http_client *client)
{
    char byte;
    return recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

// Whether a request lies in the socket that the library has yet to look at.
static bool has_sent(const struct http_client *client)
{
    char byte;
    return recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

// Cuts connections that are late, and those whose client is gone. An end that comes together with a part of a
// request escapes the library: what it read was less than it asked for, so it takes the socket for drained
// and waits for an event that was spent. So quiet connections are looked at, some in each sweep, in turn.
static void cut_late(struct http_server *server, int64_t now)
{
    size_t place = 0;
    for (struct http_client *client = server->clients; client; client = client->next, place++) {
        bool looked_at = place - server->look_from < LOOKS && receives(client) && now - client->since > QUIET;
        if (now > deadline(server, client) || (looked_at && has_ended(client)))
            cut(client);
    }
    server->look_from = server->look_from + LOOKS < place ? server->look_from + LOOKS : 0;
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
    // A connection just accepted gets a moment to say what it wants. While requests come over those that are
    // kept, each of the others may be the next one's: a proxy that is about to use it does not see yet that
    // it ends. Every answer closes one, so this is soon over.
    for (struct http_client *client = server->clients; client; client = client->next)
        if (!client->request && now - client->since > DRAIN_QUIET && now - server->heard > server->quiet &&
            !has_sent(client))
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
    server->quiet = drain > DRAIN_QUIET_MOST ? DRAIN_QUIET_MOST : drain > DRAIN_QUIET ? drain : DRAIN_QUIET;
    server->done = done;
    server->done_user = user;
    loop_timer_set(server->loop, &server->sweep, timestamp_monotonic());
}

void http_server_hurry(struct http_server *server)
{
    server->accept_until = timestamp_monotonic();
    server->quiet = DRAIN_QUIET;
    if (server->grace > 1000000)
        server->grace = 1000000;
    if (server->accepting_over)
        server->give_up_at = server->accept_until;
}

void http_server_observe(const struct http_server *server)
{
    struct counts *counts = server->options.counts;
    count_set(&counts->connections, server->client_count);
    count_set(&counts->parked, server->waits);
    count_set(&counts->body_bytes, server->held);
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

static void free_departed(struct http_server *server)
{
    while (server->departed) {
        struct request *request = server->departed;
        server->departed = request->next_spare;
        request_free(request);
    }
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
    free_departed(server);
    flush_log(server);
    MHD_UNSIGNED_LONG_LONG wait;
    if (MHD_get_timeout(server->daemon, &wait) != MHD_YES)
        return -1;
    // Lingering requests count as something to do at once; what else may be hidden behind them can wait this
    // long.
    return wait == 0 && server->lingering ? LINGER_LOOK : (int64_t)wait * 1000;
}

// The library's further options for TLS, up to MHD_OPTION_END. TLS 1.2 is the oldest that is spoken.
static void add_tls(const struct http_tls *tls, struct MHD_OptionItem items[4])
{
    int count = 0;
    if (tls) {
        items[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)tls->identity};
        items[count++] = (struct MHD_OptionItem){
            MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"};
        if (tls->client_authorities)
            items[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0,
                                                     (void *)(uintptr_t)tls->client_authorities};
    }
    items[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
}

static bool start_daemon(struct http_server *server)
{
    const struct http_options *options = &server->options;
    unsigned idle_seconds = (unsigned)((options->idle_timeout + 999999) / 1000000);
    struct MHD_OptionItem tls[4];
    add_tls(options->tls, tls);
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG |
            (options->tls ? MHD_USE_TLS : 0U),
        0, NULL, NULL, handle_call, server, MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_POOL, MHD_OPTION_CONNECTION_TIMEOUT,
        idle_seconds ? idle_seconds : 1, MHD_OPTION_CONNECTION_LIMIT, options->connections + HTTP_SURPLUS,
        MHD_OPTION_URI_LOG_CALLBACK, look_at_target, NULL, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, connection_changed, server, MHD_OPTION_NOTIFY_COMPLETED,
        request_completed, server, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
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
    if (getrandom(&prefix, sizeof prefix, 0) != sizeof prefix ||
        getrandom(&server->span_next, sizeof server->span_next, 0) != sizeof server->span_next ||
        !start_daemon(server)) {
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
    free_departed(server);
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
