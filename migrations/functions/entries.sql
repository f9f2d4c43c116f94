-- Reading, writing, taking and removing single entries, many requests in one call.
--
-- All take the distinct bucket names, for each operation the place of its bucket among them (from 1) and an ordinal (1 to
-- 256) that becomes its place among the revisions of the call; then an array a column.
--
-- conditions: 1 the entry must exist, 2 it must not, 4 its version must be one of if_versions, 8 it must not be one of
-- unless_versions (both as text of a bigint[]).

-- In plpgsql, since a query of its own is never taken into a caller's, and is planned once a session there. Cheap by
-- declaration: with the standard cost PostgreSQL would not inline condition_holds(), whose argument this is a part of.
create or replace function holdfast.is_cleared(bucket_id integer, path bytea, version bigint) returns boolean
language plpgsql stable cost 1
as $$
#variable_conflict use_column
begin
    return exists (select from holdfast.clears c where c.bucket_id = $1 and c.revision >= $3
                   and c.low <= $2 and (c.high is null or $2 < c.high));
end
$$;
comment on function holdfast.is_cleared(integer, bytea, bigint) is 'Whether a clear covers this version of the path.';

create or replace function holdfast.condition_holds(
    conditions smallint, live boolean, version bigint, if_versions text, unless_versions text
) returns boolean
language sql stable
as $$
    select conditions = 0 or (
        (conditions & 1 = 0 or live)
        and (conditions & 2 = 0 or not live)
        and (conditions & 4 = 0 or (live and version = any (if_versions::bigint[])))
        and (conditions & 8 = 0 or not (live and version = any (unless_versions::bigint[]))))
$$;
comment on function holdfast.condition_holds(smallint, boolean, bigint, text, text) is
    'Whether an entry in this state meets the conditions.';

create or replace function holdfast.get_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], unless bigint[], wants boolean[], largest integer
) returns table (o smallint, status smallint, version bigint, expires_at timestamptz, idle_us bigint, content_type text,
                 metadata bytea, size integer, value bytea, kind text, now timestamptz)
language sql stable
as $$
    select q.o,
           case when r.ids[q.w] is null then 2 when r.others[q.w] then 3 when e.version is null then 1 end::smallint,
           e.version, e.expires_at, e.idle_us, e.content_type, e.metadata,
           case when not v.given then octet_length(e.value) end, case when v.given then e.value end, r.kinds[q.w],
           case when e.expires_at is not null then r.now end
    from (select holdfast.now() as now, array_agg(b.id) as ids, array_agg(b.other) as others, array_agg(b.kind) as kinds,
                 array_agg(b.cleared_to) as cleared
          from (select k.id, k.kind <> 'bucket' as other, k.cleared_to,
                       case when k.kind <> 'bucket' then k.kind
                            else nullif(holdfast.declared_type(k.type, k.encrypted, k.sealing, k.max_value_bytes), 'any')
                       end as kind
                from unnest(names) with ordinality n(name, i) left join holdfast.buckets k on k.name = n.name
                order by n.i) b) r
    cross join unnest(which, ordinals, paths, unless, wants) q(w, o, path, unless, wanted)
    left join holdfast.entries e on e.bucket_id = r.ids[q.w] and e.path = q.path and not r.others[q.w]
        and (e.expires_at is null or e.expires_at > r.now)
        and (r.cleared[q.w] is null or e.version > r.cleared[q.w]
             or not holdfast.is_cleared(e.bucket_id, e.path, e.version))
    cross join lateral (
        select q.wanted and e.version is distinct from q.unless and octet_length(e.value) <= largest as given) v
$$;
comment on function holdfast.get_entries(text[], smallint[], smallint[], bytea[], bigint[], boolean[], integer) is
    'status null: live, 1: absent, 2: the bucket is not declared, 3: the name is of another kind, which kind names; else '
    'kind is the bucket''s type, null for any. The value comes when it is wanted, has another version than unless and '
    'at most largest bytes; else its size. now comes with expires_at. What is ordinary is null: it costs nothing to send.';

