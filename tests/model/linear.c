// The search: walk the history's events in time order, put any call that is open into the order if the rule
// allows it, go back when a return comes up whose call has no place yet, and never try the same set of placed
// calls with the same state twice.
#include "model/linear.h"

#include <stdlib.h>
#include <string.h>

struct event {
    int64_t at;
    size_t call;
    bool is_return;
    struct event *previous;
    struct event *next;
    struct event *match; // of an invocation: its return, NULL when it never returned
};

struct memory {
    uint64_t *hashes; // 0 is an empty slot
    size_t *offsets;  // into `records`
    size_t slots;
    size_t used;
    unsigned char *records;
    size_t records_used;
    size_t records_size;
};

enum { MEMORY_LIMIT = 512 * 1024 * 1024 };

struct search {
    const struct linear_rule *rule;
    const struct linear_call *calls;
    size_t count;
    struct event *events;
    struct event head;
    size_t open;                  // calls that returned and have no place yet
    unsigned char *configuration; // the bitmap of placed calls, then the state
    size_t bitmap_size;
    size_t configuration_size;
    struct event **stack; // the order found so far
    size_t depth;
    unsigned char *states;
    unsigned char *next_state;
    struct memory memory;
    struct linear_report report;
};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static uint64_t hash_bytes(const unsigned char *bytes, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, size - i < sizeof word ? size - i : sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash == 0 ? 1 : hash;
}

static void memory_place(struct memory *memory, uint64_t hash, size_t offset)
{
    size_t slot = (size_t)hash & (memory->slots - 1);
    while (memory->hashes[slot] != 0) {
        slot = (slot + 1) & (memory->slots - 1);
    }
    memory->hashes[slot] = hash;
    memory->offsets[slot] = offset;
}

static void memory_grow(struct memory *memory)
{
    struct memory old = *memory;
    memory->slots = old.slots == 0 ? 1024 : old.slots * 2;
    memory->hashes = allocate(memory->slots, sizeof *memory->hashes);
    memory->offsets = allocate(memory->slots, sizeof *memory->offsets);
    for (size_t i = 0; i < old.slots; i++) {
        if (old.hashes[i] != 0) {
            memory_place(memory, old.hashes[i], old.offsets[i]);
        }
    }
    free(old.hashes);
    free(old.offsets);
}

// Remembers the current configuration; false when it was known.
static bool memory_add(struct memory *memory, const unsigned char *configuration, size_t size)
{
    if (memory->used * 2 >= memory->slots) {
        memory_grow(memory);
    }
    uint64_t hash = hash_bytes(configuration, size);
    size_t slot = (size_t)hash & (memory->slots - 1);
    for (; memory->hashes[slot] != 0; slot = (slot + 1) & (memory->slots - 1)) {
        if (memory->hashes[slot] == hash &&
            memcmp(memory->records + memory->offsets[slot], configuration, size) == 0) {
            return false;
        }
    }
    if (memory->records_used + size > memory->records_size) {
        memory->records_size = memory->records_size * 2 + size * 64;
        memory->records = realloc(memory->records, memory->records_size);
        if (memory->records == NULL) {
            abort();
        }
    }
    memcpy(memory->records + memory->records_used, configuration, size);
    memory->hashes[slot] = hash;
    memory->offsets[slot] = memory->records_used;
    memory->records_used += size;
    memory->used++;
    return true;
}

// Events by time; at the same instant invocations first, so that such calls count as concurrent.
static int compare_events(const void *left, const void *right)
{
    const struct event *a = left;
    const struct event *b = right;
    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    if (a->is_return != b->is_return) {
        return a->is_return ? 1 : -1;
    }
    return a->call < b->call ? -1 : a->call > b->call;
}

