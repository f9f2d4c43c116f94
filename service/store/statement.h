// What can be asked of the database: a statement says its SQL, its columns and how requests for it may travel
// together.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { STATEMENT_COLUMNS = 24 };

enum column_type {
    COLUMN_BOOL,
    COLUMN_INT2,
    COLUMN_INT4,
    COLUMN_INT8,
    COLUMN_FLOAT8,
    COLUMN_TIME, // microseconds since 1970; timestamptz in SQL
    COLUMN_TEXT,
    COLUMN_BYTEA,
};

// Which connection carries it. Work of one role never waits for work of another.
enum store_role {
    ROLE_READ,
    ROLE_WRITE,
    ROLE_LARGE, // values too large to travel with others, in either direction
    ROLE_LIST,  // pages of lists, each a call of its own: several connections, the least busy takes one
    ROLE_ADMIN, // administration and sweeping; planned as PostgreSQL likes, without our planner settings
};

enum statement_form {
    // Many operations in one call. The SQL takes names text[] ($1: the distinct bucket names), which int2[]
    // ($2: each
    // operation's place in them, from 1), ordinals int2[] ($3), then one array a column; it answers exactly
    // one row an
    // operation, whose first column is the ordinal (int2).
    STATEMENT_SHARED,
    // One operation a call: the SQL takes its columns as they are and may answer any number of rows.
    STATEMENT_ALONE,
};

enum key_rule {
    KEYS_ANY,  // a call may hold one key any number of times
    KEYS_ONCE, // a call holds a key once; a later operation waits for the next call or, where both allow it,
               // collapses
};

struct statement {
    const char *name; // for logs and for PostgreSQL's prepared statement
    const char *sql;
    enum statement_form form;
    enum store_role role;
    bool writes; // not repeated blindly after it was sent
    enum key_rule keys;
    uint16_t columns;
    enum column_type column[STATEMENT_COLUMNS];
};
