// Rows of encrypted buckets that somebody altered, or put elsewhere, in the database: corrupt, never a wrong
// value.
#include "fork_steps.h"
#include "sealed_steps.h"

#include <string.h>

#define JSON "Content-Type: application/json"

static PGconn *connection(void)
{
    return database_connect(&api.database);
}

static bool has_corrupt(json_t *entry)
{
    return json_is_true(json_object_get(entry, "corrupt")) && !json_object_get(entry, "value") &&
           !json_object_get(entry, "text") && !json_object_get(entry, "base64");
}

// --- attacks
// ------------------------------------------------------------------------------------------------------

// What is done to the entry `a`. The table held has rows as they are stored: a itself, b its neighbour,
// branch the same key below an owner, far that of another bucket, fork what a fork has of it, old what it was
// before.
#define SET(columns, from)                                                                                   \
    "update holdfast.entries e set " columns " from held x, held a where a.part = 'a' and x.part = '" from   \
    "' "                                                                                                     \
    "and e.bucket_id = a.bucket_id and e.path = a.path"
#define WHOLE "value = x.value, version = x.version, content_type = x.content_type, metadata = x.metadata"

static const struct {
    const char *name;
    const char *sql;
    bool of_metadata; // which lists do not show
} attacks[] = {
    {"the neighbour's value", SET("value = x.value", "b"), false},
    {"the neighbour's row", SET(WHOLE, "b"), false},
    {"another branch's value", SET("value = x.value", "branch"), false},
    {"another branch's row", SET(WHOLE, "branch"), false},
    {"another bucket's value", SET("value = x.value", "far"), false},
    {"another bucket's row", SET(WHOLE, "far"), false},
    {"a fork's value", SET("value = x.value", "fork"), false},
    {"a fork's row", SET(WHOLE, "fork"), false},
    {"an older version's value", SET("value = x.value", "old"), false},
    {"its own row under another version", SET("version = x.version + 1", "a"), false},
    {"one bit of the tag",
     SET("value = set_bit(x.value, 8 * octet_length(x.value) - 3, "
         "1 - get_bit(x.value, 8 * octet_length(x.value) - 3))",
         "a"),
     false},
    {"one bit of the text", SET("value = set_bit(x.value, 8 * 34, 1 - get_bit(x.value, 8 * 34))", "a"),
     false},
    {"one bit of the nonce", SET("value = set_bit(x.value, 8 * 12, 1 - get_bit(x.value, 8 * 12))", "a"),
     false},
    {"one bit of the key's id", SET("value = set_bit(x.value, 8, 1 - get_bit(x.value, 8))", "a"), false},
    {"one bit of the format", SET("value = set_bit(x.value, 0, 1 - get_bit(x.value, 0))", "a"), false},
    {"a part", SET("value = substr(x.value, 1, 20)", "a"), false},
    {"nothing", SET("value = ''", "a"), false},
    {"another content type", SET("content_type = x.content_type || 'x'", "a"), false},
    {"no content type", SET("content_type = null", "a"), false},
    {"a value that is not sealed", SET("content_type = 'a/b', metadata = null, value = 'forged'", "a"),
     false},
    {"the neighbour's metadata", SET("metadata = x.metadata", "b"), true},
    {"older metadata", SET("metadata = x.metadata", "old"), true},
};

enum { ATTACKS = sizeof attacks / sizeof attacks[0] };

static void hold(PGconn *db, const char *part, const char *bucket, const char *path)
{
    sql_run(db,
            "insert into held select '%s', e.* from holdfast.entries e join holdfast.buckets b on b.id = "
            "e.bucket_id "
            "where b.name like '%s' and e.path = '%s'",
            part, bucket, path);
    ck_assert_int_eq(sql_number(db, "select count(*) from held where part = '%s'", part), 1);
}

