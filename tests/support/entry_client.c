// One socket, one request at a time; only what the service's replies need of HTTP/1.1, and anything else is
// taken for a broken answer.
#include "support/entry_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { HEAD_ROOM = 16 * 1024, DEFAULT_TIMEOUT_MS = 10 * 1000, MANY_BYTES = 64 * 1024 };

struct entry_client entry_client_new(uint16_t port)
{
    return (struct entry_client){.port = port, .timeout_ms = DEFAULT_TIMEOUT_MS, .fd = -1};
}

static void disconnect(struct entry_client *client)
{
    if (client->fd >= 0) {
        close(client->fd);
    }
    client->fd = -1;
    client->in_size = 0;
}

void entry_client_close(struct entry_client *client)
{
    disconnect(client);
    free(client->in);
    client->in = NULL;
    client->in_room = 0;
}

// Whether the kept connection is still good: nothing may come on it before the next request.
static bool is_quiet(const struct entry_client *client)
{
    struct pollfd watched = {.fd = client->fd, .events = POLLIN | POLLRDHUP};
    return client->connected_port == client->port && poll(&watched, 1, 0) == 0;
}

static void apply_timeout(struct entry_client *client)
{
    struct timeval timeout = {client->timeout_ms / 1000, (client->timeout_ms % 1000) * 1000};
    setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    client->applied_timeout_ms = client->timeout_ms;
}

static bool connect_client(struct entry_client *client)
{
    if (client->fd >= 0 && is_quiet(client)) {
        if (client->applied_timeout_ms != client->timeout_ms) {
            apply_timeout(client);
        }
        return true;
    }
    disconnect(client);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(client->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd < 0) {
        return false;
    }
    int on = 1;
    apply_timeout(client);
    if (client->receive_room > 0) {
        setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &client->receive_room, sizeof client->receive_room);
    }
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(client->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        disconnect(client);
        return false;
    }
    client->connected_port = client->port;
    return true;
}

static bool send_all(int fd, struct bytes head, struct bytes body)
{
    struct iovec parts[2] = {{(void *)(uintptr_t)head.data, head.size},
                             {(void *)(uintptr_t)body.data, body.size}};
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        for (size_t i = 0, left = (size_t)sent; i < 2; i++) {
            size_t taken = left < parts[i].iov_len ? left : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + taken;
            parts[i].iov_len -= taken;
            left -= taken;
        }
    }
    return true;
}

static bool send_request(struct entry_client *client, const struct entry_request *request)
{
    char head[HEAD_ROOM];
    bool has_body = request->body.size > 0 || strcmp(request->method, "PUT") == 0;
    int size = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n", request->method,
                        request->target, client->port);
    if (has_body && size >= 0 && (size_t)size < sizeof head) {
        size +=
            snprintf(head + size, sizeof head - (size_t)size, "Content-Length: %zu\r\n", request->body.size);
    }
    if (request->content_type != NULL && (size_t)size < sizeof head) {
        size +=
            snprintf(head + size, sizeof head - (size_t)size, "Content-Type: %s\r\n", request->content_type);
    }
    if ((size_t)size < sizeof head) {
        size += snprintf(head + size, sizeof head - (size_t)size, "%s\r\n",
                         request->headers != NULL ? request->headers : "");
    }
    if (size < 0 || (size_t)size >= sizeof head) {
        fprintf(stderr, "a request head over %d bytes\n", HEAD_ROOM);
        abort();
    }
    struct bytes body = request->body;
    if (client->halfway == NULL || body.size < MANY_BYTES) {
        return send_all(client->fd, bytes_make(head, (size_t)size), body);
    }
    size_t half = body.size / 2;
    if (!send_all(client->fd, bytes_make(head, (size_t)size), bytes_make(body.data, half))) {
        return false;
    }
    client->halfway(ENTRY_SENDING, client->user);
    return send_all(client->fd, (struct bytes){0}, bytes_make(body.data + half, body.size - half));
}

// Receives what is there; false at the end of the stream, after the timeout or on an error.
static bool receive_more(struct entry_client *client)
{
    if (client->in_room - client->in_size < HEAD_ROOM) {
        client->in_room = client->in_room * 2 + 2 * HEAD_ROOM;
        client->in = realloc(client->in, client->in_room);
        if (client->in == NULL) {
            abort();
        }
    }
    ssize_t got;
    do {
        got = recv(client->fd, client->in + client->in_size, client->in_room - client->in_size - 1, 0);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
        return false;
    }
    client->in_size += (size_t)got;
    return true;
}

static void copy_text(char *out, size_t room, const char *text, size_t size)
{
    size = size < room ? size : room - 1;
    memcpy(out, text, size);
    out[size] = '\0';
}

static void read_tag(struct entry_reply *reply, const char *text, size_t size)
{
    reply->weak = size > 2 && strncmp(text, "W/", 2) == 0;
    text += reply->weak ? 2 : 0;
    size -= reply->weak ? 2 : 0;
    if (size >= 2 && text[0] == '"' && text[size - 1] == '"') {
        copy_text(reply->version, sizeof reply->version, text + 1, size - 2);
    }
}

