// The operations are gone through in order, so that each patch finds what those before it leave.
#include "handlers/transaction_patch.h"

#include "base/json_merge.h"
#include "base/json_text.h"
#include "handlers/sum.h"

// --- which entries
// ----------------------------------------------------------------------------------------------------

static uint64_t hash_of(const struct address *address)
{
    return bytes_hash(address->path, bytes_hash(address->bucket, 0));
}

static bool same_entry(const struct address *a, const struct address *b)
{
    return bytes_equal(a->path, b->path) && bytes_equal(a->bucket, b->bucket);
}

static int find(const struct transaction_patch *patch, const uint64_t *hashes, const struct address *address)
{
    uint64_t hash = hash_of(address);
    for (size_t i = 0; i < patch->count; i++)
        if (hashes[i] == hash && same_entry(&patch->addresses[i], address))
            return (int)i;
    return -1;
}

// Of an encrypted bucket only this side can add to the values.
static bool is_made_here(struct request *request, struct transaction_item *item)
{
    item->sums = item->op == TRANSACT_ADD && type_hint(context_of(request), item->address.bucket)->encrypted;
    return item->op == TRANSACT_PATCH || item->sums;
}

void transaction_patch_find(struct request *request, struct transaction_input *input,
                            struct transaction_patch *patch)
{
    size_t patches = 0;
    for (size_t i = 0; i < input->operation_count; i++)
        patches += is_made_here(request, &input->operations[i]);
    *patch = (struct transaction_patch){0};
    if (!patches)
        return;
    uint64_t *hashes = arena_alloc(&request->arena, patches * sizeof *hashes);
    patch->addresses = arena_alloc(&request->arena, patches * sizeof *patch->addresses);
    patch->entries = arena_alloc(&request->arena, patches * sizeof *patch->entries);
    for (size_t i = 0; i < input->operation_count; i++) {
        const struct transaction_item *item = &input->operations[i];
        if ((item->op != TRANSACT_PATCH && !item->sums) || find(patch, hashes, &item->address) >= 0)
            continue;
        hashes[patch->count] = hash_of(&item->address);
        patch->addresses[patch->count++] = item->address;
    }
    for (size_t i = 0; i < input->operation_count; i++)
        input->operations[i].patched = find(patch, hashes, &input->operations[i].address);
}

// --- what becomes of them
// ---------------------------------------------------------------------------------------------

static bool read_entries(struct request *request, struct transaction_patch *patch,
                         const struct outcome *viewed)
{
    for (size_t i = 0; i < patch->count; i++) {
        int row = (int)i;
        bool live = outcome_number(viewed, row, VIEWED_STATUS) == GET_LIVE;
        patch->entries[i] = (struct patched_entry){.was_live = live, .live = live};
        if (!live)
            continue;
        struct stored_entry entry = viewed_entry(&patch->addresses[i], viewed, row);
        if (!entry_open(context_of(request), &request->arena, &entry)) {
            reply_corrupt(request, &entry);
            return false;
        }
        patch->entries[i].version = entry.version;
        patch->entries[i].value = entry.value;
        patch->entries[i].content_type = entry.content_type;
        patch->entries[i].metadata = entry.metadata;
    }
    return true;
}

static struct problem merge_problem(enum json_merge_verdict verdict)
{
    switch (verdict) {
    case JSON_MERGE_DUPLICATE:
        return (struct problem){.kind = PROBLEM_UNPROCESSABLE,
                                .detail = "a member occurs twice in the patch or the stored value"};
    case JSON_MERGE_TOO_DEEP:
        return (struct problem){.kind = PROBLEM_UNPROCESSABLE,
                                .detail = "the value is nested too deep",
                                .limit = JSON_STORED_DEPTH};
    case JSON_MERGE_TOO_LARGE:
        return (struct problem){
            .kind = PROBLEM_TOO_LARGE, .detail = "what patches make is too large", .limit = VALUE_LIMIT};
    default:
        return (struct problem){.kind = PROBLEM_UNPROCESSABLE, .detail = "the stored value is not JSON"};
    }
}

