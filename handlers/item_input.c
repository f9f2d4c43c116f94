// Members are looked up in an index of the item's own level, so that a large value in it is passed over once.
#include "handlers/item_input.h"

#include "base/duration.h"
#include "base/json_array.h"
#include "base/json_member.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "handlers/access.h"

static const char *or_none(const char *extra)
{
    return extra ? extra : "";
}

void reply_item_problem(struct request *request, struct item_place place, struct problem problem)
{
    problem.extra = arena_printf(&request->arena, "\"in\":\"%s\",\"index\":%zu%s%s", place.list, place.index,
                                 problem.extra ? "," : "", or_none(problem.extra));
    reply_problem(request, &problem);
}

void reply_item_kind_mismatch(struct request *request, struct item_place place, struct bytes name,
                              struct bytes actual_kind)
{
    const char *kind = (const char *)arena_copy(&request->arena, actual_kind).data;
    struct problem problem = {
        .kind = PROBLEM_KIND_MISMATCH,
        .detail =
            arena_printf(&request->arena, "the name %s is in use by a %s",
                         (const char *)arena_copy(&request->arena, name_shown(request, name)).data, kind),
        .extra = arena_printf(&request->arena, "\"actual_kind\":\"%s\"", kind),
    };
    reply_item_problem(request, place, problem);
}

bool item_invalid(const struct item_input *item, const char *member, const char *detail)
{
    reply_item_problem(
        item->request, item->place,
        (struct problem){.kind = PROBLEM_INVALID, .detail = detail, .parameter = bytes_of(member)});
    return false;
}

static bool item_over_limit(const struct item_input *item, const char *member, int64_t limit,
                            const char *detail)
{
    reply_item_problem(
        item->request, item->place,
        (struct problem){
            .kind = PROBLEM_TOO_LARGE, .detail = detail, .parameter = bytes_of(member), .limit = limit});
    return false;
}

// --- the list
// ---------------------------------------------------------------------------------------------------------

static size_t count_elements(struct bytes text)
{
    struct json_array array;
    struct bytes element;
    size_t count = 0;
    for (json_array_begin(&array, text); json_array_next(&array, &element);)
        count++;
    return count;
}

bool items_split(struct request *request, const char *list, size_t others, struct bytes **items,
                 size_t *count)
{
    struct bytes text = {0};
    struct json_array array;
    *items = NULL;
    *count = 0;
    if (!json_member(request->body, list, &text))
        return true;
    if (!json_array_begin(&array, text)) {
        reply_invalid(request, list, "an array is wanted");
        return false;
    }
    size_t found = count_elements(text);
    if (found + others > ITEMS_MOST) {
        reply_over_limit(request, PROBLEM_TOO_LARGE, list, ITEMS_MOST,
                         "there are more items than one call may have");
        return false;
    }
    *items = arena_alloc(&request->arena, (found + 1) * sizeof **items);
    while (*count < found && json_array_next(&array, &(*items)[*count]))
        ++*count;
    return true;
}

// --- one item
// ---------------------------------------------------------------------------------------------------------

static bool is_among(struct bytes name, const char *const *names)
{
    for (; *names; names++)
        if (bytes_is(name, *names))
            return true;
    return false;
}

static bool members_known(struct item_input *item, const char *const *names)
{
    const struct json_index_object *top = json_index_top(&item->index);
    const struct json_index_member *members = json_index_members(&item->index, top);
    for (uint32_t i = 0; i < top->count; i++) {
        struct bytes name = bytes_make(members[i].name, members[i].name_size);
        if (!is_among(name, names))
            return item_invalid(item, (const char *)arena_copy(&item->request->arena, name).data,
                                "there is no such member here");
    }
    return true;
}

bool item_open(struct item_input *item, struct request *request, struct item_place place, struct bytes text,
               const char *const *names)
{
    *item = (struct item_input){.request = request, .place = place};
    if (json_index_build(&item->index, text, JSON_INDEX_TOP) != JSON_INDEXED || !json_index_top(&item->index))
        return item_invalid(item, place.list, "each item is a JSON object");
    return members_known(item, names);
}

void item_close(struct item_input *item)
{
    json_index_free(&item->index);
}

bool item_member(const struct item_input *item, const char *name, struct bytes *written)
{
    const struct json_index_object *top = json_index_top(&item->index);
    const struct json_index_member *members = json_index_members(&item->index, top);
    for (uint32_t i = 0; i < top->count; i++)
        if (bytes_is(bytes_make(members[i].name, members[i].name_size), name)) {
            *written = json_index_value(&item->index, &members[i]);
            return true;
        }
    return false;
}

