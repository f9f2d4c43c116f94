// Whatever is done, refused or doubtful, the sum of all accounts stays what it was, in each view and at the
// end.
#include "chaos/transfers.h"

#include "chaos/caller.h"
#include "chaos/totals.h"
#include "support/clock.h"

#include <check.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    CLIENTS = 4,
    ACCOUNTS = 8,
    OPENING = 1000,
    TOTAL = ACCOUNTS * OPENING,
    PAUSE_MS = 20,
    MOST_AMOUNT = 20,
};

#define BUCKET "chaos-accounts"

struct account {
    long long money;
    char version[ENTRY_VERSION_ROOM];
};

struct client {
    pthread_t thread;
    struct caller caller;
    size_t views, done, refused, unknown;
    char complaint[400]; // the first broken promise, empty while there is none
};

static struct {
    struct client clients[CLIENTS];
    size_t replicas;
    atomic_bool stopping;
    atomic_bool broken;
} transfers;

static void complain(struct client *client, const char *what, const struct entry_reply *reply)
{
    if (!client->complaint[0])
        snprintf(client->complaint, sizeof client->complaint, "%s: %d %.*s", what, reply->status,
                 (int)(reply->body.size < 300 ? reply->body.size : 300), (const char *)reply->body.data);
    atomic_store(&transfers.broken, true);
}

static void post(struct entry_client *connection, const char *target, const char *body,
                 struct entry_reply *reply)
{
    *reply = (struct entry_reply){.outcome = ENTRY_NOT_SENT};
    if (connection->port)
        caller_ask_on(connection,
                      &(struct entry_request){.method = "POST",
                                              .target = target,
                                              .body = bytes_of(body),
                                              .content_type = "application/json"},
                      0, reply);
}

static bool read_account(json_t *entry, struct account *account)
{
    json_t *money = json_object_get(entry, "value");
    const char *version = json_string_value(json_object_get(entry, "version"));
    account->money = json_integer_value(money);
    snprintf(account->version, sizeof account->version, "%s", version ? version : "");
    return json_is_integer(money) && version;
}

// Reads a view's accounts; false when one of them is none.
static bool read_accounts(const struct entry_reply *reply, struct account accounts[ACCOUNTS])
{
    json_t *document = json_loadb((const char *)reply->body.data, reply->body.size, 0, NULL);
    json_t *entries = json_object_get(document, "entries");
    bool good = json_array_size(entries) == ACCOUNTS;
    for (size_t i = 0; good && i < ACCOUNTS; i++)
        good = read_account(json_array_get(entries, i), &accounts[i]);
    json_decref(document);
    return good;
}

static long long sum_of(const struct account accounts[ACCOUNTS])
{
    long long sum = 0;
    for (int i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].money;
    return sum;
}

// All accounts in one view; `status` of the reply is 200 when they are there.
static void view(struct entry_client *connection, struct account accounts[ACCOUNTS],
                 struct entry_reply *reply)
{
    char body[ACCOUNTS * 64] = "{\"reads\":[";
    for (int i = 0; i < ACCOUNTS; i++) {
        size_t used = strlen(body);
        snprintf(body + used, sizeof body - used, "%s{\"bucket\":\"" BUCKET "\",\"key\":\"%d\"}",
                 i ? "," : "", i);
    }
    strcat(body, "]}");
    post(connection, "/v1/views", body, reply);
    if (!entry_reply_is_fault(reply) && (reply->status != 200 || !read_accounts(reply, accounts)))
        reply->status = 0;
}

