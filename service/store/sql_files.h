// The SQL that travels inside the binary: which files there are, and their text.
#pragma once

#include <stddef.h>

struct sql_file {
    const char *name;          // without folder and ending; NULL ends a table
    const unsigned char *text; // a NUL follows the text
    const size_t *size;        // without that NUL
    int serves_from; // the migration that a binary must know to serve with this one; 0 for functions
};

// In the order of their numbers, which begin at 1 and have no gap: entry i is migration i + 1.
extern const struct sql_file sql_migrations[];

// In the order of their names.
extern const struct sql_file sql_functions[];
