// The checks over a whole history, each by sorting the writes once and walking over the calls.
#include "model/history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

void history_add(struct history *history, size_t key, const struct entry_call *call)
{
    if (history->count == history->room) {
        history->room = history->room == 0 ? 256 : history->room * 2;
        history->calls = realloc(history->calls, history->room * sizeof *history->calls);
        history->keys = realloc(history->keys, history->room * sizeof *history->keys);
        if (history->calls == NULL || history->keys == NULL) {
            abort();
        }
    }
    history->calls[history->count] = *call;
    history->keys[history->count] = key;
    history->count++;
    if (key >= history->key_count) {
        history->key_count = key + 1;
    }
}

void history_free(struct history *history)
{
    free(history->calls);
    free(history->keys);
    *history = (struct history){0};
}

static void print_call(const struct history *history, size_t i, FILE *out)
{
    static const char *const conditions[] = {"", " if-match", " if-absent"};
    const struct entry_call *call = &history->calls[i];
    fprintf(out, "  key %zu client %u [%" PRId64 " .. ", history->keys[i], call->client, call->invoked);
    if (call->returned == LINEAR_NEVER) {
        fprintf(out, "never");
    } else {
        fprintf(out, "%" PRId64, call->returned);
    }
    fprintf(out, "] %s%s", entry_kind_name(call->kind), conditions[call->condition]);
    if (call->condition == CONDITION_IF_MATCH) {
        fprintf(out, " v%" PRIu64, call->expected);
    }
    fprintf(out, " value %" PRIu64 ": %s v%" PRIu64 " position %" PRId64 "\n", call->value,
            entry_answer_name(call->answer), call->version, call->position);
}

static bool is_applied_write(const struct entry_call *call)
{
    return call->kind != ENTRY_GET && (call->answer == ANSWER_CREATED || call->answer == ANSWER_DONE);
}

// A call that may have changed something: an applied write, or one that nobody heard of again.
static bool may_have_written(const struct entry_call *call)
{
    return is_applied_write(call) || (call->kind != ENTRY_GET && call->answer == ANSWER_UNKNOWN);
}

// What the search has to place: not the calls that did nothing, nor reads nobody saw the answer of.
static bool constrains(const struct entry_call *call)
{
    return call->answer != ANSWER_NOTHING && (call->kind != ENTRY_GET || call->answer != ANSWER_UNKNOWN);
}

static bool check_key(const struct history *history, size_t key, FILE *out)
{
    struct linear_call *calls = allocate(history->count, sizeof *calls);
    size_t *origin = allocate(history->count, sizeof *origin);
    size_t count = 0;
    for (size_t i = 0; i < history->count; i++) {
        const struct entry_call *call = &history->calls[i];
        if (history->keys[i] == key && constrains(call)) {
            calls[count] = (struct linear_call){
                call->invoked, call->answer == ANSWER_UNKNOWN ? LINEAR_NEVER : call->returned, call};
            origin[count++] = i;
        }
    }
    struct linear_report report = linear_check(&entry_rule, calls, count, LINEAR_BUDGET);
    if (report.verdict != LINEAR_YES) {
        const struct linear_call *stuck = &calls[report.stuck];
        fprintf(out, "key %zu: %s; %zu of %zu calls placed in %" PRIu64 " steps. No place for\n", key,
                report.verdict == LINEAR_NO ? "not linearizable" : "undecided", report.longest, count,
                report.steps);
        print_call(history, origin[report.stuck], out);
        fprintf(out, "beside these calls of its time:\n");
        for (size_t i = 0; i < count; i++) {
            if (i != report.stuck && calls[i].invoked <= stuck->returned &&
                calls[i].returned >= stuck->invoked) {
                print_call(history, origin[i], out);
            }
        }
    }
    free(calls);
    free(origin);
    return report.verdict == LINEAR_YES;
}

bool history_is_linearizable(const struct history *history, FILE *out)
{
    bool good = true;
    for (size_t key = 0; key < history->key_count; key++) {
        good = check_key(history, key, out) && good;
    }
    return good;
}