// Takes one header line; `*close` when the connection ends with this reply.
static void read_header(struct entry_reply *reply, const char *line, size_t size, bool *close_after)
{
    const char *colon = memchr(line, ':', size);
    if (colon == NULL) {
        return;
    }
    size_t name = (size_t)(colon - line);
    const char *value = colon + 1;
    while (value < line + size && *value == ' ') {
        value++;
    }
    size_t value_size = (size_t)(line + size - value);
    const struct {
        const char *name;
        char *to;
        size_t room;
    } texts[] = {
        {"Holdfast-Expires-At", reply->expires_at, sizeof reply->expires_at},
        {"Content-Type", reply->content_type, sizeof reply->content_type},
        {"Holdfast-Meta-Note", reply->note, sizeof reply->note},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strlen(texts[i].name) == name && strncasecmp(texts[i].name, line, name) == 0) {
            copy_text(texts[i].to, texts[i].room, value, value_size);
        }
    }
    if (name == 4 && strncasecmp(line, "ETag", name) == 0) {
        read_tag(reply, value, value_size);
    } else if (name == 14 && strncasecmp(line, "Content-Length", name) == 0) {
        reply->content_length = strtoll(value, NULL, 10);
    } else if (name == 17 && strncasecmp(line, "Holdfast-Position", name) == 0) {
        reply->position = strtoll(value, NULL, 10);
    } else if (name == 11 && strncasecmp(line, "Retry-After", name) == 0) {
        reply->retry_after = true;
    } else if (name == 10 && strncasecmp(line, "Connection", name) == 0) {
        *close_after = strncasecmp(value, "close", 5) == 0;
    }
}

// Reads the head that ends at `end`; false when it is not one.
static bool read_head(struct entry_client *client, size_t end, struct entry_reply *reply, bool *close_after)
{
    const char *at = client->in;
    const char *stop = client->in + end;
    if (sscanf(at, "HTTP/1.1 %3d ", &reply->status) != 1) {
        return false;
    }
    for (at = strstr(at, "\r\n") + 2; at < stop;) {
        const char *line_end = strstr(at, "\r\n");
        read_header(reply, at, (size_t)(line_end - at), close_after);
        at = line_end + 2;
    }
    return true;
}

static bool has_no_body(const struct entry_request *request, const struct entry_reply *reply)
{
    return strcmp(request->method, "HEAD") == 0 || reply->status == 204 || reply->status == 304;
}

static bool receive_reply(struct entry_client *client, const struct entry_request *request,
                          struct entry_reply *reply)
{
    client->in_size = 0;
    char *blank = NULL;
    while (blank == NULL) {
        if (!receive_more(client)) {
            return false;
        }
        client->in[client->in_size] = '\0'; // receive_more asks for less than the room there is
        blank = strstr(client->in, "\r\n\r\n");
        if (blank == NULL && memchr(client->in, '\0', client->in_size) != NULL) {
            return false;
        }
    }
    size_t head = (size_t)(blank - client->in) + 4;
    bool close_after = false;
    if (!read_head(client, head - 2, reply, &close_after)) {
        return false;
    }
    size_t body = 0;
    if (!has_no_body(request, reply)) {
        if (reply->content_length < 0) {
            return false;
        }
        body = (size_t)reply->content_length;
    }
    if (client->halfway != NULL && body >= MANY_BYTES) {
        client->halfway(ENTRY_RECEIVING, client->user);
    }
    while (client->in_size < head + body) {
        if (!receive_more(client)) {
            return false;
        }
    }
    bool whole = client->in_size == head + body;
    reply->body = bytes_make(client->in + head, body);
    if (close_after) {
        disconnect(client);
    }
    return whole;
}

void entry_client_ask(struct entry_client *client, const struct entry_request *request,
                      struct entry_reply *reply)
{
    *reply = (struct entry_reply){.outcome = ENTRY_NOT_SENT, .content_length = -1};
    if (!connect_client(client)) {
        return;
    }
    bool sent = send_request(client, request);
    bool answered = receive_reply(client, request, reply); // a refusal may come before the body is through
    reply->outcome = answered ? ENTRY_ANSWERED : ENTRY_NO_ANSWER;
    if (!sent || !answered) {
        disconnect(client);
    }
}

bool entry_reply_is_fault(const struct entry_reply *reply)
{
    return reply->outcome != ENTRY_ANSWERED || reply->status == 503;
}

bool entry_reply_member(const struct entry_reply *reply, const char *name, char out[ENTRY_VERSION_ROOM])
{
    out[0] = '\0';
    json_t *body = json_loadb((const char *)reply->body.data, reply->body.size, 0, NULL);
    const char *text = json_string_value(json_object_get(body, name));
    bool found = text != NULL && strlen(text) < ENTRY_VERSION_ROOM;
    if (found) {
        copy_text(out, ENTRY_VERSION_ROOM, text, strlen(text));
    }
    json_decref(body);
    return found;
}
