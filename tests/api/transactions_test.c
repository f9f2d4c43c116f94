// Transactions: all or nothing, checks on the state before, operations in order, refusals by index.
#include "transaction_steps.h"

#include <stdio.h>

// --- each operation
// --------------------------------------------------------------------------------------------------

START_TEST(transaction_does_each_operation)
{
    database_stop_clock(&api.database, START);
    const char *a = bucket_of_type("any");
    const char *b = api_bucket(); // declared by the transaction
    struct answer *gone = PUT(api_entry(a, "gone"), BODY("x"));
    struct answer *taken =
        PUT(TEXT("%s?ttl=1h", api_entry(a, "taken")), BODY("t"), "Content-Type: text/plain");
    struct answer *patched =
        PUT(api_entry(a, "patched"), BODY("{\"a\":1.0,\"b\":2}"), "Content-Type: application/json");
    struct answer *expiring = PUT(api_entry(a, "expiring"), BODY("e"));
    ck_status(PUT(api_entry(a, "sum"), BODY("5")), 201);
    struct answer *answer = transact(
        TEXT("%s,\"version\":\"%s\"},%s,\"absent\":true}", item_at(a, "gone"), answer_version(gone),
             item_at(b, "new")),
        TEXT(
            "%s,\"op\":\"put\",\"value\":{ \"n\":1e400},\"ttl\":\"1m\",\"metadata\":{\"by\":\"ann\"}},"
            "%s,\"op\":\"delete\"},%s,\"op\":\"take\"},%s,\"op\":\"patch\",\"value\":{\"b\":null,\"c\":3.0}},"
            "%s,\"op\":\"add\",\"by\":-7},%s,\"op\":\"expiry\",\"expires_at\":\"2030-01-01T02:00:00Z\"},"
            "%s,\"op\":\"put\",\"base64\":\"/"
            "wA=\"},%s,\"op\":\"put\",\"text\":\"h\\u00e9\",\"content_type\":\"text/html\"}",
            item_at(b, "new"), item_at(a, "gone"), item_at(a, "taken"), item_at(a, "patched"),
            item_at(a, "sum"), item_at(a, "expiring"), item_at(b, "bytes"), item_at(b, "text")));
    ck_status(answer, 200);
    ck_assert_pstr_eq(answer_text(answer, "position"), answer_need(answer, "Holdfast-Position"));
    ck_reply(answer, json_array_size(json_object_get(answer->json, "results")) == 8);

    struct answer *got = GET(api_entry(b, "new"));
    ck_body(got, BODY("{ \"n\":1e400}"));
    ck_header(got, "Content-Type", "application/json");
    ck_header(got, "Holdfast-Meta-by", "ann");
    ck_header(got, "Holdfast-Expires-At", "2030-01-01T00:01:00.000000Z");
    ck_assert_pstr_eq(answer_version(got), result_text(answer, 0, "version"));
    ck_assert_pstr_eq(result_text(answer, 0, "expires_at"), "2030-01-01T00:01:00.000000Z");

    ck_status(GET(api_entry(a, "gone")), 404);
    ck_reply(answer, json_is_null(json_object_get(json_array_get(json_object_get(answer->json, "results"), 1),
                                                  "version")));
    ck_status(GET(api_entry(a, "taken")), 404);
    ck_assert_pstr_eq(result_text(answer, 2, "text"), "t");
    ck_assert_pstr_eq(result_text(answer, 2, "version"), answer_version(taken));
    ck_assert_pstr_eq(result_text(answer, 2, "expires_at"), "2030-01-01T01:00:00.000000Z");
    ck_assert_pstr_eq(result_text(answer, 2, "bucket"), a);

    got = GET(api_entry(a, "patched"));
    ck_body(got, BODY("{\"a\":1.0,\"c\":3.0}"));
    ck_assert_pstr_eq(answer_version(got), result_text(answer, 3, "version"));
    ck_assert_pstr_ne(answer_version(got), answer_version(patched));
    ck_body(GET(api_entry(a, "sum")), BODY("-2"));
    ck_reply(answer, strstr((const char *)answer->body.data, "\"value\":-2,") != NULL);
    got = GET(api_entry(a, "expiring"));
    ck_header(got, "Holdfast-Expires-At", "2030-01-01T02:00:00.000000Z");
    ck_assert_pstr_eq(answer_version(got), answer_version(expiring));
    ck_assert_pstr_eq(result_text(answer, 5, "version"), answer_version(expiring));
    ck_body(GET(api_entry(b, "bytes")), BODY("\xFF\0"));
    ck_header(GET(api_entry(b, "bytes")), "Content-Type", "application/octet-stream");
    ck_body(GET(api_entry(b, "text")), BODY("h\xC3\xA9"));
    ck_header(GET(api_entry(b, "text")), "Content-Type", "text/html");
    database_shift_clock(&api.database, 0);
}
END_TEST

