// What a schema is compiled to, for the two files that make it and use it.
#pragma once

#include "support/schema.h"

#include <regex.h>
#include <stddef.h>

enum {
    SCHEMA_STRING = 1,
    SCHEMA_INTEGER = 2,
    SCHEMA_NUMBER = 4,
    SCHEMA_BOOLEAN = 8,
    SCHEMA_NULL = 16,
    SCHEMA_OBJECT = 32,
    SCHEMA_ARRAY = 64
};

struct schema_range {
    size_t least;
    size_t most;
};

// A list of schemas, each under a name where they have names.
struct schema_list {
    size_t count;
    const char **names;
    const struct schema **schemas;
};

struct schema {
    struct schema *next;   // of those that were compiled
    const char *reference; // what it was found under, NULL when it is nobody's target
    unsigned types;        // 0: any
    const json_t *constant;
    const json_t *choices;
    const json_t *minimum;
    const json_t *maximum;
    struct schema_range length;
    struct schema_range items_count;
    struct schema_range members_count;
    regex_t *pattern;
    const char *pattern_text;
    bool (*format)(const char *text);
    const char *format_name;
    struct schema_list properties;
    const json_t *required;
    bool closed;                     // additionalProperties is false
    const struct schema *additional; // NULL: nothing is said of them
    const struct schema *member_names;
    const struct schema *items;
    const struct schema *target; // of $ref
    struct schema_list all_of;
    struct schema_list any_of;
    struct schema_list one_of;
};

// Whether text has the form; false also for what only looks like it.
bool schema_is_time(const char *text);
bool schema_is_base64(const char *text);
bool schema_is_uri(const char *text);