bool item_string(struct item_input *item, const char *name, struct bytes *text, bool *given)
{
    struct bytes written;
    *text = (struct bytes){0};
    *given = item_member(item, name, &written) && !bytes_is(written, "null");
    if (!*given)
        return true;
    return json_string_decode(&item->request->arena, written, text) ||
           item_invalid(item, name, "a string of whole characters is wanted");
}

bool item_flag(struct item_input *item, const char *name, bool *set)
{
    struct bytes written;
    *set = false;
    if (!item_member(item, name, &written))
        return true;
    *set = bytes_is(written, "true");
    return *set || bytes_is(written, "false") || item_invalid(item, name, "true or false is wanted");
}

bool item_base64(struct item_input *item, const char *name, struct bytes *bytes)
{
    struct bytes text;
    bool given;
    *bytes = (struct bytes){0};
    if (!item_string(item, name, &text, &given))
        return false;
    return (given && text_base64_decode(&item->request->arena, text, bytes)) ||
           item_invalid(item, name, "not base64");
}

// --- where
// ------------------------------------------------------------------------------------------------------------

static bool read_owner(struct item_input *item, struct bytes written, struct bytes *owner)
{
    struct arena *arena = &item->request->arena;
    struct bytes encoded, text;
    if (json_string_decode(arena, written, owner))
        return true;
    if (json_member(written, "base64", &encoded) && json_string_decode(arena, encoded, &text) &&
        text_base64_decode(arena, text, owner))
        return true;
    return item_invalid(item, "under", "an owner is a string or {\"base64\": …}");
}

static bool read_owners(struct item_input *item, struct bytes *owners, size_t *count)
{
    struct bytes written, element;
    struct json_array array;
    *count = 0;
    if (!item_member(item, "under", &written) || bytes_is(written, "null"))
        return true;
    if (!json_array_begin(&array, written))
        return item_invalid(item, "under", "a branch is an array of owners");
    while (json_array_next(&array, &element)) {
        if (*count == PATH_MAX_OWNERS)
            return item_over_limit(item, "under", PATH_MAX_OWNERS, "a branch has at most 64 owners");
        if (!read_owner(item, element, &owners[(*count)++]))
            return false;
    }
    return true;
}

static bool read_key(struct item_input *item, struct bytes *key)
{
    struct bytes plain, encoded;
    bool given;
    bool has_plain = item_member(item, "key", &plain);
    bool has_encoded = item_member(item, "key_base64", &encoded);
    if (has_plain == has_encoded)
        return item_invalid(item, "key", "give either key or key_base64");
    return has_encoded ? item_base64(item, "key_base64", key) : item_string(item, "key", key, &given);
}

bool item_address(struct item_input *item, enum grant_action action, struct address *address)
{
    struct bytes owners[PATH_MAX_OWNERS];
    size_t count;
    struct bytes key;
    bool given;
    if (!item_string(item, "bucket", &address->bucket, &given))
        return false;
    address->bucket = name_enter(item->request, address->bucket);
    if (!bucket_name_valid(address->bucket))
        return item_invalid(item, "bucket",
                            "a bucket's name is 1 to 128 bytes of UTF-8 without control characters");
    if (!read_key(item, &key) || !read_owners(item, owners, &count))
        return false;
    switch (path_encode(&item->request->arena, owners, count, key, &address->path)) {
    case PATH_OK:
        return access_check(item->request, action, GRANT_BUCKETS, address->bucket, address->path);
    case PATH_EMPTY:
        return item_invalid(item, key.size ? "under" : "key", "a key or owner has at least one byte");
    case PATH_TOO_LONG:
        break;
    }
    return item_over_limit(item, "key", PATH_MAX_STORED,
                           "the key with its branch is longer than 1024 bytes as stored");
}

// --- expiry
// -----------------------------------------------------------------------------------------------------------

bool item_expiry(struct item_input *item, struct expiry *expiry)
{
    struct bytes ttl, until;
    bool has_ttl, has_until, persists;
    int64_t us;
    *expiry = (struct expiry){0};
    if (!item_string(item, "ttl", &ttl, &has_ttl) || !item_string(item, "expires_at", &until, &has_until) ||
        !item_flag(item, "persist", &persists))
        return false;
    if (has_ttl + has_until + persists > 1)
        return item_invalid(item, has_ttl ? "ttl" : "expires_at",
                            "only one of ttl, expires_at and persist may be given");
    if (has_ttl) {
        if (!duration_parse(ttl, &us))
            return item_invalid(item, "ttl",
                                "a duration is an integer above 0 and a unit (ms s m h d), at most 3650d");
        expiry->ttl = value_number(us);
    }
    if (has_until) {
        if (!timestamp_parse(until, &us))
            return item_invalid(item, "expires_at", "not an RFC 3339 time");
        expiry->until = value_number(us);
    }
    if (persists)
        expiry->ttl = value_number(TTL_PERSIST);
    return true;
}
