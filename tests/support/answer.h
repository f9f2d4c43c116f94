// A reply as the tests look at it, whichever client read it, and what every reply must be.
#pragma once

#include "base/bytes.h"

#include <jansson.h>

enum { ANSWER_MOST_HEADERS = 64 };

struct answer_field {
    char *name;
    char *value;
};

struct answer {
    int status;
    struct answer_field headers[ANSWER_MOST_HEADERS];
    int header_count;
    struct bytes body; // a NUL follows it in memory
    json_t *json;      // the body when it is JSON by its content type, else NULL
    char *head;        // the memory of the headers
    bool head_request; // the reply to HEAD
    struct answer *next;
};

// Parses status line and headers, `size` bytes of `head` without the blank line, strictly: CR LF ends every
// line, names are tokens, no value has a control byte. NULL, with a reason in `*fault`, when that is not so.
struct answer *answer_parse(const char *head, size_t size, const char **fault);

// Takes over `body` (malloc; a NUL at `size`), and reads it as JSON when its content type says so.
void answer_set_body(struct answer *answer, char *body, size_t size);
void answer_free(struct answer *answer);

// The header's value, NULL when absent; the test fails when it comes twice.
const char *answer_header(const struct answer *answer, const char *name);

// A header that must be there: fails the test with the whole reply when it is not.
const char *answer_need(const struct answer *answer, const char *name);

// The version in ETag, without its quotes, NULL when there is none; the test fails when the tag is not
// strong.
const char *answer_version(const struct answer *answer);

// The problem's `kind`, "" when it is no problem.
const char *answer_kind(const struct answer *answer);

// A text member of the JSON body; NULL when absent, null or no text.
const char *answer_text(const struct answer *answer, const char *member);

// Whether the body is exactly these bytes.
bool answer_is(const struct answer *answer, struct bytes body);

// What holds for every reply of the service: it has Holdfast-Request-Id and Date, a 204 and a 304 have no
// body, and an error is a problem document with all its members, of a kind and status that belong together.
// Fails the test.
void answer_check(const struct answer *answer);

// The reply as text for messages, cut to a readable length; to be freed.
char *answer_describe(const struct answer *answer);
