// A text with holes for a key, filled in place, so that a request costs no building and an answer no parsing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KEY_DIGITS = 9, // a multiple of three, so that a key in base64 is a piece of its own
    KEY_BASE64 = 12,
    KEY_FIRST = 100000000, // keys are the numbers from here on: always nine digits
    KEY_LIMIT = 900000000,
    VALUE_LIMIT = 1 << 20, // bytes of a value
    TEMPLATE_HOLES = 16,
    ANSWER_DIGITS = 19, // what a reply is asked for is a token or a version: as long for centuries
};

// A key as it is written into templates.
struct key {
    char digits[KEY_DIGITS];
    char base64[KEY_BASE64];
    char answer[ANSWER_DIGITS]; // of the reply before, for a request that follows one
};

enum hole_kind { HOLE_KEY, HOLE_KEY64, HOLE_ANSWER };

struct hole {
    size_t at;
    enum hole_kind kind;
};

struct template
{
    char *text;
    size_t size;
    struct hole holes[TEMPLATE_HOLES];
    int count;
};

// The key with this index (0 to KEY_LIMIT - 1); its answer is left alone. The base64 form is written only
// when asked for.
void key_write(struct key *key, uint32_t index, bool base64);

// Compiles `source`, in which `{key}` is a key's digits, `{value}` its value (the digits, then filler up to
// `value_size` bytes, at least KEY_DIGITS), `{key64}` and `{value64}` are those in base64, and `{answer}` is
// what was taken from the reply before; any other brace stands for itself. The text is the template's, freed
// by template_free. False when there are more than TEMPLATE_HOLES of them or memory is out; the template may
// then only be freed.
bool template_compile(struct template *template, const char *source, size_t value_size);
void template_free(struct template *template);

// Whether a key for this template needs its base64 form.
bool template_base64(const struct template *template);

// Fills the holes. The text is good until the next call.
void template_fill(struct template *template, const struct key *key);