START_TEST(transaction_keeps_the_expiry_as_single_writes_do)
{
    database_stop_clock(&api.database, START);
    const char *bucket = api_bucket();
    ck_status(DECLARE(bucket, "{\"ttl\":\"1h\"}"), 201);
    ck_status(PUT(TEXT("%s?ttl=1m", api_entry(bucket, "live")), BODY("1")), 201);
    struct answer *answer =
        transact(NULL, TEXT("%s,\"op\":\"put\",\"value\":2},%s,\"op\":\"put\",\"value\":2},"
                            "%s,\"op\":\"put\",\"value\":2,\"persist\":true},"
                            "%s,\"op\":\"add\",\"ttl\":\"5m\"},%s,\"op\":\"add\",\"ttl\":\"9m\"}",
                            item_at(bucket, "live"), item_at(bucket, "new"), item_at(bucket, "kept"),
                            item_at(bucket, "sum"), item_at(bucket, "live")));
    ck_status(answer, 200);
    ck_header(GET(api_entry(bucket, "live")), "Holdfast-Expires-At", "2030-01-01T00:01:00.000000Z");
    ck_header(GET(api_entry(bucket, "new")), "Holdfast-Expires-At", "2030-01-01T01:00:00.000000Z");
    ck_header(GET(api_entry(bucket, "kept")), "Holdfast-Expires-At", NULL);
    ck_header(GET(api_entry(bucket, "sum")), "Holdfast-Expires-At", "2030-01-01T00:05:00.000000Z");
    ck_body(GET(api_entry(bucket, "live")), BODY("3"));
    database_shift_clock(&api.database, 0);
}
END_TEST

// --- order
// -----------------------------------------------------------------------------------------------------------

START_TEST(operations_on_one_key_apply_in_order)
{
    const char *b = bucket_of_type("any");
    ck_status(PUT(api_entry(b, "n"), BODY("1"), "Content-Type: application/json"), 201);
    struct answer *answer = transact(
        NULL,
        TEXT("%s,\"op\":\"add\",\"by\":2},%s,\"op\":\"add\",\"by\":3},%s,\"op\":\"take\"},"
             "%s,\"op\":\"put\",\"value\":{\"a\":1},\"if_absent\":true},%s,\"op\":\"patch\",\"value\":{\"b\":"
             "2}},"
             "%s,\"op\":\"patch\",\"value\":{\"a\":null,\"c\":[3.0]}},%s,\"op\":\"delete\"},"
             "%s,\"op\":\"patch\",\"value\":{\"z\":0},\"upsert\":true},%s,\"op\":\"expiry\",\"ttl\":\"1h\"}",
             item_at(b, "n"), item_at(b, "n"), item_at(b, "n"), item_at(b, "n"), item_at(b, "n"),
             item_at(b, "n"), item_at(b, "other"), item_at(b, "n"), item_at(b, "n")));
    // The delete of another key that is absent refuses all.
    ck_item_problem(answer, 404, "not_found", "operations", 6);
    ck_body(GET(api_entry(b, "n")), BODY("1"));

    answer =
        transact(NULL, TEXT("%s,\"op\":\"add\",\"by\":2},%s,\"op\":\"add\",\"by\":3},%s,\"op\":\"take\"},"
                            "%s,\"op\":\"put\",\"value\":{\"a\":1},\"if_absent\":true},%s,\"op\":\"patch\","
                            "\"value\":{\"b\":2}},"
                            "%s,\"op\":\"patch\",\"value\":{\"a\":null,\"c\":[3.0]}}",
                            item_at(b, "n"), item_at(b, "n"), item_at(b, "n"), item_at(b, "n"),
                            item_at(b, "n"), item_at(b, "n")));
    ck_status(answer, 200);
    ck_body(GET(api_entry(b, "n")), BODY("{\"b\":2,\"c\":[3.0]}"));
    json_t *results = json_object_get(answer->json, "results");
    ck_reply(answer, json_integer_value(json_object_get(json_array_get(results, 0), "value")) == 3);
    ck_reply(answer, json_integer_value(json_object_get(json_array_get(results, 1), "value")) == 6);
    ck_reply(answer, json_integer_value(json_object_get(json_array_get(results, 2), "value")) == 6);
    ck_assert_pstr_eq(result_text(answer, 5, "version"), answer_version(GET(api_entry(b, "n"))));
    ck_assert_pstr_ne(result_text(answer, 4, "version"), result_text(answer, 5, "version"));
}
END_TEST

