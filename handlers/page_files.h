// The table of the pages' files, which the build writes.
#pragma once

#include <stddef.h>

struct page_file {
    const char *page; // `docs` or `ui`; NULL ends the table
    const char *name; // `look.css`
    const unsigned char *bytes;
    const size_t *size;
};

extern const struct page_file page_files[];