static void refuse(struct transaction_item *item, struct problem problem)
{
    item->refused = true;
    item->refusal = problem;
}

// The entry is from now on what was made.
static void take_over(struct transaction_item *item, struct patched_entry *entry)
{
    if (!entry->live)
        *entry = (struct patched_entry){.was_live = entry->was_live,
                                        .version = entry->version,
                                        .live = true,
                                        .content_type = bytes_of("application/json")};
    entry->value = buffer_view(&item->made);
    item->content = (struct content){
        .value = entry->value,
        .content_type = entry->content_type.size ? value_bytes(entry->content_type) : value_null(),
        .metadata = entry->metadata.size ? value_bytes(entry->metadata) : value_null(),
    };
}

// All that patches make is bounded as the values of a view are.
static void merge(struct transaction_item *item, struct patched_entry *entry, size_t *left)
{
    struct bytes target = entry->live ? entry->value : bytes_of("{}");
    if (json_check(target, JSON_STORED_DEPTH) != JSON_VALID) {
        refuse(item, merge_problem(JSON_MERGE_INVALID_TARGET));
        return;
    }
    size_t most = *left < VALUE_LIMIT ? *left : VALUE_LIMIT;
    enum json_merge_verdict verdict = json_merge_patch(target, item->patch, most, &item->made);
    if (verdict != JSON_MERGED) {
        refuse(item, merge_problem(verdict));
        return;
    }
    *left -= item->made.size;
    take_over(item, entry);
}

static void sum(struct transaction_item *item, struct patched_entry *entry, enum value_type type)
{
    enum write_status status =
        sum_make(type, entry->live, entry->value, &item->integer, &item->real, &item->made);
    if (status != WRITE_NEW) {
        refuse(item, status == WRITE_OVERFLOW
                         ? (struct problem){.kind = PROBLEM_OVERFLOW, .detail = "the sum is out of range"}
                         : (struct problem){.kind = PROBLEM_TYPE_MISMATCH,
                                            .detail = "add wants a number in the entry and a summand of the "
                                                      "bucket's type"});
        return;
    }
    item->continues = entry->live;
    take_over(item, entry);
}

static void apply(struct transaction_item *item, struct patched_entry *entry, enum value_type type,
                  size_t *left)
{
    switch (item->op) {
    case TRANSACT_PUT:
        entry->live = true;
        entry->value = item->content.value;
        entry->content_type = item->content.content_type.bytes;
        entry->metadata = item->content.metadata.bytes;
        return;
    case TRANSACT_DELETE:
    case TRANSACT_TAKE:
        entry->live = false;
        return;
    case TRANSACT_ADD:
        if (item->sums) {
            sum(item, entry, type);
            return;
        }
        // any number: to a patch, which looks for members, they are alike
        if (!entry->live) {
            entry->content_type = bytes_of("application/json");
            entry->metadata = (struct bytes){0};
        }
        entry->live = true;
        entry->value = bytes_of("0");
        return;
    case TRANSACT_PATCH:
        if (!entry->live && !item->upserts)
            refuse(item, (struct problem){.kind = PROBLEM_NOT_FOUND,
                                          .detail = "there is no live entry of this key in this branch"});
        else
            merge(item, entry, left);
        return;
    default:
        return;
    }
}

bool transaction_patch_make(struct request *request, struct transaction_input *input,
                            struct transaction_patch *patch, const struct outcome *viewed)
{
    size_t left = VIEW_BYTES;
    if (!read_entries(request, patch, viewed))
        return false;
    for (size_t i = 0; i < input->operation_count; i++) {
        struct transaction_item *item = &input->operations[i];
        item->refused = false;
        buffer_clear(&item->made);
        if (item->patched < 0)
            continue;
        apply(item, &patch->entries[item->patched],
              type_hint(context_of(request), item->address.bucket)->type, &left);
        if (item->refused) // what follows is never looked at
            break;
    }
    return true;
}

void transaction_patch_free(struct transaction_input *input)
{
    for (size_t i = 0; i < input->operation_count; i++)
        buffer_free(&input->operations[i].made);
}
