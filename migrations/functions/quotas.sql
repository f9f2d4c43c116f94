-- Quotas: several windows over one key, all of them or none; each begins with the key's first use and lasts its length.

create or replace function holdfast.declare_quota(
    name text, window_names text[], window_limits bigint[], window_us bigint[]
) returns table (status smallint, created_at timestamptz, actual text, pos bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    claimed record;
    b holdfast.buckets;
    ids integer[] := '{}';
    at_place integer;
begin
    select * into claimed from holdfast.claim_name(declare_quota.name, 'quota');
    if claimed.status = 2 then
        return query select 2::smallint, claimed.created_at, claimed.actual, null::bigint;
        return;
    end if;
    select * into b from holdfast.buckets k where k.name = declare_quota.name;
    b.last_window_id := coalesce(b.last_window_id, 0);
    for i in 1 .. cardinality(window_names) loop
        at_place := array_position(b.window_names, window_names[i]);
        if at_place is null then
            b.last_window_id := b.last_window_id + 1;
        end if;
        ids := ids || coalesce(b.window_ids[at_place], b.last_window_id);
    end loop;
    update holdfast.buckets k
    set window_ids = ids, window_names = declare_quota.window_names, window_limits = declare_quota.window_limits,
        window_us = declare_quota.window_us, last_window_id = b.last_window_id
    where k.id = b.id;
    return query select claimed.status, claimed.created_at, claimed.actual, holdfast.draw_revision() + 1;
end
$$;
comment on function holdfast.declare_quota(text, text[], bigint[], bigint[]) is
    'Declares a quota (status 0) or changes it as a whole (1): what was used stays in windows whose name stays; pos is the '
    'position. 2: the name is of another kind, which actual names. window_us: microseconds.';

create or replace function holdfast.quota_configurations(names text[])
returns table (ids integer[], kinds text[], window_ids text[], window_names text[], window_limits text[], window_us text[],
               lifted boolean)
language sql stable
as $$
    select array_agg(o.id), array_agg(o.kind), array_agg(o.window_ids::text),
           array_agg(array_to_string(o.window_names, ',')), array_agg(o.window_limits::text),
           array_agg(o.window_us::text), exists (select from holdfast.lifted l where l.mark = l.xmin)
    from (select b.* from unnest(names) with ordinality n(name, i) left join holdfast.buckets b on b.name = n.name
          order by n.i) o
$$;
comment on function holdfast.quota_configurations(text[]) is
    'What the names are declared as, in their order, nulls for those that are not: the windows as the texts of arrays, their '
    'names with commas between them. And whether the revision was lifted in this database.';

create or replace function holdfast.use_quotas(
    names text[], which smallint[], ordinals smallint[], paths bytea[], ns bigint[], refunds boolean[]
) returns table (o smallint, status smallint, pos bigint, retry_us bigint, now_us bigint, windows text, limits bigint[],
                 lengths bigint[], used bigint[], ends bigint[], kind text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    ids integer[];
    kinds text[];
    window_ids text[];
    window_names text[];
    window_limits text[];
    window_us text[];
    lifted boolean;
    base bigint;
    plain integer[];        -- the places of uses on whose path the call has no other operation
    done integer[] := '{}'; -- those that were decided already
    q record;
    at_w smallint;
    at_path bytea;
    dirty boolean := false;
    numbers integer[]; -- of the windows
    starts bigint[];
    smallest bigint;   -- limit
    room bigint;       -- what could be taken now, below 0 after a limit was lowered
    zeros bigint[];    -- one for each window
    closed boolean;    -- some window is not open
    n bigint;
    p integer;
    rows holdfast.quotas[] := '{}';
begin
    locked := holdfast.lock_names(names);
    now_us := (extract(epoch from holdfast.now()) * 1000000)::bigint; -- after the lock
    select c.ids, c.kinds, c.window_ids, c.window_names, c.window_limits, c.window_us, c.lifted
    into ids, kinds, window_ids, window_names, window_limits, window_us, lifted
    from holdfast.quota_configurations(names) c;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    -- Plain uses of quotas of one or two windows in one query for all of a name: most are. To set it up costs as much as it
    -- spares eight, sixteen for each further name. A call whose first path comes again has likely few paths that do not.
    if cardinality(names) * 16 <= cardinality(paths) + 8 and array_position(paths, paths[1], 2) is null then
        for w in 1 .. cardinality(names) loop
            numbers := window_ids[w]::integer[];
            continue when kinds[w] is distinct from 'quota' or cardinality(numbers) > 2;
            plain := array(select min(i) from generate_series(1, cardinality(paths)) i where which[i] = w
                           group by paths[i] having count(*) = 1 and not bool_or(refunds[i]));
            continue when cardinality(plain) < 8;
            limits := window_limits[w]::bigint[]; lengths := window_us[w]::bigint[]; smallest := least(limits[1], limits[2]);
            -- Each step names what the next one needs more than once. What is of a second window is null where there is none.
            return query
            with c as materialized (
                select d.i, d.row_at, case when d.granted then 0 when d.n > smallest then 16 else 17 end::smallint as status,
                       case when not d.granted and d.n <= smallest
                            then greatest(case when d.n > limits[1] - d.used1 then d.ends1 end,
                                          case when d.n > limits[2] - d.used2 then d.ends2 end) end as retry_us,
                       case when limits[2] is null then array[d.started1] else array[d.started1, d.started2] end as started_us,
                       case when limits[2] is null then array[d.ends1] else array[d.ends1, d.ends2] end as ends_us,
                       case when limits[2] is null then array[d.used1 + d.taken]
                            else array[d.used1 + d.taken, d.used2 + d.taken] end as used
                from (
                    select g.i, g.row_at, g.n, g.granted, g.used1, g.used2, case when g.granted then g.n else 0 end as taken,
                           case when g.ends1 = 0 then now_us else g.started1 end as started1,
                           case when g.ends2 = 0 then now_us else g.started2 end as started2,
                           case when g.ends1 = 0 and g.granted then now_us + lengths[1] else g.ends1 end as ends1,
                           case when g.ends2 = 0 and g.granted then now_us + lengths[2] else g.ends2 end as ends2
                    from (
                        select x.*, x.n <= least(limits[1] - x.used1, limits[2] - x.used2) as granted
                        from (
                            select e.i, e.row_at, ns[e.i] as n, e.started1, e.started2,
                                   case when now_us < e.ends1 then e.ends1 else 0 end as ends1,
                                   case when now_us < e.ends2 then e.ends2 else 0 end as ends2,
                                   case when now_us < e.ends1 then e.used[e.place1] else 0 end as used1,
                                   case when now_us < e.ends2 then e.used[e.place2] else 0 end as used2
                            from (
                                select p.i, p.row_at, p.place1, p.place2, p.used,
                                       p.started_us[p.place1] as started1, p.started_us[p.place2] as started2,
                                       least(p.ends_us[p.place1], p.started_us[p.place1] + lengths[1]) as ends1,
                                       least(p.ends_us[p.place2], p.started_us[p.place2] + lengths[2]) as ends2
                                from (
                                    select i, s.ctid as row_at, s.started_us, s.ends_us, s.used,
                                           array_position(s.window_ids, numbers[1]) as place1,
                                           array_position(s.window_ids, numbers[2]) as place2
                                    from unnest(plain) i
                                    -- By itself for each path: joined, a young table's rows would all be read.
                                    left join lateral (
                                        select x.ctid, x.* from holdfast.quotas x
                                        where x.bucket_id = ids[w] and x.path = paths[i] offset 0) s on true
                                    offset 0) p
                                offset 0) e
                            offset 0) x
                        offset 0) g
                    offset 0) d
            ), kept as (
                update holdfast.quotas s
                set window_ids = numbers, started_us = c.started_us, ends_us = c.ends_us, used = c.used
                from c where s.ctid = c.row_at and c.status = 0
                returning c.i
            ), made as (
                -- Also where the sweeper, which holds no name's lock, freed or moved the row since it was read.
                insert into holdfast.quotas as s (bucket_id, path, slot, window_ids, started_us, ends_us, used)
                select ids[w], paths[c.i], holdfast.limiter_slot(greatest(c.ends_us[1], c.ends_us[2]), now_us), numbers,
                       c.started_us, c.ends_us, c.used
                from c where c.status = 0 and c.i not in (select kept.i from kept)
                on conflict (bucket_id, path) do update
                set window_ids = excluded.window_ids, started_us = excluded.started_us, ends_us = excluded.ends_us,
                    used = excluded.used
            )
            select ordinals[c.i], c.status, case c.status when 0 then base + ordinals[c.i] end, c.retry_us, now_us,
                   window_names[w], limits, lengths, c.used, c.ends_us, 'quota'::text
            from c;
            done := done || plain;
        end loop;
        if cardinality(done) = cardinality(paths) then
            return;
        end if;
    end if;
    -- Each key is looked up once, for its first operation; the keys of a name follow each other.
    for q in
        select k.i, k.w, k.first, s.window_ids, s.started_us, s.ends_us, s.used
        from (select g.i, which[g.i] as w, paths[g.i] as path,
                     row_number() over (partition by which[g.i], paths[g.i] order by g.i) = 1 as first
              from generate_series(1, cardinality(paths)) g(i) where g.i <> all (done)) k
        left join holdfast.quotas s on s.bucket_id = case when k.first then ids[k.w] end and s.path = k.path
        order by k.w, k.path, k.i
    loop
        if q.first then
            if dirty then
                rows := rows || row(ids[at_w], 0, at_path, numbers, starts, ends, used)::holdfast.quotas;
                dirty := false;
            end if;
            if at_w is distinct from q.w then
                at_w := q.w; kind := kinds[at_w]; windows := window_names[at_w]; numbers := window_ids[at_w]::integer[];
                limits := window_limits[at_w]::bigint[]; lengths := window_us[at_w]::bigint[];
                zeros := array_fill(0::bigint, array[coalesce(cardinality(limits), 0)]); smallest := limits[1];
                for j in 2 .. coalesce(cardinality(limits), 0) loop
                    smallest := least(smallest, limits[j]);
                end loop;
            end if;
            at_path := paths[q.i]; room := smallest;
            starts := zeros; ends := zeros; used := zeros; closed := true;
            if q.used is not null and kind = 'quota' then
                if q.window_ids = numbers then
                    starts := q.started_us; ends := q.ends_us; used := q.used;
                else -- declared anew since
                    for j in 1 .. cardinality(numbers) loop
                        p := array_position(q.window_ids, numbers[j]);
                        if p is not null then
                            starts[j] := q.started_us[p]; ends[j] := q.ends_us[p]; used[j] := q.used[p];
                        end if;
                    end loop;
                end if;
                closed := false;
                for j in 1 .. cardinality(numbers) loop
                    -- A window that was declared shorter since is over earlier, one declared longer is not prolonged.
                    if ends[j] > starts[j] + lengths[j] then
                        ends[j] := starts[j] + lengths[j];
                    end if;
                    if now_us < ends[j] then
                        room := least(room, limits[j] - used[j]);
                    else
                        starts[j] := 0; ends[j] := 0; used[j] := 0; closed := true;
                    end if;
                end loop;
            end if;
        end if;
        o := ordinals[q.i]; n := ns[q.i]; pos := null; retry_us := null;
        if kind is null then
            status := 3;
        elsif kind <> 'quota' then
            status := 4;
        elsif n > smallest then
            status := 16;
        elsif refunds[q.i] then
            status := 0; pos := base + o; room := smallest;
            for j in 1 .. cardinality(limits) loop
                dirty := dirty or used[j] > 0;
                used[j] := greatest(0, used[j] - n);
                room := least(room, limits[j] - used[j]);
            end loop;
        elsif n <= room then
            status := 0; pos := base + o; room := room - n; dirty := true;
            for j in 1 .. cardinality(limits) loop
                used[j] := used[j] + n;
                if closed and ends[j] = 0 then
                    starts[j] := now_us; ends[j] := now_us + lengths[j];
                end if;
            end loop;
            closed := false;
        else
            status := 17; retry_us := 0;
            for j in 1 .. cardinality(limits) loop
                if n > limits[j] - used[j] then
                    retry_us := greatest(retry_us, ends[j]);
                end if;
            end loop;
        end if;
        return next;
    end loop;
    if dirty then
        rows := rows || row(ids[at_w], 0, at_path, numbers, starts, ends, used)::holdfast.quotas;
    end if;
    insert into holdfast.quotas as s (bucket_id, path, slot, window_ids, started_us, ends_us, used)
    select r.bucket_id, r.path,
           holdfast.limiter_slot(greatest(r.ends_us[1], r.ends_us[2], r.ends_us[3], r.ends_us[4], r.ends_us[5],
                                          r.ends_us[6], r.ends_us[7], r.ends_us[8]), now_us),
           r.window_ids, r.started_us, r.ends_us, r.used
    from unnest(rows) r
    on conflict (bucket_id, path) do update
    set window_ids = excluded.window_ids, started_us = excluded.started_us, ends_us = excluded.ends_us,
        used = excluded.used;
end
$$;
comment on function holdfast.use_quotas(text[], smallint[], smallint[], bytea[], bigint[], boolean[]) is
    'Takes ns uses from the keys of quotas, each from all windows or from none, or (refunds) gives them back to the windows '
    'that are open; several operations on one path are decided in the order of their ordinals and written once. status 0: '
    'done (pos is the position), 3: the name is not declared, 4: of another kind (kind), 16: more than the smallest limit, 17: '
    'refused, the same would pass at retry_us. windows: their names with commas between them; limits, lengths, used and ends '
    'for each. All times are microseconds, of moments since 1970; an end of 0: the window is not open.';

create or replace function holdfast.peek_quotas(
    names text[], which smallint[], ordinals smallint[], paths bytea[]
) returns table (o smallint, status smallint, pos bigint, retry_us bigint, now_us bigint, windows text, limits bigint[],
                 lengths bigint[], used bigint[], ends bigint[], kind text)
language sql stable
as $$
    select q.o,
           case when b.id is null then 3 when b.kind <> 'quota' then 4 when v.retry_us is null then 0 else 17 end::smallint,
           null::bigint, v.retry_us, t.now_us, array_to_string(b.window_names, ','), b.window_limits, b.window_us, v.used,
           v.ends, b.kind
    from (select (extract(epoch from holdfast.now()) * 1000000)::bigint as now_us) t
    cross join unnest(which, ordinals, paths) q(w, o, path)
    left join holdfast.buckets b on b.name = names[q.w]
    left join holdfast.quotas s on s.bucket_id = b.id and s.path = q.path and b.kind = 'quota'
    cross join lateral (
        select array_agg(coalesce(x.used, 0) order by c.place) as used,
               array_agg(coalesce(x.ends_us, 0) order by c.place) as ends,
               max(x.ends_us) filter (where x.used >= c.most) as retry_us
        from unnest(b.window_ids, b.window_limits, b.window_us) with ordinality c(id, most, length_us, place)
        left join lateral (
            select u.used, least(u.ends_us, u.started_us + c.length_us) as ends_us
            from unnest(s.window_ids, s.started_us, s.ends_us, s.used) u(id, started_us, ends_us, used)
            where u.id = c.id and t.now_us < least(u.ends_us, u.started_us + c.length_us)) x on true) v
$$;
comment on function holdfast.peek_quotas(text[], smallint[], smallint[], bytea[]) is
    'The same as use_quotas() of one use would say, without taking it.';
