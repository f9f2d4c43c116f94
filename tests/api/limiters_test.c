// What holds for counters, rate limits, gates and quotas alike: names, branches, resets, clears, proxies and
// the sweeper.
#include "limit_steps.h"

#include "support/clock.h"
#include "support/random.h"

struct kind {
    const char *path;
    const char *kind; // in JSON
    const char *configuration;
    const char *use; // the call that uses one, and its body
    const char *body;
    const char *query;   // that looking needs
    const char *counted; // the member that a use changes
    int64_t at_first;    // what it is without a use
    int64_t then;        // and after one
    bool enforces;
};

static const struct kind kinds[] = {
    {"counters", "counter", "{\"ttl\":\"1h\"}", "add", "{\"by\":1}", "", "value", 0, 1, false},
    {"rate-limits", "rate_limit", "{\"rate\":\"1/h\",\"burst\":1}", "allow", "{}", "", "left", 1, 0, true},
    {"rate-gates", "rate_gate", NULL, "check", "{\"max\":1,\"window\":\"1h\"}", "max=1&window=1h", "current",
     0, 1, true},
    {"quotas", "quota", "{\"windows\":{\"a\":\"1/h\"}}", "allow", "{}", "", "left", 1, 0, true},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const char *new_name(const struct kind *kind)
{
    return kind->configuration ? declared(kind->path, kind->configuration) : api_bucket();
}

static struct answer *use(const struct kind *kind, const char *name, const char *key, const char *query)
{
    return POST(TEXT("%s/%s?%s", key_path(kind->path, name, key), kind->use, query), bytes_of(kind->body));
}

static void expect_state(const struct kind *kind, const char *name, const char *key, const char *query,
                         bool used)
{
    const char *joined =
        *kind->query && *query ? TEXT("%s&%s", kind->query, query) : TEXT("%s%s", kind->query, query);
    const char *path = key_path(kind->path, name, key);
    struct answer *answer = GET(*joined ? TEXT("%s?%s", path, joined) : path);
    ck_status(answer, 200);
    ck_reply(answer, number_in(answer, kind->counted) == (used ? kind->then : kind->at_first));
}

START_TEST(one_name_has_one_kind)
{
    for (size_t i = 0; i < KINDS; i++)
        for (size_t j = 0; j < KINDS; j++) {
            const char *name = new_name(&kinds[i]);
            ck_status(use(&kinds[i], name, "k", ""), 200);
            if (i == j)
                continue;
            struct answer *refused = use(&kinds[j], name, "k", "");
            ck_problem(refused, 409, "kind_mismatch");
            ck_assert_pstr_eq(answer_text(refused, "actual_kind"), kinds[i].kind);
            const char *path = key_path(kinds[j].path, name, "k");
            ck_problem(GET(*kinds[j].query ? TEXT("%s?%s", path, kinds[j].query) : path), 409,
                       "kind_mismatch");
            ck_problem(DELETE(path), 409, "kind_mismatch");
            ck_problem(DELETE(name_path(kinds[j].path, name)), 409, "kind_mismatch");
            ck_problem(DELETE(TEXT("%s?under=a", name_path(kinds[j].path, name))), 409, "kind_mismatch");
            if (kinds[j].configuration) {
                ck_problem(GET(name_path(kinds[j].path, name)), 409, "kind_mismatch");
                ck_problem(PUT(name_path(kinds[j].path, name), bytes_of(kinds[j].configuration)), 409,
                           "kind_mismatch");
            }
            ck_problem(PUT(api_entry(name, "k"), BODY("v")), 409, "kind_mismatch");
            ck_problem(GET(api_entry(name, "k")), 409, "kind_mismatch");
            ck_problem(DECLARE(name, "{}"), 409, "kind_mismatch");
            ck_problem(DELETE(TEXT("/v1/buckets/%s", name)), 409, "kind_mismatch");
            expect_state(&kinds[i], name, "k", "", true);
        }
    const char *bucket = bucket_of_type("any");
    for (size_t i = 0; i < KINDS; i++)
        ck_problem(use(&kinds[i], bucket, "k", ""), 409, "kind_mismatch");
}
END_TEST

START_TEST(every_kind_is_listed_with_its_configuration)
{
    static const char *const shown[] = {
        "{\"ttl\":\"1h\",\"lose_at_most\":null}",
        "{\"rate\":\"1/h\",\"burst\":1,\"lose_at_most\":null}",
        "{}",
        "{\"windows\":{\"a\":\"1/h\"}}",
    };
    for (size_t i = 0; i < KINDS; i++) {
        const char *name = new_name(&kinds[i]);
        ck_status(use(&kinds[i], name, "k", ""), 200);
        struct answer *list = GET(TEXT("/v1/buckets?prefix=%s", name));
        ck_reply(list, json_array_size(json_object_get(list->json, "buckets")) >= 1);
        json_t *item = json_array_get(json_object_get(list->json, "buckets"), 0);
        ck_assert_str_eq(json_string_value(json_object_get(item, "name")), name);
        ck_assert_str_eq(json_string_value(json_object_get(item, "kind")), kinds[i].kind);
        json_t *expected = json_loads(shown[i], 0, NULL);
        ck_reply(list, json_equal(json_object_get(item, "configuration"), expected));
        json_decref(expected);
    }
}
END_TEST

START_TEST(keys_of_branches_are_apart)
{
    for (size_t i = 0; i < KINDS; i++) {
        const char *name = new_name(&kinds[i]);
        ck_status(use(&kinds[i], name, "k", "under=a"), 200);
        expect_state(&kinds[i], name, "k", "", false);
        expect_state(&kinds[i], name, "k", "under=a&under=b", false);
        expect_state(&kinds[i], name, "k", "under=a", true);
        // Any bytes.
        ck_status(use(&kinds[i], name, "a%2Fb%00%FF", "under=%FE%00"), 200);
        expect_state(&kinds[i], name, "a%2Fb%00%FF", "under=%FE%00", true);
        ck_invalid(use(&kinds[i], name, "k", "under="), "under");
        ck_over_limit(use(&kinds[i], name, TEXT("%01024d", 0), "under=a"), 413, "too_large", 1024);
        ck_invalid(use(&kinds[i], TEXT("%0129d", 0), "k", ""), "name");
        ck_invalid(use(&kinds[i], "%00", "k", ""), "name");
        ck_invalid(DELETE(name_path(kinds[i].path, "%FF")), "name");
    }
}
END_TEST

START_TEST(reset_key_is_as_if_never_used)
{
    for (size_t i = 0; i < KINDS; i++) {
        const char *name = new_name(&kinds[i]);
        ck_status(use(&kinds[i], name, "k", ""), 200);
        ck_status(use(&kinds[i], name, "other", ""), 200);
        ck_status(use(&kinds[i], name, "k", "under=a"), 200);
        struct answer *reset = DELETE(key_path(kinds[i].path, name, "k"));
        ck_status(reset, 204);
        answer_need(reset, "Holdfast-Position");
        ck_status(DELETE(key_path(kinds[i].path, name, "k")), 204);
        ck_status(DELETE(key_path(kinds[i].path, name, "never")), 204);
        expect_state(&kinds[i], name, "k", "", false);
        expect_state(&kinds[i], name, "other", "", true);
        expect_state(&kinds[i], name, "k", "under=a", true);
        ck_status(use(&kinds[i], name, "k", ""), 200);
        expect_state(&kinds[i], name, "k", "", true);
    }
}
END_TEST

START_TEST(cleared_branch_takes_those_below)
{
    for (size_t i = 0; i < KINDS; i++) {
        const char *name = new_name(&kinds[i]);
        static const char *const branches[] = {"", "under=a", "under=a&under=b", "under=b", "under=ab"};
        for (size_t j = 0; j < 5; j++)
            ck_status(use(&kinds[i], name, "k", branches[j]), 200);
        struct answer *cleared = DELETE(TEXT("%s?under=a", name_path(kinds[i].path, name)));
        ck_status(cleared, 204);
        answer_need(cleared, "Holdfast-Position");
        for (size_t j = 0; j < 5; j++)
            expect_state(&kinds[i], name, "k", branches[j], j != 1 && j != 2);
        ck_problem(DELETE(TEXT("%s?under=a", name_path(kinds[i].path, api_bucket()))), 404, "not_found");
        ck_invalid(DELETE(TEXT("%s?under=", name_path(kinds[i].path, name))), "under");
    }
}
END_TEST

// More keys than one step clears.
START_TEST(large_branch_is_cleared_whole)
{
    PGconn *connection = database_connect(&api.database);
    const char *name = declared("counters", "{}");
    sql_run(connection,
            "insert into holdfast.counters (bucket_id, value, path) "
            "select b.id, 1, o.path || '\\x01'::bytea || convert_to(i::text, 'UTF8') "
            "from holdfast.buckets b, generate_series(1, 25000) i, "
            "(values ('\\x02610001'::bytea), ('\\x02620001'::bytea)) o(path) where b.name = '%s'",
            name);
    ck_status(DELETE(TEXT("%s?under=a", name_path("counters", name))), 204);
    ck_assert_int_eq(sql_number(connection,
                                "select count(*) from holdfast.counters c join holdfast.buckets b "
                                "on b.id = c.bucket_id where b.name = '%s'",
                                name),
                     25000);
    ck_body(GET(TEXT("%s?under=b", key_path("counters", name, "25000"))), BODY("{\"value\":1}\n"));
    PQfinish(connection);
}
END_TEST

START_TEST(dropped_name_is_free_for_another_kind)
{
    for (size_t i = 0; i < KINDS; i++) {
        const char *name = new_name(&kinds[i]);
        ck_status(use(&kinds[i], name, "k", ""), 200);
        struct answer *dropped = DELETE(name_path(kinds[i].path, name));
        ck_status(dropped, 204);
        answer_need(dropped, "Holdfast-Position");
        ck_problem(DELETE(name_path(kinds[i].path, name)), 404, "not_found");
        ck_status(PUT(api_entry(name, "k"), BODY("v")), 201);
        ck_status(DELETE(TEXT("/v1/buckets/%s", name)), 204);
        if (kinds[i].configuration)
            ck_status(PUT(name_path(kinds[i].path, name), bytes_of(kinds[i].configuration)), 201);
        expect_state(&kinds[i], name, "k", "", false);
    }
}
END_TEST

START_TEST(refusal_uses_nothing_and_can_be_obeyed)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (!kinds[i].enforces)
            continue;
        const char *name = new_name(&kinds[i]);
        database_stop_clock(&api.database, START);
        struct answer *granted = use(&kinds[i], name, "k", "");
        ck_reply(granted, truth_in(granted, "ok"));
        answer_need(granted, "Holdfast-Position");
        database_stop_clock(&api.database, START + 1);
        for (int n = 0; n < 5; n++) {
            struct answer *refused = use(&kinds[i], name, "k", "");
            ck_reply(refused, !truth_in(refused, "ok"));
            ck_header(refused, "Retry-After", "3600");
            ck_header(refused, "Holdfast-Position", NULL);
        }
        database_stop_clock(&api.database, START + 1 + 3600 * SECOND);
        ck_reply(granted, truth_in(use(&kinds[i], name, "k", ""), "ok"));
        database_shift_clock(&api.database, 0);
    }
}
END_TEST

