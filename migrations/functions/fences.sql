-- Fenced writes: applied only while a lease is live and its token current, which is looked at under the locks of the write.
--
-- fence_names, fence_paths and fence_tokens say the lease of each operation; its bucket need not be the entry's. The other
-- arguments, and the answers, are those of the functions for entries; status 15: the lease is lost, nothing was done.

create or replace function holdfast.live_fences(fence_names text[], fence_paths bytea[], fence_tokens bigint[])
returns integer[]
language plpgsql stable
as $$
begin
    return (
        select coalesce(array_agg(f.i::integer order by f.i), '{}')
        from unnest(fence_names, fence_paths, fence_tokens) with ordinality f(name, path, token, i)
        join holdfast.buckets b on b.name = f.name
        join holdfast.leases l on l.bucket_id = b.id and l.path = f.path and l.token = f.token
            and l.expires_at > holdfast.now());
end
$$;
comment on function holdfast.live_fences(text[], bytea[], bigint[]) is
    'The places, from 1, of those fences whose lease is live and has the token.';

create or replace function holdfast.check_fences(
    names text[], which smallint[], ordinals smallint[], paths bytea[], tokens bigint[]
) returns table (o smallint, live boolean)
language sql stable
as $$
    select ordinals[i], i = any (r.live)
    from (select holdfast.live_fences(array(select names[w] from unnest(which) w), paths, tokens) live) r,
         generate_series(1, cardinality(paths)) i
$$;
comment on function holdfast.check_fences(text[], smallint[], smallint[], bytea[], bigint[]) is
    'Whether leases are live and have these tokens. One that is not never will be again.';

create or replace function holdfast.put_fenced_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], vals bytea[], content_types text[],
    metadatas bytea[], checked text[], conditions smallint[], if_versions text[], unless_versions text[],
    ttls bigint[], untils timestamptz[], declares boolean[], fence_names text[], fence_paths bytea[],
    fence_tokens bigint[]
) returns table (o smallint, status smallint, version bigint, expires_at timestamptz, most integer, type text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    live integer[];
begin
    -- All at once: locks are taken in one order everywhere, and put_entries() finds its own held already.
    locked := holdfast.lock_names(names || fence_names);
    live := holdfast.live_fences(fence_names, fence_paths, fence_tokens);
    if cardinality(live) = cardinality(paths) then
        return query select * from holdfast.put_entries(names, which, ordinals, paths, vals, content_types, metadatas,
            checked, conditions, if_versions, unless_versions, ttls, untils, declares);
        return;
    end if;
    return query
    select ordinals[i], 15::smallint, null::bigint, null::timestamptz, null::integer, null::text
    from generate_series(1, cardinality(paths)) i where i <> all (live);
    if cardinality(live) > 0 then
        return query
        select p.* from (
            select array_agg(which[i]) w, array_agg(ordinals[i]) o, array_agg(paths[i]) p, array_agg(vals[i]) v,
                   array_agg(content_types[i]) ct, array_agg(metadatas[i]) m, array_agg(checked[i]) c,
                   array_agg(conditions[i]) f, array_agg(if_versions[i]) iv, array_agg(unless_versions[i]) uv,
                   array_agg(ttls[i]) t, array_agg(untils[i]) u, array_agg(declares[i]) d
            from unnest(live) i) l
        cross join lateral holdfast.put_entries(names, l.w, l.o, l.p, l.v, l.ct, l.m, l.c, l.f, l.iv, l.uv, l.t, l.u,
                                                l.d) p;
    end if;
end
$$;
comment on function holdfast.put_fenced_entries(text[], smallint[], smallint[], bytea[], bytea[], text[], bytea[], text[],
    smallint[], text[], text[], bigint[], timestamptz[], boolean[], text[], bytea[], bigint[]) is
    'put_entries() for those whose lease is live.';

create or replace function holdfast.delete_fenced_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], conditions smallint[], if_versions text[],
    unless_versions text[], fence_names text[], fence_paths bytea[], fence_tokens bigint[]
) returns table (o smallint, status smallint, version bigint, kind text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    live integer[];
begin
    locked := holdfast.lock_names(names || fence_names);
    live := holdfast.live_fences(fence_names, fence_paths, fence_tokens);
    return query
    select ordinals[i], 15::smallint, null::bigint, null::text
    from generate_series(1, cardinality(paths)) i where i <> all (live);
    if cardinality(live) > 0 then
        return query
        select d.* from (
            select array_agg(which[i]) w, array_agg(ordinals[i]) o, array_agg(paths[i]) p, array_agg(conditions[i]) f,
                   array_agg(if_versions[i]) iv, array_agg(unless_versions[i]) uv
            from unnest(live) i) l
        cross join lateral holdfast.delete_entries(names, l.w, l.o, l.p, l.f, l.iv, l.uv) d;
    end if;
end
$$;
comment on function holdfast.delete_fenced_entries(text[], smallint[], smallint[], bytea[], smallint[], text[], text[],
    text[], bytea[], bigint[]) is
    'delete_entries() for those whose lease is live.';
