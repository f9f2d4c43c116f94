-- Gates: so many in a window that begins with the first, both said by each call.

create or replace function holdfast.check_rate_gates(
    names text[], which smallint[], ordinals smallint[], paths bytea[], mosts bigint[], windows bigint[]
) returns table (o smallint, status smallint, pos bigint, used bigint, resets_us bigint, now_us bigint, kind text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    ids integer[];
    kinds text[];
    lifted boolean;
    base bigint;
    q record;
    at_w smallint;
    at_path bytea;
    dirty boolean := false;
    started_us bigint; -- of the window, null when none is open
    ends_us bigint;    -- when it is over for every call; a shorter window of a call's own may be over before
    w_ids integer[] := '{}';
    w_paths bytea[] := '{}';
    w_starts bigint[] := '{}';
    w_ends bigint[] := '{}';
    w_useds bigint[] := '{}';
begin
    locked := holdfast.lock_names(names);
    now_us := (extract(epoch from holdfast.now()) * 1000000)::bigint; -- after the lock
    select c.ids, c.kinds, c.lifted into ids, kinds, lifted from holdfast.bucket_configurations(names) c;
    if array_position(ids, null) is not null then
        perform holdfast.make_names(names, 'rate_gate');
        select c.ids, c.kinds, c.lifted into ids, kinds, lifted from holdfast.bucket_configurations(names) c;
    end if;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    -- Each key is looked up once, for its first operation.
    for q in
        select k.i, k.w, k.first, g.started_us, g.ends_us, g.used
        from (select s.i, which[s.i] as w, paths[s.i] as path,
                     row_number() over (partition by which[s.i], paths[s.i] order by s.i) = 1 as first
              from generate_series(1, cardinality(paths)) s(i)) k
        left join holdfast.rate_gates g on g.bucket_id = case when k.first then ids[k.w] end and g.path = k.path
        order by k.w, k.path, k.i
    loop
        if q.first then
            if dirty then
                w_ids := w_ids || ids[at_w]; w_paths := w_paths || at_path; w_starts := w_starts || started_us;
                w_ends := w_ends || ends_us; w_useds := w_useds || used;
            end if;
            at_w := q.w; at_path := paths[q.i]; dirty := false; kind := kinds[at_w];
            started_us := q.started_us; ends_us := q.ends_us; used := q.used;
        end if;
        o := ordinals[q.i]; pos := null;
        if kind <> 'rate_gate' then
            status := 4;
            return next;
            continue;
        end if;
        if started_us is null or now_us >= ends_us or now_us >= started_us + windows[q.i] then
            started_us := now_us; ends_us := now_us; used := 0;
        end if;
        resets_us := started_us + windows[q.i];
        if resets_us > ends_us then
            ends_us := resets_us; dirty := true;
        end if;
        if used < mosts[q.i] then
            status := 0; pos := base + o; used := used + 1; dirty := true;
        else
            status := 17;
        end if;
        return next;
    end loop;
    if dirty then
        w_ids := w_ids || ids[at_w]; w_paths := w_paths || at_path; w_starts := w_starts || started_us;
        w_ends := w_ends || ends_us; w_useds := w_useds || used;
    end if;
    insert into holdfast.rate_gates as g (bucket_id, path, started_us, ends_us, used, slot)
    select w_ids[i], w_paths[i], w_starts[i], w_ends[i], w_useds[i], holdfast.limiter_slot(w_ends[i], now_us)
    from generate_series(1, cardinality(w_ids)) i
    on conflict (bucket_id, path) do update
    set started_us = excluded.started_us, ends_us = excluded.ends_us, used = excluded.used;
end
$$;
comment on function holdfast.check_rate_gates(text[], smallint[], smallint[], bytea[], bigint[], bigint[]) is
    'Lets one pass through each gate when fewer than mosts (from 1) did in its window of windows microseconds, which begins '
    'with the first; a name that is free becomes a gate; several operations on one path are decided in the order of their '
    'ordinals and written once. status 0: passed (pos is the position), 4: the name is of another kind (kind), 17: refused. '
    'used: how many passed in the window, resets_us: when it ends for such a call, in microseconds since 1970.';

create or replace function holdfast.peek_rate_gates(
    names text[], which smallint[], ordinals smallint[], paths bytea[], mosts bigint[], windows bigint[]
) returns table (o smallint, status smallint, pos bigint, used bigint, resets_us bigint, now_us bigint, kind text)
language sql stable
as $$
    select q.o,
           case when b.kind <> 'rate_gate' then 4 when g.used >= q.most then 17 else 0 end::smallint,
           null::bigint, coalesce(g.used, 0), g.started_us + q.length_us, t.now_us, b.kind
    from (select (extract(epoch from holdfast.now()) * 1000000)::bigint as now_us) t
    cross join unnest(which, ordinals, paths, mosts, windows) q(w, o, path, most, length_us)
    left join holdfast.buckets b on b.name = names[q.w]
    left join holdfast.rate_gates g on g.bucket_id = b.id and g.path = q.path and b.kind = 'rate_gate'
        and t.now_us < g.ends_us and t.now_us < g.started_us + q.length_us
$$;
comment on function holdfast.peek_rate_gates(text[], smallint[], smallint[], bytea[], bigint[], bigint[]) is
    'The same as check_rate_gates() would say, without passing; resets_us is null when no window is open.';
