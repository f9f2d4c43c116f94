// Classes and codes are those of PostgreSQL's appendix A, and HF... of our functions.
#include "store/call_failure.h"

#include <string.h>

enum { REDEFINITIONS = 3 };

bool call_failed_with(const struct call *call, const char *sqlstate)
{
    return strcmp(call->sqlstate, sqlstate) == 0;
}

bool call_failed_in_class(const struct call *call, const char *two)
{
    return strncmp(call->sqlstate, two, 2) == 0;
}

bool call_is_unprepared(const struct call *call)
{
    return call_failed_with(call, "26000") || call_failed_with(call, "0A000");
}

bool call_is_redefined(const struct call *call)
{
    for (int i = 0; i < call->count; i++)
        if (call->operations[i]->attempts >= REDEFINITIONS)
            return false;
    return call_failed_in_class(call, "42") || call_failed_with(call, "XX000");
}

// What the call names is not there, or not for us: the schema is being dropped, restored or migrated, since a
// session is ready only when it was there.
static bool schema_is_away(const struct call *call)
{
    static const char *const states[] = {"3F000", "42P01", "42883", "42501", "42703"};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (call_failed_with(call, states[i]))
            return true;
    return false;
}

bool call_failure_passes(const struct call *call)
{
    return schema_is_away(call) || call_failed_in_class(call, "53") || call_failed_in_class(call, "57") ||
           call_failed_in_class(call, "58") || call_failed_in_class(call, "25") ||
           call_failed_with(call, "55P03") || call_failed_with(call, "HF002") ||
           call_failed_with(call, "54000"); // the queue of notifications is full
}
