// Entries go from a page into the dump as they are written there, so that every digit stays.
#include "client/dump_lines.h"

#include "base/json_member.h"
#include "base/json_text.h"
#include "base/text.h"
#include "client/members.h"

#include <stdlib.h>

// --- entries ----------------------------------------------------------------------------------------------

static bool has_line_break(struct bytes text)
{
    return text.size && (memchr(text.data, '\n', text.size) || memchr(text.data, '\r', text.size));
}

// The bytes of a JSON value as it is stored: white space around it, which the page has too, belongs to it.
static bool stored_value(struct bytes entry, struct bytes value, struct bytes *stored)
{
    struct bytes size_text;
    int64_t size;
    const uint8_t *end = entry.data + entry.size, *start = value.data;
    if (!json_member(entry, "size", &size_text) || !text_int64(size_text, &size))
        return false;
    while (start > entry.data && start[-1] != ':')
        start--;
    int64_t least = value.data + value.size - start;
    *stored = bytes_make(start, (size_t)size);
    return size >= least && size < end - start && (start[size] == '}' || start[size] == ',');
}

static void add_base64(struct buffer *lines, struct bytes raw)
{
    struct arena arena = {0};
    buffer_add_text(lines, "\"base64\":\"");
    buffer_add_bytes(lines, text_base64_encode(&arena, raw));
    buffer_add_char(lines, '"');
    arena_free(&arena);
}

// The entry with its value in base64, since a line cannot hold it as it is.
static void add_encoded(struct buffer *lines, struct bytes entry, struct bytes value)
{
    struct members members;
    struct bytes name, member;
    bool more = false;
    members_begin(&members, entry);
    while (members_next(&members, &name, &member)) {
        if (more)
            buffer_add_char(lines, ',');
        more = true;
        if (bytes_is(name, "value")) {
            add_base64(lines, value);
            continue;
        }
        buffer_add_char(lines, '"');
        buffer_add_bytes(lines, name);
        buffer_add_text(lines, "\":");
        buffer_add_bytes(lines, member);
    }
    buffer_add_char(lines, '}');
}

static bool has_key(struct bytes entry)
{
    struct bytes key;
    return json_member(entry, "key", &key) || json_member(entry, "key_base64", &key);
}

enum dump_verdict dump_line_entry(struct buffer *lines, struct bytes bucket, struct bytes entry)
{
    struct bytes value, stored = {0}, corrupt;
    size_t before = lines->size;
    bool spliced = json_member(entry, "value", &value);
    if (!has_key(entry) || (spliced && !stored_value(entry, value, &stored)))
        return DUMP_BROKEN;
    if (!spliced && json_member(entry, "corrupt", &corrupt))
        return DUMP_CORRUPT;
    buffer_add_text(lines, "{\"kind\":\"entry\",\"bucket\":");
    buffer_add_json(lines, bucket);
    buffer_add_char(lines, ',');
    if (spliced && (stored.size != value.size || has_line_break(stored)))
        add_encoded(lines, entry, stored);
    else
        buffer_add(lines, entry.data + 1, entry.size - 1);
    bool broken = has_line_break(bytes_make(lines->data + before, lines->size - before));
    buffer_add_char(lines, '\n');
    if (broken) // which only the value could have rightly
        lines->size = before;
    return broken ? DUMP_BROKEN : DUMP_WRITTEN;
}

// --- checkpoints ------------------------------------------------------------------------------------------

static void add_optional(struct buffer *lines, const char *name, const char *text)
{
    buffer_printf(lines, ",\"%s\":", name);
    if (text)
        buffer_add_json(lines, bytes_of(text));
    else
        buffer_add_text(lines, "null");
}

void dump_line_checkpoint(struct buffer *lines, struct bytes bucket, const char *cursor, const char *only)
{
    buffer_add_text(lines, "{\"kind\":\"checkpoint\",\"bucket\":");
    buffer_add_json(lines, bucket);
    add_optional(lines, "cursor", cursor);
    add_optional(lines, "only", only);
    buffer_add_text(lines, "}\n");
}

// A text in the arena, or data NULL for null. False when it is neither.
static bool take_optional(struct arena *arena, struct bytes written, struct bytes *text)
{
    struct bytes decoded;
    *text = (struct bytes){0};
    if (bytes_is(written, "null"))
        return true;
    if (!json_string_decode(arena, written, &decoded))
        return false;
    *text = arena_copy(arena, decoded);
    return true;
}

// False when the line is no checkpoint.
static bool take_checkpoint(struct bytes line, const char *only, struct dump_checkpoint *checkpoint)
{
    static const char mark[] = "{\"kind\":\"checkpoint\"";
    struct bytes bucket, cursor, of;
    struct arena *arena = &checkpoint->arena;
    if (line.size < sizeof mark || memcmp(line.data, mark, sizeof mark - 1) != 0 ||
        json_check(line, 4) != JSON_VALID || !json_member(line, "bucket", &bucket) ||
        !json_member(line, "cursor", &cursor) || !json_member(line, "only", &of) ||
        !take_optional(arena, bucket, &checkpoint->bucket) || !checkpoint->bucket.data ||
        !take_optional(arena, cursor, &checkpoint->cursor) || !take_optional(arena, of, &of))
        return false;
    checkpoint->of_another = only ? !of.data || !bytes_is(of, only) : of.data != NULL;
    return true;
}

void dump_checkpoint_find(FILE *file, const char *only, struct dump_checkpoint *last)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    off_t at = 0;
    while ((size = getline(&line, &room, file)) > 0 && line[size - 1] == '\n') {
        struct dump_checkpoint next = {.end = at += size};
        bool found = take_checkpoint(bytes_make(line, (size_t)size - 1), only, &next);
        arena_free(found ? &last->arena : &next.arena);
        if (found)
            *last = next;
    }
    free(line);
}
