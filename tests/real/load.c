// Loads every record of real data sets into a service of its own, from several clients at once, and reads all
// of them back: at once, and again after the service was killed and started anew.
#include "real/records.h"
#include "support/clock.h"
#include "support/entry_client.h"
#include "support/failure.h"
#include "support/parallel.h"
#include "support/scratch.h"
#include "support/service.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLIENTS = 16, TARGET_ROOM = 512, BODY_ROOM = 256, MOST_COMPLAINTS = 5 };

static size_t passed;
static size_t failed;

struct data_set {
    struct records records;
    const char *name;
    bool (*read)(struct records *records, const char *path);
    const char *path;
    size_t bytes;
    char (*versions)[ENTRY_VERSION_ROOM]; // of each record, as its PUT told it
};

// One pass over a data set by all clients.
struct pass {
    const struct data_set *set;
    bool (*one)(const struct data_set *set, size_t record, struct entry_client *client);
    uint16_t port;
    atomic_size_t good;
};

static char *write_encoded(char *out, struct bytes raw)
{
    for (size_t i = 0; i < raw.size; i++) {
        out += sprintf(out, "%%%02X", raw.data[i]);
    }
    return out;
}

static void write_target(char target[TARGET_ROOM], const struct data_set *set, const struct record *record)
{
    if (3 * (record->key.size + record->owner.size) + 100 > TARGET_ROOM) {
        support_fail("%s: a key is too long for this program", set->name);
    }
    char *out = target + sprintf(target, "/v1/buckets/%s/entries/", set->records.bucket);
    out = write_encoded(out, record->key);
    out += sprintf(out, "?under=");
    *write_encoded(out, record->owner) = '\0';
}

static void complain(const char *what, const char *target, const struct entry_reply *reply)
{
    static atomic_size_t complaints;
    if (atomic_fetch_add(&complaints, 1) < MOST_COMPLAINTS) {
        fprintf(stderr, "%s %s: outcome %d, status %d, %s, %zu bytes: %.*s\n", what, target,
                (int)reply->outcome, reply->status, reply->content_type, reply->body.size,
                (int)(reply->body.size < 300 ? reply->body.size : 300), (const char *)reply->body.data);
    }
}

static bool write_record(const struct data_set *set, size_t i, struct entry_client *client)
{
    const struct record *record = &set->records.items[i];
    char target[TARGET_ROOM];
    write_target(target, set, record);
    struct entry_request request = {
        .method = "PUT", .target = target, .body = record->value, .content_type = record->content_type};
    struct entry_reply reply;
    entry_client_ask(client, &request, &reply);
    snprintf(set->versions[i], sizeof set->versions[i], "%s", reply.version);
    bool good = reply.outcome == ENTRY_ANSWERED && reply.status == 201 && *reply.version != '\0';
    if (!good) {
        complain("PUT", target, &reply);
    }
    return good;
}

static bool read_record(const struct data_set *set, size_t i, struct entry_client *client)
{
    const struct record *record = &set->records.items[i];
    char target[TARGET_ROOM];
    write_target(target, set, record);
    struct entry_request request = {.method = "GET", .target = target};
    struct entry_reply reply;
    entry_client_ask(client, &request, &reply);
    bool good =
        reply.outcome == ENTRY_ANSWERED && reply.status == 200 && bytes_equal(reply.body, record->value) &&
        strcmp(reply.content_type, record->content_type) == 0 && strcmp(reply.version, set->versions[i]) == 0;
    if (!good) {
        complain("GET", target, &reply);
    }
    return good;
}

static void run_client(size_t index, void *user)
{
    struct pass *pass = user;
    struct entry_client client = entry_client_new(pass->port);
    for (size_t i = index; i < pass->set->records.count; i += CLIENTS) {
        if (pass->one(pass->set, i, &client)) {
            atomic_fetch_add(&pass->good, 1);
        }
    }
    entry_client_close(&client);
}

static void report(bool good, const char *name, const char *what)
{
    passed += good;
    failed += !good;
    if (!good) {
        printf("FAILED: %s: %s\n", name, what);
    }
}

