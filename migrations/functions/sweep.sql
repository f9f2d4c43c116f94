-- Freeing rows that are absent already: expired, cleared, of dropped buckets. One small transaction a call.

create or replace function holdfast.sweep_expired(most integer) returns integer
language plpgsql volatile
as $$
declare
    t0 timestamptz := holdfast.now();
    ids integer[];
    paths bytea[];
    seen integer;
begin
    select array_agg(d.bucket_id), array_agg(d.path) into ids, paths from (
        select e.bucket_id, e.path from holdfast.entries e
        where e.slot < holdfast.slot_of(t0 - interval '5 s') -- whole minutes: none of them is looked at twice
        order by e.slot limit most for update skip locked) d;
    if ids is null then
        return 0;
    end if;
    if holdfast.severed_to() is not null then
        -- Only what will be freed: a writer that waits for a row held here may be saving it.
        perform holdfast.save_images(array_agg(e.bucket_id), array_agg(e.path), holdfast.last_revision())
        from unnest(ids, paths) d(bucket_id, path)
        join holdfast.entries e on e.bucket_id = d.bucket_id and e.path = d.path
        where e.expires_at < t0 - interval '5 s';
    end if;
    with due as (
        select d.bucket_id, d.path from unnest(ids, paths) d(bucket_id, path)
    ), moved as (
        update holdfast.entries e set slot = holdfast.slot_of(e.expires_at)
        from due d where e.bucket_id = d.bucket_id and e.path = d.path
          and (e.expires_at is null or e.expires_at >= t0 - interval '5 s')
          and e.slot is distinct from holdfast.slot_of(e.expires_at)
        returning 1
    ), freed as (
        delete from holdfast.entries e using due d
        where e.bucket_id = d.bucket_id and e.path = d.path and e.expires_at < t0 - interval '5 s'
        returning 1
    )
    select (select count(*) from moved) + (select count(*) from freed) into seen;
    return seen;
end
$$;
comment on function holdfast.sweep_expired(integer) is
    'Frees at most so many expired entries, and puts those that were given a later expiry since into its minute. Gives how '
    'many it dealt with. Rows that a writer holds are passed over.';

create or replace function holdfast.free_cleared_entries(c holdfast.clears, paths bytea[]) returns integer
language plpgsql volatile
as $$
declare
    seen integer;
begin
    if holdfast.severed_to() is not null then
        perform holdfast.save_images(array_fill(c.bucket_id, array[cardinality(paths)]), paths, c.revision);
    end if;
    delete from holdfast.entries e
    using unnest(paths) p(path)
    where e.bucket_id = c.bucket_id and e.path = p.path and e.version <= c.revision;
    get diagnostics seen = row_count;
    return seen;
end
$$;
comment on function holdfast.free_cleared_entries(holdfast.clears, bytea[]) is
    'Frees the entries of these paths that the clear covers. Gives how many.';

create or replace function holdfast.free_cleared(c holdfast.clears, most integer) returns integer
language plpgsql volatile
as $$
declare
    seen integer := 0;
    paths bytea[];
    beyond bytea := coalesce(c.high, '\xff'::bytea); -- above every path
begin
    select array_agg(d.path) into paths from (
        select x.path from holdfast.entries x
        where x.bucket_id = c.bucket_id and x.path >= c.low and x.path < beyond and x.version <= c.revision
        order by x.path limit most for update skip locked) d;
    if paths is not null then
        seen := holdfast.free_cleared_entries(c, paths);
    end if;
    if seen = 0 then
        delete from holdfast.once_answers a
        where (a.bucket_id, a.path) in (
            select x.bucket_id, x.path from holdfast.once_answers x
            where x.bucket_id = c.bucket_id and x.path >= c.low and x.path < beyond and x.version <= c.revision
            order by x.path limit most for update skip locked)
          and a.version <= c.revision;
        get diagnostics seen = row_count;
    end if;
    if seen = 0 then
        delete from holdfast.once_runs r
        where (r.bucket_id, r.path) in (
            select x.bucket_id, x.path from holdfast.once_runs x
            where x.bucket_id = c.bucket_id and x.path >= c.low and x.path < beyond and x.token <= c.revision
            order by x.path limit most for update skip locked)
          and r.token <= c.revision;
        get diagnostics seen = row_count;
    end if;
    return seen;
