// What is there is sealed when its bucket becomes encrypted, opened when it is not any more, and sealed with
// another key.
#include "fork_steps.h"
#include "sealed_steps.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static PGconn *connection(void)
{
    return database_connect(&api.database);
}

static struct answer *encrypt(const char *bucket, bool encrypted, const char *query)
{
    const char *body = encrypted ? "{\"encrypted\":true}" : "{\"encrypted\":false}";
    return PUT(TEXT("/v1/buckets/%s%s", bucket, query), bytes_of(body));
}

// Ordinary entries `0` to count-1 with their number and a marker in them.
static void fill(const char *bucket, int count)
{
    for (int i = 0; i < count; i++)
        ck_status(PUT(api_entry(bucket, TEXT("%d", i)), bytes_of(TEXT("%d " SECRET, i)), "Content-Type: a/b"),
                  201);
}

static void expect_filled(const char *bucket, int count)
{
    for (int i = 0; i < count; i++) {
        struct answer *got = GET(api_entry(bucket, TEXT("%d", i)));
        ck_body(got, bytes_of(TEXT("%d " SECRET, i)));
        ck_header(got, "Content-Type", "a/b");
    }
}

static bool is_sealing(PGconn *db, const char *bucket)
{
    return sql_number(db, "select (sealing is not null)::int from holdfast.buckets where name = '%s'",
                      bucket) != 0;
}

START_TEST(entries_are_sealed_and_opened_again)
{
    enum { ENTRIES = 150 };
    const char *bucket = api_bucket(), *first = api_entry(bucket, "0");
    PGconn *db = connection();
    fill(bucket, ENTRIES);
    const char *severed = fork_of("severed", NULL), *fork = fork_of("continuous", NULL);
    struct answer *later = PUT(first, BODY("later " SECRET), "Content-Type: a/b");
    ck_status(PUT(through(first, fork), BODY("fork " SECRET)), 204);
    struct answer *changed = encrypt(bucket, true, "");
    ck_status(changed, 200);
    ck_assert(json_is_true(json_object_get(changed->json, "encrypted")));
    struct answer *list = GET(TEXT("/v1/buckets/%s/entries?limit=1000", bucket));
    for (size_t i = 0; i < ENTRIES; i++)
        ck_assert(!json_object_get(json_array_get(entries_of(list), i), "corrupt"));
    wait_until_resealed(db);
    ck_assert(!is_sealing(db, bucket));
    ck_assert(!database_contains(db, SECRET));
    ck_header(GET(first), "ETag", tag_of(later));
    ck_body(GET(first), BODY("later " SECRET));
    ck_body(GET(through(first, severed)), BODY("0 " SECRET));
    ck_body(GET(through(first, fork)), BODY("fork " SECRET));
    ck_status(PUT(first, BODY("0 " SECRET), "Content-Type: a/b", if_match_of(later)), 204);
    expect_filled(bucket, ENTRIES);
    // Off again only by force, and then nothing is sealed any more.
    ck_problem(encrypt(bucket, false, ""), 409, "busy");
    ck_invalid(encrypt(bucket, false, "?force=1"), "force");
    ck_status(encrypt(bucket, false, "?force=true"), 200);
    expect_filled(bucket, ENTRIES);
    wait_until_resealed(db);
    ck_assert_int_eq(
        sql_number(db,
                   "select count(*) from holdfast.entries e join holdfast.buckets b on b.id = e.bucket_id "
                   "where b.name like '%%%s' and left(e.content_type, 1) = chr(1)",
                   bucket),
        0);
    expect_filled(bucket, ENTRIES);
    ck_body(GET(through(first, severed)), BODY("0 " SECRET));
    ck_body(GET(through(first, fork)), BODY("fork " SECRET));
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    ck_status(DELETE(TEXT("/v1/forks/%s", severed)), 200);
    ck_status(DELETE(TEXT("/v1/forks/%s", fork)), 200);
    PQfinish(db);
}
END_TEST

START_TEST(unsealed_rows_are_corrupt_only_when_all_are_sealed)
{
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
    PGconn *db = connection();
    ck_status(PUT(path, BODY("1")), 201);
    ck_status(encrypt(bucket, true, ""), 200);
    wait_until_resealed(db);
    sql_run(db,
            "update holdfast.entries e set content_type = null, value = 'forged' from holdfast.buckets b "
            "where b.id = e.bucket_id and b.name = '%s'",
            bucket);
    ck_problem(GET(path), 500, "corrupt");
    PQfinish(db);
}
END_TEST

// --- another key
// --------------------------------------------------------------------------------------------------

