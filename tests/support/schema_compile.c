// Compiles JSON Schemas, keyword by keyword.
#include "support/schema_compile.h"

#include "support/failure.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct schemas {
    const json_t *document;
    struct schema *all;
};

struct keyword {
    const char *name;
    void (*take)(struct schemas *schemas, struct schema *schema, const json_t *value);
};

static void *need(void *memory)
{
    if (!memory)
        support_fail("no memory for a schema");
    return memory;
}

static const char *need_text(const json_t *value, const char *keyword)
{
    const char *text = json_string_value(value);
    if (!text)
        support_fail("the document's schemas: %s is no text", keyword);
    return text;
}

static size_t need_size(const json_t *value, const char *keyword)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        support_fail("the document's schemas: %s is no size", keyword);
    return (size_t)json_integer_value(value);
}

static void skip(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    (void)schema;
    (void)value;
}

static unsigned type_of(const char *name)
{
    static const struct {
        const char *name;
        unsigned type;
    } types[] = {{"string", SCHEMA_STRING},   {"integer", SCHEMA_INTEGER}, {"number", SCHEMA_NUMBER},
                 {"boolean", SCHEMA_BOOLEAN}, {"null", SCHEMA_NULL},       {"object", SCHEMA_OBJECT},
                 {"array", SCHEMA_ARRAY}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].type;
    support_fail("the document's schemas: there is no type %s", name);
}

