// What the targets for JSON texts share: inputs of several texts, and jansson's view of one.
#pragma once

#include "fuzz.h"

#include <jansson.h>

// Cuts the text up to the first zero byte, which no JSON holds, off the front.
static inline struct bytes take_text(struct bytes *input)
{
    const uint8_t *zero = input->size ? memchr(input->data, 0, input->size) : NULL;
    size_t size = zero ? (size_t)(zero - input->data) : input->size;
    struct bytes text = bytes_make(input->data, size);
    size_t taken = zero ? size + 1 : size;
    *input = bytes_make(input->data + taken, input->size - taken);
    return text;
}

// The text as jansson understands it, to be given back with json_decref; NULL when it refuses it, be it only
// for its own limits. Of members of one name the last counts, unless `flags` has JSON_REJECT_DUPLICATES.
static inline json_t *understood(struct bytes text, size_t flags)
{
    // jansson takes one behind a number for the end of it.
    if (text.size && memchr(text.data, 0, text.size))
        return NULL;
    return json_loadb((const char *)text.data, text.size, JSON_DECODE_ANY | JSON_ALLOW_NUL | flags, NULL);
}
