// Tokens: made by the command and over HTTP, shown once, refused when they are none, and gone everywhere
// within a second.
#include "token_steps.h"

#include "support/clock.h"
#include "support/process.h"
#include "support/scratch.h"

#include <stdio.h>
#include <unistd.h>

static struct service *start(const struct database *database)
{
    return service_start(&(struct service_options){.database = database->url});
}

// A service on a database of its own, with a client.
static void start_own(void)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = start(&api.database);
    api.client = http_client_new(service_url(api.service));
}

static void end_own(void)
{
    http_client_free(api.client);
    service_end(api.service);
    database_drop(api.postgres, &api.database);
}

static struct answer *create(const char *body, const char *bearer)
{
    return http(api.client, "POST", "/v1/tokens", bytes_of(body), bearer);
}

// --- before and after the first
// ---------------------------------------------------------------------------------------

START_TEST(first_token_shuts_the_door_on_all_replicas)
{
    start_own();
    struct service *twin = start(&api.database);
    struct http_client *beside = http_client_new(service_url(twin));
    ck_status(PUT("/v1/buckets/app/entries/k", BODY("1")), 201);
    struct answer *list = GET("/v1/tokens");
    ck_reply(list, json_array_size(json_object_get(list->json, "tokens")) == 0);
    ck_problem(create("{\"name\":\"x\",\"grants\":[\"admin:*\"]}", NULL), 403, "forbidden");
    // A token that nobody needs is not looked at.
    ck_status(GET("/v1/buckets/app/entries/k", "Authorization: Bearer nonsense"), 200);
    const char *root = root_bearer();
    expect_within_a_second(api.client, "GET", "/v1/buckets/app/entries/k", "X: y", 401);
    expect_within_a_second(beside, "GET", "/v1/buckets/app/entries/k", "X: y", 401);
    ck_status(http(beside, "GET", "/v1/buckets/app/entries/k", NO_BODY, root), 200);
    ck_body(GET("/v1/buckets/app/entries/k", root), BODY("1"));
    ck_status(GET("/livez"), 200);
    ck_status(GET("/readyz"), 200);
    ck_status(GET("/openapi.json"), 200);
    ck_status(GET("/v1/capabilities"), 200);
    // The last token that is revoked does not open it again.
    struct answer *tokens = GET("/v1/tokens", root);
    const char *name = entry_text(json_array_get(json_object_get(tokens->json, "tokens"), 0), "name");
    ck_status(DELETE(TEXT("/v1/tokens/%s", name), root), 204);
    expect_within_a_second(beside, "GET", "/v1/buckets/app/entries/k", root, 401);
    ck_status(GET("/v1/buckets/app/entries/k"), 401);
    http_client_free(beside);
    service_end(twin);
    end_own();
}
END_TEST

START_TEST(beyond_loopback_a_token_is_enough)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = NULL;
    char *output;
    const char *make[] = {"create", "--name", "a", "--grant", "read:app", "--expires", "1h", NULL};
    ck_assert_int_eq(token_command(&output, make), 0);
    free(output);
    api.service =
        service_start(&(struct service_options){.database = api.database.url, .listen = "0.0.0.0:0"});
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", service_port(api.service));
    api.client = http_client_new(url);
    ck_status(GET("/v1/buckets/app/entries/k"), 401);
    ck_status(GET("/livez"), 200);
    end_own();
}
END_TEST

// --- the command
// ------------------------------------------------------------------------------------------------------

