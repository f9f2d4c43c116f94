// Takes a member out of JSON text as it is written, so that a handler can pass it on without writing it anew.
#pragma once

#include "base/arena.h"
#include "base/bytes.h"

// The text of the member `name` (decoded, UTF-8) of `object`, the text of a JSON object that has passed
// json_check, without white space around it. Of several members of that name the last counts; members of
// nested objects do not. `value` is a view into `object`. False, with `value` untouched, when there is no
// such member or `object` is no JSON object.
bool json_member(struct bytes object, const char *name, struct bytes *value);

// The characters of `text`, a JSON string with its quotes and nothing around it that has passed json_check,
// as UTF-8; they may include NUL. Gives a view into `text` when nothing was escaped, else a copy in the
// arena. False when `text` is no such string, or an escape is half of a surrogate pair, which UTF-8 cannot
// hold.
bool json_string_decode(struct arena *arena, struct bytes text, struct bytes *decoded);
