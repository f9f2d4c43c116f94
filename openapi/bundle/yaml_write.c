// Writes jansson values as YAML for people to read: block style, literal blocks for text of several lines.
#include "bundle.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

struct writer {
    const char *path;
    yaml_emitter_t emitter;
};

static void emit(struct writer *writer, yaml_event_t *event)
{
    if (!yaml_emitter_emit(&writer->emitter, event))
        fault(writer->path, 0, "%s", writer->emitter.problem);
}

static void emit_scalar(struct writer *writer, const char *text, size_t size, yaml_scalar_style_t style)
{
    yaml_event_t event;
    int plain = style == YAML_PLAIN_SCALAR_STYLE;
    if (!yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)size, plain, 1,
                                      style))
        fault(writer->path, 0, "text that is not UTF-8: %s", text);
    emit(writer, &event);
}

// YAML 1.1 reads more words and more forms of numbers and dates as something else than text than 1.2 does.
static bool may_read_as_other_than_text(const char *text)
{
    static const char *const words[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", NULL};
    for (const char *const *word = words; *word != NULL; word++) {
        if (strcasecmp(text, *word) == 0)
            return true;
    }
    return text[0] == '\0' || isdigit((unsigned char)text[0]) || strchr("~+-.=<", text[0]) != NULL;
}

static void write_string(struct writer *writer, const char *text, size_t size)
{
    yaml_scalar_style_t style = YAML_PLAIN_SCALAR_STYLE;
    if (memchr(text, '\n', size) != NULL)
        style = YAML_LITERAL_SCALAR_STYLE;
    else if (may_read_as_other_than_text(text))
        style = YAML_SINGLE_QUOTED_SCALAR_STYLE;
    emit_scalar(writer, text, size, style);
}

static void write_plain(struct writer *writer, const char *text)
{
    emit_scalar(writer, text, strlen(text), YAML_PLAIN_SCALAR_STYLE);
}

static void write_value(struct writer *writer, const json_t *value);

static void write_array(struct writer *writer, const json_t *array)
{
    yaml_event_t event;
    yaml_sequence_style_t style =
        json_array_size(array) == 0 ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE;
    yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, style);
    emit(writer, &event);
    for (size_t i = 0; i < json_array_size(array); i++)
        write_value(writer, json_array_get(array, i));
    yaml_sequence_end_event_initialize(&event);
    emit(writer, &event);
}

static void write_object(struct writer *writer, const json_t *object)
{
    yaml_event_t event;
    yaml_mapping_style_t style =
        json_object_size(object) == 0 ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE;
    yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, style);
    emit(writer, &event);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        write_string(writer, name, strlen(name));
        write_value(writer, value);
    }
    yaml_mapping_end_event_initialize(&event);
    emit(writer, &event);
}

static void write_value(struct writer *writer, const json_t *value)
{
    char number[64];
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        write_object(writer, value);
        return;
    case JSON_ARRAY:
        write_array(writer, value);
        return;
    case JSON_STRING:
        write_string(writer, json_string_value(value), json_string_length(value));
        return;
    case JSON_INTEGER:
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        write_plain(writer, number);
        return;
    case JSON_REAL:
        number[json_dumpb(value, number, sizeof number - 1, JSON_ENCODE_ANY)] = '\0';
        write_plain(writer, number);
        return;
    case JSON_TRUE:
        write_plain(writer, "true");
        return;
    case JSON_FALSE:
        write_plain(writer, "false");
        return;
    case JSON_NULL:
        write_plain(writer, "null");
        return;
    }
}

void yaml_write(const char *path, const json_t *value)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        fault(path, 0, "%s", strerror(errno));
    struct writer writer = {.path = path};
    if (!yaml_emitter_initialize(&writer.emitter))
        fault(path, 0, "out of memory");
    yaml_emitter_set_output_file(&writer.emitter, file);
    yaml_emitter_set_unicode(&writer.emitter, 1);
    yaml_emitter_set_width(&writer.emitter, -1);

    yaml_event_t event;
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    emit(&writer, &event);
    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
    emit(&writer, &event);
    write_value(&writer, value);
    yaml_document_end_event_initialize(&event, 1);
    emit(&writer, &event);
    yaml_stream_end_event_initialize(&event);
    emit(&writer, &event);

    yaml_emitter_delete(&writer.emitter);
    if (fclose(file) != 0)
        fault(path, 0, "%s", strerror(errno));
}