end
$$;
comment on function holdfast.free_cleared(holdfast.clears, integer) is
    'Frees at most so many rows of one table that a clear covers. Gives how many: 0 when none is left that nobody holds.';

create or replace function holdfast.sweep_cleared(most integer) returns integer
language plpgsql volatile
as $$
declare
    c holdfast.clears;
    seen integer;
    bucket_name text;
begin
    select * into c from holdfast.clears order by bucket_id, revision limit 1;
    if not found then
        return 0;
    end if;
    seen := holdfast.free_cleared(c, most);
    if seen > 0 then
        return seen;
    end if;
    -- Nothing was left that nobody held. Under the name's lock nobody holds anything: look once more, then forget it.
    select b.name into bucket_name from holdfast.buckets b where b.id = c.bucket_id;
    if bucket_name is not null then
        perform holdfast.lock_names(array[bucket_name]);
    end if;
    seen := holdfast.free_cleared_entries(c, array(
        select x.path from holdfast.entries x
        where x.bucket_id = c.bucket_id and x.path >= c.low and x.path < coalesce(c.high, '\xff'::bytea)
          and x.version <= c.revision));
    delete from holdfast.once_answers x
    where x.bucket_id = c.bucket_id and x.path >= c.low and x.path < coalesce(c.high, '\xff'::bytea)
      and x.version <= c.revision;
    delete from holdfast.once_runs x
    where x.bucket_id = c.bucket_id and x.path >= c.low and x.path < coalesce(c.high, '\xff'::bytea)
      and x.token <= c.revision;
    delete from holdfast.clears d where d.bucket_id = c.bucket_id and d.revision = c.revision;
    update holdfast.buckets b
    set cleared_to = (select max(d.revision) from holdfast.clears d where d.bucket_id = b.id)
    where b.id = c.bucket_id;
    return 1;
end
$$;
comment on function holdfast.sweep_cleared(integer) is
    'Frees at most so many rows that the oldest clear of a name covers; when none is left, forgets the clear. Gives '
    'how much it did; 0 when there is no clear.';

create or replace function holdfast.sweep_dropped(most integer) returns integer
language plpgsql volatile
as $$
declare
    d integer;
    seen integer;
    of_bucket text;
begin
    select x.bucket_id into d from holdfast.dropped_buckets x
    where x.name is null or not exists (
        select from holdfast.forks f
        where f.severed and not f.closed and x.made <= f.revision and f.revision < x.revision
          and holdfast.fork_covers(f.buckets, x.name))
    order by x.bucket_id limit 1;
    if not found then
        return 0;
    end if;
    foreach of_bucket in array array['entries', 'leases', 'counters', 'rate_limits', 'rate_gates', 'quotas',
                                   'session_writes', 'once_answers', 'once_runs', 'fork_keys'] loop
        execute format(
            'delete from holdfast.%1$I e where (e.bucket_id, e.path) in (
                 select x.bucket_id, x.path from holdfast.%1$I x where x.bucket_id = $1 order by x.path limit $2)',
            of_bucket) using d, most;
        get diagnostics seen = row_count;
        exit when seen > 0;
    end loop;
    if seen = 0 then
        delete from holdfast.lease_waiters x where x.bucket_id = d;
        delete from holdfast.clears c where c.bucket_id = d;
        delete from holdfast.dropped_buckets x where x.bucket_id = d;
        seen := 1;
    end if;
    return seen;