-- A lone read, which somebody waits for by itself, is spared the query for many: setting that up is most of it.
create or replace function holdfast.get_entry(name text, path bytea, unless bigint, wanted boolean, largest integer)
returns table (o smallint, status smallint, version bigint, expires_at timestamptz, idle_us bigint, content_type text,
               metadata bytea, size integer, value bytea, kind text, now timestamptz)
language sql stable
as $$
    select 1::smallint,
           case when b.id is null then 2 when b.kind <> 'bucket' then 3 when e.version is null then 1 end::smallint,
           e.version, e.expires_at, e.idle_us, e.content_type, e.metadata,
           case when not (wanted and e.version is distinct from unless and octet_length(e.value) <= largest)
                then octet_length(e.value) end,
           case when wanted and e.version is distinct from unless and octet_length(e.value) <= largest then e.value end,
           case when b.kind <> 'bucket' then b.kind
                else nullif(holdfast.declared_type(b.type, b.encrypted, b.sealing, b.max_value_bytes), 'any') end,
           case when e.expires_at is not null then r.now end
    from (select holdfast.now() as now) r
    left join holdfast.buckets b on b.name = get_entry.name
    left join holdfast.entries e on e.bucket_id = b.id and e.path = get_entry.path and b.kind = 'bucket'
        and (e.expires_at is null or e.expires_at > r.now)
        and (b.cleared_to is null or e.version > b.cleared_to
             or not holdfast.is_cleared(e.bucket_id, e.path, e.version))
$$;
comment on function holdfast.get_entry(text, bytea, bigint, boolean, integer) is
    'What get_entries() gives for one operation whose ordinal is 1.';

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
    told boolean;
    ids integer[];
    kinds text[];
    types text[];
    bucket_ttls bigint[];
    bucket_idles bigint[];
    mosts integer[];
    cleared bigint[];
    lifted boolean;
    severed bigint;
    base bigint;
    t0 timestamptz;
    written integer;
