// Brings a database to the schema this binary was built with, once, however many replicas start together.
#include "store/migrate.h"

#include "base/log.h"
#include "store/refusal.h"
#include "store/sql_files.h"

#include <libpq-fe.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OLDEST_SERVER = 140000,
    CHECKSUM_SIZE = crypto_hash_sha256_BYTES * 2 + 1, // hexadecimal digits and a NUL
    LOCK_PAUSE_MS = 500,
};

// "holdfast" in ASCII. The one-number locks are apart from the two-number ones that the functions take.
#define MIGRATION_LOCK "7525352680829580148"

struct migration {
    PGconn *connection;
    struct refusal *refusal;
    bool locked_out; // the last file failed since a table was in use
};

// How the database stands to this binary, as read from its own records.
struct standing {
    bool lacks_records; // the tables that hold the records
    bool lacks_migrations;
    bool lacks_functions;
    int number; // of the last migration applied
};

int migrate_latest(void)
{
    int count = 0;
    while (sql_migrations[count].name != NULL)
        count++;
    return count;
}

// The server's own word on a failed call; the connection's when there was no answer.
static const char *reason(const struct migration *m, const PGresult *result)
{
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    return primary != NULL ? primary : PQerrorMessage(m->connection);
}

static bool succeeded(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY;
}

// Runs SQL of this file's own whose answer does not matter.
static bool run(struct migration *m, const char *sql)
{
    PGresult *result = PQexec(m->connection, sql);
    bool ok = succeeded(result) || refuse(m->refusal, "cannot migrate: %s", reason(m, result));
    PQclear(result);
    return ok;
}

// The same with text parameters.
static bool run_with(struct migration *m, const char *sql, int count, const char *const *values)
{
    PGresult *result = PQexecParams(m->connection, sql, count, NULL, values, NULL, NULL, 0);
    bool ok = succeeded(result) || refuse(m->refusal, "cannot migrate: %s", reason(m, result));
    PQclear(result);
    return ok;
}

// Gives the rows of a query, to be cleared by the caller, or NULL with the error written.
static PGresult *query(struct migration *m, const char *sql)
{
    PGresult *result = PQexec(m->connection, sql);
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        return result;
    refuse(m->refusal, "cannot read the state of the schema: %s", reason(m, result));
    PQclear(result);
    return NULL;
}

static void checksum_of(const struct sql_file *file, char out[CHECKSUM_SIZE])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, file->text, *file->size);
    sodium_bin2hex(out, CHECKSUM_SIZE, hash, sizeof hash);
}

// Notices are about the SQL of the migrations, not about data, so they may go to the log.
static void log_notice(void *unused, const PGresult *result)
{
    (void)unused;
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    log_event(LOG_WARN, "migration_notice", "detail", primary != NULL ? primary : "", NULL);
}

static bool connect_to(struct migration *m, const char *connection)
{
    // The settings before `dbname` are defaults that the connection string may change; the one after it is
    // ours.
    const char *names[] = {"connect_timeout", "target_session_attrs", "fallback_application_name",
                           "dbname",          "client_encoding",      NULL};
    const char *values[] = {"10", "read-write", "holdfast migrate", connection, "UTF8", NULL};
    m->connection = PQconnectdbParams(names, values, 1);
    if (PQstatus(m->connection) != CONNECTION_OK)
        return refuse(m->refusal, "cannot connect to the database: %s", PQerrorMessage(m->connection));
    PQsetNoticeReceiver(m->connection, log_notice, NULL);
    return true;
}

static bool check_server(struct migration *m)
{
    if (PQserverVersion(m->connection) < OLDEST_SERVER)
        return refuse(m->refusal, "the database server is PostgreSQL %s; 14 or newer is needed",
                      PQparameterStatus(m->connection, "server_version"));
    const char *encoding = PQparameterStatus(m->connection, "server_encoding");
    if (encoding == NULL || strcmp(encoding, "UTF8") != 0)
        return refuse(m->refusal, "the database's encoding is %s; UTF8 is needed",
                      encoding != NULL ? encoding : "unknown");
    return true;
}

