// Tenants: their names begin with a prefix that they neither say nor see, and there are no others for them.
#include "token_steps.h"

#include <sodium.h>

static const char *prefix, *tenant, *neighbour, *root;

// Two tenants that may everything, each with prefixes that no other test uses.
static void set_up(void)
{
    root = root_bearer();
    prefix = TEXT("%s.", api_bucket());
    tenant = TENANT(prefix, "admin:*");
    neighbour = TENANT(TEXT("%s.", api_bucket()), "admin:*");
}

// No reply to a tenant has its prefix in it, not in a header, nor in what is base64.
static struct answer *blind(struct answer *answer)
{
    const char *inside = TEXT("%.*s", (int)strlen(prefix) - 1, prefix);
    ck_reply(answer, !strstr(answer->body.size ? (const char *)answer->body.data : "", inside));
    for (int i = 0; i < answer->header_count; i++)
        ck_reply(answer, !strstr(answer->headers[i].value, inside));
    return answer;
}

static struct answer *as_tenant(const char *method, const char *target, const char *body)
{
    return blind(http(api.client, method, target, body ? bytes_of(body) : NO_BODY, tenant));
}

START_TEST(names_are_each_tenants_own)
{
    set_up();
    ck_status(PUT("/v1/buckets/app/entries/k", BODY("mine"), tenant), 201);
    ck_status(GET("/v1/buckets/app/entries/k", neighbour), 404);
    ck_status(PUT("/v1/buckets/app/entries/k", BODY("other"), neighbour), 201);
    ck_body(as_tenant("GET", "/v1/buckets/app/entries/k", NULL), BODY("mine"));
    ck_body(GET(TEXT("/v1/buckets/%sapp/entries/k", prefix), root), BODY("mine"));
    // Nor can one say the prefix oneself.
    ck_status(as_tenant("GET", "/v1/buckets/nothing/entries/k", NULL), 404);
    ck_status(GET(TEXT("/v1/buckets/%sapp/entries/k", prefix), tenant), 404);
    ck_status(GET(TEXT("/v1/buckets/%sapp/entries/k", prefix), neighbour), 404);
    ck_status(as_tenant("GET", "/v1/buckets//entries/k", NULL), 400);
}
END_TEST

START_TEST(every_kind_of_name_is_prefixed)
{
    set_up();
    static const char *const calls[][4] = {
        {"PUT", "/v1/buckets/a", "{}", "a"},
        {"PUT", "/v1/counters/b", "{}", "b"},
        {"PUT", "/v1/rate-limits/c", "{\"rate\":\"1/s\",\"burst\":1}", "c"},
        {"PUT", "/v1/quotas/d", "{\"windows\":{\"a\":\"1/1h\"}}", "d"},
        {"PUT", "/v1/once/e", "{}", "e"},
        {"POST", "/v1/rate-gates/f/k/check", "{\"max\":3,\"window\":\"10s\"}", "f"},
        {"POST", "/v1/counters/g/k/add", "{}", "g"},
        {"POST", "/v1/once/h/k", NULL, "h"},
        {"POST", "/v1/buckets/i/leases/k", "{\"holder\":\"h\",\"ttl\":\"1m\"}", "i"},
        {"POST", "/v1/transactions",
         "{\"operations\":[{\"op\":\"put\",\"bucket\":\"j\",\"key\":\"k\",\"text\":\"x\"}]}", "j"},
        {"POST", "/v1/buckets/j/entries/k/copy", "{\"to_bucket\":\"l\"}", "l"},
    };
    PGconn *connection = database_connect(&api.database);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct answer *answer = as_tenant(calls[i][0], calls[i][1], calls[i][2]);
        ck_reply(answer, answer->status < 300);
        ck_assert_int_eq(sql_number(connection, "select count(*) from holdfast.buckets where name = '%s%s'",
                                    prefix, calls[i][3]),
                         1);
        ck_assert_int_eq(
            sql_number(connection, "select count(*) from holdfast.buckets where name = '%s'", calls[i][3]),
            0);
    }
    PQfinish(connection);
    ck_reply(GET("/v1/buckets", neighbour),
             json_array_size(json_object_get(GET("/v1/buckets", neighbour)->json, "buckets")) == 0);
}
END_TEST

