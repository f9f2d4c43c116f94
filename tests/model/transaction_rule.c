// The walk over the writers' order: reads where they first fit, writers by their numbers, back where it
// fails.
#include "model/transaction_rule.h"

#include "support/random.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t patched = (UINT64_C(1) << TRANSACTION_PATCH_BITS) - 1;

struct entry_state {
    uint64_t version; // 0 when its writer was never told
    uint64_t value;
    uint64_t live; // 0 or 1, as wide as the others so that the state has no gaps
};

struct state {
    struct entry_state entries[TRANSACTION_KEYS];
    uint64_t last[TRANSACTION_BUCKETS]; // the number of the last writer
};

// What is known of a call beside its record.
struct place {
    bool writes;                          // and keeps what it wrote
    uint64_t number[TRANSACTION_BUCKETS]; // among the writers of a bucket, from 1; 0: none
    uint64_t mark[2];                     // by chance, to tell sets of placed calls apart
};

struct tried {
    uint64_t (*marks)[2]; // 0, 0 is an empty slot
    size_t slots;
    size_t used;
};

struct search {
    struct transaction_call *calls; // a copy, with what was learned of unknown outcomes
    size_t count;
    struct place *places;
    size_t *by_invocation;
    size_t *by_return;
    uint64_t *versions; // that answered calls wrote, sorted
    size_t version_count;
    bool *placed;
    size_t *order; // the calls placed so far
    size_t depth;
    size_t answered; // calls that must be placed and are not yet
    struct state state;
    uint64_t marks[2]; // of all placed calls together
    struct tried tried;
    uint64_t budget;
    size_t longest;
    size_t stuck;
    FILE *out;
};

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (!memory)
        abort();
    return memory;
}

// --- words -------------------------------------------------------------------------------------------------

static void print_call(const struct transaction_call *call, FILE *out)
{
    static const char *const kinds[] = {"sees", "sees absent", "sees live", "sees other than",
                                        "puts", "patches",     "adds",      "removes"};
    static const char *const outcomes[] = {"done", "refused", "unknown"};
    fprintf(out, "  client %u [%" PRId64 " .. ", call->client, call->invoked);
    if (call->outcome == TRANSACTION_UNKNOWN)
        fprintf(out, "never]");
    else
        fprintf(out, "%" PRId64 "]", call->returned);
    fprintf(out, " %s, position %" PRIu64 ":", outcomes[call->outcome], call->position);
    for (size_t i = 0; i < call->step_count; i++) {
        const struct transaction_step *step = &call->steps[i];
        fprintf(out, "%s key %zu %s v%" PRIu64 " value %" PRIu64, i ? "," : "", step->key, kinds[step->kind],
                step->version, step->value);
    }
    fprintf(out, "\n");
}

static bool complain(const char *what, const struct transaction_call *a, const struct transaction_call *b,
                     FILE *out)
{
    fprintf(out, "%s:\n", what);
    print_call(a, out);
    if (b)
        print_call(b, out);
    return false;
}

static void print_stuck(const struct search *search, const char *verdict)
{
    const struct transaction_call *stuck = &search->calls[search->stuck];
    complain(verdict, stuck, NULL, search->out);
    fprintf(search->out, "%zu of %zu calls were placed. Beside it:\n", search->longest, search->count);
    for (size_t i = 0; i < search->count; i++) {
        const struct transaction_call *call = &search->calls[i];
        if (i != search->stuck && call->invoked <= stuck->returned && call->returned >= stuck->invoked)
            print_call(call, search->out);
    }
}

// --- the rule ----------------------------------------------------------------------------------------------

static bool is_write(const struct transaction_step *step)
{
    return step->kind >= WRITE_PUT;
}

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

// Whether an answered call wrote this version, so that it cannot be one whose writer was never told.
static bool is_claimed(const struct search *search, uint64_t version)
{
    return bsearch(&version, search->versions, search->version_count, sizeof version, compare_numbers) !=
           NULL;
}

static bool shows(const struct search *search, const struct entry_state *entry,
                  const struct transaction_step *step)
{
    if (!entry->live || (step->has_value && entry->value != step->value))
        return false;
    return entry->version ? entry->version == step->version : !is_claimed(search, step->version);
}