// Runs a pass over the whole set; it counts as one test, which passes when every record did.
static void run_pass(const struct data_set *set, uint16_t port, const char *what,
                     bool (*one)(const struct data_set *, size_t, struct entry_client *))
{
    struct pass pass = {.set = set, .one = one, .port = port};
    int64_t start = clock_ms();
    parallel_run(CLIENTS, run_client, &pass);
    int64_t took = clock_ms() - start;
    size_t good = atomic_load(&pass.good);
    printf("%-12s %-24s %6zu of %6zu records, %8zu bytes, %6.2f s, %6.0f records/s\n", set->name, what, good,
           set->records.count, set->bytes, (double)took / 1000,
           (double)good * 1000 / (double)(took > 0 ? took : 1));
    fflush(stdout);
    report(good == set->records.count, set->name, what);
}

static void declare(const struct data_set *set, uint16_t port)
{
    char target[TARGET_ROOM];
    char body[BODY_ROOM];
    struct entry_reply reply;
    struct entry_client client = entry_client_new(port);
    snprintf(target, sizeof target, "/v1/buckets/%s", set->records.bucket);
    snprintf(body, sizeof body, "{\"type\":\"%s\"}", set->records.type);
    struct entry_request request = {
        .method = "PUT", .target = target, .body = bytes_of(body), .content_type = "application/json"};
    entry_client_ask(&client, &request, &reply);
    bool good = reply.outcome == ENTRY_ANSWERED && reply.status == 201;
    if (!good) {
        complain("PUT", target, &reply);
    }
    report(good, set->name, "declared");
    entry_client_close(&client);
}

static int compare_versions(const void *a, const void *b)
{
    return strcmp(a, b);
}

// No version was given twice, over all data sets.
static void check_versions(const struct data_set *sets, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += sets[i].records.count;
    }
    char(*all)[ENTRY_VERSION_ROOM] = calloc(total, sizeof *all);
    if (all == NULL) {
        support_fail("no memory for %zu versions", total);
    }
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(all + used, sets[i].versions, sets[i].records.count * sizeof *all);
        used += sets[i].records.count;
    }
    qsort(all, total, sizeof *all, compare_versions);
    bool unique = true;
    for (size_t i = 1; i < total; i++) {
        unique = unique && strcmp(all[i - 1], all[i]) != 0;
    }
    free(all);
    report(unique, "all", "every version once");
}

static void read_sets(struct data_set *sets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!sets[i].read(&sets[i].records, sets[i].path)) {
            support_fail("%s cannot be read", sets[i].name);
        }
        sets[i].versions = calloc(sets[i].records.count, sizeof *sets[i].versions);
        if (sets[i].versions == NULL) {
            support_fail("no memory for %zu records", sets[i].records.count);
        }
        for (size_t j = 0; j < sets[i].records.count; j++) {
            sets[i].bytes += sets[i].records.items[j].value.size;
        }
    }
}

static void load_and_read(struct data_set *sets, size_t count)
{
    char *folder = scratch_folder("real");
    char *data = scratch_printf("%s/data", folder);
    struct service_options options = {.data = data};
    struct service *service = service_start(&options);
    for (size_t i = 0; i < count; i++) {
        declare(&sets[i], service_port(service));
        run_pass(&sets[i], service_port(service), "written", write_record);
        run_pass(&sets[i], service_port(service), "read back", read_record);
    }
    check_versions(sets, count);
    service_kill(service);
    service = service_start(&options);
    for (size_t i = 0; i < count; i++) {
        run_pass(&sets[i], service_port(service), "read after kill -9", read_record);
    }
    service_end(service);
    free(data);
    free(folder);
}

int main(void)
{
    struct data_set sets[] = {
        {{.bucket = "iso-codes", .type = "json"},
         "iso-codes",
         records_from_iso_codes,
         "/usr/share/iso-codes/json",
         0,
         NULL},
        {{.bucket = "unicode", .type = "text"},
         "unicode-data",
         records_from_unicode_data,
         "/usr/share/unicode/UnicodeData.txt",
         0,
         NULL},
        {{.bucket = "media-types", .type = "any"},
         "media-types",
         records_from_media_types,
         "/etc/mime.types",
         0,
         NULL},
    };
    enum { SETS = sizeof sets / sizeof sets[0] };
    read_sets(sets, SETS);
    load_and_read(sets, SETS);
    for (size_t i = 0; i < SETS; i++) {
        records_free(&sets[i].records);
        free(sets[i].versions);
    }
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