static bool read_records_exist(struct migration *m, bool *exist)
{
    PGresult *result =
        query(m, "select count(*) = 2 from pg_attribute where not attisdropped and (attrelid, attname) in "
                 "((to_regclass('holdfast.migrations')::oid, 'serves_from'), "
                 "(to_regclass('holdfast.function_files')::oid, 'release'))");
    if (result == NULL)
        return false;
    *exist = strcmp(PQgetvalue(result, 0, 0), "t") == 0;
    PQclear(result);
    return true;
}

// Whether a binary like this one may serve beside a migration that it does not know.
static bool check_unknown(struct migration *m, long number, long serves_from)
{
    if (serves_from <= migrate_latest())
        return true;
    return refuse(m->refusal,
                  "the database has migration %ld, which takes a binary that knows migration %ld; this one "
                  "(%s) knows %d: the database is newer, run a newer holdfast",
                  number, serves_from, HOLDFAST_VERSION, migrate_latest());
}

// Whether one applied migration is the one this binary has under that number.
static bool check_known(struct migration *m, long number, const char *checksum)
{
    const struct sql_file *file = &sql_migrations[number - 1];
    char ours[CHECKSUM_SIZE];
    checksum_of(file, ours);
    if (strcmp(ours, checksum) != 0)
        return refuse(m->refusal,
                      "migration %s was applied to the database with another text than this binary has",
                      file->name);
    return true;
}

// `applied` has room for migrate_latest() marks, all false.
static bool read_migrations(struct migration *m, bool *applied, struct standing *standing)
{
    PGresult *result = query(m, "select number, checksum, coalesce(serves_from, number) from "
                                "holdfast.migrations where number > 0 order by number desc");
    if (result == NULL)
        return false;
    bool ok = true;
    standing->number = PQntuples(result) > 0 ? atoi(PQgetvalue(result, 0, 0)) : 0;
    for (int row = 0; ok && row < PQntuples(result); row++) {
        long number = strtol(PQgetvalue(result, row, 0), NULL, 10);
        if (number > migrate_latest()) {
            ok = check_unknown(m, number, strtol(PQgetvalue(result, row, 2), NULL, 10));
        } else {
            ok = check_known(m, number, PQgetvalue(result, row, 1));
            applied[number - 1] = true;
        }
    }
    PQclear(result);
    return ok;
}

// The functions of a later release stay: its replicas need them, and they serve those of this one too.
static bool are_of_later_release(const PGresult *files)
{
    for (int row = 0; row < PQntuples(files); row++)
        if (strverscmp(PQgetvalue(files, row, 2), HOLDFAST_VERSION) > 0)
            return true;
    return false;
}

// Whether the recorded function files are exactly ours, in name and text.
static bool are_ours(const PGresult *files)
{
    int rows = PQntuples(files);
    int row = 0;
    for (const struct sql_file *file = sql_functions; file->name != NULL; file++, row++) {
        char ours[CHECKSUM_SIZE];
        checksum_of(file, ours);
        if (row >= rows || strcmp(PQgetvalue(files, row, 0), file->name) != 0 ||
            strcmp(PQgetvalue(files, row, 1), ours) != 0 ||
            strcmp(PQgetvalue(files, row, 2), HOLDFAST_VERSION) != 0)
            return false;
    }
    return row == rows;
}

static bool read_functions(struct migration *m, bool *lacking)
{
    PGresult *files =
        query(m, "select name, checksum, release from holdfast.function_files order by name collate \"C\"");
    if (files == NULL)
        return false;
    *lacking = !are_of_later_release(files) && !are_ours(files);
    PQclear(files);
    return true;
}

