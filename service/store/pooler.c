// A lock that is held in the one database is met in the other only when both are the same.
#include "store/pooler.h"

#include <libpq-fe.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// A class of locks that nothing else takes.
#define LOCK_CLASS "7240011"

static PGconn *open_address(const char *connection)
{
    const char *names[] = {"connect_timeout", "fallback_application_name", "dbname", NULL};
    const char *values[] = {"5", "holdfast start", connection, NULL};
    return PQconnectdbParams(names, values, 1);
}

// Gives whether the lock was to be had, as "t" or "f"; "" when it cannot be asked.
static void try_lock(PGconn *pg, const char *call, const char *number, char answer[2])
{
    char sql[160];
    snprintf(sql, sizeof sql, "select pg_catalog.%s(" LOCK_CLASS ", $1::integer)", call);
    PGresult *result = PQexecParams(pg, sql, 1, NULL, &number, NULL, NULL, 0);
    bool asked = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
    snprintf(answer, 2, "%s", asked ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
}

enum pooler_leads pooler_check(const char *pooled, const char *direct)
{
    enum pooler_leads leads = POOLER_LEADS_UNKNOWN;
    char number[16], held[2], met[2];
    PGconn *holder = open_address(direct);
    PGconn *other = open_address(pooled);
    snprintf(number, sizeof number, "%u", randombytes_uniform(INT32_MAX));
    try_lock(holder, "pg_try_advisory_lock", number, held);
    if (!strcmp(held, "t")) {
        try_lock(other, "pg_try_advisory_xact_lock", number, met);
        if (*met)
            leads = *met == 'f' ? POOLER_LEADS_THERE : POOLER_LEADS_ELSEWHERE;
    }
    PQfinish(other);
    PQfinish(holder);
    return leads;
}
