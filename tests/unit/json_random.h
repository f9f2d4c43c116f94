// Random JSON that jansson can hold, and texts of it that differ in everything that does not count.
#pragma once

#include "unit.h"

#include "base/buffer.h"

#include <jansson.h>

// A name out of few, so that two objects often share some.
static inline const char *random_name(struct random *random)
{
    static const char *const names[] = {"",     "a",    "b",        "c",           "d",
                                        "aa",   "a\"b", "a\\/\n\t", "\xc3\xa9",    "\xf0\x9f\x98\x80",
                                        "\x7f", "null", "\x01",     "\xe2\x82\xac"};
    return names[random_below(random, sizeof names / sizeof *names)];
}

static inline json_t *random_scalar(struct random *random)
{
    static const double reals[] = {0.0, 1.0, 0.5, -2.25, 1e30, 1e-9, 9007199254740993.0, -0.0};
    static const json_int_t integers[] = {0,         1,        -1, 2, 9007199254740992, 9007199254740993,
                                          INT64_MIN, INT64_MAX};
    switch (random_below(random, 6)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(random_chance(random, 50));
    case 2:
        return json_real(reals[random_below(random, sizeof reals / sizeof *reals)]);
    case 3:
        return json_string(random_name(random));
    default:
        return json_integer(integers[random_below(random, sizeof integers / sizeof *integers)]);
    }
}

// A value of at most `depth` nested arrays and objects.
static inline json_t *random_json(struct random *random, unsigned depth)
{
    size_t kind = depth == 0 ? 0 : random_below(random, 8);
    if (kind < 2)
        return random_scalar(random);
    size_t count = random_below(random, random_chance(random, 10) ? 20 : 5);
    json_t *made = kind == 2 ? json_array() : json_object();
    for (size_t i = 0; i < count; i++) {
        json_t *inner = random_json(random, depth - 1);
        if (kind == 2)
            json_array_append_new(made, inner);
        else
            json_object_set_new(made, random_name(random), inner);
    }
    return made;
}

static inline void write_space(struct random *random, struct buffer *out)
{
    while (random_chance(random, 15))
        buffer_add_char(out, " \t\r\n"[random_below(random, 4)]);
}

// The string with some of its characters escaped that need not be.
static inline void write_string(struct random *random, struct buffer *out, const char *text)
{
    buffer_add_char(out, '"');
    for (const char *c = text; *c; c++) {
        uint8_t byte = (uint8_t)*c;
        if (byte < 0x20 || byte == '"' || byte == '\\' || (byte < 0x80 && random_chance(random, 20)))
            buffer_printf(out, random_chance(random, 50) ? "\\u%04x" : "\\u%04X", byte);
        else if (strncmp(c, "\xf0\x9f\x98\x80", 4) == 0 && random_chance(random, 50)) {
            buffer_add_text(out, "\\uD83d\\uDe00");
            c += 3;
        } else {
            buffer_add_char(out, *c);
        }
    }
    buffer_add_char(out, '"');
}

static inline void write_number(struct random *random, struct buffer *out, const json_t *number)
{
    if (json_is_real(number)) {
        buffer_printf(out, random_chance(random, 50) ? "%.16e" : "%#.17g", json_real_value(number));
        return;
    }
    json_int_t n = json_integer_value(number);
    buffer_add_int64(out, n);
    // Only where the double is the very integer: of others the two forms are different numbers.
    if (n >= -9007199254740991 && n <= 9007199254740991 && random_chance(random, 40))
        buffer_add_text(out, random_chance(random, 50) ? ".0" : "e0");
}

static inline void write_json(struct random *random, struct buffer *out, const json_t *value);

// The members from a random one on, around to it.
static inline void write_members(struct random *random, struct buffer *out, const json_t *object)
{
    size_t count = json_object_size(object);
    size_t start = count ? random_below(random, count) : 0;
    for (size_t i = 0; i < count; i++) {
        void *member = json_object_iter((json_t *)(uintptr_t)object);
        for (size_t skip = (start + i) % count; skip > 0; skip--)
            member = json_object_iter_next((json_t *)(uintptr_t)object, member);
        if (i > 0)
            buffer_add_char(out, ',');
        write_space(random, out);
        write_string(random, out, json_object_iter_key(member));
        write_space(random, out);
        buffer_add_char(out, ':');
        write_json(random, out, json_object_iter_value(member));
    }
}

// One of the many texts of `value`.
static inline void write_json(struct random *random, struct buffer *out, const json_t *value)
{
    write_space(random, out);
    if (json_is_object(value)) {
        buffer_add_char(out, '{');
        write_members(random, out, value);
        write_space(random, out);
        buffer_add_char(out, '}');
    } else if (json_is_array(value)) {
        buffer_add_char(out, '[');
        for (size_t i = 0; i < json_array_size(value); i++) {
            if (i > 0)
                buffer_add_char(out, ',');
            write_json(random, out, json_array_get(value, i));
        }
        write_space(random, out);
        buffer_add_char(out, ']');
    } else if (json_is_string(value)) {
        write_string(random, out, json_string_value(value));
    } else if (json_is_number(value)) {
        write_number(random, out, value);
    } else {
        buffer_add_text(out, json_is_null(value) ? "null" : json_is_true(value) ? "true" : "false");
    }
    write_space(random, out);
}

// As much of a text as a failure shows.
static inline int shown(struct bytes text)
{
    return text.size > 300 ? 300 : (int)text.size;
}

// The text as jansson understands it. To be given back with json_decref.
static inline json_t *loaded(struct bytes text)
{
    json_error_t error;
    json_t *value = json_loadb((const char *)text.data, text.size,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(value, "%s: %.*s", error.text, shown(text), (const char *)text.data);
    return value;
}

// Puts something else in a few places of `text`, which has room for eight bytes more. Gives the new size.
static inline size_t spoil(struct random *random, uint8_t *text, size_t size)
{
    static const char marks[] = "{}[]\",:\\ 0123456789.eE+-truefalsnd/\x01\x80\xc3\xa9";
    for (size_t n = 1 + random_below(random, 4); n > 0 && size > 0; n--) {
        size_t at = random_below(random, size);
        switch (random_below(random, 3)) {
        case 0:
            text[at] = (uint8_t)marks[random_below(random, sizeof marks - 1)];
            break;
        case 1:
            memmove(text + at + 1, text + at, size - at);
            size++;
            break;
        default:
            size = random_chance(random, 20) ? at : size;
            text[at] = text[random_below(random, size ? size : 1)];
        }
    }
    return size;
}
