// What all answers have in common is judged here; what they must say, by who asked.
#include "chaos/caller.h"

#include "chaos/totals.h"
#include "support/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

// No fault lasts a third of it, and the service ends a call to the database that takes ten seconds.
enum { DEADLINE_MS = 15 * 1000, COMPLAINT = 500 };

static struct {
    pthread_mutex_t lock;
    atomic_bool broken;
    char complaint[COMPLAINT];
    int allowed_ms;
} callers = {.lock = PTHREAD_MUTEX_INITIALIZER};

const char *reply_in_short(const struct entry_reply *reply, char out[REPLY_SHORT])
{
    size_t shown = reply->body.size < 200 ? reply->body.size : 200;
    snprintf(out, REPLY_SHORT, "%d %.*s", reply->status, (int)shown, (const char *)reply->body.data);
    return out;
}

static void complain(const struct entry_request *request, const struct entry_reply *reply, const char *what,
                     int64_t took)
{
    pthread_mutex_lock(&callers.lock);
    if (!callers.complaint[0])
        snprintf(callers.complaint, COMPLAINT, "%s %s: %s after %lld ms: %s", request->method,
                 request->target, what, (long long)took, reply_in_short(reply, (char[REPLY_SHORT]){0}));
    pthread_mutex_unlock(&callers.lock);
    atomic_store(&callers.broken, true);
}

void callers_allow(int ms)
{
    callers.allowed_ms = ms;
}

const char *callers_complaint(void)
{
    return atomic_load(&callers.broken) ? callers.complaint : "";
}

static bool is_kind(const struct entry_reply *reply, const char *kind)
{
    char found[ENTRY_VERSION_ROOM];
    return entry_reply_member(reply, "kind", found) && strcmp(found, kind) == 0;
}

bool reply_is_doubtful(const struct entry_reply *reply)
{
    return reply->outcome == ENTRY_NO_ANSWER ||
           (reply->outcome == ENTRY_ANSWERED && reply->status == 503 && is_kind(reply, "outcome_unknown"));
}

static void judge_answer(const struct entry_request *request, const struct entry_reply *reply, int64_t took)
{
    if (reply->status < 500)
        return;
    if (reply->status == 503 && is_kind(reply, "outcome_unknown")) {
        totals_add(TOTAL_UNKNOWN, 1);
    } else if (reply->status == 503 && is_kind(reply, "unavailable")) {
        totals_add(TOTAL_UNAVAILABLE, 1);
        if (!reply->retry_after)
            complain(request, reply, "unavailable without Retry-After", took);
    } else {
        complain(request, reply, "an answer that no fault excuses", took);
    }
}

static void judge(const struct entry_request *request, const struct entry_reply *reply, int64_t took,
                  int64_t deadline)
{
    totals_add(TOTAL_REQUESTS, 1);
    if (reply->outcome == ENTRY_ANSWERED)
        judge_answer(request, reply, took);
    else
        totals_add(reply->outcome == ENTRY_NOT_SENT ? TOTAL_NOT_SENT : TOTAL_NO_ANSWER, 1);
    if (took >= deadline)
        complain(request, reply, "a request hangs", took);
}

void caller_ask_on(struct entry_client *connection, const struct entry_request *request, int waits_ms,
                   struct entry_reply *reply)
{
    int64_t start = clock_ms();
    connection->timeout_ms = DEADLINE_MS + waits_ms + callers.allowed_ms;
    entry_client_ask(connection, request, reply);
    judge(request, reply, clock_ms() - start, connection->timeout_ms);
}

void caller_start(struct caller *caller, uint64_t seed, uint64_t stream, size_t replicas)
{
    caller->random = random_seeded(seed, stream);
    caller->replicas = replicas;
    for (size_t i = 0; i < replicas; i++)
        caller->connections[i] = entry_client_new(0);
}

void caller_end(struct caller *caller)
{
    for (size_t i = 0; i < caller->replicas; i++)
        entry_client_close(&caller->connections[i]);
}

// Prefer: wait=N is the only header of that kind that callers send.
static int waits_ms(const struct entry_request *request)
{
    const char *found = request->headers ? strstr(request->headers, "wait=") : NULL;
    int seconds = 0;
    return found && sscanf(found, "wait=%d", &seconds) == 1 ? seconds * 1000 : 0;
}

void caller_ask_at(struct caller *caller, size_t replica, const struct entry_request *request,
                   struct entry_reply *reply)
{
    struct entry_client *connection = &caller->connections[replica];
    connection->port = load_port(replica);
    *reply = (struct entry_reply){.outcome = ENTRY_NOT_SENT};
    if (connection->port)
        caller_ask_on(connection, request, waits_ms(request), reply);
}

void caller_ask(struct caller *caller, const struct entry_request *request, struct entry_reply *reply)
{
    caller_ask_at(caller, random_below(&caller->random, caller->replicas), request, reply);
}
