// Pairs of sockets and one loop; the test's thread changes what it does under a lock.
#include "support/cut_proxy.h"

#include "support/failure.h"
#include "support/scratch.h"

#include <errno.h>
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

struct pair {
    int service; // -1: unused
    int server;
    bool held; // answers are swallowed
};

struct cut_proxy {
    pthread_t thread;
    pthread_mutex_t lock;
    char *folder;
    char *target;
    char *url;
    int listener;
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
    *pair = (struct pair){-1, -1, false};
}

static bool send_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        data += sent;
        size -= (size_t)sent;
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
    *free_pair = (struct pair){service, server, false};
}

static bool has_mark(const struct cut_proxy *proxy, size_t size)
{
    return proxy->cut != CUT_NEVER && memmem(proxy->piece, size, proxy->mark, strlen(proxy->mark));
}

static void pass_to_server(struct cut_proxy *proxy, struct pair *pair)
{
    ssize_t size = recv(pair->service, proxy->piece, PIECE, 0);
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
    if (!send_all(pair->server, proxy->piece, (size_t)size))
        close_pair(pair);
}

static void pass_to_service(struct cut_proxy *proxy, struct pair *pair)
{
    ssize_t size = recv(pair->server, proxy->piece, PIECE, 0);
    if (size <= 0 || (!pair->held && !send_all(pair->service, proxy->piece, (size_t)size)))
        close_pair(pair);
}

static void serve(struct cut_proxy *proxy, const struct pollfd *watched)
{
    for (int i = 0; i < MOST_PAIRS; i++) {
        struct pair *pair = &proxy->pairs[i];
        if (pair->service >= 0 && pair->service == watched[2 * i].fd && watched[2 * i].revents)
            pass_to_server(proxy, pair);
        if (pair->server >= 0 && pair->server == watched[2 * i + 1].fd && watched[2 * i + 1].revents)
            pass_to_service(proxy, pair);
    }
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
            watched[2 * i] = (struct pollfd){proxy->pairs[i].service, POLLIN, 0};
            watched[2 * i + 1] = (struct pollfd){proxy->pairs[i].server, POLLIN, 0};
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

struct cut_proxy *cut_proxy_start(const struct postgres *postgres)
{
    struct cut_proxy *proxy = calloc(1, sizeof *proxy);
    if (!proxy)
        support_fail("no memory");
    proxy->folder = scratch_folder("proxy");
    proxy->target = scratch_printf("%s/.s.PGSQL.5432", postgres_socket_folder(postgres));
    char *path = scratch_printf("%s/.s.PGSQL.5432", proxy->folder);
    struct sockaddr_un address = address_of(path);
    proxy->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(proxy->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(proxy->listener, 64) != 0)
        support_fail("%s: %s", path, strerror(errno));
    free(path);
    for (int i = 0; i < MOST_PAIRS; i++)
        proxy->pairs[i] = (struct pair){-1, -1, false};
    pthread_mutex_init(&proxy->lock, NULL);
    if (pthread_create(&proxy->thread, NULL, run, proxy) != 0)
        support_fail("no thread");
    return proxy;
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
