// The service's own log: one JSON object a line on standard error, a turn of the loop's lines in one piece.
#pragma once

#include "base/bytes.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF };

// Sets the level below which nothing is written. For the whole process; call it before the workers start.
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

// Reads `debug`, `info`, `warn`, `error` or `off`; false for anything else.
bool log_parse_level(const char *text, enum log_level *level);

// One line {"time":…,"level":…,"event":event, …} with pairs of (name, value) texts after `event`, ended by
// NULL. Values are escaped; a NULL value is written as null. Names, keys, values of entries and secrets must
// never be passed. Written at once.
void log_event(enum log_level level, const char *event, ...) __attribute__((sentinel));

// The same with two numbers before the pairs, "operations" and "us": how many something was done for, and how
// many microseconds it took.
void log_took(enum log_level level, const char *event, int64_t operations, int64_t us, ...)
    __attribute__((sentinel));

// The same for a field list that needs formatting: the detail, cut at 1023 bytes, becomes the field
// "detail".
void log_detail(enum log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Writes `size` bytes of finished lines to the log, in one system call when it can. Any thread may call it.
// When nobody reads the log it waits some milliseconds at most; lines that do not fit are dropped, and their
// number is logged later. The process must ignore SIGPIPE, since the reader of the log may be gone.
void log_write(const void *lines, size_t size);
