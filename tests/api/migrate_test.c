// Migrations: once however many start together, nothing when there is nothing to do, refused when they cannot
// be right.
#include "api.h"

#include "support/clock.h"
#include "support/process.h"
#include "support/scratch.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { PATIENCE_MS = 60 * 1000, REPLICAS = 6 };

// As in service/store/migrate.c: "holdfast" in ASCII.
#define MIGRATION_LOCK "7525352680829580148"

// Starts `holdfast migrate` on a database; what it writes goes to the file `log`.
static pid_t start_migrate(const char *url, const char *log)
{
    const char *const arguments[] = {service_binary(), "migrate", "--database", url, NULL};
    return process_start(&(struct process_options){.arguments = arguments, .output = log, .stdout_fd = -1});
}

static char *log_file(void)
{
    char *folder = scratch_folder("migrate");
    char *log = scratch_printf("%s/log", folder);
    free(folder);
    return log;
}

// Runs it; gives what it wrote, to be freed, after its exit code was as expected.
static char *migrate_with(const char *url, int expected)
{
    char *log = log_file();
    int code = process_wait(start_migrate(url, log), PATIENCE_MS);
    char *text = scratch_read(log, NULL);
    ck_assert_msg(code == expected, "migrate ended with %d: %s", code, text);
    free(log);
    return text;
}

static void migrates(const struct database *database)
{
    free(migrate_with(database->url, 0));
}

// Refused, by one line that has both texts.
static void refuses(const struct database *database, const char *why, const char *and_why)
{
    char *text = migrate_with(database->url, 1);
    ck_assert_msg(strchr(text, '\n') == text + strlen(text) - 1, "not one line: %s", text);
    ck_assert_msg(strstr(text, why) && strstr(text, and_why), "says not \"%s\" and \"%s\": %s", why, and_why,
                  text);
    free(text);
}

static int64_t applied(PGconn *connection)
{
    return sql_number(connection, "select count(*) from holdfast.migrations");
}

START_TEST(migrate_builds_the_schema_once)
{
    struct database database = database_new(api.postgres, DATABASE_EMPTY);
    migrates(&database);
    PGconn *connection = database_connect(&database);
    ck_assert_int_gt(applied(connection), 0);
    ck_assert_int_eq(sql_number(connection, "select max(number) - count(*) from holdfast.migrations"), 0);
    ck_assert_int_gt(sql_number(connection, "select count(*) from holdfast.function_files"), 0);
    char *before = sql_text(connection, "select max(applied_at)::text from holdfast.migrations");
    migrates(&database);
    char *after = sql_text(connection, "select max(applied_at)::text from holdfast.migrations");
    ck_assert_pstr_eq(before, after);
    free(before);
    free(after);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

START_TEST(replicas_that_start_together_migrate_once)
{
    struct database database = database_new(api.postgres, DATABASE_EMPTY);
    pid_t pids[REPLICAS];
    char *logs[REPLICAS];
    int builders = 0;
    for (int i = 0; i < REPLICAS; i++)
        pids[i] = start_migrate(database.url, logs[i] = log_file());
    for (int i = 0; i < REPLICAS; i++) {
        int code = process_wait(pids[i], PATIENCE_MS);
        char *text = scratch_read(logs[i], NULL);
        ck_assert_msg(code == 0, "replica %d ended with %d: %s", i, code, text);
        builders += strstr(text, "migration_applied") != NULL;
        free(text);
        free(logs[i]);
    }
    ck_assert_int_eq(builders, 1);
    PGconn *connection = database_connect(&database);
    ck_assert_int_gt(applied(connection), 0);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

static bool somebody_waits_for_the_lock(void *connection)
{
    return sql_number(connection,
                      "select count(*) from pg_locks where locktype = 'advisory' and not granted and "
                      "database = (select oid from pg_database where datname = current_database())") == 1;
}

START_TEST(migrate_waits_for_the_one_that_migrates)
{
    struct database database = database_new(api.postgres, DATABASE_EMPTY);
    PGconn *connection = database_connect(&database);
    sql_run(connection, "select pg_advisory_lock(" MIGRATION_LOCK ")");
    char *log = log_file();
    pid_t pid = start_migrate(database.url, log);
    ck_assert(clock_wait(somebody_waits_for_the_lock, connection, PATIENCE_MS));
    ck_assert_int_eq(sql_number(connection, "select count(*) from pg_namespace where nspname = 'holdfast'"),
                     0);
    sql_run(connection, "select pg_advisory_unlock(" MIGRATION_LOCK ")");
    ck_assert_int_eq(process_wait(pid, PATIENCE_MS), 0);
    ck_assert_int_gt(applied(connection), 0);
    free(log);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

START_TEST(current_schema_needs_no_lock_and_no_rights)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&database);
    sql_run(connection, "select pg_advisory_lock(" MIGRATION_LOCK ")");
    sql_run(connection, "create role reader_%d login", (int)getpid());
    sql_run(connection, "grant usage on schema holdfast to reader_%d", (int)getpid());
    sql_run(connection, "grant select on holdfast.migrations, holdfast.function_files to reader_%d",
            (int)getpid());
    char *url = scratch_printf("host=%s dbname=%s user=reader_%d", postgres_socket_folder(api.postgres),
                               database.name, (int)getpid());
    free(migrate_with(url, 0));
    sql_run(connection, "drop owned by reader_%d", (int)getpid());
    sql_run(connection, "drop role reader_%d", (int)getpid());
    free(url);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

START_TEST(edited_migration_is_refused)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&database);
    char *name =
        sql_text(connection, "update holdfast.migrations set checksum = repeat('0', 64) where number = 1 "
                             "returning name");
    refuses(&database, name, "another text");
    free(name);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

START_TEST(newer_database_is_refused)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&database);
    sql_run(connection,
            "insert into holdfast.migrations (number, name, checksum) values (9999, 'later', 'x')");
    sql_run(connection, "update holdfast.function_files set checksum = 'x'");
    refuses(&database, "9999", "newer");
    ck_assert_int_eq(
        sql_number(connection, "select count(*) from holdfast.function_files where checksum <> 'x'"), 0);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

