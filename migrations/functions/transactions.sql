-- Transactions: checks and operations over any buckets, all or nothing, many independent ones in one call.
--
-- An item is a check (op 0), put (1), delete (2), take (3), add (4), expiry (5), or one that its caller refuses once all
-- before it holds (6). The items of one ordinal are one transaction: its checks, then its operations in their order. They
-- are done in runs, counted from 1, in each of which no two operations have the same entry; checks belong to the first.
-- A transaction of several runs has the call to itself; of several transactions in a call none writes what another has
-- an item for.

create or replace function holdfast.transact(
    names text[], which smallint[], ordinals smallint[], items smallint[], runs smallint[], ops smallint[],
    paths bytea[], vals bytea[], content_types text[], metadatas bytea[], checked text[], conditions smallint[],
    if_versions bigint[], ttls bigint[], untils timestamptz[], declares boolean[], integers bigint[],
    floats double precision[], largest bigint
) returns table (o smallint, item smallint, status smallint, version bigint, pos bigint, kind text, most integer,
                 expires_at timestamptz, content_type text, size integer, value bytea)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    told boolean;
    t0 timestamptz;
    bases bigint[] := '{}';
    failed boolean := false;
    q record;
begin
    locked := holdfast.lock_names(names);
    told := holdfast.announce(names, which, paths, 'e');
    t0 := holdfast.now(); -- after the lock: it may have taken a while
    for i in 0 .. (cardinality(paths) - 1) / 256 loop
        bases := bases || (nextval('holdfast.revision') - 256);
    end loop;
    if 1 = all (runs) then
        return query
        select * from holdfast.transact_run(1::smallint, t0, bases, names, which, ordinals, items, runs, ops, paths, vals,
            content_types, metadatas, checked, conditions, if_versions, ttls, untils, declares, integers, floats, largest);
        return;
    end if;
    begin -- what a later run refuses takes the earlier ones back
        for run in 1 .. (select max(n) from unnest(runs) n) loop
            for q in
                select * from holdfast.transact_run(run::smallint, t0, bases, names, which, ordinals, items, runs, ops,
                    paths, vals, content_types, metadatas, checked, conditions, if_versions, ttls, untils, declares,
                    integers, floats, largest)
            loop
                o := q.o; item := q.item; status := q.status; version := q.version; pos := q.pos; kind := q.kind;
                most := q.most; expires_at := q.expires_at; content_type := q.content_type; size := q.size;
                value := q.value;
                failed := failed or status > 1;
                return next;
            end loop;
            if failed then
                perform holdfast.refuse_run();
            end if;
        end loop;
    exception when sqlstate 'HF002' then
        null; -- its row was given
    end;
end
$$;
comment on function holdfast.transact(text[], smallint[], smallint[], smallint[], smallint[], smallint[], bytea[], bytea[],
    text[], bytea[], text[], smallint[], bigint[], bigint[], timestamptz[], boolean[], bigint[], double precision[],
    bigint) is
    'Does each transaction as a whole or not at all. Rows come in the order of the items; of a transaction that was refused '
    'the first row with a status above 1 says which item and why, and nothing of it was done. Arguments and status are '
    'those of the functions for single entries, with one version a condition (1 exists, 2 absent, 4 if_versions): status '
    '0: done, 1: done, it replaced a live one, 2: a condition failed (version is the live one or null), 3: the bucket is '
    'not declared, 4: of another kind (kind), 5: to be checked for another type (kind); of a take: '
    'sealed, and the caller did not say that it sees whether it opens (checked), 6: larger than most, 7: expires in the '
    'past, 8: absent, 10: all that is taken has more than largest bytes, 11: overflow, 20: refused by the caller. '
    'version is what the entry has now, or of a take had; value is a sum, or what was taken.';

create or replace function holdfast.refuse_run() returns void
language plpgsql
as $$
begin
    raise exception 'a transaction was refused' using errcode = 'HF002';
end
$$;
comment on function holdfast.refuse_run() is 'Fails with HF002, for a block that catches it to be taken back.';

create or replace function holdfast.sum_of(type text, most integer, live boolean, value bytea, by_int bigint,
                                           by_float double precision)
returns table (status smallint, val text)
language plpgsql immutable
as $$
declare
    int_now bigint := 0;
    float_now double precision := 0;
