// HTTPS: what is spoken and to whom, certificates read again while the service serves, mistakes at the start.
#include "api.h"

#include "support/clock.h"
#include "support/parallel.h"
#include "support/process.h"
#include "support/raw.h"
#include "support/scratch.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { BACK_MS = 10 * 1000 };

static char *folder;

static const char *file(const char *name)
{
    return TEXT("%s/%s", folder, name);
}

static void openssl(const char *const *arguments)
{
    const char *all[32] = {"/usr/bin/openssl"};
    for (size_t i = 0; arguments[i]; i++)
        all[i + 1] = arguments[i];
    ck_assert_int_eq(
        process_run(&(struct process_options){.arguments = all, .output = "/dev/null", .stdout_fd = -1},
                    20 * 1000),
        0);
}

// A key and a certificate of its own: NAME.key and NAME.pem.
static void make_authority(const char *name)
{
    openssl((const char *const[]){"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                                  "-nodes", "-days", "2", "-subj", TEXT("/CN=%s", name), "-keyout",
                                  file(TEXT("%s.key", name)), "-out", file(TEXT("%s.pem", name)), NULL});
}

// The same, signed by the authority, for 127.0.0.1.
static void make_certificate(const char *name, const char *authority)
{
    FILE *extensions = fopen(file("extensions"), "w");
    fputs("subjectAltName=IP:127.0.0.1\n", extensions);
    fclose(extensions);
    openssl((const char *const[]){"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                                  "-nodes", "-subj", TEXT("/CN=%s", name), "-keyout",
                                  file(TEXT("%s.key", name)), "-out", file("request"), NULL});
    openssl((const char *const[]){"x509", "-req", "-days", "2", "-in", file("request"), "-CA",
                                  file(TEXT("%s.pem", authority)), "-CAkey", file(TEXT("%s.key", authority)),
                                  "-set_serial", "7", "-extfile", file("extensions"), "-out",
                                  file(TEXT("%s.pem", name)), NULL});
}

static bool is_ready(void *client)
{
    struct answer *answer = http_try(client, "GET", "/readyz", NO_BODY, (const char *const[]){NULL}, 2000);
    return answer && answer->status == 200;
}

// A service that shows `certificate`; with authorities for clients unless that is NULL.
static void start_tls(const char *certificate, const char *authorities)
{
    folder = folder ? folder : scratch_folder("tls");
    api.client = http_client_new("https://127.0.0.1:1"); // for texts
    make_authority("authority");
    make_certificate("server", "authority");
    make_certificate("client", "authority");
    make_authority("stranger");
    const char *flags[8] = {"--tls-cert", file(TEXT("%s.pem", certificate)), "--tls-key",
                            file(TEXT("%s.key", certificate))};
    if (authorities) {
        flags[4] = "--tls-client-ca";
        flags[5] = file(TEXT("%s.pem", authorities));
    }
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(
        &(struct service_options){.database = api.database.url, .flags = flags, .unready = true});
    ck_assert_int_eq(strncmp(service_url(api.service), "https://127.0.0.1:", 18), 0);
    struct http_client *client = http_client_new(service_url(api.service));
    http_client_use_tls(client, file("authority.pem"), NULL, NULL);
    ck_assert(clock_wait(is_ready, client, BACK_MS));
    http_client_free(client);
}

static void end_tls(void)
{
    service_end(api.service);
    api.service = NULL;
    database_drop(api.postgres, &api.database);
    http_client_free(api.client);
    api.client = NULL;
}

static struct http_client *trusting(const char *authority)
{
    struct http_client *client = http_client_new(service_url(api.service));
    http_client_use_tls(client, file(TEXT("%s.pem", authority)), NULL, NULL);
    return client;
}

static void write_and_wait(size_t index, void *user)
{
    (void)user;
    struct http_client *client = trusting("authority");
    const char *path = http_text(client, "/v1/buckets/b/entries/k%zu", index / 2);
    for (int i = 0; i < 5; i++) {
        if (index % 2) {
            clock_pause(5);
            ck_assert_int_eq(http(client, "PUT", path, bytes_of(http_text(client, "%d", i)))->status / 100,
                             2);
        } else {
            int status = http(client, "GET", path, NO_BODY, "If-None-Match: *", "Prefer: wait=1")->status;
            ck_assert(status == 200 || status == 304 || status == 404);
        }
    }
    http_client_free(client);
}

START_TEST(everything_is_served_over_tls)
{
    start_tls("server", NULL);
    struct http_client *client = trusting("authority");
    enum { LARGE = 3 << 20 };
    char *large = malloc(LARGE);
    memset(large, 'x', LARGE);
    ck_status(http(client, "PUT", "/v1/buckets/b/entries/large", bytes_make(large, LARGE)), 201);
    ck_body(http(client, "GET", "/v1/buckets/b/entries/large", NO_BODY), bytes_make(large, LARGE));
    free(large);
    parallel_run(16, write_and_wait, NULL);
    http_client_free(client);
    end_tls();
}
END_TEST

START_TEST(plain_http_gets_nothing_there)
{
    start_tls("server", NULL);
    char url[64];
    snprintf(url, sizeof url, "http%s", service_url(api.service) + strlen("https"));
    struct http_client *plain = http_client_new(url);
    ck_assert_ptr_null(http_try(plain, "GET", "/livez", NO_BODY, (const char *const[]){NULL}, 5000));
    http_client_free(plain);
    struct http_client *wary = trusting("stranger");
    ck_assert_ptr_null(http_try(wary, "GET", "/livez", NO_BODY, (const char *const[]){NULL}, 5000));
    http_client_free(wary);
    end_tls();
}
END_TEST

