// Key files: made, refused when they are not good, and what happens without the right one.
#include "entry_steps.h"
#include "sealed_steps.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static PGconn *connection(const struct database *database)
{
    return database_connect(database);
}

// Runs the binary with these arguments; gives its exit code, and what it said on both outputs.
static int run(char *said, size_t size, const char *arguments)
{
    char *command = scratch_printf("timeout 20 '%s' %s 2>&1 </dev/null", service_binary(), arguments);
    FILE *output = popen(command, "r");
    free(command);
    said[fread(said, 1, size - 1, output)] = 0;
    int status = pclose(output);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    ck_assert_int_eq(chmod(path, mode), 0);
}

START_TEST(keys_are_made)
{
    char said[2000];
    char *folder = scratch_folder("made"), *path = scratch_printf("%s/k", folder);
    char *arguments = scratch_printf("key create --out '%s'", path);
    ck_assert_int_eq(run(said, sizeof said, arguments), 0);
    ck_assert_ptr_null(strstr(said, "holdfast-key"));
    struct stat state;
    ck_assert_int_eq(stat(path, &state), 0);
    ck_assert_int_eq(state.st_mode & 0777, 0600);
    ck_assert_int_eq(run(said, sizeof said, arguments), 1); // never over another
    free(arguments);
    arguments = scratch_printf("key create --out='%s'", folder);
    ck_assert_int_eq(run(said, sizeof said, arguments), 0);
    ck_assert_int_eq(run(said, sizeof said, "key create"), 0);
    ck_assert_int_eq(strncmp(said, "holdfast-key:1:", 15), 0);
    ck_assert_int_eq(run(said, sizeof said, "key create --in x"), 2);
    ck_assert_int_eq(run(said, sizeof said, "key"), 2);
    ck_assert_int_eq(run(said, sizeof said, "key --help"), 0);
    ck_assert_int_eq(run(said, sizeof said, "key rotate"), 2);
    free(arguments);
    free(path);
    free(folder);
}
END_TEST

// One line that names the path and nothing of what is in it; exit code 1.
static void expect_refused(const char *path, const char *why)
{
    char said[2000];
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    char *arguments =
        scratch_printf("serve --listen 127.0.0.1:0 --database '%s' --key-file '%s'", database.url, path);
    int code = run(said, sizeof said, arguments);
    if (code != 1 || !strstr(said, why) || !strstr(said, path) || strstr(said, "deadbeef") ||
        strchr(said, '\n') != said + strlen(said) - 1)
        ck_abort_msg("%s: %d, %s", why, code, said);
    free(arguments);
    database_drop(api.postgres, &database);
}

START_TEST(bad_key_files_are_refused)
{
    char *folder = scratch_folder("bad"), *path = scratch_printf("%s/k", folder);
    expect_refused(path, "No such file");
    expect_refused(folder, "without a key");
    write_file(path, "", 0600);
    expect_refused(path, "no key");
    write_file(
        path,
        "holdfast-key:1:deadbeefdeadbeef:deadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef\n",
        0600);
    expect_refused(path, "damaged");
    unlink(path);
    make_key(path);
    chmod(path, 0644);
    expect_refused(path, "open to others");
    expect_refused(folder, "open to others");
    chmod(path, 0660);
    expect_refused(path, "open to others");
    chmod(path, 0600);
    char *twin = scratch_printf("%s/l", folder), *text = scratch_read(path, NULL);
    write_file(twin, text, 0600);
    expect_refused(folder, "another file has too");
    unlink(twin);
    char *next = scratch_printf("%s/k.next", folder);
    ck_assert_int_eq(rename(path, next), 0);
    expect_refused(folder, "without a key");
    free(next);
    free(text);
    free(twin);
    free(path);
    free(folder);
}
END_TEST

static struct service *serve(const struct database *database, const char *const *flags)
{
    struct service *service =
        service_start(&(struct service_options){.database = database->url, .flags = flags});
    api.client = http_client_new(service_url(service));
    return service;
}

static void end(struct service *service)
{
    http_client_free(api.client);
    api.client = NULL;
    service_end(service);
}

