// The client that moves whole stores: a dump has everything that lists have, a load writes it all, and both
// go on where they broke off.
#include "client_steps.h"

#include "support/clock.h"
#include "support/process.h"
#include "support/scratch.h"

#include <stdio.h>

enum { MANY = 2500 };

// Keys, as they go on the wire, with a branch each, that are hard on a line of JSON.
static const char *const places[] = {"k",
                                     "a%2Fb",
                                     "a%252Fb",
                                     "%FF%00",
                                     "%C3%A9",
                                     "k?under=ann",
                                     "k?under=ann&under=%FE",
                                     "%22%5C%0A?under=a%2Fb",
                                     "zz?under=x&under=y&under=z"};

static const struct {
    struct bytes value;
    const char *type;
} values[] = {
    {{(const uint8_t *)"\0\xFF\n", 3}, "application/octet-stream"},
    {{(const uint8_t *)"hello \"you\"\r\n", 13}, "text/plain; charset=utf-8"},
    {{(const uint8_t *)" {\"a\": 12345678901234567890,\n\"b\":1e400}\t", 41}, "application/json"},
    {{(const uint8_t *)"{\"a\":[1,2.50]}", 14}, "application/ld+json"},
    {{(const uint8_t *)"{not json", 9}, "application/json"},
    {{(const uint8_t *)"", 0}, "text/plain"},
};

enum { PLACES = sizeof places / sizeof places[0], VALUES = sizeof values / sizeof values[0] };

struct store {
    struct database database;
    struct service *service;
    struct http_client *client;
};

static struct store open_store(void)
{
    struct store store = {.database = database_new(api.postgres, DATABASE_MIGRATED)};
    store.service = service_start(&(struct service_options){.database = store.database.url});
    store.client = http_client_new(service_url(store.service));
    return store;
}

static void close_store(struct store *store)
{
    http_client_free(store->client);
    service_end(store->service);
    database_drop(api.postgres, &store->database);
}

static void declare(const char *target, const char *body)
{
    ck_status(PUT(target, bytes_of(body), "Content-Type: application/json"), 201);
}

// Every kind of name, and entries with everything that an entry has.
static void fill(const char *b)
{
    declare(TEXT("/v1/buckets/%s-ttl", b), "{\"type\":\"int\",\"ttl\":\"1d\",\"max_value_bytes\":100}");
    declare(TEXT("/v1/buckets/%s-idle", b), "{\"type\":\"text\",\"idle\":\"1h\"}");
    declare(TEXT("/v1/buckets/%s-none%%2F%%C3%%A9", b), "{\"type\":\"none\"}");
    declare(TEXT("/v1/buckets/%s-empty", b), "{}");
    declare(TEXT("/v1/counters/%s-counter", b), "{\"ttl\":\"15m\",\"lose_at_most\":\"1s\"}");
    declare(TEXT("/v1/rate-limits/%s-rate", b), "{\"rate\":\"100/s\",\"burst\":20}");
    declare(TEXT("/v1/quotas/%s-quota", b), "{\"windows\":{\"session\":\"3/5h\",\"weekly\":\"300/7d\"}}");
    declare(TEXT("/v1/once/%s-once", b), "{\"ttl\":\"2d\",\"run_ttl\":\"5m\"}");
    for (int i = 0; i < PLACES * VALUES; i++) {
        const char *key = places[i % PLACES], *query = strchr(key, '?');
        int path = query ? (int)(query - key) : (int)strlen(key);
        const char *expiry = i % 4 == 0   ? "ttl=3d"
                             : i % 4 == 1 ? "expires_at=2031-01-01T00:00:00.123456Z"
                                          : "persist=true";
        const char *target = TEXT("%s%.*s-%d%s%s%s", api_entry(b, ""), path, key, i, query ? query : "?",
                                  query ? "&" : "", expiry);
        ck_status(PUT(target, values[i % VALUES].value, TEXT("Content-Type: %s", values[i % VALUES].type),
                      i % 3 ? "Holdfast-Meta-by: ann" : "X: y",
                      i % 5 ? "Holdfast-Meta-note: \"q\": \xC3\xA9" : "X2: y"),
                  201);
    }
    ck_status(PUT(api_entry(TEXT("%s-ttl", b), "lives"), BODY("-12")), 201);
    ck_status(PUT(TEXT("%s?persist=true", api_entry(TEXT("%s-ttl", b), "stays")), BODY("7")), 201);
    ck_status(PUT(api_entry(TEXT("%s-idle", b), "session"), BODY("x")), 201);
    ck_status(PUT(api_entry(TEXT("%s-none%%2F%%C3%%A9", b), "member"), BODY("")), 201);
}