// `applied` as for read_migrations.
static bool read_standing(struct migration *m, bool *applied, struct standing *standing)
{
    bool exist;
    if (!read_records_exist(m, &exist))
        return false;
    *standing = (struct standing){.lacks_records = !exist, .lacks_functions = !exist};
    if (exist && (!read_migrations(m, applied, standing) || !read_functions(m, &standing->lacks_functions)))
        return false;
    for (int i = 0; i < migrate_latest(); i++)
        standing->lacks_migrations = standing->lacks_migrations || !applied[i];
    // Between a later release's migrations and its functions, which follow at once.
    if (standing->number > migrate_latest())
        standing->lacks_functions = false;
    return true;
}

// A role may have been given the schema without the right to create one, so it is created only when there is
// none.
static bool create_records(struct migration *m)
{
    return run(
        m,
        "begin;"
        "do $$ begin if to_regnamespace('holdfast') is null then create schema holdfast; end if; end $$;"
        "create table if not exists holdfast.migrations (number integer primary key, name text not null,"
        " checksum text not null, applied_at timestamptz not null default clock_timestamp());"
        "create table if not exists holdfast.function_files (name text primary key,"
        " checksum text not null);"
        "alter table holdfast.migrations add column if not exists serves_from integer;"
        "alter table holdfast.function_files add column if not exists release text not null default '0';"
        "comment on column holdfast.migrations.serves_from is 'The migration that a binary must know to "
        "serve with this one applied; null: this one.';"
        "comment on column holdfast.function_files.release is 'Whose text it is: a binary replaces what is "
        "of its own release or an earlier one.';"
        "commit");
}

// Runs a file's text inside the transaction that is open.
static bool run_file(struct migration *m, const struct sql_file *file)
{
    PGresult *result = PQexec(m->connection, (const char *)file->text);
    bool ok = succeeded(result);
    if (!ok) {
        const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        // Or a deadlock with a request that takes the tables in another order, when the server looks for it
        // sooner.
        m->locked_out = code != NULL && (strcmp(code, "55P03") == 0 || strcmp(code, "40P01") == 0);
        refuse(m->refusal, "%s.sql failed: %s (SQLSTATE %s)", file->name, reason(m, result),
               code != NULL ? code : "none");
    } else if (PQtransactionStatus(m->connection) != PQTRANS_INTRANS) {
        ok = refuse(m->refusal, "%s.sql ends the transaction it is applied in", file->name);
    }
    PQclear(result);
    return ok;
}

static bool apply_migration(struct migration *m, int number)
{
    const struct sql_file *file = &sql_migrations[number - 1];
    char number_text[16];
    char serves_from[16];
    char checksum[CHECKSUM_SIZE];
    snprintf(number_text, sizeof number_text, "%d", number);
    snprintf(serves_from, sizeof serves_from, "%d", file->serves_from);
    checksum_of(file, checksum);
    const char *record[] = {number_text, file->name, checksum, serves_from};
    if (!run(m, "begin; set local lock_timeout = '500ms'") || !run_file(m, file) ||
        !run_with(m,
                  "insert into holdfast.migrations (number, name, checksum, serves_from) "
                  "values ($1, $2, $3, $4)",
                  4, record) ||
        !run(m, "commit"))
        return false;
    log_event(LOG_INFO, "migration_applied", "name", file->name, NULL);
    return true;
}

// Who waits to change a table that a dump or a long list reads has everybody else wait behind it. So it waits
// only for what requests can bear, and lets them pass before it tries again.
static bool apply_between_others(struct migration *m, int number)
{
    while (!apply_migration(m, number)) {
        if (!m->locked_out || !run(m, "rollback"))
            return false;
        m->locked_out = false;
        log_event(LOG_WARN, "migration_waits", "name", sql_migrations[number - 1].name, NULL);
        poll(NULL, 0, LOCK_PAUSE_MS);
    }
    return true;
}

