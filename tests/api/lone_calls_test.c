// A lone read or write takes another way through the database than one that travels with others, and so does
// a use of a key that no other of its call is of: both must do and say the same.
#include "api.h"

#include "support/clock.h"
#include "support/scratch.h"

static PGconn *with_a_still_clock(struct database *database)
{
    *database = database_new(api.postgres, DATABASE_MIGRATED);
    PGconn *connection = database_connect(database);
    sql_run(connection, "select holdfast.lift_revision()");
    sql_run(connection,
            "create or replace function holdfast.now() returns timestamptz language sql volatile as "
            "$$ select timestamptz '2030-01-01' $$");
    return connection;
}

static PGresult *run_file(PGconn *connection, const char *file)
{
    char *path = scratch_printf(HOLDFAST_CHECKOUT "/tests/api/%s.sql", file);
    char *statements = scratch_read(path, NULL);
    free(path);
    ck_assert_ptr_nonnull(statements);
    PGresult *result = PQexec(connection, statements);
    free(statements);
    return result;
}

// What the first difference is that the comparisons of a file find; NULL for none.
static char *difference(PGconn *connection, const char *file)
{
    PQclear(run_file(connection, "used_once"));
    PGresult *result = run_file(connection, file);
    char *found = PQresultStatus(result) == PGRES_TUPLES_OK ? NULL : strdup(PQresultErrorMessage(result));
    PQclear(result);
    return found;
}

// Whether they find one when a function's text was changed, which is taken back afterwards.
static bool is_noticed(const struct database *database, const char *file, const char *function,
                       const char *was, const char *is)
{
    PGconn *connection = database_connect(database);
    sql_run(connection, "begin");
    sql_run(connection,
            "do $do$ declare text text := pg_get_functiondef('holdfast.%s'::regproc); begin"
            " assert strpos(text, '%s') > 0; execute replace(text, '%s', '%s'); end $do$",
            function, was, was, is);
    char *found = difference(connection, file);
    bool noticed = found && strstr(found, "with others");
    free(found);
    PQfinish(connection);
    return noticed;
}

START_TEST(lone_calls_do_what_calls_for_many_do)
{
    struct database database;
    PGconn *connection = with_a_still_clock(&database);
    char *found = difference(connection, "lone_calls");
    ck_assert_msg(!found, "%s", found);
    PQfinish(connection);
    ck_assert(is_noticed(&database, "lone_calls", "get_entry", "e.expires_at > r.now", "true"));
    ck_assert(is_noticed(&database, "lone_calls", "put_entry", "and b.ttl_us is null", ""));
    database_drop(api.postgres, &database);
}
END_TEST

struct change {
    const char *was, *is;
};

// Fails when the comparisons of a file find a difference, or one of the function's changes goes unnoticed.
static void compare_both_ways(const char *file, const char *function, const struct change *changes,
                              size_t count)
{
    struct database database;
    PGconn *connection = with_a_still_clock(&database);
    sql_run(connection, "begin");
    char *found = difference(connection, file);
    ck_assert_msg(!found, "%s", found);
    PQfinish(connection);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(is_noticed(&database, file, function, changes[i].was, changes[i].is),
                      "nobody notices: %s", changes[i].is);
    database_drop(api.postgres, &database);
}

START_TEST(keys_of_quotas_used_once_are_decided_like_others)
{
    static const struct change quotas[] = {
        {"limits[1] - x.used1, limits[2] - x.used2", "limits[1] - x.used1"},
        {"least(p.ends_us[p.place1], p.started_us[p.place1] + lengths[1])", "p.ends_us[p.place1]"},
        {"now_us < e.ends2 then e.ends2", "now_us <= e.ends2 then e.ends2"},
        {"array_position(s.window_ids, numbers[2])", "2"},
        {"greatest(case when d.n", "least(case when d.n"},
        {"when g.ends2 = 0 then now_us", "when g.ends1 = 0 then now_us"},
        {"when d.n > smallest then 16", "when d.n > limits[1] then 16"},
        {"count(*) = 1 and not bool_or(refunds[i])", "count(*) = 1"},
        {"where g.i <> all (done)", ""},
    };
    compare_both_ways("quotas_used_once", "use_quotas", quotas, sizeof quotas / sizeof quotas[0]);
}
END_TEST

START_TEST(keys_of_rate_limits_used_once_are_decided_like_others)
{
    static const struct change rates[] = {
        {"when r.rate_count = counts[w] and r.rate_us = uss[w]", "when true"},
        {"row_at, greatest(t0_us, r.at_us)", "row_at, coalesce(r.at_us, t0_us)"},
        {"ns[x.i] <= x.left_over", "ns[x.i] < x.left_over"},
        {"greatest(c.left_over, 0)", "c.left_over"},
        {"when ns[c.i] > bursts[w] then 16", "when ns[c.i] > c.left_over then 16"},
        {"then c.left_over - ns[c.i] else", "then c.left_over else"},
        {"where g.i <> all (done)", ""},
    };
    compare_both_ways("rates_used_once", "use_rate_limits", rates, sizeof rates / sizeof rates[0]);
}
END_TEST

static bool is_waited_for(void *user)
{
    return sql_number(user, "select count(*) from pg_locks where not granted") > 0;
}

