// `holdfast bench`: what a deployment does under a load of so many clients that each wait for their answer.
#include "client/answer.h"
#include "client/arguments.h"
#include "client/exit_code.h"
#include "client/many_commands.h"
#include "client/once_key.h"
#include "client/place.h"

#include "base/timestamp.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLASSES = 64 * 64, STEPS = 64 };

// Times in microseconds, exact to one part in 64: the class of a time is its highest bit and the six below
// it.
struct times {
    uint32_t counts[CLASSES];
    int64_t count;
    int64_t longest;
};

struct client {
    CURL *curl;
    struct curl_slist *headers;
    struct reply reply;
    bool reads;
    int64_t sent_at;
};

struct bench {
    const struct arguments *arguments;
    struct connection connection;
    struct place place;
    CURLM *multi;
    struct client *clients;
    uint8_t *value;
    struct times *reads;
    struct times *writes;
    int64_t begun_at;
    int64_t end_at;
    int64_t took;
    int64_t bad;
    char reason[256]; // of the first that went wrong
};

static unsigned class_of(int64_t us)
{
    uint64_t n = us < 1 ? 1 : (uint64_t)us;
    int shift = 63 - __builtin_clzll(n) - 6;
    return shift <= 0 ? (unsigned)n : (unsigned)(shift * STEPS) + (unsigned)(n >> shift);
}

static int64_t time_of(unsigned class)
{
    if (class < 2 * STEPS)
        return class;
    unsigned shift = class / STEPS - 1;
    return (int64_t)(class - shift * STEPS) << shift;
}

static void note(struct times *times, int64_t us)
{
    unsigned class = class_of(us);
    times->counts[class < CLASSES ? class : CLASSES - 1]++;
    times->count++;
    if (us > times->longest)
        times->longest = us;
}

static int64_t percentile(const struct times *times, double part)
{
    int64_t wanted = (int64_t)((double)times->count * part), seen = 0;
    for (unsigned class = 0; class < CLASSES; class ++) {
        seen += times->counts[class];
        if (seen > wanted)
            return time_of(class);
    }
    return times->longest;
}

// --- the load ---------------------------------------------------------------------------------------------

static void send_next(struct bench *bench, struct client *client)
{
    const struct arguments *arguments = bench->arguments;
    struct target target = {0};
    char key[24];
    client->reads = randombytes_uniform(100) < (uint32_t)arguments->reads;
    snprintf(key, sizeof key, "%u", randombytes_uniform((uint32_t)arguments->keys));
    bench->place.key = bytes_of(key);
    target_place(&target, "buckets", &bench->place, "entries", NULL);
    reply_clear(&client->reply);
    struct bytes value = bytes_make(bench->value, (size_t)arguments->size);
    connection_prepare(&bench->connection, client->curl, client->reads ? "GET" : "PUT", target_text(&target),
                       client->reads ? NO_BODY : value, !client->reads, client->headers);
    curl_easy_setopt(client->curl, CURLOPT_PRIVATE, client);
    buffer_free(&target.text);
    client->sent_at = timestamp_monotonic();
    curl_multi_add_handle(bench->multi, client->curl);
}

static void set_up(struct bench *bench, struct client *client)
{
    client->curl = curl_easy_duphandle(bench->connection.curl);
    client->headers = connection_take_headers(&bench->connection);
    curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, (long)(bench->connection.timeout / 1000));
    curl_easy_setopt(client->curl, CURLOPT_HEADERFUNCTION, reply_add_head);
    curl_easy_setopt(client->curl, CURLOPT_HEADERDATA, &client->reply);
    curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, reply_add_body);
    curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, &client->reply);
}

static void answered(struct bench *bench, struct client *client, CURLcode result)
{
    long status = 0;
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_multi_remove_handle(bench->multi, client->curl);
    bool good = result == CURLE_OK && (status == 200 || status == 201 || status == 204);
    if (good)
        note(client->reads ? bench->reads : bench->writes, timestamp_monotonic() - client->sent_at);
    else if (bench->bad++ == 0 && result != CURLE_OK)
        snprintf(bench->reason, sizeof bench->reason, "%s", curl_easy_strerror(result));
    else if (bench->bad == 1)
        snprintf(bench->reason, sizeof bench->reason, "status %ld", status);
    if (timestamp_monotonic() < bench->end_at)
        send_next(bench, client);
}

static void run(struct bench *bench)
{
    int running = 1, left;
    CURLMsg *message;
    bench->begun_at = timestamp_monotonic();
    bench->end_at = bench->begun_at + bench->arguments->duration;
    for (int64_t i = 0; i < bench->arguments->jobs; i++) {
        set_up(bench, &bench->clients[i]);
        send_next(bench, &bench->clients[i]);
    }
    while (running) {
        curl_multi_perform(bench->multi, &running);
        while ((message = curl_multi_info_read(bench->multi, &left))) {
            struct client *client;
            CURLcode result = message->data.result;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &client);
            answered(bench, client, result);
            running = 1;
        }
        curl_multi_poll(bench->multi, NULL, 0, 100, NULL);
    }
    bench->took = timestamp_monotonic() - bench->begun_at;
}

// --- before and after -------------------------------------------------------------------------------------