// A check sees what was there before, also when an operation writes its key; a condition sees what is there
// in its turn.
START_TEST(checks_see_the_state_before)
{
    const char *b = bucket_of_type("int");
    const char *k = item_at(b, "k");
    struct answer *answer =
        transact(TEXT("%s,\"absent\":true}", k),
                 TEXT("%s,\"op\":\"put\",\"value\":1},%s,\"op\":\"put\",\"value\":2}", k, k));
    ck_status(answer, 200);
    const char *version = result_text(answer, 1, "version");
    ck_assert_pstr_eq(answer_version(GET(api_entry(b, "k"))), version);
    ck_item_problem(transact(TEXT("%s,\"absent\":true}", k), TEXT("%s,\"op\":\"delete\"}", k)), 412,
                    "version_conflict", "checks", 0);
    answer = transact(
        TEXT("%s,\"version\":\"%s\"}", k, version),
        TEXT("%s,\"op\":\"delete\",\"if_version\":\"%s\"},%s,\"op\":\"put\",\"value\":3,\"if_absent\":true},"
             "%s,\"op\":\"add\",\"if_version\":\"%s\"}",
             k, version, k, k, version));
    ck_item_problem(answer, 412, "version_conflict", "operations", 2);
    ck_assert_pstr_ne(answer_text(answer, "current_version"), version); // of the put before it
    ck_body(GET(api_entry(b, "k")), BODY("2"));
    ck_status(transact(TEXT("%s,\"version\":\"%s\"}", k, version),
                       TEXT("%s,\"op\":\"delete\"},%s,\"op\":\"put\",\"value\":3,\"if_absent\":true}", k, k)),
              200);
    ck_body(GET(api_entry(b, "k")), BODY("3"));
}
END_TEST

// CAS-2: absence is said in one way and needs no write.
START_TEST(checks_alone_are_a_transaction)
{
    database_stop_clock(&api.database, START);
    const char *b = bucket_of_type("any");
    ck_status(PUT(api_entry(b, "deleted"), BODY("x")), 201);
    ck_status(DELETE(api_entry(b, "deleted")), 204);
    ck_status(PUT(TEXT("%s?ttl=1s", api_entry(b, "expired")), BODY("x")), 201);
    database_stop_clock(&api.database, START + 2 * SECOND);
    struct answer *live = PUT(api_entry(b, "live"), BODY("x"));
    const char *absent[] = {"never", "deleted", "expired"};
    for (size_t i = 0; i < 3; i++) {
        struct answer *answer = transact(TEXT("%s,\"absent\":true}", item_at(b, absent[i])), NULL);
        ck_status(answer, 200);
        ck_reply(answer, answer_text(answer, "position") != NULL);
        ck_reply(answer, json_array_size(json_object_get(answer->json, "results")) == 0);
        answer = transact(TEXT("%s,\"version\":\"%s\"}", item_at(b, absent[i]), answer_version(live)), NULL);
        ck_item_problem(answer, 412, "version_conflict", "checks", 0);
        ck_reply(answer, json_is_null(json_object_get(answer->json, "current_version")));
    }
    ck_status(transact(TEXT("%s,\"absent\":true}", item_at(api_bucket(), "k")), NULL), 200);
    struct answer *answer = transact(TEXT("%s,\"absent\":true}", item_at(b, "live")), NULL);
    ck_item_problem(answer, 412, "version_conflict", "checks", 0);
    ck_assert_pstr_eq(answer_text(answer, "current_version"), answer_version(live));
    ck_invalid(transact(TEXT("%s,\"absent\":true,\"version\":\"1\"}", item_at(b, "live")), NULL), "version");
    ck_invalid(transact(TEXT("%s}", item_at(b, "live")), NULL), "version");
    ck_invalid(transact(TEXT("%s,\"absent\":false}", item_at(b, "live")), NULL), "version");
    ck_invalid(transact(TEXT("%s,\"version\":null}", item_at(b, "live")), NULL), "version");
    database_shift_clock(&api.database, 0);
}
END_TEST

