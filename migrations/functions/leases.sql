-- Leases: granting, renewing, releasing, and who holds what.
--
-- All take the distinct bucket names, for each operation the place of its bucket among them (from 1) and an ordinal (1 to
-- 256), then an array a column. Operations on one path are decided in the order of their ordinals, at one time for all,
-- read after the lock. A lease is live while that time is before its expires_at.

create or replace function holdfast.lease_slot(expires_at timestamptz, t0 timestamptz) returns integer
language sql stable
as $$ select holdfast.slot_of(least($1, $2 + interval '10 minutes')) $$;
comment on function holdfast.lease_slot(timestamptz, timestamptz) is
    'The minute in which the sweeper looks at a lease: soon, however long its term, since most are released early.';

create or replace function holdfast.acquire_leases(
    names text[], which smallint[], ordinals smallint[], paths bytea[], holders text[], ttls bigint[], tickets bigint[],
    waits bigint[], declares boolean[]
) returns table (o smallint, status smallint, token bigint, pos bigint, expires_at timestamptz, kind text, ticket bigint,
                 now timestamptz)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    ids integer[];
    kinds text[];
    lifted boolean;
    positions bigint;
    tokens bigint;
    asking bigint[] := array_remove(tickets, null);
    t0 timestamptz;
begin
    locked := holdfast.lock_names(names);
    t0 := holdfast.now(); -- after the lock: a term begins when it is granted
    select c.ids, c.kinds, c.lifted into ids, kinds, lifted from holdfast.bucket_configurations(names) c;
    if array_position(ids, null) is not null then
        perform holdfast.make_buckets(array(
            select names[d.w] from unnest(which, declares) d(w, declares) where d.declares));
        select c.ids, c.kinds, c.lifted into ids, kinds, lifted from holdfast.bucket_configurations(names) c;
    end if;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    positions := nextval('holdfast.revision') - 256;
    tokens := nextval('holdfast.revision') - 256;
    return query
    with c as materialized (
        select q.*, l.expires_at held_until, l.token held_token, l.position held_position,
               coalesce(l.ticket = q.ticket, false) mine, a.ticket first_ticket, a.alive_until first_until,
               t0 + q.ttl * interval '1 microsecond' wanted,
               case when ids[q.w] is null then 3 when kinds[q.w] <> 'bucket' then 4 when l.ticket = q.ticket then 0
                    else 14 end refusal,
               coalesce(kinds[q.w] = 'bucket' and l.path is null and (a.ticket is null or a.ticket >= q.ticket), false) may
        from unnest(which, ordinals, paths, holders, ttls, tickets, waits)
             q(w, o, path, holder, ttl, ticket, wait)
        left join holdfast.leases l on l.bucket_id = ids[q.w] and l.path = q.path and l.expires_at > t0
        left join lateral (
            select x.ticket, x.alive_until from holdfast.lease_waiters x
            where x.bucket_id = ids[q.w] and x.path = q.path and x.alive_until > t0
            order by x.ticket limit 1) a on true
    ), d as materialized (
        select c.*, c.may and row_number() over turn = 1 wins,
               case when first_value(c.may) over turn then first_value(c.wanted) over turn
                    else coalesce(c.held_until, c.first_until) end until,
               coalesce(c.ticket, case when c.wait > 0 then positions + c.o end) place
        from c window turn as (partition by c.w, c.path order by c.may desc, c.ticket, c.o)
    ), granted as (
        insert into holdfast.leases as l (bucket_id, path, token, position, holder, expires_at, ticket, slot)
        select ids[d.w], d.path, tokens + d.o, positions + d.o, d.holder, d.wanted, d.ticket,
               holdfast.lease_slot(d.wanted, t0)
        from d where d.wins
        on conflict (bucket_id, path) do update
        set token = excluded.token, position = excluded.position, holder = excluded.holder,
            expires_at = excluded.expires_at, ticket = excluded.ticket
    ), served as (
        delete from holdfast.lease_waiters x using d
        where x.bucket_id = ids[d.w] and x.path = d.path
          and case when x.ticket = any (asking) then x.ticket = d.ticket and (d.wins or d.wait = 0)
                   else d.wins and x.alive_until <= t0 end
    ), queued as (
        insert into holdfast.lease_waiters as x (bucket_id, path, ticket, alive_until, slot)
        select ids[d.w], d.path, d.place, t0 + d.wait * interval '1 microsecond',
               holdfast.slot_of(t0 + interval '10 minutes')
        from d where d.refusal = 14 and not d.wins and d.wait > 0
        on conflict (bucket_id, path, ticket) do update set alive_until = excluded.alive_until
    ), told as (
        select holdfast.announce(array_agg(g.name order by g.i), array_agg(g.i order by g.i),
                                 array_agg(g.path order by g.i), 'l') told
        from (select names[d.w] as name, d.path, row_number() over ()::smallint i from d where d.wins) g
        having count(*) > 0
    )
    select d.o, case when d.wins then 0 else d.refusal end::smallint,
           case when d.wins then tokens + d.o when d.mine then d.held_token end,
           case when d.wins then positions + d.o when d.mine then d.held_position end,
           case when d.wins then d.wanted when d.mine then d.held_until when d.refusal = 14 then d.until end,
           kinds[d.w], case when d.refusal = 14 and not d.wins then d.place end, t0
    from d left join told on true;
