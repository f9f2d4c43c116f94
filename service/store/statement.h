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
    ROLE_TRANSACTION, // whatever belongs to one transaction of several statements (transaction.h); no
                      // statement asks for it
    ROLE_ASYNC, // writes that may be lost in a crash: none that must be durable waits for them, nor they for
                // it
};

enum statement_form {
    // Many operations in one call. The SQL takes names text[] ($1: the distinct bucket names), which int2[]
    // ($2: each
    // operation's place in them, from 1), ordinals int2[] ($3), then one array a column; it answers exactly
    // one row an
    // operation, whose first column is the ordinal (int2).
    STATEMENT_SHARED,
    // As STATEMENT_SHARED, but an operation brings `items` of its own, each a row of the arrays with a bucket
    // of
    // its own, and gets any number of rows. Rows come in the order of the first column, which is the
    // operation's
    // ordinal.
    STATEMENT_GROUPED,
    // One operation a call: the SQL takes its columns as they are and may answer any number of rows.
    STATEMENT_ALONE,
};

enum key_rule {
    KEYS_ANY,  // a call may hold one key any number of times
    KEYS_ONCE, // a call holds a key once; a later operation waits for the next call or, where both allow it,
               // collapses
    KEYS_WRITTEN_ONCE, // STATEMENT_GROUPED: of two operations that have a key in common which one of them
                       // writes, the later waits for the next call
};

struct statement {
    const char *name; // for logs and for PostgreSQL's prepared statement
    const char *sql;
    const char *lone; // STATEMENT_SHARED: the SQL for a call of one operation, which takes the bucket's name
                      // and each column as it is, and answers as `sql` does for the ordinal 1; NULL for none
    enum statement_form form;
    enum store_role role;
    bool writes;     // not repeated blindly after it was sent
    bool only_reads; // changes nothing, whatever its role: it does not matter what the database issued before
    bool begins;     // opens a transaction of several calls, which keeps its session until it ends
    bool changes_entries; // STATEMENT_SHARED: those of the operations' keys, which somebody may wait for
    enum key_rule keys;
    uint16_t columns;
    enum column_type column[STATEMENT_COLUMNS];
};
