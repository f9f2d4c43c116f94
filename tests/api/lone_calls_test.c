// A lone read or write takes another way through the database than one that travels with others, and so does
// a use of a key that no other of its call is of: both must do and say the same.
#include "api.h"

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

// What the first difference is that the comparisons of a file find; NULL for none.
static char *difference(PGconn *connection, const char *file)
{
    char *path = scratch_printf(HOLDFAST_CHECKOUT "/tests/api/%s.sql", file);
    char *comparisons = scratch_read(path, NULL);
    free(path);
    ck_assert_ptr_nonnull(comparisons);
    PGresult *result = PQexec(connection, comparisons);
    char *found = PQresultStatus(result) == PGRES_TUPLES_OK ? NULL : strdup(PQresultErrorMessage(result));
    PQclear(result);
    free(comparisons);
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

START_TEST(keys_used_once_in_a_call_are_decided_like_others)
{
    static const char *const changes[][2] = {
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
    struct database database;
    PGconn *connection = with_a_still_clock(&database);
    sql_run(connection, "begin");
    char *found = difference(connection, "keys_used_once");
    ck_assert_msg(!found, "%s", found);
    sql_run(connection, "rollback");
    PQfinish(connection);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        ck_assert_msg(is_noticed(&database, "keys_used_once", "use_quotas", changes[i][0], changes[i][1]),
                      "nobody notices: %s", changes[i][1]);
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
    const TTest *const tests[] = {lone_calls_do_what_calls_for_many_do, plain_writes_travel_with_others,
                                  keys_used_once_in_a_call_are_decided_like_others, NULL};
    return api_suite_bare("lone_calls", tests);
}
