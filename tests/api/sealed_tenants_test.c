// Encrypted buckets of tenants: sealed under the whole name, so that nothing of one tenant opens as
// another's.
#include "fork_steps.h"
#include "sealed_steps.h"
#include "token_steps.h"

#include <string.h>

#define JSON "Content-Type: application/json"

static const char *prefixes[2], *tenants[2];

// Two tenants with an encrypted bucket `vault` each.
static void set_up(void)
{
    for (int i = 0; i < 2; i++) {
        prefixes[i] = TEXT("%s.", api_bucket());
        tenants[i] = TENANT(prefixes[i], "admin:*");
        ck_status(PUT("/v1/buckets/vault", BODY("{\"encrypted\":true}"), tenants[i]), 201);
    }
}

static struct answer *call(int tenant, const char *method, const char *target, struct bytes body)
{
    return http(api.client, method, target, body, tenants[tenant], JSON);
}

START_TEST(every_way_to_read_and_write)
{
    set_up();
    PGconn *db = database_connect(&api.database);
    const char *path = "/v1/buckets/vault/entries/k";
    ck_status(PUT(path, BODY("{\"a\":\"" SECRET "\"}"), tenants[0], JSON, "Holdfast-Meta-Note: " SECRET),
              201);
    struct answer *got = GET(path, tenants[0]);
    ck_body(got, BODY("{\"a\":\"" SECRET "\"}"));
    ck_header(got, "Holdfast-Meta-Note", SECRET);
    ck_status(GET(path, tenants[1]), 404);
    struct answer *list = GET("/v1/buckets/vault/entries", tenants[0]);
    ck_reply(list, strstr((const char *)list->body.data, SECRET) != NULL);
    struct answer *some = call(0, "POST", "/v1/buckets/vault/batch-get", BODY("{\"keys\":[\"k\"]}"));
    ck_reply(some, strstr((const char *)some->body.data, SECRET) != NULL);
    ck_status(http(api.client, "PATCH", path, BODY("{\"b\":1}"), tenants[0],
                   "Content-Type: application/merge-patch+json"),
              204);
    ck_body(GET(path, tenants[0]), BODY("{\"a\":\"" SECRET "\",\"b\":1}"));
    const char *key = "Idempotency-Key: take-1";
    ck_status(http(api.client, "POST", TEXT("%s/take", path), NO_BODY, tenants[0], key), 200);
    struct answer *again = http(api.client, "POST", TEXT("%s/take", path), NO_BODY, tenants[0], key);
    ck_header(again, "Holdfast-Replayed", "true");
    ck_body(again, BODY("{\"a\":\"" SECRET "\",\"b\":1}"));
    struct answer *run = http(api.client, "POST", "/v1/once/o/k", NO_BODY, tenants[0]);
    ck_status(run, 201);
    ck_status(PUT(TEXT("/v1/once/o/k/answer?token=%s", answer_text(run, "token")), BODY("answer " SECRET),
                  tenants[0]),
              204);
    ck_body(GET("/v1/once/o/k", tenants[0]), BODY("answer " SECRET));
    ck_assert(!database_contains(db, SECRET));
    PQfinish(db);
}
END_TEST

START_TEST(rows_of_one_tenant_do_not_open_as_anothers)
{
    set_up();
    PGconn *db = database_connect(&api.database);
    const char *path = "/v1/buckets/vault/entries/k";
    for (int i = 0; i < 2; i++)
        ck_status(PUT(path, bytes_of(TEXT("of %d", i)), tenants[i]), 201);
    sql_run(db,
            "update holdfast.entries e set value = x.value, version = x.version, content_type = "
            "x.content_type from "
            "holdfast.entries x, holdfast.buckets b, holdfast.buckets c where b.name = '%svault' and c.name "
            "= '%svault' "
            "and e.bucket_id = b.id and x.bucket_id = c.id and e.path = x.path",
            prefixes[0], prefixes[1]);
    struct answer *forged = GET(path, tenants[0]);
    ck_problem(forged, 500, "corrupt");
    ck_reply(forged, !strstr((const char *)forged->body.data, prefixes[0]));
    ck_body(GET(path, tenants[1]), BODY("of 1"));
    PQfinish(db);
}
END_TEST

START_TEST(what_a_tenant_seals_by_configuration_is_sealed)
{
    set_up();
    PGconn *db = database_connect(&api.database);
    ck_status(PUT("/v1/buckets/open/entries/k", BODY(SECRET "-later"), tenants[0]), 201);
    ck_status(PUT("/v1/buckets/open", BODY("{\"encrypted\":true}"), tenants[0]), 200);
    wait_until_resealed(db);
    ck_body(GET("/v1/buckets/open/entries/k", tenants[0]), BODY(SECRET "-later"));
    sql_run(db, "vacuum full holdfast.entries");
    ck_assert(!database_contains(db, SECRET "-later"));
    PQfinish(db);
}
END_TEST

static void start(void)
{
    api_start(sealed_flags());
}

Suite *sealed_tenants_suite(void)
{
    const TTest *const tests[] = {
        every_way_to_read_and_write,
        rows_of_one_tenant_do_not_open_as_anothers,
        what_a_tenant_seals_by_configuration_is_sealed,
        NULL,
    };
    return api_suite_started("sealed_tenants", start, tests);
}
