// What a name is configured to be, whatever its kind, and how replies show it.
#pragma once

#include "handlers/context.h"

enum { QUOTA_WINDOWS = 8, WINDOW_NAME_BYTES = 32 };

struct window {
    struct bytes name;
    int64_t limit;
    int64_t length; // microseconds
};

// Members that the kind does not have are not looked at.
struct configuration {
    struct bytes kind; // as in SQL
    // of buckets
    struct bytes type;
    struct value idle; // microseconds
    bool encrypted;
    int64_t max_value_bytes;
    // of buckets, counters and once
    struct value ttl; // microseconds
    // of counters and rate limits
    struct value lose; // microseconds
    // of rate limits
    int64_t rate_count;
    int64_t rate_us;
    int64_t burst;
    // of once, beside ttl
    int64_t run_ttl; // microseconds
    // of quotas
    struct window windows[QUOTA_WINDOWS];
    int window_count;
};

// The columns of get_bucket() and list_buckets().
enum name_row {
    ROW_NAME,
    ROW_KIND,
    ROW_TYPE,
    ROW_TTL,
    ROW_IDLE,
    ROW_ENCRYPTED,
    ROW_MOST,
    ROW_CREATED_AT,
    ROW_LOSE,
    ROW_RATE_COUNT,
    ROW_RATE_US,
    ROW_BURST,
    ROW_WINDOW_NAMES,
    ROW_WINDOW_LIMITS,
    ROW_WINDOW_US,
    ROW_RUN_TTL,
};

// Which columns hold windows: their names with commas between them, then an int8[] each.
struct window_columns {
    int names;
    int limits;
    int lengths;
};

// Reads a row's windows; gives how many. Their names live as long as the outcome.
int windows_of(const struct outcome *outcome, int row, const struct window_columns *columns,
               struct window windows[QUOTA_WINDOWS]);

// A row's configuration. Texts in it live as long as the outcome.
struct configuration configuration_of(const struct outcome *outcome, int row);

// Adds the row as lists show it: its name, kind, configuration and creation.
void configuration_write_item(struct buffer *json, const struct request *request,
                              const struct outcome *outcome, int row);

// Replies with the name and its configuration; `created_at` in microseconds since 1970.
void reply_configuration(struct request *request, int status, struct bytes name,
                         const struct configuration *configuration, int64_t created_at);

// Replies with the configuration of the name in parameter 0, which is of the kind, or with the problem.
void configuration_get(struct request *request, const char *kind);
