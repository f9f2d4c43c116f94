// Releases that follow one another on one database while both serve: the schema and its functions change
// beneath replicas under load, and no request fails.
#include "traffic_steps.h"

#include "support/clock.h"
#include "support/process.h"
#include "support/scratch.h"

#include <stdio.h>

enum { PATIENCE = 60 * 1000, ROUNDS = 40 };

// What the release after this one may do: it adds a table and columns of tables that every request reads, and
// gives way to a request that has taken them in another order.
static const char later_tables[] =
    "do $$ begin loop begin "
    "create table holdfast.of_later (id integer primary key);"
    "alter table holdfast.entries add column later text;"
    "alter table holdfast.buckets add column later integer not null default 7;"
    "insert into holdfast.migrations (number, name, checksum, serves_from)"
    " select max(number) + 1, 'later', 'x', max(number) from holdfast.migrations;"
    " exit; exception when deadlock_detected then null; end; end loop; end $$";

// It gives every function another text.
static const char later_texts[] =
    "do $$ declare f record; begin"
    " for f in select pg_get_functiondef(p.oid) as text, p.prosrc from pg_proc p"
    " where p.pronamespace = 'holdfast'::regnamespace loop"
    " execute replace(f.text, f.prosrc, f.prosrc || E'\\n-- later');"
    " end loop; end $$";

// And two of those that each request calls give a column more, which is another function in the place of the
// first.
static const char later_columns[] =
    "do $$ declare f record; begin"
    " for f in select p.oid::regprocedure as signature, p.proname as name, p.pronargs as arguments,"
    " pg_get_function_identity_arguments(p.oid) as takes, pg_get_function_result(p.oid) as gives"
    " from pg_proc p where p.pronamespace = 'holdfast'::regnamespace"
    " and p.proname in ('get_entries', 'put_entries') loop"
    " execute format('alter function %s rename to %I', f.signature, f.name || '_of_earlier');"
    " execute format('create function holdfast.%I(%s) returns %s language sql volatile as"
    " ''select e.*, 1 from holdfast.%I(%s) e''', f.name, f.takes, regexp_replace(f.gives, '\\)$', ', later "
    "integer)'),"
    " f.name || '_of_earlier', (select string_agg('$' || i, ', ') from generate_series(1, f.arguments) i));"
    " end loop; end $$";

static const char earlier_columns[] =
    "do $$ declare f record; begin"
    " for f in select p.oid::regprocedure as signature, p.proname as name, p.proargtypes from pg_proc p"
    " where p.pronamespace = 'holdfast'::regnamespace and p.proname in ('get_entries', 'put_entries') loop"
    " execute format('drop function %s', f.signature);"
    " execute format('alter function holdfast.%I(%s) rename to %I', f.name || '_of_earlier',"
    " (select string_agg(t::regtype::text, ', ') from unnest(f.proargtypes) t), f.name);"
    " end loop; end $$";

static struct service *start(const char *const *flags, bool unready)
{
    return service_start(
        &(struct service_options){.database = api.database.url, .flags = flags, .unready = unready});
}

static const char *const only_serves[] = {"--no-migrate", NULL};

static pid_t begin_migrating(void)
{
    const char *const arguments[] = {service_binary(), "migrate", "--database", api.database.url, NULL};
    char *folder = scratch_folder("release");
    char *log = scratch_printf("%s/log", folder);
    pid_t pid =
        process_start(&(struct process_options){.arguments = arguments, .output = log, .stdout_fd = -1});
    free(log);
    free(folder);
    return pid;
}

static void expect_quiet(const struct service *service)
{
    char *log = scratch_read(service_log(service), NULL);
    static const char *const events[] = {"statement_failed", "call_split", "database_lost", "row_missing"};
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        const char *found = strstr(log, events[i]);
        if (found)
            ck_abort_msg("%.300s", found);
    }
    free(log);
}

START_TEST(later_release_beside_this_one)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&api.database);
    struct service *one = start(NULL, false), *other = start(only_serves, false);
    struct traffic traffic = {.urls = {service_url(one), service_url(other)}, .places = 2};
    traffic_begin(&traffic);
    sql_run(connection, "%s", later_tables);
    traffic_goes_on(&traffic, 100);
    sql_run(connection,
            "begin; %s; %s; update holdfast.function_files set checksum = 'later', release = '999.0'; commit",
            later_texts, later_columns);
    traffic_goes_on(&traffic, 200);
    ck_assert(service_wait_ready(one, 0) && service_wait_ready(other, 0));
    expect_quiet(one);
    expect_quiet(other);
    traffic_end(&traffic);
    service_end(one);
    // Who starts again meanwhile serves too, and takes nothing of the later release back.
    one = start(NULL, false);
    struct service *third = start(only_serves, false);
    ck_assert_int_eq(process_wait(begin_migrating(), PATIENCE), 0);
    struct traffic after = {.urls = {service_url(one), service_url(other), service_url(third)}, .places = 3};
    traffic_begin(&after);
    traffic_end(&after);
    ck_assert_int_eq(sql_number(connection, "select count(*) from holdfast.function_files where "
                                            "checksum <> 'later'"),
                     0);
    ck_assert_int_eq(sql_number(connection, "select count(*) from pg_proc where proname = 'put_entries' and "
                                            "pg_get_function_result(oid) like '%%later integer%%'"),
                     1);
    service_end(one);
    service_end(other);
    service_end(third);
    PQfinish(connection);
    database_drop(api.postgres, &api.database);
}
END_TEST

