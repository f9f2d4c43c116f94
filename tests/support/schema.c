// Holds values against compiled schemas.
#include "support/schema_compile.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_valid(const struct schema *schema, const json_t *value, struct schema_fault *fault);

__attribute__((format(printf, 2, 3))) static bool refuse(struct schema_fault *fault, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(fault->what, sizeof fault->what, format, args);
    va_end(args);
    fault->where[0] = 0;
    return false;
}

// Puts the name of a member before the path that a fault within it has.
static bool within(struct schema_fault *fault, const char *name)
{
    char inner[sizeof fault->where];
    memcpy(inner, fault->where, sizeof inner);
    snprintf(fault->where, sizeof fault->where, "/%.60s%.190s", name, inner);
    return false;
}

bool schema_is_time(const char *text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    size_t i = 0;
    for (; form[i]; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    if (text[i] == '.') {
        size_t digits = strspn(text + i + 1, "0123456789");
        if (!digits)
            return false;
        i += 1 + digits;
    }
    return strcmp(text + i, "Z") == 0;
}

bool schema_is_base64(const char *text)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t size = strspn(text, alphabet);
    size_t padding = strspn(text + size, "=");
    return text[size + padding] == 0 && padding <= 2 && (size + padding) % 4 == 0;
}

// Absolute: a scheme, and something that has no spaces.
bool schema_is_uri(const char *text)
{
    size_t scheme = strcspn(text, ":");
    return isalpha((unsigned char)text[0]) && text[scheme] && text[scheme + 1] && !strchr(text, ' ');
}

static unsigned types_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return SCHEMA_OBJECT;
    case JSON_ARRAY:
        return SCHEMA_ARRAY;
    case JSON_STRING:
        return SCHEMA_STRING;
    case JSON_INTEGER:
        return SCHEMA_INTEGER | SCHEMA_NUMBER;
    case JSON_REAL:
        return SCHEMA_NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return SCHEMA_BOOLEAN;
    case JSON_NULL:
    default:
        return SCHEMA_NULL;
    }
}

// As JSON text that is short enough for a message.
static const char *shown(const json_t *value, char out[80])
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    snprintf(out, 80, "%.79s", text ? text : "?");
    free(text);
    return out;
}

static bool is_one_of(const json_t *choices, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(choices); i++)
        if (json_equal(json_array_get(choices, i), value))
            return true;
    return false;
}

static bool is_less(const json_t *a, const json_t *b)
{
    if (json_is_integer(a) && json_is_integer(b))
        return json_integer_value(a) < json_integer_value(b);
    return json_number_value(a) < json_number_value(b);
}

static bool check_number(const struct schema *schema, const json_t *value, struct schema_fault *fault)
{
    char text[80];
    if ((schema->minimum && is_less(value, schema->minimum)) ||
        (schema->maximum && is_less(schema->maximum, value)))
        return refuse(fault, "%s is out of range", shown(value, text));
    return true;
}

static bool in_range(struct schema_range range, size_t size)
{
    return range.least <= size && size <= range.most;
}

