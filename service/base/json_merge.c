// Both texts are indexed once; then the result is put together from pieces of them.
#include "base/json_merge.h"

#include "base/json_index.h"

struct merge {
    struct json_index target;
    struct json_index patch;
    struct buffer *out;
};

static bool is_null(struct bytes value)
{
    return value.data[0] == 'n';
}

// Begins a member of the object that is being written, whose first one follows its brace.
static void add_comma(struct buffer *out, bool *first)
{
    if (!*first)
        buffer_add_char(out, ',');
    *first = false;
}

static void add_new_value(struct merge *merge, const struct json_index_member *added);

// A patch's object where the target has none.
static void add_new_object(struct merge *merge, const struct json_index_object *patch)
{
    const struct json_index_member *members = json_index_members(&merge->patch, patch);
    bool first = true;
    buffer_add_char(merge->out, '{');
    for (uint32_t i = 0; i < patch->count; i++) {
        if (is_null(json_index_value(&merge->patch, &members[i])))
            continue;
        add_comma(merge->out, &first);
        buffer_add_bytes(merge->out, json_index_name(&merge->patch, &members[i]));
        add_new_value(merge, &members[i]);
    }
    buffer_add_char(merge->out, '}');
}

static void add_new_value(struct merge *merge, const struct json_index_member *added)
{
    const struct json_index_object *object = json_index_nested(&merge->patch, added);
    if (object)
        add_new_object(merge, object);
    else
        buffer_add_bytes(merge->out, json_index_value(&merge->patch, added));
}

static void add_merged_object(struct merge *merge, const struct json_index_object *target,
                              const struct json_index_object *patch);

// A member of the target that the patch changes.
static void add_changed(struct merge *merge, const struct json_index_member *old,
                        const struct json_index_member *change)
{
    buffer_add_bytes(merge->out, json_index_name(&merge->target, old));
    const struct json_index_object *target = json_index_nested(&merge->target, old);
    const struct json_index_object *patch = json_index_nested(&merge->patch, change);
    if (target && patch)
        add_merged_object(merge, target, patch);
    else
        add_new_value(merge, change);
}

static void add_merged_object(struct merge *merge, const struct json_index_object *target,
                              const struct json_index_object *patch)
{
    const struct json_index_member *members = json_index_members(&merge->target, target);
    bool first = true;
    buffer_add_char(merge->out, '{');
    for (uint32_t i = 0; i < target->count; i++) {
        const struct json_index_member *change = json_index_find(&merge->patch, patch, &members[i]);
        if (change && is_null(json_index_value(&merge->patch, change)))
            continue;
        add_comma(merge->out, &first);
        if (change)
            add_changed(merge, &members[i], change);
        else
            buffer_add_bytes(merge->out, json_index_member_text(&merge->target, &members[i]));
    }
    members = json_index_members(&merge->patch, patch);
    for (uint32_t i = 0; i < patch->count; i++) {
        if (is_null(json_index_value(&merge->patch, &members[i])) ||
            json_index_find(&merge->target, target, &members[i]))
            continue;
        add_comma(merge->out, &first);
        buffer_add_bytes(merge->out, json_index_name(&merge->patch, &members[i]));
        add_new_value(merge, &members[i]);
    }
    buffer_add_char(merge->out, '}');
}

static enum json_merge_verdict index_text(struct json_index *index, struct bytes text,
                                          enum json_merge_verdict when_malformed)
{
    switch (json_index_build(index, text, JSON_INDEX_ALL)) {
    case JSON_INDEXED:
        return JSON_MERGED;
    case JSON_INDEX_TOO_DEEP:
        return JSON_MERGE_TOO_DEEP;
    case JSON_INDEX_TOO_LARGE:
        return JSON_MERGE_TOO_LARGE;
    case JSON_INDEX_DUPLICATE:
        return JSON_MERGE_DUPLICATE;
    default:
        return when_malformed;
    }
}

static enum json_merge_verdict index_both(struct merge *merge, struct bytes target, struct bytes patch)
{
    if (target.data) {
        enum json_merge_verdict verdict = index_text(&merge->target, target, JSON_MERGE_INVALID_TARGET);
        if (verdict != JSON_MERGED)
            return verdict;
    }
    return index_text(&merge->patch, patch, JSON_MERGE_INVALID_PATCH);
}

// The result as a whole; it is no longer than target and patch together.
static void add_result(struct merge *merge)
{
    const struct json_index_object *target = json_index_top(&merge->target);
    const struct json_index_object *patch = json_index_top(&merge->patch);
    if (!patch)
        buffer_add_bytes(merge->out, merge->patch.text);
    else if (!target)
        add_new_object(merge, patch);
    else
        add_merged_object(merge, target, patch);
}

enum json_merge_verdict json_merge_patch(struct bytes target, struct bytes patch, size_t most,
                                         struct buffer *out)
{
    struct merge merge = {.out = out};
    size_t before = out->size;
    enum json_merge_verdict verdict = index_both(&merge, target, patch);
    if (verdict == JSON_MERGED) {
        add_result(&merge);
        if (out->size - before > most) {
            out->size = before;
            verdict = JSON_MERGE_TOO_LARGE;
        }
    }
    json_index_free(&merge.target);
    json_index_free(&merge.patch);
    return verdict;
}
