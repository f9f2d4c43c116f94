// A client has one call at a time and another key after one whose outcome is not known, so that the key
// itself tells in the end whether that call was done; its link must say the same.
#include "chaos/linked.h"

#include "chaos/caller.h"
#include "chaos/totals.h"
#include "support/clock.h"

#include <check.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CLIENTS = 3,
    WRITES = 25, // of a session
    MOST_SESSIONS = 16 * 1024,
    PAUSE_MS = 20,
    BETWEEN_MS = 10, // two calls of a client, at most
    LAST_MS = 10 * 1000,
};

#define BUCKET "chaos-linked"

enum operation { PUT, EXCHANGE, DELETE, TAKE, OPERATIONS };

static const struct {
    const char *name; // as a list has it
    const char *method;
    const char *call;
    const char *body;
    int status;
    bool removes;
} operations[OPERATIONS] = {
    [PUT] = {"put", "PUT", "", "a value", 201, false},
    [EXCHANGE] = {"exchange", "POST", "/exchange", "another value", 200, false},
    [DELETE] = {"delete", "DELETE", "", "", 204, true},
    [TAKE] = {"take", "POST", "/take", "", 200, true},
};

struct write {
    size_t key;
    enum operation operation;
    bool unknown;
    int64_t position; // when it was acknowledged
    int64_t before;   // the version that it met, 0 when the key was absent
};

struct session {
    struct write writes[WRITES];
    size_t count;
};

struct client {
    pthread_t thread;
    unsigned number;
    struct caller caller;
    struct session *sessions[MOST_SESSIONS];
    size_t session_count;
    size_t key;
    int64_t version; // of the key, 0 when it is absent
    size_t linked, refused, unknown;
    char complaint[400]; // the first broken promise, empty while there is none
};

static struct {
    struct client clients[CLIENTS];
    atomic_bool stopping;
    atomic_bool broken;
} linked;

static bool is_over(void)
{
    return atomic_load(&linked.stopping) || atomic_load(&linked.broken);
}

static void complain(struct client *client, const char *what, size_t session, const struct entry_reply *reply)
{
    if (!client->complaint[0])
        snprintf(client->complaint, sizeof client->complaint, "session %u-%zu: %s: %s", client->number,
                 session, what, reply_in_short(reply, (char[REPLY_SHORT]){0}));
    atomic_store(&linked.broken, true);
}

// --- writing ----------------------------------------------------------------------------------------------

static void ask(struct client *client, enum operation operation, const char *condition,
                struct entry_reply *reply)
{
    char target[120], headers[120];
    snprintf(target, sizeof target, "/v1/buckets/" BUCKET "/entries/%u-%zu%s", client->number, client->key,
             operations[operation].call);
    snprintf(headers, sizeof headers, "Holdfast-Session: chaos/%u-%zu\r\n%s", client->number,
             client->session_count - 1, condition);
    caller_ask(&client->caller,
               &(struct entry_request){.method = operations[operation].method,
                                       .target = target,
                                       .body = bytes_of(operations[operation].body),
                                       .headers = headers},
               reply);
}

static void next_key(struct client *client)
{
    client->key++;
    client->version = 0;
}

static void do_write(struct client *client, struct session *session, enum operation operation,
                     struct entry_reply *reply)
{
    struct write write = {.key = client->key, .operation = operation, .before = client->version};
    ask(client, operation, "", reply);
    if (reply_is_doubtful(reply)) {
        write.unknown = true;
        client->unknown++;
        next_key(client);
    } else if (entry_reply_is_fault(reply)) {
        return;
    } else if (reply->status != operations[operation].status || !reply->position) {
        complain(client, operations[operation].name, client->session_count - 1, reply);
        return;
    } else if (operations[operation].removes) {
        next_key(client);
    } else {
        client->version = reply->position;
    }
    write.position = reply->position;
    session->writes[session->count++] = write;
}

// What is not done is not listed.
static void be_refused(struct client *client, struct entry_reply *reply)
{
    ask(client, PUT, client->version ? "If-None-Match: *\r\n" : "If-Match: *\r\n", reply);
    if (!entry_reply_is_fault(reply) && reply->status != 412)
        complain(client, "a write that had to be refused", client->session_count - 1, reply);
    client->refused += reply->status == 412;
}

static void step(struct client *client, struct session *session, struct entry_reply *reply)
{
    size_t chance = random_below(&client->caller.random, 100);
    if (chance < 15)
        be_refused(client, reply);
    else if (!client->version)
        do_write(client, session, PUT, reply);
    else
        do_write(client, session, chance < 60 ? EXCHANGE : chance < 80 ? DELETE : TAKE, reply);
}

// --- reading a session's list -----------------------------------------------------------------------------

// The list's rows; NULL when they were not told. Released with `*page`.
static json_t *read_list(struct client *client, size_t session, json_t **page, struct entry_reply *reply)
{
    char target[120];
    snprintf(target, sizeof target, "/v1/sessions/chaos/%u-%zu/writes?limit=1000", client->number, session);
    caller_ask(&client->caller, &(struct entry_request){.method = "GET", .target = target}, reply);
    *page = entry_reply_is_fault(reply)
                ? NULL
                : json_loadb((const char *)reply->body.data, reply->body.size, 0, NULL);
    json_t *rows = json_object_get(*page, "writes");
    if (!rows && !entry_reply_is_fault(reply))
        complain(client, "the list", session, reply);
    return rows;
}

static int64_t version_in(json_t *row)
{
    const char *version = json_string_value(json_object_get(row, "version"));
    return version ? strtoll(version, NULL, 10) : 0;
}

