// A socket, a buffer, and a reader that takes nothing for a reply that is none.
#include "support/raw.h"

#include "support/clock.h"
#include "support/failure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT_MS = 10 * 1000, MOST_HEAD = 64 * 1024, LEAST_ROOM = 4 * 1024 };

struct raw {
    int fd;
    char *in;
    size_t size;
    size_t room;
    bool ended;
    struct answer *answers;
};

struct raw *raw_connect(uint16_t port)
{
    struct raw *raw = calloc(1, sizeof *raw);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval limit = {.tv_sec = CONNECT_MS / 1000};
    int on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!raw)
        support_fail("no memory");
    raw->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(raw->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(raw->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (raw->fd < 0 || connect(raw->fd, (struct sockaddr *)&address, sizeof address) != 0)
        support_fail("no connection to port %u: %s", (unsigned)port, strerror(errno));
    return raw;
}

void raw_close(struct raw *raw)
{
    if (!raw)
        return;
    close(raw->fd);
    for (struct answer *answer = raw->answers, *next; answer; answer = next) {
        next = answer->next;
        answer_free(answer);
    }
    free(raw->in);
    free(raw);
}

bool raw_send(struct raw *raw, struct bytes bytes)
{
    while (bytes.size) {
        ssize_t sent = send(raw->fd, bytes.data, bytes.size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes = bytes_make(bytes.data + sent, bytes.size - (size_t)sent);
    }
    return true;
}

bool raw_text(struct raw *raw, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int size = vasprintf(&text, format, args);
    va_end(args);
    if (size < 0)
        support_fail("no memory for a text");
    bool sent = raw_send(raw, bytes_make(text, (size_t)size));
    free(text);
    return sent;
}

// Receives more; false when nothing came until `until` or the stream ended.
static bool receive(struct raw *raw, int64_t until)
{
    struct pollfd watched = {.fd = raw->fd, .events = POLLIN};
    int64_t left = until - clock_ms();
    if (raw->ended || poll(&watched, 1, left > 0 ? (int)left : 0) <= 0)
        return false;
    if (raw->room - raw->size < LEAST_ROOM) {
        raw->room = raw->room * 2 + LEAST_ROOM; // small at first: tests open thousands
        raw->in = realloc(raw->in, raw->room);
        if (!raw->in)
            support_fail("no memory for a reply");
    }
    ssize_t got = recv(raw->fd, raw->in + raw->size, raw->room - raw->size, 0);
    raw->ended = got <= 0;
    raw->size += got > 0 ? (size_t)got : 0;
    return got > 0;
}

// The head's size without the blank line's CR LF; 0 when it did not come.
static size_t receive_head(struct raw *raw, int64_t until)
{
    for (;;) {
        char *blank = raw->size ? memmem(raw->in, raw->size, "\r\n\r\n", 4) : NULL;
        if (blank)
            return (size_t)(blank - raw->in) + 2;
        if (raw->size > MOST_HEAD)
            support_fail("a reply's head does not end");
        if (!receive(raw, until))
            return 0;
    }
}

static size_t body_size(const struct answer *answer, bool head)
{
    const char *length = answer_header(answer, "Content-Length");
    if (answer_header(answer, "Transfer-Encoding"))
        support_fail("a reply in chunks: %s", answer_describe(answer));
    if (head || answer->status < 200 || answer->status == 204 || answer->status == 304)
        return 0;
    char *end;
    unsigned long long size = length && *length ? strtoull(length, &end, 10) : 0;
    if (!length || !*length || *end)
        support_fail("a reply without a length: %s", answer_describe(answer));
    return size;
}

static void consume(struct raw *raw, size_t size)
{
    memmove(raw->in, raw->in + size, raw->size - size);
    raw->size -= size;
}

struct answer *raw_read(struct raw *raw, bool head, int limit_ms)
{
    const char *fault;
    int64_t until = clock_ms() + limit_ms;
    size_t size = receive_head(raw, until);
    if (!size)
        return NULL;
    struct answer *answer = answer_parse(raw->in, size, &fault);
    if (!answer)
        support_fail("%s: %.*s", fault, (int)size, raw->in);
    answer->head_request = head;
    answer->next = raw->answers;
    raw->answers = answer;
    size_t body = body_size(answer, head);
    while (raw->size < size + 2 + body)
        if (!receive(raw, until))
            return NULL;
    char *copy = malloc(body + 1);
    if (!copy)
        support_fail("no memory for a reply");
    memcpy(copy, raw->in + size + 2, body);
    copy[body] = 0;
    answer_set_body(answer, copy, body);
    consume(raw, size + 2 + body);
    return answer;
}

bool raw_closes(struct raw *raw, int limit_ms)
{
    int64_t until = clock_ms() + limit_ms;
    while (!raw->size && !raw->ended && clock_ms() < until)
        receive(raw, until);
    return raw->ended && !raw->size;
}

bool raw_silent(struct raw *raw, int ms)
{
    int64_t until = clock_ms() + ms;
    do
        receive(raw, until); // looks once even when there is no time
    while (!raw->size && !raw->ended && clock_ms() < until);
    return !raw->ended && !raw->size;
}

void raw_shutdown(struct raw *raw)
{
    shutdown(raw->fd, SHUT_WR);
}

void raw_abort(struct raw *raw)
{
    struct linger at_once = {.l_onoff = 1};
    setsockopt(raw->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    raw_close(raw);
}

int raw_fd(const struct raw *raw)
{
    return raw->fd;
}
