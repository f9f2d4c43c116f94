// Requests that wait for what may take long: their connections are watched beside libmicrohttpd.
#include "http/internal.h"
#include "http/server.h"

#include <poll.h>
#include <sys/epoll.h>

// The library does not look at a connection that is put aside: without a watch of ours a client that leaves
// would stay for ever.
static void client_left(struct watch *watch, uint32_t events)
{
    (void)events;
    struct http_client *client = (struct http_client *)((char *)watch - offsetof(struct http_client, left));
    struct request *request = client->request;
    if (!request || !request->watched) // answered since the kernel saw it
        return;
    request_evict(request);
    request_resume(request); // without a reply: the library will be told to close
}

void request_watch_client(struct request *request)
{
    struct http_client *client = request->client;
    client->left = (struct watch){.fd = client->fd, .ready = client_left};
    // Bytes of further requests may lie in the socket: only its end is asked for.
    request->watched = loop_watch(request->server->loop, &client->left, EPOLLRDHUP | EPOLLONESHOT);
}

bool request_park(struct request *request, void (*gone)(void *owner), void *owner)
{
    if (request->gone) {
        request_depart(request);
        return false;
    }
    request->parked = gone;
    request->parked_by = owner;
    if (request->suspended)
        request_watch_client(request);
    return true;
}

void request_unpark(struct request *request)
{
    request->parked = NULL;
    if (request->watched)
        loop_unwatch(request->server->loop, &request->client->left);
    request->watched = false;
}

void request_evict(struct request *request)
{
    void (*gone)(void *) = request->parked;
    void *owner = request->parked_by;
    request_unpark(request);
    request->intercept = NULL;
    gone(owner);
}

void http_server_visit_parked(struct http_server *server, void (*look)(struct request *request, void *user),
                              void *user)
{
    for (struct http_client *client = server->clients; client; client = client->next)
        if (client->request && client->request->parked)
            look(client->request, user);
}

bool request_client_left(const struct request *request)
{
    if (request->gone) // and what was known of the client with it
        return true;
    struct pollfd socket = {.fd = request->client->fd, .events = POLLRDHUP};
    return poll(&socket, 1, 0) > 0;
}
