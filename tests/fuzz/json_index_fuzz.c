// Indexes, arrays and members of any text against jansson's view of it.
#include "json_values.h"

#include "base/json_array.h"
#include "base/json_index.h"
#include "base/json_text.h"
#include "client/members.h"

static struct json_index_member named(const char *name, size_t size)
{
    return (struct json_index_member){.name = (const uint8_t *)name, .name_size = (uint32_t)size};
}

static void check_object(const struct json_index *index, const struct json_index_object *object,
                         json_t *whole)
{
    const char *name;
    size_t size;
    json_t *value;
    must(object->count == json_object_size(whole));
    json_object_keylen_foreach(whole, name, size, value)
    {
        struct json_index_member like = named(name, size);
        const struct json_index_member *member = json_index_find(index, object, &like);
        must(member);
        json_t *got = understood(json_index_value(index, member), 0);
        must(got && json_equal(got, value));
        json_decref(got);
        const struct json_index_object *nested = json_index_nested(index, member);
        must((nested != NULL) == json_is_object(value));
        if (nested)
            check_object(index, nested, value);
    }
}

static void check_index(struct bytes text)
{
    struct json_index all = {0}, last = {0}, top = {0};
    enum json_index_verdict verdict = json_index_build(&all, text, JSON_INDEX_ALL);
    enum json_index_verdict lenient = json_index_build(&last, text, JSON_INDEX_ALL_LAST);
    enum json_index_verdict shallow = json_index_build(&top, text, JSON_INDEX_TOP);
    enum json_verdict check = json_check(text, JSON_STORED_DEPTH);
    must((lenient == JSON_INDEXED) == (check == JSON_VALID));
    must(verdict == lenient || verdict == JSON_INDEX_DUPLICATE);
    must(verdict != JSON_INDEXED || shallow == JSON_INDEXED);
    json_t *whole = understood(text, 0);
    if (lenient == JSON_INDEXED && whole) {
        must((json_index_top(&last) != NULL) == json_is_object(whole));
        if (json_index_top(&last))
            check_object(&last, json_index_top(&last), whole);
        json_t *strict = understood(text, JSON_REJECT_DUPLICATES);
        must((strict != NULL) == (verdict == JSON_INDEXED));
        json_decref(strict);
    }
    json_decref(whole);
    json_index_free(&all);
    json_index_free(&last);
    json_index_free(&top);
}

static void check_array(struct bytes text)
{
    struct json_array array;
    struct bytes element;
    json_t *whole = understood(text, 0);
    size_t count = 0;
    if (json_check(text, JSON_MAX_DEPTH) == JSON_VALID && json_array_begin(&array, text)) {
        must(!whole || json_is_array(whole));
        while (json_array_next(&array, &element)) {
            json_t *got = understood(element, 0);
            must(!whole || (got && json_equal(got, json_array_get(whole, count))));
            json_decref(got);
            count++;
        }
        must(!whole || count == json_array_size(whole));
        must(count <= json_count_values(text));
    }
    json_decref(whole);
}

static void check_members(struct bytes text)
{
    struct members members;
    struct bytes name, value;
    size_t count = 0;
    if (json_check(text, JSON_MAX_DEPTH) != JSON_VALID || !members_begin(&members, text))
        return;
    while (members_next(&members, &name, &value)) {
        must(name.data > text.data && value.data + value.size < text.data + text.size);
        must(json_check(value, JSON_MAX_DEPTH) == JSON_VALID);
        count++;
    }
    json_t *whole = understood(text, JSON_REJECT_DUPLICATES);
    must(!whole || count == json_object_size(whole));
    json_decref(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_index(bytes_make(data, size));
    check_array(bytes_make(data, size));
    check_members(bytes_make(data, size));
    return 0;
}