static int rotate(const char *folder, char *said, size_t size)
{
    char *command = scratch_printf("'%s' key rotate --key-file '%s' --database '%s' 2>&1", service_binary(),
                                   folder, api.database.url);
    FILE *output = popen(command, "r");
    free(command);
    said[fread(said, 1, size - 1, output)] = 0;
    return pclose(output);
}

static void reload(void)
{
    kill(service_pid(api.service), SIGHUP);
}

static void wait_for_log(const char *text)
{
    for (int i = 0; i < 500; i++) {
        char *log = scratch_read(service_log(api.service), NULL);
        bool there = strstr(log, text) != NULL;
        free(log);
        if (there)
            return;
        usleep(20 * 1000);
    }
    ck_abort_msg("the log never says %s", text);
}

static int64_t sealed_with(PGconn *db, const char *key)
{
    return sql_number(
        db,
        "select (select count(*) from holdfast.entries where left(content_type, 17) = chr(1) || '%s') "
        "+ (select count(*) from holdfast.images where left(content_type, 17) = chr(1) || '%s') "
        "+ (select count(*) from holdfast.once_answers where left(content_type, 17) = chr(1) || '%s') "
        "+ (select count(*) from holdfast.idempotency where position('%s'::bytea in headers) > 0)",
        key, key, key, key);
}

static char *id_in(const char *path)
{
    char *text = scratch_read(path, NULL);
    char *id = scratch_printf("%.16s", strchr(strchr(text, ':') + 1, ':') + 1);
    free(text);
    return id;
}

START_TEST(rotation_under_load)
{
    enum { ENTRIES = 200 };
    const char *bucket = sealed_bucket("any"), *folder = sealed_folder(), *name = api_bucket();
    PGconn *db = connection();
    fill(bucket, ENTRIES);
    const char *fork = fork_of("severed", NULL), *first = api_entry(bucket, "0");
    ck_status(PUT(first, BODY("0 " SECRET), "Content-Type: a/b", "Idempotency-Key: before"), 204);
    struct answer *run = POST(TEXT("/v1/once/%s/k", name), NO_BODY);
    ck_status(PUT(TEXT("/v1/once/%s/k/answer?token=%s", name, answer_text(run, "token")), BODY("kept")), 204);
    char *old_path = scratch_printf("%s/1.key", folder), *new_path = scratch_printf("%s/2.key", folder);
    char *old_id = id_in(old_path), said[2000];
    make_key(new_path);
    char *new_id = id_in(new_path);
    reload();
    wait_for_log(new_id);
    // Whoever writes meanwhile loses nothing, and what they write stays.
    struct answer *versions[ENTRIES];
    for (int i = 0; i < ENTRIES; i++)
        versions[i] = GET(api_entry(bucket, TEXT("%d", i)));
    ck_assert_int_gt(sealed_with(db, old_id), ENTRIES);
    char *work = sql_text(db, "select holdfast.begin_rotation('%s')", new_id);
    free(work);
    for (int i = 0; i < ENTRIES; i += 2) {
        versions[i] = PUT(api_entry(bucket, TEXT("%d", i)), bytes_of(TEXT("%d " SECRET, i)),
                          "Content-Type: a/b", if_match_of(versions[i]));
        ck_status(versions[i], 204);
    }
    ck_assert_int_eq(rotate(folder, said, sizeof said), 0);
    ck_assert_msg(strstr(said, "everything is sealed with the current key") != NULL, "%s", said);
    ck_assert_int_eq(sealed_with(db, old_id), 0);
    ck_assert_int_gt(sealed_with(db, new_id), ENTRIES);
    // The old key is not needed any more.
    ck_assert_int_eq(unlink(old_path), 0);
    reload();
    usleep(100 * 1000);
    ck_status(PUT(api_entry(bucket, "x"), BODY("x")), 201);
    expect_filled(bucket, ENTRIES);
    for (int i = 0; i < ENTRIES; i++)
        ck_header(GET(api_entry(bucket, TEXT("%d", i))), "ETag", tag_of(versions[i]));
    ck_body(GET(through(first, fork)), BODY("0 " SECRET));
    ck_body(POST(TEXT("/v1/once/%s/k", name), NO_BODY), BODY("kept"));
    ck_header(PUT(first, BODY("0 " SECRET), "Content-Type: a/b", "Idempotency-Key: before"),
              "Holdfast-Replayed", "true");
    PQfinish(db);
}
END_TEST

static void start(void)
{
    api_start(sealed_flags());
}

Suite *reseal_suite(void)
{
    const TTest *const tests[] = {
        entries_are_sealed_and_opened_again,
        unsealed_rows_are_corrupt_only_when_all_are_sealed,
        rotation_under_load,
        NULL,
    };
    return api_suite_started("reseal", start, tests);
}
