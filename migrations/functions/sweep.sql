-- Freeing rows that are absent already: expired, cleared, of dropped buckets. One small transaction a call.

create or replace function holdfast.sweep_expired(most integer) returns integer
language plpgsql volatile
as $$
declare
    t0 timestamptz := holdfast.now();
    seen integer;
begin
    with due as (
        select e.bucket_id, e.path from holdfast.entries e
        where e.slot < holdfast.slot_of(t0 - interval '5 s') -- whole minutes: none of them is looked at twice
        order by e.slot limit most for update skip locked
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
    delete from holdfast.entries e
    where (e.bucket_id, e.path) in (
        select x.bucket_id, x.path from holdfast.entries x
        where x.bucket_id = c.bucket_id and x.path >= c.low and x.path < coalesce(c.high, '\xff'::bytea)
          and x.version <= c.revision
        order by x.path limit most for update skip locked)
      and e.version <= c.revision;
    get diagnostics seen = row_count;
    if seen > 0 then
        return seen;
    end if;
    -- Nothing was left that nobody held. Under the name's lock nobody holds anything: look once more, then forget it.
    select b.name into bucket_name from holdfast.buckets b where b.id = c.bucket_id;
    if bucket_name is not null then
        perform holdfast.lock_names(array[bucket_name]);
    end if;
    delete from holdfast.entries x
    where x.bucket_id = c.bucket_id and x.path >= c.low and x.path < coalesce(c.high, '\xff'::bytea)
      and x.version <= c.revision;
    get diagnostics seen = row_count;
    delete from holdfast.clears d where d.bucket_id = c.bucket_id and d.revision = c.revision;
    update holdfast.buckets b
    set cleared_to = (select max(d.revision) from holdfast.clears d where d.bucket_id = b.id)
    where b.id = c.bucket_id;
    return seen + 1;
end
$$;
comment on function holdfast.sweep_cleared(integer) is
    'Frees at most so many entries that the oldest clear of a bucket covers; when none is left, forgets the clear. Gives '
    'how much it did; 0 when there is no clear.';

create or replace function holdfast.sweep_dropped(most integer) returns integer
language plpgsql volatile
as $$
declare
    d integer;
    seen integer;
begin
    select bucket_id into d from holdfast.dropped_buckets order by bucket_id limit 1;
    if not found then
        return 0;
    end if;
    delete from holdfast.entries e
    where (e.bucket_id, e.path) in (
        select x.bucket_id, x.path from holdfast.entries x where x.bucket_id = d order by x.path limit most);
    get diagnostics seen = row_count;
    if seen = 0 then
        delete from holdfast.clears c where c.bucket_id = d;
        delete from holdfast.dropped_buckets x where x.bucket_id = d;
        seen := 1;
    end if;
    return seen;
end
$$;
comment on function holdfast.sweep_dropped(integer) is
    'Frees at most so many entries of a dropped bucket; when none is left, forgets the bucket. 0 when there is none.';

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
    -- Cleared rows first: that may wait for a name's lock, and the one who has it must not wait for rows held here.
    return holdfast.sweep_cleared(most) + holdfast.sweep_expired(most) + holdfast.sweep_dropped(most);
end
$$;
comment on function holdfast.sweep(integer) is
    'One step of freeing what is absent already. Gives how many rows it dealt with, or -1 when another replica sweeps.';
