// Databases of a test's PostgreSQL: made quickly from a migrated one, asked through libpq, with a clock to
// turn.
#include "support/clock.h"
#include "support/failure.h"
#include "support/postgres.h"
#include "support/process.h"
#include "support/scratch.h"
#include "support/service.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIGRATED "holdfast_migrated"

static struct database address(const struct postgres *postgres, const char *name)
{
    struct database database;
    snprintf(database.name, sizeof database.name, "%s", name);
    int size = snprintf(database.url, sizeof database.url, "postgresql:///%s?host=%s&user=postgres", name,
                        postgres_socket_folder(postgres));
    if (size < 0 || (size_t)size >= sizeof database.url)
        support_fail("the address of the database is too long");
    return database;
}

static void migrate(const struct database *database)
{
    struct process_options options = {
        .arguments = (const char *const[]){service_binary(), "migrate", "--database", database->url, NULL},
        .stdout_fd = -1,
    };
    char *folder = scratch_folder("migrate");
    char *log = scratch_printf("%s/log", folder);
    options.output = log;
    int code = process_run(&options, 60 * 1000);
    char *text = scratch_read(log, NULL);
    if (code != 0)
        support_fail("holdfast migrate ended with %d: %s", code, text);
    free(text);
    free(log);
    free(folder);
}

struct database database_new(struct postgres *postgres, enum database_content content)
{
    static unsigned count;
    char name[64];
    snprintf(name, sizeof name, "test_%d_%u", (int)getpid(), ++count);
    struct database maintenance = address(postgres, "postgres");
    struct database database = address(postgres, name);
    PGconn *connection = database_connect(&maintenance);
    if (content == DATABASE_EMPTY) {
        sql_run(connection, "create database %s", name);
    } else {
        if (!sql_number(connection, "select count(*) from pg_database where datname = '" MIGRATED "'")) {
            struct database migrated = address(postgres, MIGRATED);
            sql_run(connection, "create database " MIGRATED);
            migrate(&migrated);
        }
        sql_run(connection, "create database %s template " MIGRATED " strategy file_copy", name);
    }
    PQfinish(connection);
    return database;
}

void database_drop(struct postgres *postgres, const struct database *database)
{
    struct database maintenance = address(postgres, "postgres");
    PGconn *connection = database_connect(&maintenance);
    sql_run(connection, "drop database if exists %s with (force)", database->name);
    PQfinish(connection);
}

static void ignore_notice(void *user, const char *message)
{
    (void)user;
    (void)message;
}

PGconn *database_connect(const struct database *database)
{
    PGconn *connection = PQconnectdb(database->url);
    if (PQstatus(connection) != CONNECTION_OK)
        support_fail("%s", PQerrorMessage(connection));
    PQsetNoticeProcessor(connection, ignore_notice, NULL);
    return connection;
}

static PGresult *execute(PGconn *connection, const char *format, va_list args)
{
    char *sql;
    if (vasprintf(&sql, format, args) < 0)
        support_fail("no memory for a statement");
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        support_fail("%s: %s", sql, PQerrorMessage(connection));
    free(sql);
    return result;
}

void sql_run(PGconn *connection, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    PQclear(execute(connection, format, args));
    va_end(args);
}

static bool has_cell(const PGresult *result)
{
    return PQntuples(result) > 0 && PQnfields(result) > 0 && !PQgetisnull(result, 0, 0);
}

int64_t sql_number(PGconn *connection, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    PGresult *result = execute(connection, format, args);
    va_end(args);
    int64_t number = has_cell(result) ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0;
    PQclear(result);
    return number;
}

char *sql_text(PGconn *connection, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    PGresult *result = execute(connection, format, args);
    va_end(args);
    char *text = has_cell(result) ? scratch_printf("%s", PQgetvalue(result, 0, 0)) : NULL;
    PQclear(result);
    return text;
}

static void redefine_clock(const struct database *database, const char *expression, int64_t us)
{
    PGconn *connection = database_connect(database);
    sql_run(
        connection,
        "create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe "
        "as 'select %s interval ''%lld microseconds'''",
        expression, (long long)us);
    PQfinish(connection);
}

void database_shift_clock(const struct database *database, int64_t us)
{
    redefine_clock(database, "pg_catalog.clock_timestamp() +", us);
}

void database_stop_clock(const struct database *database, int64_t us)
{
    redefine_clock(database, "timestamptz ''1970-01-01 00:00:00+00'' +", us);
}
