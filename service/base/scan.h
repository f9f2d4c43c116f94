// The inner loops of reading text: how many of the next bytes need no second look, eight at a step.
#pragma once

#include "base/bytes.h"

#include <endian.h>

#define SCAN_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

// Eight bytes in an order in which the first is the lowest, so that counting trailing zeros finds the first
// hit.
static inline uint64_t scan_load(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return le64toh(word);
}

// Sets the top bit of the first byte of `word` that is below `limit` (at most 0x80) and of none before it.
// Bytes after the first hit may be marked wrongly, which is why only the first is ever used.
static inline uint64_t scan_below(uint64_t word, uint8_t limit)
{
    return (word - SCAN_EACH(limit)) & ~word & SCAN_EACH(0x80);
}

// The same for bytes that are equal to `byte`.
static inline uint64_t scan_equal(uint64_t word, uint8_t byte)
{
    return scan_below(word ^ SCAN_EACH(byte), 1);
}

// How many bytes at `p`, at most `size`, are ASCII.
static inline size_t scan_ascii(const uint8_t *p, size_t size)
{
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        uint64_t hits = scan_load(p + i) & SCAN_EACH(0x80);
        if (hits)
            return i + (size_t)__builtin_ctzll(hits) / 8;
    }
    while (i < size && p[i] < 0x80)
        i++;
    return i;
}

// Whether `c` stands for itself in a JSON string and is ASCII.
static inline bool scan_is_json_plain(uint8_t c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

// How many bytes at `p`, at most `size`, stand for themselves in a JSON string and are ASCII.
static inline size_t scan_json_plain(const uint8_t *p, size_t size)
{
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        uint64_t word = scan_load(p + i);
        uint64_t hits = (word & SCAN_EACH(0x80)) | scan_below(word, 0x20) | scan_equal(word, '"') |
                        scan_equal(word, '\\');
        if (hits)
            return i + (size_t)__builtin_ctzll(hits) / 8;
    }
    while (i < size && scan_is_json_plain(p[i]))
        i++;
    return i;
}

// The length, 1 to 4, of the well-formed UTF-8 sequence (RFC 3629) at `p`, of which `size` bytes may be read;
// 0 when there is none.
static inline size_t scan_utf8(const uint8_t *p, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t lead = p[0];
    if (lead < 0x80)
        return 1;
    size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length == 0 || size < length)
        return 0;
    // The second byte's range shuts out overlong forms, surrogates and what lies past U+10FFFF.
    uint8_t lowest = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t highest = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < lowest || p[1] > highest)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return length;
}
