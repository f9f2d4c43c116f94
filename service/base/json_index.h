// Finds the members of the objects in a JSON text by name, at once, however many there are.
#pragma once

#include "base/arena.h"
#include "base/buffer.h"

// The parts of a text are told by their offsets, which keeps a member small: a hostile text of n bytes has
// up to n / 5 of them.
struct json_index_member {
    const uint8_t *name; // decoded by json_scan_decode
    uint32_t name_size;
    uint32_t hash;   // of the name; only in objects that have slots
    uint32_t start;  // where the name's opening quote is
    uint32_t value;  // where the value begins
    uint32_t end;    // where it ends
    uint32_t object; // the first indexed object that is not before the value
};

struct json_index_object {
    uint32_t first;  // member
    uint32_t count;  // members, of which no two have the same name
    uint32_t end;    // where the text goes on
    uint32_t after;  // the first object that is not inside this one
    uint32_t *slots; // member numbers from 1, by hash; NULL when there are so few that one looks at each
    uint32_t slots_mask;
};

// All of it is owned by the index. Objects are in the order in which they open.
struct json_index {
    struct bytes text; // the value without white space around it
    struct buffer objects;
    struct buffer members;
    struct arena arena;
};

enum json_index_verdict {
    JSON_INDEXED,
    JSON_INDEX_MALFORMED,
    JSON_INDEX_TOO_DEEP,  // more than JSON_STORED_DEPTH arrays and objects
    JSON_INDEX_TOO_LARGE, // more than 4 GiB
    JSON_INDEX_DUPLICATE,
};

enum json_index_rule {
    JSON_INDEX_TOP, // only the value itself is indexed, when it is an object; two members of one name there
                    // are refused
    JSON_INDEX_ALL, // every object; two members of one name anywhere are refused
    JSON_INDEX_ALL_LAST, // every object; of two members of one name the last counts
};

// Indexes `text`, which must outlive the index. `index` is zero-initialised; it is to be freed whatever the
// verdict. Takes time in proportion to the size; recursion ends at JSON_STORED_DEPTH.
enum json_index_verdict json_index_build(struct json_index *index, struct bytes text,
                                         enum json_index_rule rule);

void json_index_free(struct json_index *index);

static inline const struct json_index_object *json_index_object(const struct json_index *index,
                                                                uint32_t number)
{
    return (const struct json_index_object *)(const void *)index->objects.data + number;
}

static inline const struct json_index_member *json_index_members(const struct json_index *index,
                                                                 const struct json_index_object *object)
{
    if (object->count == 0)
        return NULL; // of an index without any member there is no array to point into
    return (const struct json_index_member *)(const void *)index->members.data + object->first;
}

// The value itself when it is an object, else NULL.
static inline const struct json_index_object *json_index_top(const struct json_index *index)
{
    return index->text.size > 0 && index->text.data[0] == '{' ? json_index_object(index, 0) : NULL;
}

// The member's value when it is an object (of an index of all objects), else NULL.
static inline const struct json_index_object *json_index_nested(const struct json_index *index,
                                                                const struct json_index_member *member)
{
    return index->text.data[member->value] == '{' ? json_index_object(index, member->object) : NULL;
}

static inline struct bytes json_index_value(const struct json_index *index,
                                            const struct json_index_member *member)
{
    return bytes_make(index->text.data + member->value, member->end - member->value);
}

// The name as it is written, with the colon.
static inline struct bytes json_index_name(const struct json_index *index,
                                           const struct json_index_member *member)
{
    return bytes_make(index->text.data + member->start, member->value - member->start);
}

static inline struct bytes json_index_member_text(const struct json_index *index,
                                                  const struct json_index_member *member)
{
    return bytes_make(index->text.data + member->start, member->end - member->start);
}

// The member of `object` that has the same name as `like`, a member of any index; NULL when there is none.
const struct json_index_member *json_index_find(const struct json_index *index,
                                                const struct json_index_object *object,
                                                const struct json_index_member *like);