static void build_events(struct search *search)
{
    size_t made = 0;
    search->events = allocate(search->count * 2, sizeof *search->events);
    for (size_t i = 0; i < search->count; i++) {
        search->events[made++] = (struct event){.at = search->calls[i].invoked, .call = i};
        if (search->calls[i].returned != LINEAR_NEVER) {
            search->events[made++] =
                (struct event){.at = search->calls[i].returned, .call = i, .is_return = true};
            search->open++;
        }
    }
    qsort(search->events, made, sizeof *search->events, compare_events);

    struct event **invocations = allocate(search->count, sizeof *invocations);
    struct event *last = &search->head;
    for (size_t i = 0; i < made; i++) {
        struct event *event = &search->events[i];
        event->previous = last;
        last->next = event;
        last = event;
        if (event->is_return) {
            invocations[event->call]->match = event;
        } else {
            invocations[event->call] = event;
        }
    }
    free(invocations);
}

static void unlink_event(struct event *event)
{
    event->previous->next = event->next;
    if (event->next != NULL) {
        event->next->previous = event->previous;
    }
}

static void relink_event(struct event *event)
{
    event->previous->next = event;
    if (event->next != NULL) {
        event->next->previous = event;
    }
}

static unsigned char *state_at(struct search *search, size_t depth)
{
    return search->states + depth * search->rule->state_size;
}

// Tries to give `event`'s call the next place in the order; false when the rule forbids it or it was tried
// before.
static bool place(struct search *search, struct event *event)
{
    const struct linear_rule *rule = search->rule;
    search->report.steps++;
    memset(search->next_state, 0, rule->state_size);
    if (!rule->step(state_at(search, search->depth), search->calls[event->call].call, search->next_state)) {
        return false;
    }
    unsigned char *bits = &search->configuration[event->call / 8];
    unsigned char bit = (unsigned char)(1U << (event->call % 8));
    *bits |= bit;
    memcpy(search->configuration + search->bitmap_size, search->next_state, rule->state_size);
    if (!memory_add(&search->memory, search->configuration, search->configuration_size)) {
        *bits &= (unsigned char)~bit;
        return false;
    }
    search->stack[search->depth] = event;
    search->depth++;
    memcpy(state_at(search, search->depth), search->next_state, rule->state_size);
    unlink_event(event);
    if (event->match != NULL) {
        unlink_event(event->match);
        search->open--;
    }
    if (search->depth > search->report.longest) {
        search->report.longest = search->depth;
    }
    return true;
}

// Takes the last call out of the order again and gives its event.
static struct event *take_back(struct search *search)
{
    struct event *event = search->stack[--search->depth];
    search->configuration[event->call / 8] &= (unsigned char)~(1U << (event->call % 8));
    if (event->match != NULL) {
        relink_event(event->match);
        search->open++;
    }
    relink_event(event);
    return event;
}

static enum linear_verdict run(struct search *search, uint64_t budget)
{
    struct event *event = search->head.next;
    size_t stuck_at = 0;
    while (search->open > 0) {
        if (search->report.steps >= budget || search->memory.records_used > MEMORY_LIMIT) {
            return LINEAR_UNDECIDED;
        }
        if (event != NULL && !event->is_return) {
            event = place(search, event) ? search->head.next : event->next;
            continue;
        }
        if (event != NULL && search->depth >= stuck_at) {
            stuck_at = search->depth;
            search->report.stuck = event->call;
        }
        if (search->depth == 0) {
            return LINEAR_NO;
        }
        event = take_back(search)->next;
    }
    return LINEAR_YES;
}

struct linear_report linear_check(const struct linear_rule *rule, const struct linear_call *calls,
                                  size_t count, uint64_t budget)
{
    struct search search = {.rule = rule, .calls = calls, .count = count};
    search.bitmap_size = (count + 7) / 8;
    search.configuration_size = search.bitmap_size + rule->state_size;
    search.configuration = allocate(search.configuration_size, 1);
    search.stack = allocate(count, sizeof *search.stack);
    search.states = allocate(count + 1, rule->state_size);
    search.next_state = allocate(rule->state_size, 1);
    build_events(&search);
    rule->start(search.states);

    search.report.verdict = run(&search, budget);

    free(search.events);
    free(search.configuration);
    free(search.stack);
    free(search.states);
    free(search.next_state);
    free(search.memory.hashes);
    free(search.memory.offsets);
    free(search.memory.records);
    return search.report;
}
