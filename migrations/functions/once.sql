-- Once: who runs, whose answer is kept, and when another's turn comes.
--
-- All but those that take a single name take the distinct names, for each operation the place of its name among them (from
-- 1) and an ordinal (1 to 256), then an array a column. Operations on one path are decided in the order of their ordinals,
-- at one time for all, read after the lock. A run or an answer is live while that time is before its expires_at and no
-- clear covers it. A path never has both: an answer ends its run, and no run begins beside a live answer.

create or replace function holdfast.once_defaults() returns table (ttl_us bigint, run_ttl_us bigint)
language sql immutable
as $$ select 86400000000, 60000000 $$;
comment on function holdfast.once_defaults() is
    'How long an answer is kept and a runner may be silent where nobody said so: a day, a minute.';

create or replace function holdfast.make_onces(names text[]) returns void
language sql volatile
as $$
    insert into holdfast.buckets (name, kind, ttl_us, run_ttl_us, created_at)
    select distinct n, 'once', d.ttl_us, d.run_ttl_us, holdfast.now() from unnest(names) n, holdfast.once_defaults() d
    on conflict (name) do nothing
$$;
comment on function holdfast.make_onces(text[]) is
    'Declares names as once with the defaults where they are free. The caller holds their locks.';

create or replace function holdfast.once_configurations(names text[])
returns table (ids integer[], kinds text[], ttls bigint[], run_ttls bigint[], cleared bigint[], lifted boolean)
language sql stable
as $$
    select array_agg(o.id), array_agg(o.kind), array_agg(o.ttl_us), array_agg(o.run_ttl_us), array_agg(o.cleared_to),
           exists (select from holdfast.lifted l where l.mark = l.xmin)
    from (select b.* from unnest(names) with ordinality n(name, i) left join holdfast.buckets b on b.name = n.name
          order by n.i) o
$$;
comment on function holdfast.once_configurations(text[]) is
    'What the names are declared as, in their order, nulls for those that are not; and whether the revision was lifted '
    'in this database.';

