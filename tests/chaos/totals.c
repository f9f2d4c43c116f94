// Counts, and their names.
#include "chaos/totals.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAULTS = 32 };

static const char *const names[TOTALS] = {
    [TOTAL_REQUESTS] = "requests",
    [TOTAL_NOT_SENT] = "requests that found nobody",
    [TOTAL_NO_ANSWER] = "requests without an answer",
    [TOTAL_UNAVAILABLE] = "answers that nothing was done",
    [TOTAL_UNKNOWN] = "answers that the outcome is unknown",
    [TOTAL_WRITES] = "writes acknowledged",
    [TOTAL_READS] = "reads compared",
    [TOTAL_VERSIONS] = "versions compared",
    [TOTAL_DOUBTS] = "unknown outcomes resolved",
    [TOTAL_SUMS] = "sums under idempotency keys",
    [TOTAL_ONCE] = "once answers",
    [TOTAL_QUOTA_USES] = "quota uses",
    [TOTAL_RATE_USES] = "rate limit uses",
    [TOTAL_COUNTED] = "counter additions",
    [TOTAL_TRANSFERS] = "transfers",
    [TOTAL_VIEWS] = "views added up",
    [TOTAL_WAITS] = "waits answered",
    [TOTAL_FORKS] = "forks",
    [TOTAL_FORK_LOOKS] = "looks at forks",
    [TOTAL_GRANTS] = "lease grants",
    [TOTAL_FENCED] = "fenced writes",
    [TOTAL_SNAPSHOTS] = "snapshots of a bucket",
    [TOTAL_CHANGES_IN_ORDER] = "changes seen in order",
    [TOTAL_EXPIRIES] = "reads around an expiry",
    [TOTAL_HISTORIES] = "histories found linearizable",
    [TOTAL_CALLS] = "calls in histories",
    [TOTAL_ITEMS] = "items put in",
    [TOTAL_MOVES] = "items moved",
    [TOTAL_DOCUMENT] = "changes of a document",
    [TOTAL_SWAPS] = "compare-and-sets done",
    [TOTAL_PROMOTED] = "continuous forks promoted",
    [TOTAL_DISCARDED] = "continuous forks discarded",
    [TOTAL_PASSES] = "passes of rate gates",
    [TOTAL_LINKED] = "writes linked to sessions",
    [TOTAL_LARGE_VALUES] = "large values read",
    [TOTAL_STOPPED] = "clients stopped",
    [TOTAL_KILLED] = "clients killed",
    [TOTAL_PACKETS] = "packets dropped",
    [TOTAL_DISK_FULL] = "writes of PostgreSQL without room",
    [TOTAL_FSYNC_FAILED] = "fsync of PostgreSQL failed",
    [TOTAL_LEVELS] = "levels of memory, descriptors and sessions compared",
};

static atomic_size_t counts[TOTALS];

static struct {
    const char *name;
    size_t count;
} faults[MOST_FAULTS];

void totals_add(enum total total, size_t count)
{
    atomic_fetch_add(&counts[total], count);
}

void totals_add_fault(const char *name)
{
    int i = 0;
    while (i < MOST_FAULTS && faults[i].name && strcmp(faults[i].name, name) != 0)
        i++;
    if (i == MOST_FAULTS)
        abort();
    faults[i].name = name;
    faults[i].count++;
}

// As one word.
static void print_key(const char *kind, const char *name, size_t count)
{
    bool apart = false;
    printf(" %s.", kind);
    for (; *name; name++) {
        bool part = isalnum((unsigned char)*name);
        if (part && apart)
            putchar('_');
        if (part)
            putchar(tolower((unsigned char)*name));
        apart = !part;
    }
    printf("=%zu", count);
}

void totals_print(uint64_t seed, size_t replicas)
{
    for (int i = 0; i < MOST_FAULTS && faults[i].name; i++)
        printf("  %8zu × %s\n", faults[i].count, faults[i].name);
    for (int i = 0; i < TOTALS; i++)
        if (atomic_load(&counts[i]))
            printf("  %8zu %s\n", atomic_load(&counts[i]), names[i]);
    printf("totals seed=%" PRIu64 " replicas=%zu", seed, replicas);
    for (int i = 0; i < MOST_FAULTS && faults[i].name; i++)
        print_key("faults", faults[i].name, faults[i].count);
    for (int i = 0; i < TOTALS; i++)
        print_key("checks", names[i], atomic_load(&counts[i]));
    putchar('\n');
    fflush(stdout);
}
