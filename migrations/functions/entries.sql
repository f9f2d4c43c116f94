-- Reading, writing and removing single entries, many requests in one call.
--
-- All take the distinct bucket names, for each operation the place of its bucket among them (from 1) and an ordinal (1 to
-- 256) that becomes its place among the revisions of the call; then an array a column. A path occurs once a call.
--
-- conditions: 1 the entry must exist, 2 it must not, 4 its version must be one of if_versions, 8 it must not be one of
-- unless_versions (both as text of a bigint[]).

create or replace function holdfast.get_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], unless bigint[], wants boolean[], largest integer
) returns table (o smallint, status smallint, version bigint, expires_at timestamptz, idle_us bigint, content_type text,
                 metadata bytea, size integer, value bytea, type text, now timestamptz)
language sql stable
as $$
    select q.o, case when b.id is null then 2 when b.kind <> 'bucket' then 3 when e.version is null then 1 else 0 end::smallint,
           e.version, e.expires_at, e.idle_us, e.content_type, e.metadata, octet_length(e.value),
           case when q.wanted and e.version is distinct from q.unless and octet_length(e.value) <= largest
                then e.value end,
           coalesce(b.kind, ''), t.now
    from unnest(which, ordinals, paths, unless, wants) q(w, o, path, unless, wanted)
    cross join (select holdfast.now() as now offset 0) t
    left join holdfast.buckets b on b.name = names[q.w]
    left join holdfast.entries e on e.bucket_id = b.id and e.path = q.path
                                and (e.expires_at is null or e.expires_at > t.now)
$$;
comment on function holdfast.get_entries(text[], smallint[], smallint[], bytea[], bigint[], boolean[], integer) is
    'status 0: live, 1: absent, 2: the bucket is not declared, 3: the name is of another kind, which type names. The '
    'value comes when it is wanted, has another version than unless and at most largest bytes.';

