// WAIT-4: what is told stays small enough and costs writers nothing, however much changes and whoever waits.
#include "entry_steps.h"
#include "wait_steps.h"

#include "support/parallel.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static void start_two(struct postgres *postgres)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    api.database = database_new(postgres, DATABASE_MIGRATED);
    const struct service_options options = {.database = api.database.url,
                                            .flags = (const char *const[]){"--log-level", "warn", NULL}};
    api.service = service_start(&options);
    api.twin = service_start(&options);
    api.client = http_client_new(service_url(api.service));
}

static void end_two(struct postgres *postgres)
{
    http_client_free(api.client);
    service_end(api.service);
    service_end(api.twin);
    database_drop(postgres, &api.database);
}

// How many lines of the server's log have the text.
static int lines_with(const struct postgres *postgres, const char *text)
{
    char line[4096];
    int count = 0;
    FILE *log = fopen(postgres_log(postgres), "r");
    ck_assert_ptr_nonnull(log);
    while (fgets(line, sizeof line, log))
        count += strstr(line, text) != NULL;
    fclose(log);
    return count;
}

// --- much changes at once ---------------------------------------------------------------------------------

enum { KEYS = 1000, KEY_BYTES = 1024 };

// A key of the greatest length, of bytes that SQL, JSON and URLs must escape.
static void make_key(uint8_t *key, int number)
{
    static const uint8_t awkward[] = {'\'', '\\', '"', '%', 0xff, 0xfe, '\n', '/', '?', 0x80};
    for (int i = 0; i < KEY_BYTES; i++)
        key[i] = awkward[(unsigned)(i + number) % sizeof awkward];
    key[0] = (uint8_t)('a' + number / 100);
    key[1] = (uint8_t)('a' + number / 10 % 10);
    key[2] = (uint8_t)('a' + number % 10);
}

static struct raw *wait_for_key(const struct service *service, const uint8_t *key)
{
    char text[3 * KEY_BYTES + 1];
    for (int i = 0; i < KEY_BYTES; i++)
        snprintf(text + (ptrdiff_t)(3 * i), 4, "%%%02X", key[i]);
    struct raw *raw = raw_connect(service_port(service));
    ck_assert(
        raw_text(raw, "GET /v1/buckets/b/entries/%s HTTP/1.1\r\nHost: h\r\nPrefer: wait=60\r\n\r\n", text));
    return raw;
}

static void add_base64(char **end, const uint8_t *bytes, int count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < count; i += 3) {
        unsigned long three = (unsigned long)bytes[i] << 16;
        three |= i + 1 < count ? (unsigned long)bytes[i + 1] << 8 : 0;
        three |= i + 2 < count ? bytes[i + 2] : 0;
        for (int j = 0; j < 4; j++)
            *(*end)++ = i + j <= count ? digits[three >> (18 - 6 * j) & 63] : '=';
    }
}

START_TEST(transaction_of_a_thousand_long_keys_wakes_every_waiter)
{
    static struct raw *waits[KEYS];
    static uint8_t keys[KEYS][KEY_BYTES];
    static char body[KEYS * (KEY_BYTES * 4 / 3 + 100)];
    start_two(api.postgres);
    int refused = lines_with(api.postgres, "payload string too long");
    PGconn *connection = database_connect(&api.database);
    ck_status(DECLARE("b", "{}"), 201);
    char *end = body + sprintf(body, "{\"operations\":[");
    for (int i = 0; i < KEYS; i++) {
        make_key(keys[i], i);
        end += sprintf(end, "%s{\"op\":\"put\",\"bucket\":\"b\",\"text\":\"%d\",\"key_base64\":\"",
                       i ? "," : "", i);
        add_base64(&end, keys[i], KEY_BYTES);
        end += sprintf(end, "\"}");
    }
    end += sprintf(end, "]}");
    for (int i = 0; i < KEYS; i++)
        waits[i] = wait_for_key(i % 2 ? api.twin : api.service, keys[i]);
    wait_until_covered(connection, 1);
    ck_assert(raw_silent(waits[KEYS - 1], 300));
    ck_status(http(api.client, "POST", "/v1/transactions", bytes_make(body, (size_t)(end - body))), 200);
    for (int i = 0; i < KEYS; i++) {
        ck_body(wait_end(waits[i]), bytes_of(TEXT("%d", i)));
        raw_close(waits[i]);
    }
    ck_assert_int_eq(lines_with(api.postgres, "payload string too long"), refused);
    PQfinish(connection);
    end_two(api.postgres);
}
END_TEST

// --- many write at once -----------------------------------------------------------------------------------

enum { WRITERS = 64, WRITES = 25 };

static void write_alone(size_t index, void *user)
{
    (void)user;
    struct http_client *client = http_client_new(replica_url(index));
    for (int i = 0; i < WRITES; i++) {
        struct answer *put =
            http(client, "PUT", http_text(client, "/v1/buckets/own-%zu/entries/k", index), BODY("v"));
        ck_reply(put, answer_->status == 201 || answer_->status == 204);
    }
    http_client_free(client);
}

// PostgreSQL's lock for notifying, which whoever notifies holds until its commit is on the disk.
#define NOTIFYING_LOCK "on object 0 of class 1262"

// Commits take long here, and every wait of a millisecond is logged, so that the second half, in which every
// write notifies, shows what the first must not have.
START_TEST(writers_do_not_wait_for_each_other_to_notify)
{
    struct postgres *slow = postgres_new(&(struct postgres_options){
        .durable = true,
        .settings =
            "log_lock_waits = on\ndeadlock_timeout = 1ms\ncommit_delay = 5000\ncommit_siblings = 0\n"});
    start_two(slow);
    parallel_run(WRITERS, write_alone, NULL);
    ck_assert_int_eq(lines_with(slow, NOTIFYING_LOCK), 0);
    PGconn *connection = database_connect(&api.database);
    sql_run(
        connection,
        "create or replace function holdfast.announce(names text[], which smallint[], paths bytea[], topic "
        "text) returns boolean language sql as $$ select bool_or(holdfast.notify_waiters(n.name, "
        "n.i::smallint, $2, $3, $4)) from unnest($1) with ordinality n(name, i) $$");
    parallel_run(WRITERS, write_alone, NULL);
    ck_assert_int_gt(lines_with(slow, NOTIFYING_LOCK), 0);
    PQfinish(connection);
    end_two(slow);
    postgres_free(slow);
}
END_TEST

Suite *announce_load_suite(void)
{
    const TTest *const tests[] = {
        transaction_of_a_thousand_long_keys_wakes_every_waiter,
        writers_do_not_wait_for_each_other_to_notify,
        NULL,
    };
    return api_suite_bare("announce_load", tests);
}
