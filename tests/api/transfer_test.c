// copy and move: one transaction, with everything that belongs to the entry, over whatever is there.
#include "entry_steps.h"

#include "support/clock.h"
#include "support/parallel.h"

#include <stdatomic.h>

enum way { COPY, MOVE };
static const char *const ways[] = {"copy", "move"};

static const char *transfer_of(const char *path, enum way way)
{
    const char *query = strchr(path, '?');
    return query ? TEXT("%.*s/%s%s", (int)(query - path), path, ways[way], query)
                 : TEXT("%s/%s", path, ways[way]);
}

static struct answer *transfer(enum way way, const char *path, const char *to)
{
    return POST(transfer_of(path, way), bytes_of(to));
}

// An entry with everything an entry can have.
static struct answer *put_whole(const char *path)
{
    return PUT(TEXT("%s%sttl=1h", path, strchr(path, '?') ? "&" : "?"), BODY("v\0\xFF"),
               "Content-Type: text/x-own", "Holdfast-Meta-A: b");
}

// What was put at one place is at `path`, by the version of the reply `done`.
static void expect_whole(const char *path, const struct answer *put, const struct answer *done)
{
    ck_status(done, 200);
    ck_body(done, bytes_of(TEXT("{\"version\":\"%s\"}\n", answer_version(done))));
    ck_header(done, "Holdfast-Expires-At", answer_need(put, "Holdfast-Expires-At"));
    struct answer *got = GET(path);
    ck_body(got, BODY("v\0\xFF"));
    ck_header(got, "Content-Type", "text/x-own");
    ck_header(got, "Holdfast-Meta-A", "b");
    ck_header(got, "Holdfast-Expires-At", answer_need(put, "Holdfast-Expires-At"));
    ck_header(got, "ETag", tag_of(done));
    ck_assert_str_ne(tag_of(done), tag_of(put));
}

static void expect_source(enum way way, const char *path, const struct answer *put)
{
    struct answer *got = GET(path);
    ck_status(got, way == MOVE ? 404 : 200);
    ck_header(got, "ETag", way == MOVE ? NULL : tag_of(put));
}

START_TEST(transfer_takes_everything_along)
{
    for (enum way way = COPY; way <= MOVE; way++) {
        const char *bucket = api_bucket(), *other = api_bucket();
        const char *path = api_entry(bucket, "k");
        struct answer *put = put_whole(path);
        expect_whole(api_entry(bucket, "new"), put, transfer(way, path, "{\"to_key\":\"new\"}"));
        expect_source(way, path, put);
        // What the request leaves out is as in the source: key, bucket, branch.
        put = put_whole(path);
        expect_whole(api_entry(other, "k"), put, transfer(way, path, TEXT("{\"to_bucket\":\"%s\"}", other)));
        expect_source(way, path, put);
        put = put_whole(path);
        expect_whole(TEXT("%s?under=a&under=b", path), put,
                     transfer(way, path, "{\"to_under\":[\"a\",\"b\"]}"));
        expect_source(way, path, put);
        const char *inside = TEXT("%s?under=a&under=b", path);
        put = put_whole(inside);
        expect_whole(TEXT("%s?under=a&under=b", api_entry(bucket, "n")), put,
                     transfer(way, inside, "{\"to_key\":\"n\"}"));
        expect_source(way, inside, put);
        put = put_whole(inside);
        expect_whole(path, put, transfer(way, inside, "{\"to_under\":[]}"));
        expect_source(way, inside, put);
        ck_status(GET(TEXT("/v1/buckets/%s", other)),
                  200); // declared by the transfer
    }
}
END_TEST

START_TEST(transfer_to_keys_of_any_bytes)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "%00%FF%2F");
    struct answer *put = put_whole(TEXT("%s?under=%%FE", path));
    struct answer *done = transfer(COPY, TEXT("%s?under=%%FE", path),
                                   "{\"to_key_base64\":\"/wA=\",\"to_under\":[{\"base64\":\"/"
                                   "g==\"},\"\xC3\xA9\"]}");
    expect_whole(TEXT("%s?under=%%FE&under=%%C3%%A9", api_entry(bucket, "%FF%00")), put, done);
    done = transfer(MOVE, TEXT("%s?under=%%FE", path), "{\"to_key\":\"a\\u0000/b\",\"to_under\":[]}");
    expect_whole(api_entry(bucket, "a%00%2Fb"), put, done);
    // null is as if it were not there: the branch of the source.
    put = put_whole(TEXT("%s?under=a", path));
    done = transfer(COPY, TEXT("%s?under=a", path), "{\"to_key\":\"n\",\"to_under\":null}");
    expect_whole(TEXT("%s?under=a", api_entry(bucket, "n")), put, done);
}
END_TEST

