-- Rate limits: a burst at once, then the rate, exactly (the generic cell rate algorithm, in whole numbers).
--
-- What a key has used and not got back yet is its debt, in parts of 1/rate_us of one use: a use adds rate_us of them, and
-- each microsecond takes rate_count away. A call of n may pass while the debt leaves room for n below burst * rate_us. All of
-- it is whole numbers without a bound, so that no rate is rounded and no number of calls makes it drift.

create or replace function holdfast.quotient_up(dividend numeric, divisor numeric) returns numeric
language sql immutable
as $$ select div(dividend + divisor - 1, divisor) $$;
comment on function holdfast.quotient_up(numeric, numeric) is
    'Whole numbers, from 0 and from 1, divided and rounded up, however many digits they have.';

create or replace function holdfast.moment_after(at_us bigint, debt numeric, rate_count bigint) returns bigint
language sql immutable
as $$ select least(at_us + holdfast.quotient_up(debt, rate_count), 253402300799999999)::bigint $$;
comment on function holdfast.moment_after(bigint, numeric, bigint) is
    'When rate_count parts a microsecond, from at_us on, have taken a debt away; in the year 9999 at the latest.';

create or replace function holdfast.debt_after(
    debt numeric, at_us bigint, rate_count bigint, rate_us bigint, new_count bigint, new_us bigint, since_us bigint,
    now_us bigint
) returns numeric
language plpgsql immutable
as $$
declare
    changed_us bigint;
begin
    if rate_count = new_count and rate_us = new_us then
        return greatest(0, debt - (now_us - at_us)::numeric * rate_count);
    end if;
    -- At the rate it was made under until that changed, then at the new one.
    changed_us := greatest(at_us, least(since_us, now_us));
    return greatest(0, holdfast.quotient_up(
        greatest(0, debt - (changed_us - at_us)::numeric * rate_count) * new_us, rate_us)
        - (now_us - changed_us)::numeric * new_count);
end
$$;
comment on function holdfast.debt_after(numeric, bigint, bigint, bigint, bigint, bigint, bigint, bigint) is
    'What is left at now_us, not before at_us, of a debt at at_us under a rate of rate_count in rate_us, which since since_us '
    'is new_count in new_us; in parts of the new rate.';

create or replace function holdfast.debt_of(used holdfast.rate_limits, name holdfast.buckets, now_us bigint) returns numeric
language sql immutable
as $$
    select holdfast.debt_after(used.debt, used.at_us, used.rate_count, used.rate_us, name.rate_count, name.rate_us,
                               name.rate_since_us, now_us)
$$;
comment on function holdfast.debt_of(holdfast.rate_limits, holdfast.buckets, bigint) is
    'What is left of a key''s debt at now_us, under the rate that its name has now.';

