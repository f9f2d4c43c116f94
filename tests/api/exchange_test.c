// exchange: writes a value and answers the one before, in one write.
#include "entry_steps.h"

#include "support/parallel.h"

#include <stdatomic.h>

static const char *exchange_of(const char *path)
{
    return TEXT("%s/exchange", path);
}

START_TEST(exchange_answers_the_value_before)
{
    const char *path = api_entry(api_bucket(), "k");
    struct answer *first =
        POST(exchange_of(path), BODY("one"), "Content-Type: text/one", "Holdfast-Meta-A: 1");
    ck_status(first, 204);
    ck_header(first, "Holdfast-Previous-Version", NULL);
    struct answer *got = GET(path);
    ck_body(got, BODY("one"));
    ck_header(got, "Content-Type", "text/one");
    ck_header(got, "Holdfast-Meta-A", "1");
    ck_header(got, "ETag", tag_of(first));
    struct answer *second = POST(exchange_of(path), BODY("t\0\xFF"), "Holdfast-Meta-B: 2");
    ck_status(second, 200);
    ck_body(second, BODY("one"));
    ck_header(second, "Content-Type", "text/one");
    ck_header(second, "Holdfast-Meta-A", "1");
    ck_header(second, "Holdfast-Meta-B", NULL);
    ck_header(second, "Holdfast-Previous-Version", answer_version(first));
    ck_assert_str_ne(tag_of(second), tag_of(first));
    got = GET(path);
    ck_body(got, BODY("t\0\xFF"));
    ck_header(got, "Content-Type", "application/octet-stream");
    ck_header(got, "Holdfast-Meta-A", NULL);
    ck_header(got, "Holdfast-Meta-B", "2");
    ck_header(got, "ETag", tag_of(second));
    struct answer *third = POST(exchange_of(path), BODY(""));
    ck_body(third, BODY("t\0\xFF"));
    ck_header(third, "Holdfast-Previous-Version", answer_version(second));
    ck_body(POST(exchange_of(path), BODY("x")), BODY(""));
    ck_body(GET(path), BODY("x"));
}
END_TEST

START_TEST(exchange_of_large_values)
{
    const char *path = api_entry(api_bucket(), "k");
    size_t size = 3 << 20;
    char *a = malloc(size), *b = malloc(size);
    memset(a, 'a', size);
    memset(b, 'b', size);
    ck_status(POST(exchange_of(path), bytes_make(a, size)), 204);
    ck_body(POST(exchange_of(path), bytes_make(b, size - 1)), bytes_make(a, size));
    ck_body(POST(exchange_of(path), BODY("small")), bytes_make(b, size - 1));
    ck_body(POST(exchange_of(path), bytes_make(a, size)), BODY("small"));
    free(a);
    free(b);
}
END_TEST

START_TEST(exchange_keeps_to_the_buckets_type_and_size)
{
    const char *bucket = bucket_of_type("int");
    const char *path = api_entry(bucket, "k");
    ck_problem(POST(exchange_of(path), BODY("x")), 422, "type_mismatch");
    ck_status(GET(path), 404);
    ck_status(POST(exchange_of(path), BODY("5")), 204);
    ck_problem(POST(exchange_of(path), BODY("1.0")), 422, "type_mismatch");
    ck_body(POST(exchange_of(path), BODY("6")), BODY("5"));
    ck_status(DECLARE(bucket, "{\"type\":\"int\",\"max_value_bytes\":2}"), 200);
    ck_problem(POST(exchange_of(path), BODY("100")), 413, "too_large");
    ck_body(GET(path), BODY("6"));
}
END_TEST

// --- races
// ------------------------------------------------------------------------------------------------

enum { EXCHANGERS = 8, EXCHANGES = 15, VALUES = EXCHANGERS * EXCHANGES };

struct chain {
    const char *path;
    atomic_int seen[VALUES];
    atomic_int first, wrong;
};

static void exchange_values(size_t index, void *user)
{
    struct chain *chain = user;
    struct http_client *client = http_client_new(replica_url(index));
    for (int i = 0; i < EXCHANGES; i++) {
        const char *value = http_text(client, "%d", (int)index * EXCHANGES + i);
        struct answer *answer = http(client, "POST", chain->path, bytes_of(value));
        int before = answer->status == 200 ? atoi((const char *)answer->body.data) : -1;
        if (answer->status == 204)
            atomic_fetch_add(&chain->first, 1);
        else if (before < 0 || before >= VALUES)
            atomic_fetch_add(&chain->wrong, 1);
        else
            atomic_fetch_add(&chain->seen[before], 1);
    }
    http_client_free(client);
}

// Whatever the order, each value is answered once, to the one who replaced it; the last one stays.
START_TEST(every_value_is_exchanged_once)
{
    struct chain *chain = calloc(1, sizeof *chain);
    const char *path = api_entry(api_bucket(), "k");
    chain->path = exchange_of(path);
    parallel_run(EXCHANGERS, exchange_values, chain);
    ck_assert_int_eq(chain->wrong, 0);
    ck_assert_int_eq(chain->first, 1);
    chain->seen[atoi((const char *)GET(path)->body.data)]++;
    for (int i = 0; i < VALUES; i++)
        ck_assert_int_eq(chain->seen[i], 1);
    free(chain);
}
END_TEST

Suite *exchange_suite(void)
{
    const TTest *const tests[] = {
        exchange_answers_the_value_before,
        exchange_of_large_values,
        exchange_keeps_to_the_buckets_type_and_size,
        every_value_is_exchanged_once,
        NULL,
    };
    return api_suite_of_two("exchange", tests);
}
