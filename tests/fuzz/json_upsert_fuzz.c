// Upserts: the result is an object in which what was set is as given and what was neither is as it was.
#include "json_values.h"

#include "base/json_member.h"
#include "base/json_text.h"
#include "base/json_upsert.h"

// Whether `from` and `to` have the member `name` with the same text.
static bool same_member(struct bytes from, struct bytes to, const char *name)
{
    struct bytes before;
    struct bytes after;
    return json_member(from, name, &before) && json_member(to, name, &after) && bytes_equal(before, after);
}

static void check_members(struct bytes target, struct bytes set, struct bytes increment, struct bytes result)
{
    json_t *old = understood(target, 0);
    json_t *given = understood(set, 0);
    json_t *added = understood(increment, 0);
    const char *name;
    json_t *value;
    json_object_foreach(given, name, value)
    {
        must(same_member(set, result, name));
    }
    json_object_foreach(old, name, value)
    {
        // Without jansson's view of them the names that changed are not known.
        must(!given || !added || json_object_get(given, name) || json_object_get(added, name) ||
             same_member(target, result, name));
    }
    json_decref(old);
    json_decref(given);
    json_decref(added);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes increment = bytes_make(data, size);
    struct bytes target = take_text(&increment);
    struct bytes set = take_text(&increment);
    struct buffer out = {0};
    if (json_upsert_update(target, set, increment, 2 * size + 100, &out) == JSON_UPSERT_DONE) {
        must(json_check(buffer_view(&out), JSON_STORED_DEPTH) == JSON_VALID && out.data[0] == '{');
        check_members(target, set, increment, buffer_view(&out));
    } else {
        must(out.size == 0);
    }
    buffer_free(&out);
    return 0;
}
