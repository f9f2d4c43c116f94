-- How far the sweeper is behind, for who watches the service; what it looks at are the first rows of indexes.

create or replace function holdfast.oldest_slot(of_table text) returns bigint
language plpgsql stable
as $$
declare
    oldest bigint;
begin
    execute format('select x.slot from holdfast.%I x where x.slot is not null order by x.slot limit 1', of_table)
    into oldest;
    return oldest;
end
$$;
comment on function holdfast.oldest_slot(text) is
    'The earliest minute since 1970 in which a row of the table is to be looked at by the sweeper; null when there is none.';

create or replace function holdfast.sweep_backlog(out lag_us bigint, out clears bigint, out leases bigint)
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
    t0 timestamptz := holdfast.now();
    oldest bigint;
begin
    select min(holdfast.oldest_slot(t)) into oldest
    from unnest(array['entries', 'leases', 'once_runs', 'counters', 'once_answers', 'lease_waiters', 'rate_limits',
                      'rate_gates', 'quotas']) t;
    -- A minute is due when it is over, and five seconds more.
    lag_us := greatest(0, (extract(epoch from t0 - interval '5 s') * 1000000)::bigint - (oldest + 1) * 60000000);
    lag_us := coalesce(lag_us, 0);
    select count(*) into clears from (select from holdfast.clears limit 1000) c;
    clears := least(1000, clears + (select count(*) from (select from holdfast.dropped_buckets limit 1000) d));
    select count(*) into leases from (select from holdfast.leases l where l.expires_at > t0 limit 10000) l;
end
$$;
comment on function holdfast.sweep_backlog() is
    'For how many microseconds the longest overdue row has been due to be freed, how many clears and dropped names are '
    'still being freed (up to 1000), and how many leases are live (up to 10000).';
