// Single entries: values bit for bit, their headers, and what a write says.
#include "api.h"

#include "support/parallel.h"

static int64_t position_of(const struct answer *answer)
{
    const char *text = answer_need(answer, "Holdfast-Position");
    char *end;
    int64_t position = strtoll(text, &end, 10);
    ck_reply(answer, *text && !*end && position > 0);
    return position;
}

START_TEST(put_creates_and_replaces)
{
    const char *path = api_entry(api_bucket(), "k");
    struct answer *first = PUT(path, BODY("one"));
    ck_status(first, 201);
    ck_body(first, BODY(""));
    ck_reply(first, answer_version(first));
    ck_header(first, "Holdfast-Expires-At", NULL);
    struct answer *second = PUT(path, BODY("two"));
    ck_status(second, 204);
    ck_reply(second, answer_version(second));
    ck_assert_str_ne(answer_version(first), answer_version(second));
    ck_assert_int_lt(position_of(first), position_of(second));
    ck_body(GET(path), BODY("two"));
    ck_status(DELETE(path), 204);
    ck_status(PUT(path, BODY("three")), 201);
}
END_TEST

START_TEST(get_entry)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_problem(GET(path), 404, "not_found");
    struct answer *put =
        PUT(TEXT("%s?ttl=1d", path), BODY("v"), "Content-Type: text/plain", "Holdfast-Meta-Who: me");
    struct answer *got = GET(path);
    ck_status(got, 200);
    ck_body(got, BODY("v"));
    ck_header(got, "Content-Type", "text/plain");
    ck_header(got, "Content-Length", "1");
    ck_header(got, "ETag", answer_header(put, "ETag"));
    ck_header(got, "Holdfast-Expires-At", answer_need(put, "Holdfast-Expires-At"));
    ck_header(got, "Holdfast-Meta-Who", "me");
}
END_TEST

START_TEST(absent_entry_is_404)
{
    const char *bucket = api_bucket();
    ck_status(PUT(api_entry(bucket, "there"), BODY("v")), 201);
    ck_problem(GET(api_entry(bucket, "k")), 404, "not_found");
    ck_problem(DELETE(api_entry(bucket, "k")), 404, "not_found");
    ck_status(HEAD(api_entry(bucket, "k")), 404);
}
END_TEST

START_TEST(absent_bucket_is_404)
{
    const char *bucket = api_bucket();
    ck_problem(GET(api_entry(bucket, "k")), 404, "not_found");
    ck_problem(DELETE(api_entry(bucket, "k")), 404, "not_found");
    ck_status(HEAD(api_entry(bucket, "k")), 404);
    ck_problem(GET(TEXT("/v1/buckets/%s", bucket)), 404, "not_found");
}
END_TEST

START_TEST(head_has_true_length)
{
    const char *path = api_entry(api_bucket(), "k");
    static const size_t sizes[] = {0, 1, 1000, 70000, 1 << 20};
    char *value = calloc(1, 1 << 20);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct answer *put =
            PUT(path, bytes_make(value, sizes[i]), "Content-Type: image/png", "Holdfast-Meta-A: b");
        struct answer *head = HEAD(path);
        ck_status(head, 200);
        ck_header(head, "Content-Length", TEXT("%zu", sizes[i]));
        ck_header(head, "Content-Type", "image/png");
        ck_header(head, "Holdfast-Meta-A", "b");
        ck_header(head, "ETag", answer_header(put, "ETag"));
        ck_body(head, BODY(""));
    }
    free(value);
}
END_TEST

START_TEST(delete_entry)
{
    const char *bucket = api_bucket();
    struct answer *put = PUT(api_entry(bucket, "k"), BODY("v"));
    ck_status(PUT(api_entry(bucket, "other"), BODY("w")), 201);
    struct answer *gone = DELETE(api_entry(bucket, "k"));
    ck_status(gone, 204);
    ck_assert_int_gt(position_of(gone), position_of(put));
    ck_header(gone, "ETag", NULL);
    ck_status(GET(api_entry(bucket, "k")), 404);
    ck_problem(DELETE(api_entry(bucket, "k")), 404, "not_found");
    ck_body(GET(api_entry(bucket, "other")), BODY("w"));
}
END_TEST

START_TEST(write_has_position)
{
    const char *bucket = api_bucket();
    int64_t last = 0;
    for (int i = 0; i < 20; i++) {
        struct answer *answers[] = {PUT(api_entry(bucket, "a"), BODY("v")),
                                    PUT(api_entry(bucket, "b"), BODY("v")), DELETE(api_entry(bucket, "a"))};
        for (int j = 0; j < 3; j++) {
            ck_assert_int_gt(position_of(answers[j]), last);
            last = position_of(answers[j]);
        }
    }
    ck_header(GET(api_entry(bucket, "a")), "Holdfast-Position", NULL);
}
END_TEST