START_TEST(commands_make_list_and_revoke)
{
    start_own();
    char *output;
    const char *make[] = {"create",         "--name",    "a",
                          "--grant",        "write:app", "--grant",
                          "read:buckets:b", "--expires", "2099-01-01T00:00:00Z",
                          "--prefix",       "t.",        NULL};
    ck_assert_int_eq(token_command(&output, make), 0);
    ck_assert_ptr_nonnull(strstr(output, "hf_"));
    free(output);
    ck_assert_int_eq(token_command(&output, make), 1);
    ck_assert_ptr_nonnull(strstr(output, "there is a token of this name"));
    free(output);
    ck_assert_int_eq(token_command(&output, (const char *const[]){"list", NULL}), 0);
    ck_assert_ptr_nonnull(strstr(output, "write:app read:b\n"));
    ck_assert_ptr_nonnull(strstr(output, "\tt.\t"));
    ck_assert_ptr_nonnull(strstr(output, "2099-01-01T00:00:00Z"));
    ck_assert_ptr_null(strstr(output, "hf_"));
    free(output);
    ck_assert_int_eq(token_command(NULL, (const char *const[]){"revoke", "a", NULL}), 0);
    ck_assert_int_eq(token_command(&output, (const char *const[]){"revoke", "a", NULL}), 1);
    free(output);
    ck_assert_int_eq(token_command(NULL, make), 0);
    const char *const bad[][8] = {
        {"create", "--name", "b", NULL},
        {"create", "--grant", "read:app", NULL},
        {"create", "--name", "b", "--grant", "own:app", NULL},
        {"create", "--name", "b", "--grant", "read:app", "--expires", "never"},
        {"create", "--name", "b", "--grant", "read:app", "--prefix", "b"},
        {"revoke", NULL},
        {"nonsense", NULL},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *arguments[9] = {NULL};
        for (size_t j = 0; j < 8 && bad[i][j]; j++)
            arguments[j] = bad[i][j];
        ck_assert_int_eq(token_command(&output, arguments), 2);
        free(output);
    }
    ck_assert_int_eq(
        token_command(&output, (const char *const[]){"create", "--name", "b", "--grant", "read:app",
                                                     "--expires", "2001-01-01T00:00:00Z", NULL}),
        1);
    free(output);
    end_own();
}
END_TEST

// With the private PostgreSQL: before a service first ran, and beside one that runs.
START_TEST(commands_find_the_private_database)
{
    char *folder = scratch_folder("data");
    char *data = scratch_printf("%s/data", folder);
    char *log = scratch_printf("%s/out", folder);
    const char *make[] = {service_binary(), "token",    "create", "--name", "a",
                          "--grant",        "read:app", "--data", data,     NULL};
    struct process_options options = {.arguments = make, .output = log, .stdout_fd = -1};
    ck_assert_int_eq(process_run(&options, 60 * 1000), 0);
    struct service *service = service_start(&(struct service_options){.data = data});
    struct http_client *client = http_client_new(service_url(service));
    ck_status(http(client, "GET", "/v1/buckets", NO_BODY), 401);
    make[4] = "b";
    ck_assert_int_eq(process_run(&options, 60 * 1000), 0);
    char *output = scratch_read(log, NULL);
    const char *told = strstr(output, "a new one was made");
    ck_assert(told && !strstr(told + 1, "a new one was made")); // by the first
    for (const char *token = output; (token = strstr(token, "hf_")); token++)
        ck_status(http(client, "GET", "/v1/buckets", NO_BODY,
                       http_text(client, "Authorization: Bearer %.63s", token)),
                  200);
    free(output);
    http_client_free(client);
    service_end(service);
    free(data);
    free(log);
    free(folder);
}
END_TEST

// --- over HTTP
// --------------------------------------------------------------------------------------------------------