// --- refusals
// --------------------------------------------------------------------------------------------------------

// Every refusal names its operation, and neither the ones before it nor a declaration stays.
START_TEST(one_bad_operation_changes_nothing)
{
    PGconn *connection = database_connect(&api.database);
    const char *any = bucket_of_type("any"), *ints = bucket_of_type("int"), *bools = bucket_of_type("bool");
    const char *small = api_bucket(), *other = api_bucket(), *fresh = api_bucket();
    ck_status(DECLARE(small, "{\"max_value_bytes\":4}"), 201);
    declare_other_kind(connection, other);
    struct answer *live = PUT(api_entry(any, "live"), BODY("text"));
    ck_status(PUT(api_entry(ints, "top"), BODY("9223372036854775807")), 201);
    ck_status(PUT(api_entry(any, "twice"), BODY("{\"a\":1,\"a\":2}")), 201);
    const struct {
        const char *bucket, *key, *rest;
        int status;
        const char *kind;
    } rows[] = {
        {ints, "k", "\"op\":\"put\",\"value\":1.5", 422, "type_mismatch"},
        {bools, "k", "\"op\":\"put\",\"text\":\"yes\"", 422, "type_mismatch"},
        {bools, "k", "\"op\":\"add\"", 422, "type_mismatch"},
        {any, "live", "\"op\":\"add\"", 422, "type_mismatch"},
        {ints, "top", "\"op\":\"add\"", 422, "overflow"},
        {small, "k", "\"op\":\"put\",\"text\":\"12345\"", 413, "too_large"},
        {other, "k", "\"op\":\"put\",\"value\":1", 409, "kind_mismatch"},
        {other, "k", "\"op\":\"patch\",\"value\":{}", 409, "kind_mismatch"},
        {any, "none", "\"op\":\"delete\"", 404, "not_found"},
        {any, "none", "\"op\":\"take\"", 404, "not_found"},
        {any, "none", "\"op\":\"expiry\",\"ttl\":\"1s\"", 404, "not_found"},
        {any, "none", "\"op\":\"patch\",\"value\":{}", 404, "not_found"},
        {any, "live", "\"op\":\"patch\",\"value\":{}", 422, "unprocessable"},
        {any, "twice", "\"op\":\"patch\",\"value\":{\"b\":1}", 422, "unprocessable"},
        {any, "k", "\"op\":\"put\",\"value\":1,\"expires_at\":\"2001-01-01T00:00:00Z\"", 400, "invalid"},
        {any, "live", "\"op\":\"put\",\"value\":1,\"if_absent\":true", 412, "version_conflict"},
        {any, "live", "\"op\":\"delete\",\"if_version\":\"no version\"", 412, "version_conflict"},
        {any, "none", "\"op\":\"take\",\"if_version\":\"1\"", 412, "version_conflict"},
        {"undeclared", "k", "\"op\":\"delete\"", 404, "not_found"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        // Once beside distinct keys, once behind a second operation on a key of its own.
        for (int run = 0; run < 2; run++) {
            const char *before = TEXT("%s,\"op\":\"put\",\"value\":1},%s,\"op\":\"put\",\"value\":2}",
                                      item_at(fresh, "first"), item_at(fresh, run ? "first" : "second"));
            struct answer *answer =
                transact(TEXT("%s,\"version\":\"%s\"}", item_at(any, "live"), answer_version(live)),
                         TEXT("%s,%s,%s},%s,\"op\":\"delete\"}", before, item_at(rows[i].bucket, rows[i].key),
                              rows[i].rest, item_at(any, "live2")));
            ck_item_problem(answer, rows[i].status, rows[i].kind, "operations", 2);
            ck_header(answer, "Holdfast-Position", NULL);
            ck_status(GET(TEXT("/v1/buckets/%s", fresh)), 404);
        }
    }
    ck_assert_pstr_eq(answer_version(GET(api_entry(any, "live"))), answer_version(live));
    ck_status(GET("/v1/buckets/undeclared"), 404);
    PQfinish(connection);
}
END_TEST

START_TEST(transaction_refuses_what_is_malformed)
{
    static const char *const operations[][2] = {
        {"5", "op"},
        {"{}", "op"},
        {"{\"op\":\"insert\",\"bucket\":\"b\",\"key\":\"k\"}", "op"},
        {"{\"op\":\"put\",\"key\":\"k\",\"value\":1}", "bucket"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"value\":1}", "key"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\"}", "value"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"text\":\"x\"}", "value"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"text\":5}", "text"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"text\":null}", "text"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"base64\":\"%\"}", "base64"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"ttl\":\"0s\"}", "ttl"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"ttl\":\"1s\",\"persist\":true}",
         "ttl"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"expires_at\":\"soon\"}", "expires_at"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"content_type\":\"\"}", "content_type"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"content_type\":\"a\\nb\"}",
         "content_type"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"metadata\":[]}", "metadata"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"metadata\":{\"a b\":\"c\"}}",
         "metadata"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"metadata\":{\"a\":\"c\\r\\nd\"}}",
         "metadata"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"metadata\":{\"A\":\"c\"}}",
         "metadata"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"metadata\":{\"a\":\"\"}}", "metadata"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"if_version\":null}", "if_version"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"if_absent\":1}", "if_absent"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"if_version\":\"1\",\"if_absent\":"
         "true}",
         "if_absent"},
        {"{\"op\":\"put\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1,\"fence_token\":\"1\"}", "fence_token"},
        {"{\"op\":\"delete\",\"bucket\":\"b\",\"key\":\"k\",\"if_absent\":true}", "if_absent"},
        {"{\"op\":\"delete\",\"bucket\":\"b\",\"key\":\"k\",\"ttl\":\"1s\"}", "ttl"},
        {"{\"op\":\"take\",\"bucket\":\"b\",\"key\":\"k\",\"value\":1}", "value"},
        {"{\"op\":\"patch\",\"bucket\":\"b\",\"key\":\"k\"}", "value"},
        {"{\"op\":\"patch\",\"bucket\":\"b\",\"key\":\"k\",\"value\":{},\"upsert\":\"yes\"}", "upsert"},
        {"{\"op\":\"add\",\"bucket\":\"b\",\"key\":\"k\",\"by\":\"1\"}", "by"},
        {"{\"op\":\"add\",\"bucket\":\"b\",\"key\":\"k\",\"by\":null}", "by"},
        {"{\"op\":\"expiry\",\"bucket\":\"b\",\"key\":\"k\"}", "ttl"},
    };
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        struct answer *answer = transact(
            NULL, TEXT("{\"op\":\"add\",\"bucket\":\"malformed\",\"key\":\"k\"},%s", operations[i][0]));
        ck_invalid(answer, operations[i][1]);
        ck_item_problem(answer, 400, "invalid", "operations", 1);
    }
    static const char *const bodies[][2] = {
        {"{}", "operations"},
        {"{\"operations\":[]}", "operations"},
        {"{\"operations\":{}}", "operations"},
        {"{\"checks\":5}", "checks"},
        {"{\"checks\":[],\"fence_key\":\"k\"}", "fence_key"},
        {"[]", "body"},
        {"{\"checks\":[],\"checks\":[]}", "body"},
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        ck_invalid(POST("/v1/transactions", bytes_of(bodies[i][0])), bodies[i][1]);
    ck_invalid(POST("/v1/transactions?fence_token=1", BODY("{}")), "fence_token");
    static const char *const too_far[] = {"9223372036854775808", "1e400", "-1e999"};
    for (size_t i = 0; i < 3; i++)
        ck_item_problem(
            transact(NULL,
                     TEXT("{\"op\":\"add\",\"bucket\":\"malformed\",\"key\":\"k\",\"by\":%s}", too_far[i])),
            422, "overflow", "operations", 0);
    ck_status(GET("/v1/buckets/malformed"), 404);
}
END_TEST

// --- sizes
// -----------------------------------------------------------------------------------------------------------

// The text of a transaction of `count` puts, and what follows them; to be freed.
static char *puts_of(const char *bucket, int count, const char *last)
{
    char *body;
    size_t size;
    FILE *out = open_memstream(&body, &size);
    fputs("{\"operations\":[", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"%d\",\"value\":%d}", i ? "," : "", bucket,
                i, i);
    fprintf(out, "%s]}", last);
    fclose(out);
    return body;
}

static struct answer *transact_text(char *body)
{
    struct answer *answer = POST("/v1/transactions", bytes_of(body));
    free(body);
    return answer;
}

START_TEST(transaction_of_a_thousand_operations)
{
    PGconn *connection = database_connect(&api.database);
    const char *bucket = bucket_of_type("int");
    ck_item_problem(
        transact_text(puts_of(bucket, 999, ",{\"op\":\"delete\",\"bucket\":\"none\",\"key\":\"k\"}")), 404,
        "not_found", "operations", 999);
    ck_assert_int_eq(rows_of(connection, bucket), 0);
    struct answer *answer = transact_text(
        puts_of(bucket, 999, TEXT(",{\"op\":\"add\",\"bucket\":\"%s\",\"key\":\"0\",\"by\":5}", bucket)));
    ck_status(answer, 200);
    ck_assert_int_eq(rows_of(connection, bucket), 999);
    ck_body(GET(api_entry(bucket, "0")), BODY("5"));
    json_t *results = json_object_get(answer->json, "results"), *result;
    size_t n;
    int64_t last = 0;
    json_array_foreach(results, n, result) // in order, each with a version of its own
    {
        int64_t version = atoll(json_string_value(json_object_get(result, "version")));
        ck_assert_int_gt(version, last);
        last = version;
    }
    ck_assert_uint_eq(n, 1000);
    ck_over_limit(transact_text(puts_of(bucket, 1001, "")), 413, "too_large", 1000);
    PQfinish(connection);
}
END_TEST

START_TEST(transaction_of_large_values)
{
    const char *bucket = bucket_of_type("any");
    size_t large = 6 << 20;
    char *text = malloc(large + 1);
    memset(text, 'x', large);
    text[large] = 0;
    char *body;
    ck_assert_int_gt(
        asprintf(&body,
                 "{\"operations\":[{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"a\",\"text\":\"%s\"},"
                 "{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"b\",\"text\":\"%s\"}]}",
                 bucket, text, bucket, text),
        0);
    ck_status(transact_text(body), 200);
    struct answer *answer = transact(
        NULL, TEXT("%s,\"op\":\"take\"},%s,\"op\":\"take\"}", item_at(bucket, "a"), item_at(bucket, "b")));
    ck_status(answer, 200);
    ck_reply(answer, strlen(result_text(answer, 1, "text")) == large);
    ck_status(GET(api_entry(bucket, "a")), 404);
    for (int i = 0; i < 3; i++)
        ck_status(PUT(api_entry(bucket, TEXT("%d", i)), bytes_make(text, large)), 201);
    ck_over_limit(transact(NULL, TEXT("%s,\"op\":\"take\"},%s,\"op\":\"take\"},%s,\"op\":\"take\"}",
                                      item_at(bucket, "0"), item_at(bucket, "1"), item_at(bucket, "2"))),
                  413, "too_large", 16 << 20);
    ck_status(GET(api_entry(bucket, "0")), 200);
    free(text);
}
END_TEST

// --- every type
// ------------------------------------------------------------------------------------------------------

START_TEST(transaction_writes_every_type)
{
    static const char *const rows[][3] = {
        {"any", "\"text\":\"x\"", "x"},     {"json", "\"value\":{\"a\": 1.0}", "{\"a\": 1.0}"},
        {"text", "\"text\":\"t\"", "t"},    {"bytes", "\"base64\":\"Yg==\"", "b"},
        {"int", "\"value\":-12", "-12"},    {"float", "\"value\":1e2", "1e2"},
        {"bool", "\"value\":true", "true"}, {"none", "\"base64\":\"\"", ""},
    };
    const char *operations = "";
    const char *buckets[8];
    for (size_t i = 0; i < 8; i++) {
        buckets[i] = bucket_of_type(rows[i][0]);
        operations =
            TEXT("%s%s%s,\"op\":\"put\",%s}", operations, i ? "," : "", item_at(buckets[i], "k"), rows[i][1]);
    }
    ck_status(transact(NULL, operations), 200);
    for (size_t i = 0; i < 8; i++)
        ck_body(GET(api_entry(buckets[i], "k")), bytes_of(rows[i][2]));
    // A bucket whose type changed since it was last heard of is asked for again, not guessed.
    for (size_t i = 0; i < 8; i++) {
        const char *changed = bucket_of_type("bool");
        ck_item_problem(transact(NULL, TEXT("%s,\"op\":\"put\",\"value\":1}", item_at(changed, "k"))), 422,
                        "type_mismatch", "operations", 0);
        ck_status(PUT(TEXT("/v1/buckets/%s", changed), bytes_of(TEXT("{\"type\":\"%s\"}", rows[i][0]))), 200);
        ck_status(transact(NULL, TEXT("%s,\"op\":\"put\",%s}", item_at(changed, "k"), rows[i][1])), 200);
    }
}
END_TEST

// --- retries, waits
// ----------------------------------------------------------------------------------------------------

START_TEST(keyed_transaction_is_done_once)
{
    const char *b = bucket_of_type("any");
    const char *key = TEXT("Idempotency-Key: %s", b);
    struct bytes body =
        bytes_of(TEXT("{\"operations\":[%s,\"op\":\"add\",\"by\":10},%s,\"op\":\"add\",\"by\":10},"
                      "%s,\"op\":\"patch\",\"value\":{\"n\":1},\"upsert\":true}]}",
                      item_at(b, "n"), item_at(b, "n"), item_at(b, "p")));
    struct answer *first = POST("/v1/transactions", body, key);
    struct answer *again = POST("/v1/transactions", body, key);
    ck_status(first, 200);
    ck_status(again, 200);
    ck_header(again, "Holdfast-Replayed", "true");
    ck_body(again, first->body);
    ck_body(GET(api_entry(b, "n")), BODY("20"));
    ck_problem(POST("/v1/transactions", BODY("{\"checks\":[]}"), key), 422, "idempotency_mismatch");
    // A refusal is not kept, and what it declared is not there.
    const char *fresh = api_bucket();
    key = TEXT("Idempotency-Key: %s", fresh);
    body = bytes_of(TEXT("{\"operations\":[%s,\"op\":\"put\",\"value\":1},%s,\"op\":\"delete\"}]}",
                         item_at(fresh, "a"), item_at(b, "late")));
    ck_item_problem(POST("/v1/transactions", body, key), 404, "not_found", "operations", 1);
    ck_status(GET(TEXT("/v1/buckets/%s", fresh)), 404);
    ck_status(PUT(api_entry(b, "late"), BODY("x")), 201);
    ck_status(POST("/v1/transactions", body, key), 200);
    ck_body(GET(api_entry(fresh, "a")), BODY("1"));
}
END_TEST

START_TEST(transaction_tells_those_who_wait)
{
    const char *a = bucket_of_type("any"), *b = bucket_of_type("any");
    PGconn *ear = database_connect(&api.database);
    sql_run(ear, "listen holdfast");
    sql_run(ear, "select pg_advisory_lock_shared(7240004, hashtext('%s'))", b);
    ck_status(transact(NULL, TEXT("%s,\"op\":\"put\",\"value\":1},%s,\"op\":\"put\",\"value\":1}",
                                  item_at(a, "k"), item_at(b, "k"))),
              200);
    sql_run(ear, "notify holdfast, 'end'");
    int told = 0;
    for (PGnotify *one; (one = PQnotifies(ear));) {
        told += one->extra[0] != '!' && strcmp(one->extra, "end") != 0;
        PQfreemem(one);
    }
    ck_assert_int_eq(told, 1); // of the bucket that somebody waits on
    PQfinish(ear);
}
END_TEST

Suite *transactions_suite(void)
{
    const TTest *const tests[] = {
        transaction_does_each_operation,
        transaction_keeps_the_expiry_as_single_writes_do,
        operations_on_one_key_apply_in_order,
        checks_see_the_state_before,
        checks_alone_are_a_transaction,
        one_bad_operation_changes_nothing,
        transaction_refuses_what_is_malformed,
        transaction_of_a_thousand_operations,
        transaction_of_large_values,
        transaction_writes_every_type,
        keyed_transaction_is_done_once,
        transaction_tells_those_who_wait,
        NULL,
    };
    return api_suite("transactions", NULL, tests);
}