START_TEST(functions_are_replaced_beneath_clients)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&api.database);
    struct service *service = start(NULL, false);
    struct traffic traffic = {.urls = {service_url(service)}, .places = 1};
    traffic_begin(&traffic);
    for (int i = 0; i < ROUNDS; i++) {
        sql_run(connection, "%s", later_texts);
        traffic_goes_on(&traffic, 3);
        sql_run(connection, "%s", later_columns);
        traffic_goes_on(&traffic, 3);
        sql_run(connection, "%s", earlier_columns);
        traffic_goes_on(&traffic, 3);
    }
    // As a release does it whose functions differ.
    sql_run(connection, "update holdfast.function_files set checksum = 'earlier', release = '0.0'");
    ck_assert_int_eq(process_wait(begin_migrating(), PATIENCE), 0);
    traffic_goes_on(&traffic, 100);
    traffic_end(&traffic);
    expect_quiet(service);
    service_end(service);
    PQfinish(connection);
    database_drop(api.postgres, &api.database);
}
END_TEST

// One migration behind: what the last one adds is not there, and its functions are of an earlier release.
static void take_last_migration_back(PGconn *connection)
{
    sql_run(connection, "alter table holdfast.reseals drop column warrant");
    sql_run(connection, "delete from holdfast.migrations where number = 13");
    sql_run(connection, "update holdfast.function_files set release = '0.0', checksum = 'earlier'");
}

static bool somebody_waits_for_a_table(void *user)
{
    return sql_number(user, "select count(*) from pg_locks where not granted and "
                            "mode = 'AccessExclusiveLock' and relation = 'holdfast.buckets'::regclass") > 0;
}

static bool nobody_waits_for_a_table(void *user)
{
    return !somebody_waits_for_a_table(user);
}

// The tables that the migration changes are read by a dump, or by somebody at psql: it does not hold up those
// behind it.
START_TEST(migration_lets_requests_pass)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&api.database), *reader = database_connect(&api.database);
    take_last_migration_back(connection);
    struct service *service = start(only_serves, true);
    struct traffic traffic = {.urls = {service_url(service)}, .places = 1};
    ck_assert(!service_wait_ready(service, 500));
    traffic_begin(&traffic);
    sql_run(reader, "begin");
    sql_run(reader, "select count(*) from holdfast.buckets");
    pid_t pid = begin_migrating();
    for (int i = 0; i < 3; i++) {
        ck_assert(clock_wait(somebody_waits_for_a_table, connection, PATIENCE));
        ck_assert(clock_wait(nobody_waits_for_a_table, connection, PATIENCE));
        traffic_goes_on(&traffic, 50);
    }
    ck_assert_int_eq(sql_number(connection, "select max(number) from holdfast.migrations"), 12);
    sql_run(reader, "commit");
    ck_assert_int_eq(process_wait(pid, PATIENCE), 0);
    ck_assert(service_wait_ready(service, PATIENCE));
    traffic_goes_on(&traffic, 100);
    traffic_end(&traffic);
    expect_quiet(service);
    service_end(service);
    PQfinish(reader);
    PQfinish(connection);
    database_drop(api.postgres, &api.database);
}
END_TEST

static bool somebody_waits_for_dropped_buckets(void *user)
{
    return sql_number(user, "select count(*) from pg_locks where not granted and "
                            "relation = 'holdfast.dropped_buckets'::regclass") > 0;
}

START_TEST(migration_gives_way_in_a_deadlock)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(&api.database);
    take_last_migration_back(connection);
    sql_run(connection, "alter database %s set deadlock_timeout = '300ms'", api.database.name);
    PGconn *reader = database_connect(&api.database);
    sql_run(reader, "begin; set local deadlock_timeout = '1min'");
    sql_run(reader, "select count(*) from holdfast.dropped_buckets");
    pid_t pid = begin_migrating();
    ck_assert(clock_wait(somebody_waits_for_dropped_buckets, connection, PATIENCE));
    sql_run(reader, "select count(*) from holdfast.buckets"); // which the migration has changed by now
    sql_run(reader, "commit");
    ck_assert_int_eq(process_wait(pid, PATIENCE), 0);
    PQfinish(reader);
    PQfinish(connection);
    database_drop(api.postgres, &api.database);
}
END_TEST

Suite *release_load_suite(void)
{
    const TTest *const tests[] = {
        later_release_beside_this_one,
        functions_are_replaced_beneath_clients,
        migration_lets_requests_pass,
        migration_gives_way_in_a_deadlock,
        NULL,
    };
    return api_suite_bare("release_load", tests);
}
