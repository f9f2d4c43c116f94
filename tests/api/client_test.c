// The program as a client: each command, its exit codes and its JSON, with keys and values of any bytes.
#include "client_steps.h"

#include "support/clock.h"
#include "support/process.h"
#include "support/scratch.h"

#include <signal.h>
#include <stdio.h>

// BUCKET/KEY in memory of the client.
static const char *place(const char *bucket, const char *key)
{
    return TEXT("%s/%s", bucket, key);
}

static json_t *json_of(const struct client_end *end)
{
    json_t *json = json_loadb((const char *)end->out.data, end->out.size, JSON_DECODE_ANY, NULL);
    if (!json)
        ck_abort_msg("no JSON: %s | %s", (const char *)end->out.data, end->err);
    return json;
}

static const char *text_of(json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text ? text : "";
}

// --- entries ----------------------------------------------------------------------------------------------

START_TEST(client_writes_reads_and_deletes)
{
    const char *bucket = api_bucket(), *entry = place(bucket, "k");
    ck_code(CLIENT("get", entry), 3);
    ck_code(CLIENT("put", entry, "hello", "--content-type", "text/plain", "--meta", "by=ann"), 0);
    ck_out(CLIENT("get", entry), BODY("hello"));
    struct answer *read = GET(api_entry(bucket, "k"));
    ck_body(read, BODY("hello"));
    ck_header(read, "Content-Type", "text/plain");
    ck_header(read, "Holdfast-Meta-by", "ann");
    json_t *json = json_of(CLIENT("get", entry, "-o", "json"));
    ck_assert_str_eq(text_of(json, "text"), "hello");
    ck_assert_str_eq(text_of(json, "key"), "k");
    ck_assert_str_eq(text_of(json, "bucket"), bucket);
    ck_assert_str_eq(text_of(json, "version"), answer_version(read));
    ck_assert_str_eq(text_of(json_object_get(json, "metadata"), "by"), "ann");
    json_decref(json);
    ck_code(CLIENT("delete", entry), 0);
    ck_code(CLIENT("delete", entry), 3);
    ck_code(CLIENT("put", entry, "1", "--ttl", "1h", "--content-type", "application/json"), 0);
    ck_header(GET(api_entry(bucket, "k")), "Content-Type", "application/json");
    ck_assert_ptr_nonnull(answer_header(GET(api_entry(bucket, "k")), "Holdfast-Expires-At"));
    json = json_of(CLIENT("put", entry, "2", "--persist", "-o", "json"));
    ck_assert(json_is_false(json_object_get(json, "created")));
    ck_assert(json_is_null(json_object_get(json, "expires_at")));
    json_decref(json);
}
END_TEST

START_TEST(client_keeps_every_byte)
{
    static const char bytes[] = "\0\xFF\r\n\0 \x1b[31m";
    const char *bucket = api_bucket();
    ck_code(CLIENT_FED(BODY(bytes), "put", place(bucket, "raw")), 0);
    ck_out(CLIENT("get", place(bucket, "raw")), BODY(bytes));
    ck_body(GET(api_entry(bucket, "raw")), BODY(bytes));
    ck_code(CLIENT_FED(BODY(""), "put", place(bucket, "empty")), 0);
    ck_out(CLIENT("get", place(bucket, "empty")), BODY(""));
    ck_code(CLIENT_FED(BODY(bytes), "put", place(bucket, "file"), "--file", "in"), 0);
    ck_out(CLIENT("get", place(bucket, "file")), BODY(bytes));
    json_t *json = json_of(CLIENT("get", place(bucket, "raw"), "-o", "json"));
    ck_assert_str_eq(text_of(json, "base64"), "AP8NCgAgG1szMW0=");
    json_decref(json);
    // A number keeps its digits, and JSON of several lines stays on one line of output.
    ck_code(CLIENT("put", place(bucket, "n"), "12345678901234567890", "--content-type", "application/json"),
            0);
    ck_says(CLIENT("get", place(bucket, "n"), "-o", "json"), "\"value\":12345678901234567890");
    ck_code(CLIENT("put", place(bucket, "l"), "{\n}", "--content-type", "application/json"), 0);
    ck_says(CLIENT("get", place(bucket, "l"), "-o", "json"), "\"base64\":\"ewp9\"");
}
END_TEST