START_TEST(transfer_onto_itself_writes_a_new_version)
{
    for (enum way way = COPY; way <= MOVE; way++) {
        const char *path = TEXT("%s?under=a", api_entry(api_bucket(), "k"));
        struct answer *put = put_whole(path);
        static const char *const same[] = {"{}", "{\"to_key\":\"k\"}", "{\"to_under\":[\"a\"]}"};
        for (size_t i = 0; i < 3; i++)
            expect_whole(path, put, transfer(way, path, same[i]));
        expect_conflict(POST(transfer_of(path, way), BODY("{}"), if_match_of(put)), tag_of(GET(path)));
    }
}
END_TEST

START_TEST(transfer_replaces_what_is_there)
{
    for (enum way way = COPY; way <= MOVE; way++) {
        const char *bucket = api_bucket();
        const char *path = api_entry(bucket, "k"), *there = api_entry(bucket, "there");
        struct answer *put = put_whole(path);
        struct answer *old = PUT(TEXT("%s?ttl=1m", there), BODY("old"), "Holdfast-Meta-Z: z");
        expect_whole(there, put, transfer(way, path, "{\"to_key\":\"there\"}"));
        ck_header(GET(there), "Holdfast-Meta-Z", NULL);
        ck_assert_str_ne(tag_of(GET(there)), tag_of(old));
        ck_status(PUT(path, BODY("plain")), way == MOVE ? 201 : 204);
        ck_status(DELETE(TEXT("%s/expiry", path)), 204);
        struct answer *done = transfer(way, path, "{\"to_key\":\"there\"}");
        ck_header(done, "Holdfast-Expires-At",
                  NULL); // the source's expiry counts: it has none
        ck_header(GET(there), "Holdfast-Expires-At", NULL);
    }
}
END_TEST

// Conditions are about the entry that is written.
START_TEST(transfer_is_conditional_on_the_target)
{
    for (enum way way = COPY; way <= MOVE; way++) {
        const char *bucket = api_bucket(), *other = api_bucket();
        const char *path = api_entry(bucket, "k"), *there = api_entry(other, "k");
        const char *to = TEXT("{\"to_bucket\":\"%s\"}", other);
        const char *from = transfer_of(path, way);
        struct answer *put = put_whole(path);
        static const char *const wanted[] = {"If-Match: *", "If-Match: \"1\"", "If-Match: \"x\""};
        for (size_t i = 0; i < 3; i++)
            expect_conflict(POST(from, bytes_of(to), wanted[i]), NULL);
        expect_conflict(POST(from, bytes_of(to), if_match_of(put)), NULL); // that is the source's
        ck_status(GET(TEXT("/v1/buckets/%s", other)), 404); // a failed condition declares nothing
        struct answer *done = POST(from, bytes_of(to), "If-None-Match: *");
        expect_whole(there, put, done);
        put = put_whole(path);
        const char *tag = tag_of(done);
        const char *failing[] = {
            "If-None-Match: *",
            TEXT("If-None-Match: W/%s", tag),
            TEXT("If-Match: W/%s", tag),
            if_match_of(put),
        };
        for (size_t i = 0; i < sizeof failing / sizeof failing[0]; i++)
            expect_conflict(POST(from, bytes_of(to), failing[i]), tag);
        ck_header(GET(path), "ETag", tag_of(put));
        ck_header(GET(there), "ETag", tag);
        done = POST(from, bytes_of(to), TEXT("If-Match: %s", tag), TEXT("If-None-Match: %s", tag_of(put)));
        expect_whole(there, put, done);
        // Without a source there is nothing to judge.
        ck_status(DELETE(path), way == MOVE ? 404 : 204);
        ck_problem(POST(from, bytes_of(to), "If-None-Match: *"), 404, "not_found");
        ck_problem(POST(from, bytes_of(to), "If-Match: \"1\""), 404, "not_found");
    }
}
END_TEST