begin
    locked := holdfast.lock_names(names);
    told := holdfast.announce(names, which, paths, 'e');
    t0 := holdfast.now(); -- after the lock: it may have taken a while
    select * into ids, kinds, types, bucket_ttls, bucket_idles, mosts, cleared, lifted, severed
    from holdfast.bucket_configurations(names);
    if array_position(ids, null) is not null then
        perform holdfast.make_buckets(array(
            select names[q.w] from unnest(which, conditions, untils, declares) q(w, conditions, until, declares)
            where q.declares and q.conditions & 5 = 0 and (q.until is null or q.until > t0)));
        select * into ids, kinds, types, bucket_ttls, bucket_idles, mosts, cleared, lifted, severed
        from holdfast.bucket_configurations(names);
    end if;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    if severed is not null then
        perform holdfast.save_images(array(select ids[w] from unnest(which) with ordinality q(w, i) order by i), paths, base + 1);
    end if;

    -- Plain writes first, whose outcome no query must find out beforehand: most are.
    if 0 = any (conditions) and array_position(ttls, null) is not null and array_position(bucket_ttls, null) is not null then
        return query
        insert into holdfast.entries as e (bucket_id, path, version, content_type, metadata, value)
        select ids[w], paths[i], base + ordinals[i], content_types[i], metadatas[i], vals[i]
        from generate_series(1, cardinality(paths)) i
        cross join lateral (select which[i] as w offset 0) x
        where conditions[i] = 0 and ttls[i] is null and untils[i] is null and kinds[w] = 'bucket'
          and bucket_ttls[w] is null and bucket_idles[w] is null and cleared[w] is null
          and octet_length(vals[i]) <= mosts[w]
          and (types[w] = checked[i] or (types[w] in ('any', 'bytes') and left(checked[i], 4) <> 'seal'))
        on conflict (bucket_id, path) do update
        set version = excluded.version, content_type = excluded.content_type, metadata = excluded.metadata,
            value = excluded.value
        where e.expires_at is null
        -- A row that was there is locked before it is replaced, which its new version shows; a new row has no such mark.
        returning (e.version - base)::smallint, (e.xmax <> 0)::integer::smallint, e.version, null::timestamptz,
                  null::integer, null::text;
        get diagnostics written = row_count;
        if written = cardinality(paths) then
            return;
        end if;
    end if;
    -- The arrays are addressed by place: plpgsql keeps them taken apart, and one row source is far cheaper to set up
    -- than one for each array.
    return query
    with c as materialized (
        select i, w, l.live, e.version old_version, l.status,
               case
                   when l.status > 1 then null
                   when ttls[i] = -1 then null
                   when ttls[i] is not null then t0 + ttls[i] * interval '1 microsecond'
                   when untils[i] is not null then untils[i]
                   when l.live then e.expires_at
                   else t0 + coalesce(bucket_ttls[w], bucket_idles[w]) * interval '1 microsecond'
               end as expires_at,
               case
                   when ttls[i] is not null or untils[i] is not null then null
                   when l.live then e.idle_us
                   else bucket_idles[w]
               end as idle
        from generate_series(1, cardinality(paths)) i
        cross join lateral (select which[i] as w) x
        left join holdfast.entries e on e.bucket_id = ids[x.w] and e.path = paths[i]
        cross join lateral (
            select v.live,
                   case
                       when ids[w] is null and conditions[i] & 5 <> 0 and declares[i] then 2
                       when ids[w] is null and untils[i] <= t0 then 7
                       when ids[w] is null then 3
                       when kinds[w] <> 'bucket' then 4
                       when types[w] <> checked[i]
                           and (types[w] not in ('any', 'bytes') or left(checked[i], 4) = 'seal') then 5
                       when octet_length(vals[i]) > mosts[w] then 6
                       when untils[i] <= t0 then 7
                       when conditions[i] <> 0 and not holdfast.condition_holds(
                           conditions[i], v.live, e.version, if_versions[i], unless_versions[i]) then 2
                       when v.live then 1
                       else 0
                   end::smallint as status
            from (select e.version is not null and (e.expires_at is null or e.expires_at > t0)
                     and (cleared[w] is null or e.version > cleared[w]
                          or not holdfast.is_cleared(e.bucket_id, e.path, e.version)) as live offset 0) v
            offset 0) l
        where e.version is distinct from base + ordinals[i] -- what was written above
    ), written as (
        insert into holdfast.entries as e (bucket_id, path, version, expires_at, idle_us, slot, content_type, metadata,
                                           value)
        select ids[c.w], paths[c.i], base + ordinals[c.i], c.expires_at, c.idle, holdfast.slot_of(c.expires_at),
               content_types[c.i], metadatas[c.i], vals[c.i]
        from c where c.status <= 1
        on conflict (bucket_id, path) do update
        set version = excluded.version, expires_at = excluded.expires_at, idle_us = excluded.idle_us,
            slot = coalesce(e.slot, excluded.slot), content_type = excluded.content_type,
            metadata = excluded.metadata, value = excluded.value
    )
    select ordinals[c.i], c.status,
           case when c.status <= 1 then base + ordinals[c.i] when c.live then c.old_version end,
           c.expires_at, case c.status when 6 then mosts[c.w] end, case c.status when 4 then kinds[c.w] when 5 then types[c.w] end
    from c;
end
$$;
comment on function holdfast.put_entries(text[], smallint[], smallint[], bytea[], bytea[], text[], bytea[], text[],
    smallint[], text[], text[], bigint[], timestamptz[], boolean[]) is
    'Writes entries; a path occurs once a call. ttls: microseconds, -1 for never, null for what the bucket says. checked: '
    'the type the caller checked the value for. declares: whether a missing bucket is made. status 0: new, 1: replaced, '
    '2: a condition failed (version is the live one or null), 3: the bucket is not declared, 4: of another kind (type), '
    '5: to be checked for another type (type), 6: larger than most bytes, 7: expires in the past.';

