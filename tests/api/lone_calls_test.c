// A lone read or write takes another way through the database than one that travels with others: both must do
// and say the same.
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

// What the first difference is that the comparisons of the file find; NULL for none.
static char *difference(PGconn *connection)
{
    char *comparisons = scratch_read(HOLDFAST_CHECKOUT "/tests/api/lone_calls.sql", NULL);
    ck_assert_ptr_nonnull(comparisons);
    PGresult *result = PQexec(connection, comparisons);
    char *found = PQresultStatus(result) == PGRES_TUPLES_OK ? NULL : strdup(PQresultErrorMessage(result));
    PQclear(result);
    free(comparisons);
    return found;
}

// Whether they find one when a function's text was changed, which is taken back afterwards.
static bool is_noticed(const struct database *database, const char *function, const char *was, const char *is)
{
    PGconn *connection = database_connect(database);
    sql_run(connection, "begin");
    sql_run(connection,
            "do $do$ declare text text := pg_get_functiondef('holdfast.%s'::regproc); begin"
            " assert strpos(text, '%s') > 0; execute replace(text, '%s', '%s'); end $do$",
            function, was, was, is);
    char *found = difference(connection);
    bool noticed = found && strstr(found, "with others");
    free(found);
    PQfinish(connection);
    return noticed;
}

START_TEST(lone_calls_do_what_calls_for_many_do)
{
    struct database database;
    PGconn *connection = with_a_still_clock(&database);
    char *found = difference(connection);
    ck_assert_msg(!found, "%s", found);
    PQfinish(connection);
    ck_assert(is_noticed(&database, "get_entry", "e.expires_at > r.now", "true"));
    ck_assert(is_noticed(&database, "put_entry", "and b.ttl_us is null", ""));
    database_drop(api.postgres, &database);
}
END_TEST

Suite *lone_calls_suite(void)
{
    const TTest *const tests[] = {lone_calls_do_what_calls_for_many_do, NULL};
    return api_suite_bare("lone_calls", tests);
}