START_TEST(lost_keys_make_values_corrupt)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    const char *entry = "/v1/buckets/secrets/entries/k", *json = "Content-Type: application/json";
    struct service *service = serve(&database, sealed_flags());
    ck_status(DECLARE("secrets", "{\"encrypted\":true}"), 201);
    ck_status(PUT(entry, BODY(SECRET)), 201);
    end(service);

    service = serve(&database, NULL);
    ck_problem(GET(entry), 500, "corrupt");
    ck_problem(POST(TEXT("%s/take", entry), NO_BODY), 500, "corrupt");
    ck_problem(PUT(entry, BODY("plain")), 501, "unsupported");
    ck_problem(PUT(entry, BODY("plain")), 501, "unsupported");
    ck_problem(POST(TEXT("%s/add", "/v1/buckets/secrets/entries/n"), BODY("{}"), json), 501, "unsupported");
    ck_problem(POST("/v1/transactions",
                    BODY("{\"operations\":[{\"op\":\"put\",\"bucket\":\"secrets\",\"key\":\"k\",\"text\":"
                         "\"plain\"}]}"),
                    json),
               501, "unsupported");
    ck_problem(DECLARE("others", "{\"encrypted\":true}"), 501, "unsupported");
    ck_status(PUT("/v1/buckets/plain/entries/k", BODY("1")), 201);
    ck_problem(POST("/v1/buckets/plain/entries/k/copy", BODY("{\"to_bucket\":\"secrets\"}"), json), 501,
               "unsupported");
    PGconn *db = connection(&database);
    ck_assert(!database_contains(db, "plain"));
    PQfinish(db);
    end(service);

    char *folder = scratch_folder("other"), *path = scratch_printf("%s/k", folder);
    make_key(path);
    service = serve(&database, (const char *const[]){"--key-file", path, NULL});
    ck_problem(GET(entry), 500, "corrupt");
    ck_problem(POST(TEXT("%s/exchange", entry), BODY("x")), 500, "corrupt");
    ck_status(PUT("/v1/buckets/secrets/entries/own", BODY("x")), 201);
    end(service);

    // With the right key it was never lost. One that comes while the service runs is found.
    service = serve(&database, sealed_flags());
    ck_body(GET(entry), BODY(SECRET));
    ck_problem(GET("/v1/buckets/secrets/entries/own"), 500, "corrupt");
    char *late = scratch_printf("%s/0.key", sealed_folder()), *text = scratch_read(path, NULL);
    write_file(late, text, 0440);
    for (int i = 0; i < 200 && GET("/v1/buckets/secrets/entries/own")->status != 200; i++)
        usleep(20 * 1000);
    ck_body(GET("/v1/buckets/secrets/entries/own"), BODY("x"));
    end(service);
    unlink(late);
    free(late);
    free(text);
    free(path);
    free(folder);
    database_drop(api.postgres, &database);
}
END_TEST

// As Kubernetes mounts a secret: names are links into a hidden folder, which another link names.
START_TEST(mounted_secrets)
{
    char *folder = scratch_folder("mount"), *hidden = scratch_printf("%s/..2026_01", folder);
    char *key = scratch_printf("%s/a.key", hidden), *data = scratch_printf("%s/..data", folder);
    char *link = scratch_printf("%s/a.key", folder);
    ck_assert_int_eq(mkdir(hidden, 0755), 0);
    make_key(key);
    chmod(key, 0440);
    ck_assert_int_eq(symlink("..2026_01", data), 0);
    ck_assert_int_eq(symlink("..data/a.key", link), 0);
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    struct service *service = serve(&database, (const char *const[]){"--key-file", folder, NULL});
    ck_status(DECLARE("secrets", "{\"encrypted\":true}"), 201);
    ck_status(PUT("/v1/buckets/secrets/entries/k", BODY("1")), 201);
    ck_body(GET("/v1/buckets/secrets/entries/k"), BODY("1"));
    end(service);
    database_drop(api.postgres, &database);
    free(folder);
    free(hidden);
    free(key);
    free(data);
    free(link);
}
END_TEST

static bool may_leave_core(const struct service *service)
{
    char *path = scratch_printf("/proc/%d/limits", (int)service_pid(service)), line[200];
    FILE *limits = fopen(path, "r");
    bool may = true;
    free(path);
    ck_assert_ptr_nonnull(limits);
    while (fgets(line, sizeof line, limits))
        if (strncmp(line, "Max core file size", 18) == 0)
            may = strspn(line + 18, " 0") != strcspn(line + 18, "b");
    fclose(limits);
    return may;
}

// SEAL-1: what was opened lies in memory for a while.
START_TEST(service_with_keys_leaves_no_core_file)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    struct rlimit limit = {1 << 20, 1 << 20};
    ck_assert_int_eq(setrlimit(RLIMIT_CORE, &limit), 0);
    struct service *service = serve(&database, NULL);
    ck_assert(may_leave_core(service));
    end(service);
    char *key = scratch_printf("%s/k", scratch_folder("core"));
    make_key(key);
    service = serve(&database, (const char *const[]){"--key-file", key, NULL});
    ck_assert(!may_leave_core(service));
    end(service);
    free(key);
    database_drop(api.postgres, &database);
}
END_TEST

Suite *sealing_keys_suite(void)
{
    const TTest *const tests[] = {
        keys_are_made,
        bad_key_files_are_refused,
        lost_keys_make_values_corrupt,
        mounted_secrets,
        service_with_keys_leaves_no_core_file,
        NULL,
    };
    return api_suite_bare("sealing_keys", tests);
}
