// Transactions over two replicas: nobody sees or makes half of one, and none waits for another in a circle.
#include "transaction_steps.h"

#include "support/parallel.h"

#include <stdatomic.h>

enum { ACCOUNTS = 8, EACH = 100, MOVERS = 8, VIEWERS = 4, TRANSFERS = 60 };

struct bank {
    const char *buckets[2];
    atomic_int left; // movers still at work
    atomic_int views;
    atomic_int wrong; // views whose total was off
    atomic_int bad;   // replies that should not come
    int status;       // of one of them
    atomic_int done;  // transfers
};

static const char *place(struct http_client *client, const struct bank *bank, int account)
{
    return http_text(client, "\"bucket\":\"%s\",\"key\":\"%d\"", bank->buckets[account % 2], account);
}

static void note_bad(struct bank *bank, const struct answer *answer)
{
    bank->status = answer->status;
    atomic_fetch_add(&bank->bad, 1);
}

// Every third one reads, checks and puts, as a client library does; the others add. A patch and a refused
// operation go along now and then.
static void transfer(struct http_client *client, struct bank *bank, unsigned n)
{
    int from = (int)(n % ACCOUNTS), to = (int)((n / 7 + 1 + n) % ACCOUNTS);
    if (from == to)
        to = (to + 1) % ACCOUNTS;
    const char *a = place(client, bank, from), *b = place(client, bank, to);
    const char *body;
    if (n % 3) {
        body = http_text(client,
                         "{\"operations\":[{\"op\":\"add\",%s,\"by\":-1},{\"op\":\"add\",%s,\"by\":1}%s]}", a,
                         b, n % 5 ? "" : ",{\"op\":\"delete\",\"bucket\":\"none\",\"key\":\"k\"}");
    } else {
        struct answer *seen =
            http(client, "POST", "/v1/views", bytes_of(http_text(client, "{\"reads\":[{%s},{%s}]}", a, b)));
        json_t *entries = json_object_get(seen->json, "entries");
        json_t *one = json_array_get(entries, 0), *two = json_array_get(entries, 1);
        body = http_text(client,
                         "{\"checks\":[{%s,\"version\":\"%s\"},{%s,\"version\":\"%s\"}],\"operations\":["
                         "{\"op\":\"put\",%s,\"value\":%lld},{\"op\":\"put\",%s,\"value\":%lld}]}",
                         a, json_string_value(json_object_get(one, "version")), b,
                         json_string_value(json_object_get(two, "version")), a,
                         (long long)json_integer_value(json_object_get(one, "value")) - 1, b,
                         (long long)json_integer_value(json_object_get(two, "value")) + 1);
    }
    struct answer *answer = http(client, "POST", "/v1/transactions", bytes_of(body));
    if (answer->status == 200)
        atomic_fetch_add(&bank->done, 1);
    else if (answer->status != 412 && answer->status != 404)
        note_bad(bank, answer);
}

static void add_up(struct http_client *client, struct bank *bank)
{
    const char *reads = "";
    for (int i = 0; i < ACCOUNTS; i++)
        reads = http_text(client, "%s%s{%s}", reads, i ? "," : "", place(client, bank, i));
    struct answer *answer =
        http(client, "POST", "/v1/views", bytes_of(http_text(client, "{\"reads\":[%s]}", reads)));
    json_int_t total = 0;
    json_t *entry;
    size_t i;
    json_array_foreach(json_object_get(answer->json, "entries"), i, entry) total +=
        json_integer_value(json_object_get(entry, "value"));
    if (answer->status != 200)
        note_bad(bank, answer);
    atomic_fetch_add(&bank->views, 1);
    if (total != ACCOUNTS * EACH)
        atomic_fetch_add(&bank->wrong, 1);
}

static void act(size_t index, void *user)
{
    struct bank *bank = user;
    struct http_client *client = http_client_new(replica_url(index));
    if (index < MOVERS) {
        for (unsigned i = 0; i < TRANSFERS; i++)
            transfer(client, bank, (unsigned)index * 31 + i * 17);
        atomic_fetch_sub(&bank->left, 1);
    } else {
        while (atomic_load(&bank->left) > 0)
            add_up(client, bank);
    }
    http_client_free(client);
}

START_TEST(views_of_transfers_always_add_up)
{
    struct bank bank = {.buckets = {bucket_of_type("int"), bucket_of_type("any")}, .left = MOVERS};
    const char *operations = "";
    for (int i = 0; i < ACCOUNTS; i++)
        operations = TEXT("%s%s{\"op\":\"put\",%s,\"value\":%d}", operations, i ? "," : "",
                          place(api.client, &bank, i), EACH);
    ck_status(transact(NULL, operations), 200);
    parallel_run(MOVERS + VIEWERS, act, &bank);
    ck_assert_msg(bank.bad == 0, "a reply was %d", bank.status);
    ck_assert_int_eq(bank.wrong, 0);
    ck_assert_int_gt(bank.views, 10);
    ck_assert_int_gt(bank.done, MOVERS * TRANSFERS / 4);
    add_up(api.client, &bank);
    ck_assert_int_eq(bank.wrong, 0);
}
END_TEST