// The list without what a load cannot give back: versions, and when a name was made.
static json_t *comparable(struct http_client *client, const char *target, const char *member,
                          const char *left_out)
{
    struct answer *list = http(client, "GET", target, NO_BODY);
    ck_status(list, 200);
    ck_reply(list, json_is_null(json_object_get(list->json, "cursor")));
    json_t *items = json_deep_copy(json_object_get(list->json, member)), *item;
    size_t i;
    json_array_foreach(items, i, item) json_object_del(item, left_out);
    return items;
}

static void ck_same(struct http_client *there, const char *target, const char *member, const char *left_out)
{
    json_t *a = comparable(api.client, target, member, left_out),
           *b = comparable(there, target, member, left_out);
    if (!json_equal(a, b))
        ck_abort_msg("%s differs: %s\n%s", target, json_dumps(a, 0), json_dumps(b, 0));
    ck_assert(json_array_size(a) > 0);
    json_decref(a);
    json_decref(b);
}

START_TEST(client_load_gives_back_what_was_dumped)
{
    const char *b = api_bucket();
    fill(b);
    struct store there = open_store();
    ck_code(CLIENT("dump", "--file", "dump"), 0);
    ck_code(CLIENT("load", "dump", "--url", service_url(there.service)), 0);
    ck_same(there.client, TEXT("/v1/buckets?prefix=%s&limit=1000", b), "buckets", "created_at");
    ck_same(there.client, TEXT("/v1/buckets/%s/entries?below=true&metadata=true&limit=1000", b), "entries",
            "version");
    ck_same(there.client, TEXT("/v1/buckets/%s-ttl/entries?metadata=true", b), "entries", "version");
    ck_same(there.client, TEXT("/v1/buckets/%s-none%%2F%%C3%%A9/entries", b), "entries", "version");
    // Key by key as well: bytes, content type, expiry, metadata.
    for (int i = 0; i < PLACES * VALUES; i++) {
        const char *key = places[i % PLACES], *query = strchr(key, '?');
        int path = query ? (int)(query - key) : (int)strlen(key);
        const char *target = TEXT("%s%.*s-%d%s", api_entry(b, ""), path, key, i, query ? query : "");
        struct answer *here = GET(target), *got = http(there.client, "GET", target, NO_BODY);
        ck_status(got, 200);
        ck_body(got, here->body);
        static const char *const headers[] = {"Content-Type", "Holdfast-Expires-At", "Holdfast-Meta-by",
                                              "Holdfast-Meta-note"};
        for (size_t h = 0; h < sizeof headers / sizeof headers[0]; h++)
            ck_header(got, headers[h], answer_header(here, headers[h]));
        ck_assert_str_ne(answer_version(got), answer_version(here));
    }
    // A session goes on living for as long as it is read.
    struct answer *idle = http(there.client, "GET", api_entry(TEXT("%s-idle", b), "session"), NO_BODY);
    ck_status(idle, 200);
    ck_assert_ptr_nonnull(answer_header(idle, "Holdfast-Expires-At"));
    // Loading twice, from standard input too, is loading once.
    char *dump = scratch_printf("%s/dump", client_folder());
    size_t size;
    char *text = scratch_read(dump, &size);
    ck_code(CLIENT_FED(bytes_make(text, size), "load", "--url", service_url(there.service)), 0);
    ck_same(there.client, TEXT("/v1/buckets/%s/entries?below=true&metadata=true&limit=1000", b), "entries",
            "version");
    free(text);
    free(dump);
    close_store(&there);
}
END_TEST

static void put_many(const char *bucket)
{
    const char *operations = "";
    for (int i = 0; i < MANY; i++) {
        operations = TEXT("%s%s{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"%06d\",\"value\":%d}", operations,
                          *operations ? "," : "", bucket, i, i);
        if (i % 500 < 499)
            continue;
        ck_status(http(api.client, "POST", "/v1/transactions",
                       bytes_of(TEXT("{\"operations\":[%s]}", operations)), "Content-Type: application/json"),
                  200);
        operations = "";
    }
}

