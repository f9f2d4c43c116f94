// HTTP-5: connections by the thousand, idle, slow, half open, beyond every limit; none may cost the others
// anything.
#include "api.h"

#include "support/clock.h"
#include "support/parallel.h"
#include "support/process.h"
#include "support/raw.h"

#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
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

START_TEST(one_address_has_its_share)
{
    enum { LIMIT = 8 };
    struct raw *held[LIMIT];
    start_own((const char *const[]){"--max-connections-per-address", "8", "--workers", "2", NULL}, 0);
    for (int i = 0; i < LIMIT; i++) {
        held[i] = connect_raw();
        ask(held[i], "/v1/buckets");
        ck_assert_int_eq(raw_read(held[i], false, PATIENCE)->status, 200);
    }
    for (int i = 0; i < 3; i++) {
        struct raw *more = connect_raw();
        ask(more, "/v1/buckets");
        struct answer *answer = raw_read(more, false, PATIENCE);
        ck_problem(answer, 503, "unavailable");
        ck_assert_ptr_nonnull(strstr(answer_text(answer, "detail"), "this address"));
        ck_assert(raw_closes(more, PATIENCE));
        raw_close(more);
    }
    ck_status(GET("/livez"), 200); // what watches over the service comes from somewhere too
    for (int i = 0; i < LIMIT; i++)
        raw_close(held[i]);
    ck_assert(clock_wait(serves_entries, NULL, PATIENCE));
    end_own();
}
END_TEST

enum { LORISES = 2000 };

struct lorises {
    struct raw *all[LORISES];
    atomic_bool done;
    atomic_int served;
};

// The first thread lets every slow client send one more byte, over and over; the other is a normal client.
static void drip_or_work(size_t index, void *user)
{
    struct lorises *lorises = user;
    if (index) {
        struct http_client *client = http_client_new(service_url(api.service));
        for (; !atomic_load(&lorises->done); atomic_fetch_add(&lorises->served, 1)) {
            struct answer *put = http(client, "PUT", "/v1/buckets/b/entries/k", BODY("v"));
            ck_assert_int_eq(put->status / 100, 2);
            ck_assert_int_eq(http(client, "GET", "/v1/buckets/b/entries/k", NO_BODY)->status, 200);
        }
        http_client_free(client);
        return;
    }
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < LORISES; i++)
            raw_send(lorises->all[i], BODY("a"));
        clock_pause(200);
    }
    atomic_store(&lorises->done, true);
}

START_TEST(two_thousand_slow_clients)
{
    static struct lorises lorises;
    start_own((const char *const[]){"--header-timeout", "3s", NULL}, 0);
    for (int i = 0; i < LORISES; i++) {
        lorises.all[i] = connect_raw();
        raw_text(lorises.all[i], "GET /livez HTTP/1.1\r\nHost: h\r\nX-Slow: ");
    }
    parallel_run(2, drip_or_work, &lorises);
    ck_assert_int_gt(lorises.served, 10);
    for (int i = 0; i < LORISES; i += 97) {
        ck_assert(raw_closes(lorises.all[i], PATIENCE));
    }
    for (int i = 0; i < LORISES; i++)
        raw_close(lorises.all[i]);
    end_own();
}
END_TEST

// Bodies that never end fill the memory for bodies, and nothing else.
START_TEST(bodies_have_a_bound_together)
{
    enum { UPLOADS = 12, MIB = 1 << 20 };
    struct raw *held[UPLOADS];
    char *piece = malloc(7 * MIB);
    memset(piece, 'x', 7 * MIB);
    start_own((const char *const[]){"--max-body-memory", "64m", NULL}, 0);
    for (int i = 0; i < UPLOADS; i++) {
        held[i] = connect_raw();
        raw_text(held[i], "PUT /v1/buckets/b/entries/%d HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", i,
                 8 * MIB);
        raw_send(held[i], bytes_make(piece, 7 * MIB));
    }
    ck_problem(PUT("/v1/buckets/b/entries/k", bytes_make(piece, 2 * MIB)), 503, "unavailable");
    ck_status(GET("/v1/buckets"), 200);
    for (int i = 0; i < UPLOADS; i++)
        raw_abort(held[i]);
    ck_assert(clock_wait(serves_entries, NULL, PATIENCE));
    ck_status(PUT("/v1/buckets/b/entries/large", bytes_make(piece, 7 * MIB)), 201);
    free(piece);
    end_own();
}
END_TEST

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

