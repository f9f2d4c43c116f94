// Values are spliced in as they are when they are JSON, so that numbers keep their digits.
#include "client/entry_show.h"

#include "base/json_text.h"
#include "base/text.h"

static void add_base64(struct buffer *json, struct bytes raw)
{
    struct arena arena = {0};
    buffer_add_char(json, '"');
    buffer_add_bytes(json, text_base64_encode(&arena, raw));
    buffer_add_char(json, '"');
    arena_free(&arena);
}

void entry_show_place(struct buffer *json, const struct place *place)
{
    if (text_is_utf8(place->key)) {
        buffer_add_text(json, "\"key\":");
        buffer_add_json(json, place->key);
    } else {
        buffer_add_text(json, "\"key_base64\":");
        add_base64(json, place->key);
    }
    buffer_add_text(json, ",\"under\":[");
    for (int i = 0; i < place->owner_count; i++) {
        if (i)
            buffer_add_char(json, ',');
        if (text_is_utf8(place->owners[i])) {
            buffer_add_json(json, place->owners[i]);
            continue;
        }
        buffer_add_text(json, "{\"base64\":");
        add_base64(json, place->owners[i]);
        buffer_add_char(json, '}');
    }
    buffer_add_char(json, ']');
}

static bool is_json(struct bytes content_type)
{
    size_t end = 0;
    while (end < content_type.size && content_type.data[end] != ';')
        end++;
    struct bytes media = text_trim(bytes_make(content_type.data, end));
    struct bytes tail = media.size > 5 ? bytes_make(media.data + media.size - 5, 5) : media;
    return text_equals_lower(media, "application/json") || text_equals_lower(tail, "+json");
}

// One line, and nothing around it that a reader of the line would drop.
static bool is_one_line(struct bytes value)
{
    return value.size && !memchr(value.data, '\n', value.size) && !memchr(value.data, '\r', value.size) &&
           text_trim(value).size == value.size;
}

void entry_show_value(struct buffer *json, struct bytes content_type, struct bytes value)
{
    bool text = content_type.size > 5 && text_equals_lower(bytes_make(content_type.data, 5), "text/");
    if (is_json(content_type) && is_one_line(value) && json_check(value, JSON_STORED_DEPTH) == JSON_VALID) {
        buffer_add_text(json, "\"value\":");
        buffer_add_bytes(json, value);
    } else if (text && text_is_utf8(value)) {
        buffer_add_text(json, "\"text\":");
        buffer_add_json(json, value);
    } else {
        buffer_add_text(json, "\"base64\":");
        add_base64(json, value);
    }
}

// The `Holdfast-Meta-` lines, as an object.
static void add_metadata(struct buffer *json, const struct reply *reply)
{
    static const char prefix[] = "holdfast-meta-";
    const char *at = (const char *)reply->head.data, *end = reply->head.size ? at + reply->head.size : at;
    bool first = true;
    buffer_add_char(json, '{');
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        const char *colon = memchr(at, ':', (size_t)(line_end - at));
        size_t size = sizeof prefix - 1;
        if (colon && (size_t)(colon - at) > size && text_equals_lower(bytes_make(at, size), prefix)) {
            struct arena arena = {0};
            struct bytes name = arena_copy(&arena, bytes_make(at + size, (size_t)(colon - at) - size));
            for (size_t i = 0; i < name.size; i++) {
                uint8_t *c = (uint8_t *)(uintptr_t)name.data + i;
                *c = *c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c;
            }
            if (!first)
                buffer_add_char(json, ',');
            first = false;
            buffer_add_json(json, name);
            buffer_add_char(json, ':');
            const char *stop = line_end > colon + 1 && line_end[-1] == '\r' ? line_end - 1 : line_end;
            buffer_add_json(json, text_trim(bytes_make(colon + 1, (size_t)(stop - colon - 1))));
            arena_free(&arena);
        }
        at = line_end < end ? line_end + 1 : end;
    }
    buffer_add_char(json, '}');
}

void entry_show(struct buffer *json, const struct place *place, const struct reply *reply)
{
    struct bytes expires, type, value = buffer_view(&reply->body);
    buffer_add_text(json, "{\"bucket\":");
    buffer_add_json(json, place->bucket);
    buffer_add_char(json, ',');
    entry_show_place(json, place);
    buffer_add_text(json, ",\"version\":");
    buffer_add_json(json, reply_version(reply));
    buffer_add_text(json, ",\"expires_at\":");
    if (reply_field(reply, "holdfast-expires-at", &expires))
        buffer_add_json(json, expires);
    else
        buffer_add_text(json, "null");
    if (!reply_field(reply, "content-type", &type))
        type = bytes_of("application/octet-stream");
    buffer_add_text(json, ",\"content_type\":");
    buffer_add_json(json, type);
    buffer_add_text(json, ",\"metadata\":");
    add_metadata(json, reply);
    buffer_add_text(json, ",\"size\":");
    buffer_add_int64(json, (int64_t)value.size);
    buffer_add_char(json, ',');
    entry_show_value(json, type, value);
    buffer_add_text(json, "}\n");
}