START_TEST(clients_show_their_certificate)
{
    start_tls("server", "authority");
    struct http_client *client = trusting("authority");
    ck_status(http(client, "GET", "/livez", NO_BODY), 200);
    ck_status(http(client, "GET", "/readyz", NO_BODY), 200);
    ck_problem(http(client, "PUT", "/v1/buckets/b/entries/k", BODY("v")), 403, "forbidden");
    ck_problem(http(client, "GET", "/nowhere", NO_BODY), 403, "forbidden");
    struct http_client *stranger = trusting("authority");
    http_client_use_tls(stranger, file("authority.pem"), file("stranger.pem"), file("stranger.key"));
    ck_problem(http(stranger, "GET", "/v1/buckets/b/entries/k", NO_BODY), 403, "forbidden");
    struct http_client *known = trusting("authority");
    http_client_use_tls(known, file("authority.pem"), file("client.pem"), file("client.key"));
    ck_problem(http(known, "GET", "/v1/buckets/b/entries/k", NO_BODY), 404, "not_found");
    ck_status(http(known, "PUT", "/v1/buckets/b/entries/k", BODY("v")), 201);
    http_client_free(client);
    http_client_free(stranger);
    http_client_free(known);
    end_tls();
}
END_TEST

static void install(const char *from, const char *to)
{
    const char *const arguments[] = {"/bin/cp", file(from), file(to), NULL};
    ck_assert_int_eq(
        process_run(&(struct process_options){.arguments = arguments, .output = "/dev/null", .stdout_fd = -1},
                    5000),
        0);
}

static bool log_has(void *text)
{
    char *log = scratch_read(service_log(api.service), NULL);
    bool has = strstr(log, text) != NULL;
    free(log);
    return has;
}

START_TEST(certificates_are_read_again)
{
    start_tls("server", NULL);
    struct http_client *old = trusting("authority");
    ck_status(http(old, "PUT", "/v1/buckets/b/entries/k", BODY("v")), 201);
    // A certificate without its key: refused, and what was there stays.
    install("stranger.pem", "server.pem");
    kill(service_pid(api.service), SIGHUP);
    ck_assert(clock_wait(log_has, "is not the key of the certificate", BACK_MS));
    struct http_client *next = trusting("authority");
    ck_status(http(next, "GET", "/livez", NO_BODY), 200);
    // A whole new one: new connections meet it, old ones go on.
    make_authority("later");
    make_certificate("server", "later");
    kill(service_pid(api.service), SIGHUP);
    ck_assert(clock_wait(log_has, "\"reloaded\"", BACK_MS));
    ck_body(http(old, "GET", "/v1/buckets/b/entries/k", NO_BODY), BODY("v"));
    ck_assert_int_eq(http_connections(old), 1);
    struct http_client *late = trusting("later");
    ck_body(http(late, "GET", "/v1/buckets/b/entries/k", NO_BODY), BODY("v"));
    http_client_reconnect(old);
    ck_assert_ptr_null(http_try(old, "GET", "/livez", NO_BODY, (const char *const[]){NULL}, 5000));
    http_client_free(old);
    http_client_free(next);
    http_client_free(late);
    end_tls();
}
END_TEST

START_TEST(hangup_without_tls_changes_nothing)
{
    api.client = http_client_new("http://127.0.0.1:1");
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    api.service = service_start(&(struct service_options){.database = api.database.url});
    kill(service_pid(api.service), SIGHUP);
    ck_assert(clock_wait(log_has, "\"reloaded\"", BACK_MS));
    ck_assert(service_wait_ready(api.service, BACK_MS));
    end_tls();
}
END_TEST

static void expect_refusal(const char *certificate, const char *key, const char *words)
{
    const char *arguments[10] = {service_binary(), "serve",      "--listen",
                                 "127.0.0.1:0",    "--tls-cert", certificate};
    if (key) {
        arguments[6] = "--tls-key";
        arguments[7] = key;
    }
    char *log = scratch_printf("%s/refusal", folder);
    int code = process_run(
        &(struct process_options){
            .arguments = arguments, .output = log, .stdout_fd = -1, .directory = folder},
        20 * 1000);
    char *text = scratch_read(log, NULL);
    ck_assert_msg(code == 1 && strncmp(text, "holdfast: ", 10) == 0 && strstr(text, words), "%d %s", code,
                  text);
    remove(log);
    free(text);
    free(log);
}

START_TEST(bad_files_are_refused_at_the_start)
{
    folder = scratch_folder("tls");
    api.client = http_client_new("http://127.0.0.1:1");
    make_authority("one");
    make_authority("two");
    expect_refusal(file("one.pem"), NULL, "both --tls-cert and --tls-key");
    expect_refusal(file("none.pem"), file("one.key"), "none.pem cannot be read");
    expect_refusal(file("one.key"), file("one.key"), "is no certificate");
    expect_refusal(file("one.pem"), file("one.pem"), "is no private key");
    expect_refusal(file("one.pem"), file("two.key"), "is not the key of the certificate");
    http_client_free(api.client);
    api.client = NULL;
}
END_TEST

Suite *tls_suite(void)
{
    const TTest *const tests[] = {
        everything_is_served_over_tls,
        plain_http_gets_nothing_there,
        clients_show_their_certificate,
        certificates_are_read_again,
        hangup_without_tls_changes_nothing,
        bad_files_are_refused_at_the_start,
        NULL,
    };
    return api_suite_bare("tls", tests);
}
