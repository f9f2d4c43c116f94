-- Counters: 64-bit integers that are changed without being read first, and may expire as a whole.

create or replace function holdfast.declare_counter(name text, ttl_us bigint, lose_us bigint)
returns table (status smallint, created_at timestamptz, actual text, pos bigint, shortest bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    claimed record;
begin
    if declare_counter.lose_us < holdfast.shortest_loss() then
        return query select 12::smallint, null::timestamptz, null::text, null::bigint, holdfast.shortest_loss();
        return;
    end if;
    select * into claimed from holdfast.claim_name(declare_counter.name, 'counter');
    if claimed.status = 2 then
        return query select 2::smallint, claimed.created_at, claimed.actual, null::bigint, null::bigint;
        return;
    end if;
    update holdfast.buckets b set ttl_us = declare_counter.ttl_us, lose_us = declare_counter.lose_us
    where b.name = declare_counter.name;
    return query select claimed.status, claimed.created_at, claimed.actual, holdfast.draw_revision() + 1, null::bigint;
end
$$;
comment on function holdfast.declare_counter(text, bigint, bigint) is
    'Declares a counter (status 0) or changes it as a whole (1); pos is the position. 2: the name is of another kind, which '
    'actual names. 12: this server cannot promise to lose so little; shortest is what it can.';

create or replace function holdfast.change_counters(
    names text[], which smallint[], ordinals smallint[], paths bytea[], adds boolean[], numbers bigint[],
    declares boolean[]
) returns table (o smallint, status smallint, pos bigint, val bigint, kind text, loses boolean)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    lost boolean;
    ids integer[];
    kinds text[];
    ttls bigint[];
    losses bigint[];
    lifted boolean;
    base bigint;
    t0 timestamptz;
    q record;
    at_w smallint;
    at_path bytea;
    dirty boolean := false;
    value_now bigint; -- after the operations so far
    expiry_now timestamptz;
    number bigint;
    w_ids integer[] := '{}';
    w_paths bytea[] := '{}';
    w_values bigint[] := '{}';
    w_expiries timestamptz[] := '{}';
begin
    locked := holdfast.lock_names(names);
    t0 := holdfast.now(); -- after the lock: it may have taken a while
    select c.ids, c.kinds, c.ttls, c.losses, c.lifted into ids, kinds, ttls, losses, lifted
    from holdfast.limiter_configurations(names) c;
    if array_position(ids, null) is not null then
        perform holdfast.make_names(array(
            select names[d.w] from unnest(which, declares) d(w, declares) where d.declares), 'counter');
        select c.ids, c.kinds, c.ttls, c.losses, c.lifted into ids, kinds, ttls, losses, lifted
        from holdfast.limiter_configurations(names) c;
    end if;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    lost := holdfast.may_lose(losses);
    base := nextval('holdfast.revision') - 256;
    at_w := which[1]; at_path := paths[1]; number := numbers[1];
    if at_path = all (paths) and at_w = all (which) and number = all (numbers) and true = all (adds)
        and kinds[at_w] = 'counter' and number between -4503599627370496 and 4503599627370496 then
        -- A hot key: one look-up, and sums that cannot overflow.
        select c.value, c.expires_at into value_now, expiry_now
        from holdfast.counters c
        where c.bucket_id = ids[at_w] and c.path = at_path and (c.expires_at is null or c.expires_at > t0);
        if not found then
            value_now := 0; expiry_now := t0 + ttls[at_w] * interval '1 microsecond';
        end if;
        dirty := value_now between -4611686018427387904 and 4611686018427387904;
    end if;
    if dirty then
        return query
        select ordinals[i], 0::smallint, base + ordinals[i], value_now + number * i, null::text, losses[at_w] is not null
        from generate_series(1, cardinality(numbers)) i;
        value_now := value_now + number * cardinality(numbers);
    else
        -- Each key is looked up once, for its first operation.
        for q in
            select k.i, k.w, k.first, c.value, c.expires_at
            from (select g.i, which[g.i] as w, paths[g.i] as path,
                         row_number() over (partition by which[g.i], paths[g.i] order by g.i) = 1 as first
                  from generate_series(1, cardinality(paths)) g(i)) k
            left join holdfast.counters c on c.bucket_id = case when k.first then ids[k.w] end and c.path = k.path
            order by k.w, k.path, k.i
        loop
            if q.first then
                if dirty then
                    w_ids := w_ids || ids[at_w]; w_paths := w_paths || at_path;
                    w_values := w_values || value_now; w_expiries := w_expiries || expiry_now;
                end if;
                at_w := q.w; at_path := paths[q.i]; dirty := false;
                if q.value is not null and (q.expires_at is null or q.expires_at > t0) then
                    value_now := q.value; expiry_now := q.expires_at;
                else
                    value_now := 0; expiry_now := t0 + ttls[at_w] * interval '1 microsecond';
                end if;
            end if;
            o := ordinals[q.i]; number := numbers[q.i]; loses := losses[at_w] is not null;
            if kinds[at_w] = 'counter' then
                status := 0;
                if not adds[q.i] then
                    value_now := greatest(value_now, number);
                elsif (number >= 0 and value_now > 9223372036854775807 - number)
                    or (number < 0 and value_now < -9223372036854775808 - number) then
                    status := 11;
                else
                    value_now := value_now + number;
                end if;
                dirty := dirty or status = 0;
                pos := case when status = 0 then base + o end; val := value_now; kind := null;
            else
                status := case when kinds[at_w] is null then 3 else 4 end; pos := null; val := null; kind := kinds[at_w];
            end if;
            return next;
        end loop;
    end if;
    if dirty then
        w_ids := w_ids || ids[at_w]; w_paths := w_paths || at_path;
        w_values := w_values || value_now; w_expiries := w_expiries || expiry_now;
    end if;
    insert into holdfast.counters as c (bucket_id, path, value, expires_at, slot)
    select w_ids[n], w_paths[n], w_values[n], w_expiries[n], holdfast.slot_of(w_expiries[n])
    from generate_series(1, cardinality(w_ids)) n
    on conflict (bucket_id, path) do update
    set value = excluded.value, expires_at = excluded.expires_at, slot = coalesce(c.slot, excluded.slot);
end
$$;
comment on function holdfast.change_counters(text[], smallint[], smallint[], bytea[], boolean[], bigint[], boolean[]) is
    'Adds numbers to counters, or (adds false) lifts counters to them; several operations on one path are decided in the '
    'order of their ordinals and written once. An absent counter is 0, and begins its ttl. declares: whether a missing '
    'counter is made. status 0: done (val is the value, pos the position), 3: the name is not declared, 4: of another '
    'kind (kind), 11: the sum is out of range, val is the value as it stays. loses: whether the counter has a lose_at_most, '
    'so that its operations travel with others of that sort.';

create or replace function holdfast.get_counters(
    names text[], which smallint[], ordinals smallint[], paths bytea[]
) returns table (o smallint, status smallint, val bigint, kind text)
language sql stable
as $$
    select q.o, case when b.id is null then 3 when b.kind <> 'counter' then 4 else 0 end::smallint,
           coalesce(c.value, 0), b.kind
    from (select holdfast.now() as now) t
    cross join unnest(which, ordinals, paths) q(w, o, path)
    left join holdfast.buckets b on b.name = names[q.w]
    left join holdfast.counters c on c.bucket_id = b.id and c.path = q.path and (c.expires_at is null or c.expires_at > t.now)
$$;
comment on function holdfast.get_counters(text[], smallint[], smallint[], bytea[]) is
    'The values of counters, 0 where there is none. status 0: as it says, 3: the name is not declared, 4: of another kind '
    '(kind).';
