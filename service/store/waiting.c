// Operations leave their lanes before any of them is told: who is told may submit another one at once.
#include "store/waiting.h"

#include "base/timestamp.h"

// The end of a list that grows.
struct list {
    struct operation *first;
    struct operation **end;
};

static void take_older(struct connection *connection, struct lane *lane, int64_t oldest, struct list *taken)
{
    struct operation **link = &lane->head;
    while (*link) {
        struct operation *operation = *link;
        if (operation->submitted >= oldest) {
            link = &operation->next;
            continue;
        }
        *link = operation->next;
        operation->next = NULL;
        *taken->end = operation;
        taken->end = &operation->next;
        connection->waiting--;
    }
    lane->tail = link;
}

static void charge_wait(const struct operation *operation, int64_t now)
{
    struct account *account = operation->account;
    if (!account)
        return;
    account->queued += now - operation->waits_since;
    account->answered = now;
}

void waiting_drop_older(struct connection *connection, int64_t oldest, const char *detail)
{
    struct list taken = {.end = &taken.first};
    for (int i = 0; i < connection->lane_count; i++)
        take_older(connection, &connection->lanes[i], oldest, &taken);
    int64_t now = timestamp_monotonic();
    while (taken.first) {
        struct operation *operation = taken.first;
        taken.first = operation->next;
        operation->next = NULL;
        charge_wait(operation, now);
        operation_finish(operation, OUTCOME_UNAVAILABLE, detail);
    }
}

void waiting_drop(struct connection *connection, const char *detail)
{
    waiting_drop_older(connection, INT64_MAX, detail);
}
