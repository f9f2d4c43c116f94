// One pass over JSON text: a loop over values with a stack of one bit a level, strings skipped eight bytes a
// step.
#include "base/json_text.h"

#include "base/buffer.h"
#include "base/scan.h"

#include <math.h>
#include <stdlib.h>

struct reader {
    const uint8_t *at;
    const uint8_t *end;
    unsigned level;                        // arrays and objects open
    uint64_t objects[JSON_MAX_DEPTH / 64]; // one bit a level: an object, not an array
};

enum char_class {
    OTHER,
    SPACE,
    DIGIT,
    HEX_LETTER,
};

static const uint8_t classes[256] = {
    [' '] = SPACE,
    ['\t'] = SPACE,
    ['\n'] = SPACE,
    ['\r'] = SPACE,
    ['0' ... '9'] = DIGIT,
    ['a' ... 'f'] = HEX_LETTER,
    ['A' ... 'F'] = HEX_LETTER,
};

static bool is_digit(const struct reader *reader)
{
    return reader->at < reader->end && classes[*reader->at] == DIGIT;
}

// Steps over `c` when it is next.
static bool accept(struct reader *reader, char c)
{
    if (reader->at == reader->end || *reader->at != (uint8_t)c)
        return false;
    reader->at++;
    return true;
}

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && classes[*reader->at] == SPACE)
        reader->at++;
}

static bool skip_digits(struct reader *reader)
{
    if (!is_digit(reader))
        return false;
    while (is_digit(reader))
        reader->at++;
    return true;
}

static bool read_number(struct reader *reader)
{
    accept(reader, '-');
    if (!accept(reader, '0') && !skip_digits(reader))
        return false;
    if (accept(reader, '.') && !skip_digits(reader))
        return false;
    if (accept(reader, 'e') || accept(reader, 'E')) {
        if (!accept(reader, '-'))
            accept(reader, '+');
        return skip_digits(reader);
    }
    return true;
}

static bool read_word(struct reader *reader, const char *word, size_t size)
{
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0)
        return false;
    reader->at += size;
    return true;
}

// What follows a backslash.
static bool read_escape(struct reader *reader)
{
    if (reader->at == reader->end)
        return false;
    switch (*reader->at++) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return true;
    case 'u':
        if (reader->end - reader->at < 4)
            return false;
        for (int i = 0; i < 4; i++)
            if (classes[*reader->at++] < DIGIT)
                return false;
        return true;
    default:
        return false;
    }
}

// What follows an opening quote, up to and with the closing one.
static bool read_string(struct reader *reader)
{
    for (;;) {
        reader->at += scan_json_plain(reader->at, (size_t)(reader->end - reader->at));
        if (reader->at == reader->end)
            return false;
        if (*reader->at >= 0x80) {
            size_t length = scan_utf8(reader->at, (size_t)(reader->end - reader->at));
            if (length == 0)
                return false;
            reader->at += length;
            continue;
        }
        uint8_t c = *reader->at++;
        if (c == '"')
            return true;
        if (c != '\\' || !read_escape(reader))
            return false;
    }
}

static bool in_object(const struct reader *reader)
{
    unsigned inner = reader->level - 1;
    return reader->objects[inner / 64] >> (inner % 64) & 1;
}

static void open_level(struct reader *reader, bool object)
{
    uint64_t bit = UINT64_C(1) << (reader->level % 64);
    uint64_t *word = &reader->objects[reader->level / 64];
    *word = object ? *word | bit : *word & ~bit;
    reader->level++;
}

// A member's name with its colon.
static bool read_name(struct reader *reader)
{
    skip_space(reader);
    if (!accept(reader, '"') || !read_string(reader))
        return false;
    skip_space(reader);
    return accept(reader, ':');
}

// A string, number or word.
static bool read_scalar(struct reader *reader)
{
    if (reader->at == reader->end)
        return false;
    switch (*reader->at) {
    case '"':
        reader->at++;
        return read_string(reader);
    case 't':
        return read_word(reader, "true", 4);
    case 'f':
        return read_word(reader, "false", 5);
    case 'n':
        return read_word(reader, "null", 4);
    default:
        return read_number(reader);
    }
}

// Steps over what may stand between the value just read and the next one: closing marks, then a comma. False
// when something else stands there; at the text's end `level` is 0 and nothing is left.
static bool read_to_next_value(struct reader *reader)
{
    for (;;) {
        skip_space(reader);
        if (reader->level == 0)
            return reader->at == reader->end;
        bool object = in_object(reader);
        if (accept(reader, ','))
            return !object || read_name(reader);
        if (!accept(reader, object ? '}' : ']'))
            return false;
        reader->level--;
    }
}

enum json_verdict json_check(struct bytes text, unsigned depth)
{
    struct reader reader = {.at = text.data, .end = text.data + text.size};
    if (depth > JSON_MAX_DEPTH)
        depth = JSON_MAX_DEPTH;
    do {
        skip_space(&reader);
        bool object = accept(&reader, '{');
        if (object || accept(&reader, '[')) {
            if (reader.level == depth)
                return JSON_TOO_DEEP;
            open_level(&reader, object);
            skip_space(&reader);
            if (!accept(&reader, object ? '}' : ']')) {
                if (object && !read_name(&reader))
                    return JSON_MALFORMED;
                continue;
            }
            reader.level--;
        } else if (!read_scalar(&reader)) {
            return JSON_MALFORMED;
        }
        if (!read_to_next_value(&reader))
            return JSON_MALFORMED;
    } while (reader.level > 0);
    return JSON_VALID;
}

bool json_is_finite_number(struct bytes text)
{
    struct reader reader = {.at = text.data, .end = text.data + text.size};
    if (!read_number(&reader) || reader.at != reader.end)
        return false;
    struct buffer copy = {0};
    buffer_add_bytes(&copy, text);
    buffer_add_char(&copy, 0);
    // The process never sets a locale, so the decimal point is a point.
    bool finite = isfinite(strtod((const char *)copy.data, NULL));
    buffer_free(&copy);
    return finite;
}