START_TEST(enforced_answer_is_a_status)
{
    for (size_t i = 0; i < KINDS; i++) {
        const char *name = new_name(&kinds[i]);
        if (!kinds[i].enforces) {
            ck_invalid(use(&kinds[i], name, "k", "enforce=true"), "enforce");
            continue;
        }
        database_stop_clock(&api.database, START);
        struct answer *granted = use(&kinds[i], name, "k", "enforce=true");
        ck_status(granted, 204);
        answer_need(granted, "Holdfast-Position");
        answer_need(granted, "RateLimit");
        answer_need(granted, "RateLimit-Policy");
        ck_header(granted, "Retry-After", NULL);
        struct answer *plain = use(&kinds[i], name, "k", "enforce=false");
        struct answer *refused = use(&kinds[i], name, "k", "enforce=true");
        ck_problem(refused, 429, "too_many");
        ck_header(refused, "Retry-After", answer_need(plain, "Retry-After"));
        ck_header(refused, "RateLimit", answer_need(plain, "RateLimit"));
        const char *member;
        json_t *value;
        json_object_foreach(plain->json, member, value)
            ck_reply(refused, json_equal(json_object_get(refused->json, member), value));
        ck_invalid(use(&kinds[i], name, "k", "enforce=yes"), "enforce");
        ck_invalid(use(&kinds[i], name, "k", "enforce="), "enforce");
        database_shift_clock(&api.database, 0);
    }
}
END_TEST