// All keys are there before they are read.
static int fill(struct bench *bench)
{
    const struct arguments *arguments = bench->arguments;
    struct buffer body = {0};
    struct reply reply = {0};
    int code = EXIT_DONE;
    for (int64_t key = 0; key < arguments->keys && code == EXIT_DONE;) {
        buffer_clear(&body);
        buffer_add_text(&body, "{\"operations\":[");
        for (int n = 0; n < 500 && key < arguments->keys && body.size < 4 << 20; n++, key++) {
            buffer_printf(&body, "%s{\"op\":\"put\",\"bucket\":", n ? "," : "");
            buffer_add_json(&body, bench->place.bucket);
            buffer_printf(&body, ",\"key\":\"%lld\",\"text\":", (long long)key);
            buffer_add_json(&body, bytes_make(bench->value, (size_t)arguments->size));
            buffer_add_char(&body, '}');
        }
        buffer_add_text(&body, "]}");
        connection_header(&bench->connection, "Content-Type", "application/json");
        if (!connection_ask(&bench->connection, "POST", "/v1/transactions", buffer_view(&body), 0, &reply))
            code = answer_missing(&bench->connection, true);
        else if (reply.status != 200)
            code = answer_refused(arguments, &reply);
    }
    buffer_free(&body);
    reply_free(&reply);
    return code;
}

static void drop(struct bench *bench)
{
    struct target target = {0};
    struct reply reply = {0};
    target_begin(&target, "/v1/buckets");
    target_segment(&target, bench->place.bucket);
    if (!connection_ask(&bench->connection, "DELETE", target_text(&target), NO_BODY, 0, &reply) ||
        (reply.status != 204 && reply.status != 404))
        fprintf(stderr, "holdfast: the bucket %s could not be dropped\n",
                (const char *)bench->place.bucket.data);
    buffer_free(&target.text);
    reply_free(&reply);
}

static void print_times(const struct bench *bench, const char *name, const struct times *times)
{
    double seconds = (double)bench->took / 1e6;
    if (!times->count)
        return;
    printf("%-4s %10.0f/s   p50 %.2f ms   p90 %.2f ms   p99 %.2f ms   p99.9 %.2f ms   longest %.2f ms\n",
           name, (double)times->count / seconds, (double)percentile(times, 0.5) / 1e3,
           (double)percentile(times, 0.9) / 1e3, (double)percentile(times, 0.99) / 1e3,
           (double)percentile(times, 0.999) / 1e3, (double)times->longest / 1e3);
}

static void print_json(const struct bench *bench, const char *name, const struct times *times)
{
    printf("\"%s\":{\"count\":%lld,\"per_second\":%.1f,\"p50_ms\":%.3f,\"p90_ms\":%.3f,\"p99_ms\":%.3f,"
           "\"p999_ms\":%.3f,\"longest_ms\":%.3f}",
           name, (long long)times->count, (double)times->count / ((double)bench->took / 1e6),
           (double)percentile(times, 0.5) / 1e3, (double)percentile(times, 0.9) / 1e3,
           (double)percentile(times, 0.99) / 1e3, (double)percentile(times, 0.999) / 1e3,
           (double)times->longest / 1e3);
}

static void report(const struct bench *bench)
{
    if (bench->arguments->json) {
        printf("{\"connections\":%lld,\"seconds\":%.3f,", (long long)bench->arguments->jobs,
               (double)bench->took / 1e6);
        print_json(bench, "get", bench->reads);
        putchar(',');
        print_json(bench, "put", bench->writes);
        printf(",\"failed\":%lld}\n", (long long)bench->bad);
        return;
    }
    printf("%lld connections, %.1f s, values of %lld bytes under %lld keys\n",
           (long long)bench->arguments->jobs, (double)bench->took / 1e6, (long long)bench->arguments->size,
           (long long)bench->arguments->keys);
    print_times(bench, "GET", bench->reads);
    print_times(bench, "PUT", bench->writes);
}

static bool begin(struct bench *bench)
{
    const struct arguments *arguments = bench->arguments;
    char key[ONCE_KEY_BYTES];
    if (!connection_begin(&bench->connection, arguments))
        return false;
    once_key(key);
    bench->place.bucket = bytes_of(arena_printf(&bench->connection.arena, "holdfast-bench-%.12s", key));
    bench->multi = curl_multi_init();
    bench->clients = calloc((size_t)arguments->jobs, sizeof *bench->clients);
    bench->value = malloc((size_t)arguments->size);
    bench->reads = calloc(1, sizeof *bench->reads);
    bench->writes = calloc(1, sizeof *bench->writes);
    if (!bench->multi || !bench->clients || !bench->value || !bench->reads || !bench->writes)
        abort();
    memset(bench->value, 'x', (size_t)arguments->size);
    return true;
}

static void end(struct bench *bench)
{
    for (int64_t i = 0; i < bench->arguments->jobs; i++) {
        curl_easy_cleanup(bench->clients[i].curl);
        curl_slist_free_all(bench->clients[i].headers);
        reply_free(&bench->clients[i].reply);
    }
    curl_multi_cleanup(bench->multi);
    free(bench->clients);
    free(bench->value);
    free(bench->reads);
    free(bench->writes);
    connection_end(&bench->connection);
}

int bench_command(const struct arguments *arguments)
{
    struct bench bench = {.arguments = arguments};
    if (!begin(&bench))
        return connection_misused(&bench.connection);
    int code = fill(&bench);
    if (code == EXIT_DONE) {
        run(&bench);
        report(&bench);
    }
    drop(&bench);
    if (bench.bad) {
        fprintf(stderr, "holdfast: %lld requests failed, the first with: %s\n", (long long)bench.bad,
                bench.reason);
        code = EXIT_FAILED;
    }
    end(&bench);
    return code;
}