static void keep(const char *path, struct bytes value)
{
    struct answer *put = PUT(path, value, "Content-Type: application/x-test");
    ck_reply(put, put->status == 201 || put->status == 204);
    struct answer *got = GET(path);
    ck_status(got, 200);
    ck_header(got, "Content-Type", "application/x-test");
    ck_assert_uint_eq(got->body.size, value.size);
    ck_assert(answer_is(got, value));
}

START_TEST(value_bit_for_bit)
{
    const char *path = api_entry(api_bucket(), "k");
    enum { MOST = 300000 };
    static const size_t sizes[] = {0,     1,     2,     255,   256,   4095,  4096,   4097,   8191,
                                   16383, 16384, 16385, 65535, 65536, 65537, 131072, 262145, MOST};
    uint8_t *value = malloc(MOST);
    uint64_t state = 1;
    for (size_t i = 0; i < MOST; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        value[i] = (uint8_t)(state >> 56);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        keep(path, bytes_make(value, sizes[i]));
    memset(value, 0, MOST);
    keep(path, bytes_make(value, MOST));
    free(value);
    keep(path, BODY("\0"));
    keep(path, BODY("\\x00"));
    keep(path, BODY("\r\n\r\n"));
    keep(path, BODY("0\r\n\r\n"));
    keep(path, BODY("\xFF\xFE\xC0\x80"));
    keep(path, BODY("{\"a\" : 1 }\n"));
    keep(path, BODY("'; drop schema holdfast cascade; --"));
    keep(path, BODY("{NULL,\"a\",\\N}"));
}
END_TEST

START_TEST(value_of_8_mib)
{
    enum { LIMIT = 8 << 20 };
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    uint8_t *value = malloc(LIMIT + 1);
    for (size_t i = 0; i <= LIMIT; i++)
        value[i] = (uint8_t)(i * 2654435761u >> 16);
    keep(path, bytes_make(value, LIMIT));
    ck_header(HEAD(path), "Content-Length", "8388608");
    struct answer *over = PUT(path, bytes_make(value, LIMIT + 1));
    ck_problem(over, 413, "too_large");
    ck_assert_int_eq(json_integer_value(json_object_get(over->json, "limit")), LIMIT);
    ck_problem(PUT(api_entry(bucket, "new"), bytes_make(value, LIMIT + 1)), 413, "too_large");
    ck_status(GET(api_entry(bucket, "new")), 404);
    ck_assert(answer_is(GET(path), bytes_make(value, LIMIT)));
    free(value);
}
END_TEST

START_TEST(max_value_bytes_is_a_limit)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    ck_status(DECLARE(bucket, "{\"max_value_bytes\":5}"), 201);
    ck_status(PUT(path, BODY("12345")), 201);
    struct answer *over = PUT(path, BODY("123456"));
    ck_problem(over, 413, "too_large");
    ck_assert_int_eq(json_integer_value(json_object_get(over->json, "limit")), 5);
    ck_body(GET(path), BODY("12345"));
    ck_status(DECLARE(bucket, "{\"max_value_bytes\":6}"), 200);
    ck_status(PUT(path, BODY("123456")), 204);
    ck_status(DECLARE(bucket, "{\"max_value_bytes\":1}"), 200);
    ck_body(GET(path), BODY("123456"));
    ck_problem(PUT(path, BODY("12")), 413, "too_large");
}
END_TEST

START_TEST(content_type_defaults)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("v")), 201);
    ck_header(GET(path), "Content-Type", "application/octet-stream");
    ck_status(PUT(path, BODY("v"), "Content-Type: text/html; charset=\"utf-8\""), 204);
    ck_header(GET(path), "Content-Type", "text/html; charset=\"utf-8\"");
    ck_status(PUT(path, BODY("v"), "Content-Type: Application/JSON"), 204);
    ck_header(GET(path), "Content-Type", "Application/JSON");
    ck_status(PUT(path, BODY("v")), 204);
    ck_header(HEAD(path), "Content-Type", "application/octet-stream");
    ck_status(PUT(path, BODY("v"), "Content-Type;"), 204);
    ck_header(GET(path), "Content-Type", "application/octet-stream");
}
END_TEST

START_TEST(content_type_over_256)
{
    const char *path = api_entry(api_bucket(), "k");
    char type[258];
    memset(type, 'x', 257);
    memcpy(type, "text/", 5);
    type[257] = 0;
    ck_over_limit(PUT(path, BODY("v"), TEXT("Content-Type: %s", type)), 413, "too_large", 256);
    ck_status(GET(path), 404);
    type[256] = 0;
    ck_status(PUT(path, BODY("v"), TEXT("Content-Type: %s", type)), 201);
    ck_header(GET(path), "Content-Type", type);
}
END_TEST

