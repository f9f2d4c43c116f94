// The steps: one connection each, and the database asked who is in the queue.
#include "queue_steps.h"

#include "support/clock.h"
#include "support/parallel.h"

struct raw *queue_with(const struct service *service, const char *path, const char *holder, const char *ttl,
                       const char *prefer)
{
    const char *body = TEXT("{\"holder\":\"%s\",\"ttl\":\"%s\"}", holder, ttl);
    struct raw *raw = raw_connect(service_port(service));
    ck_assert(raw_text(raw,
                       "POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nPrefer: %s\r\n"
                       "Content-Length: %zu\r\n\r\n%s",
                       path, prefer, strlen(body), body));
    return raw;
}

struct raw *queue_up(const struct service *service, const char *path, const char *holder, const char *ttl,
                     int seconds)
{
    return queue_with(service, path, holder, ttl, TEXT("wait=%d", seconds));
}

struct places {
    PGconn *connection;
    const char *bucket;
    int64_t count;
};

static bool are_there(void *user)
{
    struct places *places = user;
    return sql_number(
               places->connection,
               "select count(*) from holdfast.lease_waiters w join holdfast.buckets b on b.id = w.bucket_id "
               "where b.name = '%s'",
               places->bucket) == places->count;
}

void expect_places(PGconn *connection, const char *bucket, int64_t count)
{
    ck_assert_msg(clock_wait(are_there, &(struct places){connection, bucket, count}, WAIT_PATIENCE),
                  "there are not %lld places", (long long)count);
}

struct answer *expect_grant(struct raw *raw, const char *holder)
{
    struct answer *grant = wait_end(raw);
    ck_status(grant, 201);
    ck_assert_pstr_eq(answer_text(grant, "holder"), holder);
    return grant;
}

void crowd_enter(struct crowd *crowd, const struct answer *grant)
{
    ck_status(grant, 201);
    int inside = atomic_fetch_add(&crowd->inside, 1) + 1;
    if (inside > atomic_load(&crowd->most_inside))
        atomic_store(&crowd->most_inside, inside);
}

void crowd_leave(struct crowd *crowd, struct http_client *client, const struct answer *grant)
{
    atomic_fetch_add(&crowd->served, 1);
    atomic_fetch_sub(&crowd->inside, 1);
    expect_released(release_on(client, crowd->path, "A", answer_text(grant, "token")), true);
}

void expect_served_alone(struct crowd *crowd, const char *bucket, size_t racers,
                         void (*hold)(size_t index, void *crowd))
{
    PGconn *connection = database_connect(&api.database);
    parallel_run(racers, hold, crowd);
    ck_assert_int_eq(crowd->served, (int)racers * crowd->turns);
    ck_assert_int_eq(crowd->most_inside, 1);
    expect_places(connection, bucket, 0);
    ck_status(GET(crowd->path), 404);
    PQfinish(connection);
}