-- A lone write, which somebody waits for by itself, is spared the arrays and the query for many where it is plain: an
-- entry that does not expire, written whatever is there, or only if it is there or not.
create or replace function holdfast.put_entry(
    name text, path bytea, val bytea, content_type text, metadata bytea, checked text, conditions smallint,
    if_versions text, unless_versions text, ttl bigint, until timestamptz, declares boolean
) returns table (o smallint, status smallint, version bigint, expires_at timestamptz, most integer, type text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    done boolean;
    bucket integer;
    lifted boolean;
begin
    done := holdfast.lock_names(array[name]);
    done := holdfast.announce(array[name], array[1::smallint], array[path], 'e');
    select b.id, exists (select from holdfast.lifted l where l.mark = l.xmin) into bucket, lifted
    from holdfast.buckets b
    where b.name = put_entry.name and b.kind = 'bucket' and b.ttl_us is null and b.idle_us is null
      and b.cleared_to is null and not b.encrypted and octet_length(val) <= b.max_value_bytes
      and (b.type = checked or (b.type in ('any', 'bytes') and left(checked, 4) <> 'seal'))
      and ttl is null and until is null
      and not exists (select from holdfast.forks f where f.severed and not f.closed);
    if lifted then
        o := 1;
        version := nextval('holdfast.revision') - 255;
        if conditions = 0 then
            insert into holdfast.entries as e (bucket_id, path, version, content_type, metadata, value)
            values (bucket, path, version, content_type, metadata, val)
            on conflict (bucket_id, path) do update
            set version = excluded.version, content_type = excluded.content_type, metadata = excluded.metadata,
                value = excluded.value
            where e.expires_at is null
            returning (e.xmax <> 0)::integer into status; -- as in put_entries()
        elsif conditions = 2 then
            insert into holdfast.entries as e (bucket_id, path, version, content_type, metadata, value)
            values (bucket, path, version, content_type, metadata, val)
            on conflict do nothing
            returning 0 into status;
        else
            update holdfast.entries e
            set version = put_entry.version, content_type = put_entry.content_type, metadata = put_entry.metadata,
                value = put_entry.val
            where e.bucket_id = bucket and e.path = put_entry.path and e.expires_at is null
              and holdfast.condition_holds(conditions, true, e.version, if_versions, unless_versions)
            returning 1 into status;
        end if;
        if status is not null then
            return next;
            return;
        end if;
    end if;
    return query
    select * from holdfast.put_entries(
        array[name], array[1::smallint], array[1::smallint], array[path], array[val], array[content_type],
        array[metadata], array[checked], array[conditions], array[if_versions], array[unless_versions], array[ttl],
        array[until], array[declares]);
end
$$;
comment on function holdfast.put_entry(text, bytea, bytea, text, bytea, text, smallint, text, text, bigint, timestamptz,
    boolean) is 'What put_entries() does and gives for one operation whose ordinal is 1.';

create or replace function holdfast.slot_of(expires_at timestamptz) returns integer
language sql stable
as $$ select case when expires_at is not null
                  then least(extract(epoch from expires_at)::bigint / 60, 2147483647)::integer end $$;
comment on function holdfast.slot_of(timestamptz) is
    'The minute in which the sweeper first looks at an entry; what lies past the year 6053 shares the last one.';

create or replace function holdfast.delete_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], conditions smallint[], if_versions text[],
    unless_versions text[]
) returns table (o smallint, status smallint, version bigint, kind text)
language sql volatile
as $$
    select t.o, t.status, t.version, t.kind
    from holdfast.take_entries(names, which, ordinals, paths, conditions, if_versions, unless_versions, -1) t
$$;
comment on function holdfast.delete_entries(text[], smallint[], smallint[], bytea[], smallint[], text[], text[]) is
    'Removes live entries. status 0: removed (version is the position), 2: a condition failed (version is the live one or '
    'null), 3: the bucket is not declared, 4: of another kind (kind), 8: absent. Of several operations on one path the '
    'first whose conditions hold removes it.';

create or replace function holdfast.take_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], conditions smallint[], if_versions text[],
    unless_versions text[], largest integer
) returns table (o smallint, status smallint, version bigint, kind text, taken bigint, content_type text, metadata bytea,
                 expires_at timestamptz, value bytea)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    told boolean;
    ids integer[];
    kinds text[];
    types text[];
    cleared bigint[];
    lifted boolean;
    severed bigint;
    base bigint;
    t0 timestamptz;
