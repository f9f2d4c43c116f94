// Members are gathered on a stack while their object is open and move to their place when it closes, so that
// those of one object lie together; names are hashed with a key that nobody outside can know.
#include "base/json_index.h"

#include "base/json_scan.h"

#include <pthread.h>
#include <sodium.h>

enum { FEW_MEMBERS = 8 };

static uint8_t hash_key[crypto_shorthash_KEYBYTES];

static void draw_hash_key(void)
{
    randombytes_buf(hash_key, sizeof hash_key);
}

static uint32_t hash_name(const struct json_index_member *member)
{
    uint8_t hash[crypto_shorthash_BYTES];
    crypto_shorthash(hash, member->name, member->name_size, hash_key);
    uint32_t low;
    memcpy(&low, hash, sizeof low);
    return low;
}

static bool same_name(const struct json_index_member *a, const struct json_index_member *b)
{
    return bytes_equal(bytes_make(a->name, a->name_size), bytes_make(b->name, b->name_size));
}

// The slot that holds the member with `like`'s name and `hash`, or the empty one where it would be.
static uint32_t *find_slot(const struct json_index_object *object, const struct json_index_member *members,
                           const struct json_index_member *like, uint32_t hash)
{
    uint32_t at = hash & object->slots_mask;
    while (object->slots[at]) {
        const struct json_index_member *member = &members[object->slots[at] - 1];
        if (member->hash == hash && same_name(member, like))
            break;
        at = (at + 1) & object->slots_mask;
    }
    return &object->slots[at];
}

// The number, from 1, of the member with `like`'s name among the few of an object; 0 when there is none.
static uint32_t find_among_few(const struct json_index_object *object,
                               const struct json_index_member *members, const struct json_index_member *like)
{
    for (uint32_t i = 0; i < object->count; i++)
        if (same_name(&members[i], like))
            return i + 1;
    return 0;
}

const struct json_index_member *json_index_find(const struct json_index *index,
                                                const struct json_index_object *object,
                                                const struct json_index_member *like)
{
    const struct json_index_member *members = json_index_members(index, object);
    uint32_t number = object->slots ? *find_slot(object, members, like, hash_name(like))
                                    : find_among_few(object, members, like);
    return number ? &members[number - 1] : NULL;
}

struct builder {
    struct json_index *index;
    enum json_index_rule rule;
    struct json_scan scan;
    struct buffer open; // members of the objects that are open, the innermost's last
};

static enum json_index_verdict index_value(struct builder *builder, unsigned level);

static uint32_t offset(const struct builder *builder)
{
    return (uint32_t)(builder->scan.at - builder->index->text.data);
}

static uint32_t object_count(const struct json_index *index)
{
    return (uint32_t)(index->objects.size / sizeof(struct json_index_object));
}

static void make_slots(struct json_index *index, struct json_index_object *object, uint32_t count)
{
    uint32_t slots = 32;
    while (slots / 2 < count)
        slots *= 2;
    object->slots = arena_zalloc(&index->arena, slots * sizeof *object->slots);
    object->slots_mask = slots - 1;
}

// Settles which of the `count` members belong to the object that closes, and moves them to the front. False
// when two have one name and that is refused.
static bool settle(struct builder *builder, struct json_index_object *object,
                   struct json_index_member *members, uint32_t count)
{
    if (count > FEW_MEMBERS)
        make_slots(builder->index, object, count);
    for (uint32_t i = 0; i < count; i++) {
        struct json_index_member member = members[i];
        uint32_t number;
        uint32_t *slot = &number;
        if (object->slots) {
            member.hash = hash_name(&member);
            slot = find_slot(object, members, &member, member.hash);
        } else {
            number = find_among_few(object, members, &member);
        }
        if (*slot && builder->rule != JSON_INDEX_ALL_LAST)
            return false;
        if (!*slot)
            *slot = ++object->count;
        members[*slot - 1] = member;
    }
    return true;
}

static bool close_object(struct builder *builder, uint32_t number, size_t open_before)
{
    struct json_index *index = builder->index;
    struct json_index_object object = {
        .first = (uint32_t)(index->members.size / sizeof(struct json_index_member)),
        .end = offset(builder),
        .after = object_count(index),
    };
    if (builder->open.size > open_before) {
        void *members = builder->open.data + open_before;
        uint32_t count = (uint32_t)((builder->open.size - open_before) / sizeof(struct json_index_member));
        if (!settle(builder, &object, members, count))
            return false;
        buffer_add(&index->members, members, object.count * sizeof(struct json_index_member));
        builder->open.size = open_before;
    }
    memcpy(index->objects.data + number * sizeof object, &object, sizeof object);
    return true;
}

