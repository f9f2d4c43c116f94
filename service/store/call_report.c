// What a call's answer tells the log and the counts.
#include "store/call_report.h"

#include "base/log.h"
#include "base/timestamp.h"
#include "observe/counts.h"

#include <stdio.h>
#include <string.h>

enum { REQUEST_IDS = 512 }; // bytes of those that a line of the log lists

// Some of the requests that travelled in the call, so that a line of the log leads to theirs.
static void list_requests(const struct call *call, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < call->count; i++) {
        const struct account *account = call->operations[i]->account;
        size_t length = account ? strlen(account->request_id) : 0;
        if (account && used + length + 2 <= size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "", account->request_id);
    }
}

void call_complain(const struct connection *connection, enum log_level level, const char *event,
                   const struct call *call)
{
    char requests[REQUEST_IDS];
    list_requests(call, requests, sizeof requests);
    log_event(level, event, "statement", call->lane->statement->name, "role",
              counted_role_names[connection->role], "sqlstate", call->sqlstate, "request_ids", requests,
              NULL);
}

static void complain_of_slowness(const struct connection *connection, const struct call *call, int64_t took)
{
    char requests[REQUEST_IDS];
    list_requests(call, requests, sizeof requests);
    log_took(LOG_WARN, "slow_call", call->ordinals, took, "statement", call->lane->statement->name, "role",
             counted_role_names[connection->role], "request_ids", requests, NULL);
}

void call_count_refusal(const struct connection *connection, enum call_refusal refusal)
{
    count_add(&connection->options->counts->call_refusals[refusal], 1);
}

static void charge(const struct call *call, int64_t took, int64_t now)
{
    for (int i = 0; i < call->count; i++)
        for (const struct operation *operation = call->operations[i]; operation;
             operation = operation->stands_for) {
            struct account *account = operation->account;
            if (!account)
                continue;
            account->queued += call->sent - operation->waits_since;
            account->database += took;
            account->answered = now;
        }
}

// The turn's time serves: an answer is found when it begins.
void call_count_answer(const struct connection *connection, const struct call *call)
{
    struct counts *counts = connection->options->counts;
    int64_t now = loop_now(connection->loop);
    int64_t took = now > call->sent ? now - call->sent : 0;
    histogram_add(&counts->batches[connection->role], &bounds_batch, call->ordinals);
    histogram_add(&counts->calls[connection->role], &bounds_duration, (uint64_t)took);
    if (call->lane->statement->writes)
        count_add(&counts->writing_calls, 1);
    charge(call, took, now);
    if (connection->options->slow && took > connection->options->slow)
        complain_of_slowness(connection, call, took);
}

void call_count_loss(const struct connection *connection, const struct call *call)
{
    int64_t now = timestamp_monotonic();
    charge(call, now - call->sent, now);
    call_complain(connection, LOG_WARN, "call_lost", call);
}
