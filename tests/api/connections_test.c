// HTTP-5: connections by the thousand, idle, slow, half open, beyond every limit; none may cost the others
// anything.
#include "api.h"

#include "support/clock.h"
#include "support/process.h"
#include "support/raw.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE = 20 * 1000 };

static void start_own(const char *const *flags, unsigned descriptors)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(
        &(struct service_options){.database = api.database.url, .flags = flags, .descriptors = descriptors});
    api.client = http_client_new(service_url(api.service));
}

static void end_own(void)
{
    http_client_free(api.client);
    service_end(api.service);
    database_drop(api.postgres, &api.database);
}

static struct raw *connect_raw(void)
{
    return raw_connect(service_port(api.service));
}

static void ask(struct raw *raw, const char *path)
{
    ck_assert(raw_text(raw, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path));
}

static bool serves_entries(void *user)
{
    (void)user;
    struct http_client *client = http_client_new(service_url(api.service));
    struct answer *answer =
        http_try(client, "PUT", "/v1/buckets/b/entries/k", BODY("v"), (const char *const[]){NULL}, 5000);
    bool serves = answer && answer->status < 300;
    http_client_free(client);
    return serves;
}

START_TEST(idle_connections_are_closed)
{
    enum { LIMIT = 20 };
    struct raw *idle[LIMIT];
    start_own((const char *const[]){"--max-connections", "20", "--idle-timeout", "1s", NULL}, 0);
    for (int i = 0; i < LIMIT; i++) {
        idle[i] = connect_raw();
        ask(idle[i], "/livez");
        ck_status(raw_read(idle[i], false, PATIENCE), 200);
    }
    // Full: health still answers, everything else says so quickly.
    int64_t start = clock_ms();
    ck_status(GET("/livez"), 200);
    ck_status(GET("/readyz"), 200);
    struct raw *surplus = connect_raw();
    ask(surplus, "/v1/buckets");
    struct answer *refused = raw_read(surplus, false, PATIENCE); // NULL: closed, which is an answer too
    ck_assert_int_lt(clock_ms() - start, 5000);
    if (refused) {
        ck_problem(refused, 503, "unavailable");
        ck_header(refused, "Connection", "close");
    }
    raw_close(surplus);
    for (int i = 0; i < LIMIT; i++) {
        ck_assert(raw_closes(idle[i], 10 * 1000));
        raw_close(idle[i]);
    }
    ck_assert(clock_wait(serves_entries, NULL, PATIENCE));
    end_own();
}
END_TEST

START_TEST(full_service_says_so)
{
    enum { LIMIT = 10, MORE = 200 };
    struct raw *open[LIMIT], *more[MORE];
    start_own((const char *const[]){"--max-connections", "10", NULL}, 0);
    for (int i = 0; i < LIMIT; i++) {
        open[i] = connect_raw();
        ask(open[i], "/livez");
        ck_status(raw_read(open[i], false, PATIENCE), 200);
    }
    int told = 0;
    for (int i = 0; i < MORE; i++) {
        more[i] = connect_raw();
        raw_text(more[i], "GET /v1/buckets HTTP/1.1\r\nHost: h\r\n\r\n");
    }
    for (int i = 0; i < MORE; i++) {
        struct answer *answer = raw_read(more[i], false, PATIENCE); // NULL: closed, which is quick too
        told += answer && answer->status == 503;
        ck_assert(!answer || answer->status == 503);
        raw_close(more[i]);
    }
    ck_assert_int_gt(told, 0);
    for (int i = 0; i < LIMIT; i++) {
        ask(open[i], "/v1/buckets"); // who was in before the limit is served as ever
        ck_status(raw_read(open[i], false, PATIENCE), 200);
        raw_close(open[i]);
    }
    ck_assert(clock_wait(serves_entries, NULL, PATIENCE));
    end_own();
}
END_TEST

