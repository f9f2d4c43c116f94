// libpq keeps the SQLSTATE of a refused connection to itself, unless errors are asked for with it before.
#include "store/reach.h"

#include "base/timestamp.h"

#include <libpq-fe.h>
#include <poll.h>
#include <string.h>

enum { PATIENCE = 10 * 1000 * 1000 };

static bool is_uri(const char *text)
{
    return !strncmp(text, "postgresql://", 13) || !strncmp(text, "postgres://", 11);
}

// Ports with commas between; each may be left out.
static bool are_ports(const char *text)
{
    return text[strspn(text, "0123456789,")] == 0;
}

// A password with `@`, `/` or `:` that was not escaped spills over into what follows it.
static bool can_be_there(const PQconninfoOption *option)
{
    const char *value = option->val;
    if (!value)
        return true;
    if (!strcmp(option->keyword, "port"))
        return are_ports(value);
    if (!strcmp(option->keyword, "host") || !strcmp(option->keyword, "hostaddr"))
        return !strchr(value, '@') || value[0] == '/' || value[0] == '@'; // sockets
    return strcmp(option->keyword, "dbname") != 0 || (!strchr(value, '@') && !strstr(value, "//"));
}

bool reach_reads(const char *connection)
{
    if (!is_uri(connection) && !strchr(connection, '='))
        return !strpbrk(connection, ":/@%"); // the name of a database
    PQconninfoOption *all = PQconninfoParse(connection, NULL);
    bool good = all != NULL;
    for (const PQconninfoOption *option = all; good && option->keyword; option++)
        good = can_be_there(option);
    PQconninfoFree(all);
    return good;
}

bool reach_is_choice(const char *connection)
{
    bool choice = false;
    PQconninfoOption *all = PQconninfoParse(connection, NULL);
    for (const PQconninfoOption *option = all; option && option->keyword; option++)
        if (!strcmp(option->keyword, "host") || !strcmp(option->keyword, "hostaddr"))
            choice = choice || (option->val && strchr(option->val, ','));
    PQconninfoFree(all);
    return choice;
}

static bool connect_saying_why(PGconn *pg)
{
    int64_t until = timestamp_monotonic() + PATIENCE;
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    PQsetErrorVerbosity(pg, PQERRORS_SQLSTATE);
    while (PQstatus(pg) != CONNECTION_BAD && status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED &&
           timestamp_monotonic() < until) {
        struct pollfd watched = {.fd = PQsocket(pg),
                                 .events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT};
        if (poll(&watched, 1, 1000) > 0)
            status = PQconnectPoll(pg);
    }
    return status == PGRES_POLLING_OK;
}

// A server that is full (53…), starts or stops (57…) says so; one that is not there says nothing.
static bool refusal_lasts(const char *message)
{
    const char *fatal = strstr(message, "FATAL:  ");
    const char *state = fatal ? fatal + strlen("FATAL:  ") : "";
    return *state && strncmp(state, "53", 2) != 0 && strncmp(state, "57", 2) != 0;
}

static bool takes_writes(PGconn *pg)
{
    PGresult *result = PQexec(pg, "show transaction_read_only");
    bool writes = PQresultStatus(result) == PGRES_TUPLES_OK && strcmp(PQgetvalue(result, 0, 0), "off") == 0;
    PQclear(result);
    return writes;
}

enum reach reach_try(const char *connection)
{
    enum reach reach = REACH_PASSES;
    const char *names[] = {"target_session_attrs", "dbname", NULL};
    const char *values[] = {reach_is_choice(connection) ? "read-write" : "any", connection, NULL};
    PGconn *pg = PQconnectStartParams(names, values, 1);
    if (connect_saying_why(pg))
        reach = takes_writes(pg) ? REACH_OPEN : REACH_PASSES;
    else if (refusal_lasts(PQerrorMessage(pg)))
        reach = REACH_REFUSES;
    PQfinish(pg);
    return reach;
}