START_TEST(client_takes_keys_of_any_bytes)
{
    static const struct {
        const char *key, *encoded;
    } keys[] = {
        {"a/b", "a%2Fb"}, {"a%2Fb", "a%252Fb"}, {"a b", "a%20b"},     {"\xC3\xA9", "%C3%A9"},
        {"..", "%2E%2E"}, {".", "%2E"},         {"\xFF\n", "%FF%0A"}, {"?x=1&y#z+", "%3Fx%3D1%26y%23z%2B"}};
    const char *bucket = api_bucket();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *value = TEXT("value %zu", i);
        ck_code(CLIENT("put", place(bucket, keys[i].key), value), 0);
        ck_body(GET(api_entry(bucket, keys[i].encoded)), bytes_of(value));
        ck_out(CLIENT("get", place(bucket, keys[i].key)), bytes_of(value));
        ck_out(CLIENT("get", keys[i].key, "--bucket", bucket), bytes_of(value));
    }
    ck_code(CLIENT("put", place(bucket, "-x"), "dash"), 0);
    ck_out(CLIENT("get", "--bucket", bucket, "--", "-x"), BODY("dash"));
    ck_code(CLIENT("put", place(bucket, "AGE="), "nul", "--key-base64"), 0);
    ck_body(GET(api_entry(bucket, "%00a")), BODY("nul"));
    ck_code(CLIENT("put", place(bucket, "k"), "ann's", "--under", "a/b", "--under", "7"), 0);
    ck_body(GET(TEXT("%s?under=a%%2Fb&under=7", api_entry(bucket, "k"))), BODY("ann's"));
    ck_out(CLIENT("get", place(bucket, "k"), "--under", "a/b", "--under", "7"), BODY("ann's"));
    ck_code(CLIENT("get", place(bucket, "k")), 3);
}
END_TEST

START_TEST(client_conditions_and_codes)
{
    const char *bucket = api_bucket(), *entry = place(bucket, "k");
    ck_code(CLIENT("put", entry, "1", "--if-absent"), 0);
    ck_code(CLIENT("put", entry, "2", "--if-absent"), 4);
    const char *version = answer_version(GET(api_entry(bucket, "k")));
    ck_code(CLIENT("put", entry, "2", "--if-match", version), 0);
    ck_code(CLIENT("put", entry, "3", "--if-match", version), 4);
    ck_says(CLIENT("delete", entry, "--if-match", version), "version_conflict");
    ck_says(CLIENT("put", entry, "3", "--if-match", version, "-o", "json"), "\"status\":412");
    ck_code(CLIENT("put", entry, "3", "--idempotency-key", "one"), 0);
    ck_code(CLIENT("put", entry, "4", "--idempotency-key", "one"), 1);
    ck_code(CLIENT("get", entry, "--url", "http://127.0.0.1:1"), 6);
    ck_out(CLIENT("get", entry, "--url", TEXT("http://127.0.0.1:1,%s/", service_url(api.service))),
           BODY("3"));
    // Called wrongly: nothing is sent, and a line says why.
    ck_code(CLIENT("get"), 2);
    ck_code(CLIENT("get", "no-slash"), 2);
    ck_code(CLIENT("get", "b/"), 2);
    ck_code(CLIENT("get", "/k"), 2);
    ck_code(CLIENT("get", entry, "more"), 2);
    ck_code(CLIENT("get", entry, "--nonsense"), 2);
    ck_code(CLIENT("get", entry, "-o", "xml"), 2);
    ck_code(CLIENT("get", entry, "--wait", "soon"), 2);
    ck_code(CLIENT("get", entry, "--url", "ftp://x"), 2);
    ck_code(CLIENT("put", entry, "x", "--content-type", "a\r\nX-Evil: 1"), 2);
    ck_code(CLIENT("put", entry, "x", "--meta", "novalue"), 2);
    ck_code(CLIENT("put", entry, "x", "--fenced"), 2);
    ck_says(CLIENT("get", "--help"), "Examples:");
    ck_code(CLIENT("get", "--help"), 0);
}
END_TEST