create or replace function holdfast.declare_rate_limit(
    name text, rate_count bigint, rate_us bigint, burst bigint, lose_us bigint
) returns table (status smallint, created_at timestamptz, actual text, pos bigint, shortest bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    claimed record;
begin
    if declare_rate_limit.lose_us < holdfast.shortest_loss() then
        return query select 12::smallint, null::timestamptz, null::text, null::bigint, holdfast.shortest_loss();
        return;
    end if;
    select * into claimed from holdfast.claim_name(declare_rate_limit.name, 'rate_limit');
    if claimed.status = 2 then
        return query select 2::smallint, claimed.created_at, claimed.actual, null::bigint, null::bigint;
        return;
    end if;
    update holdfast.buckets b
    set rate_since_us = case when b.rate_count = declare_rate_limit.rate_count and b.rate_us = declare_rate_limit.rate_us
                             then b.rate_since_us
                             else (extract(epoch from holdfast.now()) * 1000000)::bigint end,
        rate_count = declare_rate_limit.rate_count, rate_us = declare_rate_limit.rate_us,
        burst = declare_rate_limit.burst, lose_us = declare_rate_limit.lose_us
    where b.name = declare_rate_limit.name;
    return query select claimed.status, claimed.created_at, claimed.actual, holdfast.draw_revision() + 1, null::bigint;
end
$$;
comment on function holdfast.declare_rate_limit(text, bigint, bigint, bigint, bigint) is
    'Declares a rate limit of rate_count in rate_us microseconds (status 0) or changes it as a whole (1), which takes effect '
    'at once for what was used; pos is the position. 2: the name is of another kind, which actual names. 12: this server '
    'cannot promise to lose so little; shortest is what it can.';

create or replace function holdfast.use_rate_limits(
    names text[], which smallint[], ordinals smallint[], paths bytea[], ns bigint[]
) returns table (o smallint, status smallint, pos bigint, left_over bigint, retry_us bigint, now_us bigint, burst bigint,
                 rate_count bigint, rate_us bigint, kind text, loses boolean, more_us bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    lost boolean;
    ids integer[];
    kinds text[];
    losses bigint[];
    counts bigint[];
    uss bigint[];
    sinces bigint[];
    bursts bigint[];
    lifted boolean;
    base bigint;
    t0_us bigint;
    plain integer[];        -- the places of operations on whose path the call has no other
    done integer[] := '{}'; -- those that were decided already
    parts numeric;          -- of one use
    q record;
    at_w smallint;
    at_path bytea;
    at_us bigint;       -- t0, or when the key was last used if that is later: time never goes back for a key
    before_us numeric;  -- the debt before the operations of this call
    used bigint := 0;   -- by these so far
    n bigint;
    refused_n bigint;   -- of the last refusal, which the next one likely repeats
    granted bigint;     -- operations
    w_ids integer[] := '{}';
    w_paths bytea[] := '{}';
    w_whens bigint[] := '{}';
    w_counts bigint[] := '{}';
    w_uss bigint[] := '{}';
    w_debts numeric[] := '{}';
begin
    locked := holdfast.lock_names(names);
    t0_us := (extract(epoch from holdfast.now()) * 1000000)::bigint; -- after the lock
    select c.ids, c.kinds, c.losses, c.rate_counts, c.rate_uss, c.rate_sinces, c.bursts, c.lifted
    into ids, kinds, losses, counts, uss, sinces, bursts, lifted
    from holdfast.limiter_configurations(names) c;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    lost := holdfast.may_lose(losses);
    base := nextval('holdfast.revision') - 256;
    now_us := t0_us;
    at_w := which[1]; at_path := paths[1]; n := ns[1]; burst := bursts[at_w];
    if at_path = all (paths) and at_w = all (which) and n = all (ns) and kinds[at_w] = 'rate_limit' and n <= burst then
        -- A hot key: the first so many are granted and the others refused alike.
        rate_count := counts[at_w]; rate_us := uss[at_w];
        select greatest(t0_us, r.at_us),
               holdfast.debt_after(r.debt, r.at_us, r.rate_count, r.rate_us, counts[at_w], uss[at_w], sinces[at_w],
                                   greatest(t0_us, r.at_us))
        into at_us, before_us
        from holdfast.rate_limits r where r.bucket_id = ids[at_w] and r.path = at_path;
        at_us := coalesce(at_us, t0_us); before_us := coalesce(before_us, 0);
        left_over := burst - holdfast.quotient_up(before_us, rate_us);
        more_us := holdfast.moment_after(
            at_us, before_us + (greatest(left_over, 0) + 1 - burst)::numeric * rate_us, rate_count);
        granted := least(greatest(left_over / n, 0), cardinality(ns)); used := granted * n;
        if granted < cardinality(ns) then
            retry_us := holdfast.moment_after(at_us, before_us + (used - burst + n)::numeric * rate_us, rate_count);
        end if;
        return query
        select ordinals[i], case when i <= granted then 0 else 17 end::smallint,
               case when i <= granted then base + ordinals[i] end, left_over - n * least(i, granted),
               case when i > granted then retry_us end, t0_us, burst, rate_count, rate_us, null::text, losses[at_w] is not null,
               more_us
        from generate_series(1, cardinality(ns)) i;
    else
        -- Paths that come once, in one query for all of a name: most do. To set it up costs as much as it spares eight, sixteen
        -- for each further name. A call whose first path comes again has likely few paths that do not.
        if cardinality(names) * 16 <= cardinality(paths) + 8 and array_position(paths, paths[1], 2) is null then
            for w in 1 .. cardinality(names) loop
                continue when kinds[w] is distinct from 'rate_limit';
                plain := array(select min(i) from generate_series(1, cardinality(paths)) i where which[i] = w
                               group by paths[i] having count(*) = 1);
                continue when cardinality(plain) < 8;
                parts := uss[w];
                return query
                with c as materialized (
                    select x.*, ns[x.i] <= x.left_over as granted
                    from (
                        select d.*, (bursts[w] - holdfast.quotient_up(d.debt, parts))::bigint as left_over
                        from (
                            select i, r.ctid as row_at, greatest(t0_us, r.at_us) as at_us,
                                   case when r.debt is null then 0
                                        when r.rate_count = counts[w] and r.rate_us = uss[w]
                                        then greatest(0, r.debt - (greatest(t0_us, r.at_us) - r.at_us)::numeric * counts[w])
                                        else holdfast.debt_after(r.debt, r.at_us, r.rate_count, r.rate_us, counts[w], uss[w],
                                                                 sinces[w], greatest(t0_us, r.at_us)) end as debt
                            from unnest(plain) i
                            -- By itself for each path: joined, a young table's rows would all be read.
                            left join lateral (
                                select x.ctid, x.* from holdfast.rate_limits x
                                where x.bucket_id = ids[w] and x.path = paths[i] offset 0) r on true
                            offset 0) d
                        offset 0) x
                ), kept as (
                    update holdfast.rate_limits r
                    set at_us = c.at_us, rate_count = counts[w], rate_us = uss[w], debt = c.debt + ns[c.i] * parts
                    from c where r.ctid = c.row_at and c.granted
                    returning c.i
                ), made as (
                    -- Also where the sweeper, which holds no name's lock, freed or moved the row since it was read.
                    insert into holdfast.rate_limits as r (bucket_id, path, at_us, rate_count, rate_us, debt, slot)
                    select ids[w], paths[k.i], k.at_us, counts[w], uss[w], k.debt,
                           holdfast.limiter_slot(holdfast.moment_after(k.at_us, k.debt, counts[w]), t0_us)
                    from (select c.i, c.at_us, c.debt + ns[c.i] * parts as debt from c
                          where c.granted and c.i not in (select kept.i from kept) offset 0) k
                    on conflict (bucket_id, path) do update
                    set at_us = excluded.at_us, rate_count = excluded.rate_count, rate_us = excluded.rate_us,
                        debt = excluded.debt
                )
                select ordinals[c.i], case when c.granted then 0 when ns[c.i] > bursts[w] then 16 else 17 end::smallint,
                       case when c.granted then base + ordinals[c.i] end,
                       case when c.granted then c.left_over - ns[c.i] else c.left_over end,
                       case when not c.granted and ns[c.i] <= bursts[w]
                            then holdfast.moment_after(c.at_us, c.debt + (ns[c.i] - bursts[w]) * parts, counts[w]) end,
                       t0_us, bursts[w], counts[w], uss[w], 'rate_limit'::text, losses[w] is not null,
                       holdfast.moment_after(c.at_us, c.debt + (greatest(c.left_over, 0) + 1 - bursts[w]) * parts,
                                             counts[w])
                from c;
                done := done || plain;
            end loop;
            if cardinality(done) = cardinality(paths) then
                return;
            end if;
        end if;
        -- Each key is looked up once, for its first operation.
        for q in
            select k.i, k.w, k.first, r.at_us, r.rate_count, r.rate_us, r.debt
            from (select g.i, which[g.i] as w, paths[g.i] as path,
                         row_number() over (partition by which[g.i], paths[g.i] order by g.i) = 1 as first
                  from generate_series(1, cardinality(paths)) g(i) where g.i <> all (done)) k
            left join holdfast.rate_limits r on r.bucket_id = case when k.first then ids[k.w] end and r.path = k.path
            order by k.w, k.path, k.i
        loop
            if q.first then
                if used > 0 then
                    w_ids := w_ids || ids[at_w]; w_paths := w_paths || at_path; w_whens := w_whens || at_us;
                    w_counts := w_counts || rate_count; w_uss := w_uss || rate_us;
                    w_debts := w_debts || (before_us + used::numeric * rate_us);
                end if;
                at_w := q.w; at_path := paths[q.i]; used := 0; refused_n := null;
                rate_count := counts[at_w]; rate_us := uss[at_w]; burst := bursts[at_w]; kind := kinds[at_w];
                loses := losses[at_w] is not null;
                at_us := t0_us; before_us := 0;
                if q.debt is not null and kind = 'rate_limit' then
                    at_us := greatest(t0_us, q.at_us);
                    before_us := holdfast.debt_after(q.debt, q.at_us, q.rate_count, q.rate_us, rate_count, rate_us,
                                                     sinces[at_w], at_us);
                end if;
                left_over := burst - holdfast.quotient_up(before_us, rate_us);
                more_us := holdfast.moment_after(
                    at_us, before_us + (greatest(left_over, 0) + 1 - burst)::numeric * rate_us, rate_count);
            end if;
            o := ordinals[q.i]; n := ns[q.i]; pos := null;
            if kind is null then
                status := 3;
            elsif kind <> 'rate_limit' then
                status := 4;
            elsif n > burst then
                status := 16;
            elsif n <= left_over then
                status := 0; pos := base + o; retry_us := null; refused_n := null;
                left_over := left_over - n; used := used + n;
            else
                status := 17;
                if refused_n is distinct from n then
                    refused_n := n;
                    retry_us := holdfast.moment_after(
                        at_us, before_us + (used - burst + n)::numeric * rate_us, rate_count);
                end if;
            end if;
            return next;
        end loop;
    end if;
    if used > 0 then
        w_ids := w_ids || ids[at_w]; w_paths := w_paths || at_path; w_whens := w_whens || at_us;
        w_counts := w_counts || rate_count; w_uss := w_uss || rate_us;
        w_debts := w_debts || (before_us + used::numeric * rate_us);
    end if;
    insert into holdfast.rate_limits as r (bucket_id, path, at_us, rate_count, rate_us, debt, slot)
    select w_ids[i], w_paths[i], w_whens[i], w_counts[i], w_uss[i], w_debts[i],
           holdfast.limiter_slot(holdfast.moment_after(w_whens[i], w_debts[i], w_counts[i]), t0_us)
    from generate_series(1, cardinality(w_ids)) i
    on conflict (bucket_id, path) do update
    set at_us = excluded.at_us, rate_count = excluded.rate_count, rate_us = excluded.rate_us, debt = excluded.debt;
end
$$;
comment on function holdfast.use_rate_limits(text[], smallint[], smallint[], bytea[], bigint[]) is
    'Takes ns uses from the keys of rate limits, each all or none; several operations on one path are decided in the order of '
    'their ordinals and written once. status 0: taken (pos is the position), 3: the name is not declared, 4: of another kind '
    '(kind), 16: more than the burst, 17: refused, the same would pass at retry_us. left_over: what could be taken now, below 0 '
    'after a burst was lowered. All times are microseconds since 1970. loses: whether the limit has a lose_at_most, so that its '
    'operations travel with others of that sort. more_us: when more than left_over will be there, or anything when that is below '
    '0, provided that something is used.';

create or replace function holdfast.peek_rate_limits(
    names text[], which smallint[], ordinals smallint[], paths bytea[]
) returns table (o smallint, status smallint, pos bigint, left_over bigint, retry_us bigint, now_us bigint, burst bigint,
                 rate_count bigint, rate_us bigint, kind text, loses boolean, more_us bigint)
language sql stable
as $$
    select q.o,
           case when b.id is null then 3 when b.kind <> 'rate_limit' then 4 when l.left_over > 0 then 0 else 17 end::smallint,
           null::bigint, l.left_over,
           case when l.left_over <= 0
                then holdfast.moment_after(l.at_us, d.debt + (1 - b.burst)::numeric * b.rate_us, b.rate_count) end,
           t.now_us, b.burst, b.rate_count, b.rate_us, b.kind, b.lose_us is not null,
           holdfast.moment_after(l.at_us, d.debt + (greatest(l.left_over, 0) + 1 - b.burst)::numeric * b.rate_us, b.rate_count)
    from (select (extract(epoch from holdfast.now()) * 1000000)::bigint as now_us) t
    cross join unnest(which, ordinals, paths) q(w, o, path)
    left join holdfast.buckets b on b.name = names[q.w]
    left join holdfast.rate_limits r on r.bucket_id = b.id and r.path = q.path and b.kind = 'rate_limit'
    cross join lateral (
        select case when r.debt is null then 0
                    else holdfast.debt_after(r.debt, r.at_us, r.rate_count, r.rate_us, b.rate_count, b.rate_us,
                                             b.rate_since_us, greatest(r.at_us, t.now_us)) end as debt offset 0) d
    cross join lateral (
        select greatest(r.at_us, t.now_us) as at_us,
               (b.burst - holdfast.quotient_up(d.debt, b.rate_us))::bigint as left_over) l
$$;
comment on function holdfast.peek_rate_limits(text[], smallint[], smallint[], bytea[]) is
    'The same as use_rate_limits() of one use would say, without taking it.';