static enum json_index_verdict index_member(struct builder *builder, unsigned level)
{
    json_scan_space(&builder->scan);
    struct json_index_member member = {.start = offset(builder)};
    struct bytes raw;
    if (!json_scan_name(&builder->scan, &raw))
        return JSON_INDEX_MALFORMED;
    struct bytes name = json_scan_decode(&builder->index->arena, raw, NULL);
    member.name = name.data;
    member.name_size = (uint32_t)name.size;
    member.value = offset(builder);
    member.object = object_count(builder->index);
    enum json_index_verdict verdict = index_value(builder, level);
    member.end = offset(builder);
    buffer_add(&builder->open, &member, sizeof member);
    return verdict;
}

// What follows the opening brace, which has made the `level`-th level.
static enum json_index_verdict index_object(struct builder *builder, unsigned level)
{
    uint32_t number = object_count(builder->index);
    buffer_grow(&builder->index->objects, sizeof(struct json_index_object));
    size_t open_before = builder->open.size;
    json_scan_space(&builder->scan);
    if (!json_scan_accept(&builder->scan, '}')) {
        do {
            enum json_index_verdict verdict = index_member(builder, level);
            if (verdict != JSON_INDEXED)
                return verdict;
            json_scan_space(&builder->scan);
        } while (json_scan_accept(&builder->scan, ','));
        if (!json_scan_accept(&builder->scan, '}'))
            return JSON_INDEX_MALFORMED;
    }
    return close_object(builder, number, open_before) ? JSON_INDEXED : JSON_INDEX_DUPLICATE;
}

// What follows the opening bracket.
static enum json_index_verdict index_array(struct builder *builder, unsigned level)
{
    json_scan_space(&builder->scan);
    if (json_scan_accept(&builder->scan, ']'))
        return JSON_INDEXED;
    do {
        json_scan_space(&builder->scan);
        enum json_index_verdict verdict = index_value(builder, level);
        if (verdict != JSON_INDEXED)
            return verdict;
        json_scan_space(&builder->scan);
    } while (json_scan_accept(&builder->scan, ','));
    return json_scan_accept(&builder->scan, ']') ? JSON_INDEXED : JSON_INDEX_MALFORMED;
}

static enum json_index_verdict pass_value(struct json_scan *scan, unsigned depth)
{
    switch (json_scan_value(scan, depth)) {
    case JSON_VALID:
        return JSON_INDEXED;
    case JSON_TOO_DEEP:
        return JSON_INDEX_TOO_DEEP;
    default:
        return JSON_INDEX_MALFORMED;
    }
}

// The value that begins here, inside `level` arrays and objects.
static enum json_index_verdict index_value(struct builder *builder, unsigned level)
{
    bool object = !json_scan_at_end(&builder->scan) && *builder->scan.at == '{';
    bool array = !json_scan_at_end(&builder->scan) && *builder->scan.at == '[';
    if (builder->rule == JSON_INDEX_TOP && !(object && level == 0))
        return pass_value(&builder->scan, JSON_STORED_DEPTH - level);
    if (!object && !array)
        return json_scan_scalar(&builder->scan) ? JSON_INDEXED : JSON_INDEX_MALFORMED;
    if (level == JSON_STORED_DEPTH)
        return JSON_INDEX_TOO_DEEP;
    builder->scan.at++;
    return object ? index_object(builder, level + 1) : index_array(builder, level + 1);
}

enum json_index_verdict json_index_build(struct json_index *index, struct bytes text,
                                         enum json_index_rule rule)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, draw_hash_key);
    if (text.size > UINT32_MAX)
        return JSON_INDEX_TOO_LARGE;
    struct builder builder = {.index = index, .rule = rule, .scan = json_scan_begin(text)};
    json_scan_space(&builder.scan);
    index->text.data = builder.scan.at;
    enum json_index_verdict verdict = index_value(&builder, 0);
    index->text.size = offset(&builder);
    json_scan_space(&builder.scan);
    if (verdict == JSON_INDEXED && !json_scan_at_end(&builder.scan))
        verdict = JSON_INDEX_MALFORMED;
    buffer_free(&builder.open);
    return verdict;
}

void json_index_free(struct json_index *index)
{
    buffer_free(&index->objects);
    buffer_free(&index->members);
    arena_free(&index->arena);
}