// The calls that `wanted` accepts, by index, ordered by `compare`; the caller frees it.
static size_t *select_calls(const struct history *history, bool (*wanted)(const struct entry_call *),
                            int (*compare)(const void *, const void *, void *), size_t *count)
{
    size_t *selected = allocate(history->count, sizeof *selected);
    *count = 0;
    for (size_t i = 0; i < history->count; i++) {
        if (wanted(&history->calls[i])) {
            selected[(*count)++] = i;
        }
    }
    qsort_r(selected, *count, sizeof *selected, compare, history->calls);
    return selected;
}

static int order(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_version(const void *a, const void *b, void *calls)
{
    const struct entry_call *all = calls;
    return order((int64_t)all[*(const size_t *)a].version, (int64_t)all[*(const size_t *)b].version);
}

static int by_position(const void *a, const void *b, void *calls)
{
    const struct entry_call *all = calls;
    return order(all[*(const size_t *)a].position, all[*(const size_t *)b].position);
}

static int by_invocation(const void *a, const void *b, void *calls)
{
    const struct entry_call *all = calls;
    return order(all[*(const size_t *)a].invoked, all[*(const size_t *)b].invoked);
}

static int by_return(const void *a, const void *b, void *calls)
{
    const struct entry_call *all = calls;
    return order(all[*(const size_t *)a].returned, all[*(const size_t *)b].returned);
}

// An applied PUT, or a GET that shows what one wrote.
static bool shows_value(const struct entry_call *call)
{
    return call->answer == ANSWER_VALUE || (call->kind == ENTRY_PUT && is_applied_write(call));
}

static bool complain(const struct history *history, const char *what, size_t a, size_t b, FILE *out)
{
    fprintf(out, "%s:\n", what);
    print_call(history, a, out);
    print_call(history, b, out);
    return false;
}

bool history_versions_are_unique(const struct history *history, FILE *out)
{
    bool good = true;
    size_t count;
    size_t *showing = select_calls(history, shows_value, by_version, &count);
    for (size_t i = 1; i < count; i++) {
        const struct entry_call *a = &history->calls[showing[i - 1]];
        const struct entry_call *b = &history->calls[showing[i]];
        if (a->version == b->version &&
            (a->value != b->value || history->keys[showing[i - 1]] != history->keys[showing[i]])) {
            good = complain(history, "one version, two values", showing[i - 1], showing[i], out);
        }
    }
    free(showing);

    size_t *writes = select_calls(history, is_applied_write, by_position, &count);
    for (size_t i = 1; i < count; i++) {
        if (history->calls[writes[i - 1]].position == history->calls[writes[i]].position) {
            good = complain(history, "one position, two writes", writes[i - 1], writes[i], out);
        }
    }
    free(writes);
    return good;
}

bool history_positions_follow_time(const struct history *history, FILE *out)
{
    bool good = true;
    size_t count;
    size_t *begun = select_calls(history, is_applied_write, by_invocation, &count);
    size_t *answered = select_calls(history, is_applied_write, by_return, &count);
    size_t highest = SIZE_MAX; // of all writes answered before the one looked at
    for (size_t i = 0, done = 0; i < count; i++) {
        const struct entry_call *call = &history->calls[begun[i]];
        for (; done < count && history->calls[answered[done]].returned < call->invoked; done++) {
            if (highest == SIZE_MAX ||
                history->calls[answered[done]].position > history->calls[highest].position) {
                highest = answered[done];
            }
        }
        if (highest != SIZE_MAX && history->calls[highest].position >= call->position) {
            good =
                complain(history, "a later write has a position that is not higher", highest, begun[i], out);
        }
    }
    free(begun);
    free(answered);
    return good;
}

struct visibility {
    const struct history *history;
    size_t *writes; // applied writes by position
    size_t write_count;
    size_t *shown; // calls that show a value, by version: an applied PUT among equals tells the position
    size_t shown_count;
};

// The position at which `version` was written; 0 when its write was never answered.
static int64_t position_of_version(const struct visibility *visibility, uint64_t version)
{
    const struct entry_call *calls = visibility->history->calls;
    size_t low = 0;
    for (size_t high = visibility->shown_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (calls[visibility->shown[middle]].version < version) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < visibility->shown_count && calls[visibility->shown[low]].version == version; low++) {
        if (calls[visibility->shown[low]].kind == ENTRY_PUT) {
            return calls[visibility->shown[low]].position;
        }
    }
    return 0;
}

// The last applied write of `key` at or before `position`, or SIZE_MAX.
static size_t last_write(const struct visibility *visibility, size_t key, int64_t position)
{
    const struct history *history = visibility->history;
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < visibility->write_count; i++) {
        size_t write = visibility->writes[i];
        if (history->calls[write].position > position) {
            break;
        }
        if (history->keys[write] == key) {
            found = write;
        }
    }
    return found;
}

