// Each key has one writer with one call at a time, so that after any faults its state is known exactly, or is
// one of two.
#include "chaos/ledger.h"

#include "chaos/caller.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 3, BODY_ROOM = 64, TARGET_ROOM = 128, VALUES_OF_A_CLIENT = 100 * 1000 * 1000 };

static void complain(struct ledger *ledger, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void complain(struct ledger *ledger, const char *format, ...)
{
    if (ledger->complaint[0] != '\0') {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    int used = snprintf(ledger->complaint, sizeof ledger->complaint, "client %u: ", ledger->client);
    vsnprintf(ledger->complaint + used, sizeof ledger->complaint - (size_t)used, format, arguments);
    va_end(arguments);
}

static void *grow(void *memory, size_t count, size_t size)
{
    // A power of two is full: the next one gets twice the room.
    if ((count & (count - 1)) != 0) {
        return memory;
    }
    void *grown = realloc(memory, (count == 0 ? 1 : count * 2) * size);
    if (grown == NULL) {
        abort();
    }
    return grown;
}

static void start_key(struct ledger *ledger, struct ledger_key *key)
{
    *key = (struct ledger_key){.number = ledger->next_number++};
}

void ledger_start(struct ledger *ledger, unsigned client)
{
    *ledger = (struct ledger){.client = client, .next_value = client * (uint64_t)VALUES_OF_A_CLIENT + 1};
    for (size_t i = 0; i < LEDGER_KEYS; i++) {
        start_key(ledger, &ledger->keys[i]);
    }
}

void ledger_free(struct ledger *ledger)
{
    free(ledger->retired);
    free(ledger->versions);
}

// A key that got an unknown outcome is set aside for the end, and a fresh one takes its place.
static void retire(struct ledger *ledger, struct ledger_key *key, uint64_t doubt)
{
    key->doubtful = true;
    key->doubt = doubt;
    ledger->retired = grow(ledger->retired, ledger->retired_count, sizeof *ledger->retired);
    ledger->retired[ledger->retired_count++] = *key;
    start_key(ledger, key);
}

static void ask(struct ledger *ledger, struct entry_client *client, const char *method,
                const struct ledger_key *key, struct bytes body, const char *if_match,
                struct entry_reply *reply)
{
    char target[TARGET_ROOM];
    char header[TARGET_ROOM];
    snprintf(target, sizeof target, "/v1/buckets/chaos-%u/entries/%u?under=client-%u",
             ledger->client % BUCKETS, key->number, ledger->client);
    snprintf(header, sizeof header, "If-Match: \"%s\"\r\n", if_match != NULL ? if_match : "");
    struct entry_request request = {
        .method = method,
        .target = target,
        .body = body,
        .content_type = body.size > 0 ? "text/plain" : NULL,
        .headers = if_match != NULL ? header : NULL,
    };
    caller_ask_on(client, &request, 0, reply);
}

enum verdict { DONE, NOTHING_DONE, UNKNOWN };

// What a reply that is not a success says about the write; anything but the two faults that the contract
// allows is a broken promise.
static enum verdict judge(struct ledger *ledger, const struct entry_reply *reply, const char *what)
{
    char kind[ENTRY_VERSION_ROOM];
    if (reply->outcome == ENTRY_NOT_SENT) {
        ledger->refused_connections++;
        return NOTHING_DONE;
    }
    if (reply->outcome == ENTRY_NO_ANSWER) {
        ledger->broken_connections++;
        return UNKNOWN;
    }
    if (reply->status < 300) {
        return DONE;
    }
    entry_reply_member(reply, "kind", kind);
    if (reply->status == 503 && strcmp(kind, "unavailable") == 0) {
        ledger->unavailable++;
        if (!reply->retry_after) {
            complain(ledger, "503 unavailable without Retry-After");
        }
        return NOTHING_DONE;
    }
    if (reply->status == 503 && strcmp(kind, "outcome_unknown") == 0) {
        ledger->unknown++;
        return UNKNOWN;
    }
    complain(ledger, "%s got %d: %.*s", what, reply->status, (int)reply->body.size,
             (const char *)reply->body.data);
    return UNKNOWN;
}

static void acknowledge(struct ledger *ledger, struct ledger_key *key, uint64_t value,
                        const struct entry_reply *reply)
{
    key->value = value;
    snprintf(key->version, sizeof key->version, "%s", reply->version);
    ledger->acknowledged++;
    if (reply->position <= ledger->position) {
        complain(ledger, "position %" PRId64 " after %" PRId64 " in one bucket", reply->position,
                 ledger->position);
    }
    ledger->position = reply->position;
    if (value != 0) {
        ledger->versions = grow(ledger->versions, ledger->version_count, sizeof *ledger->versions);
        snprintf(ledger->versions[ledger->version_count++], sizeof *ledger->versions, "%s", reply->version);
    }
}

static bool put(struct ledger *ledger, struct ledger_key *key, struct entry_client *client,
                const char *if_match)
{
    char body[BODY_ROOM];
    uint64_t value = ledger->next_value++;
    int size = snprintf(body, sizeof body, "%" PRIu64, value);
    struct entry_reply reply;
    ask(ledger, client, "PUT", key, bytes_make(body, (size_t)size), if_match, &reply);
    enum verdict verdict =
        judge(ledger, &reply, if_match != NULL ? "PUT If-Match of the version we wrote" : "PUT");
    if (verdict == UNKNOWN) {
        retire(ledger, key, value);
    } else if (verdict == DONE) {
        if (reply.status != (key->value == 0 ? 201 : 204)) {
            complain(ledger, "PUT of key %u got %d, acknowledged before was %" PRIu64, key->number,
                     reply.status, key->value);
        }
        acknowledge(ledger, key, value, &reply);
    }
    return verdict == DONE;
}

static bool put_over(struct ledger *ledger, struct ledger_key *key, struct entry_client *client)
{
    return put(ledger, key, client, NULL);
}

static bool put_if_match(struct ledger *ledger, struct ledger_key *key, struct entry_client *client)
{
    return put(ledger, key, client, key->value != 0 ? key->version : NULL);
}

static bool delete (struct ledger *ledger, struct ledger_key *key, struct entry_client *client)
{
    struct entry_reply reply;
    ask(ledger, client, "DELETE", key, (struct bytes){0}, NULL, &reply);
    if (reply.outcome == ENTRY_ANSWERED && reply.status == 404) {
        if (key->value != 0) {
            complain(ledger, "DELETE of key %u got 404, acknowledged was %" PRIu64, key->number, key->value);
        }
        return true;
    }
    enum verdict verdict = judge(ledger, &reply, "DELETE");
    if (verdict == UNKNOWN) {
        retire(ledger, key, 0);
    } else if (verdict == DONE) {
        if (key->value == 0) {
            complain(ledger, "DELETE of key %u got 204, but it was absent", key->number);
        }
        acknowledge(ledger, key, 0, &reply);
    }
    return verdict == DONE;
}

// Holds an answered read against what may be there; `*doubt_happened` when it is the doubtful write's state.
static void check_read(struct ledger *ledger, const struct ledger_key *key, const struct entry_reply *reply,
                       bool *doubt_happened)
{
    uint64_t value = reply->status == 200 ? strtoull((const char *)reply->body.data, NULL, 10) : 0;
    if (reply->status != 200 && reply->status != 404) {
        complain(ledger, "GET of key %u got %d: %.*s", key->number, reply->status, (int)reply->body.size,
                 (const char *)reply->body.data);
    } else if (value == key->value) {
        *doubt_happened = false;
        if (value != 0 && strcmp(reply->version, key->version) != 0) {
            complain(ledger, "key %u has version %s, acknowledged was %s", key->number, reply->version,
                     key->version);
        }
    } else if (key->doubtful && value == key->doubt) {
        *doubt_happened = true;
    } else {
        complain(ledger, "key %u holds %" PRIu64 ", acknowledged was %" PRIu64 "%s", key->number, value,
                 key->value, key->doubtful ? ", in doubt another" : "");
    }
}

static bool get(struct ledger *ledger, struct ledger_key *key, struct entry_client *client)
{
    struct entry_reply reply;
    bool happened;
    ask(ledger, client, "GET", key, (struct bytes){0}, NULL, &reply);
    if (reply.outcome == ENTRY_ANSWERED && (reply.status == 200 || reply.status == 404)) {
        check_read(ledger, key, &reply, &happened);
        ledger->reads++;
        return true;
    }
    judge(ledger, &reply, "GET");
    return false;
}

static const struct {
    unsigned weight; // of 100
    bool (*run)(struct ledger *ledger, struct ledger_key *key, struct entry_client *client);
} operations[] = {{50, put_over}, {20, put_if_match}, {10, delete}, {20, get}};

bool ledger_step(struct ledger *ledger, struct entry_client *client, struct random *random)
{
    struct ledger_key *key = &ledger->keys[random_below(random, LEDGER_KEYS)];
    size_t drawn = random_below(random, 100);
    size_t operation = 0;
    for (; drawn >= operations[operation].weight; operation++) {
        drawn -= operations[operation].weight;
    }
    return operations[operation].run(ledger, key, client);
}

static bool verify_key(struct ledger *ledger, const struct ledger_key *key, struct entry_client *client)
{
    struct entry_reply reply;
    bool doubt_happened = false;
    ask(ledger, client, "GET", key, (struct bytes){0}, NULL, &reply);
    if (reply.outcome != ENTRY_ANSWERED) {
        complain(ledger, "GET of key %u got no answer after everything", key->number);
    } else {
        check_read(ledger, key, &reply, &doubt_happened);
    }
    return doubt_happened;
}

size_t ledger_verify(struct ledger *ledger, struct entry_client *client)
{
    size_t happened = 0;
    for (size_t i = 0; i < LEDGER_KEYS; i++) {
        verify_key(ledger, &ledger->keys[i], client);
    }
    for (size_t i = 0; i < ledger->retired_count; i++) {
        happened += verify_key(ledger, &ledger->retired[i], client);
    }
    return happened;
}