static void take_type(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    if (!json_is_array(value)) {
        schema->types = type_of(need_text(value, "type"));
        return;
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        schema->types |= type_of(need_text(json_array_get(value, i), "type"));
}

static void take_constant(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    schema->constant = value;
}

static void take_choices(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    schema->choices = value;
}

static void take_minimum(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    schema->minimum = value;
}

static void take_maximum(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    schema->maximum = value;
}

static void take_least_length(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    schema->length.least = need_size(value, "minLength");
}

static void take_most_length(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    schema->length.most = need_size(value, "maxLength");
}

static void take_least_items(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    schema->items_count.least = need_size(value, "minItems");
}

static void take_most_items(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    schema->items_count.most = need_size(value, "maxItems");
}

static void take_least_members(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    schema->members_count.least = need_size(value, "minProperties");
}

static void take_most_members(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    schema->members_count.most = need_size(value, "maxProperties");
}

// Patterns of the document are ECMAScript's; what POSIX reads otherwise is refused.
static void take_pattern(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    const char *text = need_text(value, "pattern");
    if (strstr(text, "(?") || strchr(text, '\\'))
        support_fail("the document's schemas: the pattern %s is not simple enough", text);
    schema->pattern_text = text;
    schema->pattern = need(malloc(sizeof *schema->pattern));
    if (regcomp(schema->pattern, text, REG_EXTENDED | REG_NOSUB) != 0)
        support_fail("the document's schemas: the pattern %s is none", text);
}

// int32, int64, double and binary say how a value is kept, not which are valid: jansson's integers have 64
// bits anyway.
static void take_format(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    const char *name = need_text(value, "format");
    schema->format_name = name;
    if (strcmp(name, "date-time") == 0)
        schema->format = schema_is_time;
    else if (strcmp(name, "byte") == 0)
        schema->format = schema_is_base64;
    else if (strcmp(name, "uri") == 0)
        schema->format = schema_is_uri;
    else if (strcmp(name, "int64") != 0 && strcmp(name, "int32") != 0 && strcmp(name, "double") != 0 &&
             strcmp(name, "binary") != 0)
        support_fail("the document's schemas: the format %s is not known", name);
}

static struct schema_list new_list(size_t count)
{
    return (struct schema_list){count, need(calloc(count + 1, sizeof(char *))),
                                need(calloc(count + 1, sizeof(struct schema *)))};
}

static void take_properties(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    schema->properties = new_list(json_object_size(value));
    size_t i = 0;
    for (void *at = json_object_iter((json_t *)(uintptr_t)value); at;
         at = json_object_iter_next((json_t *)(uintptr_t)value, at), i++) {
        schema->properties.names[i] = json_object_iter_key(at);
        schema->properties.schemas[i] = schemas_compile(schemas, json_object_iter_value(at));
    }
}

static void take_required(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    (void)schemas;
    schema->required = value;
}

static void take_additional(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    schema->closed = json_is_false(value);
    if (json_is_object(value))
        schema->additional = schemas_compile(schemas, value);
    else if (json_is_true(value))
        schema->additional = schemas_compile(schemas, need(json_object()));
}

static void take_member_names(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    schema->member_names = schemas_compile(schemas, value);
}

static void take_items(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    schema->items = schemas_compile(schemas, value);
}

static struct schema_list compile_list(struct schemas *schemas, const json_t *value)
{
    struct schema_list list = new_list(json_array_size(value));
    for (size_t i = 0; i < list.count; i++)
        list.schemas[i] = schemas_compile(schemas, json_array_get(value, i));
    return list;
}

static void take_all_of(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    schema->all_of = compile_list(schemas, value);
}

static void take_any_of(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    schema->any_of = compile_list(schemas, value);
}

static void take_one_of(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    schema->one_of = compile_list(schemas, value);
}

// A schema is found under its reference before it is filled, so that it may refer to itself.
static struct schema *new_schema(struct schemas *schemas, const char *reference)
{
    struct schema *schema = need(calloc(1, sizeof *schema));
    schema->reference = reference;
    schema->length.most = schema->items_count.most = schema->members_count.most = SIZE_MAX;
    schema->next = schemas->all;
    schemas->all = schema;
    return schema;
}

static void fill(struct schemas *schemas, struct schema *schema, const json_t *text);

static const struct schema *refer(struct schemas *schemas, const char *reference)
{
    static const char prefix[] = "#/components/schemas/";
    for (const struct schema *known = schemas->all; known; known = known->next)
        if (known->reference && strcmp(known->reference, reference) == 0)
            return known;
    const json_t *components = json_object_get(schemas->document, "components");
    const json_t *text =
        strncmp(reference, prefix, sizeof prefix - 1) == 0
            ? json_object_get(json_object_get(components, "schemas"), reference + sizeof prefix - 1)
            : NULL;
    if (!text)
        support_fail("the document has no schema %s", reference);
    struct schema *schema = new_schema(schemas, reference);
    fill(schemas, schema, text);
    return schema;
}

static void take_reference(struct schemas *schemas, struct schema *schema, const json_t *value)
{
    schema->target = refer(schemas, need_text(value, "$ref"));
}

static const struct keyword keywords[] = {
    {"$ref", take_reference},
    {"additionalProperties", take_additional},
    {"allOf", take_all_of},
    {"anyOf", take_any_of},
    {"const", take_constant},
    {"default", skip},
    {"deprecated", skip},
    {"description", skip},
    {"enum", take_choices},
    {"examples", skip},
    {"format", take_format},
    {"items", take_items},
    {"maxItems", take_most_items},
    {"maxLength", take_most_length},
    {"maxProperties", take_most_members},
    {"maximum", take_maximum},
    {"minItems", take_least_items},
    {"minLength", take_least_length},
    {"minProperties", take_least_members},
    {"minimum", take_minimum},
    {"oneOf", take_one_of},
    {"pattern", take_pattern},
    {"properties", take_properties},
    {"propertyNames", take_member_names},
    {"required", take_required},
    {"title", skip},
    {"type", take_type},
};

static const struct keyword *keyword_named(const char *name)
{
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (strcmp(keywords[i].name, name) == 0)
            return &keywords[i];
    support_fail("the document's schemas: the keyword %s is not known", name);
}

static void fill(struct schemas *schemas, struct schema *schema, const json_t *text)
{
    const char *name;
    json_t *value;
    if (!json_is_object(text))
        support_fail("the document's schemas: one is no object");
    json_object_foreach((json_t *)(uintptr_t)text, name, value)
    {
        keyword_named(name)->take(schemas, schema, value);
    }
}

struct schemas *schemas_new(const json_t *document)
{
    struct schemas *schemas = need(calloc(1, sizeof *schemas));
    schemas->document = document;
    return schemas;
}

const struct schema *schemas_compile(struct schemas *schemas, const json_t *text)
{
    const char *reference = json_string_value(json_object_get(text, "$ref"));
    if (reference && json_object_size(text) == 1)
        return refer(schemas, reference);
    struct schema *schema = new_schema(schemas, NULL);
    fill(schemas, schema, text);
    return schema;
}
