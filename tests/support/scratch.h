// Files of a test: a folder of the run that disappears with the process that made it, and reading whole
// files.
#pragma once

#include <stddef.h>

// A new empty folder for `purpose`, mode 0711 and owned by us, in $TMPDIR or /tmp; to be freed. It is removed
// when this process (no forked child of it) exits.
char *scratch_folder(const char *purpose);

// Removes `path` with everything below it.
void scratch_remove(const char *path);

// The file's content with a NUL behind it, to be freed; "" when it does not exist. `*size` (may be NULL) gets
// its size without the NUL.
char *scratch_read(const char *path, size_t *size);

// printf into new memory, to be freed.
char *scratch_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
