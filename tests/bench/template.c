// Compiles and fills templates; the value of a key is defined here.
#include "template.h"

#include <stdlib.h>
#include <string.h>

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// 64 letters that need no escape in JSON, in a URL or in SQL.
static const char FILLER[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

// Writes `in` in base64 with padding; `out` takes 4 bytes for each 3 begun. Gives the number of bytes
// written.
static size_t base64_write(char *out, const char *in, size_t size)
{
    char *at = out;
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)(unsigned char)in[i] << 16;
        group |= left > 1 ? (uint32_t)(unsigned char)in[i + 1] << 8 : 0;
        group |= left > 2 ? (uint32_t)(unsigned char)in[i + 2] : 0;
        *at++ = ALPHABET[group >> 18];
        *at++ = ALPHABET[group >> 12 & 63];
        *at++ = left > 1 ? ALPHABET[group >> 6 & 63] : '=';
        *at++ = left > 2 ? ALPHABET[group & 63] : '=';
    }
    return (size_t)(at - out);
}

void key_write(struct key *key, uint32_t index, bool base64)
{
    uint32_t number = KEY_FIRST + index;
    for (int i = KEY_DIGITS - 1; i >= 0; i--, number /= 10)
        key->digits[i] = (char)('0' + number % 10);
    if (base64)
        base64_write(key->base64, key->digits, KEY_DIGITS);
}

// Letters without a pattern, always the same: PostgreSQL compresses large values, and repeated ones to
// nothing.
static void filler_write(char *out, size_t size)
{
    uint32_t state = 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = FILLER[state >> 26];
    }
}

static const size_t HOLE_SIZES[] = {
    [HOLE_KEY] = KEY_DIGITS, [HOLE_KEY64] = KEY_BASE64, [HOLE_ANSWER] = ANSWER_DIGITS};

static bool hole_add(struct template *template, enum hole_kind kind)
{
    if (template->count == TEMPLATE_HOLES)
        return false;
    template->holes[template->count++] = (struct hole){.at = template->size, .kind = kind};
    template->size += HOLE_SIZES[kind];
    return true;
}

static bool filler_add(struct template *template, size_t size, bool base64)
{
    if (!base64) {
        filler_write(template->text + template->size, size);
        template->size += size;
        return true;
    }
    char *plain = malloc(size + 1);
    if (!plain)
        return false;
    filler_write(plain, size);
    template->size += base64_write(template->text + template->size, plain, size);
    free(plain);
    return true;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

// Compiles what begins at `source`: gives the number of bytes taken, 0 on failure.
static size_t piece_compile(struct template *template, const char *source, size_t filler)
{
    static const struct {
        const char *name;
        enum hole_kind kind;
        bool value;
    } HOLES[] = {{"{key}", HOLE_KEY, false},
                 {"{key64}", HOLE_KEY64, false},
                 {"{value}", HOLE_KEY, true},
                 {"{value64}", HOLE_KEY64, true},
                 {"{answer}", HOLE_ANSWER, false}};
    for (size_t i = 0; i < sizeof HOLES / sizeof *HOLES; i++) {
        if (!starts_with(source, HOLES[i].name))
            continue;
        if (!hole_add(template, HOLES[i].kind))
            return 0;
        if (HOLES[i].value && !filler_add(template, filler, HOLES[i].kind == HOLE_KEY64))
            return 0;
        return strlen(HOLES[i].name);
    }
    template->text[template->size++] = *source;
    return 1;
}

bool template_compile(struct template *template, const char *source, size_t value_size)
{
    *template = (struct template){0};
    size_t largest_hole = ANSWER_DIGITS + value_size * 2;
    template->text = malloc(strlen(source) + TEMPLATE_HOLES * largest_hole);
    if (!template->text)
        return false;
    while (*source) {
        size_t taken = piece_compile(template, source, value_size - KEY_DIGITS);
        if (!taken)
            return false;
        source += taken;
    }
    return true;
}

void template_free(struct template *template)
{
    free(template->text);
}

bool template_base64(const struct template *template)
{
    for (int i = 0; i < template->count; i++) {
        if (template->holes[i].kind == HOLE_KEY64)
            return true;
    }
    return false;
}

void template_fill(struct template *template, const struct key *key)
{
    for (int i = 0; i < template->count; i++) {
        enum hole_kind kind = template->holes[i].kind;
        const char *text = kind == HOLE_KEY ? key->digits : kind == HOLE_KEY64 ? key->base64 : key->answer;
        memcpy(template->text + template->holes[i].at, text, HOLE_SIZES[kind]);
    }
}
