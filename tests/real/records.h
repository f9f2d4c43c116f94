// Records of real data sets as entries to be: where each goes, its bytes and its content type.
#pragma once

#include "base/bytes.h"

struct record {
    struct bytes owner; // the branch `under` which it goes
    struct bytes key;
    struct bytes value;
    const char *content_type;
};

struct records {
    const char *bucket;
    const char *type; // of the bucket
    struct record *items;
    size_t count;
    size_t room;
    char **kept; // memory that the items point into
    size_t kept_count;
};

// Adds one record; its bytes must live as long as `records`, as what records_keep gives does.
void records_add(struct records *records, const struct record *record);
// Copies bytes into memory that `records` owns, with a NUL behind them.
struct bytes records_keep(struct records *records, const void *data, size_t size);
// The whole file in memory that `records` owns; false with a line on standard error when it cannot be read.
bool records_read_file(struct records *records, const char *path, struct bytes *content);
void records_free(struct records *records);

// The readers: each adds every record of its files, and gives false with a line on standard error when a file
// is missing or does not look as it should.

// Debian's iso-codes: each record's JSON text as it stands in the file, under the standard's number.
bool records_from_iso_codes(struct records *records, const char *folder);
// UnicodeData.txt: each line, under its general category, with the character itself as key (U+0000 is a zero
// byte, a surrogate three bytes that are not UTF-8).
bool records_from_unicode_data(struct records *records, const char *path);
// mime.types: each line with a media type, under its top-level type, stored with that media type as content
// type.
bool records_from_media_types(struct records *records, const char *path);
