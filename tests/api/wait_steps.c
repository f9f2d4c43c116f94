// Raw connections, since a test has many waits under way at once.
#include "wait_steps.h"

#include "support/clock.h"

struct raw *wait_begin(const struct service *service, const char *path, const char *headers)
{
    struct raw *raw = raw_connect(service_port(service));
    ck_assert(raw_text(raw, "GET %s HTTP/1.1\r\nHost: h\r\n%s\r\n", path, headers));
    return raw;
}

const char *wait_headers(const struct answer *answer, int seconds)
{
    return TEXT("If-None-Match: %s\r\nPrefer: wait=%d\r\n", answer_need(answer, "ETag"), seconds);
}

struct answer *wait_end(struct raw *raw)
{
    struct answer *answer = raw_read(raw, false, WAIT_PATIENCE);
    ck_assert_msg(answer != NULL, "no answer within %d ms", WAIT_PATIENCE);
    answer_check(answer);
    return answer;
}

struct cover {
    PGconn *connection;
    int64_t buckets;
};

static bool is_covered(void *user)
{
    struct cover *cover = user;
    return sql_number(
               cover->connection,
               "select count(distinct objid) from pg_locks where locktype = 'advisory' and granted and "
               "classid = 7240004 and mode = 'ShareLock' and database = "
               "(select oid from pg_database where datname = current_database())") == cover->buckets;
}

void wait_until_covered(PGconn *connection, int64_t buckets)
{
    ck_assert(clock_wait(is_covered, &(struct cover){connection, buckets}, WAIT_PATIENCE));
}
