// One pass over JSON text: strings are skipped eight bytes a step, nested values with a stack of one bit a
// level.
#include "base/json_scan.h"

enum char_class {
    OTHER,
    DIGIT,
    HEX_LETTER,
};

static const uint8_t classes[256] = {
    ['0' ... '9'] = DIGIT,
    ['a' ... 'f'] = HEX_LETTER,
    ['A' ... 'F'] = HEX_LETTER,
};

static bool is_digit(const struct json_scan *scan)
{
    return scan->at < scan->end && classes[*scan->at] == DIGIT;
}

static bool skip_digits(struct json_scan *scan)
{
    if (!is_digit(scan))
        return false;
    while (is_digit(scan))
        scan->at++;
    return true;
}

bool json_scan_number(struct json_scan *scan)
{
    json_scan_accept(scan, '-');
    if (!json_scan_accept(scan, '0') && !skip_digits(scan))
        return false;
    if (json_scan_accept(scan, '.') && !skip_digits(scan))
        return false;
    if (json_scan_accept(scan, 'e') || json_scan_accept(scan, 'E')) {
        if (!json_scan_accept(scan, '-'))
            json_scan_accept(scan, '+');
        return skip_digits(scan);
    }
    return true;
}

bool json_scan_escape(struct json_scan *scan)
{
    if (scan->at == scan->end)
        return false;
    switch (*scan->at++) {
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
        if (scan->end - scan->at < 4)
            return false;
        for (int i = 0; i < 4; i++)
            if (classes[*scan->at++] < DIGIT)
                return false;
        return true;
    default:
        return false;
    }
}

static bool read_word(struct json_scan *scan, const char *word, size_t size)
{
    if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, word, size) != 0)
        return false;
    scan->at += size;
    return true;
}

bool json_scan_scalar(struct json_scan *scan)
{
    if (scan->at == scan->end)
        return false;
    switch (*scan->at) {
    case '"':
        scan->at++;
        return json_scan_string(scan);
    case 't':
        return read_word(scan, "true", 4);
    case 'f':
        return read_word(scan, "false", 5);
    case 'n':
        return read_word(scan, "null", 4);
    default:
        return json_scan_number(scan);
    }
}

bool json_scan_name(struct json_scan *scan, struct bytes *raw)
{
    json_scan_space(scan);
    const uint8_t *quote = scan->at;
    if (!json_scan_accept(scan, '"') || !json_scan_string(scan))
        return false;
    *raw = bytes_make(quote + 1, (size_t)(scan->at - quote) - 2);
    json_scan_space(scan);
    if (!json_scan_accept(scan, ':'))
        return false;
    json_scan_space(scan);
    return true;
}

// The arrays and objects that are open.
struct levels {
    unsigned count;
    uint64_t objects[JSON_MAX_DEPTH / 64]; // one bit a level: an object, not an array
};

static bool skip_name(struct json_scan *scan)
{
    json_scan_space(scan);
    if (!json_scan_accept(scan, '"') || !json_scan_string(scan))
        return false;
    json_scan_space(scan);
    return json_scan_accept(scan, ':');
}

static bool in_object(const struct levels *levels)
{
    unsigned inner = levels->count - 1;
    return levels->objects[inner / 64] >> (inner % 64) & 1;
}

static void open_level(struct levels *levels, bool object)
{
    uint64_t bit = UINT64_C(1) << (levels->count % 64);
    uint64_t *word = &levels->objects[levels->count / 64];
    *word = object ? *word | bit : *word & ~bit;
    levels->count++;
}

// Steps over what may stand between the value just read and the next one: closing marks, then a comma and a
// name. False when something else stands there; behind the outermost value no level is left.
static bool read_to_next_value(struct json_scan *scan, struct levels *levels)
{
    while (levels->count > 0) {
        json_scan_space(scan);
        bool object = in_object(levels);
        if (json_scan_accept(scan, ','))
            return !object || skip_name(scan);
        if (!json_scan_accept(scan, object ? '}' : ']'))
            return false;
        levels->count--;
    }
    return true;
}

