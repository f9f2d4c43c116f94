// The lines of a dump as it is written, and where one that broke off is taken up again.
#pragma once

#include "base/arena.h"
#include "base/buffer.h"

#include <stdio.h>

enum dump_verdict {
    DUMP_WRITTEN,
    DUMP_CORRUPT, // the service cannot open its value: there is nothing to write
    DUMP_BROKEN,  // no entry as the service gives it, or with another size than it says
};

// Adds the line of an entry of a page, as the page has it, or with its value in base64 when one line cannot
// hold that. Nothing is added unless it is DUMP_WRITTEN.
enum dump_verdict dump_line_entry(struct buffer *lines, struct bytes bucket, struct bytes entry);

// Adds the line behind a page: what is before it is whole. `cursor` is that of the next page, NULL when the
// bucket is whole; `only` is the bucket that the dump is of, NULL for all.
void dump_line_checkpoint(struct buffer *lines, struct bytes bucket, const char *cursor, const char *only);

// The last checkpoint of a file. Zero-initialised; its arena is to be freed.
struct dump_checkpoint {
    struct arena arena;
    off_t end;       // of its line; 0: there is none
    bool of_another; // it is of a dump of other buckets than `only`
    struct bytes bucket;
    struct bytes cursor; // data NULL: the bucket is whole
};

// Reads the file from where it stands to its last whole line.
void dump_checkpoint_find(FILE *file, const char *only, struct dump_checkpoint *last);
