// take: reads and deletes in one write, so that of any number of callers one gets the value.
#include "entry_steps.h"

#include "support/parallel.h"

#include <stdatomic.h>

static const char *take_of(const char *path)
{
    return TEXT("%s/take", path);
}

START_TEST(take_gives_what_get_would_and_removes)
{
    const char *path = api_entry(api_bucket(), "k");
    struct answer *put =
        PUT(TEXT("%s?ttl=1h", path), BODY("a\0b\xFF"), "Content-Type: text/x-own", "Holdfast-Meta-A: b");
    struct answer *taken = POST(take_of(path), NO_BODY);
    ck_status(taken, 200);
    ck_body(taken, BODY("a\0b\xFF"));
    ck_header(taken, "Content-Type", "text/x-own");
    ck_header(taken, "Holdfast-Meta-A", "b");
    ck_header(taken, "ETag", tag_of(put));
    ck_header(taken, "Holdfast-Expires-At", answer_need(put, "Holdfast-Expires-At"));
    ck_assert_int_gt(strtoll(answer_need(taken, "Holdfast-Position"), NULL, 10),
                     strtoll(answer_need(put, "Holdfast-Position"), NULL, 10));
    ck_problem(GET(path), 404, "not_found");
    struct answer *again = POST(take_of(path), NO_BODY);
    ck_problem(again, 404, "not_found");
    ck_header(again, "ETag", NULL);
    ck_header(again, "Holdfast-Position", NULL);
    struct answer *anew = PUT(path, BODY("x"));
    ck_status(anew, 201);
    ck_header(anew, "Holdfast-Expires-At", NULL);
}
END_TEST

START_TEST(take_of_what_never_was_is_404)
{
    const char *bucket = api_bucket();
    ck_problem(POST(take_of(api_entry(bucket, "k")), NO_BODY), 404, "not_found");
    ck_status(GET(TEXT("/v1/buckets/%s", bucket)), 404);
    ck_status(DECLARE(bucket, "{}"), 201);
    ck_problem(POST(take_of(api_entry(bucket, "k")), NO_BODY), 404, "not_found");
}
END_TEST

START_TEST(take_of_values_of_every_size)
{
    const char *bucket = api_bucket();
    static const size_t sizes[] = {0,       1,      16 << 10, (64 << 10) - 1, 64 << 10, (64 << 10) + 1,
                                   1 << 20, 8 << 20};
    char *bytes = malloc(8 << 20);
    for (size_t i = 0; i < 8 << 20; i++)
        bytes[i] = (char)(i * 31 >> 3);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *path = api_entry(bucket, TEXT("%zu", i));
        ck_status(PUT(path, bytes_make(bytes, sizes[i])), 201);
        struct answer *taken = POST(take_of(path), NO_BODY);
        ck_status(taken, 200);
        ck_assert_uint_eq(taken->body.size, sizes[i]);
        ck_assert(!sizes[i] || memcmp(taken->body.data, bytes, sizes[i]) == 0);
        ck_header(taken, "Content-Type", "application/octet-stream");
        ck_status(POST(take_of(path), NO_BODY), 404);
    }
    free(bytes);
}
END_TEST

START_TEST(take_if_match_takes_that_version_only)
{
    const char *path = api_entry(api_bucket(), "k");
    struct answer *old = PUT(path, BODY("v"));
    struct answer *put = PUT(path, BODY("w"));
    expect_conflict(POST(take_of(path), NO_BODY, if_match_of(old)), tag_of(put));
    ck_body(POST(take_of(path), NO_BODY, if_match_of(put)), BODY("w"));
    expect_conflict(POST(take_of(path), NO_BODY, if_match_of(put)), NULL);
}
END_TEST

// --- races
// ------------------------------------------------------------------------------------------------

enum { TAKERS = 64 };

struct race {
    const char *path;
    const char *value;
    atomic_int won, absent, other;
};

