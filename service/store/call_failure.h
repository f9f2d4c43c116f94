// What the SQLSTATE of a refused call says about trying it again.
#pragma once

#include "store/call.h"

bool call_failed_with(const struct call *call, const char *sqlstate);

// `two`: the first two characters of the SQLSTATE.
bool call_failed_in_class(const struct call *call, const char *two);

// The session does not know the statement, or its plan no longer fits: prepared anew it will.
bool call_is_unprepared(const struct call *call);

// Another release may replace functions beneath a call that is under way: it fails, and finds the new ones
// when it is made again. False when that was tried often enough.
bool call_is_redefined(const struct call *call);

// Conditions of the server, not of the statement: nothing was done, and later it may work.
bool call_failure_passes(const struct call *call);
