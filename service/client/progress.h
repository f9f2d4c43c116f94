// A line on a terminal that says how far a long command is; nothing where standard error is none.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool shown;
    int64_t begun_at;
    int64_t next_at;
    int64_t whole; // bytes, 0: not known
};

void progress_begin(struct progress *progress, int64_t whole);

// So many entries and bytes so far; drawn a few times a second.
void progress_show(struct progress *progress, int64_t entries, int64_t bytes);

// Ends the line with the last numbers.
void progress_end(struct progress *progress, int64_t entries, int64_t bytes);