create or replace function holdfast.put_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], vals bytea[], content_types text[],
    metadatas bytea[], checked text[], conditions smallint[], if_versions text[], unless_versions text[],
    ttls bigint[], untils timestamptz[], declares boolean[]
) returns table (o smallint, status smallint, version bigint, expires_at timestamptz, most integer, type text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    ids integer[];
    base bigint;
    t0 timestamptz;
begin
    ids := holdfast.lock_buckets(names, true);
    if ids is null then
        t0 := holdfast.now();
        perform holdfast.make_buckets(array(
            select names[q.w] from unnest(which, conditions, untils, declares) q(w, conditions, until, declares)
            where q.declares and q.conditions & 5 = 0 and (q.until is null or q.until > t0)));
        ids := holdfast.lock_buckets(names, false);
    end if;
    base := holdfast.draw_revision();
    t0 := holdfast.now(); -- after the lock: it may have taken a while
    return query
    with c as materialized (
        select q.i, q.o, q.path, q.ttl, q.until, q.content_type, q.metadata, b.id bucket, b.ttl_us, b.idle_us, b.type,
               b.kind, b.max_value_bytes, e.version old_version, e.expires_at old_expiry, e.idle_us old_idle, l.live,
               case
                   when b.id is null and ids[q.w] is not null then 9
                   when b.id is null and q.conditions & 5 <> 0 and q.declares then 2
                   when b.id is null and q.until <= t0 then 7
                   when b.id is null then 3
                   when b.kind <> 'bucket' then 4
                   when b.type not in ('any', 'bytes') and b.type <> q.checked then 5
                   when octet_length(q.value) > b.max_value_bytes then 6
                   when q.until <= t0 then 7
                   when q.conditions & 1 <> 0 and not l.live then 2
                   when q.conditions & 4 <> 0 and not (l.live and e.version = any (q.if_versions::bigint[])) then 2
                   when q.conditions & 2 <> 0 and l.live then 2
                   when q.conditions & 8 <> 0 and l.live and e.version = any (q.unless_versions::bigint[]) then 2
                   when l.live then 1
                   else 0
               end::smallint status
        from unnest(which, ordinals, paths, vals, content_types, metadatas, checked, conditions, if_versions,
                    unless_versions, ttls, untils, declares) with ordinality
             q(w, o, path, value, content_type, metadata, checked, conditions, if_versions, unless_versions, ttl, until,
               declares, i)
        left join holdfast.buckets b on b.id = ids[q.w] and b.name = names[q.w]
        left join holdfast.entries e on e.bucket_id = b.id and e.path = q.path
        cross join lateral (
            select e.version is not null and (e.expires_at is null or e.expires_at > t0) as live) l
    ), d as materialized (
        select c.*, x.expires_at, x.idle
        from c cross join lateral (
            select case
                       when c.ttl = -1 then null
                       when c.ttl is not null then t0 + c.ttl * interval '1 microsecond'
                       when c.until is not null then c.until
                       when c.live then c.old_expiry
                       else t0 + coalesce(c.ttl_us, c.idle_us) * interval '1 microsecond'
                   end as expires_at,
                   case
                       when c.ttl is not null or c.until is not null then null
                       when c.live then c.old_idle
                       else c.idle_us
                   end as idle) x
    ), w as (
        insert into holdfast.entries as e (bucket_id, path, version, expires_at, idle_us, slot, content_type, metadata,
                                           value)
        select d.bucket, d.path, base + d.o, d.expires_at, d.idle,
               case when d.expires_at is not null then extract(epoch from d.expires_at)::bigint / 60 end,
               d.content_type, d.metadata, vals[d.i]
        from d where d.status <= 1
        on conflict (bucket_id, path) do update
        set version = excluded.version, expires_at = excluded.expires_at, idle_us = excluded.idle_us,
            slot = coalesce(e.slot, excluded.slot), content_type = excluded.content_type,
            metadata = excluded.metadata, value = excluded.value
    )
    select d.o, d.status, case when d.status <= 1 then base + d.o when d.live then d.old_version end,
           d.expires_at, d.max_value_bytes, case d.status when 4 then d.kind else d.type end
    from d;
end
$$;
comment on function holdfast.put_entries(text[], smallint[], smallint[], bytea[], bytea[], text[], bytea[], text[],
    smallint[], text[], text[], bigint[], timestamptz[], boolean[]) is
    'Writes entries. ttls: microseconds, -1 for never, null for what the bucket says. checked: the type the caller '
    'checked the value for. declares: whether a missing bucket is made. status 0: new, 1: replaced, 2: a condition '
    'failed (version is the live one or null), 3: the bucket is not declared, 4: of another kind (type), 5: to be '
    'checked for another type (type), 6: larger than most, 7: expires in the past, 9: the bucket changed meanwhile, '
    'call again.';

create or replace function holdfast.delete_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], conditions smallint[], if_versions text[],
    unless_versions text[]
) returns table (o smallint, status smallint, version bigint, type text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    ids integer[];
    base bigint;
    t0 timestamptz;
begin
    ids := holdfast.lock_buckets(names, false);
    base := holdfast.draw_revision();
    t0 := holdfast.now();
    return query
    with c as materialized (
        select q.o, q.path, b.id bucket, b.kind, e.version old_version, l.live,
               case
                   when b.id is null and ids[q.w] is not null then 9
                   when b.kind <> 'bucket' then 4
                   when q.conditions & 1 <> 0 and not l.live then 2
                   when q.conditions & 4 <> 0 and not (l.live and e.version = any (q.if_versions::bigint[])) then 2
                   when q.conditions & 2 <> 0 and l.live then 2
                   when q.conditions & 8 <> 0 and l.live and e.version = any (q.unless_versions::bigint[]) then 2
                   when b.id is null then 3
                   when l.live then 0
                   else 8
               end::smallint status
        from unnest(which, ordinals, paths, conditions, if_versions, unless_versions)
             q(w, o, path, conditions, if_versions, unless_versions)
        left join holdfast.buckets b on b.id = ids[q.w] and b.name = names[q.w]
        left join holdfast.entries e on e.bucket_id = b.id and e.path = q.path
        cross join lateral (
            select e.version is not null and (e.expires_at is null or e.expires_at > t0) as live) l
    ), d as (
        delete from holdfast.entries e using c where c.status = 0 and e.bucket_id = c.bucket and e.path = c.path
    )
    select c.o, c.status, case when c.status = 0 then base + c.o when c.live then c.old_version end, c.kind
    from c;
end
$$;
comment on function holdfast.delete_entries(text[], smallint[], smallint[], bytea[], smallint[], text[], text[]) is
    'Removes live entries. status 0: removed (version is the position), 2: a condition failed (version is the live one or '
    'null), 3: the bucket is not declared, 4: of another kind (type), 8: absent, 9: the bucket changed meanwhile, call '
    'again.';
