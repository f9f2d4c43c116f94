// The steps: requests to limits, and what their replies hold.
#include "limit_steps.h"

#include <time.h>

const char *name_path(const char *kind, const char *name)
{
    return TEXT("/v1/%s/%s", kind, name);
}

const char *key_path(const char *kind, const char *name, const char *key)
{
    return TEXT("/v1/%s/%s/%s", kind, name, key);
}

const char *declared(const char *kind, const char *configuration)
{
    const char *name = api_bucket();
    ck_status(PUT(name_path(kind, name), bytes_of(configuration)), 201);
    return name;
}

const char *rate_limit_key(const char *rate, int64_t burst)
{
    return key_path("rate-limits",
                    declared("rate-limits", TEXT("{\"rate\":\"%s\",\"burst\":%lld}", rate, (long long)burst)),
                    "k");
}

const char *quota_key(const char *windows)
{
    return key_path("quotas", declared("quotas", TEXT("{\"windows\":{%s}}", windows)), "k");
}

static struct answer *post_number(struct http_client *client, const char *path, const char *call,
                                  const char *member, int64_t n)
{
    return http(client, "POST", http_text(client, "%s/%s", path, call),
                bytes_of(http_text(client, "{\"%s\":%lld}", member, (long long)n)));
}

struct answer *allow_on(struct http_client *client, const char *path, int64_t n)
{
    return post_number(client, path, "allow", "n", n);
}

struct answer *refund_on(struct http_client *client, const char *path, int64_t n)
{
    return post_number(client, path, "refund", "n", n);
}

struct answer *add_on(struct http_client *client, const char *path, int64_t by)
{
    return post_number(client, path, "add", "by", by);
}

struct answer *check_on(struct http_client *client, const char *path, int64_t max, const char *window)
{
    return http(client, "POST", http_text(client, "%s/check", path),
                bytes_of(http_text(client, "{\"max\":%lld,\"window\":\"%s\"}", (long long)max, window)));
}

static int64_t number_of(const struct answer *answer, json_t *value)
{
    ck_reply(answer, json_is_integer(value));
    return json_integer_value(value);
}

static int64_t moment_of(const struct answer *answer, json_t *value)
{
    struct tm tm = {0};
    if (json_is_null(value))
        return -1;
    const char *text = json_string_value(value);
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S.", &tm) : NULL;
    ck_reply(answer, rest && strlen(rest) == 7 && rest[6] == 'Z');
    return timegm(&tm) * SECOND + strtol(rest, NULL, 10);
}

int64_t number_in(const struct answer *answer, const char *member)
{
    return number_of(answer, json_object_get(answer->json, member));
}

bool truth_in(const struct answer *answer, const char *member)
{
    json_t *value = json_object_get(answer->json, member);
    ck_reply(answer, json_is_boolean(value));
    return json_is_true(value);
}

int64_t moment_in(const struct answer *answer, const char *member)
{
    return moment_of(answer, json_object_get(answer->json, member));
}

static json_t *window_in(const struct answer *answer, const char *window, const char *member)
{
    return json_object_get(json_object_get(json_object_get(answer->json, "windows"), window), member);
}

int64_t window_number(const struct answer *answer, const char *window, const char *member)
{
    return number_of(answer, window_in(answer, window, member));
}

int64_t window_moment(const struct answer *answer, const char *window)
{
    return moment_of(answer, window_in(answer, window, "reset_at"));
}

void expect_granted(const struct answer *answer, int64_t left)
{
    ck_status(answer, 200);
    ck_reply(answer, truth_in(answer, "ok"));
    ck_reply(answer, number_in(answer, "left") == left);
    ck_reply(answer, moment_in(answer, "retry_at") == -1);
    ck_header(answer, "Retry-After", NULL);
}

int64_t expect_refused(const struct answer *answer, int64_t now, int64_t left)
{
    ck_status(answer, 200);
    ck_reply(answer, !truth_in(answer, "ok"));
    ck_reply(answer, number_in(answer, "left") == left);
    int64_t retry_at = moment_in(answer, "retry_at");
    ck_reply(answer, retry_at > now);
    ck_header(answer, "Retry-After", TEXT("%lld", (long long)((retry_at - now + SECOND - 1) / SECOND)));
    ck_header(answer, "Holdfast-Position", NULL);
    return retry_at;
}

int64_t use_up(const char *path)
{
    int64_t left = number_in(GET(path), "left");
    if (left > 0)
        expect_granted(ALLOW(path, left), 0);
    struct answer *more = ALLOW(path, 1);
    ck_reply(more, !truth_in(more, "ok"));
    return left;
}