START_TEST(looking_uses_nothing)
{
    for (size_t i = 0; i < KINDS; i++) {
        const char *name = new_name(&kinds[i]);
        for (int n = 0; n < 3 && kinds[i].configuration; n++)
            expect_state(&kinds[i], name, "k", "", false);
        ck_status(use(&kinds[i], name, "k", ""), 200);
        for (int n = 0; n < 3; n++)
            expect_state(&kinds[i], name, "k", "", true);
        const char *path = key_path(kinds[i].path, name, "k");
        ck_status(HEAD(*kinds[i].query ? TEXT("%s?%s", path, kinds[i].query) : path), 200);
    }
}
END_TEST

// --- batches ---------------------------------------------------------------------------------------------

// What a function answers to many operations in one call, and to the same one after the other on other keys:
// positions apart, which only grow.
static char *answers(PGconn *connection, const char *call, const char *columns, const char *keys, int from,
                     int to)
{
    return sql_text(
        connection,
        "with ops as (select i, row_number() over (order by i) o, k, n from batch where i between %d and %d) "
        "select string_agg(r.line, ' ' order by r.o) from (select f.o, concat_ws(':', %s) line from "
        "(select array_agg(1::smallint order by i) w, array_agg(o::smallint order by i) o, "
        "array_agg(%s order by i) p, array_agg(n order by i) n, array_agg(n %% 2 = 0 order by i) f from ops) "
        "a, "
        "holdfast.%s f) r",
        from, to, columns, keys, call);
}