static bool apply_missing(struct migration *m, const bool *applied)
{
    for (int number = 1; number <= migrate_latest(); number++) {
        if (!applied[number - 1] && !apply_between_others(m, number))
            return false;
    }
    return true;
}

// Every function of ours under another name, so that the files can define theirs beside it.
static bool rename_functions(struct migration *m)
{
    return run(m, "do $$ declare f record; begin"
                  " for f in select p.oid::regprocedure as signature, p.proname as name from pg_proc p"
                  " where p.pronamespace = 'holdfast'::regnamespace and pg_has_role(p.proowner, 'usage') loop"
                  " execute format('alter routine %s rename to %I', f.signature, f.name || '~');"
                  " end loop; end $$");
}

// Drops, each on its own, of the functions that had another result or other names of arguments than those
// just defined; empty when there are none, NULL with the error written. To be cleared by the caller.
static PGresult *find_redefined(struct migration *m)
{
    return query(m, "select coalesce(string_agg('drop routine ' || new.oid::regprocedure::text, '; '), '')"
                    " from pg_proc new join pg_proc old on old.pronamespace = new.pronamespace"
                    " and old.proname = new.proname || '~' and old.proargtypes = new.proargtypes"
                    " where new.pronamespace = 'holdfast'::regnamespace"
                    " and (old.prokind, pg_get_function_result(old.oid), pg_get_function_arguments(old.oid))"
                    " is distinct from"
                    " (new.prokind, pg_get_function_result(new.oid), pg_get_function_arguments(new.oid))");
}

static bool run_functions(struct migration *m)
{
    for (const struct sql_file *file = sql_functions; file->name != NULL; file++) {
        if (!run_file(m, file))
            return false;
    }
    return true;
}

// CREATE OR REPLACE cannot change a function's result. What the files define is seen only by defining it, so
// that is rehearsed; then exactly the functions that cannot be replaced are dropped. Dropping them all would
// lose grants, and functions that only replicas of another version call.
static bool drop_redefined(struct migration *m)
{
    if (!run(m, "savepoint rehearsal") || !rename_functions(m) || !run_functions(m))
        return false;
    PGresult *drops = find_redefined(m);
    bool ok = drops != NULL && run(m, "rollback to savepoint rehearsal") && run(m, PQgetvalue(drops, 0, 0));
    PQclear(drops);
    return ok;
}

static bool record_functions(struct migration *m)
{
    for (const struct sql_file *file = sql_functions; file->name != NULL; file++) {
        char checksum[CHECKSUM_SIZE];
        checksum_of(file, checksum);
        const char *record[] = {file->name, checksum, HOLDFAST_VERSION};
        if (!run_with(m, "insert into holdfast.function_files (name, checksum, release) values ($1, $2, $3)",
                      3, record))
            return false;
    }
    return true;
}

// All files or none, even when one differs: a function may have moved from one file to another, and callers
// must never meet half of a change. Bodies are not checked, since a file may call what a later one defines.
static bool apply_functions(struct migration *m)
{
    if (!run(m, "begin; set local check_function_bodies = off; delete from holdfast.function_files") ||
        !drop_redefined(m) || !run_functions(m) || !record_functions(m) || !run(m, "commit"))
        return false;
    log_event(LOG_INFO, "functions_applied", NULL);
    return true;
}

// A server's limits are for ordinary work; a migration may take its time. Names without a schema mean ours.
static bool prepare_session(struct migration *m)
{
    return run(m, "set client_min_messages = warning; set statement_timeout = 0; set lock_timeout = 0;"
                  "set idle_in_transaction_session_timeout = 0;"
                  "set default_transaction_isolation = 'read committed'; set search_path = holdfast") &&
           run(m, "select pg_advisory_lock(" MIGRATION_LOCK ")");
}