START_TEST(content_encoding_is_415)
{
    const char *path = api_entry(api_bucket(), "k");
    static const char *const refused[] = {"gzip",           "br", "deflate", "GZIP", "identity, gzip",
                                          "gzip, identity", "x"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        ck_problem(PUT(path, BODY("v"), TEXT("Content-Encoding: %s", refused[i])), 415, "unsupported_media");
    ck_problem(PUT(path, BODY("v"), "Content-Encoding: identity", "Content-Encoding: gzip"), 415,
               "unsupported_media");
    ck_status(GET(path), 404);
    ck_status(PUT(path, BODY("v"), "Content-Encoding: identity"), 201);
    ck_status(PUT(path, BODY("v"), "Content-Encoding: IDENTITY"), 204);
    ck_header(GET(path), "Content-Encoding", NULL);
}
END_TEST

START_TEST(metadata_round_trip)
{
    const char *path = api_entry(api_bucket(), "k");
    ck_status(PUT(path, BODY("v"), "Holdfast-Meta-A: one",
                  "holdfast-meta-B:  two words \xC3\xA9: , ; = \"q\"  ", "HOLDFAST-META-x.y_z: 3"),
              201);
    struct answer *got = GET(path);
    ck_header(got, "Holdfast-Meta-A", "one");
    ck_header(got, "Holdfast-Meta-B", "two words \xC3\xA9: , ; = \"q\"");
    ck_header(got, "Holdfast-Meta-X.Y_Z", "3");
    ck_header(HEAD(path), "Holdfast-Meta-A", "one");
    ck_status(PUT(path, BODY("v"), "Holdfast-Meta-B: other"), 204);
    got = GET(path);
    ck_header(got, "Holdfast-Meta-A", NULL);
    ck_header(got, "Holdfast-Meta-B", "other");
    ck_status(PUT(path, BODY("v")), 204);
    ck_header(GET(path), "Holdfast-Meta-B", NULL);
}
END_TEST

START_TEST(metadata_limits)
{
    const char *path = api_entry(api_bucket(), "k");
    char value[2050];
    memset(value, 'm', sizeof value);
    value[2048] = 0; // with its name of one byte: one too many
    ck_over_limit(PUT(path, BODY("v"), TEXT("Holdfast-Meta-a: %s", value)), 413, "too_large", 2048);
    ck_problem(PUT(path, BODY("v"), "Holdfast-Meta-A;"), 400, "invalid");
    ck_problem(PUT(path, BODY("v"), "Holdfast-Meta-A: 1", "Holdfast-Meta-a: 2"), 400, "invalid");
    ck_problem(PUT(path, BODY("v"),
                   "Holdfast-Meta-A: a\x01"
                   "b"),
               400, "invalid");
    ck_problem(PUT(path, BODY("v"), "Holdfast-Meta-A: \x7F"), 400, "invalid");
    ck_status(GET(path), 404);
    value[2047] = 0;
    ck_status(PUT(path, BODY("v"), TEXT("Holdfast-Meta-a: %s", value)), 201);
    ck_header(GET(path), "Holdfast-Meta-A", value);
    value[1000] = 0;
    ck_problem(PUT(path, BODY("v"), TEXT("Holdfast-Meta-a: %s", value), TEXT("Holdfast-Meta-b: %s", value),
                   "Holdfast-Meta-c: 0123456789012345678901234567890123456789012345678901234567890"),
               413, "too_large");
}
END_TEST

// JSON-1 (a)
START_TEST(json_numbers_keep_their_text)
{
    const char *bucket = api_bucket();
    ck_status(DECLARE(bucket, "{\"type\":\"json\"}"), 201);
    static const char *const texts[] = {"[17000000000000000000,0.10,1e2,-0]",
                                        "1e400",
                                        "-0.0",
                                        "1E+2",
                                        "{\"id\":9223372036854775808,\"p\":0.657679}",
                                        "12345678901234567890.0"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *path = api_entry(bucket, TEXT("%zu", i));
        ck_status(PUT(path, bytes_of(texts[i]), "Content-Type: application/json"), 201);
        ck_body(GET(path), bytes_of(texts[i]));
    }
}
END_TEST

// JSON-2
START_TEST(json_nul_and_surrogates)
{
    const char *bucket = api_bucket();
    const char *path = api_entry(bucket, "k");
    struct bytes value = BODY("{\"a\\u0000b\":1,\"a\\u0000c\":2,\"s\":\"x\\u0000y\",\"h\":\"\\ud800\"}");
    ck_status(DECLARE(bucket, "{\"type\":\"json\"}"), 201);
    ck_status(PUT(path, value, "Content-Type: application/json"), 201);
    ck_body(GET(path), value);
    ck_problem(PUT(path, BODY("\"\xED\xA0\x80\"")), 422, "type_mismatch");
    ck_problem(PUT(path, BODY("\"a\0b\"")), 422, "type_mismatch");
    ck_body(GET(path), value);
    ck_problem(DECLARE(bucket, "{\"type\":\"json\",\"ttl\":null,\"type\":\"json\"}"), 400, "invalid");
}
END_TEST

enum { WRITERS = 8, ROUNDS = 50 };

struct neighbours {
    const char *bucket;
    const char *url;
    int wrong[WRITERS];
};

// Half of the writers send values that the bucket refuses, and a refusal is nobody else's.
static void write_good_or_bad(size_t index, void *user)
{
    struct neighbours *neighbours = user;
    struct http_client *client = http_client_new(neighbours->url);
    for (int i = 0; i < ROUNDS; i++) {
        const char *path = http_text(client, "/v1/buckets/%s/entries/%zu-%d", neighbours->bucket, index, i);
        const char *value = index % 2 ? http_text(client, "%d", i) : "no number";
        struct answer *answer = http(client, "PUT", path, bytes_of(value));
        neighbours->wrong[index] += answer->status != (index % 2 ? 201 : 422);
    }
    http_client_free(client);
}

START_TEST(refusals_spare_their_neighbours)
{
    struct neighbours neighbours = {.bucket = api_bucket(), .url = service_url(api.service)};
    ck_status(DECLARE(neighbours.bucket, "{\"type\":\"int\"}"), 201);
    parallel_run(WRITERS, write_good_or_bad, &neighbours);
    for (int i = 0; i < WRITERS; i++)
        ck_assert_int_eq(neighbours.wrong[i], 0);
    for (int i = 1; i < WRITERS; i += 2)
        ck_body(GET(api_entry(neighbours.bucket, TEXT("%d-%d", i, ROUNDS - 1))),
                bytes_of(TEXT("%d", ROUNDS - 1)));
}
END_TEST

struct puts {
    const char *path;
    const char *url;
    char versions[WRITERS][ROUNDS][40];
    int created[WRITERS];
};

static void put_often(size_t index, void *user)
{
    struct puts *puts = user;
    struct http_client *client = http_client_new(puts->url);
    for (int i = 0; i < ROUNDS; i++) {
        struct answer *answer =
            http(client, "PUT", puts->path, bytes_of(http_text(client, "%zu-%d", index, i)));
        puts->created[index] += answer->status == 201;
        snprintf(puts->versions[index][i], sizeof puts->versions[0][0], "%s", answer_version(answer));
    }
    http_client_free(client);
}

// Puts of one key that travel together each have a version of their own, exactly one creates, and the highest
// stays.
START_TEST(puts_of_one_key_together)
{
    struct puts *puts = calloc(1, sizeof *puts);
    puts->path = api_entry(api_bucket(), "hot");
    puts->url = service_url(api.service);
    parallel_run(WRITERS, put_often, puts);
    int created = 0;
    int64_t highest = 0;
    const char *winner = "";
    for (int i = 0; i < WRITERS; i++) {
        int64_t before = 0;
        created += puts->created[i];
        for (int j = 0; j < ROUNDS; j++) {
            int64_t version = strtoll(puts->versions[i][j], NULL, 10);
            ck_assert_int_gt(version, before);
            before = version;
            for (int k = 0; k < WRITERS * ROUNDS; k++)
                ck_assert(k == i * ROUNDS + j ||
                          strcmp(puts->versions[k / ROUNDS][k % ROUNDS], puts->versions[i][j]));
            if (version > highest)
                winner = TEXT("%d-%d", i, j);
            highest = version > highest ? version : highest;
        }
    }
    ck_assert_int_eq(created, 1);
    struct answer *got = GET(puts->path);
    ck_body(got, bytes_of(winner));
    ck_assert_str_eq(answer_version(got), TEXT("%lld", (long long)highest));
    free(puts);
}
END_TEST

Suite *entries_suite(void)
{
    const TTest *const tests[] = {
        put_creates_and_replaces, get_entry,
        absent_entry_is_404,      absent_bucket_is_404,
        head_has_true_length,     delete_entry,
        write_has_position,       value_bit_for_bit,
        value_of_8_mib,           max_value_bytes_is_a_limit,
        content_type_defaults,    content_type_over_256,
        content_encoding_is_415,  metadata_round_trip,
        metadata_limits,          json_numbers_keep_their_text,
        json_nul_and_surrogates,  refusals_spare_their_neighbours,
        puts_of_one_key_together, NULL,
    };
    return api_suite("entries", NULL, tests);
}