START_TEST(batch_is_decided_as_one_after_the_other)
{
    static const struct {
        const char *kind, *configuration, *call, *columns;
    } cases[] = {
        {"counters", "{}", "change_counters(array['%s'], w, o, p, f, n, f)", "f.status, f.val"},
        {"counters", "{}",
         "change_counters(array['%s'], w, o, p, array_fill(true, array[cardinality(n)]), n, f)",
         "f.status, f.val"},
        {"rate-limits", "{\"rate\":\"7/3s\",\"burst\":60}", "use_rate_limits(array['%s'], w, o, p, n)",
         "f.status, f.left_over, coalesce(f.retry_us, 0)"},
        {"rate-gates", NULL,
         "check_rate_gates(array['%s'], w, o, p, array(select x * 9 from unnest(n) x), "
         "array(select x * 1000000 from unnest(n) x))",
         "f.status, f.used, f.resets_us"},
        {"quotas", "{\"windows\":{\"a\":\"50/h\",\"b\":\"60/d\"}}",
         "use_quotas(array['%s'], w, o, p, n, array_fill(false, array[cardinality(n)]))",
         "f.status, f.used, f.ends, coalesce(f.retry_us, 0)"},
        {"quotas", "{\"windows\":{\"a\":\"50/h\",\"b\":\"60/d\"}}", "use_quotas(array['%s'], w, o, p, n, f)",
         "f.status, f.used, f.ends, coalesce(f.retry_us, 0)"},
    };
    enum { SIZE = 40 };
    PGconn *connection = database_connect(&api.database);
    struct random random = random_seeded(random_run_seed(), 2);
    database_stop_clock(&api.database, START);
    sql_run(connection, "create temporary table batch (i int, k int, n bigint)");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int keys = 1; keys <= 5; keys += 2)
            for (int most = 1; most <= 4; most++) {
                const char *name =
                    cases[i].configuration ? declared(cases[i].kind, cases[i].configuration) : api_bucket();
                int call_size = snprintf(NULL, 0, "%s%s", cases[i].call, name) + 1;
                char *call = malloc((size_t)call_size);
                const char *mark = strstr(cases[i].call, "%s");
                snprintf(call, (size_t)call_size, "%.*s%s%s", (int)(mark - cases[i].call), cases[i].call,
                         name, mark + 2);
                sql_run(connection, "truncate batch");
                for (int n = 1; n <= SIZE; n++)
                    sql_run(connection, "insert into batch values (%d, %d, %d)", n,
                            (int)random_below(&random, (size_t)keys),
                            1 + (int)random_below(&random, (size_t)most));
                char *together =
                    answers(connection, call, cases[i].columns, "convert_to('\\x01a' || k, 'UTF8')", 1, SIZE);
                char *apart = NULL;
                size_t used = 0;
                for (int n = 1; n <= SIZE; n++) {
                    char *one = answers(connection, call, cases[i].columns,
                                        "convert_to('\\x01b' || k, 'UTF8')", n, n);
                    apart = realloc(apart, used + strlen(one) + 2);
                    used += (size_t)sprintf(apart + used, "%s%s", used ? " " : "", one);
                    free(one);
                }
                ck_assert_str_eq(together, apart);
                free(call);
                free(together);
                free(apart);
            }
    database_shift_clock(&api.database, 0);
    PQfinish(connection);
}
END_TEST

