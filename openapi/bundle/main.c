// Build tool: makes the served OpenAPI document, as YAML and as JSON, out of the files in openapi/.
#include "bundle.h"

#include <stdarg.h>
#include <stdlib.h>

void fault(const char *file, size_t line, const char *format, ...)
{
    fprintf(stderr, "%s:", file);
    if (line != 0)
        fprintf(stderr, "%zu:", line);
    fputc(' ', stderr);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static void set_version(json_t *document, const char *version)
{
    json_t *info = json_object_get(document, "info");
    if (!json_is_object(info) || json_object_set_new(info, "version", json_string(version)) != 0)
        fault("openapi.yaml", 0, "no info to put the version in");
}

int main(int count, char **arguments)
{
    if (count != 5) {
        fprintf(stderr, "usage: %s FOLDER VERSION OUT.yaml OUT.json\n", arguments[0]);
        return 2;
    }
    json_t *document = bundle(arguments[1]);
    set_version(document, arguments[2]);
    yaml_write(arguments[3], document);
    if (json_dump_file(document, arguments[4], JSON_COMPACT) != 0)
        fault(arguments[4], 0, "cannot be written");
    json_decref(document);
    return 0;
}