START_TEST(transfer_takes_an_expired_target_for_absent)
{
    database_stop_clock(&api.database, START);
    for (enum way way = COPY; way <= MOVE; way++) {
        const char *bucket = api_bucket();
        const char *path = api_entry(bucket, "k"), *there = api_entry(bucket, "there");
        ck_status(PUT(path, BODY("v")), 201);
        struct answer *old = PUT(TEXT("%s?expires_at=2030-01-01T00:00:10Z", there), BODY("old"));
        const char *from = transfer_of(path, way);
        expect_conflict(POST(from, BODY("{\"to_key\":\"there\"}"), "If-None-Match: *"), tag_of(old));
        database_stop_clock(&api.database, START + 10 * SECOND);
        expect_conflict(POST(from, BODY("{\"to_key\":\"there\"}"), if_match_of(old)), NULL);
        ck_status(POST(from, BODY("{\"to_key\":\"there\"}"), "If-None-Match: *"), 200);
        database_stop_clock(&api.database, START);
    }
    database_shift_clock(&api.database, 0);
}
END_TEST

enum { CREATORS = 24 };

struct creation {
    const char *bucket;
    atomic_int made, refused;
};

static void create_by_copy(size_t index, void *user)
{
    struct creation *creation = user;
    struct http_client *client = http_client_new(replica_url(index));
    struct answer *answer =
        http(client, "POST", TEXT("/v1/buckets/%s/entries/from-%zu/copy", creation->bucket, index),
             BODY("{\"to_key\":\"one\"}"), "If-None-Match: *");
    atomic_fetch_add(answer->status == 200 ? &creation->made : &creation->refused, 1);
    if (answer->status != 200)
        ck_status(answer, 412);
    http_client_free(client);
}

// CAS-2
START_TEST(one_creator_by_copy_wins)
{
    struct creation creation = {.bucket = api_bucket()};
    for (size_t i = 0; i < CREATORS; i++)
        ck_status(PUT(api_entry(creation.bucket, TEXT("from-%zu", i)), BODY("v")), 201);
    parallel_run(CREATORS, create_by_copy, &creation);
    ck_assert_int_eq(creation.made, 1);
    ck_assert_int_eq(creation.refused, CREATORS - 1);
}
END_TEST

START_TEST(transfer_between_buckets_of_types)
{
    static const struct {
        const char *from, *value, *to;
        bool fits;
    } rows[] = {
        {"any", "5", "int", true},         {"any", "x", "int", false},
        {"any", "1.0", "int", false},      {"any", "{\"a\":1}", "json", true},
        {"any", "{", "json", false},       {"bytes", "\xFF", "text", false},
        {"bytes", "t", "text", true},      {"json", "true", "bool", true},
        {"json", "1e999", "float", false}, {"int", "7", "float", true},
        {"int", "7", "bool", false},       {"none", "", "json", false},
        {"none", "", "text", true},        {"text", "x", "none", false},
        {"any", "", "none", true},         {"json", "{}", "any", true},
        {"float", "0.5", "bytes", true},   {"int", "1", "int", true},
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        size_t row = i / 2;
        enum way way = i % 2 ? MOVE : COPY;
        const char *from = api_entry(bucket_of_type(rows[row].from), "k");
        const char *target = bucket_of_type(rows[row].to);
        struct answer *put = PUT(from, bytes_of(rows[row].value));
        struct answer *done = transfer(way, from, TEXT("{\"to_bucket\":\"%s\"}", target));
        if (rows[row].fits != (done->status == 200))
            ck_abort_msg("%s of %s to %s: %s", rows[row].value, rows[row].from, rows[row].to,
                         answer_describe(done));
        if (rows[row].fits) {
            ck_body(GET(api_entry(target, "k")), bytes_of(rows[row].value));
            expect_source(way, from, put);
        } else {
            ck_problem(done, 422, "type_mismatch");
            ck_status(GET(api_entry(target, "k")), 404);
            expect_source(COPY, from, put);
        }
    }
}
END_TEST