static bool is_unready(void *user)
{
    return !service_wait_ready(user, 0);
}

// A later release says of its migrations whether replicas of this one may serve beside them.
START_TEST(later_release_says_beside_whom_it_serves)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&database);
    struct service *service = service_start(&(struct service_options){.database = database.url});
    sql_run(connection, "insert into holdfast.migrations (number, name, checksum, serves_from) "
                        "select max(number) + 1, 'later', 'x', max(number) from holdfast.migrations");
    sql_run(connection, "update holdfast.function_files set checksum = 'later'");
    char *text = migrate_with(database.url, 0);
    ck_assert_msg(strstr(text, "later release"), "%s", text);
    free(text);
    ck_assert_int_eq(
        sql_number(connection, "select count(*) from holdfast.function_files where checksum <> 'later'"), 0);
    service_end(service_start(&(struct service_options){.database = database.url}));
    ck_assert(!is_unready(service));
    sql_run(connection, "update holdfast.migrations set serves_from = number where name = 'later'");
    ck_assert(clock_wait(is_unready, service, PATIENCE_MS));
    refuses(&database, "takes a binary that knows migration", "newer");
    service_end(service);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

// The records of a database that an earlier binary made have fewer columns.
START_TEST(records_of_an_earlier_binary_are_widened)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&database);
    sql_run(connection, "alter table holdfast.migrations drop column serves_from");
    sql_run(connection, "alter table holdfast.function_files drop column release");
    migrates(&database);
    ck_assert_int_eq(
        sql_number(connection, "select count(*) from holdfast.migrations where serves_from is not null"), 0);
    ck_assert_int_eq(
        sql_number(connection, "select count(*) from holdfast.function_files where release = '0'"), 0);
    service_end(service_start(&(struct service_options){.database = database.url}));
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

START_TEST(service_refuses_a_newer_database)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&database);
    sql_run(connection,
            "insert into holdfast.migrations (number, name, checksum) values (9999, 'later', 'x')");
    const char *const arguments[] = {service_binary(), "serve",      "--listen", "127.0.0.1:0",
                                     "--database",     database.url, NULL};
    char *log = log_file();
    pid_t pid =
        process_start(&(struct process_options){.arguments = arguments, .output = log, .stdout_fd = -1});
    ck_assert_int_eq(process_wait(pid, PATIENCE_MS), 1);
    char *text = scratch_read(log, NULL);
    ck_assert_msg(strstr(text, "9999") && strstr(text, "newer"), "%s", text);
    free(text);
    free(log);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

