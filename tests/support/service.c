// Starting `holdfast serve`, reading where it listens, ending it and judging how it ended.
#include "support/service.h"

#include "support/clock.h"
#include "support/failure.h"
#include "support/pooler.h"
#include "support/process.h"
#include "support/scratch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { START_MS = 30 * 1000, STOP_MS = 30 * 1000, MOST_ARGUMENTS = 64 };

struct service {
    pid_t pid;
    int out; // its standard output
    uint16_t port;
    char url[128];
    char *log;
};

const char *service_binary(void)
{
    const char *given = getenv("HOLDFAST_BIN");
    return given && *given ? given : HOLDFAST_BIN;
}

_Noreturn static void fail_with_log(const struct service *service, const char *what)
{
    size_t size;
    char *text = scratch_read(service->log, &size);
    support_fail("%s; its log ends: %s", what, size > 4000 ? text + size - 4000 : text);
}

static void launch(struct service *service, const struct service_options *options)
{
    const char *arguments[MOST_ARGUMENTS];
    size_t count = 0;
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        support_fail("pipe: %s", strerror(errno));
    arguments[count++] = service_binary();
    arguments[count++] = "serve";
    arguments[count++] = "--listen";
    arguments[count++] = options->listen ? options->listen : "127.0.0.1:0";
    char *pooled = options->database ? pooler_url(options->database) : NULL;
    if (pooled) {
        arguments[count++] = "--database";
        arguments[count++] = pooled;
        arguments[count++] = "--listen-database";
        arguments[count++] = options->database;
    } else if (options->database) {
        arguments[count++] = "--database";
        arguments[count++] = options->database;
    } else if (options->data) {
        arguments[count++] = "--data";
        arguments[count++] = options->data;
    }
    for (const char *const *flag = options->flags; flag && *flag; flag++) {
        if (count == MOST_ARGUMENTS - 1)
            support_fail("too many flags");
        arguments[count++] = *flag;
    }
    arguments[count] = NULL;
    char *folder = scratch_folder("service");
    service->log = scratch_printf("%s/log", folder);
    service->pid = process_start(&(struct process_options){.arguments = arguments,
                                                           .environment = options->environment,
                                                           .output = service->log,
                                                           .stdout_fd = pipes[1],
                                                           .descriptors = options->descriptors,
                                                           .directory = folder});
    free(folder);
    free(pooled);
    close(pipes[1]);
    service->out = pipes[0];
}

// The first line of its standard output, without the line's end.
static void read_line(const struct service *service, char *line, size_t room)
{
    int64_t until = clock_ms() + START_MS;
    size_t size = 0;
    while (size < room - 1) {
        int64_t left = until - clock_ms();
        struct pollfd watched = {.fd = service->out, .events = POLLIN};
        if (left <= 0 || poll(&watched, 1, (int)left) <= 0)
            fail_with_log(service, "the service does not say where it listens");
        if (read(service->out, line + size, 1) != 1)
            fail_with_log(service, "the service ended before it listened");
        if (line[size] == '\n')
            break;
        size++;
    }
    line[size] = 0;
}

static void read_address(struct service *service)
{
    static const char start[] = "listening on http";
    char line[160];
    read_line(service, line, sizeof line);
    const char *colon = strrchr(line, ':');
    if (strncmp(line, start, strlen(start)) != 0 || !strstr(line, "://") || !colon || atoi(colon + 1) <= 0)
        support_fail("the service's first line is not as promised: %s", line);
    service->port = (uint16_t)atoi(colon + 1);
    snprintf(service->url, sizeof service->url, "%.*s", (int)sizeof service->url - 1,
             line + strlen("listening on "));
}

static bool is_ready(void *user)
{
    static const char request[] = "GET /readyz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
    const struct service *service = user;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(service->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct timeval limit = {.tv_sec = 2};
    char reply[32] = "";
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    bool ready = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                 send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request) &&
                 recv(fd, reply, sizeof reply - 1, MSG_WAITALL) > 0 &&
                 strncmp(reply, "HTTP/1.1 200 ", 13) == 0;
    close(fd);
    return ready;
}

bool service_wait_ready(const struct service *service, int limit_ms)
{
    return clock_wait(is_ready, (void *)(uintptr_t)service, limit_ms);
}

struct service *service_start(const struct service_options *options)
{
    struct service *service = calloc(1, sizeof *service);
    if (!service)
        support_fail("no memory");
    launch(service, options);
    read_address(service);
    if (!options->unready && !service_wait_ready(service, START_MS))
        fail_with_log(service, "the service does not become ready");
    return service;
}

static void forget(struct service *service)
{
    close(service->out);
    free(service->log);
    free(service);
}

int service_wait(struct service *service, int limit_ms)
{
    int code = process_wait(service->pid, limit_ms);
    if (code < 0) {
        kill(service->pid, SIGKILL);
        process_wait(service->pid, 5000);
    }
    forget(service);
    return code;
}

int service_stop(struct service *service, int limit_ms)
{
    kill(service->pid, SIGTERM);
    return service_wait(service, limit_ms);
}

void service_end(struct service *service)
{
    if (!service)
        return;
    kill(service->pid, SIGTERM);
    int code = process_wait(service->pid, STOP_MS);
    if (code != 0) {
        kill(service->pid, SIGKILL);
        fail_with_log(service,
                      code < 0 ? "the service does not end" : "the service did not end with exit code 0");
    }
    forget(service);
}

void service_kill(struct service *service)
{
    kill(service->pid, SIGKILL);
    process_wait(service->pid, 5000);
    forget(service);
}

pid_t service_pid(const struct service *service)
{
    return service->pid;
}

uint16_t service_port(const struct service *service)
{
    return service->port;
}

const char *service_url(const struct service *service)
{
    return service->url;
}

const char *service_log(const struct service *service)
{
    return service->log;
}