static bool take_step(const struct search *search, struct entry_state *entry,
                      const struct transaction_step *step)
{
    uint64_t before = entry->live ? entry->value : 0;
    switch (step->kind) {
    case LOOK_VERSION:
        return shows(search, entry, step);
    case LOOK_ABSENT:
        return !entry->live;
    case LOOK_LIVE:
        return entry->live;
    case LOOK_OTHER:
        return step->version ? !entry->live || entry->version != step->version : entry->live;
    case WRITE_PUT:
        *entry = (struct entry_state){step->version, step->value, 1};
        return true;
    case WRITE_PATCH:
        before &= ~patched;
        *entry = (struct entry_state){step->version, before | step->value, 1};
        return true;
    case WRITE_ADD:
        *entry = (struct entry_state){step->version, before + step->value, 1};
        return true;
    case WRITE_REMOVE:
        *entry = (struct entry_state){0};
        return true;
    }
    return false;
}

// Whether the call explains itself in the present state; if so and it writes, `after` is what it leaves.
static bool fits(const struct search *search, size_t call, struct state *after)
{
    const struct transaction_call *asked = &search->calls[call];
    const struct place *place = &search->places[call];
    *after = search->state;
    for (size_t b = 0; b < TRANSACTION_BUCKETS; b++) {
        if (place->number[b] && place->number[b] != search->state.last[b] + 1)
            return false;
        if (place->number[b])
            after->last[b]++;
    }
    for (size_t i = 0; i < asked->step_count; i++)
        if (!take_step(search, &after->entries[asked->steps[i].key], &asked->steps[i]))
            return false;
    return true;
}

// --- what is known before the walk -------------------------------------------------------------------------

static bool wrote(const struct transaction_call *call, size_t bucket)
{
    for (size_t i = 0; i < call->step_count; i++)
        if (is_write(&call->steps[i]) && call->steps[i].key % TRANSACTION_BUCKETS == bucket)
            return true;
    return false;
}

static bool collect_versions(struct search *search)
{
    search->versions = allocate(search->count * TRANSACTION_STEPS, sizeof *search->versions);
    for (size_t i = 0; i < search->count; i++) {
        const struct transaction_call *call = &search->calls[i];
        for (size_t j = 0; call->outcome == TRANSACTION_DONE && j < call->step_count; j++) {
            if (!is_write(&call->steps[j]) || !call->steps[j].version)
                continue;
            search->versions[search->version_count++] = call->steps[j].version;
            if (call->steps[j].version > call->position)
                return complain("a version above its write's position", call, NULL, search->out);
        }
    }
    qsort(search->versions, search->version_count, sizeof *search->versions, compare_numbers);
    for (size_t i = 1; i < search->version_count; i++)
        if (search->versions[i] == search->versions[i - 1]) {
            fprintf(search->out, "version %" PRIu64 " was given to two writes\n", search->versions[i]);
            return false;
        }
    return true;
}

static bool shows_write(const struct transaction_step *look, const struct transaction_step *write)
{
    if (look->kind != LOOK_VERSION || !look->has_value || look->key != write->key)
        return false;
    return write->kind == WRITE_PATCH ? (look->value & patched) == write->value
                                      : write->kind == WRITE_PUT && look->value == write->value;
}

// Gives a write of unknown outcome the version under which `seer` saw its value.
static bool learn_from(struct search *search, struct transaction_call *call, struct transaction_step *write,
                       const struct transaction_call *seer)
{
    for (size_t i = 0; i < seer->step_count; i++) {
        const struct transaction_step *look = &seer->steps[i];
        if (!shows_write(look, write) || is_claimed(search, look->version))
            continue;
        if (write->version && write->version != look->version)
            return complain("one write, seen with two versions", call, seer, search->out);
        write->version = look->version;
        if (look->version > call->position)
            call->position = look->version;
    }
    return true;
}

static bool learn_outcomes(struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        struct transaction_call *call = &search->calls[i];
        if (call->outcome != TRANSACTION_UNKNOWN)
            continue;
        for (size_t j = 0; j < call->step_count; j++)
            for (size_t k = 0; is_write(&call->steps[j]) && k < search->count; k++)
                if (search->calls[k].outcome != TRANSACTION_UNKNOWN &&
                    !learn_from(search, call, &call->steps[j], &search->calls[k]))
                    return false;
    }
    return true;
}

