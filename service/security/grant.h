// What a token may do: an action on names of a kind, or on a branch below them.
//
// The text of a grant, as it is given and shown:
//
//     read:app                    the bucket app, its leases too; write includes read, admin includes write
//     write:app*                  every bucket whose name begins with app
//     write:sessions/under=t-7    the branch t-7 of the bucket sessions and all below it; several owners
//     follow
//                                 each other, outermost first: /under=t-7/under=42
//     write:counters:hits         a name of another kind: counters, rate-limits, rate-gates, quotas, once,
//                                 sessions (by their stream), forks (by their id); buckets: may be left out
//     read:quotas:*               every name of a kind
//     admin:*                     every name of every kind; without a prefix of names, the tokens as well
//
// Bytes that would mean something else (% * / : and spaces), and those that are not UTF-8, are written %XX.
#pragma once

#include "base/arena.h"
#include "base/buffer.h"

enum { GRANT_TEXT_MOST = 4096, GRANT_NAME_MOST = 128 };

enum grant_action { GRANT_NOTHING, GRANT_READ, GRANT_WRITE, GRANT_ADMIN };

enum grant_kind {
    GRANT_ANY_KIND,
    GRANT_BUCKETS,
    GRANT_COUNTERS,
    GRANT_RATE_LIMITS,
    GRANT_RATE_GATES,
    GRANT_QUOTAS,
    GRANT_ONCE,
    GRANT_SESSIONS,
    GRANT_FORKS,
    GRANT_KINDS,
};

struct grant {
    enum grant_action action;
    enum grant_kind kind;
    bool begins;         // covers every name that begins with `name`
    struct bytes name;   // decoded
    struct bytes branch; // what every path in the branch begins with; empty: no branch, the whole name
};

// Parses one grant; what it refers to lies in the arena. On failure gives false and what is wrong in
// `reason`, a literal.
bool grant_parse(struct arena *arena, struct bytes text, struct grant *grant, const char **reason);

// Adds the canonical text: of all that mean the same there is one.
void grant_format(struct buffer *out, const struct grant *grant);

// Whether the grant covers the action on the name. `path` is a stored path, or the beginning that a branch's
// paths share; empty when the call is about the name as a whole, which no grant of a branch covers.
bool grant_allows(const struct grant *grant, enum grant_action action, enum grant_kind kind,
                  struct bytes name, struct bytes path);

// The word for the kind in grants: `rate-limits`.
const char *grant_kind_word(enum grant_kind kind);

// The kind as the table of names has it: `rate_limit`; NULL for those that have no names there.
const char *grant_kind_stored(enum grant_kind kind);