// Whatever a write needs outlives its connection: clients send one, and leave while it waits its turn.
START_TEST(clients_that_leave_before_their_write)
{
    enum { WRITES = 600 };
    start_own((const char *const[]){"--log-level", "warn", NULL}, 0);
    ck_assert(serves_entries(NULL));
    PGconn *holder = database_connect(&api.database);
    int before = open_descriptors();
    sql_run(holder, "begin");
    sql_run(holder, "select holdfast.lock_names(array['held'])");
    for (int i = 0; i < WRITES; i++) {
        struct raw *raw = connect_raw();
        raw_text(raw,
                 "PUT /v1/buckets/held/entries/%d?persist=true HTTP/1.1\r\nHost: h\r\n"
                 "Content-Type: text/plain\r\nHoldfast-Meta-Note: n\r\nContent-Length: 1\r\n\r\nv",
                 i);
        usleep((useconds_t)(i % 10) * 300); // before, while and after it is read
        raw_abort(raw);
    }
    sql_run(holder, "commit");
    ck_assert(clock_wait(serves_entries, NULL, PATIENCE));
    ck_assert(clock_wait(descriptors_are_back, &before, PATIENCE));
    // What was written was written as it was asked for, and nowhere else.
    ck_assert_int_eq(
        sql_number(holder, "select count(*) from holdfast.buckets where name not in ('b', 'held')"), 0);
    ck_assert_int_eq(sql_number(holder,
                                "select count(*) from holdfast.entries e join holdfast.buckets b on b.id = "
                                "e.bucket_id where name = 'held' and (value <> 'v' or content_type <> "
                                "'text/plain' or metadata <> E'note:n\\n')"),
                     0);
    PQfinish(holder);
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

// The part of a request and the end of the stream reach the service together, which its library takes for the
// part alone. The time-outs are far longer than the test waits.
START_TEST(part_of_a_request_and_gone)
{
    enum { EACH = 8 };
    static const char *const parts[] = {
        "GET /li",
        "GET /livez HTTP/1.1\r\nHost: h\r\nX: y",
        "PUT /v1/buckets/b/entries/k HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf",
        "PUT /v1/buckets/b/entries/k HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
    };
    enum { PARTS = sizeof parts / sizeof parts[0] };
    struct raw *open[PARTS * EACH];
    start_own(
        (const char *const[]){"--header-timeout", "1h", "--body-timeout", "1h", "--idle-timeout", "1h", NULL},
        0);
    ck_assert(serves_entries(NULL));
    int before = open_descriptors();
    for (int i = 0; i < PARTS * EACH; i++) {
        open[i] = connect_raw();
        if (i / PARTS % 2) { // half of them were served before
            ask(open[i], "/livez");
            ck_status(raw_read(open[i], false, PATIENCE), 200);
        }
    }
    ck_assert_int_eq(kill(service_pid(api.service), SIGSTOP), 0);
    for (int i = 0; i < PARTS * EACH; i++) {
        ck_assert(raw_text(open[i], "%s", parts[i % PARTS]));
        raw_close(open[i]);
    }
    ck_assert_int_eq(kill(service_pid(api.service), SIGCONT), 0);
    ck_assert(clock_wait(descriptors_are_back, &before, PATIENCE));
    end_own();
}
END_TEST

// A whole request is answered although its client has ended its side of the stream long before.
START_TEST(half_closed_client_that_waits)
{
    enum { SIZE = 1 << 20 };
    start_own(NULL, 0);
    ck_assert(serves_entries(NULL));
    PGconn *connection = database_connect(&api.database);
    sql_run(connection, "begin; lock table holdfast.entries");
    char *value = calloc(1, SIZE);
    struct raw *raw = connect_raw();
    raw_text(raw, "PUT /v1/buckets/b/entries/k HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", SIZE);
    raw_send(raw, bytes_make(value, SIZE));
    raw_shutdown(raw);
    ck_assert(raw_silent(raw, 600)); // longer than two looks at it
    sql_run(connection, "commit");
    ck_status(raw_read(raw, false, PATIENCE), 204);
    raw_close(raw);
    free(value);
    PQfinish(connection);
    end_own();
}
END_TEST

Suite *connections_suite(void)
{
    const TTest *const tests[] = {
        idle_connections_are_closed,
        full_service_says_so,
        one_address_has_its_share,
        two_thousand_slow_clients,
        bodies_have_a_bound_together,
        slow_clients_are_cut_off,
        steady_uploads_are_not_cut_off,
        readers_that_stop_are_cut_off,
        five_thousand_connections,
        few_descriptors,
        clients_that_leave_before_their_write,
        connections_leave_nothing_behind,
        part_of_a_request_and_gone,
        half_closed_client_that_waits,
        NULL,
    };
    return api_suite_bare("connections", tests);
}
