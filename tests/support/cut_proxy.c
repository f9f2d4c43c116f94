// Pairs of sockets and one loop that never waits for one of them: a server that answers while it is sent more
// would wait for us, as we for it. The test's thread changes what the loop does under a lock.
#include "support/cut_proxy.h"

#include "support/failure.h"
#include "support/scratch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_PAIRS = 64, PIECE = 256 * 1024, TICK_MS = 20 };

// What was received and could not be passed on yet; nothing more is received before it is.
struct rest {
    char *data; // NULL: nothing
    size_t size;
    size_t sent;
};

struct pair {
    int service; // -1: unused
    int server;
    bool held; // answers are swallowed
    struct rest to_service;
    struct rest to_server;
};

struct cut_proxy {
    pthread_t thread;
    pthread_mutex_t lock;
    char *folder;
    char *target;
    char *url;
    int listener;
    uint16_t port; // 0: on a unix socket
    struct pair pairs[MOST_PAIRS];
    enum cut cut;
    const char *mark;
    bool met;
    bool refuse;
    bool ending;
    char piece[PIECE];
};

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        support_fail("the socket's path is too long: %s", path);
    strcpy(address.sun_path, path);
    return address;
}

static void close_pair(struct pair *pair)
{
    if (pair->service >= 0) {
        close(pair->service);
        close(pair->server);
    }
    free(pair->to_service.data);
    free(pair->to_server.data);
    *pair = (struct pair){.service = -1, .server = -1};
}

// Sends what goes now, and gives how much; -1 when the socket is broken.
static ssize_t send_some(int fd, const char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t sent = send(fd, data + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (sent <= 0)
            return -1;
        done += (size_t)sent;
    }
    return (ssize_t)done;
}

// Passes on what was just received, and keeps what does not go now.
static bool pass(int fd, struct rest *rest, const char *data, size_t size)
{
    ssize_t sent = send_some(fd, data, size);
    if (sent < 0)
        return false;
    if ((size_t)sent < size) {
        *rest = (struct rest){.data = malloc(size - (size_t)sent), .size = size - (size_t)sent};
        if (!rest->data)
            support_fail("no memory");
        memcpy(rest->data, data + sent, rest->size);
    }
    return true;
}

static bool pass_rest(int fd, struct rest *rest)
{
    ssize_t sent = send_some(fd, rest->data + rest->sent, rest->size - rest->sent);
    if (sent < 0)
        return false;
    rest->sent += (size_t)sent;
    if (rest->sent == rest->size) {
        free(rest->data);
        *rest = (struct rest){0};
    }
    return true;
}

static void accept_pair(struct cut_proxy *proxy)
{
    int service = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
    struct pair *free_pair = NULL;
    for (int i = 0; i < MOST_PAIRS && !free_pair; i++)
        free_pair = proxy->pairs[i].service < 0 ? &proxy->pairs[i] : NULL;
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = address_of(proxy->target);
    if (service < 0 || server < 0 || !free_pair || proxy->refuse ||
        connect(server, (struct sockaddr *)&address, sizeof address) != 0) {
        close(service);
        close(server);
        return;
    }
    int on = 1;
    if (proxy->port)
        setsockopt(service, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *free_pair = (struct pair){.service = service, .server = server};
}

static bool has_mark(const struct cut_proxy *proxy, size_t size)
{
    return proxy->cut != CUT_NEVER && memmem(proxy->piece, size, proxy->mark, strlen(proxy->mark));
}

static void pass_to_server(struct cut_proxy *proxy, struct pair *pair)
{
    ssize_t size = recv(pair->service, proxy->piece, PIECE, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN)
        return;
    if (size <= 0) {
        close_pair(pair);
        return;
    }
    if (has_mark(proxy, (size_t)size)) {
        bool before = proxy->cut == CUT_BEFORE;
        proxy->met = true;
        proxy->cut = CUT_NEVER;
        pair->held = !before;
        if (before) {
            close_pair(pair);
            return;
        }
    }
    if (!pass(pair->server, &pair->to_server, proxy->piece, (size_t)size))
        close_pair(pair);
}

static void pass_to_service(struct cut_proxy *proxy, struct pair *pair)
{
    ssize_t size = recv(pair->server, proxy->piece, PIECE, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN)
        return;
    if (size <= 0 || (!pair->held && !pass(pair->service, &pair->to_service, proxy->piece, (size_t)size)))
        close_pair(pair);
}

// Each side is asked for more when the other has what came before, and whether it takes more when it has not.
static struct pollfd watched_for(int fd, const struct rest *from_it, const struct rest *to_it)
{
    short events = (short)((from_it->data ? 0 : POLLIN) | (to_it->data ? POLLOUT : 0));
    return (struct pollfd){events ? fd : -1, events, 0};
}

static void serve_pair(struct cut_proxy *proxy, struct pair *pair, const struct pollfd *watched)
{
    bool same = pair->service >= 0 && (watched[0].fd < 0 || watched[0].fd == pair->service) &&
                (watched[1].fd < 0 || watched[1].fd == pair->server);
    if (!same) // it was closed meanwhile
        return;
    if (((watched[0].revents & POLLOUT) && !pass_rest(pair->service, &pair->to_service)) ||
        ((watched[1].revents & POLLOUT) && !pass_rest(pair->server, &pair->to_server))) {
        close_pair(pair);
        return;
    }
    if (watched[0].revents & ~POLLOUT && !pair->to_server.data)
        pass_to_server(proxy, pair);
    if (pair->service >= 0 && watched[1].revents & ~POLLOUT && !pair->to_service.data)
        pass_to_service(proxy, pair);
}

static void serve(struct cut_proxy *proxy, const struct pollfd *watched)
{
    for (int i = 0; i < MOST_PAIRS; i++)
        serve_pair(proxy, &proxy->pairs[i], &watched[2 * i]);
    if (watched[2 * MOST_PAIRS].revents)
        accept_pair(proxy);
}

static void *run(void *user)
{
    struct cut_proxy *proxy = user;
    struct pollfd watched[2 * MOST_PAIRS + 1];
    pthread_mutex_lock(&proxy->lock);
    while (!proxy->ending) {
        for (int i = 0; i < MOST_PAIRS; i++) {
            const struct pair *pair = &proxy->pairs[i];
            watched[2 * i] = watched_for(pair->service, &pair->to_server, &pair->to_service);
            watched[2 * i + 1] = watched_for(pair->server, &pair->to_service, &pair->to_server);
        }
        watched[2 * MOST_PAIRS] = (struct pollfd){proxy->listener, POLLIN, 0};
        pthread_mutex_unlock(&proxy->lock);
        int ready = poll(watched, 2 * MOST_PAIRS + 1, TICK_MS);
        pthread_mutex_lock(&proxy->lock);
        if (ready > 0)
            serve(proxy, watched);
    }
    for (int i = 0; i < MOST_PAIRS; i++)
        close_pair(&proxy->pairs[i]);
    pthread_mutex_unlock(&proxy->lock);
    return NULL;
}

static void listen_at_path(struct cut_proxy *proxy)
{
    char *path = scratch_printf("%s/.s.PGSQL.5432", proxy->folder);
    struct sockaddr_un address = address_of(path);
    proxy->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(proxy->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(proxy->listener, 64) != 0)
        support_fail("%s: %s", path, strerror(errno));
    free(path);
}

static void listen_at_port(struct cut_proxy *proxy)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(proxy->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(proxy->listener, 64) != 0 ||
        getsockname(proxy->listener, (struct sockaddr *)&address, &size) != 0)
        support_fail("the proxy cannot listen: %s", strerror(errno));
    proxy->port = ntohs(address.sin_port);
}