START_TEST(transfer_over_a_key_of_another_type_that_does_not_fit)
{
    const char *from = api_entry(api_bucket(), "k");
    const char *target = bucket_of_type("int");
    const char *there = api_entry(target, "k");
    struct answer *put = PUT(from, BODY("x"));
    struct answer *old = PUT(TEXT("%s?ttl=1h", there), BODY("5"));
    for (enum way way = COPY; way <= MOVE; way++)
        ck_problem(transfer(way, from, TEXT("{\"to_bucket\":\"%s\"}", target)), 422, "type_mismatch");
    struct answer *got = GET(there);
    ck_body(got, BODY("5"));
    ck_header(got, "ETag", tag_of(old));
    expect_source(COPY, from, put);
}
END_TEST

START_TEST(transfer_keeps_to_the_targets_size)
{
    const char *target = api_bucket();
    ck_status(DECLARE(target, "{\"max_value_bytes\":3}"), 201);
    const char *from = api_entry(api_bucket(), "k");
    struct answer *put = PUT(from, BODY("abcd"));
    struct answer *refused = transfer(MOVE, from, TEXT("{\"to_bucket\":\"%s\"}", target));
    ck_problem(refused, 413, "too_large");
    ck_assert_int_eq(json_integer_value(json_object_get(refused->json, "limit")), 3);
    expect_source(COPY, from, put);
    ck_status(PUT(from, BODY("abc")), 204);
    ck_status(transfer(MOVE, from, TEXT("{\"to_bucket\":\"%s\"}", target)), 200);
}
END_TEST

START_TEST(transfer_of_large_values)
{
    size_t size = 2 << 20;
    char *text = malloc(size);
    memset(text, ' ', size);
    text[0] = '5';
    const char *from = api_entry(api_bucket(), "k");
    ck_status(PUT(from, bytes_make(text, size)), 201);
    const char *json = bucket_of_type("json");
    ck_status(transfer(COPY, from, TEXT("{\"to_bucket\":\"%s\"}", json)), 200);
    ck_body(GET(api_entry(json, "k")), bytes_make(text, size));
    ck_problem(transfer(MOVE, from, TEXT("{\"to_bucket\":\"%s\"}", bucket_of_type("int"))), 422,
               "type_mismatch");
    const char *bytes = bucket_of_type("bytes");
    ck_status(transfer(MOVE, from, TEXT("{\"to_bucket\":\"%s\"}", bytes)), 200);
    ck_body(GET(api_entry(bytes, "k")), bytes_make(text, size));
    ck_status(GET(from), 404);
    free(text);
}
END_TEST

// --- time
// -------------------------------------------------------------------------------------------------