// The sweeper holds no lock of a name: it may free or move a row between the look at it and the write.
START_TEST(uses_of_rows_that_the_sweeper_takes_meanwhile_are_kept)
{
    static const char uses[] =
        "select count(*) from (select array_fill(1::smallint, array[12]) as w, array_agg(i::smallint) as o, "
        "array_agg(('k' || i)::bytea) as p, array_fill(1::bigint, array[12]) as n, array_fill(false, "
        "array[12]) as f from generate_series(1, 12) i) a, holdfast.%s u where u.status = 0";
    static const struct {
        const char *table, *call, *used;
    } kinds[] = {
        {"quotas", "use_quotas('{quotas}', w, o, p, n, f)", "select sum(used[1]) from holdfast.quotas"},
        {"rate_limits", "use_rate_limits('{rate_limits}', w, o, p, n)",
         "select sum(debt / rate_us) from holdfast.rate_limits"},
    };
    static const char *const sweeps[] = {"update holdfast.%s set slot = slot + 1", "delete from holdfast.%s"};
    struct database database;
    PGconn *connection = with_a_still_clock(&database);
    PGconn *sweeper = database_connect(&database);
    sql_run(connection, "set plan_cache_mode = force_generic_plan");
    sql_run(connection, "select holdfast.declare_quota('quotas', '{a}', '{10}', '{3600000000}')");
    sql_run(connection, "select holdfast.declare_rate_limit('rate_limits', 1, 3600000000, 10, null)");
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        char *call = scratch_printf(uses, kinds[kind].call);
        ck_assert_int_eq(sql_number(connection, "%s", call), 12);
        for (int i = 0; i < 2; i++) {
            char *sweep = scratch_printf(sweeps[i], kinds[kind].table);
            sql_run(sweeper, "begin");
            sql_run(sweeper, "%s", sweep);
            ck_assert(PQsendQuery(connection, call));
            ck_assert(clock_wait(is_waited_for, sweeper, 10000));
            sql_run(sweeper, "commit");
            PGresult *result = PQgetResult(connection);
            ck_assert_str_eq(PQgetvalue(result, 0, 0), "12");
            PQclear(result);
            ck_assert_ptr_null(PQgetResult(connection));
            ck_assert_int_eq(sql_number(connection, "%s", kinds[kind].used), 12 * (i + 2));
            free(sweep);
        }
        free(call);
    }
    PQfinish(sweeper);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

// Some of a call are written at once, the others by the query that looks first; none twice, and none not at
// all.
START_TEST(plain_writes_travel_with_others)
{
    struct database database;
    PGconn *connection = with_a_still_clock(&database);
    sql_run(connection, "insert into holdfast.buckets (name, created_at) values ('b', now())");
    sql_run(connection,
            "insert into holdfast.entries (bucket_id, path, version, expires_at, value)"
            " select b.id, e.path::bytea, 500, e.expires_at, 'was' from holdfast.buckets b, (values"
            " ('there', null::timestamptz), ('expiring', '2030-01-02'), ('expired', '2029-01-01'),"
            " ('matched', null), ('missed', null)) e(path, expires_at)");
    char *statuses = sql_text(
        connection,
        "select string_agg(o || ':' || status || case when version = 500 then 'old' else '' end, ' ' order "
        "by o)"
        " from holdfast.put_entries('{b}', '{1,1,1,1,1,1,1,1}', '{1,2,4,5,6,7,8,9}',"
        " '{new,there,expiring,expired,matched,missed,term,large}',"
        " array['1', '2', '3', '4', '5', '6', '7', repeat('8', 9000000)]::bytea[], array_fill(null::text, "
        "array[8]),"
        " array_fill(null::bytea, array[8]), array_fill('any'::text, array[8]), '{0,0,0,0,4,4,0,0}',"
        " array[null, null, null, null, '{500}', '{501}', null, null], array_fill(null::text, array[8]),"
        " '{null,null,null,null,null,null,60000000,null}', array_fill(null::timestamptz, array[8]),"
        " array_fill(true, array[8]))");
    ck_assert_pstr_eq(statuses, "1:0 2:1 4:1 5:0 6:1 7:2old 8:0 9:6");
    free(statuses);
    char *values =
        sql_text(connection, "select string_agg(encode(path, 'escape') || '=' || encode(value, 'escape') || "
                             "case when expires_at is null then '' else '!' end, ' ' order by path)"
                             " from holdfast.entries");
    ck_assert_pstr_eq(values, "expired=4 expiring=3! matched=5 missed=was new=1 term=7! there=2");
    free(values);
    ck_assert_int_eq(sql_number(connection, "select count(distinct version) from holdfast.entries"), 7);
    PQfinish(connection);
    database_drop(api.postgres, &database);
}
END_TEST

Suite *lone_calls_suite(void)
{
    const TTest *const tests[] = {
        lone_calls_do_what_calls_for_many_do,
        plain_writes_travel_with_others,
        keys_of_quotas_used_once_are_decided_like_others,
        keys_of_rate_limits_used_once_are_decided_like_others,
        uses_of_rows_that_the_sweeper_takes_meanwhile_are_kept,
        NULL,
    };
    return api_suite_bare("lone_calls", tests);
}
