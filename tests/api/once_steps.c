// Calls on keys of once, and callers who wait, on raw connections since a test has many at once.
#include "once_steps.h"

#include "support/clock.h"

#include <time.h>

const char *once_path(const char *name, const char *key)
{
    return TEXT("/v1/once/%s/%s", name, key);
}

const char *below(const char *path, const char *what, const char *token)
{
    const char *query = strchr(path, '?');
    int size = query ? (int)(query - path) : (int)strlen(path);
    const char *target = TEXT("%.*s/%s%s", size, path, what, query ? query : "");
    return token ? TEXT("%s%ctoken=%s", target, query ? '&' : '?', token) : target;
}

struct answer *begin_on(struct http_client *client, const char *path)
{
    return http(client, "POST", path, NO_BODY);
}

const char *run_token(const struct answer *answer)
{
    ck_status(answer, 201);
    const char *token = answer_text(answer, "token");
    ck_reply(answer, token && strspn(token, "0123456789") == strlen(token));
    return token;
}

const char *begun(const char *path)
{
    return run_token(BEGIN(path));
}

int64_t run_end_of(const struct answer *answer)
{
    const char *text = answer_text(answer, "run_expires_at");
    struct tm tm = {0};
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S.", &tm) : NULL;
    ck_reply(answer, rest && strlen(rest) == 7 && rest[6] == 'Z');
    return timegm(&tm) * SECOND + strtol(rest, NULL, 10);
}

void expect_kept(const struct answer *answer, struct bytes body)
{
    ck_status(answer, 200);
    ck_header(answer, "Holdfast-Once", "kept");
    ck_header(answer, "Holdfast-Position", NULL);
    ck_body(answer, body);
}

void expect_running(const struct answer *answer)
{
    ck_status(answer, 202);
    ck_reply(answer, run_end_of(answer) > 0 && json_object_size(answer->json) == 1);
    ck_header(answer, "Holdfast-Position", NULL);
    ck_header(answer, "Holdfast-Once", NULL);
}

struct raw *begin_waiting(const struct service *service, const char *path, int seconds)
{
    struct raw *raw = raw_connect(service_port(service));
    ck_assert(raw_text(raw, "POST %s HTTP/1.1\r\nHost: h\r\nPrefer: wait=%d\r\n\r\n", path, seconds));
    return raw;
}

struct answer *waited(struct raw *raw)
{
    struct answer *answer = raw_read(raw, false, ONCE_PATIENCE);
    ck_assert_msg(answer != NULL, "no answer within %d ms", ONCE_PATIENCE);
    answer_check(answer);
    return answer;
}

int64_t once_rows(PGconn *connection, const char *table, const char *name)
{
    return sql_number(connection,
                      "select count(*) from holdfast.%s t join holdfast.buckets b on b.id = t.bucket_id "
                      "where b.name = '%s'",
                      table, name);
}

struct told {
    PGconn *connection;
    int64_t sessions;
};

static bool is_told(void *user)
{
    struct told *told = user;
    return sql_number(told->connection,
                      "select count(distinct pid) from pg_locks where locktype = 'advisory' and granted and "
                      "classid = 7240004 and mode = 'ShareLock' and database = "
                      "(select oid from pg_database where datname = current_database())") >= told->sessions;
}

void wait_until_told(PGconn *connection, int64_t sessions)
{
    ck_assert(clock_wait(is_told, &(struct told){connection, sessions}, ONCE_PATIENCE));
}