START_TEST(changed_functions_are_replaced)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&database);
    database_stop_clock(&database, 0);
    migrates(&database);
    ck_assert_int_eq(sql_number(connection, "select extract(epoch from holdfast.now())::bigint"), 0);
    sql_run(connection, "update holdfast.function_files set checksum = 'older' "
                        "where name = (select max(name) from holdfast.function_files)");
    migrates(&database);
    ck_assert_int_gt(sql_number(connection, "select extract(epoch from holdfast.now())::bigint"), 0);
    ck_assert_int_eq(
        sql_number(connection, "select count(*) from holdfast.function_files where checksum = 'older'"), 0);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

// What CREATE OR REPLACE refuses: another result, other names of arguments, a default that is no more.
START_TEST(functions_with_another_result_are_replaced)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&database);
    sql_run(connection, "drop function holdfast.now(), holdfast.schema_version(), holdfast.draw_revision(), "
                        "holdfast.lock_names(text[])");
    sql_run(connection, "create function holdfast.now() returns integer language sql as 'select 1'");
    sql_run(connection, "create function holdfast.schema_version() returns table (a text, b text) "
                        "language sql as 'select null, null'");
    sql_run(connection, "create procedure holdfast.draw_revision() language sql as 'select 1'");
    sql_run(connection, "create function holdfast.lock_names(other text[] default null) returns boolean "
                        "language sql as 'select true'");
    sql_run(connection, "update holdfast.function_files set checksum = 'older'");
    migrates(&database);
    ck_assert_int_gt(sql_number(connection, "select extract(epoch from holdfast.now())::bigint"), 0);
    ck_assert_int_gt(sql_number(connection, "select holdfast.schema_version()"), 0);
    ck_assert_int_gt(sql_number(connection, "select holdfast.lift_revision()"), 0);
    ck_assert_int_gt(sql_number(connection, "select holdfast.draw_revision()"), 0);
    ck_assert_int_eq(sql_number(connection, "select holdfast.lock_names(names => '{a}')::integer"), 1);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

// Of the same arguments and result a function stays the object it is; one that no file defines, or that has
// other arguments, is for replicas of another version.
START_TEST(functions_that_can_stay_keep_their_grants)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&database);
    sql_run(connection, "revoke execute on function holdfast.now() from public");
    sql_run(connection, "create function holdfast.now(other integer) returns integer language sql as "
                        "'select $1'");
    sql_run(connection, "create function holdfast.of_another_version() returns integer language sql as "
                        "'select 7'");
    sql_run(connection, "create view public.uses as select holdfast.now() as at");
    sql_run(connection, "update holdfast.function_files set checksum = 'older'");
    migrates(&database);
    ck_assert_int_eq(sql_number(connection, "select holdfast.of_another_version() + holdfast.now(1)"), 8);
    ck_assert_int_eq(sql_number(connection, "select count(*) from pg_proc where proacl is not null and "
                                            "oid = 'holdfast.now()'::regprocedure"),
                     1);
    ck_assert_int_eq(sql_number(connection, "select count(*) from pg_proc where proname like '%%~'"), 0);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

// A function may move from one file to another; the file that is no more must not count as applied when it
// comes back.
START_TEST(functions_of_another_binary_are_replaced)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&database);
    sql_run(connection, "insert into holdfast.function_files values ('of_another_binary', 'x')");
    database_stop_clock(&database, 0);
    migrates(&database);
    ck_assert_int_gt(sql_number(connection, "select extract(epoch from holdfast.now())::bigint"), 0);
    ck_assert_int_eq(
        sql_number(connection,
                   "select count(*) from holdfast.function_files where name = 'of_another_binary'"),
        0);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