end
$$;
comment on function holdfast.acquire_leases(text[], smallint[], smallint[], bytea[], text[], bigint[], bigint[], bigint[],
    boolean[]) is
    'Grants leases that nobody holds and for which nobody has queued longer. ttls: microseconds from the grant. tickets: '
    'the caller''s place when it queues already, else null. waits: microseconds for which the caller is sure to be there '
    'and queues when it is not granted; with 0 it gives its place up. declares: whether a missing bucket is made. '
    'status 0: granted (token, pos), now or before to the same ticket, 3: the bucket is not declared, 4: of another kind '
    '(kind), 14: held, or others come first; expires_at is when that may change by itself, ticket the place kept. '
    'now: when this was so.';

create or replace function holdfast.renew_leases(
    names text[], which smallint[], ordinals smallint[], paths bytea[], holders text[], tokens bigint[], ttls bigint[]
) returns table (o smallint, status smallint, pos bigint, expires_at timestamptz, kind text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    told boolean;
    ids integer[];
    kinds text[];
    lifted boolean;
    base bigint;
    t0 timestamptz;
begin
    locked := holdfast.lock_names(names);
    told := holdfast.announce(names, which, paths, 'l');
    t0 := holdfast.now();
    select c.ids, c.kinds, c.lifted into ids, kinds, lifted from holdfast.bucket_configurations(names) c;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    return query
    with c as materialized (
        select q.*, t0 + q.ttl * interval '1 microsecond' wanted,
               case when kinds[q.w] <> 'bucket' then 4 when l.path is null then 15 else 0 end::smallint status
        from unnest(which, ordinals, paths, holders, tokens, ttls) q(w, o, path, holder, token, ttl)
        left join holdfast.leases l on l.bucket_id = ids[q.w] and l.path = q.path and l.token = q.token
            and l.holder = q.holder and l.expires_at > t0
    ), u as (
        update holdfast.leases l set expires_at = f.wanted, position = base + f.o
        from (select distinct on (c.w, c.path) c.* from c where c.status = 0 order by c.w, c.path, c.o desc) f
        where l.bucket_id = ids[f.w] and l.path = f.path
    )
    select c.o, c.status, case when c.status = 0 then base + c.o end, case when c.status = 0 then c.wanted end,
           kinds[c.w]
    from c;
end
$$;
comment on function holdfast.renew_leases(text[], smallint[], smallint[], bytea[], text[], bigint[], bigint[]) is
    'Gives live leases a new term, of ttls microseconds from now, when holder and token are theirs. status 0: done (pos is '
    'the position), 4: the name is of another kind (kind), 15: no such lease is live.';

create or replace function holdfast.release_leases(
    names text[], which smallint[], ordinals smallint[], paths bytea[], holders text[], tokens bigint[]
) returns table (o smallint, status smallint, pos bigint, kind text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    told boolean;
    ids integer[];
    kinds text[];
    lifted boolean;
    base bigint;
    t0 timestamptz;
begin
    locked := holdfast.lock_names(names);
    told := holdfast.announce(names, which, paths, 'l');
    t0 := holdfast.now();
    select c.ids, c.kinds, c.lifted into ids, kinds, lifted from holdfast.bucket_configurations(names) c;
    if not lifted then
        perform holdfast.refuse_restored();
    end if;
    base := nextval('holdfast.revision') - 256;
    return query
    with c as materialized (
        select q.*, kinds[q.w] <> 'bucket' other,
               l.path is not null and row_number() over (partition by q.w, q.path, l.path is null order by q.o) = 1 done
        from unnest(which, ordinals, paths, holders, tokens) q(w, o, path, holder, token)
        left join holdfast.leases l on l.bucket_id = ids[q.w] and l.path = q.path and l.token = q.token
            and l.holder = q.holder and l.expires_at > t0
    ), u as (
        -- Not t0: a clock that is set back must not bring the lease back.
        update holdfast.leases l set expires_at = '-infinity', position = base + c.o
        from c where c.done and l.bucket_id = ids[c.w] and l.path = c.path
    )
    select c.o, case when c.other then 4 when c.done then 0 else 15 end::smallint,
           case when c.done then base + c.o end, kinds[c.w]
    from c;
end
$$;
comment on function holdfast.release_leases(text[], smallint[], smallint[], bytea[], text[], bigint[]) is
    'Ends live leases when holder and token are theirs. status 0: done (pos is the position), 4: the name is of another '
    'kind (kind), 15: no such lease is live, nothing was done.';

create or replace function holdfast.get_leases(
    names text[], which smallint[], ordinals smallint[], paths bytea[]
) returns table (o smallint, status smallint, holder text, expires_at timestamptz, pos bigint, kind text)
language sql stable
as $$
    select q.o,
           case when b.id is null then 3 when b.kind <> 'bucket' then 4 when l.path is null then 15 else 0 end::smallint,
           l.holder, l.expires_at, l.position, b.kind
    from (select holdfast.now() as now) t
    cross join unnest(which, ordinals, paths) q(w, o, path)
    left join holdfast.buckets b on b.name = names[q.w]
    left join holdfast.leases l on l.bucket_id = b.id and l.path = q.path and l.expires_at > t.now and b.kind = 'bucket'
$$;
comment on function holdfast.get_leases(text[], smallint[], smallint[], bytea[]) is
    'Who holds leases. status 0: live, 3: the bucket is not declared, 4: of another kind (kind), 15: nobody does.';

create or replace function holdfast.keep_lease_waiters(
    names text[], which smallint[], ordinals smallint[], paths bytea[], tickets bigint[], waits bigint[]
) returns table (o smallint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    t0 timestamptz;
begin
    -- What is lost with it is a place that its process keeps again soon.
    perform set_config('synchronous_commit', 'off', true);
    locked := holdfast.lock_names(names);
    t0 := holdfast.now();
    update holdfast.lease_waiters x set alive_until = t0 + q.wait * interval '1 microsecond'
    from unnest(which, paths, tickets, waits) q(w, path, ticket, wait)
    join holdfast.buckets b on b.name = names[q.w]
    where x.bucket_id = b.id and x.path = q.path and x.ticket = q.ticket;
    return query select unnest(ordinals);
end
$$;
comment on function holdfast.keep_lease_waiters(text[], smallint[], smallint[], bytea[], bigint[], bigint[]) is
    'Says that those who queue will be there for so many microseconds more. A place that is gone stays gone.';

create or replace function holdfast.leave_lease_waiters(
    names text[], which smallint[], ordinals smallint[], paths bytea[], tickets bigint[]
) returns table (o smallint)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    locked boolean;
    t0 timestamptz;
begin
    locked := holdfast.lock_names(names);
    t0 := holdfast.now();
    delete from holdfast.lease_waiters x
    using unnest(which, paths, tickets) q(w, path, ticket) join holdfast.buckets b on b.name = names[q.w]
    where x.bucket_id = b.id and x.path = q.path and x.ticket = q.ticket;
    -- Those behind look again, unless a holder keeps all of them waiting.
    perform holdfast.announce(array_agg(f.name order by f.i), array_agg(f.i order by f.i),
                              array_agg(f.path order by f.i), 'l')
    from (select b.name, q.path, row_number() over ()::smallint i
          from unnest(which, paths) q(w, path) join holdfast.buckets b on b.name = names[q.w]
          where not exists (select from holdfast.leases l
                            where l.bucket_id = b.id and l.path = q.path and l.expires_at > t0)) f
    having count(*) > 0;
    return query select unnest(ordinals);
end
$$;
comment on function holdfast.leave_lease_waiters(text[], smallint[], smallint[], bytea[], bigint[]) is
    'Gives places in queues up.';
