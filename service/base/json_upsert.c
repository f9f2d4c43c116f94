// The three objects are indexed at their top; the result is put together from pieces of them and new sums.
#include "base/json_upsert.h"

#include "base/json_index.h"
#include "base/json_number.h"

#include <math.h>

struct upsert {
    struct json_index target;
    struct json_index set;
    struct json_index increment;
    struct buffer *out;
    bool first; // nothing has been written behind the opening brace
};

static bool is_number(struct bytes value)
{
    return value.data[0] == '-' || (value.data[0] >= '0' && value.data[0] <= '9');
}

static enum json_upsert_verdict add_integers(struct buffer *out, struct bytes a, struct bytes b)
{
    int64_t left;
    int64_t right;
    int64_t sum;
    if (!json_number_int64(a, &left) || !json_number_int64(b, &right) ||
        __builtin_add_overflow(left, right, &sum))
        return JSON_UPSERT_OVERFLOW;
    buffer_add_int64(out, sum);
    return JSON_UPSERT_DONE;
}

static enum json_upsert_verdict add_sum(struct buffer *out, struct bytes present, struct bytes by)
{
    if (!is_number(by))
        return JSON_UPSERT_BAD_INCREMENT;
    if (!is_number(present))
        return JSON_UPSERT_NOT_NUMBER;
    if (json_number_is_plain_integer(present) && json_number_is_plain_integer(by))
        return add_integers(out, present, by);
    double sum = json_number_as_double(present) + json_number_as_double(by);
    if (!isfinite(sum))
        return JSON_UPSERT_OVERFLOW;
    json_number_add_double(out, sum);
    return JSON_UPSERT_DONE;
}

// Begins a member with the name that `member` has.
static void add_name(struct upsert *upsert, const struct json_index *index,
                     const struct json_index_member *member)
{
    if (!upsert->first)
        buffer_add_char(upsert->out, ',');
    upsert->first = false;
    buffer_add_bytes(upsert->out, json_index_name(index, member));
}

// The member of the object that `index` holds, if it holds one, that has `like`'s name.
static const struct json_index_member *find(const struct json_index *index,
                                            const struct json_index_member *like)
{
    const struct json_index_object *top = json_index_top(index);
    return top ? json_index_find(index, top, like) : NULL;
}

static uint32_t member_count(const struct json_index *index)
{
    const struct json_index_object *top = json_index_top(index);
    return top ? top->count : 0;
}

static const struct json_index_member *member_at(const struct json_index *index, uint32_t i)
{
    return &json_index_members(index, json_index_top(index))[i];
}

static enum json_upsert_verdict add_present_members(struct upsert *upsert)
{
    for (uint32_t i = 0; i < member_count(&upsert->target); i++) {
        const struct json_index_member *member = member_at(&upsert->target, i);
        struct bytes value = json_index_value(&upsert->target, member);
        add_name(upsert, &upsert->target, member);
        const struct json_index_member *set = find(&upsert->set, member);
        const struct json_index_member *by = find(&upsert->increment, member);
        if (by) {
            enum json_upsert_verdict verdict =
                add_sum(upsert->out, value, json_index_value(&upsert->increment, by));
            if (verdict != JSON_UPSERT_DONE)
                return verdict;
        } else {
            buffer_add_bytes(upsert->out, set ? json_index_value(&upsert->set, set) : value);
        }
    }
    return JSON_UPSERT_DONE;
}

static void set_absent_members(struct upsert *upsert)
{
    for (uint32_t i = 0; i < member_count(&upsert->set); i++) {
        const struct json_index_member *member = member_at(&upsert->set, i);
        if (find(&upsert->target, member))
            continue;
        add_name(upsert, &upsert->set, member);
        buffer_add_bytes(upsert->out, json_index_value(&upsert->set, member));
    }
}

static enum json_upsert_verdict count_absent_members(struct upsert *upsert)
{
    for (uint32_t i = 0; i < member_count(&upsert->increment); i++) {
        const struct json_index_member *member = member_at(&upsert->increment, i);
        if (find(&upsert->set, member))
            return JSON_UPSERT_DUPLICATE;
        if (find(&upsert->target, member))
            continue;
        add_name(upsert, &upsert->increment, member);
        enum json_upsert_verdict verdict =
            add_sum(upsert->out, bytes_of("0"), json_index_value(&upsert->increment, member));
        if (verdict != JSON_UPSERT_DONE)
            return verdict;
    }
    return JSON_UPSERT_DONE;
}

static enum json_upsert_verdict add_result(struct upsert *upsert)
{
    buffer_add_char(upsert->out, '{');
    enum json_upsert_verdict verdict = add_present_members(upsert);
    if (verdict != JSON_UPSERT_DONE)
        return verdict;
    set_absent_members(upsert);
    verdict = count_absent_members(upsert);
    buffer_add_char(upsert->out, '}');
    return verdict;
}

static enum json_upsert_verdict index_object(struct json_index *index, struct bytes text,
                                             enum json_upsert_verdict when_none)
{
    switch (json_index_build(index, text, JSON_INDEX_TOP)) {
    case JSON_INDEXED:
        return json_index_top(index) ? JSON_UPSERT_DONE : when_none;
    case JSON_INDEX_DUPLICATE:
        return JSON_UPSERT_DUPLICATE;
    case JSON_INDEX_TOO_LARGE:
        return JSON_UPSERT_TOO_LARGE;
    default:
        return when_none;
    }
}

static enum json_upsert_verdict index_all(struct upsert *upsert, struct bytes target, struct bytes set,
                                          struct bytes increment)
{
    enum json_upsert_verdict verdict = index_object(&upsert->target, target, JSON_UPSERT_NOT_OBJECT);
    if (verdict == JSON_UPSERT_DONE && set.data)
        verdict = index_object(&upsert->set, set, JSON_UPSERT_INVALID);
    if (verdict == JSON_UPSERT_DONE && increment.data)
        verdict = index_object(&upsert->increment, increment, JSON_UPSERT_INVALID);
    return verdict;
}

enum json_upsert_verdict json_upsert_update(struct bytes target, struct bytes set, struct bytes increment,
                                            size_t most, struct buffer *out)
{
    struct upsert upsert = {.out = out, .first = true};
    size_t before = out->size;
    enum json_upsert_verdict verdict = index_all(&upsert, target, set, increment);
    if (verdict == JSON_UPSERT_DONE)
        verdict = add_result(&upsert);
    if (verdict == JSON_UPSERT_DONE && out->size - before > most)
        verdict = JSON_UPSERT_TOO_LARGE;
    if (verdict != JSON_UPSERT_DONE)
        out->size = before;
    json_index_free(&upsert.target);
    json_index_free(&upsert.set);
    json_index_free(&upsert.increment);
    return verdict;
}
