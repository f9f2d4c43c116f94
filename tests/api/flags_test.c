// The command line: every flag twice (its variable too), mistakes in one clear line, and nothing that a
// platform sets by itself taken for ours.
#include "api.h"

#include "support/clock.h"
#include "support/parallel.h"
#include "support/process.h"
#include "support/scratch.h"

#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct outcome {
    int code;
    char *output;
};

// Runs `holdfast` with up to 12 arguments to its end; `output` is to be freed.
static struct outcome run(const char *const *environment, const char *const *arguments)
{
    const char *all[16] = {service_binary()};
    for (size_t i = 0; arguments[i]; i++)
        all[i + 1] = arguments[i];
    char *folder = scratch_folder("run");
    char *log = scratch_printf("%s/log", folder);
    struct outcome outcome = {.code = process_run(&(struct process_options){.arguments = all,
                                                                            .environment = environment,
                                                                            .output = log,
                                                                            .directory = folder,
                                                                            .stdout_fd = -1},
                                                  20 * 1000)};
    outcome.output = scratch_read(log, NULL);
    free(log);
    free(folder);
    return outcome;
}

#define RUN(...) run(NULL, (const char *const[]){__VA_ARGS__, NULL})

static size_t lines_in(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

// The program refuses with this code and says why in one line that has `word`.
static void expect_refusal(struct outcome outcome, int code, const char *word)
{
    if (outcome.code != code || lines_in(outcome.output) != 1 ||
        strncmp(outcome.output, "holdfast: ", 10) != 0 || !strstr(outcome.output, word))
        ck_abort_msg("not refused with %d in one line about %s but with %d: %s", code, word, outcome.code,
                     outcome.output);
    free(outcome.output);
}

START_TEST(bad_flags_exit_2)
{
    expect_refusal(RUN("serve", "--nonsense"), 2, "--nonsense");
    expect_refusal(RUN("serve", "--port", "80"), 2, "--port");
    expect_refusal(RUN("serve", "-x"), 2, "-x");
    expect_refusal(RUN("serve", "extra"), 2, "extra");
    expect_refusal(RUN("serve", "--"), 2, "--");
    expect_refusal(RUN("serve", "--listen"), 2, "--listen");
    expect_refusal(RUN("serve", "--workers", "0"), 2, "workers");
    expect_refusal(RUN("serve", "--workers", "two"), 2, "workers");
    expect_refusal(RUN("serve", "--workers", "-1"), 2, "workers");
    expect_refusal(RUN("serve", "--workers", "1000000"), 2, "workers");
    expect_refusal(RUN("serve", "--max-connections=0"), 2, "max-connections");
    expect_refusal(RUN("serve", "--idle-timeout", "60"), 2, "idle-timeout");
    expect_refusal(RUN("serve", "--idle-timeout", "0s"), 2, "idle-timeout");
    expect_refusal(RUN("serve", "--header-timeout", "-1s"), 2, "header-timeout");
    expect_refusal(RUN("serve", "--body-timeout", "1w"), 2, "body-timeout");
    expect_refusal(RUN("serve", "--database-timeout", ""), 2, "database-timeout");
    expect_refusal(RUN("serve", "--drain", "soon"), 2, "drain");
    expect_refusal(RUN("serve", "--max-lease-ttl", "99ms"), 2, "max-lease-ttl");
    expect_refusal(RUN("serve", "--log-level", "loud"), 2, "log-level");
    expect_refusal(RUN("serve", "--insecure=maybe"), 2, "insecure");
    expect_refusal(RUN("serve", "--database", ""), 2, "database");
    expect_refusal(RUN("migrate", "--listen", "127.0.0.1:0"), 2, "--listen");
    expect_refusal(RUN("version", "--nonsense"), 2, "--nonsense");
    expect_refusal(RUN("nonsense"), 2, "nonsense");
    expect_refusal(RUN("Serve"), 2, "Serve");
    expect_refusal(run(NULL, (const char *const[]){NULL}), 2, "command");
}
END_TEST

// A password that was not escaped spills over into what is not one; whatever comes of it, nobody is shown it.
START_TEST(addresses_that_cannot_be_are_refused_unseen)
{
    static const char *const addresses[] = {
        "postgresql://holdfast:SECRET@[::1/holdfast",
        "postgresql://holdfast:p%zzSECRET@127.0.0.1:1/holdfast",
        "postgresql://holdfast:half@SECRET@127.0.0.1:1/holdfast",
        "postgresql://holdfast:half/SECRET@127.0.0.1:1/holdfast",
        "postgresql://holdfast:SECRET@127.0.0.1:1/holdfast?passwrd=x",
        "postgres//holdfast:SECRET@127.0.0.1:1/holdfast",
        "host=127.0.0.1 password=half SECRET",
    };
    static const char *const commands[] = {"serve", "migrate"};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++)
        for (size_t j = 0; j < 2; j++) {
            struct outcome outcome = RUN(commands[j], "--database", addresses[i]);
            ck_assert_ptr_null(strstr(outcome.output, "SECRET"));
            expect_refusal(outcome, 2, "--database");
            char *variable = scratch_printf("HOLDFAST_DATABASE=%s", addresses[i]);
            outcome = run((const char *const[]){variable, NULL}, (const char *const[]){commands[j], NULL});
            ck_assert_ptr_null(strstr(outcome.output, "SECRET"));
            expect_refusal(outcome, 2, "HOLDFAST_DATABASE");
            free(variable);
        }
}
END_TEST

