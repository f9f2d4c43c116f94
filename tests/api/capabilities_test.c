// What the service says of itself is what it does: its switches refuse or answer, and its limits are those
// that refusals name.
#include "sealed_steps.h"

#include <stdio.h>

static bool offered(const struct answer *answer, const char *name)
{
    json_t *value = json_object_get(json_object_get(answer->json, "capabilities"), name);
    ck_reply(answer, json_is_boolean(value));
    return json_is_true(value);
}

static int64_t limit_of(const struct answer *answer, const char *name)
{
    json_t *value = json_object_get(json_object_get(answer->json, "limits"), name);
    ck_reply(answer, json_is_integer(value));
    return json_integer_value(value);
}

static const char *limit_text(const struct answer *answer, const char *name)
{
    json_t *value = json_object_get(json_object_get(answer->json, "limits"), name);
    ck_reply(answer, json_is_string(value));
    return json_string_value(value);
}

static const char *filled(char byte, int64_t size)
{
    char *text = malloc((size_t)size + 1);
    ck_assert_ptr_nonnull(text);
    memset(text, byte, (size_t)size);
    text[size] = 0;
    const char *result = TEXT("%s", text);
    free(text);
    return result;
}

// `{"<member>":[<item>,<item>,…]}`
static struct bytes repeated(const char *member, const char *item, int64_t times)
{
    size_t size = strlen(item) + 1;
    char *list = malloc((size_t)times * size + 1);
    ck_assert_ptr_nonnull(list);
    for (int64_t i = 0; i < times; i++)
        snprintf(list + (size_t)i * size, size + 1, "%s,", item);
    list[(size_t)times * size - 1] = 0;
    const char *result = TEXT("{\"%s\":[%s]}", member, list);
    free(list);
    return bytes_of(result);
}

START_TEST(switches_are_told)
{
    struct answer *plain = GET("/v1/capabilities");
    ck_status(plain, 200);
    ck_header(plain, "Content-Type", "application/json");
    ck_assert_str_eq(answer_text(plain, "version"), HOLDFAST_VERSION);
    ck_assert(!offered(plain, "encryption"));
    ck_problem(DECLARE(api_bucket(), "{\"encrypted\":true}"), 501, "unsupported");
    ck_assert(!offered(plain, "metrics"));
    ck_status(GET("/metrics"), 404);
    ck_assert(offered(plain, "ui"));
    ck_status(GET("/ui"), 200);
    ck_assert_str_eq(limit_text(plain, "lease_ttl"), "1d");
}
END_TEST

START_TEST(switches_are_told_the_other_way)
{
    const char *const *keys = sealed_flags();
    const char *const flags[] = {keys[0], keys[1], "--metrics", "--no-ui", "--max-lease-ttl", "90m", NULL};
    struct service *service =
        service_start(&(struct service_options){.database = api.database.url, .flags = flags});
    struct http_client *client = http_client_new(service_url(service));
    struct answer *answer = http(client, "GET", "/v1/capabilities", NO_BODY);
    ck_status(answer, 200);
    ck_assert(offered(answer, "encryption"));
    ck_assert(offered(answer, "metrics"));
    ck_assert(!offered(answer, "ui"));
    ck_assert_str_eq(limit_text(answer, "lease_ttl"), "90m");
    http_client_free(client);
    service_end(service);
}
END_TEST

START_TEST(limits_are_those_that_refuse)
{
    struct answer *told = GET("/v1/capabilities");
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
    int64_t most = limit_of(told, "name_bytes");
    ck_status(DECLARE(filled('n', most), "{}"), 201);
    ck_invalid(DECLARE(filled('n', most + 1), "{}"), "bucket");

    most = limit_of(told, "key_bytes");
    ck_status(PUT(api_entry(bucket, filled('k', most)), BODY("v")), 201);
    ck_over_limit(PUT(api_entry(bucket, filled('k', most + 1)), BODY("v")), 413, "too_large", most);

    most = limit_of(told, "value_bytes");
    char *value = calloc(1, (size_t)most + 1);
    ck_status(PUT(path, bytes_make(value, (size_t)most)), 201);
    ck_over_limit(PUT(path, bytes_make(value, (size_t)most + 1)), 413, "too_large", most);
    free(value);

    most = limit_of(told, "content_type_bytes");
    ck_over_limit(PUT(path, BODY("v"), TEXT("Content-Type: a/%s", filled('b', most - 1))), 413, "too_large",
                  most);
    most = limit_of(told, "metadata_bytes");
    ck_over_limit(PUT(path, BODY("v"), TEXT("Holdfast-Meta-a: %s", filled('b', most))), 413, "too_large",
                  most);

    most = limit_of(told, "json_depth");
    ck_over_limit(
        POST(TEXT("%s/upsert", path), bytes_of(TEXT("%s%s", filled('[', most + 1), filled(']', most + 1)))),
        422, "unprocessable", most);

    most = limit_of(told, "page_items");
    const char *list = TEXT("/v1/buckets/%s/entries?limit=", bucket);
    ck_status(GET(TEXT("%s%d", list, (int)most)), 200);
    ck_over_limit(GET(TEXT("%s%d", list, (int)most + 1)), 400, "invalid", most);

    most = limit_of(told, "call_items");
    const char *batch = TEXT("/v1/buckets/%s/batch-get", bucket);
    ck_status(POST(batch, repeated("keys", "\"a\"", most)), 200);
    ck_over_limit(POST(batch, repeated("keys", "\"a\"", most + 1)), 413, "too_large", most);
    const char *read = TEXT("{\"bucket\":\"%s\",\"key\":\"a\"}", bucket);
    ck_status(POST("/v1/views", repeated("reads", read, most)), 200);
    ck_over_limit(POST("/v1/views", repeated("reads", read, most + 1)), 413, "too_large", most);
}
END_TEST

Suite *capabilities_suite(void)
{
    const TTest *const tests[] = {
        switches_are_told,
        switches_are_told_the_other_way,
        limits_are_those_that_refuse,
        NULL,
    };
    return api_suite("capabilities", NULL, tests);
}
