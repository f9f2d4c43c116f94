// Reads Debian's iso-codes. Jansson says what each record is called and how many there are; the bytes that
// are stored are those of the file, cut out between the record's braces.
#include "real/records.h"

#include <jansson.h>
#include <stdio.h>

static const struct {
    const char *standard;
    const char *key; // the member that names a record
} standards[] = {
    {"15924", "alpha_4"}, {"3166-1", "alpha_3"}, {"3166-2", "code"},   {"3166-3", "alpha_4"},
    {"4217", "alpha_3"},  {"639-2", "alpha_3"},  {"639-3", "alpha_3"}, {"639-5", "alpha_3"},
};

// Finds the next `{…}` at or after `*at`, with braces inside strings passed over; false when there is none.
static bool next_object(struct bytes text, size_t *at, struct bytes *object)
{
    size_t depth = 0;
    size_t start = 0;
    bool in_string = false;
    for (size_t i = *at; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{') {
            start = depth == 0 ? i : start;
            depth++;
        } else if (c == '}' && depth > 0 && --depth == 0) {
            *object = bytes_make(text.data + start, i + 1 - start);
            *at = i + 1;
            return true;
        }
    }
    return false;
}

static bool add_record(struct records *records, const char *standard, const char *key_member,
                       struct bytes object)
{
    json_t *record = json_loadb((const char *)object.data, object.size, JSON_REJECT_DUPLICATES, NULL);
    const char *key = json_string_value(json_object_get(record, key_member));
    if (key != NULL) {
        records_add(records, &(struct record){
                                 .owner = bytes_of(standard),
                                 .key = records_keep(records, key, strlen(key)),
                                 .value = object,
                                 .content_type = "application/json",
                             });
    }
    json_decref(record);
    return key != NULL;
}

static bool add_standard(struct records *records, const char *path, const char *standard,
                         const char *key_member)
{
    struct bytes text;
    if (!records_read_file(records, path, &text)) {
        return false;
    }
    json_t *whole = json_loadb((const char *)text.data, text.size, 0, NULL);
    size_t expected = json_array_size(json_object_get(whole, standard));
    json_decref(whole);

    size_t found = 0;
    struct bytes object;
    size_t at = 1; // past the brace of the whole file
    while (next_object(text, &at, &object) && add_record(records, standard, key_member, object)) {
        found++;
    }
    if (found == 0 || found != expected) {
        fprintf(stderr, "%s: %zu records read, %zu expected\n", path, found, expected);
        return false;
    }
    return true;
}

bool records_from_iso_codes(struct records *records, const char *folder)
{
    for (size_t i = 0; i < sizeof standards / sizeof standards[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/iso_%s.json", folder, standards[i].standard);
        if (!add_standard(records, path, standards[i].standard, standards[i].key)) {
            return false;
        }
    }
    return true;
}