create or replace function holdfast.declare_once(name text, ttl bigint, run_ttl bigint)
returns table (status smallint, created_at timestamptz, actual text, pos bigint, ttl_us bigint, run_ttl_us bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    c record;
    d record;
begin
    select * into c from holdfast.claim_name(declare_once.name, 'once');
    if c.status = 2 then
        return query select c.status, c.created_at, c.actual, null::bigint, null::bigint, null::bigint;
        return;
    end if;
    select coalesce(ttl, x.ttl_us) ttl_us, coalesce(run_ttl, x.run_ttl_us) run_ttl_us into d from holdfast.once_defaults() x;
    update holdfast.buckets k set ttl_us = d.ttl_us, run_ttl_us = d.run_ttl_us where k.name = declare_once.name;
    return query select c.status, c.created_at, c.actual, holdfast.draw_revision() + 1, d.ttl_us, d.run_ttl_us;
end
$$;
comment on function holdfast.declare_once(text, bigint, bigint) is
    'Declares a once (status 0) or changes it as a whole (1), nulls standing for the defaults; pos is the position. Runs and '
    'answers that are there keep the time they have. 2: the name is of another kind (actual).';

create or replace function holdfast.begin_runs(
    names text[], which smallint[], ordinals smallint[], paths bytea[], declares boolean[], largest integer
) returns table (o smallint, status smallint, kind text, expires_at timestamptz, now timestamptz, content_type text,
                 size integer, value bytea, token bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    ids integer[];
    kinds text[];
    run_ttls bigint[];
    cleared bigint[];
    lifted boolean;
    t0 timestamptz;
begin
    locked := holdfast.lock_names(names);
    t0 := holdfast.now(); -- after the lock: a run's time begins when it is granted
    select c.ids, c.kinds, c.run_ttls, c.cleared, c.lifted into ids, kinds, run_ttls, cleared, lifted
    from holdfast.once_configurations(names) c;
    if array_position(ids, null) is not null then
        perform holdfast.make_onces(array(
            select names[d.w] from unnest(which, declares) d(w, declares) where d.declares));
        select c.ids, c.kinds, c.run_ttls, c.cleared, c.lifted into ids, kinds, run_ttls, cleared, lifted
        from holdfast.once_configurations(names) c;
    end if;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    return query
    with c as materialized (
        select q.w, q.o, q.path, a.expires_at kept_until, a.content_type, a.token kept_token, octet_length(a.value) size,
               case when octet_length(a.value) <= largest then a.value end as value,
               coalesce(r.expires_at, t0 + run_ttls[q.w] * interval '1 microsecond') run_until,
               case when ids[q.w] is null then 3
                    when kinds[q.w] <> 'once' then 4
                    when a.path is not null then 1
                    when r.path is not null or row_number() over (partition by q.w, q.path order by q.o) > 1 then 2
                    else 0 end::smallint status
        from unnest(which, ordinals, paths) q(w, o, path)
        left join holdfast.once_answers a on a.bucket_id = ids[q.w] and a.path = q.path and a.expires_at > t0
            and (cleared[q.w] is null or a.version > cleared[q.w]
                 or not holdfast.is_cleared(a.bucket_id, a.path, a.version))
        left join holdfast.once_runs r on r.bucket_id = ids[q.w] and r.path = q.path and r.expires_at > t0
            and (cleared[q.w] is null or r.token > cleared[q.w]
                 or not holdfast.is_cleared(r.bucket_id, r.path, r.token))
    ), draw as materialized (
        -- Only for a grant: whoever just looks writes nothing, and its commit waits for no disk.
        select nextval('holdfast.revision') - 256 base where exists (select from c where c.status = 0)
    ), granted as (
        insert into holdfast.once_runs as r (bucket_id, path, token, expires_at, slot)
        select ids[c.w], c.path, draw.base + c.o, c.run_until, holdfast.lease_slot(c.run_until, t0)
        from c cross join draw where c.status = 0
        on conflict (bucket_id, path) do update set token = excluded.token, expires_at = excluded.expires_at
    )
    select c.o, c.status, kinds[c.w],
           case when c.status = 1 then c.kept_until when c.status in (0, 2) then c.run_until end, t0, c.content_type,
           c.size, c.value, case c.status when 0 then draw.base + c.o when 1 then c.kept_token end
    from c left join draw on true;
end
$$;
comment on function holdfast.begin_runs(text[], smallint[], smallint[], bytea[], boolean[], integer) is
    'Of those who want a path run, the first gets the run unless an answer is kept or somebody runs it. declares: whether a '
    'missing name is made. status 0: run it (token, which is the position; expires_at), 1: the answer is kept (value, null '
    'when it is larger than largest; the token of its run), 2: another runs it until expires_at, 3: the name is not declared, 4: of another kind '
    '(kind). now: when this was so.';

create or replace function holdfast.keep_answers(
    names text[], which smallint[], ordinals smallint[], paths bytea[], tokens bigint[], content_types text[], vals bytea[]
) returns table (o smallint, status smallint, kind text, pos bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    told boolean;
    ids integer[];
    kinds text[];
    ttls bigint[];
    cleared bigint[];
    lifted boolean;
    base bigint;
    t0 timestamptz;
begin
    locked := holdfast.lock_names(names);
    told := holdfast.announce(names, which, paths, 'o');
    t0 := holdfast.now();
    select c.ids, c.kinds, c.ttls, c.cleared, c.lifted into ids, kinds, ttls, cleared, lifted
    from holdfast.once_configurations(names) c;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    return query
    with c as materialized (
        select i, which[i] w,
               r.path is not null
               and row_number() over (partition by which[i], paths[i], r.path is null order by ordinals[i]) = 1 done
        from generate_series(1, cardinality(paths)) i
        left join holdfast.once_runs r on r.bucket_id = ids[which[i]] and r.path = paths[i] and r.token = tokens[i]
            and r.expires_at > t0
            and (cleared[which[i]] is null or r.token > cleared[which[i]]
                 or not holdfast.is_cleared(r.bucket_id, r.path, r.token))
    ), ended as (
        delete from holdfast.once_runs r using c
        where c.done and r.bucket_id = ids[c.w] and r.path = paths[c.i]
    ), kept as (
        insert into holdfast.once_answers as a (bucket_id, path, version, expires_at, slot, content_type, value, token)
        select ids[c.w], paths[c.i], base + ordinals[c.i], u.until, holdfast.slot_of(u.until), content_types[c.i],
               vals[c.i], tokens[c.i]
        from c cross join lateral (select t0 + ttls[c.w] * interval '1 microsecond' as until) u
        where c.done
        on conflict (bucket_id, path) do update
        set version = excluded.version, expires_at = excluded.expires_at, content_type = excluded.content_type,
            value = excluded.value, token = excluded.token
    )
    select ordinals[c.i], case when c.done then 0 when kinds[c.w] <> 'once' then 4 else 15 end::smallint, kinds[c.w],
           case when c.done then base + ordinals[c.i] end
    from c;
end
$$;
comment on function holdfast.keep_answers(text[], smallint[], smallint[], bytea[], bigint[], text[], bytea[]) is
    'Ends live runs whose token is given and keeps their answers, for the name''s ttl from now on. status 0: done (pos is '
    'the position), 4: the name is of another kind (kind), 15: no live run has this token.';

create or replace function holdfast.renew_runs(
    names text[], which smallint[], ordinals smallint[], paths bytea[], tokens bigint[], ttls bigint[]
) returns table (o smallint, status smallint, kind text, pos bigint, expires_at timestamptz)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    told boolean;
    ids integer[];
    kinds text[];
    run_ttls bigint[];
    cleared bigint[];
    lifted boolean;
    base bigint;
    t0 timestamptz;
begin
    locked := holdfast.lock_names(names);
    told := holdfast.announce(names, which, paths, 'o'); -- it may end sooner than those who wait expect
    t0 := holdfast.now();
    select c.ids, c.kinds, c.run_ttls, c.cleared, c.lifted into ids, kinds, run_ttls, cleared, lifted
    from holdfast.once_configurations(names) c;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    return query
    with c as materialized (
        select q.w, q.o, q.path, t0 + coalesce(q.ttl, run_ttls[q.w]) * interval '1 microsecond' wanted,
               r.path is not null mine
        from unnest(which, ordinals, paths, tokens, ttls) q(w, o, path, token, ttl)
        left join holdfast.once_runs r on r.bucket_id = ids[q.w] and r.path = q.path and r.token = q.token
            and r.expires_at > t0
            and (cleared[q.w] is null or r.token > cleared[q.w]
                 or not holdfast.is_cleared(r.bucket_id, r.path, r.token))
    ), u as (
        update holdfast.once_runs r set expires_at = f.wanted
        from (select distinct on (c.w, c.path) c.* from c where c.mine order by c.w, c.path, c.o desc) f
        where r.bucket_id = ids[f.w] and r.path = f.path
    )
    select c.o, case when c.mine then 0 when kinds[c.w] <> 'once' then 4 else 15 end::smallint, kinds[c.w],
           case when c.mine then base + c.o end, case when c.mine then c.wanted end
    from c;
end
$$;
comment on function holdfast.renew_runs(text[], smallint[], smallint[], bytea[], bigint[], bigint[]) is
    'Gives live runs whose token is given a new term, of ttls microseconds from now, or the name''s run_ttl where that is '
    'null. status 0: done (pos is the position), 4: the name is of another kind (kind), 15: no live run has this token.';

create or replace function holdfast.fail_runs(
    names text[], which smallint[], ordinals smallint[], paths bytea[], tokens bigint[]
) returns table (o smallint, status smallint, kind text, pos bigint)
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
    base bigint;
    t0 timestamptz;
begin
    locked := holdfast.lock_names(names);
    told := holdfast.announce(names, which, paths, 'o');
    t0 := holdfast.now();
    select c.ids, c.kinds, c.cleared, c.lifted into ids, kinds, cleared, lifted
    from holdfast.once_configurations(names) c;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    return query
    with c as materialized (
        select q.w, q.o, q.path,
               r.path is not null
               and row_number() over (partition by q.w, q.path, r.path is null order by q.o) = 1 done
        from unnest(which, ordinals, paths, tokens) q(w, o, path, token)
        left join holdfast.once_runs r on r.bucket_id = ids[q.w] and r.path = q.path and r.token = q.token
            and r.expires_at > t0
            and (cleared[q.w] is null or r.token > cleared[q.w]
                 or not holdfast.is_cleared(r.bucket_id, r.path, r.token))
    ), ended as (
        delete from holdfast.once_runs r using c where c.done and r.bucket_id = ids[c.w] and r.path = c.path
    )
    select c.o, case when c.done then 0 when kinds[c.w] <> 'once' then 4 else 15 end::smallint, kinds[c.w],
           case when c.done then base + c.o end
    from c;
end
$$;
comment on function holdfast.fail_runs(text[], smallint[], smallint[], bytea[], bigint[]) is
    'Ends live runs whose token is given without an answer, so that another may run. status 0: done (pos is the position), '
    '4: the name is of another kind (kind), 15: no live run has this token.';

create or replace function holdfast.get_answers(
    names text[], which smallint[], ordinals smallint[], paths bytea[], wants boolean[], largest integer
) returns table (o smallint, status smallint, kind text, expires_at timestamptz, now timestamptz, content_type text,
                 size integer, value bytea, token bigint)
language sql stable
as $$
    select q.o,
           case when b.id is null then 3 when b.kind <> 'once' then 4 when a.path is null then 8 else 1 end::smallint,
           b.kind, a.expires_at, t.now, a.content_type, octet_length(a.value),
           case when q.wanted and octet_length(a.value) <= largest then a.value end, a.token
    from (select holdfast.now() as now) t
    cross join unnest(which, ordinals, paths, wants) q(w, o, path, wanted)
    left join holdfast.buckets b on b.name = names[q.w]
    left join holdfast.once_answers a on a.bucket_id = b.id and a.path = q.path and a.expires_at > t.now
        and (b.cleared_to is null or a.version > b.cleared_to
             or not holdfast.is_cleared(a.bucket_id, a.path, a.version))
$$;
comment on function holdfast.get_answers(text[], smallint[], smallint[], bytea[], boolean[], integer) is
    'Kept answers. status 1: kept (value, null when it is not wanted or larger than largest), 3: the name is not declared, '
    '4: of another kind (kind), 8: none is kept.';

create or replace function holdfast.forget_answers(
    names text[], which smallint[], ordinals smallint[], paths bytea[]
) returns table (o smallint, status smallint, kind text, pos bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    ids integer[];
    kinds text[];
    lifted boolean;
    base bigint;
begin
    locked := holdfast.lock_names(names);
    select c.ids, c.kinds, c.lifted into ids, kinds, lifted from holdfast.once_configurations(names) c;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    return query
    with gone as (
        delete from holdfast.once_answers a using (select distinct q.w, q.path from unnest(which, paths) q(w, path)) d
        where a.bucket_id = ids[d.w] and a.path = d.path
    )
    select q.o, case when ids[q.w] is null then 3 when kinds[q.w] <> 'once' then 4 else 0 end::smallint, kinds[q.w],
           base + q.o
    from unnest(which, ordinals) q(w, o);
end
$$;
comment on function holdfast.forget_answers(text[], smallint[], smallint[], bytea[]) is
    'Forgets answers, whether there were any or not; runs under way go on. status 0: done (pos is the position), 3: the name '
    'is not declared, 4: of another kind (kind).';

create or replace function holdfast.clear_once(name text, low bytea, high bytea, most integer)
returns table (status smallint, pos bigint, kind text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    told boolean;
    b holdfast.buckets;
    base bigint;
    n bigint;
    beyond bytea := coalesce(high, '\xff'::bytea); -- above every path
begin
    perform holdfast.lock_names(array[clear_once.name]);
    told := holdfast.announce(array[clear_once.name], null, null, 'o');
    select * into b from holdfast.buckets k where k.name = clear_once.name;
    if not found or b.kind <> 'once' then
        return query select case when b.id is null then 1 else 2 end::smallint, null::bigint, b.kind;
        return;
    end if;
    base := holdfast.draw_revision();
    select count(*) into n from (
        (select from holdfast.once_answers a
         where a.bucket_id = b.id and a.path >= low and a.path < beyond limit most + 1)
        union all
        (select from holdfast.once_runs r
         where r.bucket_id = b.id and r.path >= low and r.path < beyond limit most + 1)) x;
    if n > most then
        insert into holdfast.clears (bucket_id, revision, low, high) values (b.id, base + 1, low, high);
        update holdfast.buckets k set cleared_to = base + 1 where k.id = b.id;
    else
        delete from holdfast.once_answers a where a.bucket_id = b.id and a.path >= low and a.path < beyond;
        delete from holdfast.once_runs r where r.bucket_id = b.id and r.path >= low and r.path < beyond;
    end if;
    return query select 0::smallint, base + 1, b.kind;
end
$$;
comment on function holdfast.clear_once(text, bytea, bytea, integer) is
    'Forgets the answers with low <= path < high and ends the runs. Up to most rows are deleted; more are hidden at once by a '
    'clear and freed later. status 0: done (pos is the position), 1: the name is not declared, 2: of another kind (kind).';