START_TEST(lists_and_cursors_show_names_as_they_are_said)
{
    set_up();
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        ck_status(as_tenant("PUT", TEXT("/v1/buckets/%s", names[i]), "{}"), 201);
        ck_status(
            as_tenant("PUT", TEXT("/v1/forks/%s", names[i]), "{\"kind\":\"severed\",\"buckets\":[\"a\"]}"),
            201);
    }
    static const char *const lists[][3] = {{"/v1/buckets", "buckets", "name"}, {"/v1/forks", "forks", "id"}};
    for (size_t l = 0; l < 2; l++) {
        const char *cursor = NULL;
        for (int i = 0; i < 3; i++) {
            struct answer *page = as_tenant(
                "GET", TEXT("%s?limit=1%s%s", lists[l][0], cursor ? "&cursor=" : "", cursor ? cursor : ""),
                NULL);
            json_t *items = json_object_get(page->json, lists[l][1]);
            ck_reply(page, json_array_size(items) == 1);
            ck_assert_pstr_eq(entry_text(json_array_get(items, 0), lists[l][2]), names[i]);
            cursor = answer_text(page, "cursor");
            ck_reply(page, (cursor != NULL) == (i < 2));
            if (!cursor)
                continue;
            // A cursor is base64 of a checksum and where the page ended.
            unsigned char raw[120];
            size_t size = 0;
            ck_assert_int_eq(sodium_base642bin(raw, sizeof raw, cursor, strlen(cursor), NULL, &size, NULL,
                                               sodium_base64_VARIANT_URLSAFE_NO_PADDING),
                             0);
            ck_assert(bytes_is(bytes_make(raw + 16, size - 16), names[i]));
        }
    }
    struct answer *some = as_tenant("GET", "/v1/buckets?prefix=b", NULL);
    ck_reply(some, json_array_size(json_object_get(some->json, "buckets")) == 1);
    struct answer *fork = as_tenant("GET", "/v1/forks/a", NULL);
    ck_assert_pstr_eq(json_string_value(json_array_get(json_object_get(fork->json, "buckets"), 0)), "a");
    ck_reply(GET("/v1/forks", neighbour),
             json_array_size(json_object_get(GET("/v1/forks", neighbour)->json, "forks")) == 0);
}
END_TEST

START_TEST(refusals_name_things_as_they_were_said)
{
    set_up();
    ck_status(as_tenant("PUT", "/v1/counters/c", "{}"), 201);
    static const char *const refused[][3] = {
        {"GET", "/v1/buckets/c", NULL},
        {"GET", "/v1/buckets/none", NULL},
        {"GET", "/v1/buckets/c/entries/k", NULL},
        {"PUT", "/v1/buckets/c/entries/k", "x"},
        {"GET", "/v1/buckets/none/entries/k", NULL},
        {"GET", "/v1/buckets/none/entries", NULL},
        {"DELETE", "/v1/buckets/c/entries", NULL},
        {"GET", "/v1/quotas/none", NULL},
        {"POST", "/v1/quotas/none/k/allow", "{}"},
        {"POST", "/v1/rate-limits/none/k/allow", "{}"},
        {"GET", "/v1/once/c", NULL},
        {"POST", "/v1/views", "{\"reads\":[{\"bucket\":\"c\",\"key\":\"k\"}]}"},
        {"POST", "/v1/transactions",
         "{\"operations\":[{\"op\":\"put\",\"bucket\":\"c\",\"key\":\"k\",\"text\":\"x\"}]}"},
        {"POST", "/v1/buckets/c/batch-get", "{\"keys\":[\"k\"]}"},
        {"POST", "/v1/buckets/c/leases/k", "{\"holder\":\"h\",\"ttl\":\"1m\"}"},
        {"GET", "/v1/forks/none", NULL},
        {"GET", "/v1/buckets/app/entries/k?fork=none", NULL},
        {"GET", "/v1/tokens", NULL},
        {"POST", "/v1/tokens", "{}"},
        {"DELETE", "/v1/tokens/x", NULL},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct answer *answer = as_tenant(refused[i][0], refused[i][1], refused[i][2]);
        ck_reply(answer, answer->status >= 400 && answer->status < 500);
    }
    ck_assert_ptr_nonnull(
        strstr(answer_text(as_tenant("GET", "/v1/buckets/c/entries/k", NULL), "detail"), "name c is"));
}
END_TEST

