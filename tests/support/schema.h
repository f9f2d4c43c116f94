// JSON Schema as the OpenAPI document uses it: what is not understood is refused, so that nothing goes
// unchecked.
#pragma once

#include <jansson.h>
#include <stdbool.h>

// Compiled schemas of one document; for the whole life of the process.
struct schemas;

// One compiled schema, which its schemas own.
struct schema;

// Why a value is not valid: `where` is a path of members and indices, "" for the value itself.
struct schema_fault {
    char where[256];
    char what[512];
};

// Schemas of `document`, in which `$ref` points (`#/components/schemas/…`); it must stay. The test fails when
// memory is short.
struct schemas *schemas_new(const json_t *document);

// Compiles `text`, or gives what it was compiled to before when it is a reference. The test fails when it has
// a keyword, a format or a form of one that is not known here.
const struct schema *schemas_compile(struct schemas *schemas, const json_t *text);

// Whether `value` is valid and has no member that the schema does not name; else `fault` says where it is
// not. Any number of threads may ask at once.
bool schema_accepts(const struct schema *schema, const json_t *value, struct schema_fault *fault);

// The same for a text that stands for a value, as headers have it: of an integer or a boolean when the schema
// wants one.
bool schema_accepts_text(const struct schema *schema, const char *text, struct schema_fault *fault);