// Whether a row is the write's; of an unknown one only what was before is known.
static bool is_row_of(json_t *row, const struct client *client, const struct write *write)
{
    char key[40];
    const char *has_key = json_string_value(json_object_get(row, "key"));
    const char *operation = json_string_value(json_object_get(row, "operation"));
    snprintf(key, sizeof key, "%u-%zu", client->number, write->key);
    return has_key && operation && strcmp(has_key, key) == 0 &&
           strcmp(operation, operations[write->operation].name) == 0 &&
           (write->unknown ? version_in(row) > write->before : version_in(row) == write->position);
}

static json_t *row_of(json_t *rows, const struct client *client, const struct write *write)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (is_row_of(json_array_get(rows, i), client, write))
            return json_array_get(rows, i);
    return NULL;
}

// Every row is one write's, and every acknowledged write has one; in the order of their commits.
static void check_list(struct client *client, size_t number, json_t *rows, const struct entry_reply *reply)
{
    const struct session *session = client->sessions[number];
    size_t met = 0;
    for (size_t i = 0; i < session->count; i++) {
        bool there = row_of(rows, client, &session->writes[i]) != NULL;
        met += there;
        if (!there && !session->writes[i].unknown)
            complain(client, "an acknowledged write is not in the list", number, reply);
    }
    if (met != json_array_size(rows))
        complain(client, "a write is in the list that was not done, or twice", number, reply);
    for (size_t i = 1; i < json_array_size(rows); i++)
        if (version_in(json_array_get(rows, i)) <= version_in(json_array_get(rows, i - 1)))
            complain(client, "the list is not in the order of its writes", number, reply);
}

static void check_session(struct client *client, size_t number)
{
    struct entry_reply reply;
    json_t *page, *rows = read_list(client, number, &page, &reply);
    if (rows)
        check_list(client, number, rows, &reply);
    json_decref(page);
}

static void *run_client(void *argument)
{
    struct client *client = argument;
    while (!is_over() && client->session_count < MOST_SESSIONS) {
        struct session *session = calloc(1, sizeof *session);
        if (!session)
            abort();
        client->sessions[client->session_count++] = session;
        while (!is_over() && session->count < WRITES) {
            struct entry_reply reply = {.outcome = ENTRY_NOT_SENT};
            step(client, session, &reply);
            clock_pause(entry_reply_is_fault(&reply)
                            ? PAUSE_MS
                            : (int)random_below(&client->caller.random, BETWEEN_MS + 1));
        }
        client->linked += session->count;
        check_session(client, client->session_count - 1);
    }
    return NULL;
}

// --- all --------------------------------------------------------------------------------------------------

void linked_start(uint64_t seed, size_t replicas)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &linked.clients[i];
        client->number = i;
        caller_start(&client->caller, seed, 10400 + i, replicas);
        ck_assert_int_eq(pthread_create(&client->thread, NULL, run_client, client), 0);
    }
}

bool linked_is_broken(void)
{
    return atomic_load(&linked.broken);
}

// Whether the key shows what its last call, whose outcome was not known, would have done.
static bool has_happened(struct client *client, const struct write *write, int64_t *version)
{
    char target[100];
    struct entry_reply reply;
    snprintf(target, sizeof target, "/v1/buckets/" BUCKET "/entries/%u-%zu", client->number, write->key);
    caller_ask(&client->caller, &(struct entry_request){.method = "GET", .target = target}, &reply);
    ck_assert(reply.status == 200 || reply.status == 404);
    *version = reply.status == 200 ? strtoll(reply.version, NULL, 10) : 0;
    return operations[write->operation].removes ? !*version : *version && *version != write->before;
}

struct doubt {
    struct client *client;
    size_t session;
    const struct write *write;
};

// What nobody waits for any more may still be done between the two looks.
static bool link_and_effect_agree(void *user)
{
    const struct doubt *doubt = user;
    struct client *client = doubt->client;
    struct entry_reply reply;
    int64_t version;
    json_t *page, *rows = read_list(client, doubt->session, &page, &reply);
    json_t *row = row_of(rows, client, doubt->write);
    bool happened = has_happened(client, doubt->write, &version);
    bool agree = happened == (row != NULL) &&
                 (!row || operations[doubt->write->operation].removes || version_in(row) == version);
    json_decref(page);
    return agree;
}

static size_t resolve(struct client *client, size_t number)
{
    const struct session *session = client->sessions[number];
    size_t resolved = 0;
    for (size_t i = 0; i < session->count; i++) {
        struct doubt doubt = {client, number, &session->writes[i]};
        if (!doubt.write->unknown)
            continue;
        ck_assert_msg(clock_wait(link_and_effect_agree, &doubt, LAST_MS),
                      "session %u-%zu: a link without its effect, or the effect without it: %s of key %zu",
                      client->number, number, operations[doubt.write->operation].name, doubt.write->key);
        resolved++;
    }
    return resolved;
}

void linked_finish(void)
{
    size_t writes = 0, refused = 0, resolved = 0, sessions = 0;
    atomic_store(&linked.stopping, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(linked.clients[i].thread, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *client = &linked.clients[i];
        for (size_t session = 0; session < client->session_count; session++) {
            check_session(client, session);
            resolved += resolve(client, session);
        }
        ck_assert_msg(!client->complaint[0], "%s", client->complaint);
        sessions += client->session_count;
        writes += client->linked;
        refused += client->refused;
    }
    printf("sessions: %zu of %zu writes, %zu refused, %zu unknown outcomes agree with their links\n",
           sessions, writes, refused, resolved);
    fflush(stdout);
    totals_add(TOTAL_LINKED, writes);
    ck_assert_uint_gt(writes, 0);
    for (int i = 0; i < CLIENTS; i++) {
        for (size_t session = 0; session < linked.clients[i].session_count; session++)
            free(linked.clients[i].sessions[session]);
        caller_end(&linked.clients[i].caller);
    }
}
