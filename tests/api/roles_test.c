// A service whose role owns nothing: migrated by another, it does all its work and can change no definition.
#include "api.h"

#include "support/clock.h"
#include "support/process.h"
#include "support/scratch.h"

#include <stdio.h>
#include <string.h>

enum { CONNECTED_MS = 10 * 1000 };

#define ROLE "plain \"holdfast\" role"

static char *migrate_for(const char *role, int expected)
{
    char *folder = scratch_folder("migrate");
    char *log = scratch_printf("%s/log", folder);
    const char *const arguments[] = {service_binary(), "migrate", "--database", api.database.url,
                                     "--grant-to",     role,      NULL};
    int code = process_run(&(struct process_options){.arguments = arguments, .output = log, .stdout_fd = -1},
                           60 * 1000);
    char *text = scratch_read(log, NULL);
    ck_assert_msg(code == expected, "%d: %s", code, text);
    free(folder);
    free(log);
    return text;
}

static bool is_connected(void *user)
{
    return sql_number(user, "select count(*) from pg_stat_activity where usename like 'plain%%'") > 3;
}

START_TEST(role_that_owns_nothing_serves)
{
    api.database = database_new(api.postgres, DATABASE_EMPTY);
    PGconn *owner = database_connect(&api.database);
    sql_run(owner, "create role \"plain \"\"holdfast\"\" role\" login");
    free(migrate_for(ROLE, 0));
    char *rest = strstr(api.database.url, "&user=");
    ck_assert_ptr_nonnull(rest);
    char url[600];
    snprintf(url, sizeof url, "%.*s&user=plain%%20%%22holdfast%%22%%20role", (int)(rest - api.database.url),
             api.database.url);
    const char *const flags[] = {"--no-migrate", NULL};
    api.service = service_start(&(struct service_options){.database = url, .flags = flags});
    api.client = http_client_new(service_url(api.service));
    ck_assert(clock_wait(is_connected, owner, CONNECTED_MS));
#define POST(target, literal)                                                                                \
    http(api.client, "POST", target, BODY(literal), "Content-Type: application/json")
    ck_status(PUT("/v1/buckets/b/entries/k", BODY("1")), 201);
    ck_status(GET("/v1/buckets/b/entries/k"), 200);
    ck_status(GET("/v1/buckets/b/entries?limit=10"), 200);
    ck_status(POST("/v1/buckets/b/entries/n/add", "{\"by\":2}"), 200);
    ck_status(POST("/v1/buckets/b/leases/l", "{\"holder\":\"h\",\"ttl\":\"1m\"}"), 201);
    ck_status(POST("/v1/counters/c/k/add", "{}"), 200);
    ck_status(http(api.client, "PUT", "/v1/quotas/q", BODY("{\"windows\":{\"w\":\"5/h\"}}")), 201);
    ck_status(POST("/v1/quotas/q/k/allow", "{}"), 200);
    ck_status(POST("/v1/once/o/k", "{}"), 201);
    ck_status(http(api.client, "PUT", "/v1/forks/f", BODY("{\"kind\":\"severed\"}")), 201);
    ck_status(PUT("/v1/buckets/b/entries/k?fork=f", BODY("2")), 204);
    ck_status(POST("/v1/forks/f/promote", ""), 200);
    ck_status(POST("/v1/transactions",
                   "{\"operations\":[{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"t\",\"value\":1}]}"),
              200);
    ck_status(DELETE("/v1/buckets/b/entries"), 200);
#undef POST
    PGconn *plain = PQconnectdb(url);
    static const char *const denied[] = {
        "drop table holdfast.entries",
        "create table holdfast.mine (i int)",
        "alter table holdfast.entries add column mine int",
        "create or replace function holdfast.now() returns timestamptz language sql as 'select now()'",
        "truncate holdfast.entries",
    };
    for (size_t i = 0; i < sizeof denied / sizeof denied[0]; i++) {
        PGresult *result = PQexec(plain, denied[i]);
        const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        ck_assert_msg(state && strcmp(state, "42501") == 0, "%s: %s", denied[i], PQerrorMessage(plain));
        PQclear(result);
    }
    PQfinish(plain);
    http_client_free(api.client);
    service_end(api.service);
    sql_run(owner, "drop owned by \"plain \"\"holdfast\"\" role\"");
    sql_run(owner, "drop role \"plain \"\"holdfast\"\" role\"");
    PQfinish(owner);
    database_drop(api.postgres, &api.database);
}
END_TEST

START_TEST(granting_what_one_does_not_have_is_refused)
{
    api.database = database_new(api.postgres, DATABASE_EMPTY);
    PGconn *owner = database_connect(&api.database);
    sql_run(owner, "create role granter login; create role grantee login");
    free(migrate_for("granter", 0));
    char *rest = strstr(api.database.url, "&user=");
    ck_assert_ptr_nonnull(rest);
    strcpy(rest, "&user=granter");
    char *text = migrate_for("grantee", 1);
    ck_assert_ptr_nonnull(strstr(text, "grantee was not granted"));
    free(text);
    PQfinish(owner);
}
END_TEST

START_TEST(granting_to_nobody_is_refused)
{
    api.database = database_new(api.postgres, DATABASE_EMPTY);
    char *text = migrate_for("nobody; drop schema holdfast cascade", 1);
    ck_assert_ptr_nonnull(strstr(text, "does not exist"));
    free(text);
    PGconn *owner = database_connect(&api.database);
    ck_assert_int_gt(sql_number(owner, "select count(*) from holdfast.migrations"), 0);
    PQfinish(owner);
    database_drop(api.postgres, &api.database);
}
END_TEST

Suite *roles_suite(void)
{
    const TTest *const tests[] = {role_that_owns_nothing_serves, granting_what_one_does_not_have_is_refused,
                                  granting_to_nobody_is_refused, NULL};
    return api_suite_bare("roles", tests);
}
