// Resolving the address to listen on, and binding it as often as there are workers.
#include "listener.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

// Of an address in brackets what is between them; of another all of it, which has no colon then.
static bool take_host(struct bytes text, struct bytes *host)
{
    bool bracketed = text.size >= 2 && text.data[0] == '[' && text.data[text.size - 1] == ']';
    *host = bracketed ? bytes_make(text.data + 1, text.size - 2) : text;
    return host->size && host->size < LISTEN_HOST_BYTES && !memchr(host->data, ']', host->size) &&
           !memchr(host->data, '[', host->size) && (bracketed || !memchr(host->data, ':', host->size));
}

bool listen_address_read(const char *listen, struct listen_address *address)
{
    const char *colon = strrchr(listen, ':');
    int64_t port;
    struct bytes host;
    if (!colon || !text_int64(bytes_of(colon + 1), &port) || port < 0 || port > 65535 ||
        !take_host(bytes_make(listen, (size_t)(colon - listen)), &host))
        return false;
    memcpy(address->host, host.data, host.size);
    address->host[host.size] = 0;
    snprintf(address->port, sizeof address->port, "%s", colon + 1);
    return true;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24) == 127;
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return false;
}

static int open_one(const struct sockaddr *address, socklen_t size)
{
    int on = 1;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (bind(fd, address, size) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static void describe(const struct sockaddr *address, char *out)
{
    char text[INET6_ADDRSTRLEN];
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const void *)address;
        inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
        snprintf(out, 80, "[%s]:%u", text, (unsigned)ntohs(six->sin6_port));
        return;
    }
    const struct sockaddr_in *four = (const void *)address;
    inet_ntop(AF_INET, &four->sin_addr, text, sizeof text);
    snprintf(out, 80, "%s:%u", text, (unsigned)ntohs(four->sin_port));
}

// Whether somebody listens there already: with SO_REUSEPORT a second service would silently share the port.
static bool taken(const struct sockaddr *address, socklen_t size)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool in_use = bind(fd, address, size) != 0 && errno == EADDRINUSE;
    close(fd);
    return in_use;
}

bool listeners_open(const char *listen, int count, int *sockets, char *address, bool *loopback, char *error,
                    size_t error_size)
{
    struct listen_address parts;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    if (!listen_address_read(listen, &parts)) {
        snprintf(error, error_size, "cannot listen on %s: it must be ADDRESS:PORT", listen);
        return false;
    }
    int failed = getaddrinfo(parts.host, parts.port, &hints, &found);
    if (failed) {
        snprintf(error, error_size, "cannot listen on %s: %s", listen, gai_strerror(failed));
        return false;
    }
    struct sockaddr_storage bound;
    socklen_t size = found->ai_addrlen;
    memcpy(&bound, found->ai_addr, size);
    freeaddrinfo(found);
    *loopback = is_loopback((struct sockaddr *)&bound);
    if (taken((struct sockaddr *)&bound, size)) {
        snprintf(error, error_size, "cannot listen on %s: the address is in use", listen);
        return false;
    }
    for (int i = 0; i < count; i++) {
        sockets[i] = open_one((struct sockaddr *)&bound, size);
        if (sockets[i] < 0) {
            snprintf(error, error_size, "cannot listen on %s: %s", listen, strerror(errno));
            while (i--)
                close(sockets[i]);
            return false;
        }
        getsockname(sockets[i], (struct sockaddr *)&bound, &size);
    }
    describe((struct sockaddr *)&bound, address);
    return true;
}