// --- patches
// ---------------------------------------------------------------------------------------------------------

enum { PATCHERS = 8, PATCHES = 15 };

struct patching {
    const char *bucket;
    atomic_int bad;
};

// Each sets members of its own in two entries at once, which all of them patch.
static void patch_both(size_t index, void *user)
{
    struct patching *patching = user;
    struct http_client *client = http_client_new(replica_url(index));
    for (int i = 0; i < PATCHES; i++) {
        const char *body = http_text(
            client,
            "{\"operations\":[{\"op\":\"patch\",\"bucket\":\"%s\",\"key\":\"%s\",\"value\":{\"%zu-%d\":1},"
            "\"upsert\":true},{\"op\":\"patch\",\"bucket\":\"%s\",\"key\":\"%s\",\"value\":{\"%zu-%d\":1},"
            "\"upsert\":true}]}",
            patching->bucket, index % 2 ? "a" : "b", index, i, patching->bucket, index % 2 ? "b" : "a", index,
            i);
        if (http(client, "POST", "/v1/transactions", bytes_of(body))->status != 200)
            atomic_fetch_add(&patching->bad, 1);
    }
    http_client_free(client);
}

START_TEST(no_patch_in_a_transaction_is_lost)
{
    struct patching patching = {.bucket = bucket_of_type("json")};
    parallel_run(PATCHERS, patch_both, &patching);
    ck_assert_int_eq(patching.bad, 0);
    ck_reply(GET(api_entry(patching.bucket, "a")), json_object_size(answer_->json) == PATCHERS * PATCHES);
    ck_reply(GET(api_entry(patching.bucket, "b")), json_object_size(answer_->json) == PATCHERS * PATCHES);
}
END_TEST

// --- lock order
// ------------------------------------------------------------------------------------------------------

enum { CROSSERS = 16, CROSSINGS = 25, CROSSED = 6 };

struct crossing {
    const char *buckets[3];
    atomic_int bad;
    int status;
};

// Transactions, copies, moves and single writes over three buckets in opposite orders.
static void cross(size_t index, void *user)
{
    struct crossing *crossing = user;
    struct http_client *client = http_client_new(replica_url(index));
    for (size_t i = 0; i < CROSSINGS; i++) {
        const char *one = crossing->buckets[(index + i) % 3];
        const char *two = crossing->buckets[(2 * index + 2 * i + 1) % 3];
        const char *three = crossing->buckets[(index + 2 * i + 2) % 3];
        size_t key = (index * 7 + i) % CROSSED;
        struct answer *answer;
        switch ((index + i) % 4) {
        case 0:
        case 1:
            answer =
                http(client, "POST", "/v1/transactions",
                     bytes_of(http_text(
                         client,
                         "{\"operations\":[{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"%zu\",\"value\":1},"
                         "{\"op\":\"put\",\"bucket\":\"%s\",\"key\":\"%zu\",\"value\":2},"
                         "{\"op\":\"add\",\"bucket\":\"%s\",\"key\":\"%zu\"}]}",
                         one, key, two, (key + 1) % CROSSED, three, (key + 2) % CROSSED)));
            break;
        case 2:
            answer = http(
                client, "POST",
                http_text(client, "/v1/buckets/%s/entries/%zu/%s", one, key, i % 2 ? "copy" : "move"),
                bytes_of(http_text(client, "{\"to_bucket\":\"%s\"}", two)), "Content-Type: application/json");
            break;
        default:
            answer =
                http(client, "PUT", http_text(client, "/v1/buckets/%s/entries/%zu", three, key), BODY("1"));
            break;
        }
        if (answer->status != 200 && answer->status != 201 && answer->status != 204 &&
            answer->status != 404) {
            crossing->status = answer->status;
            atomic_fetch_add(&crossing->bad, 1);
        }
    }
    http_client_free(client);
}

// DB-3
START_TEST(transactions_that_cross_never_deadlock)
{
    struct crossing crossing = {
        .buckets = {bucket_of_type("int"), bucket_of_type("any"), bucket_of_type("json")}};
    PGconn *connection = database_connect(&api.database);
    const char *deadlocks = "select deadlocks from pg_stat_database where datname = current_database()";
    int64_t before = sql_number(connection, "%s", deadlocks);
    parallel_run(CROSSERS, cross, &crossing);
    ck_assert_msg(crossing.bad == 0, "a reply was %d", crossing.status);
    ck_assert_int_eq(sql_number(connection, "%s", deadlocks), before);
    PQfinish(connection);
}
END_TEST

Suite *transaction_race_suite(void)
{
    const TTest *const tests[] = {
        views_of_transfers_always_add_up,
        no_patch_in_a_transaction_is_lost,
        transactions_that_cross_never_deadlock,
        NULL,
    };
    return api_suite_of_two("transaction_race", tests);
}