START_TEST(administrators_make_list_and_revoke)
{
    start_own();
    const char *root = root_bearer();
    struct answer *made =
        create("{\"name\":\"a\",\"grants\":[\"write:app\",\"read:buckets:b\"],\"ttl\":\"1h\"}", root);
    ck_status(made, 201);
    ck_header(made, "Cache-Control", "no-store");
    ck_assert_pstr_eq(answer_text(made, "name"), "a");
    ck_assert_pstr_eq(json_string_value(json_array_get(json_object_get(made->json, "grants"), 1)), "read:b");
    ck_reply(made, json_is_null(json_object_get(made->json, "prefix")) && answer_text(made, "expires_at"));
    const char *bearer = TEXT("Authorization: Bearer %s", answer_text(made, "token"));
    ck_status(PUT("/v1/buckets/app/entries/k", BODY("1"), bearer), 201);
    struct answer *one = GET("/v1/tokens/a", root);
    ck_status(one, 200);
    ck_reply(one, !json_object_get(one->json, "token"));
    ck_assert_pstr_eq(answer_text(one, "id"), answer_text(made, "id"));
    ck_problem(create("{\"name\":\"a\",\"grants\":[\"read:app\"]}", root), 409, "busy");
    static const char *const bad[] = {
        "{}",
        "{\"name\":\"b\"}",
        "{\"name\":\"b\",\"grants\":[]}",
        "{\"name\":\"b\",\"grants\":\"read:app\"}",
        "{\"name\":\"b\",\"grants\":[1]}",
        "{\"name\":\"b\",\"grants\":[\"own:app\"]}",
        "{\"name\":\"\",\"grants\":[\"read:app\"]}",
        "{\"name\":1,\"grants\":[\"read:app\"]}",
        "{\"name\":\"b\",\"grants\":[\"read:app\"],\"prefix\":\"t\"}",
        "{\"name\":\"b\",\"grants\":[\"read:app\"],\"prefix\":\"\"}",
        "{\"name\":\"b\",\"grants\":[\"read:app\"],\"ttl\":\"1h\",\"expires_at\":\"2099-01-01T00:00:00Z\"}",
        "{\"name\":\"b\",\"grants\":[\"read:app\"],\"expires_at\":\"2001-01-01T00:00:00Z\"}",
        "{\"name\":\"b\",\"grants\":[\"read:app\"],\"more\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_problem(create(bad[i], root), 400, "invalid");
    ck_problem(http(api.client, "POST", "/v1/tokens", BODY("{\"name\":\"b\",\"grants\":[\"read:app\"]}"),
                    root, "Idempotency-Key: 1"),
               400, "invalid");
    // Pages, in the order of names.
    static const char *const names[] = {"b", "c", "d"};
    for (int i = 0; i < 3; i++)
        ck_status(create(TEXT("{\"name\":\"%s\",\"grants\":[\"read:app\"]}", names[i]), root), 201);
    const char *seen = "", *cursor = NULL;
    do {
        struct answer *page =
            GET(TEXT("/v1/tokens?limit=2%s%s", cursor ? "&cursor=" : "", cursor ? cursor : ""), root);
        json_t *item;
        size_t i;
        json_array_foreach(json_object_get(page->json, "tokens"), i,
                           item) if (strlen(entry_text(item, "name")) == 1) seen =
            TEXT("%s%s", seen, entry_text(item, "name"));
        cursor = answer_text(page, "cursor");
    } while (cursor);
    ck_assert_str_eq(seen, "abcd");
    ck_status(DELETE("/v1/tokens/a", root), 204);
    ck_problem(DELETE("/v1/tokens/a", root), 404, "not_found");
    ck_problem(GET("/v1/tokens/a", root), 404, "not_found");
    expect_within_a_second(api.client, "GET", "/v1/buckets/app/entries/k", bearer, 401);
    // The name is free again, and the old token stays dead.
    ck_status(create("{\"name\":\"a\",\"grants\":[\"write:app\"]}", root), 201);
    ck_status(GET("/v1/buckets/app/entries/k", bearer), 401);
    end_own();
}
END_TEST

START_TEST(what_is_no_valid_token_is_401)
{
    start_own();
    const char *root = root_bearer();
    ck_status(GET("/v1/buckets", root), 200); // known from now on
    const char *text = root + strlen("Authorization: Bearer ");
    char wrong[80];
    snprintf(wrong, sizeof wrong, "%s", text);
    wrong[30] = wrong[30] == 'A' ? 'B' : 'A';
    const char *const bad[] = {
        "Authorization;",
        "Authorization: Bearer",
        TEXT("Authorization: Basic %s", text),
        TEXT("Authorization: %s", text),
        TEXT("Authorization: Bearer %s", wrong),
        TEXT("Authorization: Bearer %.62s", text),
        TEXT("Authorization: Bearer %sA", text),
        TEXT("Authorization: Bearer %s, Bearer %s", text, text),
        "Authorization: Bearer hf_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    };
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            struct answer *answer = GET("/v1/buckets/app/entries/k", bad[i]);
            ck_problem(answer, 401, "unauthorized");
            ck_header(answer, "WWW-Authenticate", "Bearer");
        }
    ck_status(GET("/v1/buckets", TEXT("authorization: bEARER   %s", text)), 200);
    ck_problem(GET("/v1/buckets", root, root), 400, "invalid");
    end_own();
}
END_TEST

// Whoever may not write is told so before a long body is sent.
START_TEST(long_bodies_are_turned_away_at_once)
{
    start_own();
    const char *reader = BEARER("read:app");
    ck_status(GET("/v1/buckets", reader), 200);
    char *big = calloc(1, 4 << 20);
    const struct bytes body = bytes_make(big, 4 << 20);
    ck_problem(PUT("/v1/buckets/app/entries/k", body, reader, "Expect: 100-continue"), 403, "forbidden");
    ck_problem(PUT("/v1/buckets/app/entries/k", body, "Expect: 100-continue"), 401, "unauthorized");
    ck_problem(PUT("/v1/buckets/app/entries/k", body, reader), 403, "forbidden");
    ck_status(PUT("/v1/buckets/app/entries/k", body, root_bearer(), "Expect: 100-continue"), 201);
    free(big);
    end_own();
}
END_TEST

// --- ends
// -------------------------------------------------------------------------------------------------------------

START_TEST(tokens_expire_by_the_databases_clock)
{
    start_own();
    const char *root = root_bearer();
    struct answer *made = create("{\"name\":\"a\",\"grants\":[\"read:*\"],\"ttl\":\"1h\"}", root);
    const char *bearer = TEXT("Authorization: Bearer %s", answer_text(made, "token"));
    ck_status(GET("/v1/buckets", bearer), 200);
    database_shift_clock(&api.database, INT64_C(3599) * 1000 * 1000 - 500 * 1000);
    ck_status(GET("/v1/buckets", bearer), 200);
    database_shift_clock(&api.database, INT64_C(3601) * 1000 * 1000);
    expect_within_a_second(api.client, "GET", "/v1/buckets", bearer, 401);
    ck_status(GET("/v1/buckets", root), 200);
    struct answer *list = GET("/v1/tokens/a", root); // it is shown until it is revoked
    ck_status(list, 200);
    end_own();
}
END_TEST

static void terminate(PGconn *connection, const char *name)
{
    sql_run(connection,
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
            " and application_name = '%s'",
            name);
}

START_TEST(revoked_on_every_replica_within_a_second)
{
    start_own();
    struct service *twin = start(&api.database);
    struct http_client *beside = http_client_new(service_url(twin));
    for (int i = 0; i < 3; i++) {
        const char *name = TEXT("t%d", i);
        struct answer *made = create(TEXT("{\"name\":\"%s\",\"grants\":[\"read:*\"]}", name), root_bearer());
        const char *bearer = TEXT("Authorization: Bearer %s", answer_text(made, "token"));
        ck_status(GET("/v1/buckets", bearer), 200);
        ck_status(http(beside, "GET", "/v1/buckets", NO_BODY, bearer), 200);
        if (i < 2)
            ck_status(DELETE(TEXT("/v1/tokens/%s", name), root_bearer()), 204);
        else
            ck_assert_int_eq(token_command(NULL, (const char *const[]){"revoke", name, NULL}), 0);
        expect_within_a_second(beside, "GET", "/v1/buckets", bearer, 401);
        expect_within_a_second(api.client, "GET", "/v1/buckets", bearer, 401);
    }
    http_client_free(beside);
    service_end(twin);
    end_own();
}
END_TEST

// Nobody is told, and nobody listens: what was known counts for less than a second.
START_TEST(revoked_within_a_second_without_notifications)
{
    start_own();
    PGconn *connection = database_connect(&api.database);
    for (int i = 0; i < 2; i++) {
        const char *name = TEXT("t%d", i);
        struct answer *made = create(TEXT("{\"name\":\"%s\",\"grants\":[\"read:*\"]}", name), root_bearer());
        const char *bearer = TEXT("Authorization: Bearer %s", answer_text(made, "token"));
        ck_status(GET("/v1/buckets", bearer), 200);
        if (i)
            terminate(connection, "holdfast listen");
        sql_run(connection,
                "begin; update holdfast.tokens set revoked_at = now() where name = '%s';"
                " update holdfast.token_state set mark = gen_random_uuid(); commit",
                name);
        expect_within_a_second(api.client, "GET", "/v1/buckets", bearer, 401);
    }
    PQfinish(connection);
    end_own();
}
END_TEST

// With the database away nobody gets in on old knowledge, and health is answered.
START_TEST(nothing_known_counts_while_the_database_is_away)
{
    struct postgres *postgres = postgres_new(NULL);
    struct database database = database_new(postgres, DATABASE_MIGRATED);
    api.database = database;
    api.service = start(&database);
    api.client = http_client_new(service_url(api.service));
    const char *root = root_bearer();
    ck_status(GET("/v1/buckets", root), 200);
    postgres_stop(postgres);
    expect_within_a_second(api.client, "GET", "/v1/buckets", root, 503);
    usleep(1000 * 1000);
    ck_problem(GET("/v1/buckets", root), 503, "unavailable");
    ck_problem(GET("/v1/buckets"), 503, "unavailable");
    ck_status(GET("/livez"), 200);
    postgres_start(postgres);
    ck_assert(service_wait_ready(api.service, 20 * 1000));
    ck_status(GET("/v1/buckets", root), 200);
    ck_status(GET("/v1/buckets"), 401);
    http_client_free(api.client);
    service_end(api.service);
    postgres_free(postgres);
}
END_TEST

// --- secrets
// ----------------------------------------------------------------------------------------------------------

START_TEST(no_secret_is_kept_anywhere)
{
    start_own();
    const char *root = root_bearer();
    struct answer *made = create("{\"name\":\"a\",\"grants\":[\"write:*\"]}", root);
    const char *text = answer_text(made, "token");
    const char *bearer = TEXT("Authorization: Bearer %s", text);
    ck_status(
        PUT("/v1/buckets/app/entries/k", BODY("1"), bearer, "Idempotency-Key: k", "Holdfast-Session: s/1"),
        201);
    ck_status(GET("/v1/buckets/app/entries/k?nonsense=1", bearer), 400);
    ck_status(GET("/v1/tokens", bearer), 403);
    ck_status(GET("/v1/tokens", TEXT("%sx", bearer)), 401);
    const char *secrets[] = {text + 20, root + strlen("Authorization: Bearer ") + 20};
    char *log = scratch_read(service_log(api.service), NULL);
    char *server = scratch_read(postgres_log(api.postgres), NULL);
    PGconn *connection = database_connect(&api.database);
    for (int i = 0; i < 2; i++) {
        ck_assert_ptr_null(strstr(log, secrets[i]));
        ck_assert_ptr_null(strstr(server, secrets[i]));
        char *tables =
            sql_text(connection,
                     "select string_agg(format('select count(*) from holdfast.%%I t where t::text like %%L or"
                     " t::text like %%L', relname, '%%%%%s%%%%', '%%%%' || encode('%s', 'hex') || '%%%%'), ' "
                     "union all ')"
                     " from pg_class where relnamespace = 'holdfast'::regnamespace and relkind = 'r'",
                     secrets[i], secrets[i]);
        ck_assert_int_eq(sql_number(connection, "select sum(count) from (%s) x", tables), 0);
        free(tables);
    }
    PQfinish(connection);
    free(log);
    free(server);
    end_own();
}
END_TEST

Suite *tokens_suite(void)
{
    const TTest *tests[] = {
        first_token_shuts_the_door_on_all_replicas,
        beyond_loopback_a_token_is_enough,
        commands_make_list_and_revoke,
        commands_find_the_private_database,
        administrators_make_list_and_revoke,
        what_is_no_valid_token_is_401,
        long_bodies_are_turned_away_at_once,
        tokens_expire_by_the_databases_clock,
        revoked_on_every_replica_within_a_second,
        revoked_within_a_second_without_notifications,
        nothing_known_counts_while_the_database_is_away,
        no_secret_is_kept_anywhere,
        NULL,
    };
    return api_suite_bare("tokens", tests);
}