START_TEST(bad_variables_exit_2)
{
    static const char *const bad[] = {"HOLDFAST_WORKERS=0",      "HOLDFAST_IDLE_TIMEOUT=60",
                                      "HOLDFAST_LOG_LEVEL=loud", "HOLDFAST_INSECURE=maybe",
                                      "HOLDFAST_DRAIN=1.5s",     "HOLDFAST_MAX_CONNECTIONS=x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char name[40];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(bad[i], "="), bad[i]);
        expect_refusal(run((const char *const[]){bad[i], NULL}, (const char *const[]){"serve", NULL}), 2,
                       name);
    }
}
END_TEST

START_TEST(help_and_version)
{
    static const char *const flags[] = {"listen",          "database",         "data",
                                        "workers",         "no-migrate",       "declared-buckets-only",
                                        "insecure",        "log-level",        "drain",
                                        "max-connections", "idle-timeout",     "header-timeout",
                                        "body-timeout",    "database-timeout", "max-lease-ttl"};
    struct outcome help = RUN("serve", "--help");
    ck_assert_int_eq(help.code, 0);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        char variable[64];
        snprintf(variable, sizeof variable, "HOLDFAST_%s", flags[i]);
        for (char *c = variable; *c; c++)
            *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
        char flag[64];
        snprintf(flag, sizeof flag, "--%s", flags[i]);
        ck_assert_msg(strstr(help.output, flag) && strstr(help.output, variable),
                      "%s or %s is not in the help", flag, variable);
    }
    free(help.output);
    static const char *const others[][2] = {
        {"migrate", "--help"}, {"version", "--help"}, {"--help", NULL}, {"help", NULL}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct outcome outcome = RUN(others[i][0], others[i][1]);
        ck_assert_int_eq(outcome.code, 0);
        ck_assert_ptr_nonnull(strstr(outcome.output, "holdfast"));
        free(outcome.output);
    }
    struct outcome of_lock = RUN("lock", "--help"), asked = RUN("help", "lock");
    ck_assert_str_eq(asked.output, of_lock.output);
    free(asked.output);
    free(of_lock.output);
    struct outcome version = RUN("version");
    ck_assert_int_eq(version.code, 0);
    ck_assert_int_eq(strncmp(version.output, "holdfast ", 9), 0);
    ck_assert_uint_eq(lines_in(version.output), 1);
    free(version.output);
}
END_TEST

// --- services with flags ----------------------------------------------------------------------------------