// Sends a byte now and then until the service has had enough; gives how long it took, in milliseconds.
static int64_t drip(struct raw *raw, const char *bytes)
{
    int64_t start = clock_ms();
    for (const char *c = bytes; clock_ms() - start < PATIENCE; c = c[1] ? c + 1 : c) {
        if (!raw_send(raw, bytes_make(c, 1)) || raw_closes(raw, 50))
            return clock_ms() - start;
    }
    return PATIENCE;
}

START_TEST(slow_clients_are_cut_off)
{
    start_own((const char *const[]){"--header-timeout", "500ms", "--body-timeout", "700ms", "--idle-timeout",
                                    "2s", NULL},
              0);
    struct raw *header = connect_raw();
    int64_t took =
        drip(header,
             "GET /livez HTTP/1.1\r\nHost: h\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    ck_assert_int_lt(took, 5000);
    ck_assert_int_ge(took, 400);
    raw_close(header);
    struct raw *body = connect_raw();
    raw_text(body, "PUT /v1/buckets/b/entries/slow HTTP/1.1\r\nHost: h\r\nContent-Length: 10000\r\n\r\n");
    took = drip(body, "b");
    ck_assert_int_lt(took, 5000);
    ck_assert_int_ge(took, 500);
    raw_close(body);
    struct raw *chunks = connect_raw();
    raw_text(chunks,
             "PUT /v1/buckets/b/entries/slow HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    ck_assert_int_lt(
        drip(chunks, "1\r\na\r\n1\r\nb\r\n1\r\nc\r\n000000000000000000000000000000000000000000000000"), 5000);
    raw_close(chunks);
    struct raw *silent = connect_raw();
    ck_assert(raw_closes(silent, 5000));
    raw_close(silent);
    ck_status(GET("/v1/buckets/b/entries/slow"), 404);
    end_own();
}
END_TEST

// A large body on a slow line is no attack: it may take as long as it keeps coming.
START_TEST(steady_uploads_are_not_cut_off)
{
    enum { PIECE = 32 << 10, PIECES = 24 };
    start_own((const char *const[]){"--body-timeout", "500ms", NULL}, 0);
    char *piece = calloc(1, PIECE);
    struct raw *raw = connect_raw();
    raw_text(raw, "PUT /v1/buckets/b/entries/k HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n",
             PIECE * PIECES);
    for (int i = 0; i < PIECES; i++) {
        ck_assert(raw_send(raw, bytes_make(piece, PIECE)));
        clock_pause(60);
    }
    struct answer *put = raw_read(raw, false, PATIENCE);
    ck_assert_ptr_nonnull(put);
    ck_status(put, 201);
    raw_close(raw);
    free(piece);
    end_own();
}
END_TEST

static int open_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir(TEXT("/proc/%d/fd", (int)service_pid(api.service)));
    ck_assert_ptr_nonnull(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static bool descriptors_are_back(void *user)
{
    return open_descriptors() <= *(int *)user + 2;
}

// A reader that stops reading is cut off, and nobody else waits for it.
START_TEST(readers_that_stop_are_cut_off)
{
    enum { SIZE = 8 << 20, READERS = 8 };
    struct raw *readers[READERS];
    start_own((const char *const[]){"--idle-timeout", "1s", NULL}, 0);
    char *value = calloc(1, SIZE);
    ck_status(PUT("/v1/buckets/b/entries/large", bytes_make(value, SIZE)), 201);
    free(value);
    int before = open_descriptors();
    for (int i = 0; i < READERS; i++) {
        int small = 4096;
        readers[i] = connect_raw();
        setsockopt(raw_fd(readers[i]), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        ask(readers[i], "/v1/buckets/b/entries/large");
    }
    for (int i = 0; i < 20; i++)
        ck_status(PUT("/v1/buckets/b/entries/k", BODY("v")), i ? 204 : 201);
    ck_assert(clock_wait(descriptors_are_back, &before, PATIENCE));
    for (int i = 0; i < READERS; i++)
        raw_close(readers[i]);
    end_own();
}
END_TEST

// --- many -------------------------------------------------------------------------------------------------

static void raise_limit(rlim_t wanted)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_msg(limit.rlim_max > wanted, "the limit of open files is too low for this test");
}

// Opens `count` connections and has each answered, a few times round.
static void serve_many(int count)
{
    struct raw **open = calloc((size_t)count, sizeof(struct raw *));
    for (int i = 0; i < count; i++)
        open[i] = connect_raw();
    for (int round = 0; round < 2; round++) {
        int64_t start = clock_ms();
        for (int i = 0; i < count; i++)
            ask(open[i], i % 2 ? "/v1/buckets/b/entries/k" : "/livez");
        for (int i = 0; i < count; i++) {
            struct answer *answer = raw_read(open[i], false, PATIENCE);
            ck_assert_ptr_nonnull(answer);
            ck_status(answer, 200);
        }
        ck_assert_int_lt(clock_ms() - start, PATIENCE);
    }
    for (int i = 0; i < count; i++)
        raw_close(open[i]);
    free(open);
}

START_TEST(five_thousand_connections)
{
    raise_limit(6000);
    start_own((const char *const[]){"--log-level", "warn", NULL}, 0);
    ck_status(PUT("/v1/buckets/b/entries/k", BODY("v")), 201);
    static const int counts[] = {64, 127, 128, 129, 256, 1000, 5000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        serve_many(counts[i]);
    // One request at a time on a fresh connection is as quick as ever.
    int64_t start = clock_ms();
    for (int i = 0; i < 50; i++) {
        struct raw *raw = connect_raw();
        ask(raw, "/v1/buckets/b/entries/k");
        ck_status(raw_read(raw, false, PATIENCE), 200);
        raw_close(raw);
    }
    ck_assert_int_lt(clock_ms() - start, 5000);
    end_own();
}
END_TEST

// Out of descriptors: it waits without burning time, and goes on when there are some again.
START_TEST(few_descriptors)
{
    enum { MANY = 400 };
    int open[MANY];
    start_own(NULL, 256);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(service_port(api.service))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < MANY; i++) {
        open[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(connect(open[i], (struct sockaddr *)&address, sizeof address), 0);
    }
    long before = process_cpu_ms(service_pid(api.service));
    int64_t start = clock_ms();
    clock_pause(1000);
    ck_assert_int_lt(process_cpu_ms(service_pid(api.service)) - before, (clock_ms() - start) / 3);
    for (int i = 0; i < MANY; i++)
        close(open[i]);
    ck_assert(clock_wait(serves_entries, NULL, PATIENCE));
    ck_assert(service_wait_ready(api.service, PATIENCE));
    end_own();
}
END_TEST

START_TEST(connections_leave_nothing_behind)
{
    start_own((const char *const[]){"--log-level", "warn", NULL}, 0);
    ck_assert(serves_entries(NULL));
    int before = open_descriptors();
    for (int i = 0; i < 2000; i++) {
        struct raw *raw = connect_raw();
        raw_text(raw, i % 3 == 0 ? "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n"
                      : i % 3 == 1
                          ? "PUT /v1/buckets/b/entries/k HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf"
                          : "GET /v1/buckets/b/entries/k HTTP/1.1\r\nHost: h\r\n\r\n");
        raw_abort(raw);
    }
    ck_assert(clock_wait(serves_entries, NULL, PATIENCE));
    ck_assert(clock_wait(descriptors_are_back, &before, PATIENCE));
    end_own();
}
END_TEST

Suite *connections_suite(void)
{
    const TTest *const tests[] = {
        idle_connections_are_closed,
        full_service_says_so,
        slow_clients_are_cut_off,
        steady_uploads_are_not_cut_off,
        readers_that_stop_are_cut_off,
        five_thousand_connections,
        few_descriptors,
        connections_leave_nothing_behind,
        NULL,
    };
    return api_suite_bare("connections", tests);
}
