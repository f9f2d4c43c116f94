// What a reply means to a script: an exit code, and a line that says why.
#pragma once

#include "client/connection.h"

struct arguments;

// The exit code for a status: EXIT_DONE for 2xx and 304.
int answer_code(const struct reply *reply);

// Adds why a reply is no success, without a line end: the problem's words, of which nothing is a control
// character, or with -o json the problem itself.
void answer_describe(const struct arguments *arguments, const struct reply *reply, struct buffer *line);

// Says that on standard error.
// Gives answer_code.
int answer_refused(const struct arguments *arguments, const struct reply *reply);

// Says on standard error that no reply came. Gives EXIT_UNAVAILABLE. `writes` says that something may have
// been done all the same.
int answer_missing(const struct connection *connection, bool writes);

// A text member of the JSON object in the reply's body, in the arena; NULL when there is none.
const char *reply_member(const struct reply *reply, struct arena *arena, const char *name);

// Whether the reply is a problem of this kind.
bool reply_is_problem(const struct reply *reply, const char *kind);

// Writes all of it to standard output. False, with a line on standard error, when that fails.
bool print_bytes(struct bytes bytes);

// Whether all that was printed, however, has left the program. False, with a line on standard error unless
// there was one, when not.
bool print_end(void);