begin
    locked := holdfast.lock_names(names);
    told := holdfast.announce(names, which, paths, 'e');
    t0 := holdfast.now();
    select c.ids, c.kinds, c.types, c.cleared, c.lifted, c.severed into ids, kinds, types, cleared, lifted, severed
    from holdfast.bucket_configurations(names) c;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    if severed is not null then
        perform holdfast.save_images(array(select ids[w] from unnest(which) with ordinality q(w, i) order by i), paths, base + 1);
    end if;
    return query
    with c as materialized (
        select q.o, q.w, q.path, q.conditions, e.version old_version, l.live, e.content_type, e.metadata, e.expires_at,
               largest >= 0 and (octet_length(e.value) > largest
                                 or (largest < 2147483647
                                     and (left(e.content_type, 1) = chr(1)
                                          or left(types[q.w], 4) = 'seal'))) is true too_large,
               case
                   when kinds[q.w] <> 'bucket' then 4
                   when not holdfast.condition_holds(q.conditions, l.live, e.version, q.if_versions, q.unless_versions)
                       then 2
                   when ids[q.w] is null then 3
                   when l.live then 0
                   else 8
               end::smallint status
        from unnest(which, ordinals, paths, conditions, if_versions, unless_versions)
             q(w, o, path, conditions, if_versions, unless_versions)
        left join holdfast.entries e on e.bucket_id = ids[q.w] and e.path = q.path
        cross join lateral (
            select e.version is not null and (e.expires_at is null or e.expires_at > t0)
               and (cleared[q.w] is null or e.version > cleared[q.w]
                    or not holdfast.is_cleared(e.bucket_id, e.path, e.version)) as live) l
    ), f as materialized (
        select c.*, min(c.o) filter (where c.status = 0 and not c.too_large) over (partition by c.w, c.path) winner
        from c
    ), d as (
        delete from holdfast.entries e using f
        where f.status = 0 and f.o = f.winner and not f.too_large and e.bucket_id = ids[f.w] and e.path = f.path
        returning f.o, e.value
    )
    select f.o,
           case
               when f.status = 0 and f.too_large then 10
               when f.winner < f.o and f.status in (0, 2) then case when f.conditions & 5 <> 0 then 2 else 8 end
               else f.status
           end::smallint,
           case
               when f.status = 0 and f.o = f.winner then base + f.o
               when f.winner < f.o then null
               when f.live then f.old_version
           end,
           case when kinds[f.w] = 'bucket' then nullif(types[f.w], 'any') else kinds[f.w] end, f.old_version,
           f.content_type, f.metadata, f.expires_at,
           case when largest >= 0 then d.value end
    from f left join d on d.o = f.o;
end
$$;
comment on function holdfast.take_entries(text[], smallint[], smallint[], bytea[], smallint[], text[], text[], integer) is
    'Removes live entries and gives what they were. status 0: taken (version is the position, taken the version of the '
    'value), 2: a condition failed (version is the live one or null), 3: the bucket is not declared, 4: of another kind '
    '(kind), 8: absent, 10: the value has more than largest bytes, or its bucket is encrypted and largest is not the '
    'largest integer: it was left, for the caller to see whether it opens before it is gone; else kind is the bucket''s '
    'type, null for any. Of several operations on one path the '
    'first whose conditions hold wins. A largest of -1 gives no values.';