static void start_own(const char *const *flags, const char *const *environment)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(
        &(struct service_options){.database = api.database.url, .flags = flags, .environment = environment});
    api.client = http_client_new(service_url(api.service));
}

static void end_own(void)
{
    http_client_free(api.client);
    service_end(api.service);
    database_drop(api.postgres, &api.database);
}

START_TEST(declared_buckets_only)
{
    start_own((const char *const[]){"--declared-buckets-only", NULL}, NULL);
    ck_problem(PUT("/v1/buckets/b/entries/k", BODY("v")), 404, "not_found");
    ck_problem(PUT("/v1/buckets/b/entries/k", BODY("v"), "If-None-Match: *"), 404, "not_found");
    ck_problem(DELETE("/v1/buckets/b/entries/k"), 404, "not_found");
    ck_problem(http(api.client, "POST", "/v1/buckets/b/leases/k", BODY("{\"holder\":\"A\",\"ttl\":\"1m\"}")),
               404, "not_found");
    ck_problem(GET("/v1/buckets/b"), 404, "not_found");
    ck_status(DECLARE("b", "{}"), 201);
    ck_status(PUT("/v1/buckets/b/entries/k", BODY("v")), 201);
    ck_status(DELETE("/v1/buckets/b"), 204);
    ck_problem(PUT("/v1/buckets/b/entries/k", BODY("v")), 404, "not_found");
    end_own();
}
END_TEST

START_TEST(flags_by_environment)
{
    start_own(NULL, (const char *const[]){"HOLDFAST_DECLARED_BUCKETS_ONLY=true", "HOLDFAST_LOG_LEVEL=off",
                                          "HOLDFAST_LISTEN=256.0.0.1:1",
                                          "HOLDFAST_DATABASE=postgresql:///other", NULL});
    // The command line's --listen and --database win over the variables.
    ck_problem(PUT("/v1/buckets/b/entries/k", BODY("v")), 404, "not_found");
    char *log = scratch_read(service_log(api.service), NULL);
    ck_assert_str_eq(log, "");
    free(log);
    end_own();
    start_own((const char *const[]){"--declared-buckets-only=false", NULL},
              (const char *const[]){"HOLDFAST_DECLARED_BUCKETS_ONLY=1", NULL});
    ck_status(PUT("/v1/buckets/b/entries/k", BODY("v")), 201);
    end_own();
}
END_TEST

// K8S-1: what Kubernetes puts into every pod beside a Service called `holdfast`.
START_TEST(platform_variables_are_ignored)
{
    static const char *const platform[] = {"HOLDFAST_PORT=tcp://10.0.0.1:80",
                                           "HOLDFAST_PORT_80_TCP=tcp://10.0.0.1:80",
                                           "HOLDFAST_PORT_80_TCP_PROTO=tcp",
                                           "HOLDFAST_PORT_80_TCP_PORT=80",
                                           "HOLDFAST_PORT_80_TCP_ADDR=10.0.0.1",
                                           "HOLDFAST_SERVICE_HOST=10.0.0.1",
                                           "HOLDFAST_SERVICE_PORT=80",
                                           "HOLDFAST_SERVICE_PORT_HTTP=80",
                                           NULL};
    start_own(NULL, platform);
    ck_status(GET("/readyz"), 200);
    ck_assert_int_eq(strncmp(service_url(api.service), "http://127.0.0.1:", 17), 0);
    end_own();
    struct outcome help = RUN("serve", "--help");
    ck_assert_ptr_null(strstr(help.output, "HOLDFAST_PORT"));
    ck_assert_ptr_null(strstr(help.output, "HOLDFAST_SERVICE"));
    free(help.output);
}
END_TEST

START_TEST(empty_variables_mean_nothing)
{
    start_own(NULL,
              (const char *const[]){"HOLDFAST_WORKERS=", "HOLDFAST_DRAIN=", "HOLDFAST_LOG_LEVEL=", NULL});
    ck_status(GET("/readyz"), 200);
    end_own();
}
END_TEST