static void expect_corrupt(const char *bucket, bool of_metadata)
{
    const char *a = api_entry(bucket, "a");
    ck_problem(GET(a), 500, "corrupt");
    ck_status(HEAD(a), 500);
    ck_problem(POST(TEXT("%s/take", a), NO_BODY), 500, "corrupt");
    ck_problem(POST(TEXT("%s/exchange", a), BODY("x")), 500, "corrupt");
    ck_problem(POST(TEXT("%s/add", a), BODY("{}"), JSON), 500, "corrupt");
    ck_problem(PATCH(a, BODY("{}")), 500, "corrupt");
    ck_problem(POST(TEXT("%s/upsert", a), BODY("{\"insert\":{},\"update\":{}}"), JSON), 500, "corrupt");
    ck_problem(POST(TEXT("%s/compare-and-set", a), BODY("{\"expected\":1,\"value\":1}"), JSON), 500,
               "corrupt");
    ck_problem(POST(TEXT("%s/copy", a), BODY("{\"to_key\":\"c\"}"), JSON), 500, "corrupt");
    ck_problem(POST(TEXT("%s/move", a), BODY("{\"to_key\":\"c\"}"), JSON), 500, "corrupt");
    static const char *const operations[] = {
        "{\"op\":\"take\",\"bucket\":\"%s\",\"key\":\"a\"}",
        "{\"op\":\"patch\",\"bucket\":\"%s\",\"key\":\"a\",\"value\":{}}",
        "{\"op\":\"add\",\"bucket\":\"%s\",\"key\":\"a\"}"};
    // What a transaction takes it gives without metadata.
    for (size_t i = of_metadata; i < sizeof operations / sizeof operations[0]; i++) {
        char *operation = scratch_printf(operations[i], bucket);
        const char *body = TEXT("{\"operations\":[%s,{\"op\":\"delete\",\"bucket\":\"%s\",\"key\":\"b\"}]}",
                                operation, bucket);
        free(operation);
        ck_problem(POST("/v1/transactions", bytes_of(body), JSON), 500, "corrupt");
    }
    ck_body(GET(api_entry(bucket, "b")), BODY("val b"));
}

// The entry `a` alone is marked, or seen when only its metadata is wrong.
static void expect_marked(const char *bucket, bool marked)
{
    struct answer *list = GET(TEXT("/v1/buckets/%s/entries", bucket));
    ck_assert(has_corrupt(json_array_get(entries_of(list), 0)) == marked);
    ck_assert(!has_corrupt(json_array_get(entries_of(list), 1)));
    struct answer *batch =
        POST(TEXT("/v1/buckets/%s/batch-get", bucket), BODY("{\"keys\":[\"b\",\"a\"]}"), JSON);
    ck_assert(!has_corrupt(json_array_get(entries_of(batch), 0)));
    ck_assert(has_corrupt(json_array_get(entries_of(batch), 1)));
    const char *reads = TEXT(
        "{\"reads\":[{\"bucket\":\"%s\",\"key\":\"b\"},{\"bucket\":\"%s\",\"key\":\"a\"}]}", bucket, bucket);
    struct answer *view = POST("/v1/views", bytes_of(reads), JSON);
    ck_assert(!has_corrupt(json_array_get(entries_of(view), 0)));
    ck_assert(has_corrupt(json_array_get(entries_of(view), 1)));
}

START_TEST(altered_or_misplaced_rows_are_corrupt)
{
    for (size_t i = 0; i < ATTACKS; i++) {
        const char *bucket = sealed_bucket("any"), *other = sealed_bucket("any"),
                   *note = "Holdfast-Meta-Note: n";
        const char *a = api_entry(bucket, "a"), *fork = fork_of("continuous", NULL);
        PGconn *db = connection();
        sql_run(db, "create temp table held (part text, like holdfast.entries)");
        ck_status(PUT(a, BODY("old a"), note), 201);
        hold(db, "old", bucket, "\\x0161");
        ck_status(PUT(a, BODY("new a"), note), 204);
        ck_status(PUT(api_entry(bucket, "b"), BODY("val b"), note), 201);
        ck_status(PUT(TEXT("%s?under=o", a), BODY("own a"), note), 201);
        ck_status(PUT(api_entry(other, "a"), BODY("far a"), note), 201);
        ck_status(PUT(through(a, fork), BODY("in fork"), note), 204);
        hold(db, "a", bucket, "\\x0161");
        hold(db, "b", bucket, "\\x0162");
        hold(db, "far", other, "\\x0161");
        char *own = scratch_printf("_fork:%%:%s", bucket);
        hold(db, "fork", own, "\\x0161");
        free(own);
        sql_run(db,
                "insert into held select 'branch', e.* from holdfast.entries e join holdfast.buckets b "
                "on b.id = e.bucket_id where b.name = '%s' and length(e.path) > 2",
                bucket);
        ck_body(GET(a), BODY("new a"));
        sql_run(db, "%s", attacks[i].sql);
        if (GET(a)->status != 500)
            ck_abort_msg("%s was taken for the value", attacks[i].name);
        expect_corrupt(bucket, attacks[i].of_metadata);
        expect_marked(bucket, !attacks[i].of_metadata);
        ck_status(PUT(a, BODY("good")), 204);
        ck_body(GET(a), BODY("good"));
        PQfinish(db);
    }
}
END_TEST

