-- Tokens: made, found, listed and revoked; every replica is told.

create or replace function holdfast.tokens_changed() returns void
language sql volatile
as $$
    insert into holdfast.token_state (mark) values (gen_random_uuid())
    on conflict (single) do update set mark = excluded.mark;
    select pg_catalog.pg_notify('holdfast', 't');
$$;
comment on function holdfast.tokens_changed() is
    'Makes every replica forget what it knows about tokens, when the transaction commits.';

create or replace function holdfast.create_token(
    id text, name text, prefix text, grants text, key bytea, hash bytea, ttl_us bigint, until timestamptz
) returns table (status smallint, created_at timestamptz, expires_at timestamptz)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
    created_at := holdfast.now();
    expires_at := coalesce(create_token.until, created_at + create_token.ttl_us * interval '1 microsecond');
    if expires_at <= created_at then
        status := 2;
        return next;
        return;
    end if;
    insert into holdfast.tokens (id, name, prefix, grants, key, hash, created_at, expires_at)
    values (create_token.id, create_token.name, create_token.prefix, string_to_array(create_token.grants, E'\n'),
            create_token.key, create_token.hash, created_at, expires_at)
    on conflict (name) where revoked_at is null do nothing;
    status := case when found then 0 else 1 end;
    if status = 0 then
        perform holdfast.tokens_changed();
    end if;
    return next;
end
$$;
comment on function holdfast.create_token(text, text, text, text, bytea, bytea, bigint, timestamptz) is
    'Keeps a new token; grants are lines. It expires after ttl_us, or at until, or never when both are null. status 0: made, '
    '1: there is one of this name, 2: it would be expired already.';

create or replace function holdfast.revoke_token(name text) returns boolean
language plpgsql volatile
as $$
begin
    update holdfast.tokens t set revoked_at = holdfast.now()
    where t.name = revoke_token.name and t.revoked_at is null;
    if not found then
        return false;
    end if;
    perform holdfast.tokens_changed();
    return true;
end
$$;
comment on function holdfast.revoke_token(text) is
    'Ends the token for good; its name may be given again. False when there is none of this name.';

create or replace function holdfast.list_tokens(after text, page integer)
returns table (name text, id text, prefix text, grants text, created_at timestamptz, expires_at timestamptz)
language sql stable
as $$
    select t.name, t.id, t.prefix, array_to_string(t.grants, E'\n'), t.created_at, t.expires_at
    from holdfast.tokens t
    where t.revoked_at is null and ($1 is null or t.name > $1)
    order by t.name
    limit $2
$$;
comment on function holdfast.list_tokens(text, integer) is
    'At most page tokens whose names follow after, in byte order: those not revoked, expired ones too. grants are lines.';

create or replace function holdfast.get_token(name text)
returns table (name text, id text, prefix text, grants text, created_at timestamptz, expires_at timestamptz)
language sql stable
as $$
    select t.name, t.id, t.prefix, array_to_string(t.grants, E'\n'), t.created_at, t.expires_at
    from holdfast.tokens t
    where t.revoked_at is null and t.name = $1
$$;
comment on function holdfast.get_token(text) is 'The token of this name as list_tokens() gives it, or no row.';

create or replace function holdfast.look_up_tokens(names text[], which smallint[], ordinals smallint[])
returns table (o smallint, mark text, now timestamptz, name text, prefix text, grants text, key bytea, hash bytea,
               expires_at timestamptz)
language sql stable
as $$
    select q.o, s.mark::text, case when s.mark is not null then holdfast.now() end, t.name, t.prefix, array_to_string(t.grants, E'\n'), t.key, t.hash,
           t.expires_at
    from unnest(which, ordinals) q(w, o)
    left join holdfast.token_state s on true
    left join holdfast.tokens t on t.id = names[q.w] and t.revoked_at is null
$$;
comment on function holdfast.look_up_tokens(text[], smallint[], smallint[]) is
    'The tokens of these ids (nulls where there is none), beside the mark of all tokens (null: there was never one) and then '
    'the database''s time, from which a service that knows the token tells whether it expired.';
