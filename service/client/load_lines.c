// Members go into the operation as they are written. What only the service gives, such as a version, is left
// out.
#include "client/load_lines.h"

#include "base/json_index.h"
#include "base/json_member.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "client/members.h"
#include "client/place.h"

// A value beyond these goes as base64, which counts as one: the service limits the JSON of a request.
enum { DEEPEST_SPLICED = 40, LARGEST_SPLICED = 64 * 1024 };

static const struct {
    const char *kind;
    const char *path; // NULL: there is nothing to declare
} kinds[] = {
    {"\"bucket\"", "/v1/buckets"}, {"\"counter\"", "/v1/counters"}, {"\"rate_limit\"", "/v1/rate-limits"},
    {"\"quota\"", "/v1/quotas"},   {"\"once\"", "/v1/once"},        {"\"rate_gate\"", NULL},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static int kind_number(struct bytes kind)
{
    int i = 0;
    while (i < KINDS && !bytes_is(kind, kinds[i].kind))
        i++;
    return i;
}

enum line_kind load_line_kind(struct bytes line)
{
    struct bytes kind;
    if (!line.size || line.data[0] != '{' || json_check(line, JSON_STORED_DEPTH + 2) != JSON_VALID ||
        !json_member(line, "kind", &kind))
        return LINE_BROKEN;
    if (bytes_is(kind, "\"entry\""))
        return LINE_ENTRY;
    if (bytes_is(kind, "\"checkpoint\""))
        return LINE_IGNORED;
    int number = kind_number(kind);
    return number == KINDS ? LINE_BROKEN : kinds[number].path ? LINE_NAME : LINE_IGNORED;
}

bool load_line_name(struct load_lines *lines, struct bytes line, struct buffer *path,
                    struct bytes *configuration)
{
    struct bytes kind, text, name, idle;
    struct target target = {0};
    struct arena arena = {0};
    bool whole = json_member(line, "kind", &kind) && json_member(line, "name", &text) &&
                 json_string_decode(&arena, text, &name) && json_member(line, "configuration", configuration);
    if (whole) {
        target_begin(&target, kinds[kind_number(kind)].path);
        target_segment(&target, name);
        buffer_add_bytes(path, buffer_view(&target.text));
        arena_free(&lines->arena);
        bool idles = json_member(*configuration, "idle", &idle) && !bytes_is(idle, "null");
        lines->idle_bucket = idles ? arena_copy(&lines->arena, text) : (struct bytes){0};
    }
    buffer_free(&target.text);
    arena_free(&arena);
    return whole;
}

static void add_member(struct buffer *json, struct bytes name, struct bytes value)
{
    buffer_add_text(json, ",\"");
    buffer_add_bytes(json, name);
    buffer_add_text(json, "\":");
    buffer_add_bytes(json, value);
}

static void add_base64(struct buffer *json, struct bytes raw)
{
    struct arena arena = {0};
    buffer_add_text(json, ",\"base64\":\"");
    buffer_add_bytes(json, text_base64_encode(&arena, raw));
    buffer_add_char(json, '"');
    arena_free(&arena);
}

// A stored value may have two members of one name, and a request may not.
static bool has_twins(struct bytes value)
{
    struct json_index index = {0};
    bool twins = json_index_build(&index, value, JSON_INDEX_ALL) == JSON_INDEX_DUPLICATE;
    json_index_free(&index);
    return twins;
}

static void add_value(struct buffer *json, struct bytes name, struct bytes value, size_t *values)
{
    if (value.size <= LARGEST_SPLICED && json_check(value, DEEPEST_SPLICED) == JSON_VALID &&
        !has_twins(value)) {
        *values += json_count_values(value);
        add_member(json, name, value);
    } else {
        add_base64(json, value);
    }
}

// What is escaped may be six times as long as the text, and more than a request may be.
static void add_text(struct buffer *json, struct bytes name, struct bytes text)
{
    struct arena arena = {0};
    struct bytes decoded;
    if (text.size > LARGEST_SPLICED && json_string_decode(&arena, text, &decoded))
        add_base64(json, decoded);
    else
        add_member(json, name, text);
    arena_free(&arena);
}

// Of an entry that lives as long as it is read, the term begins anew: one that is named would end that.
static enum line_kind add_expiry(struct buffer *json, bool idles, struct bytes expires_at)
{
    int64_t at;
    if (bytes_is(expires_at, "null")) {
        buffer_add_text(json, ",\"persist\":true");
        return LINE_ENTRY;
    }
    if (expires_at.size < 2 || !timestamp_parse(bytes_make(expires_at.data + 1, expires_at.size - 2), &at))
        return LINE_BROKEN;
    if (at <= timestamp_now())
        return LINE_EXPIRED;
    if (!idles)
        add_member(json, bytes_of("expires_at"), expires_at);
    return LINE_ENTRY;
}

static bool is_copied(struct bytes name)
{
    static const char *const copied[] = {"bucket", "key",          "key_base64", "under",
                                         "base64", "content_type", "metadata"};
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++)
        if (bytes_is(name, copied[i]))
            return true;
    return false;
}

enum line_kind load_line_operation(const struct load_lines *lines, struct bytes line, struct buffer *json,
                                   size_t *values)
{
    struct members members;
    struct bytes name, value, bucket = {0}, expires_at = bytes_of("null");
    size_t before = json->size;
    *values = 16;
    buffer_add_text(json, "{\"op\":\"put\"");
    members_begin(&members, line);
    while (members_next(&members, &name, &value)) {
        if (bytes_is(name, "bucket"))
            bucket = value;
        if (bytes_is(name, "expires_at"))
            expires_at = value;
        else if (bytes_is(name, "value"))
            add_value(json, name, value, values);
        else if (bytes_is(name, "text"))
            add_text(json, name, value);
        else if (is_copied(name))
            add_member(json, name, value);
    }
    bool idles = lines->idle_bucket.data && bytes_equal(bucket, lines->idle_bucket);
    enum line_kind kind = bucket.data ? add_expiry(json, idles, expires_at) : LINE_BROKEN;
    buffer_add_char(json, '}');
    if (kind != LINE_ENTRY)
        json->size = before;
    return kind;
}
