-- Keeping the reply to a keyed request, and giving it again.

-- The longest that a reply is kept, and so the time after which a key may be used for another request.
create or replace function holdfast.replies_kept() returns interval
language sql immutable
as $$ select interval '24 h' $$;
comment on function holdfast.replies_kept() is 'For how long the reply to a keyed request is kept.';

create or replace function holdfast.recall_reply(scope text, key text)
returns table (fingerprint bytea, status smallint, headers bytea, body bytea)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
begin
    -- A statement of its own: the next one sees what the last holder kept. Always taken before the locks of names.
    locked := pg_catalog.pg_advisory_xact_lock(
        7240005, pg_catalog.hashtext(recall_reply.scope || ' ' || recall_reply.key)) is null;
    return query
    select i.fingerprint, i.status, i.headers, i.body
    from holdfast.idempotency i
    where i.scope = recall_reply.scope and i.key = recall_reply.key
      and i.created_at > holdfast.now() - holdfast.replies_kept();
end
$$;
comment on function holdfast.recall_reply(text, text) is
    'Takes the key until the transaction ends, waiting for whoever has it. One row when a reply is kept under it, with what '
    'tells whether it was to the same request; of a sealed reply that lies inside.';

create or replace function holdfast.are_replies_kept(
    names text[], which smallint[], ordinals smallint[], scopes text[], keys text[]
) returns table (o smallint, kept boolean)
language sql stable
as $$
    select q.o, exists (
        select from holdfast.idempotency i
        where i.scope = q.scope and i.key = q.key and i.created_at > holdfast.now() - holdfast.replies_kept())
    from unnest(ordinals, scopes, keys) q(o, scope, key)
$$;
comment on function holdfast.are_replies_kept(text[], smallint[], smallint[], text[], text[]) is
    'Whether replies are kept under keys, without taking them: for those who wait beside another request with their key. '
    'names and which are those of what they wait for, and make no difference.';

create or replace function holdfast.keep_reply(
    scope text, key text, fingerprint bytea, status smallint, headers bytea, body bytea
) returns void
language plpgsql volatile
as $$
#variable_conflict use_column
begin
    insert into holdfast.idempotency as i (scope, key, fingerprint, status, headers, body, created_at)
    values ($1, $2, $3, $4, $5, $6, holdfast.now())
    on conflict (scope, key) do update -- of one that is too old to be given again
    set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers, body = excluded.body,
        created_at = excluded.created_at;
end
$$;
comment on function holdfast.keep_reply(text, text, bytea, smallint, bytea, bytea) is
    'Keeps a reply under the key. The caller''s transaction took the key with recall_reply() and did what the reply tells.';

create or replace function holdfast.sweep_kept_replies(most integer) returns integer
language plpgsql volatile
as $$
declare
    seen integer;
begin
    delete from holdfast.idempotency i
    where (i.scope, i.key) in (
        select x.scope, x.key from holdfast.idempotency x
        where x.created_at <= holdfast.now() - holdfast.replies_kept()
        order by x.created_at limit most for update skip locked);
    get diagnostics seen = row_count;
    return seen;
end
$$;
comment on function holdfast.sweep_kept_replies(integer) is
    'Frees at most so many replies that are too old to be given again. Gives how many.';