START_TEST(bytes_put_back_open_again)
{
    const char *bucket = sealed_bucket("any"), *a = api_entry(bucket, "a");
    PGconn *db = connection();
    ck_status(PUT(a, BODY("1")), 201);
    sql_run(db, "create temp table held (part text, like holdfast.entries)");
    hold(db, "a", bucket, "\\x0161");
    sql_run(db, SET("value = '\\x01'", "a"));
    ck_problem(GET(a), 500, "corrupt");
    sql_run(db, SET("value = x.value", "a"));
    ck_body(GET(a), BODY("1"));
    PQfinish(db);
}
END_TEST

START_TEST(forks_and_their_images_are_bound_too)
{
    const char *bucket = sealed_bucket("any"), *a = api_entry(bucket, "a"), *b = api_entry(bucket, "b");
    PGconn *db = connection();
    ck_status(PUT(a, BODY("1")), 201);
    ck_status(PUT(b, BODY("2")), 201);
    const char *fork = fork_of("severed", NULL), *other = fork_of("continuous", NULL);
    ck_status(PUT(a, BODY("later a")), 204);
    ck_status(PUT(b, BODY("later b")), 204);
    ck_body(GET(through(a, fork)), BODY("1"));
    sql_run(db,
            "update holdfast.images i set value = x.value from holdfast.images x, holdfast.buckets b "
            "where b.name = '%s' and i.bucket_id = b.id and x.bucket_id = b.id and i.path = '\\x0161' "
            "and x.path = '\\x0162'",
            bucket);
    ck_problem(GET(through(a, fork)), 500, "corrupt");
    ck_body(GET(through(b, fork)), BODY("2"));
    ck_body(GET(a), BODY("later a"));
    ck_status(PUT(through(a, fork), BODY("own")), 204);
    ck_status(PUT(through(a, other), BODY("theirs")), 204);
    ck_body(GET(through(a, fork)), BODY("own"));
    sql_run(db,
            "update holdfast.entries e set value = x.value, version = x.version from holdfast.entries x, "
            "holdfast.buckets b, holdfast.buckets c where b.name like '_fork:%%:%s' and c.name like "
            "'_fork:%%:%s' "
            "and b.id < c.id and e.bucket_id = b.id and x.bucket_id = c.id and e.path = '\\x0161' and x.path "
            "= e.path",
            bucket, bucket);
    ck_problem(GET(through(a, fork)), 500, "corrupt");
    ck_body(GET(through(a, other)), BODY("theirs"));
    PQfinish(db);
}
END_TEST

// Who can only write to the database can neither have a bucket opened, nor have what is forged taken for its
// values.
START_TEST(database_alone_gives_no_warrant)
{
    PGconn *db = connection();
    const char *bucket = sealed_bucket("any"), *a = api_entry(bucket, "a"), *b = api_entry(bucket, "b");
    ck_status(PUT(a, BODY("1 " SECRET)), 201);
    ck_status(PUT(b, BODY("2")), 201);
    sql_run(db,
            "update holdfast.entries e set value = 'forged', content_type = null from holdfast.buckets b "
            "where b.name = '%s' and e.bucket_id = b.id and e.path = '\\x0162'",
            bucket);
    sql_run(db, "update holdfast.buckets set sealing = repeat('0', 48) where name = '%s'", bucket);
    ck_problem(GET(b), 500, "corrupt");
    static const char *const targets[] = {"open", "seal"};
    for (int i = 0; i < 2; i++) {
        sql_run(db,
                "insert into holdfast.reseals (bucket_id, bucket, target, started_at, warrant) select id, "
                "name, '%s', "
                "now(), repeat('0', 48) from holdfast.buckets where name = '%s'",
                targets[i], bucket);
        wait_until_resealed(db);
        ck_assert(!database_contains(db, SECRET));
        ck_problem(GET(b), 500, "corrupt");
        ck_body(GET(a), BODY("1 " SECRET));
    }
    PQfinish(db);
}
END_TEST

START_TEST(metadata_cannot_be_taken_away)
{
    PGconn *db = connection();
    const char *bucket = sealed_bucket("any"), *a = api_entry(bucket, "a");
    ck_status(PUT(a, BODY("1"), "Holdfast-Meta-Scope: restricted"), 201);
    sql_run(db,
            "update holdfast.entries e set metadata = null from holdfast.buckets b where b.name = '%s' and "
            "e.bucket_id = "
            "b.id",
            bucket);
    ck_problem(GET(a), 500, "corrupt");
    PQfinish(db);
}
END_TEST

static void start(void)
{
    api_start(sealed_flags());
}

Suite *sealed_tamper_suite(void)
{
    const TTest *const tests[] = {
        altered_or_misplaced_rows_are_corrupt, bytes_put_back_open_again,
        forks_and_their_images_are_bound_too,  database_alone_gives_no_warrant,
        metadata_cannot_be_taken_away,         NULL,
    };
    return api_suite_started("sealed_tamper", start, tests);
}