static struct cut_proxy *start(const struct postgres *postgres, void (*begin_listening)(struct cut_proxy *))
{
    struct cut_proxy *proxy = calloc(1, sizeof *proxy);
    if (!proxy)
        support_fail("no memory");
    proxy->folder = scratch_folder("proxy");
    proxy->target = scratch_printf("%s/.s.PGSQL.5432", postgres_socket_folder(postgres));
    begin_listening(proxy);
    for (int i = 0; i < MOST_PAIRS; i++)
        proxy->pairs[i] = (struct pair){.service = -1, .server = -1};
    pthread_mutex_init(&proxy->lock, NULL);
    if (pthread_create(&proxy->thread, NULL, run, proxy) != 0)
        support_fail("no thread");
    return proxy;
}

struct cut_proxy *cut_proxy_start(const struct postgres *postgres)
{
    return start(postgres, listen_at_path);
}

struct cut_proxy *cut_proxy_start_tcp(const struct postgres *postgres)
{
    return start(postgres, listen_at_port);
}

uint16_t cut_proxy_port(const struct cut_proxy *proxy)
{
    return proxy->port;
}

void cut_proxy_end(struct cut_proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->ending = true;
    pthread_mutex_unlock(&proxy->lock);
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
    free(proxy->folder);
    free(proxy->target);
    free(proxy->url);
    free(proxy);
}

const char *cut_proxy_url(struct cut_proxy *proxy, const struct database *database)
{
    free(proxy->url);
    if (proxy->port)
        return proxy->url = scratch_printf("postgresql://postgres@127.0.0.1:%u/%s?sslmode=disable",
                                           proxy->port, database->name);
    return proxy->url =
               scratch_printf("postgresql:///%s?host=%s&user=postgres", database->name, proxy->folder);
}

void cut_proxy_arm(struct cut_proxy *proxy, enum cut cut, const char *mark)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->cut = cut;
    proxy->mark = mark;
    proxy->met = false;
    pthread_mutex_unlock(&proxy->lock);
}

bool cut_proxy_cut(struct cut_proxy *proxy)
{
    bool found = false;
    pthread_mutex_lock(&proxy->lock);
    for (int i = 0; i < MOST_PAIRS; i++) {
        if (!proxy->pairs[i].held)
            continue;
        close_pair(&proxy->pairs[i]);
        found = true;
    }
    pthread_mutex_unlock(&proxy->lock);
    return found;
}

bool cut_proxy_met(struct cut_proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    bool met = proxy->met;
    pthread_mutex_unlock(&proxy->lock);
    return met;
}

void cut_proxy_sever(struct cut_proxy *proxy, bool refuse)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->refuse = refuse;
    for (int i = 0; i < MOST_PAIRS; i++)
        close_pair(&proxy->pairs[i]);
    pthread_mutex_unlock(&proxy->lock);
}
