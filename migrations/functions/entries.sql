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
                 metadata bytea, size integer, value bytea, type text)
language sql stable
as $$
    select q.o,
           case when r.ids[q.w] = 0 then 2 when r.ids[q.w] < 0 then 3 when e.version is null then 1 else 0 end::smallint,
           e.version, e.expires_at, e.idle_us, e.content_type, e.metadata, octet_length(e.value),
           case when q.wanted and e.version is distinct from q.unless and octet_length(e.value) <= largest
                then e.value end,
           case when r.ids[q.w] < 0 then (select k.kind from holdfast.buckets k where k.id = -r.ids[q.w]) end
    from (select holdfast.now() as now, array(
              select coalesce(case when k.kind = 'bucket' then k.id else -k.id end, 0)
              from unnest(names) with ordinality n(name, i) left join holdfast.buckets k on k.name = n.name
              order by n.i) as ids
          offset 0) r
    cross join unnest(which, ordinals, paths, unless, wants) q(w, o, path, unless, wanted)
    left join holdfast.entries e on e.bucket_id = r.ids[q.w] and e.path = q.path
                                and (e.expires_at is null or e.expires_at > r.now)
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
    locked boolean;
    ids integer[];
    kinds text[];
    types text[];
    bucket_ttls bigint[];
    bucket_idles bigint[];
    mosts integer[];
    lifted boolean;
    base bigint;
    t0 timestamptz;
begin
    locked := holdfast.lock_names(names);
    t0 := holdfast.now(); -- after the lock: it may have taken a while
    select * into ids, kinds, types, bucket_ttls, bucket_idles, mosts, lifted from holdfast.bucket_configurations(names);
    if array_position(ids, null) is not null then
        perform holdfast.make_buckets(array(
            select names[q.w] from unnest(which, conditions, untils, declares) q(w, conditions, until, declares)
            where q.declares and q.conditions & 5 = 0 and (q.until is null or q.until > t0)));
        select * into ids, kinds, types, bucket_ttls, bucket_idles, mosts, lifted
        from holdfast.bucket_configurations(names);
    end if;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    return query
    with c as materialized (
        select q.i, q.o, q.w, q.path, q.ttl, q.until, q.content_type, q.metadata, e.version old_version,
               e.expires_at old_expiry, e.idle_us old_idle, l.live,
               case
                   when ids[q.w] is null and q.conditions & 5 <> 0 and q.declares then 2
                   when ids[q.w] is null and q.until <= t0 then 7
                   when ids[q.w] is null then 3
                   when kinds[q.w] <> 'bucket' then 4
                   when types[q.w] not in ('any', 'bytes') and types[q.w] <> q.checked then 5
                   when octet_length(q.value) > mosts[q.w] then 6
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
        left join holdfast.entries e on e.bucket_id = ids[q.w] and e.path = q.path
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
                       else t0 + coalesce(bucket_ttls[c.w], bucket_idles[c.w]) * interval '1 microsecond'
                   end as expires_at,
                   case
                       when c.ttl is not null or c.until is not null then null
                       when c.live then c.old_idle
                       else bucket_idles[c.w]
                   end as idle) x
    ), w as (
        insert into holdfast.entries as e (bucket_id, path, version, expires_at, idle_us, slot, content_type, metadata,
                                           value)
        select ids[d.w], d.path, base + d.o, d.expires_at, d.idle,
               case when d.expires_at is not null then extract(epoch from d.expires_at)::bigint / 60 end,
               d.content_type, d.metadata, vals[d.i]
        from d where d.status <= 1
        on conflict (bucket_id, path) do update
        set version = excluded.version, expires_at = excluded.expires_at, idle_us = excluded.idle_us,
            slot = coalesce(e.slot, excluded.slot), content_type = excluded.content_type,
            metadata = excluded.metadata, value = excluded.value
    )
    select d.o, d.status, case when d.status <= 1 then base + d.o when d.live then d.old_version end,
           d.expires_at, mosts[d.w], case d.status when 4 then kinds[d.w] when 5 then types[d.w] end
    from d;
end
$$;
comment on function holdfast.put_entries(text[], smallint[], smallint[], bytea[], bytea[], text[], bytea[], text[],
    smallint[], text[], text[], bigint[], timestamptz[], boolean[]) is
    'Writes entries. ttls: microseconds, -1 for never, null for what the bucket says. checked: the type the caller '
    'checked the value for. declares: whether a missing bucket is made. status 0: new, 1: replaced, 2: a condition '
    'failed (version is the live one or null), 3: the bucket is not declared, 4: of another kind (type), 5: to be '
    'checked for another type (type), 6: larger than most, 7: expires in the past.';

create or replace function holdfast.delete_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], conditions smallint[], if_versions text[],
    unless_versions text[]
) returns table (o smallint, status smallint, version bigint, type text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    ids integer[];
    kinds text[];
    lifted boolean;
    base bigint;
    t0 timestamptz;
begin
    locked := holdfast.lock_names(names);
    t0 := holdfast.now();
    select c.ids, c.kinds, c.lifted into ids, kinds, lifted from holdfast.bucket_configurations(names) c;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    return query
    with c as materialized (
        select q.o, q.w, q.path, e.version old_version, l.live,
               case
                   when kinds[q.w] <> 'bucket' then 4
                   when q.conditions & 1 <> 0 and not l.live then 2
                   when q.conditions & 4 <> 0 and not (l.live and e.version = any (q.if_versions::bigint[])) then 2
                   when q.conditions & 2 <> 0 and l.live then 2
                   when q.conditions & 8 <> 0 and l.live and e.version = any (q.unless_versions::bigint[]) then 2
                   when ids[q.w] is null then 3
                   when l.live then 0
                   else 8
               end::smallint status
        from unnest(which, ordinals, paths, conditions, if_versions, unless_versions)
             q(w, o, path, conditions, if_versions, unless_versions)
        left join holdfast.entries e on e.bucket_id = ids[q.w] and e.path = q.path
        cross join lateral (
            select e.version is not null and (e.expires_at is null or e.expires_at > t0) as live) l
    ), d as (
        delete from holdfast.entries e using c where c.status = 0 and e.bucket_id = ids[c.w] and e.path = c.path
    )
    select c.o, c.status, case when c.status = 0 then base + c.o when c.live then c.old_version end, kinds[c.w]
    from c;
end
$$;
comment on function holdfast.delete_entries(text[], smallint[], smallint[], bytea[], smallint[], text[], text[]) is
    'Removes live entries. status 0: removed (version is the position), 2: a condition failed (version is the live one or '
    'null), 3: the bucket is not declared, 4: of another kind (type), 8: absent.';