START_TEST(failed_migration_leaves_nothing)
{
    struct database database = database_new(api.postgres, DATABASE_EMPTY);
    PGconn *connection = database_connect(&database);
    sql_run(connection, "create schema holdfast");
    sql_run(connection, "create table holdfast.entries (other integer)");
    refuses(&database, "0001_", "already exists");
    ck_assert_int_eq(applied(connection), 0);
    ck_assert_int_eq(sql_number(connection,
                                "select count(*) from pg_class c join pg_namespace n on "
                                "n.oid = c.relnamespace where n.nspname = 'holdfast' and c.relkind in "
                                "('r', 'S') and relname not in "
                                "('migrations', 'function_files', 'entries')"),
                     0);
    sql_run(connection, "drop table holdfast.entries");
    migrates(&database);
    ck_assert_int_gt(applied(connection), 0);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

START_TEST(database_of_another_encoding_is_refused)
{
    struct database main = database_new(api.postgres, DATABASE_EMPTY);
    struct database other = {0};
    PGconn *connection = database_connect(&main);
    snprintf(other.name, sizeof other.name, "latin_%d", (int)getpid());
    snprintf(other.url, sizeof other.url, "host=%s dbname=%s user=%s", postgres_socket_folder(api.postgres),
             other.name, PQuser(connection));
    sql_run(connection, "create database %s encoding 'LATIN1' locale 'C' template template0", other.name);
    refuses(&other, "LATIN1", "UTF8");
    database_drop(api.postgres, &other);
    PQfinish(connection);
    database_drop(api.postgres, &main);
}
END_TEST

START_TEST(database_that_is_not_there)
{
    struct database nowhere = {.url = "host=/nonexistent dbname=none"};
    refuses(&nowhere, "cannot connect", "/nonexistent");
}
END_TEST

// A function in SQL that cannot be taken into the query that calls it (one that only says that it is
// immutable, or that has a query of its own) is read and planned anew by each query that calls it, which
// costs more than a read. Those that are called now and then may.
static bool are_inlined(PGconn *connection)
{
    static const char check[] =
        "do $$ declare f record; plan text; begin"
        " for f in select p.proname, p.proargtypes, p.pronargs from pg_proc p"
        " join pg_language l on l.oid = p.prolang where p.pronamespace = 'holdfast'::regnamespace"
        " and l.lanname = 'sql' and not p.proretset and p.pronargs > 0 and p.proname not in ("
        " 'begin_rotation', 'change_encryption', 'close_fork', 'end_reseal_step', 'make_buckets', "
        "'make_names',"
        " 'make_onces', 'names_in_forks', 'schema_serves') loop"
        " execute 'create temp table arguments (' || (select string_agg(format('a%s %s', i, t::regtype), ', "
        "')"
        " from unnest(f.proargtypes) with ordinality u(t, i)) || ')';"
        " for plan in execute format('explain (verbose, costs off) select holdfast.%I(%s) from arguments',"
        " f.proname, (select string_agg('a' || i, ', ') from generate_series(1, f.pronargs) i)) loop"
        " if strpos(plan, 'holdfast.' || f.proname || '(') > 0 then"
        " raise exception '% is not inlined', f.proname; end if; end loop;"
        " drop table arguments; end loop; end $$";
    PGresult *result = PQexec(connection, check);
    bool inlined = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return inlined;
}

START_TEST(functions_are_inlined)
{
    struct database database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&database);
    ck_assert(are_inlined(connection));
    sql_run(connection, "create function holdfast.joined(n integer) returns text language sql immutable as "
                        "$$ select 'n' || n $$");
    ck_assert(!are_inlined(connection));
    sql_run(connection,
            "drop function holdfast.joined(integer); create function holdfast.looked(n integer) returns "
            "bigint language sql stable as $$ select max(f.revision) from holdfast.forks f where f.no = n "
            "$$");
    ck_assert(!are_inlined(connection));
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

Suite *migrate_suite(void)
{
    const TTest *const tests[] = {
        migrate_builds_the_schema_once,
        replicas_that_start_together_migrate_once,
        migrate_waits_for_the_one_that_migrates,
        current_schema_needs_no_lock_and_no_rights,
        edited_migration_is_refused,
        newer_database_is_refused,
        later_release_says_beside_whom_it_serves,
        records_of_an_earlier_binary_are_widened,
        service_refuses_a_newer_database,
        changed_functions_are_replaced,
        functions_with_another_result_are_replaced,
        functions_that_can_stay_keep_their_grants,
        functions_of_another_binary_are_replaced,
        failed_migration_leaves_nothing,
        database_of_another_encoding_is_refused,
        database_that_is_not_there,
        functions_are_inlined,
        NULL,
    };
    return api_suite_bare("migrate", tests);
}
