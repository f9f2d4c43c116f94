// The steps: requests about leases, and what their replies hold.
#include "lease_steps.h"

#include <time.h>

struct answer *acquire_on(struct http_client *client, const char *path, const char *holder, const char *ttl)
{
    return http(client, "POST", path,
                bytes_of(http_text(client, "{\"holder\":\"%s\",\"ttl\":\"%s\"}", holder, ttl)));
}

struct answer *renew_on(struct http_client *client, const char *path, const char *holder, const char *token,
                        const char *ttl)
{
    return http(client, "PUT", path,
                bytes_of(http_text(client, "{\"holder\":\"%s\",\"token\":\"%s\",\"ttl\":\"%s\"}", holder,
                                   token, ttl)));
}

struct answer *release_on(struct http_client *client, const char *path, const char *holder, const char *token)
{
    const char *mark = strchr(path, '?') ? "&" : "?";
    return http(client, "DELETE", http_text(client, "%s%sholder=%s&token=%s", path, mark, holder, token),
                NO_BODY);
}

const char *lease_path(const char *bucket, const char *key)
{
    return TEXT("/v1/buckets/%s/leases/%s", bucket, key);
}

static int64_t number_of(const struct answer *answer, const char *member)
{
    const char *text = answer_text(answer, member);
    ck_reply(answer, text && strspn(text, "0123456789") == strlen(text));
    return strtoll(text, NULL, 10);
}

int64_t token_of(const struct answer *grant)
{
    return number_of(grant, "token");
}

int64_t position_of(const struct answer *grant)
{
    return number_of(grant, "position");
}

void expect_released(const struct answer *answer, bool released)
{
    ck_status(answer, 200);
    ck_reply(answer, json_is_boolean(json_object_get(answer->json, "released")));
    ck_reply(answer, json_is_true(json_object_get(answer->json, "released")) == released);
}

int64_t expiry_of(const struct answer *grant)
{
    const char *text = answer_text(grant, "expires_at");
    struct tm tm = {0};
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S.", &tm) : NULL;
    ck_reply(grant, rest && strlen(rest) == 7 && rest[6] == 'Z');
    return timegm(&tm) * SECOND + strtol(rest, NULL, 10);
}