// Of text that may have zero bytes within.
static size_t characters(const json_t *value)
{
    const char *text = json_string_value(value);
    size_t count = 0;
    for (size_t i = 0; i < json_string_length(value); i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static bool check_text(const struct schema *schema, const json_t *value, struct schema_fault *fault)
{
    const char *text = json_string_value(value);
    if (!in_range(schema->length, characters(value)))
        return refuse(fault, "a text of %zu characters is too short or too long", characters(value));
    if (schema->pattern && regexec(schema->pattern, text, 0, NULL, 0) != 0)
        return refuse(fault, "%.200s does not match %s", text, schema->pattern_text);
    if (schema->format && !schema->format(text))
        return refuse(fault, "%.200s is not of the format %s", text, schema->format_name);
    return true;
}

static bool check_items(const struct schema *schema, const json_t *value, struct schema_fault *fault)
{
    if (!in_range(schema->items_count, json_array_size(value)))
        return refuse(fault, "%zu items are too few or too many", json_array_size(value));
    for (size_t i = 0; schema->items && i < json_array_size(value); i++) {
        char index[24];
        snprintf(index, sizeof index, "%zu", i);
        if (!schema_accepts(schema->items, json_array_get(value, i), fault))
            return within(fault, index);
    }
    return true;
}

static const struct schema *property(const struct schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->properties.count; i++)
        if (strcmp(schema->properties.names[i], name) == 0)
            return schema->properties.schemas[i];
    return NULL;
}

static bool check_required(const struct schema *schema, const json_t *value, struct schema_fault *fault)
{
    for (size_t i = 0; i < json_array_size(schema->required); i++) {
        const char *name = json_string_value(json_array_get(schema->required, i));
        if (!json_object_get(value, name))
            return refuse(fault, "there is no member %s", name);
    }
    return true;
}

static bool check_name(const struct schema *schema, const char *name, struct schema_fault *fault)
{
    return !schema->member_names || schema_accepts_text(schema->member_names, name, fault);
}

static bool check_members(const struct schema *schema, const json_t *value, struct schema_fault *fault)
{
    const char *name;
    json_t *member;
    if (!in_range(schema->members_count, json_object_size(value)))
        return refuse(fault, "%zu members are too few or too many", json_object_size(value));
    if (!check_required(schema, value, fault))
        return false;
    json_object_foreach((json_t *)(uintptr_t)value, name, member)
    {
        const struct schema *its = property(schema, name);
        if (!its)
            its = schema->additional;
        if (!its && schema->closed)
            return refuse(fault, "the member %s must not be there", name);
        if ((its && !schema_accepts(its, member, fault)) || !check_name(schema, name, fault))
            return within(fault, name);
    }
    return true;
}

static size_t count_valid(const struct schema_list *list, const json_t *value, struct schema_fault *fault)
{
    size_t valid = 0;
    for (size_t i = 0; i < list->count; i++)
        valid += is_valid(list->schemas[i], value, fault);
    return valid;
}

static bool check_combinations(const struct schema *schema, const json_t *value, struct schema_fault *fault)
{
    for (size_t i = 0; i < schema->all_of.count; i++)
        if (!is_valid(schema->all_of.schemas[i], value, fault))
            return false;
    if (schema->any_of.count && count_valid(&schema->any_of, value, fault) == 0)
        return false;
    size_t valid = schema->one_of.count ? count_valid(&schema->one_of, value, fault) : 1;
    return valid == 1 || (valid ? refuse(fault, "%zu of the oneOf are valid", valid) : false);
}

static bool check_kind(const struct schema *schema, const json_t *value, struct schema_fault *fault)
{
    if (json_is_string(value))
        return check_text(schema, value, fault);
    if (json_is_number(value))
        return check_number(schema, value, fault);
    if (json_is_array(value))
        return check_items(schema, value, fault);
    return !json_is_object(value) || check_members(schema, value, fault);
}

// As the standard has it: other members are no fault.
static bool is_valid(const struct schema *schema, const json_t *value, struct schema_fault *fault)
{
    char text[80];
    if (schema->types && !(schema->types & types_of(value)))
        return refuse(fault, "%s is of another type", shown(value, text));
    if (schema->constant && !json_equal(schema->constant, value))
        return refuse(fault, "%s is another value than the only one", shown(value, text));
    if (schema->choices && !is_one_of(schema->choices, value))
        return refuse(fault, "%s is none of the values", shown(value, text));
    if (schema->target && !is_valid(schema->target, value, fault))
        return false;
    return check_kind(schema, value, fault) && check_combinations(schema, value, fault);
}

static bool names(const struct schema *schema, const char *member);

static bool one_names(const struct schema_list *list, const char *member)
{
    for (size_t i = 0; i < list->count; i++)
        if (names(list->schemas[i], member))
            return true;
    return false;
}

static bool is_combined(const struct schema *schema)
{
    return schema->target || schema->all_of.count || schema->any_of.count || schema->one_of.count;
}

// Whether a schema, or one that it is made of, names the member, or leaves open which there are.
static bool names(const struct schema *schema, const char *member)
{
    if (property(schema, member) || schema->additional)
        return true;
    if (!is_combined(schema))
        return !schema->properties.count && !schema->closed && !schema->required &&
               (!schema->types || schema->types & SCHEMA_OBJECT);
    return (schema->target && names(schema->target, member)) || one_names(&schema->all_of, member) ||
           one_names(&schema->any_of, member) || one_names(&schema->one_of, member);
}

bool schema_accepts(const struct schema *schema, const json_t *value, struct schema_fault *fault)
{
    const char *name;
    json_t *member;
    if (!is_valid(schema, value, fault))
        return false;
    json_object_foreach((json_t *)(uintptr_t)value, name, member)
    {
        if (!names(schema, name))
            return refuse(fault, "the document does not name the member %.200s", name);
    }
    return true;
}

static unsigned wanted_types(const struct schema *schema)
{
    return schema->types || !schema->target ? schema->types : wanted_types(schema->target);
}

static json_t *value_of(unsigned types, const char *text)
{
    char *end;
    if (types & SCHEMA_INTEGER) {
        long long number = strtoll(text, &end, 10);
        if (*text && !*end)
            return json_integer(number);
    }
    if (types & SCHEMA_BOOLEAN && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        return json_boolean(*text == 't');
    return json_string_nocheck(text);
}

bool schema_accepts_text(const struct schema *schema, const char *text, struct schema_fault *fault)
{
    json_t *value = value_of(wanted_types(schema), text);
    bool good = value && schema_accepts(schema, value, fault);
    json_decref(value);
    return good;
}