begin
    status := 0;
    if type not in ('any', 'json', 'int', 'float') or (type = 'int' and by_int is null) then
        status := 5;
    elsif live then
        select n.as_int, n.as_float into int_now, float_now from holdfast.number_of(value) n;
        if float_now is null then
            status := 5;
        end if;
    end if;
    if status <> 0 then
        return next;
        return;
    end if;
    if type <> 'float' and int_now is not null and by_int is not null then
        if (by_int >= 0 and int_now > 9223372036854775807 - by_int)
            or (by_int < 0 and int_now < -9223372036854775808 - by_int) then
            status := 11;
        else
            val := (int_now + by_int)::text;
        end if;
    elsif (by_float >= 0 and float_now > 1.7976931348623157e308 - by_float)
        or (by_float < 0 and float_now < -1.7976931348623157e308 - by_float) then
        status := 11;
    else
        val := (float_now + by_float)::text;
    end if;
    if octet_length(val) > most then
        status := 6;
    end if;
    return next;
end
$$;
comment on function holdfast.sum_of(text, integer, boolean, bytea, bigint, double precision) is
    'What an add makes of a value in a bucket of this type, by the rules of add_entries(). status 0: val is the sum, 5: the '
    'bucket, the value or the summand is of another type, 6: the sum is longer than most, 11: overflow.';

create or replace function holdfast.transact_run(
    run smallint, t0 timestamptz, bases bigint[], names text[], which smallint[], ordinals smallint[], items smallint[],
    runs smallint[], ops smallint[], paths bytea[], vals bytea[], content_types text[], metadatas bytea[],
    checked text[], conditions smallint[], if_versions bigint[], ttls bigint[], untils timestamptz[],
    declares boolean[], integers bigint[], floats double precision[], largest bigint
) returns table (o smallint, item smallint, status smallint, version bigint, pos bigint, kind text, most integer,
                 expires_at timestamptz, content_type text, size integer, value bytea)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    ids integer[];
    kinds text[];
    types text[];
    bucket_ttls bigint[];
    bucket_idles bigint[];
    mosts integer[];
    cleared bigint[];
    lifted boolean;
    severed bigint;