START_TEST(client_says_what_a_flag_takes)
{
    const char *bucket = api_bucket(), *entry = place(bucket, "k");
    static const struct {
        const char *flag, *value, *says;
    } bad[] = {{"--output", "xml", "text or json"},
               {"--timeout", "soon", "such as 500ms"},
               {"--wait", "0s", "or forever"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct client_end *end = CLIENT("get", entry, bad[i].flag, bad[i].value);
        ck_code(end, 2);
        ck_says(end, bad[i].says);
    }
    ck_says(CLIENT("list", bucket, "--limit", "0"), "a number from 1 on");
    ck_says(CLIENT("bench", "--reads", "101"), "a number from 0 to 100");
    // A version is taken as `put` prints it and as a header has it.
    ck_code(CLIENT("put", entry, "1"), 0);
    ck_code(CLIENT("put", entry, "2", "--if-match", answer_header(GET(api_entry(bucket, "k")), "ETag")), 0);
    ck_code(CLIENT("put", entry, "3", "--if-match", answer_version(GET(api_entry(bucket, "k")))), 0);
    ck_code(CLIENT("put", entry, "4", "--if-match", "\"another\""), 4);
}
END_TEST

// Each command whose output is lost fails and says why, once.
START_TEST(client_tells_when_its_output_is_lost)
{
    const char *bucket = api_bucket(), *entry = place(bucket, "k");
    ck_code(CLIENT("put", entry, "value"), 0);
    const char *const commands[] = {TEXT("get %s", entry),
                                    TEXT("get %s -o json", entry),
                                    TEXT("put %s v", entry),
                                    TEXT("list %s", bucket),
                                    TEXT("watch %s --count 1", entry),
                                    TEXT("lease acquire %s", entry),
                                    "bench --duration 100ms --keys 10 --connections 1",
                                    "dump",
                                    "completion bash",
                                    "get --help",
                                    "--help",
                                    "version"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        for (int closed = 0; closed <= 1; closed++) {
            const char *script = TEXT("holdfast %s %s 2>err; code=$?; cat err; test $code = 1 && test $(grep "
                                      "-c . err) = 1 && grep -q 'standard output' err",
                                      commands[i], closed ? ">&-" : ">/dev/full");
            pid_t pid = client_start_script(script, client_folder(), service_url(api.service));
            if (process_wait(pid, 30 * 1000) != 0)
                ck_abort_msg("%s", script);
        }
    pid_t full =
        client_start_script("holdfast dump --file /dev/full 2>err; test $? = 1 && test $(grep -c . err) = 1",
                            client_folder(), service_url(api.service));
    ck_assert_int_eq(process_wait(full, 30 * 1000), 0);
    // What cannot be synced is written all the same.
    pid_t pipe = client_start_script(
        TEXT("mkfifo fifo; grep -c '\"key\":\"k\"' fifo >found & holdfast dump %s --file fifo 2>err; "
             "code=$?; wait; test $code = 0 && test $(cat found) = 1",
             bucket),
        client_folder(), service_url(api.service));
    ck_assert_int_eq(process_wait(pipe, 30 * 1000), 0);
    // Nobody knows the token, so the lease is free again.
    ck_code(CLIENT("lease", "show", entry), 3);
    // A reader that has enough ends the writer quietly.
    const char *script = TEXT(
        "{ holdfast list %s | true; holdfast get %s | true; holdfast dump %s | true; } 2>err; ! test -s err",
        bucket, entry, bucket);
    pid_t pid = client_start_script(script, client_folder(), service_url(api.service));
    ck_assert_int_eq(process_wait(pid, 30 * 1000), 0);
}
END_TEST

START_TEST(client_lists_buckets_and_keys)
{
    const char *bucket = api_bucket();
    for (int i = 0; i < 5; i++)
        ck_status(
            PUT(api_entry(bucket, TEXT("k%d", i)), bytes_of(TEXT("%d", i)), "Content-Type: application/json"),
            201);
    ck_status(PUT(api_entry(bucket, "o?under=ann"), BODY("x")), 201);
    ck_out(CLIENT("list", bucket), BODY("k0\nk1\nk2\nk3\nk4\n"));
    ck_out(CLIENT("list", place(bucket, "k1")), BODY("k1\n"));
    ck_out(CLIENT("list", bucket, "--start", "k1", "--end", "k3"), BODY("k1\nk2\n"));
    ck_out(CLIENT("list", bucket, "--limit", "2", "--null"), BODY("k0\0k1\0"));
    ck_out(CLIENT("list", bucket, "--contains", "4"), BODY("k4\n"));
    ck_out(CLIENT("list", bucket, "--under", "ann"), BODY("o\n"));
    ck_says(CLIENT("list"), TEXT("%s\n", bucket));
    ck_says(CLIENT("list", "-o", "json"), TEXT("{\"name\":\"%s\",\"kind\":\"bucket\"", bucket));
    json_t *json = json_of(CLIENT("list", place(bucket, "k3"), "-o", "json", "--values"));
    ck_assert_int_eq(json_integer_value(json_object_get(json, "value")), 3);
    json_decref(json);
    ck_code(CLIENT("list", "nobody-made-this"), 3);
}
END_TEST

START_TEST(client_list_goes_over_pages)
{
    const char *bucket = api_bucket();
    const char *operations = "";
    for (int i = 0; i < 1000; i++)
        operations = TEXT("%s%s{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"%04d\",\"value\":1}", operations,
                          i ? "," : "", bucket, i);
    ck_status(http(api.client, "POST", "/v1/transactions",
                   bytes_of(TEXT("{\"operations\":[%s]}", operations)), "Content-Type: application/json"),
              200);
    ck_status(PUT(api_entry(bucket, "1000"), BODY("1")), 201);
    const struct client_end *all = CLIENT("list", bucket);
    ck_assert_int_eq(all->code, 0);
    ck_assert_uint_eq(all->out.size, 1001 * 5);
    ck_assert_str_eq((const char *)all->out.data + all->out.size - 10, "0999\n1000\n");
}
END_TEST

// --- waiting ----------------------------------------------------------------------------------------------

static bool log_says(void *user)
{
    char *path = scratch_printf("%s/log", client_folder()), *log = scratch_read(path, NULL);
    bool says = strstr(log, user) != NULL;
    free(path);
    free(log);
    return says;
}

static void expect_log(const char *text)
{
    if (!clock_wait(log_says, (void *)(uintptr_t)text, 10 * 1000))
        ck_abort_msg("the log never says %s", text);
}

START_TEST(client_watch_sees_each_change)
{
    const char *bucket = api_bucket(), *path = api_entry(bucket, "k");
    ck_status(PUT(path, BODY("first")), 201);
    pid_t pid = client_start_script(TEXT("holdfast watch %s/k --count 4 -o json", bucket), client_folder(),
                                    service_url(api.service));
    expect_log("Zmlyc3Q="); // base64 of first
    ck_status(PUT(path, BODY("second")), 204);
    expect_log("c2Vjb25k");
    ck_status(DELETE(path), 204);
    expect_log("\"version\":null");
    ck_status(PUT(path, BODY("third"), "Content-Type: text/plain"), 201);
    expect_log("\"text\":\"third\"");
    ck_assert_int_eq(process_wait(pid, 10 * 1000), 0);
    ck_code(CLIENT("watch", place(bucket, "k"), "--wait", "100ms", "--count", "2"), 5);
    ck_out(CLIENT("watch", place(bucket, "k"), "--count", "1"), BODY("third\n"));
    ck_code(CLIENT("get", place(bucket, "absent"), "--wait", "1s"), 3);
}
END_TEST

// --- leases and runs --------------------------------------------------------------------------------------

// The token that a run printed, in memory of the client.
static const char *token_of(const struct client_end *end)
{
    ck_code(end, 0);
    return TEXT("%.*s", (int)strcspn((const char *)end->out.data, "\n"), (const char *)end->out.data);
}

START_TEST(client_lease_steps)
{
    const char *lease = place(api_bucket(), "a/b");
    ck_code(CLIENT("lease", "show", lease), 3);
    const char *token = token_of(CLIENT("lease", "acquire", lease, "--ttl", "1m", "--holder", "me"));
    ck_out(CLIENT("lease", "show", lease), BODY("me\n"));
    ck_says(CLIENT("lease", "show", lease, "-o", "json"), "\"holder\":\"me\"");
    ck_code(CLIENT("lease", "acquire", lease), 5);
    ck_code(CLIENT("lease", "acquire", lease, "--wait", "200ms"), 5);
    ck_code(CLIENT("lease", "renew", lease, "--token", "1", "--holder", "me"), 5);
    ck_says(CLIENT("lease", "renew", lease, "--token", token, "--holder", "me", "-o", "json"),
            "\"ttl\":\"30s\"");
    ck_code(CLIENT("lease", "renew", lease), 2);
    ck_code(CLIENT("lease", "seize", lease), 2);
    ck_code(CLIENT("lease", "release", lease, "--token", token, "--holder", "me"), 0);
    ck_code(CLIENT("lease", "release", lease, "--token", token, "--holder", "me"), 5);
    const char *next = token_of(CLIENT("lease", "acquire", lease));
    ck_assert(strtoll(next, NULL, 10) > strtoll(token, NULL, 10));
    ck_code(CLIENT("lease", "release", lease, "--token", next), 0);
}
END_TEST

START_TEST(client_lock_runs_a_command)
{
    const char *bucket = api_bucket(), *lease = place(bucket, "a/b");
    const struct client_end *end =
        CLIENT("lock", lease, "--", "sh", "-c", "echo $HOLDFAST_FENCE $HOLDFAST_HOLDER; exit 7");
    ck_assert_int_eq(end->code, 7);
    ck_assert(strtoll((const char *)end->out.data, NULL, 10) > 0);
    ck_says(end, "@");
    ck_code(CLIENT("lease", "show", lease), 3); // given back
    ck_code(CLIENT("lock", lease, "--", "sh", "-c", "kill -KILL $$"), 128 + 9);
    ck_code(CLIENT("lock", lease, "--", "/nowhere/there"), 127);
    ck_code(CLIENT("lock", lease, "--", "/"), 126);
    ck_code(CLIENT("lock", lease), 2);
    ck_code(CLIENT("lock", lease, "--"), 2);
    ck_out(CLIENT_FED(BODY("in\0"), "lock", lease, "--", "cat"), BODY("in\0"));
    // Nothing of the holder's own is handed down.
    ck_out(CLIENT("lock", lease, "--", "sh", "-c",
                  "for file in /proc/$$/fd/*; do readlink $file; done | grep -c socket; true"),
           BODY("0\n"));
    // What the command writes counts only while the lease is live.
    const char *script = TEXT("\"$0\" put %s/last 1 --fenced --if-absent", bucket);
    ck_code(CLIENT("lock", lease, "--under", "ann", "--", "sh", "-c", script, service_binary()), 0);
    ck_body(GET(api_entry(bucket, "last")), BODY("1"));
    script = TEXT("HOLDFAST_FENCE=1 \"$0\" put %s/last 2 --fenced --if-match '*'", bucket);
    ck_code(CLIENT("lock", lease, "--", "sh", "-c", script, service_binary()), 5);
    ck_body(GET(api_entry(bucket, "last")), BODY("1"));
}
END_TEST

START_TEST(client_lock_waits_in_the_queue)
{
    const char *lease = place(api_bucket(), "k");
    const char *token = token_of(CLIENT("lease", "acquire", lease, "--ttl", "1m"));
    ck_code(CLIENT("lock", lease, "--", "true"), 5);
    pid_t pid = client_start_script(TEXT("holdfast lock %s --wait forever --ttl 300ms -- echo got it", lease),
                                    client_folder(), service_url(api.service));
    clock_pause(400); // longer than the term that is asked for: it begins with the grant
    ck_code(CLIENT("lease", "release", lease, "--token", token), 0);
    expect_log("got it");
    ck_assert_int_eq(process_wait(pid, 10 * 1000), 0);
}
END_TEST

START_TEST(client_lock_renews_and_passes_signals_on)
{
    const char *lease = place(api_bucket(), "k");
    pid_t pid = client_start_script(
        TEXT("exec \"$0\" lock %s --ttl 600ms -- sh -c '%s'", lease,
             "trap \"echo told; exit 3\" TERM; echo begun; sleep 1.5; echo longer; sleep 20 & wait"),
        client_folder(), service_url(api.service));
    expect_log("longer"); // than two terms
    ck_assert_int_eq(kill(pid, SIGTERM), 0);
    ck_assert_int_eq(process_wait(pid, 10 * 1000), 3);
    expect_log("told");
    ck_code(CLIENT("lease", "show", lease), 3);
}
END_TEST

// Whether the file `beat` grew for the last time: nobody writes it for half a second.
static size_t beats(void)
{
    size_t size;
    char *path = scratch_printf("%s/beat", client_folder());
    free(scratch_read(path, &size));
    free(path);
    return size;
}

static bool has_beaten(void *user)
{
    return beats() > *(size_t *)user;
}

static bool is_still(void *user)
{
    (void)user;
    size_t before = beats();
    clock_pause(200);
    return beats() == before;
}

static const char beating[] =
    "exec \"$0\" lock %s --ttl 900ms -- sh -c 'trap \"\" TERM; while echo x >>beat; do sleep 0.02; done'";

START_TEST(client_lock_ends_the_command_of_a_paused_holder)
{
    const char *lease = place(api_bucket(), "k");
    size_t none = 0;
    pid_t pid = client_start_script(TEXT(beating, lease), client_folder(), service_url(api.service));
    ck_assert(clock_wait(has_beaten, &none, 10 * 1000));
    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    ck_assert(
        clock_wait(is_still, NULL, 10 * 1000)); // while the holder sleeps, and though it ignores SIGTERM
    ck_code(CLIENT("lease", "acquire", lease, "--wait", "5s"), 0);
    ck_assert_int_eq(kill(pid, SIGCONT), 0);
    ck_assert_int_eq(process_wait(pid, 10 * 1000), 7);
    ck_assert(is_still(NULL));
}
END_TEST

START_TEST(client_lock_ends_the_command_with_its_holder)
{
    size_t none = 0;
    pid_t pid = client_start_script(TEXT(beating, place(api_bucket(), "k")), client_folder(),
                                    service_url(api.service));
    ck_assert(clock_wait(has_beaten, &none, 10 * 1000));
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(process_wait(pid, 10 * 1000), 128 + SIGKILL);
    ck_assert(clock_wait(is_still, NULL, 10 * 1000));
}
END_TEST

START_TEST(client_lock_ends_the_command_when_the_lease_is_lost)
{
    const char *bucket = api_bucket();
    size_t none = 0;
    pid_t pid =
        client_start_script(TEXT(beating, place(bucket, "k")), client_folder(), service_url(api.service));
    ck_assert(clock_wait(has_beaten, &none, 10 * 1000));
    ck_status(DELETE(TEXT("/v1/buckets/%s", bucket)), 204);
    ck_assert_int_eq(process_wait(pid, 10 * 1000), 7);
    ck_assert(is_still(NULL));
    expect_log("the lease is lost");
}
END_TEST

START_TEST(client_once_keeps_what_was_printed)
{
    const char *run = place(api_bucket(), "order/1");
    ck_code(CLIENT("once", run), 3);
    ck_code(CLIENT("once", run, "--", "sh", "-c", "echo half; exit 9"), 9);
    ck_code(CLIENT("once", run), 3);
    ck_out(CLIENT("once", run, "--content-type", "text/plain", "--", "printf", "a\\000b"), BODY("a\0b"));
    ck_out(CLIENT("once", run, "--", "echo", "again"), BODY("a\0b"));
    ck_out(CLIENT("once", run), BODY("a\0b"));
    ck_code(CLIENT("once", run, "--forget"), 0);
    ck_out(CLIENT("once", run, "--", "echo", "again"), BODY("again\n"));
    ck_out(CLIENT("once", place(api_bucket(), "empty"), "--", "true"), BODY(""));
}
END_TEST

START_TEST(client_once_has_one_runner)
{
    const char *run = place(api_bucket(), "k");
    pid_t pid = client_start_script(TEXT("holdfast once %s --ttl 600ms -- sh -c 'echo running >&2; until [ "
                                         "-e go ]; do sleep 0.05; done; echo done'",
                                         run),
                                    client_folder(), service_url(api.service));
    expect_log("running");
    clock_pause(700); // longer than the term of the run, which is renewed
    ck_code(CLIENT("once", run, "--", "echo", "second"), 5);
    char *go = scratch_printf("%s/go", client_folder());
    fclose(fopen(go, "w"));
    free(go);
    ck_out(CLIENT("once", run, "--wait", "10s", "--", "echo", "second"), BODY("done\n"));
    ck_assert_int_eq(process_wait(pid, 10 * 1000), 0);
}
END_TEST

Suite *client_suite(void)
{
    const TTest *const tests[] = {
        client_writes_reads_and_deletes,
        client_keeps_every_byte,
        client_takes_keys_of_any_bytes,
        client_conditions_and_codes,
        client_says_what_a_flag_takes,
        client_tells_when_its_output_is_lost,
        client_lists_buckets_and_keys,
        client_list_goes_over_pages,
        client_watch_sees_each_change,
        client_lease_steps,
        client_lock_runs_a_command,
        client_lock_waits_in_the_queue,
        client_lock_renews_and_passes_signals_on,
        client_lock_ends_the_command_of_a_paused_holder,
        client_lock_ends_the_command_with_its_holder,
        client_lock_ends_the_command_when_the_lease_is_lost,
        client_once_keeps_what_was_printed,
        client_once_has_one_runner,
        NULL,
    };
    return api_suite("client", NULL, tests);
}
