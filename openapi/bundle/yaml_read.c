// Reads YAML into jansson values, so that the rest of the tool knows one kind of tree.
#include "bundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct reader {
    const char *path;
    yaml_document_t document;
};

static size_t line_of(const yaml_node_t *node)
{
    return node->start_mark.line + 1;
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcmp(text, *words) == 0)
            return true;
    }
    return false;
}

static json_t *integer_or_null_pointer(const char *text)
{
    if (text[strspn(text, "+-0123456789")] != '\0' || text[strcspn(text, "0123456789")] == '\0')
        return NULL;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0 ? json_integer(value) : NULL;
}

static json_t *real_or_null_pointer(const char *text)
{
    if (text[strspn(text, "+-.eE0123456789")] != '\0' || text[strcspn(text, "0123456789")] == '\0')
        return NULL;
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    return *end == '\0' && errno == 0 ? json_real(value) : NULL;
}

static json_t *read_plain(const char *text)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    if (is_one_of(text, nulls))
        return json_null();
    if (is_one_of(text, trues))
        return json_true();
    if (is_one_of(text, falses))
        return json_false();
    json_t *number = integer_or_null_pointer(text);
    if (number == NULL)
        number = real_or_null_pointer(text);
    return number != NULL ? number : json_string(text);
}

static json_t *read_scalar(struct reader *reader, const yaml_node_t *node)
{
    const char *text = (const char *)node->data.scalar.value;
    json_t *value = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
                        ? read_plain(text)
                        : json_stringn(text, node->data.scalar.length);
    if (value == NULL)
        fault(reader->path, line_of(node), "text that is not UTF-8");
    return value;
}

static json_t *read_node(struct reader *reader, int index, int depth);

static json_t *read_sequence(struct reader *reader, const yaml_node_t *node, int depth)
{
    json_t *array = json_array();
    for (const int *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++)
        json_array_append_new(array, read_node(reader, *item, depth + 1));
    return array;
}

static json_t *read_mapping(struct reader *reader, const yaml_node_t *node, int depth)
{
    json_t *object = json_object();
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
    for (; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *name = yaml_document_get_node(&reader->document, pair->key);
        if (name->type != YAML_SCALAR_NODE)
            fault(reader->path, line_of(name), "a member's name must be text");
        const char *text = (const char *)name->data.scalar.value;
        if (json_object_get(object, text) != NULL)
            fault(reader->path, line_of(name), "member %s occurs twice", text);
        json_object_set_new(object, text, read_node(reader, pair->value, depth + 1));
    }
    return object;
}

static json_t *read_node(struct reader *reader, int index, int depth)
{
    const yaml_node_t *node = yaml_document_get_node(&reader->document, index);
    if (depth > DEPTH_MAX)
        fault(reader->path, line_of(node), "nested deeper than %d", DEPTH_MAX);
    if (node->type == YAML_SCALAR_NODE)
        return read_scalar(reader, node);
    return node->type == YAML_SEQUENCE_NODE ? read_sequence(reader, node, depth)
                                            : read_mapping(reader, node, depth);
}

json_t *yaml_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fault(path, 0, "%s", strerror(errno));
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        fault(path, 0, "out of memory");
    yaml_parser_set_input_file(&parser, file);

    struct reader reader = {.path = path};
    if (!yaml_parser_load(&parser, &reader.document))
        fault(path, parser.problem_mark.line + 1, "%s", parser.problem);
    if (yaml_document_get_root_node(&reader.document) == NULL)
        fault(path, 0, "nothing in it");
    json_t *value = read_node(&reader, 1, 0);

    yaml_document_delete(&reader.document);
    yaml_parser_delete(&parser);
    fclose(file);
    return value;
}