begin
    select * into ids, kinds, types, bucket_ttls, bucket_idles, mosts, cleared, lifted, severed
    from holdfast.bucket_configurations(names);
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    if severed is not null then
        perform holdfast.save_images(array(select ids[w] from unnest(which) with ordinality q(w, i) order by i), paths,
                                     bases[1] + 1);
    end if;
    return query
    -- Everything is decided before anything is written; a bucket that is yet to be declared has the defaults.
    with c as materialized (
        select i, x.w, ops[i] op, v.live, s.val,
               e.version old_version, e.expires_at old_expires_at, e.idle_us, e.content_type, e.metadata,
               octet_length(e.value) size, case when ops[i] = 3 then e.value end as value,
               case
                   when ops[i] = 6 then 20
                   when kinds[x.w] <> 'bucket' then 4
                   when ops[i] = 1 and coalesce(types[x.w], 'any') <> checked[i]
                       and (types[x.w] not in ('any', 'bytes') or left(checked[i], 4) = 'seal') then 5
                   when ops[i] = 3 and v.live and checked[i] is null
                       and (holdfast.is_sealed(e.content_type) or left(types[x.w], 4) = 'seal') then 5
                   when ops[i] = 1 and octet_length(vals[i]) > coalesce(mosts[x.w], 8388608) then 6
                   when untils[i] <= t0 then 7
                   when conditions[i] & 1 <> 0 and not v.live then 2
                   when conditions[i] & 2 <> 0 and v.live then 2
                   when conditions[i] & 4 <> 0 and not (v.live and e.version = if_versions[i]) then 2
                   when ids[x.w] is null and (ops[i] in (2, 3, 5) or (ops[i] in (1, 4) and not declares[i])) then 3
                   when ops[i] in (2, 3, 5) and not v.live then 8
                   when ops[i] = 4 then s.status
                   when ops[i] = 1 and v.live then 1
                   else 0
               end::smallint as status
        from generate_series(1, cardinality(paths)) i
        cross join lateral (select which[i] as w) x
        left join holdfast.entries e on e.bucket_id = ids[x.w] and e.path = paths[i]
        cross join lateral (
            select e.version is not null and (e.expires_at is null or e.expires_at > t0)
               and (cleared[x.w] is null or e.version > cleared[x.w]
                    or not holdfast.is_cleared(e.bucket_id, e.path, e.version)) as live offset 0) v
        left join lateral holdfast.sum_of(
            coalesce(types[x.w], 'any'), coalesce(mosts[x.w], 8388608), v.live,
            case when octet_length(e.value) <= 400 then e.value end, integers[i], floats[i]) s on ops[i] = 4
        where runs[i] = run
    ), f as materialized (
        select c.*, ordinals[c.i] o, bases[(c.i - 1) / 256 + 1] + (c.i - 1) % 256 + 1 as place,
               min(c.i) filter (where c.status > 1) over g as bad,
               min(c.i) filter (where c.op = 3) over g as first_taken,
               coalesce(sum(c.size) filter (where c.op = 3) over g, 0) > largest as too_large,
               case
                   when c.op not in (1, 4, 5) then null
                   when c.op = 4 and c.live then c.old_expires_at
                   when ttls[c.i] = -1 then null
                   when ttls[c.i] is not null then t0 + ttls[c.i] * interval '1 microsecond'
                   when untils[c.i] is not null then untils[c.i]
                   when c.live then c.old_expires_at
                   else t0 + coalesce(bucket_ttls[c.w], bucket_idles[c.w]) * interval '1 microsecond'
               end as expires_at,
               case
                   when c.op = 4 and c.live then c.idle_us
                   when c.op = 5 or ttls[c.i] is not null or untils[c.i] is not null then null
                   when c.live then c.idle_us
                   else bucket_idles[c.w]
               end as idle
        from c window g as (partition by ordinals[c.i])
    ), made as (
        insert into holdfast.buckets as b (name, created_at)
        select distinct names[f.w], t0 from f
        where ids[f.w] is null and f.op in (1, 4) and f.bad is null and not f.too_large
        returning b.id, b.name
    ), written as (
        insert into holdfast.entries as e (bucket_id, path, version, expires_at, idle_us, slot, content_type, metadata,
                                           value)
        select coalesce(ids[f.w], (select made.id from made where made.name = names[f.w])), paths[f.i], f.place,
               f.expires_at, f.idle, holdfast.slot_of(f.expires_at),
               case when f.op = 1 then content_types[f.i] when f.live then f.content_type else 'application/json' end,
               case when f.op = 1 then metadatas[f.i] when f.live then f.metadata end,
               case when f.op = 1 then vals[f.i] else convert_to(f.val, 'UTF8') end
        from f where f.op in (1, 4) and f.bad is null and not f.too_large
        on conflict (bucket_id, path) do update
        set version = excluded.version, expires_at = excluded.expires_at, idle_us = excluded.idle_us,
            slot = coalesce(e.slot, excluded.slot), content_type = excluded.content_type,
            metadata = excluded.metadata, value = excluded.value
    ), removed as (
        delete from holdfast.entries e using f
        where f.op in (2, 3) and f.bad is null and not f.too_large and e.bucket_id = ids[f.w] and e.path = paths[f.i]
    ), retimed as (
        update holdfast.entries e
        set expires_at = f.expires_at, idle_us = null, slot = coalesce(e.slot, holdfast.slot_of(f.expires_at))
        from f
        where f.op = 5 and f.bad is null and not f.too_large and e.bucket_id = ids[f.w] and e.path = paths[f.i]
    )
    select f.o, items[f.i], case when f.bad is null and f.too_large then 10 else f.status end::smallint,
           case when f.status <= 1 and f.op in (1, 4) then f.place when f.live then f.old_version end,
           f.place, case f.status when 4 then kinds[f.w] when 5 then coalesce(types[f.w], 'any') else types[f.w] end, mosts[f.w],
           case when f.op = 3 then f.old_expires_at else f.expires_at end,
           case when f.op = 3 then f.content_type end, case when f.op = 3 then f.size end,
           case when f.bad is not null or f.too_large then null when f.op = 4 then convert_to(f.val, 'UTF8')
                else f.value end
    from f
    where case when f.bad is not null then f.i = f.bad when f.too_large then f.i = f.first_taken else true end
    order by f.i;
end
$$;
comment on function holdfast.transact_run(smallint, timestamptz, bigint[], text[], smallint[], smallint[], smallint[],
    smallint[], smallint[], bytea[], bytea[], text[], bytea[], text[], smallint[], bigint[], bigint[], timestamptz[],
    boolean[], bigint[], double precision[], bigint) is
    'One run of transact(), in one statement. t0 is the time of all, bases what was drawn, a number for each 256 items.';
