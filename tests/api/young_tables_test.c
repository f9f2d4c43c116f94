// Sessions keep their plans, and the first ones are made while tables are empty: a plan that reads all that a
// bucket has would be cheap then, and dear for as long as nobody analyzes the table. Rows that a call reads
// are counted.
#include "limit_steps.h"

#include "support/scratch.h"

enum { CALLED = 32, THERE = 3000 };

#define SETTINGS                                                                                             \
    "set search_path = pg_catalog; set plan_cache_mode = force_generic_plan; set enable_seqscan = off; "     \
    "set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set jit = off"

// Of so many paths from a first one; `%1$s` is the name, `%2$d` the first, `%3$d` how many.
#define SAME(type, value) "array_fill(" value "::" type ", array[%3$d])"
#define PATHS             "array(select convert_to((%2$d + i)::text, 'UTF8') from generate_series(1, %3$d) i)"
#define FIRST                                                                                                \
    "array['%1$s'], " SAME("smallint",                                                                       \
                           "1") ", array(select i::smallint from generate_series(1, %3$d) i), " PATHS

struct called {
    const char *table;
    const char *path;
    const char *configuration;
    const char *call;
};

static const struct called calls[] = {
    {"counters", "counters", "{}",
     "change_counters(" FIRST
     ", " SAME("boolean", "true") ", " SAME("bigint", "1") ", " SAME("boolean", "true") ")"},
    {"rate_limits", "rate-limits", "{\"rate\":\"9/h\"}",
     "use_rate_limits(" FIRST ", " SAME("bigint", "1") ")"},
    {"quotas", "quotas", "{\"windows\":{\"a\":\"9/h\",\"b\":\"9/d\"}}",
     "use_quotas(" FIRST ", " SAME("bigint", "1") ", " SAME("boolean", "false") ")"},
    {"entries", "buckets", "{}",
     "put_entries(" FIRST
     ", " SAME("bytea", "'v'") ", " SAME("text", "null") ", " SAME("bytea", "null") ", " SAME("text", "'any'") ", " SAME(
         "smallint",
         "1") ", " SAME("text",
                        "null") ", " SAME("text",
                                          "null") ", " SAME("bigint",
                                                            "null") ", " SAME("timestamptz",
                                                                              "null") ", " SAME("boolean",
                                                                                                "true") ")"},
    {"entries", "buckets", "{}",
     "get_entries(" FIRST ", " SAME("bigint", "null") ", " SAME("boolean", "true") ", 65536)"},
    {"entries", "buckets", "{}",
     "take_entries(" FIRST
     ", " SAME("smallint", "0") ", " SAME("text", "null") ", " SAME("text", "null") ", -1)"},
};

static void call(PGconn *connection, const struct called *called, const char *name, int first, int count)
{
    char *call = scratch_printf(called->call, name, first, count);
    sql_run(connection, "select count(*) from holdfast.%s", call);
    free(call);
}

static void fill(PGconn *connection, const struct called *called, const char *name)
{
    if (strcmp(called->table, "entries") != 0)
        call(connection, called, name, 10000, THERE);
    else
        sql_run(
            connection,
            "insert into holdfast.entries (bucket_id, path, version, value) select b.id, "
            "convert_to((10000 + i)::text, 'UTF8'), 1, 'v' from holdfast.buckets b, generate_series(1, %d) i "
            "where b.name = '%s'",
            THERE, name);
}

static int64_t rows_read(PGconn *connection, const char *table)
{
    return sql_number(connection,
                      "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables "
                      "where schemaname = 'holdfast' and relname = '%s'",
                      table);
}

static void expect_few(PGconn *connection, const struct called *called)
{
    const char *name = declared(called->path, called->configuration);
    sql_run(connection, "begin");
    call(connection, called, name, 1, CALLED);
    fill(connection, called, name);
    int64_t before = rows_read(connection, called->table);
    call(connection, called, name, 10000 + THERE - CALLED,
         CALLED); // the last: who reads from the first on gets there late
    int64_t rows = rows_read(connection, called->table) - before;
    sql_run(connection, "rollback");
    ck_assert_msg(rows >= CALLED && rows < 10 * CALLED, "%s read %lld rows", called->call, (long long)rows);
}

START_TEST(plans_of_young_tables_read_what_they_are_asked_for)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        PGconn *connection = database_connect(&api.database);
        sql_run(connection, SETTINGS);
        expect_few(connection, &calls[i]);
        PQfinish(connection);
    }
}
END_TEST

Suite *young_tables_suite(void)
{
    const TTest *const tests[] = {plans_of_young_tables_read_what_they_are_asked_for, NULL};
    return api_suite("young_tables", NULL, tests);
}