START_TEST(transfer_when_source_or_target_expire)
{
    for (enum way way = COPY; way <= MOVE; way++) {
        database_stop_clock(&api.database, START);
        const char *bucket = api_bucket();
        const char *path = api_entry(bucket, "k"), *there = api_entry(bucket, "there");
        ck_status(PUT(TEXT("%s?ttl=10s", path), BODY("v")), 201);
        ck_status(PUT(TEXT("%s?ttl=5s", there), BODY("old"), "Holdfast-Meta-Z: z"), 201);
        // In the source's last microsecond it is there, and stays no longer anywhere else.
        database_stop_clock(&api.database, START + 10 * SECOND - 1);
        struct answer *done = transfer(way, path, "{\"to_key\":\"there\"}");
        ck_status(done, 200);
        ck_header(done, "Holdfast-Expires-At", "2030-01-01T00:00:10.000000Z");
        ck_body(GET(there), BODY("v"));
        ck_header(GET(there), "Holdfast-Meta-Z", NULL);
        database_stop_clock(&api.database, START + 10 * SECOND);
        ck_status(GET(there), 404);
        ck_problem(transfer(way, path, "{\"to_key\":\"late\"}"), 404, "not_found");
        ck_problem(transfer(way, there, "{}"), 404, "not_found");
        ck_status(GET(api_entry(bucket, "late")), 404);
        // An absent source leaves the target as it is.
        struct answer *put = PUT(there, BODY("new"));
        ck_status(put, 201);
        ck_status(transfer(way, path, "{\"to_key\":\"there\"}"), 404);
        ck_header(GET(there), "ETag", tag_of(put));
    }
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(transfer_keeps_the_idle_term)
{
    for (enum way way = COPY; way <= MOVE; way++) {
        database_stop_clock(&api.database, START);
        const char *bucket = api_bucket(), *target = api_bucket();
        const char *there = api_entry(target, "k");
        ck_status(DECLARE(bucket, "{\"idle\":\"30s\"}"), 201);
        ck_status(DECLARE(target, "{\"ttl\":\"1h\"}"), 201);
        ck_status(PUT(api_entry(bucket, "k"), BODY("v")), 201);
        database_stop_clock(&api.database, START + 20 * SECOND);
        ck_header(transfer(way, api_entry(bucket, "k"), TEXT("{\"to_bucket\":\"%s\"}", target)),
                  "Holdfast-Expires-At", "2030-01-01T00:00:30.000000Z");
        database_stop_clock(&api.database, START + 29 * SECOND + 1); // less than a thirtieth is left
        ck_header(GET(there), "Holdfast-Expires-At", "2030-01-01T00:00:59.000001Z");
    }
    database_shift_clock(&api.database, 0);
}
END_TEST

// --- refusals
// ---------------------------------------------------------------------------------------------

START_TEST(transfer_refuses_what_is_no_place)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    struct answer *put = PUT(path, BODY("v"));
    char long_key[1200];
    memset(long_key, 'x', sizeof long_key);
    const char *rows[][2] = {
        {"{\"to_key\":\"\"}", "key"},
        {"{\"to_key\":5}", "to_key"},
        {"{\"to_key\":null}", "to_key"},
        {"{\"to_key\":\"a\",\"to_key_base64\":\"YQ==\"}", "to_key"},
        {"{\"to_key_base64\":\"%\"}", "to_key_base64"},
        {"{\"to_key_base64\":\"\"}", "key"},
        {"{\"to_bucket\":\"\"}", "bucket"},
        {"{\"to_bucket\":\"a\\nb\"}", "bucket"},
        {"{\"to_bucket\":5}", "to_bucket"},
        {"{\"to_under\":\"a\"}", "to_under"},
        {"{\"to_under\":[5]}", "to_under"},
        {"{\"to_under\":[{\"base64\":\"YQ==\",\"more\":1}]}", "to_under"},
        {"{\"to_under\":[\"\"]}", "under"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (enum way way = COPY; way <= MOVE; way++)
            ck_invalid(transfer(way, path, rows[i][0]), rows[i][1]);
    const char *long_paths[] = {TEXT("{\"to_key\":\"%.1025s\"}", long_key),
                                TEXT("{\"to_under\":[\"%.1023s\"]}", long_key)};
    for (size_t i = 0; i < 2; i++)
        for (enum way way = COPY; way <= MOVE; way++) {
            struct answer *over = transfer(way, path, long_paths[i]);
            ck_over_limit(over, 413, "too_large", 1024);
            ck_refused_for(over, "too_large", "key");
        }
    expect_source(COPY, path, put);
    expect_keys(GET(TEXT("/v1/buckets/%s/entries", bucket)), "k");
    ck_status(transfer(COPY, path, TEXT("{\"to_key\":\"%.1024s\"}", long_key)), 200);
}
END_TEST

START_TEST(transfer_refuses_names_of_another_kind)
{
    PGconn *connection = database_connect(&api.database);
    const char *other = api_bucket();
    const char *path = api_entry(api_bucket(), "k");
    struct answer *put = PUT(path, BODY("v"));
    declare_other_kind(connection, other);
    for (enum way way = COPY; way <= MOVE; way++) {
        struct answer *refused = transfer(way, path, TEXT("{\"to_bucket\":\"%s\"}", other));
        ck_problem(refused, 409, "kind_mismatch");
        ck_assert_pstr_eq(answer_text(refused, "actual_kind"), "counter");
    }
    expect_source(COPY, path, put);
    PQfinish(connection);
}
END_TEST

// --- races
// ------------------------------------------------------------------------------------------------

enum { MOVERS = 24 };

struct race {
    const char *path;
    atomic_int moved, absent, other;
};

static void move_away(size_t index, void *user)
{
    struct race *race = user;
    struct http_client *client = http_client_new(replica_url(index));
    const char *to = http_text(client, "{\"to_key\":\"to-%zu\"}", index);
    int status = http(client, "POST", race->path, bytes_of(to))->status;
    atomic_fetch_add(status == 200 ? &race->moved : status == 404 ? &race->absent : &race->other, 1);
    http_client_free(client);
}

START_TEST(one_mover_wins)
{
    for (int round = 0; round < 3; round++) {
        const char *bucket = api_bucket();
        struct race race = {.path = TEXT("%s/move", api_entry(bucket, "k"))};
        ck_status(PUT(api_entry(bucket, "k"), BODY("v")), 201);
        parallel_run(MOVERS, move_away, &race);
        ck_assert_int_eq(race.moved, 1);
        ck_assert_int_eq(race.absent, MOVERS - 1);
        ck_assert_uint_eq(json_array_size(entries_of(GET(TEXT("/v1/buckets/%s/entries", bucket)))), 1);
    }
}
END_TEST

enum { PLACES = 3, CARRIERS = 12, CARRIED = 20 };

struct ring {
    const char *buckets[PLACES];
    atomic_int wrong;
};

// Carries the one entry from bucket to bucket, half of the carriers one way round and half the other.
static void carry(size_t index, void *user)
{
    struct ring *ring = user;
    struct http_client *client = http_client_new(replica_url(index / 2));
    size_t at = index % PLACES;
    for (int i = 0; i < CARRIED; i++) {
        size_t to = (at + (index % 2 ? 1 : PLACES - 1)) % PLACES;
        const char *target = http_text(client, "/v1/buckets/%s/entries/k/move", ring->buckets[at]);
        const char *body = http_text(client, "{\"to_bucket\":\"%s\"}", ring->buckets[to]);
        int status = http(client, "POST", target, bytes_of(body))->status;
        if (status != 200 && status != 404)
            atomic_fetch_add(&ring->wrong, 1);
        at = to;
    }
    http_client_free(client);
}

START_TEST(moves_in_all_directions_lose_nothing)
{
    struct ring ring = {.wrong = 0};
    for (int i = 0; i < PLACES; i++)
        ring.buckets[i] = bucket_of_type("any");
    ck_status(PUT(api_entry(ring.buckets[0], "k"), BODY("v")), 201);
    parallel_run(CARRIERS, carry, &ring);
    ck_assert_int_eq(ring.wrong, 0);
    int found = 0;
    for (int i = 0; i < PLACES; i++)
        found += GET(api_entry(ring.buckets[i], "k"))->status == 200;
    ck_assert_int_eq(found, 1);
}
END_TEST

// A source that is another one each time its value was checked for the target's type, which the database is
// made to say here.
START_TEST(transfer_of_a_source_that_never_rests_gives_up)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    ck_status(PUT(path, BODY("1")), 201);
    PGconn *connection = database_connect(&api.database);
    char *definition =
        sql_text(connection, "select pg_get_functiondef(oid) from pg_proc where pronamespace = "
                             "'holdfast'::regnamespace and proname = 'copy_entry'");
    const char *body = strstr(definition, "AS $function$");
    ck_assert_ptr_nonnull(body);
    sql_run(connection, "%.*s as 'select 5::smallint, 1::bigint, ''json'', null::timestamptz, null::integer'",
            (int)(body - definition), definition);
    struct answer *refused = transfer(COPY, path, "{\"to_key\":\"other\"}");
    sql_run(connection, "%s", definition);
    ck_problem(refused, 503, "unavailable");
    ck_header(refused, "Retry-After", "1");
    ck_status(GET(api_entry(bucket, "other")), 404);
    ck_status(transfer(COPY, path, "{\"to_key\":\"other\"}"), 200);
    free(definition);
    PQfinish(connection);
}
END_TEST

Suite *transfer_suite(void)
{
    const TTest *const tests[] = {
        transfer_takes_everything_along,
        transfer_to_keys_of_any_bytes,
        transfer_onto_itself_writes_a_new_version,
        transfer_replaces_what_is_there,
        transfer_is_conditional_on_the_target,
        transfer_takes_an_expired_target_for_absent,
        one_creator_by_copy_wins,
        transfer_between_buckets_of_types,
        transfer_over_a_key_of_another_type_that_does_not_fit,
        transfer_keeps_to_the_targets_size,
        transfer_of_large_values,
        transfer_when_source_or_target_expire,
        transfer_keeps_the_idle_term,
        transfer_refuses_what_is_no_place,
        transfer_refuses_names_of_another_kind,
        transfer_of_a_source_that_never_rests_gives_up,
        one_mover_wins,
        moves_in_all_directions_lose_nothing,
        NULL,
    };
    return api_suite_of_two("transfer", tests);
}
