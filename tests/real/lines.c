// Reads the data sets that are one record a line: the Unicode Character Database and the list of media types.
#include "real/records.h"

#include <stdio.h>
#include <stdlib.h>

// Takes the next line, without its end, off `rest`; false when nothing is left.
static bool next_line(struct bytes *rest, struct bytes *line)
{
    if (rest->size == 0) {
        return false;
    }
    const uint8_t *end = memchr(rest->data, '\n', rest->size);
    size_t size = end != NULL ? (size_t)(end - rest->data) : rest->size;
    *line = bytes_make(rest->data, size);
    size_t taken = end != NULL ? size + 1 : size;
    *rest = bytes_make(rest->data + taken, rest->size - taken);
    return true;
}

// The field number `n` of a line whose fields end with `separator`; empty when there are fewer.
static struct bytes field(struct bytes line, unsigned n, char separator)
{
    for (;; n--) {
        const uint8_t *end = line.size > 0 ? memchr(line.data, separator, line.size) : NULL;
        size_t size = end != NULL ? (size_t)(end - line.data) : line.size;
        if (n == 0) {
            return bytes_make(line.data, size);
        }
        if (end == NULL) {
            return bytes_make(NULL, 0);
        }
        line = bytes_make(end + 1, line.size - size - 1);
    }
}

// Writes a code point in UTF-8's pattern, surrogates too; gives the length.
static size_t encode_code_point(unsigned long point, uint8_t out[4])
{
    if (point < 0x80) {
        out[0] = (uint8_t)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (uint8_t)(marks[length] | point);
    return length;
}

bool records_from_unicode_data(struct records *records, const char *path)
{
    enum { CODE, NAME, CATEGORY };
    struct bytes rest;
    if (!records_read_file(records, path, &rest)) {
        return false;
    }
    for (struct bytes line; next_line(&rest, &line);) {
        struct bytes category = field(line, CATEGORY, ';');
        char *end;
        unsigned long point = strtoul((const char *)line.data, &end, 16);
        if (category.size != 2 || *end != ';' || point > 0x10ffff) {
            fprintf(stderr, "%s: a line without code point and category\n", path);
            return false;
        }
        uint8_t key[4];
        size_t key_size = encode_code_point(point, key);
        records_add(records, &(struct record){
                                 .owner = category,
                                 .key = records_keep(records, key, key_size),
                                 .value = line,
                                 .content_type = "text/plain; charset=utf-8",
                             });
    }
    return true;
}

bool records_from_media_types(struct records *records, const char *path)
{
    struct bytes rest;
    if (!records_read_file(records, path, &rest)) {
        return false;
    }
    for (struct bytes line; next_line(&rest, &line);) {
        struct bytes type = field(line, 0, '\t');
        struct bytes top = field(type, 0, '/');
        if (type.size == 0 || type.data[0] == '#') {
            continue;
        }
        if (top.size == type.size) {
            fprintf(stderr, "%s: a line without a media type\n", path);
            return false;
        }
        records_add(records,
                    &(struct record){
                        .owner = top,
                        .key = type,
                        .value = line,
                        .content_type = (const char *)records_keep(records, type.data, type.size).data,
                    });
    }
    return true;
}