START_TEST(replies_with_names_show_them_as_they_were_said)
{
    set_up();
    const char *session = "Holdfast-Session: web/1";
    ck_status(blind(PUT("/v1/buckets/app/entries/k", BODY("1"), tenant, session)), 201);
    struct answer *view = as_tenant("POST", "/v1/views", "{\"reads\":[{\"bucket\":\"app\",\"key\":\"k\"}]}");
    ck_assert_pstr_eq(entry_text(json_array_get(json_object_get(view->json, "entries"), 0), "bucket"), "app");
    ck_status(as_tenant("PUT", "/v1/buckets/app/entries/t", "1"), 201);
    struct answer *taken = as_tenant("POST", "/v1/transactions",
                                     "{\"operations\":[{\"op\":\"take\",\"bucket\":\"app\",\"key\":\"t\"}]}");
    ck_assert_pstr_eq(entry_text(json_array_get(json_object_get(taken->json, "results"), 0), "bucket"),
                      "app");
    struct answer *writes = as_tenant("GET", "/v1/sessions/web/1/writes", NULL);
    ck_assert_pstr_eq(entry_text(json_array_get(json_object_get(writes->json, "writes"), 0), "bucket"),
                      "app");
    struct answer *others = GET("/v1/sessions/web/1/writes", neighbour);
    ck_reply(others, json_array_size(json_object_get(others->json, "writes")) == 0);
    struct answer *list = as_tenant("GET", "/v1/buckets/app/entries?source=true", NULL);
    json_t *source = json_object_get(json_array_get(entries_of(list), 0), "source");
    ck_assert_pstr_eq(entry_text(json_object_get(source, "session"), "stream"), "web");
    // Of a session that is no tenant's own it learns nothing.
    ck_status(PUT(TEXT("/v1/buckets/%sapp/entries/k", prefix), BODY("2"), root, "Holdfast-Session: secret/1"),
              204);
    list = as_tenant("GET", "/v1/buckets/app/entries?source=true", NULL);
    source = json_object_get(json_array_get(entries_of(list), 0), "source");
    ck_reply(list, json_is_null(json_object_get(source, "session")) &&
                       json_is_null(json_object_get(source, "token")));
    // A fork that is not promoted names the keys.
    ck_status(as_tenant("PUT", "/v1/forks/f", "{\"kind\":\"severed\"}"), 201);
    ck_status(as_tenant("PUT", "/v1/buckets/app/entries/k?fork=f", "3"), 204);
    ck_status(as_tenant("PUT", "/v1/buckets/app/entries/k", "4"), 204);
    struct answer *moved = as_tenant("POST", "/v1/forks/f/promote?if_unchanged=true", NULL);
    ck_problem(moved, 409, "busy");
    ck_assert_pstr_eq(entry_text(json_array_get(json_object_get(moved->json, "keys"), 0), "bucket"), "app");
    ck_body(as_tenant("GET", "/v1/buckets/app/entries/k?fork=f", NULL), BODY("3"));
    ck_status(GET("/v1/buckets/app/entries/k?fork=f", neighbour), 404);
}
END_TEST

START_TEST(grants_are_about_names_as_they_are_said)
{
    set_up();
    const char *narrow = TENANT(prefix, "write:app");
    ck_status(PUT("/v1/buckets/app/entries/k", BODY("1"), narrow), 201);
    ck_problem(GET("/v1/buckets/other/entries/k", narrow), 403, "forbidden");
    ck_problem(GET(TEXT("/v1/buckets/%sapp/entries/k", prefix), narrow), 403, "forbidden");
    struct answer *list = GET("/v1/buckets", narrow);
    ck_reply(list, json_array_size(json_object_get(list->json, "buckets")) == 1);
    // Of one tenant all tokens see the same names.
    ck_body(as_tenant("GET", "/v1/buckets/app/entries/k", NULL), BODY("1"));
}
END_TEST

START_TEST(idempotency_keys_are_each_tokens_own)
{
    set_up();
    const char *key = "Idempotency-Key: same", *k = "/v1/buckets/app/entries/k";
    struct answer *first = PUT(k, BODY("1"), tenant, key);
    ck_status(first, 201);
    struct answer *again = PUT(k, BODY("1"), tenant, key);
    ck_header(again, "Holdfast-Replayed", "true");
    ck_assert_str_eq(answer_version(again), answer_version(first));
    // The same key, and another body, of another token is another request, of another tenant and of the same.
    const char *sibling = TENANT(prefix, "admin:*");
    const char *const others[] = {neighbour, sibling, root};
    for (int i = 0; i < 3; i++) {
        struct answer *other = PUT(k, BODY("2"), others[i], key);
        ck_reply(other, other->status == 201 || other->status == 204);
        ck_header(other, "Holdfast-Replayed", NULL);
        ck_assert_str_ne(answer_version(other), answer_version(first));
    }
    ck_problem(PUT(k, BODY("2"), tenant, key), 422, "idempotency_mismatch");
}
END_TEST

START_TEST(waits_are_in_the_tenants_names)
{
    set_up();
    const char *k = "/v1/buckets/app/entries/k";
    ck_status(PUT(k, BODY("1"), tenant), 201);
    struct answer *fence = as_tenant("POST", "/v1/buckets/app/leases/l", "{\"holder\":\"h\",\"ttl\":\"1m\"}");
    ck_status(fence, 201);
    ck_status(PUT(TEXT("%s?fence_bucket=app&fence_key=l&fence_token=%s", k, answer_text(fence, "token")),
                  BODY("2"), tenant, "If-Match: *"),
              204);
    struct answer *lost = blind(
        PUT(TEXT("%s?fence_bucket=none&fence_key=l&fence_token=1", k), BODY("3"), tenant, "If-Match: *"));
    ck_problem(lost, 409, "lease_lost");
    struct answer *got = GET(k, tenant, "Prefer: wait=1");
    ck_body(got, BODY("2"));
}
END_TEST

Suite *tenants_suite(void)
{
    const TTest *tests[] = {
        names_are_each_tenants_own,
        every_kind_of_name_is_prefixed,
        lists_and_cursors_show_names_as_they_are_said,
        refusals_name_things_as_they_were_said,
        replies_with_names_show_them_as_they_were_said,
        grants_are_about_names_as_they_are_said,
        idempotency_keys_are_each_tokens_own,
        waits_are_in_the_tenants_names,
        NULL,
    };
    return api_suite("tenants", NULL, tests);
}