// The hot loop: it checks every JSON body, and is a tenth faster with its helpers inside.
__attribute__((flatten)) static enum json_verdict read_value(struct json_scan *scan, unsigned depth)
{
    struct levels levels;
    levels.count = 0;
    if (depth > JSON_MAX_DEPTH)
        depth = JSON_MAX_DEPTH;
    do {
        json_scan_space(scan);
        bool object = json_scan_accept(scan, '{');
        if (object || json_scan_accept(scan, '[')) {
            if (levels.count == depth)
                return JSON_TOO_DEEP;
            open_level(&levels, object);
            json_scan_space(scan);
            if (!json_scan_accept(scan, object ? '}' : ']')) {
                if (object && !skip_name(scan))
                    return JSON_MALFORMED;
                continue;
            }
            levels.count--;
        } else if (!json_scan_scalar(scan)) {
            return JSON_MALFORMED;
        }
        if (!read_to_next_value(scan, &levels))
            return JSON_MALFORMED;
    } while (levels.count > 0);
    return JSON_VALID;
}

enum json_verdict json_scan_value(struct json_scan *scan, unsigned depth)
{
    struct json_scan here = *scan; // which can live in registers
    enum json_verdict verdict = read_value(&here, depth);
    *scan = here;
    return verdict;
}

// The four digits of a `\u` that is at `digits`.
static uint32_t hex4(const uint8_t *digits)
{
    uint32_t n = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t c = digits[i];
        n = n << 4 | (classes[c] == DIGIT ? (uint32_t)(c - '0') : (uint32_t)((c | 0x20) - 'a' + 10));
    }
    return n;
}

// What follows a `\u`, with a second escape when the two are a surrogate pair.
static uint32_t read_unit(struct json_scan *inside)
{
    uint32_t high = hex4(inside->at);
    inside->at += 4;
    if (high < 0xd800 || high > 0xdbff || inside->end - inside->at < 6 || inside->at[0] != '\\' ||
        inside->at[1] != 'u')
        return high;
    uint32_t low = hex4(inside->at + 2);
    if (low < 0xdc00 || low > 0xdfff)
        return high;
    inside->at += 6;
    return 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00));
}

static uint32_t read_utf8(struct json_scan *inside)
{
    uint32_t lead = *inside->at++;
    if (lead < 0x80)
        return lead;
    int more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    uint32_t character = lead & (0x3fu >> more);
    while (more-- > 0)
        character = character << 6 | (*inside->at++ & 0x3fu);
    return character;
}

uint32_t json_scan_character(struct json_scan *inside)
{
    if (*inside->at != '\\')
        return read_utf8(inside);
    uint8_t mark = inside->at[1];
    inside->at += 2;
    switch (mark) {
    case 'u':
        return read_unit(inside);
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return mark;
    }
}

static uint8_t *put_utf8(uint8_t *out, uint32_t character)
{
    if (character < 0x80) {
        *out++ = (uint8_t)character;
        return out;
    }
    int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    *out++ = (uint8_t)((0xff00u >> (more + 1)) | character >> (6 * more));
    while (more-- > 0)
        *out++ = (uint8_t)(0x80 | (character >> (6 * more) & 0x3f));
    return out;
}

struct bytes json_scan_decode(struct arena *arena, struct bytes raw, bool *halves)
{
    if (halves)
        *halves = false;
    if (raw.size == 0 || !memchr(raw.data, '\\', raw.size))
        return raw;
    uint8_t *decoded = arena_alloc(arena, raw.size); // an escape is never shorter than what it stands for
    uint8_t *out = decoded;
    struct json_scan inside = json_scan_begin(raw);
    while (!json_scan_at_end(&inside)) {
        uint32_t character = json_scan_character(&inside);
        if (halves && character >= 0xd800 && character <= 0xdfff)
            *halves = true;
        out = put_utf8(out, character);
    }
    return bytes_make(decoded, (size_t)(out - decoded));
}