// Under the lock the state is read again: another replica may have done the work while this one waited.
static bool apply(struct migration *m, bool *applied, struct standing *standing)
{
    if (!prepare_session(m) || !read_standing(m, applied, standing))
        return false;
    if (standing->lacks_records && (!create_records(m) || !read_standing(m, applied, standing)))
        return false;
    return (!standing->lacks_migrations || apply_missing(m, applied)) &&
           (!standing->lacks_functions || apply_functions(m));
}

static bool bring_up_to_date(struct migration *m, bool *applied, struct standing *standing)
{
    if (!check_server(m) || !read_standing(m, applied, standing))
        return false;
    if (!standing->lacks_records && !standing->lacks_migrations && !standing->lacks_functions)
        return true;
    return apply(m, applied, standing);
}

// A name cannot be a parameter of a grant: the server writes the statements, with the name quoted by itself.
static bool grant(struct migration *m, const char *role)
{
    static const char statements[] =
        "select string_agg(format(s.text, $1::text), '; ') from (values "
        "('grant usage on schema holdfast to %I'), "
        "('grant select, insert, update, delete on all tables in schema holdfast to %I'), "
        "('grant usage, select, update on all sequences in schema holdfast to %I'), "
        "('grant execute on all functions in schema holdfast to %I')) s(text)";
    PGresult *result = PQexecParams(m->connection, statements, 1, NULL, &role, NULL, NULL, 0);
    bool ok = succeeded(result) ? run(m, PQgetvalue(result, 0, 0))
                                : refuse(m->refusal, "cannot grant: %s", reason(m, result));
    PQclear(result);
    return ok;
}

// To grant what one does not have is a warning to the server, and nothing was done.
static bool check_granted(struct migration *m, const char *role)
{
    static const char statement[] =
        "select has_schema_privilege($1, 'holdfast', 'usage') and not exists ("
        "select from pg_catalog.pg_class c where c.relnamespace = 'holdfast'::regnamespace and "
        "case c.relkind when 'r' then not has_table_privilege($1, c.oid, 'select') "
        "or not has_table_privilege($1, c.oid, 'insert') or not has_table_privilege($1, c.oid, 'update') "
        "or not has_table_privilege($1, c.oid, 'delete') "
        "when 'S' then not has_sequence_privilege($1, c.oid, 'usage') "
        "or not has_sequence_privilege($1, c.oid, 'update') else false end) and not exists ("
        "select from pg_catalog.pg_proc p where p.pronamespace = 'holdfast'::regnamespace "
        "and not has_function_privilege($1, p.oid, 'execute'))";
    PGresult *result = PQexecParams(m->connection, statement, 1, NULL, &role, NULL, NULL, 0);
    bool ok = succeeded(result) || refuse(m->refusal, "cannot see what was granted: %s", reason(m, result));
    if (ok && strcmp(PQgetvalue(result, 0, 0), "t") != 0)
        ok = refuse(m->refusal,
                    "%s was not granted all that serving needs: migrate as the role that owns the schema",
                    role);
    PQclear(result);
    return ok;
}

bool migrate_grant(const char *connection, const char *role, char *error, size_t error_size)
{
    struct refusal refusal = {error, error_size};
    struct migration m = {.refusal = &refusal};
    bool ok = connect_to(&m, connection) && prepare_session(&m) && grant(&m, role) && check_granted(&m, role);
    PQfinish(m.connection);
    return ok;
}

int migrate(const char *connection, char *error, size_t error_size)
{
    struct refusal refusal = {error, error_size};
    struct migration m = {.refusal = &refusal};
    struct standing standing = {0};
    bool *applied = calloc((size_t)migrate_latest() + 1, sizeof *applied);
    bool ok = false;
    if (applied == NULL)
        refuse(&refusal, "no memory");
    else
        ok = connect_to(&m, connection) && bring_up_to_date(&m, applied, &standing);
    free(applied);
    PQfinish(m.connection); // gives the lock back and rolls back what was not committed
    if (!ok)
        return 0;
    return standing.number > migrate_latest() ? standing.number : migrate_latest();
}