end
$$;
comment on function holdfast.sweep_dropped(integer) is
    'Frees at most so many rows of a dropped name that no severed fork sees, of one table after the other; when none is '
    'left, forgets the name. 0 when there is none.';

create or replace function holdfast.sweep_terms(of_table text, next_slot text, most integer) returns integer
language plpgsql volatile
as $$
declare
    seen integer;
begin
    execute format(
        'with due as (
             select x.bucket_id, x.path from holdfast.%1$I x
             where x.slot < holdfast.slot_of($1 - interval ''5 s'')
             order by x.slot limit $2 for update skip locked
         ), moved as (
             update holdfast.%1$I x set slot = %2$s
             from due d where x.bucket_id = d.bucket_id and x.path = d.path
               and (x.expires_at is null or x.expires_at >= $1 - interval ''5 s'')
             returning 1
         ), freed as (
             delete from holdfast.%1$I x using due d
             where x.bucket_id = d.bucket_id and x.path = d.path and x.expires_at < $1 - interval ''5 s''
             returning 1
         )
         select (select count(*) from moved) + (select count(*) from freed)',
        of_table, next_slot) into seen using holdfast.now(), most;
    return seen;
end
$$;
comment on function holdfast.sweep_terms(text, text, integer) is
    'Frees at most so many rows of a table whose terms are over, and looks at those that live on when next_slot says, an '
    'expression of sweep() over the row (x) and the time ($1). Gives how many it dealt with. Rows that a writer holds are '
    'passed over, here and below.';

create or replace function holdfast.sweep_lease_waiters(most integer) returns integer
language plpgsql volatile
as $$
declare
    t0 timestamptz := holdfast.now();
    seen integer;
begin
    delete from holdfast.lease_waiters w
    where (w.bucket_id, w.path, w.ticket) in (
        select x.bucket_id, x.path, x.ticket from holdfast.lease_waiters x
        where x.slot < holdfast.slot_of(t0 - interval '5 s')
        order by x.slot limit most for update skip locked);
    get diagnostics seen = row_count;
    return seen;
end
$$;
comment on function holdfast.sweep_lease_waiters(integer) is
    'Frees at most so many places in queues that their processes left behind. Gives how many.';

create or replace function holdfast.sweep_rate_limits(most integer) returns integer
language plpgsql volatile
as $$
declare
    t0_us bigint := (extract(epoch from holdfast.now()) * 1000000)::bigint;
    seen integer;
begin
    with due as (
        select r.bucket_id, r.path from holdfast.rate_limits r
        where r.slot < (t0_us - 5000000) / 60000000
        order by r.slot limit most for update skip locked
    ), moved as (
        update holdfast.rate_limits r
        set slot = holdfast.limiter_slot(holdfast.moment_after(
            greatest(r.at_us, t0_us), holdfast.debt_of(r, b, greatest(r.at_us, t0_us)), b.rate_count), t0_us)
        from due d join holdfast.buckets b on b.id = d.bucket_id
        where r.bucket_id = d.bucket_id and r.path = d.path
          and (r.at_us >= t0_us - 5000000 or holdfast.debt_of(r, b, t0_us - 5000000) > 0)
        returning 1
    ), freed as (
        delete from holdfast.rate_limits r using due d join holdfast.buckets b on b.id = d.bucket_id
        where r.bucket_id = d.bucket_id and r.path = d.path
          and r.at_us < t0_us - 5000000 and holdfast.debt_of(r, b, t0_us - 5000000) = 0
        returning 1
    )
    select (select count(*) from moved) + (select count(*) from freed) into seen;
    return seen;
end
$$;
comment on function holdfast.sweep_rate_limits(integer) is
    'Frees at most so many keys of rate limits that have their whole burst again, and looks at the others when they will. '
    'Gives how many it dealt with.';