// --- the sweeper ------------------------------------------------------------------------------------------

struct rows {
    PGconn *connection;
    const char *table;
    const char *name;
    int64_t left;
};

static bool has_rows(void *user)
{
    struct rows *rows = user;
    return sql_number(rows->connection,
                      "select count(*) from holdfast.%s t join holdfast.buckets b on b.id = t.bucket_id "
                      "where b.name = '%s'",
                      rows->table, rows->name) == rows->left;
}

START_TEST(keys_that_stand_for_nothing_are_freed)
{
    static const char *const tables[] = {"counters", "rate_limits", "rate_gates", "quotas"};
    const char *names[KINDS];
    PGconn *connection = database_connect(&api.database);
    for (size_t i = 0; i < KINDS; i++) {
        names[i] = new_name(&kinds[i]);
        ck_status(use(&kinds[i], names[i], "early", ""), 200);
        expect_state(&kinds[i], names[i], "early", "", true);
    }
    database_shift_clock(&api.database, 50 * 60 * SECOND);
    for (size_t i = 0; i < KINDS; i++)
        ck_status(use(&kinds[i], names[i], "late", ""), 200);
    database_shift_clock(&api.database, 70 * 60 * SECOND);
    for (size_t i = 0; i < KINDS; i++) {
        struct rows rows = {connection, tables[i], names[i], 1};
        ck_assert_msg(clock_wait(has_rows, &rows, 60 * 1000), "%s are not freed", tables[i]);
        expect_state(&kinds[i], names[i], "late", "", true);
        expect_state(&kinds[i], names[i], "early", "", false);
    }
    database_shift_clock(&api.database, 120 * 60 * SECOND);
    for (size_t i = 0; i < KINDS; i++) {
        struct rows rows = {connection, tables[i], names[i], 0};
        ck_assert_msg(clock_wait(has_rows, &rows, 60 * 1000), "%s are not freed", tables[i]);
    }
    database_shift_clock(&api.database, 0);
    PQfinish(connection);
}
END_TEST

static bool is_forgotten(void *user)
{
    const struct rows *rows = user;
    return sql_number(rows->connection,
                      "select (select count(*) from holdfast.%s where bucket_id = %s) + "
                      "(select count(*) from holdfast.dropped_buckets where bucket_id = %s)",
                      rows->table, rows->name, rows->name) == 0;
}

START_TEST(keys_of_a_dropped_name_are_freed)
{
    static const char *const tables[] = {"counters", "rate_limits", "rate_gates", "quotas"};
    PGconn *connection = database_connect(&api.database);
    for (size_t i = 0; i < KINDS; i++) {
        const char *name = new_name(&kinds[i]);
        ck_status(use(&kinds[i], name, "k", ""), 200);
        char *id = sql_text(connection, "select id::text from holdfast.buckets where name = '%s'", name);
        ck_status(DELETE(name_path(kinds[i].path, name)), 204);
        struct rows rows = {connection, tables[i], id, 0};
        ck_assert_msg(clock_wait(is_forgotten, &rows, 60 * 1000), "%s are not freed", tables[i]);
        free(id);
    }
    PQfinish(connection);
}
END_TEST

Suite *limiters_suite(void)
{
    const TTest *const tests[] = {
        one_name_has_one_kind,
        every_kind_is_listed_with_its_configuration,
        keys_of_branches_are_apart,
        reset_key_is_as_if_never_used,
        cleared_branch_takes_those_below,
        large_branch_is_cleared_whole,
        dropped_name_is_free_for_another_kind,
        refusal_uses_nothing_and_can_be_obeyed,
        enforced_answer_is_a_status,
        looking_uses_nothing,
        batch_is_decided_as_one_after_the_other,
        keys_that_stand_for_nothing_are_freed,
        keys_of_a_dropped_name_are_freed,
        NULL,
    };
    return api_suite("limiters", NULL, tests);
}
