// Text from outside: is it UTF-8, and what do its percent signs, base64 and digits say.
#pragma once

#include "base/arena.h"
#include "base/bytes.h"

// Whether `b` is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms, nothing past U+10FFFF).
bool text_is_utf8(struct bytes b);

// Whether `b` has a byte below 0x20, 0x7f, or (as UTF-8) a C1 control U+0080..U+009F.
bool text_has_control(struct bytes b);

// Decodes %XX in `raw` strictly: a percent sign not followed by two hexadecimal digits fails. A plus stays a
// plus. Gives a view of `raw` itself when there is nothing to decode, else a copy in the arena. False on
// failure.
bool text_percent_decode(struct arena *arena, struct bytes raw, struct bytes *decoded);

// Standard base64 (RFC 4648 section 4) with padding.
struct bytes text_base64_encode(struct arena *arena, struct bytes raw);
// Decodes strictly: padding required, no spaces, unused bits zero. False on failure.
bool text_base64_decode(struct arena *arena, struct bytes text, struct bytes *raw);

// A decimal signed 64-bit integer in canonical form: `0`, `-12`; not `+1`, `-0`, `007`, `1.0`, empty. False
// otherwise.
bool text_int64(struct bytes text, int64_t *n);

// Case-insensitive (ASCII) comparison with a lower-case literal.
bool text_equals_lower(struct bytes text, const char *lower);

// Whether every byte is an RFC 9110 token character and there is at least one.
bool text_is_token(struct bytes text);

// `b` without leading and trailing spaces and tabs.
struct bytes text_trim(struct bytes b);
