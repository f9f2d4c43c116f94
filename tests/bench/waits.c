// The benchmark's waiting clients: many GETs that wait for one entry, and the write that they wait for.
#include "latency.h"
#include "reply.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char USAGE[] =
    "usage: bench-waits --connect ADDR:PORT --path PATH [--count N] [--process PID] hold | wake | one\n"
    "Sends N GETs (default 10000) with `Prefer: wait=300` for an entry that is absent.\n"
    "  hold   prints `parked` when they wait, with the growth of the process' memory: grown_kb=; holds them "
    "until it is "
    "ended\n"
    "  wake   then writes the entry, checks every reply, removes it again and prints wake_ms=: from sending "
    "the write "
    "to the\n"
    "         last reply\n"
    "  one    lets one client wait N times, each time for a write, and prints median_us= from sending that "
    "to the "
    "reply\n"
    "Exit 1 when a reply was not as it must be.\n";

enum {
    PIECE = 4096,
    EVENTS = 256,
    SILENCE_LIMIT = 30 * 1000, // milliseconds without any reply that end the run
    PARKING = 1000 * 1000,     // microseconds given to the service to read what was sent
    PARKING_ONE = 3 * 1000,
};

struct waits {
    struct sockaddr_in address;
    char host[64];
    const char *path;
    unsigned count;
    long process;
    int *sockets;
    int writer;
};

__attribute__((noreturn, format(printf, 2, 3))) static void end_run(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bench-waits: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(status);
}

static uint64_t clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int open_socket(const struct waits *waits)
{
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&waits->address, sizeof waits->address) != 0)
        end_run(1, "connecting failed: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void send_request(const struct waits *waits, int fd, const char *method, const char *rest)
{
    char text[PIECE];
    int size = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: %s\r\n%s", method, waits->path,
                        waits->host, rest);
    if (size >= PIECE)
        end_run(2, "the path is too long");
    if (send(fd, text, (size_t)size, MSG_NOSIGNAL) != size)
        end_run(1, "sending failed: %s", strerror(errno));
}

// Reads one reply, which must have this status and, when one is given, this body. All are small enough to
// come in one piece.
static void expect_reply(int fd, int status, const char *body)
{
    char bytes[PIECE];
    struct reply reply;
    ssize_t size = recv(fd, bytes, sizeof bytes, 0);
    if (size <= 0 || reply_read(&reply, bytes, (size_t)size) != REPLY_WHOLE)
        end_run(1, "no whole reply");
    if (reply.status != status ||
        (body && (reply.body_size != strlen(body) || memcmp(reply.body, body, reply.body_size) != 0)))
        end_run(1, "a reply of status %d that is not as it must be", reply.status);
}

static void send_wait(const struct waits *waits, int fd)
{
    send_request(waits, fd, "GET", "Prefer: wait=300\r\n\r\n");
}

static void send_write(const struct waits *waits)
{
    send_request(waits, waits->writer, "PUT", "Content-Length: 5\r\n\r\nawake");
}

static void remove_entry(const struct waits *waits, int status)
{
    send_request(waits, waits->writer, "DELETE", "\r\n");
    expect_reply(waits->writer, status, NULL);
}

static long resident_kb(const struct waits *waits)
{
    char path[64], line[200];
    long kb = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", waits->process);
    FILE *file = waits->process ? fopen(path, "r") : NULL;
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        sscanf(line, "VmRSS: %ld", &kb);
    fclose(file);
    return kb;
}

static void park_all(struct waits *waits)
{
    waits->sockets = calloc(waits->count, sizeof *waits->sockets);
    if (!waits->sockets)
        end_run(1, "out of memory");
    for (unsigned i = 0; i < waits->count; i++) {
        waits->sockets[i] = open_socket(waits);
        send_wait(waits, waits->sockets[i]);
    }
    usleep(PARKING);
}

static void hold(struct waits *waits)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM); // it does not outlive who measures
    long before = resident_kb(waits);
    park_all(waits);
    printf("parked grown_kb=%ld\n", resident_kb(waits) - before);
    fflush(stdout);
    for (;;)
        pause();
}

static void take_replies(const struct waits *waits)
{
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < waits->count; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = waits->sockets[i]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, waits->sockets[i], &event) != 0)
            end_run(1, "epoll: %s", strerror(errno));
    }
    send_write(waits);
    for (unsigned left = waits->count; left;) {
        int count = epoll_wait(epoll, events, EVENTS, SILENCE_LIMIT);
        if (count <= 0)
            end_run(1, "%u waits have no reply", left);
        for (int i = 0; i < count; i++, left--)
            expect_reply(events[i].data.fd, 200, "awake");
    }
    close(epoll);
}

static void wake(struct waits *waits)
{
    park_all(waits);
    uint64_t start = clock_now();
    take_replies(waits);
    double ms = (double)(clock_now() - start) / 1e6;
    expect_reply(waits->writer, 201, NULL);
    remove_entry(waits, 204);
    printf("wake_ms=%.1f\n", ms);
}

static void wake_one(struct waits *waits)
{
    static struct latency latency;
    int fd = open_socket(waits);
    for (unsigned i = 0; i < waits->count; i++) {
        send_wait(waits, fd);
        usleep(PARKING_ONE);
        uint64_t start = clock_now();
        send_write(waits);
        expect_reply(fd, 200, "awake");
        latency_add(&latency, clock_now() - start);
        expect_reply(waits->writer, 201, NULL);
        remove_entry(waits, 204);
    }
    printf("median_us=%.1f\n", (double)latency_at(&latency, 0.5) / 1e3);
}

static void read_address(struct waits *waits, const char *text)
{
    const char *colon = strrchr(text, ':');
    if (!colon || (size_t)snprintf(waits->host, sizeof waits->host, "%s", text) >= sizeof waits->host)
        end_run(2, "--connect takes ADDR:PORT");
    waits->host[colon - text] = 0;
    waits->address.sin_family = AF_INET;
    waits->address.sin_port = htons((uint16_t)atoi(colon + 1));
    if (inet_pton(AF_INET, waits->host, &waits->address.sin_addr) != 1)
        end_run(2, "--connect takes an IPv4 address");
}

static const char *read_arguments(struct waits *waits, int count, char **arguments)
{
    static const struct option options[] = {
        {"connect", required_argument, NULL, 'c'}, {"path", required_argument, NULL, 'p'},
        {"count", required_argument, NULL, 'n'},   {"process", required_argument, NULL, 'i'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    int code;
    while ((code = getopt_long(count, arguments, "", options, NULL)) != -1) {
        if (code == 'c')
            read_address(waits, optarg);
        else if (code == 'p')
            waits->path = optarg;
        else if (code == 'n')
            waits->count = (unsigned)strtoul(optarg, NULL, 10);
        else if (code == 'i')
            waits->process = strtol(optarg, NULL, 10);
        else {
            fputs(USAGE, code == 'h' ? stdout : stderr);
            exit(code == 'h' ? 0 : 2);
        }
    }
    if (!waits->host[0] || !waits->path || !waits->count || optind + 1 != count)
        end_run(2, "--connect, --path and what to do are needed (see --help)");
    return arguments[optind];
}

int main(int count, char **arguments)
{
    struct waits waits = {.count = 10000};
    const char *what = read_arguments(&waits, count, arguments);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    waits.writer = open_socket(&waits);
    if (strcmp(what, "hold") == 0)
        hold(&waits);
    else if (strcmp(what, "wake") == 0)
        wake(&waits);
    else if (strcmp(what, "one") == 0)
        wake_one(&waits);
    else
        end_run(2, "what is %s?", what);
    free(waits.sockets);
    return 0;
}
