// The parts of the build tool that makes one OpenAPI document out of the files it is written in.
//
// A fault in a file ends the program with a line that says where, so nothing here reports an error to its
// caller.
#pragma once

#include <jansson.h>
#include <stdbool.h>

enum { DEPTH_MAX = 64 };

// Prints `file:line: message` (without the line when it is 0) to standard error and exits with status 1.
_Noreturn void fault(const char *file, size_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Reads a YAML file by the rules of YAML 1.2's core schema. The caller owns what it returns. Members keep
// their order; a member that occurs twice is a fault.
json_t *yaml_read(const char *path);

// Writes `value` to the file at `path` as YAML that YAML 1.1 and 1.2 readers understand alike.
void yaml_write(const char *path, const json_t *value);

// Reads the root document in `directory` (openapi.yaml) and everything it refers to. What it refers to in
// `paths/FILE.yaml#/NAME` is put in place; what lies in any other folder, `schemas/FILE.yaml#/NAME` say,
// becomes
// `#/components/schemas/NAME`. The caller owns what it returns.
json_t *bundle(const char *directory);