create or replace function holdfast.renew_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], versions bigint[], urgents boolean[]
) returns table (o smallint, expires_at timestamptz)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    t0 timestamptz;
begin
    -- Nobody relies on a renewal that was not urgent: a crash that loses it loses a thirtieth of the term.
    if not (true = any (urgents)) then
        perform set_config('synchronous_commit', 'off', true);
    end if;
    locked := holdfast.lock_names(names);
    t0 := holdfast.now();
    if holdfast.severed_to() is not null then
        perform holdfast.save_images(array_agg(e.bucket_id), array_agg(e.path), holdfast.last_revision())
        from unnest(which, paths, versions) q(w, path, version)
        join holdfast.buckets b on b.name = names[q.w]
        join holdfast.entries e on e.bucket_id = b.id and e.path = q.path and e.version = q.version
        where e.expires_at > t0;
    end if;
    update holdfast.entries e
    set expires_at = t0 + e.idle_us * interval '1 microsecond'
    from (select distinct b.id, q.path, q.version
          from unnest(which, paths, versions) q(w, path, version)
          join holdfast.buckets b on b.name = names[q.w]) r
    where e.bucket_id = r.id and e.path = r.path and e.version = r.version and e.expires_at > t0
      and e.expires_at < t0 + e.idle_us * 29 / 30 * interval '1 microsecond';
    return query
    select q.o, e.expires_at
    from unnest(which, ordinals, paths) q(w, o, path)
    left join holdfast.buckets b on b.name = names[q.w]
    left join holdfast.entries e on e.bucket_id = b.id and e.path = q.path;
end
$$;
comment on function holdfast.renew_entries(text[], smallint[], smallint[], bytea[], bigint[], boolean[]) is
    'Gives entries that are read their whole idle term again, at most once a thirtieth of it, when they still have the '
    'version that was read. urgents: whether somebody waits until it is durable.';

create or replace function holdfast.expire_entries(
    names text[], which smallint[], ordinals smallint[], paths bytea[], conditions smallint[], if_versions text[],
    unless_versions text[], ttls bigint[], untils timestamptz[]
) returns table (o smallint, status smallint, version bigint, kind text, expires_at timestamptz, pos bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    told boolean;
    ids integer[];
    kinds text[];
    cleared bigint[];
    lifted boolean;
    severed bigint;
    base bigint;
    t0 timestamptz;
begin
    locked := holdfast.lock_names(names);
    told := holdfast.announce(names, which, paths, 'e');
    t0 := holdfast.now();
    select c.ids, c.kinds, c.cleared, c.lifted, c.severed into ids, kinds, cleared, lifted, severed
    from holdfast.bucket_configurations(names) c;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    if severed is not null then
        perform holdfast.save_images(array(select ids[w] from unnest(which) with ordinality q(w, i) order by i), paths, base + 1);
    end if;
    return query
    with c as materialized (
        select q.o, q.w, q.path, e.version old_version, l.live, x.wanted,
               case
                   when kinds[q.w] <> 'bucket' then 4
                   when q.until <= t0 then 7
                   when not holdfast.condition_holds(q.conditions, l.live, e.version, q.if_versions, q.unless_versions)
                       then 2
                   when ids[q.w] is null then 3
                   when l.live then 0
                   else 8
               end::smallint status
        from unnest(which, ordinals, paths, conditions, if_versions, unless_versions, ttls, untils)
             q(w, o, path, conditions, if_versions, unless_versions, ttl, until)
        left join holdfast.entries e on e.bucket_id = ids[q.w] and e.path = q.path
        cross join lateral (
            select e.version is not null and (e.expires_at is null or e.expires_at > t0)
               and (cleared[q.w] is null or e.version > cleared[q.w]
                    or not holdfast.is_cleared(e.bucket_id, e.path, e.version)) as live) l
        cross join lateral (
            select case when q.ttl = -1 then null when q.ttl is not null then t0 + q.ttl * interval '1 microsecond'
                        else q.until end as wanted) x
    ), u as (
        update holdfast.entries e
        set expires_at = c.wanted, idle_us = null, slot = coalesce(e.slot, holdfast.slot_of(c.wanted))
        from c where c.status = 0 and e.bucket_id = ids[c.w] and e.path = c.path
    )
    select c.o, c.status, case when c.live then c.old_version end, kinds[c.w], c.wanted, base + c.o
    from c;
end
$$;
comment on function holdfast.expire_entries(text[], smallint[], smallint[], bytea[], smallint[], text[], text[], bigint[],
    timestamptz[]) is
    'Changes when live entries expire; their version stays; a path occurs once a call. ttls: microseconds, -1 for never. '
    'status 0: done (pos is the position), 2: a condition failed, 3: the bucket is not declared, 4: of another kind '
    '(kind), 7: in the past, 8: absent.';