create or replace function holdfast.sweep_rate_gates(most integer) returns integer
language plpgsql volatile
as $$
declare
    t0_us bigint := (extract(epoch from holdfast.now()) * 1000000)::bigint;
    seen integer;
begin
    with due as (
        select g.bucket_id, g.path from holdfast.rate_gates g
        where g.slot < (t0_us - 5000000) / 60000000
        order by g.slot limit most for update skip locked
    ), moved as (
        update holdfast.rate_gates g set slot = holdfast.limiter_slot(g.ends_us, t0_us)
        from due d where g.bucket_id = d.bucket_id and g.path = d.path and g.ends_us >= t0_us - 5000000
        returning 1
    ), freed as (
        delete from holdfast.rate_gates g using due d
        where g.bucket_id = d.bucket_id and g.path = d.path and g.ends_us < t0_us - 5000000
        returning 1
    )
    select (select count(*) from moved) + (select count(*) from freed) into seen;
    return seen;
end
$$;
comment on function holdfast.sweep_rate_gates(integer) is
    'Frees at most so many gates whose window is over, and looks at the others when it is. Gives how many it dealt with.';

create or replace function holdfast.sweep_quotas(most integer) returns integer
language plpgsql volatile
as $$
declare
    t0_us bigint := (extract(epoch from holdfast.now()) * 1000000)::bigint;
    seen integer;
begin
    with due as (
        select s.bucket_id, s.path from holdfast.quotas s
        where s.slot < (t0_us - 5000000) / 60000000
        order by s.slot limit most for update skip locked
    ), moved as (
        update holdfast.quotas s set slot = holdfast.limiter_slot((select max(e) from unnest(s.ends_us) e), t0_us)
        from due d where s.bucket_id = d.bucket_id and s.path = d.path and t0_us - 5000000 <= any (s.ends_us)
        returning 1
    ), freed as (
        delete from holdfast.quotas s using due d
        where s.bucket_id = d.bucket_id and s.path = d.path and t0_us - 5000000 > all (s.ends_us)
        returning 1
    )
    select (select count(*) from moved) + (select count(*) from freed) into seen;
    return seen;
end
$$;
comment on function holdfast.sweep_quotas(integer) is
    'Frees at most so many keys of quotas whose windows have all reset, and looks at the others when they will have. Gives how '
    'many it dealt with.';

-- The steps' plans must enter an index where the first rows are, whatever the statistics say: gathering and sorting what
-- is left of a million rows, a thousand times, takes minutes.
create or replace function holdfast.sweep(most integer) returns integer
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
    if not pg_catalog.pg_try_advisory_xact_lock(7240003, 0) then
        return -1;
    end if;
    perform pg_catalog.set_config('synchronous_commit', 'off', true);
    -- No severed fork is made between a look at what they need and the freeing.
    perform pg_catalog.pg_advisory_xact_lock_shared(7240002, 0);
    -- Cleared rows first: that may wait for a name's lock, and the one who has it must not wait for rows held here.
    return holdfast.sweep_cleared(most) + holdfast.sweep_expired(most) + holdfast.sweep_dropped(most)
           + holdfast.sweep_terms('leases', 'holdfast.lease_slot(x.expires_at, $1)', most)
           + holdfast.sweep_terms('once_runs', 'holdfast.lease_slot(x.expires_at, $1)', most)
           + holdfast.sweep_terms('counters', 'holdfast.slot_of(x.expires_at)', most)
           + holdfast.sweep_terms('once_answers', 'holdfast.slot_of(x.expires_at)', most)
           + holdfast.sweep_lease_waiters(most)
           + holdfast.sweep_rate_limits(most) + holdfast.sweep_rate_gates(most) + holdfast.sweep_quotas(most)
           + holdfast.sweep_kept_replies(most) + holdfast.sweep_images(most);
end
$$;
comment on function holdfast.sweep(integer) is
    'One step of freeing what is absent already. Gives how many rows it dealt with, or -1 when another replica sweeps.';