// Whether something that may have happened could have made `key` absent after `write`: a later deletion, or
// one that was never answered.
static bool may_be_gone_after(const struct history *history, size_t key, const struct entry_call *write)
{
    for (size_t i = 0; i < history->count; i++) {
        const struct entry_call *call = &history->calls[i];
        if (history->keys[i] == key && call->kind == ENTRY_DELETE && may_have_written(call) &&
            (call->answer == ANSWER_UNKNOWN || call->position > write->position)) {
            return true;
        }
    }
    return false;
}

// Whether what `read` shows can be the state of its key when everything up to `seen` is visible.
static bool shows_all_up_to(const struct visibility *visibility, size_t read, int64_t seen, size_t *missed)
{
    const struct history *history = visibility->history;
    const struct entry_call *call = &history->calls[read];
    *missed = last_write(visibility, history->keys[read], seen);
    if (*missed == SIZE_MAX) {
        return true;
    }
    const struct entry_call *write = &history->calls[*missed];
    if (call->answer == ANSWER_ABSENT) {
        return write->kind == ENTRY_DELETE || may_be_gone_after(history, history->keys[read], write);
    }
    int64_t shown = position_of_version(visibility, call->version);
    return shown == 0 || shown >= write->position;
}

// The position that a call tells its client; 0 when it tells none.
static int64_t position_learned(const struct visibility *visibility, const struct entry_call *call)
{
    if (call->answer == ANSWER_VALUE) {
        return position_of_version(visibility, call->version);
    }
    return is_applied_write(call) ? call->position : 0;
}

static bool by_any(const struct entry_call *call)
{
    return constrains(call);
}

bool history_visible_in_order(const struct history *history, FILE *out)
{
    struct visibility visibility = {.history = history};
    visibility.writes = select_calls(history, is_applied_write, by_position, &visibility.write_count);
    visibility.shown = select_calls(history, shows_value, by_version, &visibility.shown_count);
    size_t count;
    size_t *calls = select_calls(history, by_any, by_invocation, &count);

    unsigned clients = 0;
    for (size_t i = 0; i < history->count; i++) {
        clients = history->calls[i].client >= clients ? history->calls[i].client + 1 : clients;
    }
    size_t *newest =
        allocate(clients, sizeof *newest); // 1 + the call that told each client the highest position
    int64_t *seen = allocate(clients, sizeof *seen);
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        const struct entry_call *call = &history->calls[calls[i]];
        size_t missed;
        if (call->kind == ENTRY_GET && newest[call->client] != 0 &&
            !shows_all_up_to(&visibility, calls[i], seen[call->client], &missed)) {
            good = complain(history, "a client saw the first call, but then the second without the third",
                            newest[call->client] - 1, calls[i], out);
            print_call(history, missed, out);
        }
        int64_t learned = position_learned(&visibility, call);
        if (learned > seen[call->client]) {
            seen[call->client] = learned;
            newest[call->client] = calls[i] + 1;
        }
    }
    free(newest);
    free(seen);
    free(calls);
    free(visibility.writes);
    free(visibility.shown);
    return good;
}