START_TEST(several_workers)
{
    start_own((const char *const[]){"--workers", "3", NULL}, NULL);
    for (int i = 0; i < 30; i++) {
        struct http_client *client = http_client_new(service_url(api.service));
        ck_status(http(client, "PUT", "/v1/buckets/b/entries/k", bytes_of(TEXT("%d", i))), i ? 204 : 201);
        ck_body(GET("/v1/buckets/b/entries/k"), bytes_of(TEXT("%d", i)));
        http_client_free(client);
    }
    end_own();
}
END_TEST

START_TEST(every_worker_has_memory_for_any_value)
{
    enum { LARGEST = 8 << 20 };
    char *value = malloc(LARGEST);
    memset(value, 'v', LARGEST);
    start_own((const char *const[]){"--workers", "10", "--max-body-memory", "64m", NULL}, NULL);
    ck_status(PUT("/v1/buckets/b/entries/k", bytes_make(value, LARGEST)), 201);
    ck_body(GET("/v1/buckets/b/entries/k"), bytes_make(value, LARGEST));
    free(value);
    end_own();
}
END_TEST

START_TEST(log_levels)
{
    static const struct {
        const char *level;
        bool requests;
    } rows[] = {{"debug", true}, {"info", true}, {"warn", false}, {"error", false}, {"off", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start_own((const char *const[]){"--log-level", rows[i].level, NULL}, NULL);
        char *path = scratch_printf("%s", service_log(api.service));
        ck_status(GET("/nowhere"), 404);
        end_own();
        char *log = scratch_read(path, NULL);
        ck_assert_int_eq(strstr(log, "\"event\":\"request\"") != NULL, rows[i].requests);
        free(log);
        free(path);
    }
}
END_TEST

START_TEST(beyond_loopback_needs_insecure)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    static const char *const open[] = {"0.0.0.0:0", "[::]:0"};
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome = RUN("serve", "--database", database.url, "--listen", open[i]);
        ck_assert_int_ne(outcome.code, 0);
        ck_assert_ptr_nonnull(strstr(outcome.output, "insecure"));
        ck_assert_ptr_null(strstr(outcome.output, "listening on"));
        free(outcome.output);
    }
    struct service *service = service_start(&(struct service_options){
        .database = database.url, .listen = "0.0.0.0:0", .flags = (const char *const[]){"--insecure", NULL}});
    service_end(service);
    database_drop(api.postgres, &database);
}
END_TEST

START_TEST(bad_addresses_are_refused)
{
    static const char *const bad[] = {"127.0.0.1",   "127.0.0.1:",   ":80",    "127.0.0.1:-1",
                                      "127.0.0.1:x", "127.0.0.1:8o", "::1:80", "127.0.0.1:99999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_refusal(RUN("serve", "--database", "postgresql:///x?host=/nonexistent", "--log-level", "off",
                           "--listen", bad[i]),
                       2, "listen");
    struct outcome unknown = RUN("serve", "--database", "postgresql:///x?host=/nonexistent", "--log-level",
                                 "off", "--listen", "nowhere.invalid:80");
    expect_refusal(unknown, 1, "nowhere.invalid:80");
}
END_TEST

START_TEST(taken_address_is_refused)
{
    start_own(NULL, NULL);
    const char *address = service_url(api.service) + strlen("http://");
    struct outcome outcome =
        RUN("serve", "--database", api.database.url, "--log-level", "off", "--listen", address);
    ck_assert_int_ne(outcome.code, 0);
    ck_assert_uint_eq(lines_in(outcome.output), 1);
    ck_assert_ptr_nonnull(strstr(outcome.output, "in use"));
    free(outcome.output);
    ck_status(GET("/readyz"), 200);
    end_own();
}
END_TEST

// --- the schema -------------------------------------------------------------------------------------------

