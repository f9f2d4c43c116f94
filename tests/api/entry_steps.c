// The steps: replies judged, and tables filled from behind.
#include "entry_steps.h"

const char *replica_url(size_t index)
{
    return service_url(index % 2 ? api.twin : api.service);
}

const char *tag_of(const struct answer *answer)
{
    return answer_need(answer, "ETag");
}

const char *if_match_of(const struct answer *answer)
{
    return TEXT("If-Match: %s", tag_of(answer));
}

void expect_conflict(const struct answer *answer, const char *tag)
{
    ck_problem(answer, 412, "version_conflict");
    ck_header(answer, "ETag", tag);
    ck_header(answer, "Holdfast-Position", NULL);
    if (!tag)
        ck_reply(answer, json_is_null(json_object_get(answer->json, "current_version")));
    else
        ck_assert_pstr_eq(answer_text(answer, "current_version"), answer_version(answer));
}

const char *bucket_of_type(const char *type)
{
    const char *bucket = api_bucket();
    ck_status(PUT(TEXT("/v1/buckets/%s", bucket), bytes_of(TEXT("{\"type\":\"%s\"}", type))), 201);
    return bucket;
}

void declare_other_kind(PGconn *connection, const char *name)
{
    sql_run(connection,
            "insert into holdfast.buckets (name, kind, created_at) values ('%s', 'counter', holdfast.now())",
            name);
}

void insert_entries(PGconn *connection, const char *bucket, const char *owner, int count)
{
    const char *branch =
        owner ? TEXT("'\\x02'::bytea || convert_to('%s', 'UTF8') || '\\x0001'::bytea", owner) : "''::bytea";
    sql_run(connection,
            "insert into holdfast.entries (bucket_id, path, version, value) "
            "select b.id, %s || '\\x01'::bytea || convert_to('key-' || lpad(n::text, 6, '0'), 'UTF8'), r.v, "
            "'v' from holdfast.buckets b, (select nextval('holdfast.revision') as v) r, "
            "generate_series(1, %d) n where b.name = '%s'",
            branch, count, bucket);
}

int64_t rows_of(PGconn *connection, const char *bucket)
{
    return sql_number(connection,
                      "select count(*) from holdfast.entries e join holdfast.buckets b on b.id = e.bucket_id "
                      "where b.name = '%s'",
                      bucket);
}

PGconn *hold_sweeper(void)
{
    PGconn *holder = database_connect(&api.database);
    sql_run(holder, "select pg_advisory_lock(7240003, 0)");
    return holder;
}

json_t *entries_of(const struct answer *answer)
{
    ck_status(answer, 200);
    json_t *entries = json_object_get(answer->json, "entries");
    ck_reply(answer, json_is_array(entries));
    return entries;
}

const char *entry_text(json_t *entry, const char *member)
{
    return json_string_value(json_object_get(entry, member));
}

void expect_keys(const struct answer *answer, const char *keys)
{
    json_t *entries = entries_of(answer), *entry;
    const char *found = "";
    size_t i;
    json_array_foreach(entries, i, entry)
    {
        const char *key = entry_text(entry, "key");
        found = TEXT("%s%s%s%s", found, i ? " " : "", key ? "" : "=",
                     key ? key : entry_text(entry, "key_base64"));
    }
    if (strcmp(found, keys) != 0)
        ck_abort_msg("the keys are %s and not %s: %s", found, keys, answer_describe(answer));
}
