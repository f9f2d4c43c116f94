// What a session is set to before our statements run in it: asked for when it is opened, or said in each
// transaction of a session that a pooler lends.
#pragma once

#include "store/statement.h"

enum { SESSION_TEXT = 600 };

// Whether connections of this role serve reads alone, so that a server that takes no writes will do.
bool session_only_reads(enum store_role role);

// The settings as libpq's `options`. `timeout`, in microseconds, is how long a call may take.
void session_as_options(enum store_role role, int64_t timeout, char options[SESSION_TEXT]);

// The same as a statement without parameters, to be sent before all others of a transaction. One that
// `changes` something fails with HF001 when the revision was not lifted on this server.
void session_as_statement(enum store_role role, int64_t timeout, bool changes, char sql[SESSION_TEXT]);