// What it read is what it checks; when an account has moved meanwhile nothing may be done.
static void transfer(struct client *client, struct entry_client *connection,
                     const struct account accounts[ACCOUNTS])
{
    char body[800];
    struct entry_reply reply;
    size_t from = random_below(&client->caller.random, ACCOUNTS);
    size_t to = (from + 1 + random_below(&client->caller.random, ACCOUNTS - 1)) % ACCOUNTS;
    long long amount = 1 + (long long)random_below(&client->caller.random, MOST_AMOUNT);
    snprintf(body, sizeof body,
             "{\"checks\":[{\"bucket\":\"" BUCKET "\",\"key\":\"%zu\",\"version\":\"%s\"},"
             "{\"bucket\":\"" BUCKET "\",\"key\":\"%zu\",\"version\":\"%s\"}],"
             "\"operations\":[{\"op\":\"put\",\"bucket\":\"" BUCKET "\",\"key\":\"%zu\",\"value\":%lld},"
             "{\"op\":\"put\",\"bucket\":\"" BUCKET "\",\"key\":\"%zu\",\"value\":%lld}]}",
             from, accounts[from].version, to, accounts[to].version, from, accounts[from].money - amount, to,
             accounts[to].money + amount);
    post(connection, "/v1/transactions", body, &reply);
    if (entry_reply_is_fault(&reply))
        client->unknown++;
    else if (reply.status == 412)
        client->refused++;
    else if (reply.status == 200)
        client->done++;
    else
        complain(client, "a transfer", &reply);
}

static struct entry_client *connection_of(struct client *client)
{
    size_t replica = random_below(&client->caller.random, transfers.replicas);
    client->caller.connections[replica].port = load_port(replica);
    return &client->caller.connections[replica];
}

static void *run_client(void *argument)
{
    struct client *client = argument;
    while (!atomic_load(&transfers.stopping) && !atomic_load(&transfers.broken)) {
        struct account accounts[ACCOUNTS];
        struct entry_reply reply;
        view(connection_of(client), accounts, &reply);
        if (entry_reply_is_fault(&reply)) {
            clock_pause(PAUSE_MS);
            continue;
        }
        if (!reply.status || sum_of(accounts) != TOTAL)
            complain(client, "a view does not have all the money", &reply);
        client->views++;
        transfer(client, connection_of(client), accounts);
    }
    return NULL;
}

static void open_accounts(void)
{
    struct entry_client connection = entry_client_new(load_port(0));
    for (int i = 0; i < ACCOUNTS; i++) {
        char target[80], money[20];
        struct entry_reply reply;
        snprintf(target, sizeof target, "/v1/buckets/" BUCKET "/entries/%d", i);
        snprintf(money, sizeof money, "%d", OPENING);
        entry_client_ask(&connection,
                         &(struct entry_request){.method = "PUT",
                                                 .target = target,
                                                 .body = bytes_of(money),
                                                 .content_type = "application/json"},
                         &reply);
        ck_assert_int_eq(reply.status, 201);
    }
    entry_client_close(&connection);
}

void transfers_start(uint64_t seed, size_t replicas)
{
    transfers.replicas = replicas;
    open_accounts();
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &transfers.clients[i];
        caller_start(&client->caller, seed, 4000 + i, replicas);
        ck_assert_int_eq(pthread_create(&client->thread, NULL, run_client, client), 0);
    }
}

bool transfers_are_broken(void)
{
    return atomic_load(&transfers.broken);
}

static void verify(size_t replica)
{
    struct account accounts[ACCOUNTS];
    struct entry_reply reply;
    struct entry_client connection = entry_client_new(load_port(replica));
    view(&connection, accounts, &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_int_eq(sum_of(accounts), TOTAL);
    entry_client_close(&connection);
}

void transfers_finish(void)
{
    size_t views = 0, done = 0, refused = 0, unknown = 0;
    atomic_store(&transfers.stopping, true);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &transfers.clients[i];
        pthread_join(client->thread, NULL);
        caller_end(&client->caller);
        views += client->views;
        done += client->done;
        refused += client->refused;
        unknown += client->unknown;
    }
    printf("transfers: %zu done, %zu refused, %zu doubtful; %zu views added up\n", done, refused, unknown,
           views);
    fflush(stdout);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_msg(!transfers.clients[i].complaint[0], "%s", transfers.clients[i].complaint);
    totals_add(TOTAL_TRANSFERS, done);
    totals_add(TOTAL_VIEWS, views);
    ck_assert_uint_gt(done, 0);
    ck_assert_uint_gt(views, 0);
    for (size_t i = 0; i < transfers.replicas; i++)
        verify(i);
}