static void take_once(size_t index, void *user)
{
    struct race *race = user;
    struct http_client *client = http_client_new(replica_url(index));
    struct answer *taken = http(client, "POST", race->path, NO_BODY);
    bool won = taken->status == 200 && answer_is(taken, bytes_of(race->value));
    atomic_fetch_add(won ? &race->won : taken->status == 404 ? &race->absent : &race->other, 1);
    http_client_free(client);
}

START_TEST(one_taker_wins)
{
    for (int round = 0; round < 6; round++) {
        const char *path = api_entry(api_bucket(), "k");
        struct race race = {.path = take_of(path), .value = TEXT("%d", round)};
        ck_status(PUT(path, bytes_of(race.value)), 201);
        parallel_run(TAKERS, take_once, &race);
        ck_assert_int_eq(race.won, 1);
        ck_assert_int_eq(race.absent, TAKERS - 1);
        ck_status(GET(path), 404);
    }
}
END_TEST

// A value too large for the shared calls is taken by a call of its own, and by one caller all the same.
START_TEST(one_taker_of_a_large_value_wins)
{
    const char *path = api_entry(api_bucket(), "k");
    char *large = malloc((100 << 10) + 1);
    memset(large, 'x', 100 << 10);
    large[100 << 10] = 0;
    struct race race = {.path = take_of(path), .value = large};
    ck_status(PUT(path, bytes_of(large)), 201);
    parallel_run(TAKERS, take_once, &race);
    ck_assert_int_eq(race.won, 1);
    ck_assert_int_eq(race.absent, TAKERS - 1);
    free(large);
}
END_TEST

enum { PUTTERS = 4, HAND_OVERS = 40, HANDED = PUTTERS * HAND_OVERS };

struct hand_over {
    const char *path;
    atomic_int taken[HANDED];
    atomic_int left;
    atomic_int wrong;
};

// Puts each of its numbers into the one place as soon as it is free.
static void hand_in(size_t index, struct hand_over *hand_over, struct http_client *client)
{
    for (int i = 0; i < HAND_OVERS;) {
        const char *value = http_text(client, "%d", (int)index * HAND_OVERS + i);
        int status = http(client, "PUT", hand_over->path, bytes_of(value), "If-None-Match: *")->status;
        if (status != 201 && status != 412)
            atomic_fetch_add(&hand_over->wrong, 1);
        i += status != 412;
    }
}

static void take_out(struct hand_over *hand_over, struct http_client *client)
{
    const char *target = http_text(client, "%s/take", hand_over->path);
    while (atomic_load(&hand_over->left) > 0) {
        struct answer *taken = http(client, "POST", target, NO_BODY);
        if (taken->status == 404)
            continue;
        int number = taken->status == 200 ? atoi((const char *)taken->body.data) : -1;
        if (number < 0 || number >= HANDED) {
            atomic_fetch_add(&hand_over->wrong, 1);
            continue;
        }
        atomic_fetch_add(&hand_over->taken[number], 1);
        atomic_fetch_sub(&hand_over->left, 1);
    }
}

static void hand_over_or_take(size_t index, void *user)
{
    struct http_client *client = http_client_new(replica_url(index / 2));
    if (index < PUTTERS)
        hand_in(index, user, client);
    else
        take_out(user, client);
    http_client_free(client);
}

START_TEST(every_value_is_taken_once)
{
    struct hand_over *hand_over = calloc(1, sizeof *hand_over);
    hand_over->path = api_entry(api_bucket(), "k");
    hand_over->left = HANDED;
    parallel_run(2 * PUTTERS, hand_over_or_take, hand_over);
    ck_assert_int_eq(hand_over->wrong, 0);
    for (int i = 0; i < HANDED; i++)
        ck_assert_int_eq(hand_over->taken[i], 1);
    free(hand_over);
}
END_TEST

Suite *take_suite(void)
{
    const TTest *const tests[] = {
        take_gives_what_get_would_and_removes,
        take_of_what_never_was_is_404,
        take_of_values_of_every_size,
        take_if_match_takes_that_version_only,
        one_taker_wins,
        one_taker_of_a_large_value_wins,
        every_value_is_taken_once,
        NULL,
    };
    return api_suite_of_two("take", tests);
}
