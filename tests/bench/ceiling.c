// The ceiling of what libmicrohttpd gives on this machine: one thread that answers every request with the
// same bytes: 200, or as many as its argument says.
#include <arpa/inet.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    BODY_SIZE = 200, // unless another is asked for
    BODY_LIMIT = 1 << 20,
    POOL_SIZE = 16 << 10, // as the service has it
    IDLE_SECONDS = 60,
};

static char body[BODY_LIMIT];
static volatile sig_atomic_t stopping;

static void stop(int signal)
{
    (void)signal;
    stopping = 1;
}

static enum MHD_Result answer(void *response, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **request)
{
    (void)url, (void)method, (void)version, (void)upload;
    if (!*request) { // an answer from the first call would close the connection
        *request = response;
        return MHD_YES;
    }
    if (*upload_size) {
        *upload_size = 0;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

// The headers that the service sends with an entry; libmicrohttpd adds Date and Content-Length itself.
static struct MHD_Response *response_make(size_t size)
{
    memset(body, 'x', size);
    struct MHD_Response *response = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return NULL;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
    MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, "\"1800000000000000000\"");
    MHD_add_response_header(response, "Holdfast-Request-Id", "0123456789abcdef0123456789abcdef");
    return response;
}

static struct MHD_Daemon *daemon_start(struct MHD_Response *response)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, answer, response, MHD_OPTION_SOCK_ADDR, &address,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_SIZE,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
}

// The library's own thread is no faster, and hangs for ever once exactly 128 connections are ready at a time.
static void serve(struct MHD_Daemon *daemon, const sigset_t *waiting)
{
    struct pollfd ready = {.fd = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
                           .events = POLLIN};
    while (!stopping) {
        MHD_UNSIGNED_LONG_LONG milliseconds;
        struct timespec timeout = {.tv_sec = IDLE_SECONDS};
        if (MHD_get_timeout(daemon, &milliseconds) == MHD_YES) {
            timeout.tv_sec = (time_t)(milliseconds / 1000);
            timeout.tv_nsec = (long)(milliseconds % 1000) * 1000000;
        }
        ppoll(&ready, 1, &timeout, waiting);
        MHD_run(daemon);
    }
}

// Signals come only while the loop waits, so that none is missed between the look at `stopping` and the wait.
static void signals_prepare(sigset_t *waiting)
{
    struct sigaction action = {.sa_handler = stop};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    sigprocmask(SIG_BLOCK, &blocked, waiting);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

int main(int count, char **arguments)
{
    sigset_t waiting;
    size_t size = count > 1 ? strtoul(arguments[1], NULL, 10) : BODY_SIZE;
    if (size > BODY_LIMIT) {
        fprintf(stderr, "bench-ceiling: at most %d bytes\n", BODY_LIMIT);
        return 2;
    }
    signals_prepare(&waiting);
    struct MHD_Response *response = response_make(size);
    struct MHD_Daemon *daemon = response ? daemon_start(response) : NULL;
    if (!daemon) {
        fputs("bench-ceiling: the server does not start\n", stderr);
        return 1;
    }
    printf("listening on http://127.0.0.1:%u\n",
           MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    serve(daemon, &waiting);
    MHD_stop_daemon(daemon);
    MHD_destroy_response(response);
    return 0;
}