static int by_position(const void *left, const void *right, void *calls)
{
    const struct transaction_call *all = calls;
    return compare_numbers(&all[*(const size_t *)left].position, &all[*(const size_t *)right].position);
}

static int by_invocation(const void *left, const void *right, void *calls)
{
    const struct transaction_call *all = calls;
    int64_t a = all[*(const size_t *)left].invoked, b = all[*(const size_t *)right].invoked;
    return a < b ? -1 : a > b;
}

static int by_return(const void *left, const void *right, void *calls)
{
    const struct transaction_call *all = calls;
    int64_t a = all[*(const size_t *)left].returned, b = all[*(const size_t *)right].returned;
    return a < b ? -1 : a > b;
}

static bool number_writers(struct search *search, size_t bucket)
{
    size_t *writers = allocate(search->count, sizeof *writers);
    size_t count = 0;
    bool good = true;
    for (size_t i = 0; i < search->count; i++)
        if (search->places[i].writes && search->calls[i].position && wrote(&search->calls[i], bucket))
            writers[count++] = i;
    qsort_r(writers, count, sizeof *writers, by_position, search->calls);
    for (size_t i = 0; i < count; i++) {
        search->places[writers[i]].number[bucket] = i + 1;
        if (i && search->calls[writers[i]].position == search->calls[writers[i - 1]].position)
            good = complain("one position, two writers", &search->calls[writers[i - 1]],
                            &search->calls[writers[i]], search->out);
    }
    free(writers);
    return good;
}

static bool prepare(struct search *search)
{
    struct random random = random_seeded(1, 1);
    for (size_t i = 0; i < search->count; i++) {
        struct transaction_call *call = &search->calls[i];
        struct place *place = &search->places[i];
        place->mark[0] = random_next(&random);
        place->mark[1] = random_next(&random);
        place->writes = call->outcome != TRANSACTION_REFUSED && (wrote(call, 0) || wrote(call, 1));
        search->by_invocation[i] = search->by_return[i] = i;
        if (call->outcome == TRANSACTION_UNKNOWN)
            call->returned = LINEAR_NEVER;
        else
            search->answered++;
    }
    qsort_r(search->by_invocation, search->count, sizeof(size_t), by_invocation, search->calls);
    qsort_r(search->by_return, search->count, sizeof(size_t), by_return, search->calls);
    if (!collect_versions(search) || !learn_outcomes(search))
        return false;
    for (size_t bucket = 0; bucket < TRANSACTION_BUCKETS; bucket++)
        if (!number_writers(search, bucket))
            return false;
    return true;
}

// --- configurations tried before ---------------------------------------------------------------------------

static bool tried_insert(struct tried *tried, const uint64_t marks[2])
{
    size_t slot = (size_t)marks[0] & (tried->slots - 1);
    for (; tried->marks[slot][0] || tried->marks[slot][1]; slot = (slot + 1) & (tried->slots - 1))
        if (tried->marks[slot][0] == marks[0] && tried->marks[slot][1] == marks[1])
            return false;
    memcpy(tried->marks[slot], marks, sizeof tried->marks[slot]);
    tried->used++;
    return true;
}

static void tried_grow(struct tried *tried)
{
    struct tried old = *tried;
    *tried = (struct tried){.slots = old.slots ? old.slots * 2 : 1024};
    tried->marks = allocate(tried->slots, sizeof *tried->marks);
    for (size_t i = 0; i < old.slots; i++)
        if (old.marks[i][0] || old.marks[i][1])
            tried_insert(tried, old.marks[i]);
    free(old.marks);
}

