// The tokens of JSON text, for all that read it: each function steps over one and says whether it was there.
#pragma once

#include "base/arena.h"
#include "base/json_text.h"
#include "base/scan.h"

// Where reading stands. Every function leaves it somewhere in the text when what it looks for is not there.
struct json_scan {
    const uint8_t *at;
    const uint8_t *end;
};

static inline struct json_scan json_scan_begin(struct bytes text)
{
    return (struct json_scan){text.data, text.size ? text.data + text.size : text.data};
}

static inline bool json_scan_at_end(const struct json_scan *scan)
{
    return scan->at == scan->end;
}

// Steps over `c` when it is next.
static inline bool json_scan_accept(struct json_scan *scan, char c)
{
    if (scan->at == scan->end || *scan->at != (uint8_t)c)
        return false;
    scan->at++;
    return true;
}

static inline void json_scan_space(struct json_scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\r' || *scan->at == '\t'))
        scan->at++;
}

// What follows a backslash.
bool json_scan_escape(struct json_scan *scan);

// What follows an opening quote, up to and with the closing one.
static inline bool json_scan_string(struct json_scan *scan)
{
    for (;;) {
        scan->at += scan_json_plain(scan->at, (size_t)(scan->end - scan->at));
        if (scan->at == scan->end)
            return false;
        if (*scan->at >= 0x80) {
            size_t length = scan_utf8(scan->at, (size_t)(scan->end - scan->at));
            if (length == 0)
                return false;
            scan->at += length;
            continue;
        }
        uint8_t c = *scan->at++;
        if (c == '"')
            return true;
        if (c != '\\' || !json_scan_escape(scan))
            return false;
    }
}

bool json_scan_number(struct json_scan *scan);

// A string, number, true, false or null.
bool json_scan_scalar(struct json_scan *scan);

// A member's name with its colon and the white space before, between and behind. `raw` is what stands between
// the quotes.
bool json_scan_name(struct json_scan *scan, struct bytes *raw);

// One value of at most `depth` (at most JSON_MAX_DEPTH) nested arrays and objects, with the white space
// before it. Runs in one pass, without recursion.
enum json_verdict json_scan_value(struct json_scan *scan, unsigned depth);

// The next character of a string's inside that json_scan_string has passed, escapes decoded. An escaped half
// of a surrogate pair without its other half is a character by itself.
uint32_t json_scan_character(struct json_scan *inside);

// What a string's inside `raw`, which json_scan_string has passed, stands for: a view of `raw` when nothing
// is escaped, else a copy in the arena. UTF-8, in which a half of a surrogate pair has three bytes as if it
// were a character (which no other text decodes to); `halves`, unless it is NULL, says whether there is one.
struct bytes json_scan_decode(struct arena *arena, struct bytes raw, bool *halves);
