// Percent-encoding, and the form of addresses.
#include "client/place.h"

#include "base/text.h"
#include "client/arguments.h"

#include <ctype.h>
#include <stdio.h>

static bool complain(const char *what)
{
    fprintf(stderr, "holdfast: %s\n", what);
    return false;
}

static bool read_owners(const struct arguments *arguments, struct place *place)
{
    for (int i = 0; i < arguments->under.count; i++)
        place->owners[place->owner_count++] = bytes_of(arguments->under.texts[i]);
    return true;
}

static bool read_key(const struct arguments *arguments, struct arena *arena, const char *text,
                     struct place *place)
{
    place->key = bytes_of(text);
    if (arguments->key_base64 && !text_base64_decode(arena, bytes_of(text), &place->key))
        return complain("--key-base64 says that the key is base64, and it is not");
    return true;
}

bool place_read(const struct arguments *arguments, int number, struct arena *arena, struct place *place)
{
    const char *text = arguments->alone[number], *key = text;
    *place = (struct place){0};
    read_owners(arguments, place);
    if (arguments->bucket) {
        place->bucket = bytes_of(arguments->bucket);
    } else {
        const char *slash = strchr(text, '/');
        if (!slash)
            return complain(
                "what is meant is BUCKET/KEY, with a slash between (or KEY with --bucket BUCKET)");
        place->bucket = bytes_make(text, (size_t)(slash - text));
        key = slash + 1;
    }
    if (!place->bucket.size)
        return complain("the name of the bucket is empty");
    if (!*key)
        return complain("the key is empty");
    return read_key(arguments, arena, key, place);
}

static bool is_unreserved(uint8_t c)
{
    return (c < 0x80 && isalnum(c)) || c == '-' || c == '.' || c == '_' || c == '~';
}

static void add_encoded(struct buffer *text, struct bytes raw, bool dots)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < raw.size; i++) {
        uint8_t c = raw.data[i];
        if (is_unreserved(c) && (c != '.' || dots)) {
            buffer_add_char(text, (char)c);
            continue;
        }
        buffer_add_char(text, '%');
        buffer_add_char(text, digits[c >> 4]);
        buffer_add_char(text, digits[c & 15]);
    }
}

void target_begin(struct target *target, const char *path)
{
    buffer_clear(&target->text);
    target->asked = false;
    buffer_add_text(&target->text, path);
}

void target_segment(struct target *target, struct bytes name)
{
    buffer_add_char(&target->text, '/');
    // Anything between here and the service may take `.` and `..` for a way up.
    add_encoded(&target->text, name, !bytes_is(name, ".") && !bytes_is(name, ".."));
}

void target_query(struct target *target, const char *name, struct bytes value)
{
    buffer_add_char(&target->text, target->asked ? '&' : '?');
    target->asked = true;
    buffer_add_text(&target->text, name);
    buffer_add_char(&target->text, '=');
    add_encoded(&target->text, value, true);
}

const char *target_text(struct target *target)
{
    buffer_add_char(&target->text, 0);
    target->text.size--;
    return (const char *)target->text.data;
}

void target_place(struct target *target, const char *kind, const struct place *place, const char *what,
                  const char *call)
{
    target_begin(target, "/v1/");
    buffer_add_text(&target->text, kind);
    target_segment(target, place->bucket);
    if (what) {
        buffer_add_char(&target->text, '/');
        buffer_add_text(&target->text, what);
    }
    if (place->key.size)
        target_segment(target, place->key);
    if (call) {
        buffer_add_char(&target->text, '/');
        buffer_add_text(&target->text, call);
    }
    for (int i = 0; i < place->owner_count; i++)
        target_query(target, "under", place->owners[i]);
}

bool place_begin(struct connection *connection, const struct arguments *arguments, int number,
                 struct place *place)
{
    if (connection_begin(connection, arguments) && place_read(arguments, number, &connection->arena, place))
        return true;
    connection_end(connection);
    return false;
}
