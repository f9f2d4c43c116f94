// Requests broken at random, by the thousand, beside a healthy client that must notice nothing. With
// HOLDFAST_HOSTILE_SECONDS it goes on for so long.
#include "api.h"

#include "support/clock.h"
#include "support/parallel.h"
#include "support/random.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 4096, ATTACKERS = 3, SECONDS = 5, LOOK_MS = 30 };

static const char *const sound[] = {
    "GET /v1/buckets/b/entries/k HTTP/1.1\r\nHost: h\r\nIf-None-Match: \"5\"\r\nPrefer: wait=1\r\n\r\n",
    "PUT /v1/buckets/b/entries/a%2Fb?under=x&under=y&ttl=1m HTTP/1.1\r\nHost: h\r\nContent-Type: "
    "text/plain\r\n"
    "Holdfast-Meta-A: 1\r\nContent-Length: 5\r\n\r\nvalue",
    "PATCH /v1/buckets/b/entries/k HTTP/1.1\r\nHost: h\r\nIf-Match: *\r\nContent-Length: 24\r\n\r\n"
    "{\"a\":{\"b\":1e400,\"c\":[1]}}",
    "POST /v1/buckets/b/entries/n/add HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
    "chunked\r\n\r\n8\r\n{\"by\":3}\r\n0\r\n\r\n",
    "POST /v1/transactions HTTP/1.1\r\nHost: h\r\nContent-Length: 74\r\n\r\n"
    "{\"operations\":[{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"t\",\"value\":{\"a\":[1,2,3]}}]}",
    "POST /v1/buckets/b/leases/l HTTP/1.1\r\nHost: h\r\nIdempotency-Key: k1\r\nPrefer: "
    "wait=1\r\nContent-Length: 27\r\n\r\n"
    "{\"holder\":\"h\",\"ttl\":\"100ms\"}",
    "POST /v1/quotas/q/k/allow?enforce=true HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: "
    "7\r\n\r\n{\"n\":1}",
    "GET /v1/buckets/b/entries?limit=10&start=a&cursor=AAAA HTTP/1.1\r\nHost: h\r\n\r\n",
    "DELETE /v1/buckets/b/entries/k HTTP/1.1\r\nHost: h\r\nHoldfast-Session: s/1\r\n\r\n",
    "POST /v1/once/o/k HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
    "PUT /v1/forks/f HTTP/1.1\r\nHost: h\r\nContent-Length: 18\r\n\r\n{\"kind\":\"severed\"}",
};

static const char *const spices[] = {
    "\r\n",
    "\n",
    "\r\n\r\n",
    "\r\n ",
    ":",
    "%",
    "%00",
    "%2e%2e/",
    "/../",
    "//",
    "?",
    "&",
    "=",
    "#",
    "\"",
    "\\",
    "\\u0000",
    "\xff\xfe",
    "\xc0\x80",
    "9223372036854775808",
    "-1",
    "1e99999",
    "null",
    "[[[[[[[[",
    "{\"a\":",
    "]",
    "}",
    "Content-Length: 5\r\n",
    "Content-Length: -1\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip\r\n",
    "Connection: close\r\n",
    "Upgrade: h2c\r\n",
    "Host: i\r\n",
    "HTTP/1.0",
    "HTTP/2.0",
    "fffffffffffffffff\r\n",
    "If-Match: *\r\n",
    "Idempotency-Key: k1\r\n",
    "Prefer: wait=99999999999\r\n",
    "under=",
    "fork=f&",
    "ttl=1y&",
};

struct mutant {
    char data[ROOM];
    size_t size;
};

static void insert(struct mutant *mutant, size_t at, const char *data, size_t size)
{
    if (mutant->size + size > ROOM)
        return;
    memmove(mutant->data + at + size, mutant->data + at, mutant->size - at);
    memcpy(mutant->data + at, data, size);
    mutant->size += size;
}