// Remembers where the walk stands, the placed calls and the state; false when it stood there before.
static bool is_new(struct search *search)
{
    uint64_t marks[2] = {search->marks[0], search->marks[1]};
    uint64_t words[sizeof search->state / sizeof(uint64_t)];
    memcpy(words, &search->state, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        marks[0] = (marks[0] ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        marks[1] = (marks[1] ^ words[i]) * UINT64_C(0xc2b2ae3d27d4eb4f);
        marks[0] ^= marks[0] >> 29;
        marks[1] ^= marks[1] >> 31;
    }
    if (search->tried.used * 2 >= search->tried.slots)
        tried_grow(&search->tried);
    return tried_insert(&search->tried, marks);
}

// --- the walk ----------------------------------------------------------------------------------------------

static void toggle(struct search *search, size_t call)
{
    search->placed[call] = !search->placed[call];
    search->marks[0] ^= search->places[call].mark[0];
    search->marks[1] ^= search->places[call].mark[1];
}

static void put_down(struct search *search, size_t call)
{
    toggle(search, call);
    search->order[search->depth++] = call;
    if (search->calls[call].outcome != TRANSACTION_UNKNOWN)
        search->answered--;
}

static void take_up(struct search *search, size_t depth)
{
    while (search->depth > depth) {
        size_t call = search->order[--search->depth];
        toggle(search, call);
        if (search->calls[call].outcome != TRANSACTION_UNKNOWN)
            search->answered++;
    }
}

// The call without a place that returned first: what was invoked after that has to wait for it. SIZE_MAX when
// all have one.
static size_t most_urgent(const struct search *search)
{
    for (size_t i = 0; i < search->count; i++)
        if (!search->placed[search->by_return[i]])
            return search->by_return[i];
    return SIZE_MAX;
}

static int64_t horizon(const struct search *search)
{
    size_t urgent = most_urgent(search);
    return urgent == SIZE_MAX ? LINEAR_NEVER : search->calls[urgent].returned;
}

// Places one call that writes nothing; false when none fits.
static bool place_reader(struct search *search)
{
    struct state after;
    int64_t until = horizon(search);
    for (size_t i = 0; i < search->count; i++) {
        size_t call = search->by_invocation[i];
        if (search->calls[call].invoked > until)
            return false;
        if (!search->placed[call] && !search->places[call].writes &&
            search->calls[call].outcome != TRANSACTION_UNKNOWN && fits(search, call, &after)) {
            put_down(search, call);
            return true;
        }
    }
    return false;
}

static bool walk(struct search *search);

// Goes on with each writer that may come next, of a known or of an unknown outcome.
static bool walk_writers(struct search *search, bool unknown)
{
    struct state before = search->state, after;
    int64_t until = horizon(search);
    for (size_t i = 0; i < search->count; i++) {
        size_t call = search->by_invocation[i];
        if (search->calls[call].invoked > until)
            return false;
        bool is_unknown = search->calls[call].outcome == TRANSACTION_UNKNOWN && !search->calls[call].position;
        if (search->placed[call] || !search->places[call].writes || is_unknown != unknown ||
            !fits(search, call, &after))
            continue;
        size_t depth = search->depth;
        search->state = after;
        put_down(search, call);
        if (walk(search))
            return true;
        take_up(search, depth);
        search->state = before;
    }
    return false;
}

static bool walk(struct search *search)
{
    while (place_reader(search))
        ;
    if (search->depth >= search->longest && search->answered) {
        search->longest = search->depth;
        search->stuck = most_urgent(search);
    }
    if (!search->answered)
        return true;
    if (search->tried.used >= search->budget || !is_new(search))
        return false;
    return walk_writers(search, false) || walk_writers(search, true);
}

static enum linear_verdict decide(struct search *search)
{
    if (!prepare(search))
        return LINEAR_NO;
    if (walk(search))
        return LINEAR_YES;
    bool gave_up = search->tried.used >= search->budget;
    print_stuck(search, gave_up ? "undecided; the walk came no further than this call"
                                : "no order of whole calls has a place for this call");
    return gave_up ? LINEAR_UNDECIDED : LINEAR_NO;
}

enum linear_verdict transactions_check(const struct transaction_call *calls, size_t count, uint64_t budget,
                                       FILE *out)
{
    struct search search = {.count = count, .budget = budget, .out = out};
    search.calls = allocate(count, sizeof *calls);
    memcpy(search.calls, calls, count * sizeof *calls);
    search.places = allocate(count, sizeof *search.places);
    search.by_invocation = allocate(count, sizeof(size_t));
    search.by_return = allocate(count, sizeof(size_t));
    search.placed = allocate(count, sizeof(bool));
    search.order = allocate(count, sizeof(size_t));

    enum linear_verdict verdict = decide(&search);

    free(search.calls);
    free(search.places);
    free(search.by_invocation);
    free(search.by_return);
    free(search.versions);
    free(search.placed);
    free(search.order);
    free(search.tried.marks);
    return verdict;
}
