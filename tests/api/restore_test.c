// CAS-4: a dump is restored under the running service, and by way of a restart; no version or position comes
// again.
#include "api.h"

#include "support/process.h"
#include "support/scratch.h"

#include <stdio.h>

enum { LIMIT_MS = 60 * 1000, LOST = 40 };

// Runs a program of PostgreSQL's on the suite's database.
static void run_program(const char *program, const char *const *arguments)
{
    const char *all[16] = {TEXT("%s/%s", postgres_programs(api.postgres), program)};
    size_t count = 1;
    while (*arguments)
        all[count++] = *arguments++;
    char *folder = scratch_folder("program");
    char *log = scratch_printf("%s/log", folder);
    int code =
        process_run(&(struct process_options){.arguments = all, .output = log, .stdout_fd = -1}, LIMIT_MS);
    char *text = scratch_read(log, NULL);
    ck_assert_msg(code == 0, "%s ended with %d: %s", program, code, text);
    free(text);
    free(log);
    free(folder);
}

static const char *dump(const char *const *more)
{
    char *folder = scratch_folder("dump");
    const char *file = TEXT("%s/dump.sql", folder);
    free(folder);
    run_program("pg_dump", (const char *const[]){"--dbname", api.database.url, "--file", file,
                                                 more ? *more : NULL, NULL});
    return file;
}

static void run_sql(const char *sql)
{
    PGconn *connection = database_connect(&api.database);
    sql_run(connection, "%s", sql);
    PQfinish(connection);
}

// The service works in it meanwhile and takes its locks in another order, so one of the two may have to give
// way.
static void drop_schema(void)
{
    run_sql("do $$ begin loop begin drop schema holdfast cascade; exit; "
            "exception when deadlock_detected then null; end; end loop; end $$");
}

static void restore(const char *file)
{
    run_program("psql", (const char *const[]){"--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1",
                                              "--dbname", api.database.url, "--file", file, NULL});
}

// What was answered after the dump, and is lost by the restore.
struct lost {
    const char *path;
    char tag[LOST][40];
    int64_t highest; // version or position
};

static int64_t number_of(const struct answer *answer, const char *name)
{
    const char *text = answer_need(answer, name);
    return strtoll(text + (*text == '"'), NULL, 10);
}

static void note(struct lost *lost, int64_t number)
{
    lost->highest = number > lost->highest ? number : lost->highest;
}

static void write_what_will_be_lost(struct lost *lost)
{
    lost->highest = 0;
    for (int i = 0; i < LOST; i++) {
        struct answer *put = PUT(lost->path, BODY("lost"));
        snprintf(lost->tag[i], sizeof lost->tag[i], "%s", answer_need(put, "ETag"));
        note(lost, number_of(put, "ETag"));
        note(lost, number_of(put, "Holdfast-Position"));
    }
    ck_status(PUT(TEXT("%s-gone", lost->path), BODY("v")), 201);
    struct answer *gone = DELETE(TEXT("%s-gone", lost->path));
    note(lost, number_of(gone, "Holdfast-Position"));
}

// The first write after the restore and all that follow are above everything that was answered before it.
static void expect_nothing_again(const struct lost *lost)
{
    struct answer *first = PUT(TEXT("%s-first", lost->path), BODY("new"));
    ck_status(first, 201);
    ck_assert_int_gt(number_of(first, "ETag"), lost->highest);
    struct answer *stale = PUT(lost->path, BODY("w"), TEXT("If-Match: %s", lost->tag[LOST - 1]));
    ck_problem(stale, 412, "version_conflict");
    struct answer *got = GET(lost->path, TEXT("If-None-Match: %s", lost->tag[LOST - 1]));
    ck_status(got, 200);
    ck_body(got, BODY("kept"));
    for (int i = 0; i < 3 * LOST; i++) {
        struct answer *put = PUT(lost->path, BODY("after"));
        ck_status(put, 204);
        ck_assert_int_gt(number_of(put, "ETag"), lost->highest);
        ck_assert_int_gt(number_of(put, "Holdfast-Position"), lost->highest);
        for (int j = 0; j < LOST; j++)
            ck_assert_str_ne(answer_header(put, "ETag"), lost->tag[j]);
        for (int j = 0; i == 0 && j < LOST; j++)
            ck_problem(PUT(lost->path, BODY("w"), TEXT("If-Match: %s", lost->tag[j])), 412,
                       "version_conflict");
    }
}

START_TEST(restored_dump_repeats_nothing)
{
    struct lost lost = {.path = api_entry(api_bucket(), "k")};
    ck_status(PUT(lost.path, BODY("kept")), 201);
    const char *file = dump(NULL);
    for (int round = 0; round < 2; round++) {
        write_what_will_be_lost(&lost);
        drop_schema();
        restore(file);
        expect_nothing_again(&lost);
    }
}
END_TEST

// A delete is a write with a position too, and may be the first after a restore.
START_TEST(restored_dump_and_a_delete_first)
{
    struct lost lost = {.path = api_entry(api_bucket(), "k")};
    ck_status(PUT(lost.path, BODY("kept")), 201);
    const char *file = dump(NULL);
    write_what_will_be_lost(&lost);
    drop_schema();
    restore(file);
    struct answer *gone = DELETE(lost.path);
    ck_status(gone, 204);
    ck_assert_int_gt(number_of(gone, "Holdfast-Position"), lost.highest);
    ck_problem(PUT(lost.path, BODY("w"), TEXT("If-Match: %s", lost.tag[0])), 412, "version_conflict");
}
END_TEST

// pg_dump --clean writes its own drops.
START_TEST(restored_clean_dump_repeats_nothing)
{
    struct lost lost = {.path = api_entry(api_bucket(), "k")};
    ck_status(PUT(lost.path, BODY("kept")), 201);
    const char *clean = "--clean";
    const char *file = dump(&clean);
    write_what_will_be_lost(&lost);
    restore(file);
    expect_nothing_again(&lost);
}
END_TEST

START_TEST(restored_dump_and_a_restart)
{
    struct lost lost = {.path = api_entry(api_bucket(), "k")};
    ck_status(PUT(lost.path, BODY("kept")), 201);
    const char *file = dump(NULL);
    write_what_will_be_lost(&lost);
    drop_schema();
    restore(file);
    struct service *other = service_start(&(struct service_options){.database = api.database.url});
    struct http_client *before = api.client;
    api.client = http_client_new(service_url(other));
    lost.path = TEXT("%s", lost.path);
    expect_nothing_again(&lost);
    http_client_free(api.client);
    api.client = before;
    service_end(other);
}
END_TEST

// While the schema is away: refused as unavailable, and never as if nothing had ever been there.
START_TEST(schema_away_is_unavailable)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("kept")), 201);
    const char *file = dump(NULL);
    drop_schema();
    struct answer *answers[] = {GET(path), PUT(path, BODY("v")), DELETE(path), GET("/v1/buckets")};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        ck_problem(answers[i], 503, "unavailable");
    restore(file);
    ck_body(GET(path), BODY("kept"));
    ck_status(PUT(path, BODY("v")), 204);
}
END_TEST

Suite *restore_suite(void)
{
    const TTest *const tests[] = {
        restored_dump_repeats_nothing, restored_dump_and_a_delete_first, restored_clean_dump_repeats_nothing,
        restored_dump_and_a_restart,   schema_away_is_unavailable,       NULL,
    };
    return api_suite("restore", NULL, tests);
}
