// Resolving the address to listen on, and binding it as often as there are workers.
#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

static bool split(const char *listen, char *host, size_t host_size, char *port, size_t port_size)
{
    const char *colon = strrchr(listen, ':');
    if (!colon || !colon[1] || strlen(colon + 1) >= port_size)
        return false;
    for (const char *c = colon + 1; *c; c++)
        if (*c < '0' || *c > '9')
            return false;
    size_t size = (size_t)(colon - listen);
    if (size >= 2 && listen[0] == '[' && listen[size - 1] == ']') {
        listen++;
        size -= 2;
    } else if (memchr(listen, ':', size)) {
        return false; // an IPv6 address without its brackets
    }
    if (!size || size >= host_size)
        return false;
    memcpy(host, listen, size);
    host[size] = 0;
    strcpy(port, colon + 1);
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
    char host[256], port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    if (!split(listen, host, sizeof host, port, sizeof port)) {
        snprintf(error, error_size, "cannot listen on %s: it must be ADDRESS:PORT", listen);
        return false;
    }
    int failed = getaddrinfo(host, port, &hints, &found);
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