START_TEST(migrate_command)
{
    struct database database = database_new(api.postgres, DATABASE_EMPTY);
    for (int i = 0; i < 2; i++) {
        struct outcome outcome = RUN("migrate", "--database", database.url);
        ck_assert_msg(outcome.code == 0, "%s", outcome.output);
        free(outcome.output);
    }
    struct service *service = service_start(&(struct service_options){
        .database = database.url, .flags = (const char *const[]){"--no-migrate", NULL}});
    service_end(service);
    database_drop(api.postgres, &database);
}
END_TEST

static void start_and_end(size_t index, void *user)
{
    (void)index;
    service_end(service_start(&(struct service_options){.database = user}));
}

START_TEST(replicas_migrate_together)
{
    struct database database = database_new(api.postgres, DATABASE_EMPTY);
    parallel_run(5, start_and_end, database.url);
    database_drop(api.postgres, &database);
}
END_TEST

START_TEST(edited_migration_is_refused)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&database);
    sql_run(connection, "update holdfast.migrations set checksum = reverse(checksum::text) where number = 1");
    PQfinish(connection);
    struct outcome outcome = RUN("migrate", "--database", database.url);
    ck_assert_int_eq(outcome.code, 1);
    ck_assert_uint_eq(lines_in(outcome.output), 1);
    free(outcome.output);
    outcome = RUN("serve", "--database", database.url, "--listen", "127.0.0.1:0", "--log-level", "off");
    ck_assert_int_ne(outcome.code, 0);
    ck_assert_ptr_null(strstr(outcome.output, "listening on"));
    free(outcome.output);
    database_drop(api.postgres, &database);
}
END_TEST

START_TEST(unusable_databases_are_refused)
{
    struct database missing = database_new(api.postgres, DATABASE_EMPTY);
    database_drop(api.postgres, &missing);
    struct outcome outcome =
        RUN("serve", "--database", missing.url, "--listen", "127.0.0.1:0", "--log-level", "off");
    ck_assert_int_ne(outcome.code, 0);
    ck_assert_uint_eq(lines_in(outcome.output), 1);
    ck_assert_ptr_nonnull(strstr(outcome.output, missing.name));
    free(outcome.output);
    outcome = RUN("migrate", "--database", "postgresql:///x?host=/nonexistent");
    ck_assert_int_eq(outcome.code, 1);
    ck_assert_uint_eq(lines_in(outcome.output), 1);
    free(outcome.output);
    outcome = RUN("migrate", "--database", "postgresql://u:TheSecret@/x?host=/nonexistent&nonsense=1");
    ck_assert_int_eq(outcome.code, 2);
    ck_assert_ptr_null(strstr(outcome.output, "TheSecret"));
    free(outcome.output);
}
END_TEST

START_TEST(log_never_tells_the_password)
{
    struct service_options options = {.database = "postgresql://u:TheSecret@/x?host=/nonexistent",
                                      .flags = (const char *const[]){"--log-level", "debug", NULL},
                                      .unready = true};
    struct service *service = service_start(&options);
    struct http_client *client = http_client_new(service_url(service));
    ck_assert_int_eq(http(client, "PUT", "/v1/buckets/b/entries/k", BODY("v"))->status, 503);
    http_client_free(client);
    char *log = scratch_read(service_log(service), NULL);
    ck_assert(*log != 0);
    ck_assert_ptr_null(strstr(log, "TheSecret"));
    free(log);
    service_end(service);
}
END_TEST

Suite *flags_suite(void)
{
    const TTest *const tests[] = {
        bad_flags_exit_2,
        addresses_that_cannot_be_are_refused_unseen,
        bad_variables_exit_2,
        help_and_version,
        declared_buckets_only,
        flags_by_environment,
        platform_variables_are_ignored,
        empty_variables_mean_nothing,
        several_workers,
        every_worker_has_memory_for_any_value,
        log_levels,
        beyond_loopback_needs_insecure,
        bad_addresses_are_refused,
        taken_address_is_refused,
        migrate_command,
        replicas_migrate_together,
        edited_migration_is_refused,
        unusable_databases_are_refused,
        log_never_tells_the_password,
        NULL,
    };
    return api_suite_bare("flags", tests);
}