static void mutate(struct mutant *mutant, struct random *random)
{
    size_t at = random_below(random, mutant->size + 1), span = 1 + random_below(random, 20);
    const char *spice;
    switch (random_below(random, 6)) {
    case 0: // a byte becomes another
        if (at < mutant->size)
            mutant->data[at] = (char)random_below(random, 256);
        break;
    case 1: // a piece goes
        span = span < mutant->size - at ? span : mutant->size - at;
        memmove(mutant->data + at, mutant->data + at + span, mutant->size - at - span);
        mutant->size -= span;
        break;
    case 2: { // a piece comes twice
        char piece[20];
        span = span < mutant->size - at ? span : mutant->size - at;
        span = span < sizeof piece ? span : sizeof piece;
        memcpy(piece, mutant->data + at, span);
        insert(mutant, random_below(random, mutant->size + 1), piece, span);
        break;
    }
    case 3:
    case 4: // something comes in between
        spice = spices[random_below(random, sizeof spices / sizeof spices[0])];
        insert(mutant, at, spice, spice[0] ? strlen(spice) : 1);
        break;
    case 5: // the rest does not come
        if (random_below(random, 4) == 0)
            mutant->size = at;
        break;
    }
}

static struct mutant mutant_new(struct random *random)
{
    struct mutant mutant = {.size = 0};
    for (size_t n = 1 + random_below(random, 2); n; n--) {
        const char *text = sound[random_below(random, sizeof sound / sizeof sound[0])];
        insert(&mutant, mutant.size, text, strlen(text));
    }
    for (size_t n = 1 + random_below(random, 4); n; n--)
        mutate(&mutant, random);
    return mutant;
}

struct attack {
    int64_t until;
    atomic_llong sent, answered, served;
    atomic_bool over;
};

static int dial(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(service_port(api.service))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_msg(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "the service is gone");
    return fd;
}

// What comes first of an answer, if any comes soon, is a status line, and no fault of the service's.
static void look_at_reply(int fd, struct attack *attack, const struct mutant *mutant)
{
    char reply[64];
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    if (poll(&watched, 1, LOOK_MS) <= 0)
        return;
    ssize_t size = recv(fd, reply, sizeof reply - 1, 0);
    if (size < 13)
        return;
    reply[size] = 0;
    atomic_fetch_add(&attack->answered, 1);
    ck_assert_msg(strncmp(reply, "HTTP/1.", 7) == 0 && strncmp(reply + 8, " 500", 4) != 0, "%.40s to %.*s",
                  reply, (int)mutant->size, mutant->data);
}

static void send_broken(struct random *random, struct attack *attack)
{
    struct mutant mutant = mutant_new(random);
    size_t sent = 0;
    int fd = dial();
    while (sent < mutant.size) { // in pieces, which end anywhere
        size_t piece =
            random_below(random, 3) ? mutant.size - sent : 1 + random_below(random, mutant.size - sent);
        if (send(fd, mutant.data + sent, piece, MSG_NOSIGNAL) < 0)
            break;
        sent += piece;
    }
    atomic_fetch_add(&attack->sent, 1);
    if (random_below(random, 4))
        look_at_reply(fd, attack, &mutant);
    struct linger reset = {.l_onoff = 1};
    if (random_below(random, 2))
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd);
}

static void attack_or_work(size_t index, void *user)
{
    struct attack *attack = user;
    if (index < ATTACKERS) {
        struct random random = random_seeded(random_run_seed(), 100 + index);
        while (clock_ms() < attack->until)
            send_broken(&random, attack);
        atomic_store(&attack->over, true);
        return;
    }
    struct http_client *client = http_client_new(service_url(api.service));
    for (int i = 0; !atomic_load(&attack->over); i++) {
        const char *value = http_text(client, "%d", i);
        ck_assert_int_eq(http(client, "PUT", "/v1/buckets/healthy/entries/k", bytes_of(value))->status,
                         i ? 204 : 201);
        ck_body(http(client, "GET", "/v1/buckets/healthy/entries/k", NO_BODY), bytes_of(value));
        atomic_fetch_add(&attack->served, 1);
    }
    http_client_free(client);
}

START_TEST(broken_requests_hurt_nobody)
{
    const char *seconds = getenv("HOLDFAST_HOSTILE_SECONDS");
    struct attack attack = {.until = clock_ms() + 1000 * (seconds ? atoi(seconds) : SECONDS)};
    ck_status(http(api.client, "PUT", "/v1/quotas/q", BODY("{\"windows\":{\"w\":\"1000/h\"}}")), 201);
    parallel_run(ATTACKERS + 1, attack_or_work, &attack);
    ck_assert_int_gt(attack.sent, 20);
    ck_assert_int_gt(attack.answered, 5);
    ck_assert_int_gt(attack.served, 5);
    ck_status(GET("/readyz"), 200);
}
END_TEST

Suite *hostile_suite(void)
{
    const TTest *const tests[] = {broken_requests_hurt_nobody, NULL};
    return api_suite("hostile", NULL, tests);
}