static char *file_text(const char *name, size_t *size)
{
    char *path = scratch_printf("%s/%s", client_folder(), name), *text = scratch_read(path, size);
    free(path);
    return text;
}

static void write_file(const char *name, const char *text, size_t size)
{
    char *path = scratch_printf("%s/%s", client_folder(), name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    free(path);
}

START_TEST(client_dump_and_load_go_on_where_they_broke_off)
{
    const char *bucket = api_bucket();
    put_many(bucket);
    ck_code(CLIENT("dump", bucket, "--file", "whole"), 0);
    size_t size, again;
    char *whole = file_text("whole", &size);
    // Cut off in the middle of a line of the second page.
    const char *second = strstr(whole, "\"001700\"");
    ck_assert_ptr_nonnull(second);
    write_file("cut", whole, (size_t)(second - whole));
    ck_code(CLIENT("dump", bucket, "--file", "cut", "--resume"), 0);
    char *resumed = file_text("cut", &again);
    ck_assert(size == again && memcmp(whole, resumed, size) == 0);
    ck_code(CLIENT("dump", bucket, "--file", "cut", "--resume"), 0); // nothing is left to do
    free(resumed);
    resumed = file_text("cut", &again);
    ck_assert(size == again && memcmp(whole, resumed, size) == 0);
    free(resumed);
    ck_code(CLIENT("dump", "--resume"), 2);
    ck_code(CLIENT("dump", "nobody-made-this"), 3);
    // A load that stopped behind the first page goes on there: what it did not send before is all that it
    // sends.
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    const char *behind = strstr(whole, "{\"kind\":\"checkpoint\"");
    write_file("first", whole, (size_t)(behind - whole));
    ck_says(CLIENT("load", "first", "--state", "state"), "1000 entries were loaded");
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    ck_says(CLIENT("load", "whole", "--state", "state"), TEXT("%d entries were loaded", MANY - 1000));
    ck_status(GET(api_entry(bucket, "000999")), 404);
    ck_status(GET(api_entry(bucket, "001000")), 200);
    ck_status(GET(api_entry(bucket, "002499")), 200);
    ck_says(CLIENT("load", "whole", "--state", "state"), "holdfast: 0 entries were loaded");
    free(whole);
}
END_TEST

// A state counts for the input and the service that it was made with, a dump for what it is of.
START_TEST(client_goes_on_with_nothing_else)
{
    const char *bucket = api_bucket(), *other = api_bucket();
    ck_status(PUT(api_entry(bucket, "k"), BODY("v")), 201);
    ck_status(PUT(api_entry(other, "k"), BODY("v")), 201);
    ck_code(CLIENT("dump", bucket, "--file", "one"), 0);
    ck_code(CLIENT("dump", other, "--file", "two"), 0);
    size_t size, kept;
    char *one = file_text("one", &size);
    ck_code(CLIENT("load", "one", "--state", "state"), 0);
    char *state = file_text("state", &kept);
    ck_code(CLIENT("load", "two", "--state", "state"), 2);
    write_file("less", one, (size_t)(strchr(one, '\n') + 1 - one));
    ck_code(CLIENT("load", "less", "--state", "state"), 2);
    ck_code(CLIENT("load", "one", "--state", "state", "--url", "http://127.0.0.1:9"), 2);
    size_t still;
    char *again = file_text("state", &still);
    ck_assert(still == kept && memcmp(state, again, kept) == 0);
    static const char *const broken[] = {"",          "5\n", "garbage", "-5\n", "99999999999999999999\n",
                                         "5 abc\nx\n"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        write_file("broken", broken[i], strlen(broken[i]));
        ck_code(CLIENT("load", "one", "--state", "broken"), 2);
    }
    ck_code(CLIENT("load", "one", "--state", "/dev/null"), 2); // a file is put in its place
    ck_code(CLIENT("dump", "--file", "one", "--resume"), 2);
    ck_code(CLIENT("dump", other, "--file", "one", "--resume"), 2);
    char *left = file_text("one", &still);
    ck_assert(still == size && memcmp(one, left, size) == 0);
    free(left);
    free(again);
    free(state);
    free(one);
}
END_TEST

START_TEST(client_dump_goes_on_behind_a_bucket_that_is_gone)
{
    const char *first = api_bucket(), *second = api_bucket();
    bool ordered = strcmp(first, second) < 0;
    const char *gone = ordered ? first : second, *there = ordered ? second : first;
    put_many(gone);
    ck_status(PUT(api_entry(there, "k"), BODY("v")), 201);
    ck_code(CLIENT("dump", "--file", "all"), 0);
    size_t size;
    char *all = file_text("all", &size);
    const char *mark = strstr(all, TEXT("{\"kind\":\"checkpoint\",\"bucket\":\"%s\"", gone));
    ck_assert_ptr_nonnull(mark);
    write_file("cut", all, (size_t)(strchr(mark, '\n') + 1 - all));
    ck_status(DELETE(TEXT("/v1/buckets/%s", gone)), 204);
    ck_code(CLIENT("dump", "--file", "cut", "--resume"), 0);
    char *resumed = file_text("cut", &size);
    ck_assert_ptr_nonnull(strstr(resumed, TEXT("{\"name\":\"%s\"", there)));
    ck_assert_ptr_nonnull(strstr(resumed, TEXT("{\"kind\":\"entry\",\"bucket\":\"%s\"", there)));
    free(resumed);
    free(all);
}
END_TEST

// Members that occur twice, and text that is many times as long in JSON, are not what a request may have.
START_TEST(client_loads_what_no_request_may_have)
{
    enum { LONG = 3 << 20 };
    const char *bucket = api_bucket();
    char *text = malloc(LONG);
    memset(text, 1, LONG);
    static const char twins[] = "[{\"x\":{\"a\":1.0,\"a\":2}}]";
    ck_status(PUT(api_entry(bucket, "twins"), BODY(twins), "Content-Type: application/json"), 201);
    ck_status(PUT(api_entry(bucket, "long"), bytes_make(text, LONG), "Content-Type: text/plain"), 201);
    ck_code(CLIENT("dump", bucket, "--file", "odd"), 0);
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    ck_code(CLIENT("load", "odd"), 0);
    ck_body(GET(api_entry(bucket, "twins")), BODY(twins));
    ck_body(GET(api_entry(bucket, "long")), bytes_make(text, LONG));
    ck_header(GET(api_entry(bucket, "long")), "Content-Type", "text/plain");
    free(text);
}
END_TEST

START_TEST(client_load_tells_what_it_did_not_write)
{
    const char *b = api_bucket();
    static const char form[] =
        "{\"name\":\"%s\",\"kind\":\"bucket\",\"configuration\":{\"type\":\"int\"}}\n"
        "{\"kind\":\"entry\",\"bucket\":\"%s\",\"key\":\"good\",\"under\":[],\"expires_at\":null,\"content_"
        "type\":\"text/plain\",\"text\":\"1\"}\n"
        "{\"kind\":\"entry\",\"bucket\":\"%s\",\"key\":\"bad\",\"under\":[],\"expires_at\":null,\"content_"
        "type\":\"text/plain\",\"text\":\"one\"}\n"
        "{\"kind\":\"entry\",\"bucket\":\"%s\",\"key\":\"old\",\"under\":[],\"expires_at\":\"2001-01-01T00:"
        "00:00Z\",\"content_type\":\"text/plain\",\"text\":\"1\"}\n"
        "{\"kind\":\"entry\",\"bucket\":\"%s\",\"key\":\"better\",\"under\":[],\"expires_at\":null,\"content_"
        "type\":\"text/plain\",\"text\":\"2\"}\n";
    const char *lines = TEXT(form, b, b, b, b, b);
    const struct client_end *end = CLIENT_FED(bytes_of(lines), "load");
    ck_code(end, 1);
    ck_says(end, "2 entries were loaded, 1 had expired, 1 were refused");
    ck_says(end, "type_mismatch");
    ck_says(end, TEXT("not loaded: bucket \"%s\" under [] key \"bad\"", b));
    ck_body(GET(api_entry(b, "good")), BODY("1"));
    ck_body(GET(api_entry(b, "better")), BODY("2"));
    ck_status(GET(api_entry(b, "bad")), 404);
    ck_status(GET(api_entry(b, "old")), 404);
    // Deep and wide JSON fits no transaction as it is.
    const char *deep = "1";
    for (int i = 0; i < 300; i++)
        deep = TEXT("[%s]", deep);
    const char *other = api_bucket();
    ck_status(PUT(api_entry(other, "deep"), bytes_of(deep), "Content-Type: application/json"), 201);
    ck_code(CLIENT("dump", other, "--file", "deep"), 0);
    ck_status(DELETE(api_entry(other, "deep")), 204);
    ck_code(CLIENT("load", "deep"), 0);
    ck_body(GET(api_entry(other, "deep")), bytes_of(deep));
    static const char *const broken[] = {"{\"kind\":\"entry\"}", "nonsense", "{}", "[1]",
                                         "{\"kind\":\"entry\",\"bucket\":\"b\",\"expires_at\":5}"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        ck_says(CLIENT_FED(bytes_of(broken[i]), "load"), "line 1 is no line of a dump");
    ck_code(CLIENT_FED(BODY("{"), "load"), 1);
    ck_code(CLIENT("load", "/nowhere/there"), 1);
    ck_code(CLIENT_FED(BODY("{\"kind\":\"entry\",\"bucket\":\"b\",\"key\":\"k\",\"text\":\"x\"}"), "load",
                       "--url", "http://127.0.0.1:1", "--jobs", "0"),
            2);
}
END_TEST

START_TEST(client_bench_measures_and_leaves_nothing)
{
    const struct client_end *end = CLIENT("bench", "--duration", "200ms", "--connections", "4", "--keys",
                                          "50", "--reads", "50", "-o", "json");
    ck_code(end, 0);
    json_t *json = json_loadb((const char *)end->out.data, end->out.size, 0, NULL);
    ck_assert_ptr_nonnull(json);
    ck_assert_int_gt(json_integer_value(json_object_get(json_object_get(json, "get"), "count")), 0);
    ck_assert_int_gt(json_integer_value(json_object_get(json_object_get(json, "put"), "count")), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(json, "failed")), 0);
    json_decref(json);
    end = CLIENT("list");
    ck_assert_ptr_null(strstr((const char *)end->out.data, "holdfast-bench"));
    ck_says(CLIENT("bench", "--duration", "100ms", "--keys", "1", "--connections", "1"), "p99");
}
END_TEST

// Every command and flag that the help names is in the manual, and what shells complete is a program to them.
START_TEST(client_manual_and_completion_are_whole)
{
    ck_code(CLIENT("completion", "sh"), 2);
    char *script = scratch_printf(
        "set -e\n"
        "manual=$(sed 's/\\\\-/-/g' '%s/deploy/holdfast.1')\n"
        "for command in $(holdfast --help | sed -n 's/^  \\([a-z]*\\)  .*/\\1/p'); do\n"
        "    case $manual in *\".SS holdfast $command\"*) ;; *) echo \"no $command\"; exit 1 ;; esac\n"
        "    for flag in $(holdfast $command --help | grep -o '^  --[a-z0-9-]*' | sort -u); do\n"
        "        case $manual in *\"$flag\"*) ;; *) echo \"no $command $flag\"; exit 1 ;; esac\n"
        "    done\n"
        "done\n"
        "holdfast completion bash >bash; bash -n bash; holdfast completion zsh >zsh; holdfast completion "
        "fish >fish\n"
        "bash -c '. ./bash; COMP_WORDS=(holdfast lock --gr); COMP_CWORD=2; _holdfast; echo "
        "\"${COMPREPLY[@]}\"'\n"
        "grep -q -- '-l fenced' fish; grep -q -- '--fenced\\[' zsh\n",
        HOLDFAST_CHECKOUT);
    pid_t pid = client_start_script(script, client_folder(), service_url(api.service));
    int code = process_wait(pid, 60 * 1000);
    size_t size;
    char *log = file_text("log", &size);
    if (code != 0 || !strstr(log, "--grace"))
        ck_abort_msg("ended with %d: %s", code, log);
    free(log);
    free(script);
}
END_TEST

Suite *client_move_suite(void)
{
    const TTest *const tests[] = {
        client_load_gives_back_what_was_dumped,
        client_dump_and_load_go_on_where_they_broke_off,
        client_goes_on_with_nothing_else,
        client_dump_goes_on_behind_a_bucket_that_is_gone,
        client_loads_what_no_request_may_have,
        client_load_tells_what_it_did_not_write,
        client_bench_measures_and_leaves_nothing,
        client_manual_and_completion_are_whole,
        NULL,
    };
    return api_suite("client_move", NULL, tests);
}
