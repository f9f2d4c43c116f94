// The forms of a value in JSON: spliced as it is stored, as a string, or in base64. Nothing is ever
// re-encoded.
#include "handlers/entry_json.h"

#include "base/json_text.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "handlers/sealed_entry.h"
#include "handlers/write_source.h"

enum { DEEPEST = 512 };

// The media type without parameters.
static struct bytes media_type(struct bytes content_type)
{
    size_t end = 0;
    while (end < content_type.size && content_type.data[end] != ';')
        end++;
    return text_trim(bytes_make(content_type.data, end));
}

static bool ends_lower(struct bytes text, const char *ending)
{
    size_t size = strlen(ending);
    return text.size > size && text_equals_lower(bytes_make(text.data + text.size - size, size), ending);
}

bool content_is_json(struct bytes content_type)
{
    struct bytes media = media_type(content_type);
    return text_equals_lower(media, "application/json") || ends_lower(media, "+json");
}

bool content_is_text(struct bytes content_type)
{
    return content_type.size >= 5 && text_equals_lower(bytes_make(content_type.data, 5), "text/");
}

static bool is_json(struct bytes content_type, struct bytes type)
{
    return bytes_is(type, "json") || bytes_is(type, "int") || bytes_is(type, "float") ||
           bytes_is(type, "bool") || content_is_json(content_type);
}

static bool is_text(struct bytes content_type, struct bytes type)
{
    return bytes_is(type, "text") || content_is_text(content_type);
}

static void add_name(struct buffer *json, const char *name)
{
    buffer_add_char(json, '"');
    buffer_add_text(json, name);
    buffer_add_text(json, "\":");
}

void entry_json_value(struct buffer *json, struct arena *arena, const char *const names[3],
                      struct bytes content_type, struct bytes type, struct bytes value)
{
    if (is_json(content_type, type) && json_check(value, DEEPEST) == JSON_VALID) {
        add_name(json, names[0]);
        buffer_add_bytes(json, value);
    } else if (is_text(content_type, type) && text_is_utf8(value)) {
        add_name(json, names[1]);
        buffer_add_json(json, value);
    } else {
        add_name(json, names[2]);
        buffer_add_char(json, '"');
        buffer_add_bytes(json, text_base64_encode(arena, value));
        buffer_add_char(json, '"');
    }
}

static void write_key(struct buffer *json, struct arena *arena, struct bytes key)
{
    if (text_is_utf8(key)) {
        buffer_add_text(json, "\"key\":");
        buffer_add_json(json, key);
        return;
    }
    buffer_add_text(json, "\"key_base64\":\"");
    buffer_add_bytes(json, text_base64_encode(arena, key));
    buffer_add_char(json, '"');
}

static void write_owner(struct buffer *json, struct arena *arena, struct bytes owner)
{
    if (text_is_utf8(owner)) {
        buffer_add_json(json, owner);
        return;
    }
    buffer_add_text(json, "{\"base64\":\"");
    buffer_add_bytes(json, text_base64_encode(arena, owner));
    buffer_add_text(json, "\"}");
}

void entry_json_place(struct buffer *json, struct arena *arena, struct bytes path)
{
    struct bytes owners[PATH_MAX_OWNERS];
    struct bytes key = {0};
    size_t count = 0;
    path_decode(arena, path, owners, &count, &key);
    write_key(json, arena, key);
    buffer_add_text(json, ",\"under\":[");
    for (size_t i = 0; i < count; i++) {
        if (i)
            buffer_add_char(json, ',');
        write_owner(json, arena, owners[i]);
    }
    buffer_add_char(json, ']');
}

// Stored as lines of name, colon, value.
static void write_metadata(struct buffer *json, struct bytes stored)
{
    buffer_add_text(json, ",\"metadata\":{");
    const uint8_t *at = stored.data, *end = at + stored.size;
    for (bool first = true; at < end; first = false) {
        const uint8_t *line_end = memchr(at, '\n', (size_t)(end - at));
        const uint8_t *colon = memchr(at, ':', (size_t)(end - at));
        if (!line_end || !colon || colon > line_end)
            break;
        if (!first)
            buffer_add_char(json, ',');
        buffer_add_json(json, bytes_make(at, (size_t)(colon - at)));
        buffer_add_char(json, ':');
        buffer_add_json(json, bytes_make(colon + 1, (size_t)(line_end - colon - 1)));
        at = line_end + 1;
    }
    buffer_add_char(json, '}');
}

void entry_view_open(struct context *context, struct arena *arena, struct stored_entry *stored,
                     struct entry_view *view)
{
    view->corrupt = !entry_open(context, arena, stored);
    view->content_type = content_type_opened(stored->content_type);
    view->type = stored->declared;
    view->value = stored->value;
    view->metadata = stored->metadata;
}

void entry_json_write(struct buffer *json, struct arena *arena, const struct entry_view *entry)
{
    static const char *const names[3] = {"value", "text", "base64"};
    char time[TIMESTAMP_SIZE];
    buffer_add_char(json, '{');
    if (entry->bucket.data) {
        buffer_add_text(json, "\"bucket\":");
        buffer_add_json(json, entry->bucket);
        buffer_add_char(json, ',');
    }
    entry_json_place(json, arena, entry->path);
    buffer_add_text(json, ",\"version\":\"");
    buffer_add_int64(json, entry->version);
    buffer_add_text(json, "\",\"expires_at\":");
    if (entry->expires) {
        timestamp_format(entry->expires_at, time);
        buffer_add_char(json, '"');
        buffer_add_text(json, time);
        buffer_add_char(json, '"');
    } else {
        buffer_add_text(json, "null");
    }
    buffer_add_text(json, ",\"content_type\":");
    buffer_add_json(json,
                    entry->content_type.size ? entry->content_type : bytes_of("application/octet-stream"));
    buffer_add_text(json, ",\"size\":");
    buffer_add_int64(json, entry->size);
    if (entry->with_metadata && !entry->corrupt)
        write_metadata(json, entry->metadata);
    if (entry->sources) {
        buffer_add_text(json, ",\"source\":");
        write_source_json(json, entry->request, entry->version, entry->sources, entry->source_row);
    }
    if (entry->corrupt) {
        buffer_add_text(json, ",\"corrupt\":true");
    } else if (entry->with_value) {
        buffer_add_char(json, ',');
        entry_json_value(json, arena, names, entry->content_type, entry->type, entry->value);
    }
    buffer_add_char(json, '}');
}
